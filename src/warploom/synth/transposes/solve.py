"""Searches for one transpose, then checks it on every element as it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warploom.core import Status
from warploom.ir.swizzle import Composition
from warploom.ir.swizzle.grown import LENGTH
from warploom.synth.transposes.join import Join
from warploom.synth.transposes.problem import Kind, Transpose
from warploom.synth.transposes.replay import replay
from warploom.synth.transposes.table import table_steps
from warploom.synth.transposes.template import join_template

DOMAIN = "every element of this size"
Grammar = Literal["grown", "template"]
GRAMMARS: tuple[Grammar, ...] = ("grown", "template")
"""Section 8's compositions; equations 5 to 7."""


@dataclass(frozen=True, slots=True)
class TransposeReport:
    status: Status
    """`unsat` in the template only: it is exhausted."""
    composition: tuple[str, ...]
    """The steps, as printed and checked."""
    cost: int | None
    optimal: bool
    """No steps of at most `depth` primitives each cost less, rotations with dr of at least 0."""
    depth: int | None
    """Primitives of the longest step; where optimal, at least the depth to which the grammar is exhausted."""
    pivots: int
    """Functions of one step whose consequences for the others were computed."""
    reason: str = ""


def solve_transpose(kind: Kind, m: int, n: int, grammar: Grammar = "grown") -> TransposeReport:
    """Completes the three-step sketch (two for `sum`) for m registers by n lanes, 1 to 128 each; a solved one is proved."""
    problem = Transpose(kind, m, n)
    if grammar == "template":
        steps, pivots = join_template(problem)
        if steps is None:
            reason = "no functions of equations 5 to 7 compose to it (exhausted)"
            return TransposeReport("unsat", (), None, False, None, pivots, reason)
        return _proved(problem, steps, None, pivots)
    found = Join(problem).run()
    paper = table_steps(m, n) if kind == "crc" else None
    if paper is not None and (found.answer is None or sum(step.cost(m, n) for step in paper) < found.answer.cost):
        return _proved(problem, paper, None, found.pivots)
    if found.answer is None:
        reason = f"none found among {found.pivots} pivots"
        return TransposeReport("unknown", (), None, False, None, found.pivots, reason)
    return _proved(problem, found.answer.steps, found.bound, found.pivots)


def _proved(problem: Transpose, steps: Sequence[Composition], bound: int | None, pivots: int) -> TransposeReport:
    printed = tuple(str(step) for step in steps)
    fault = replay(problem.kind, problem.m, problem.n, printed)
    if fault:
        raise AssertionError(f"{problem.kind} {problem.m}x{problem.n}: {fault}")
    cost = sum(step.cost(problem.m, problem.n) for step in steps)
    longest = max(step.depth for step in steps)
    optimal = bound is not None and cost <= bound and longest <= LENGTH
    return TransposeReport("solved", printed, cost, optimal, LENGTH if optimal else longest, pivots)
