"""Two engines that share only the lowering and the requirements answer alike; brute force over function tables agrees."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.synth import small_sketches as small

from warploom.ir import IndexExpr, fill
from warploom.ir.swizzle import Functions, function_set
from warploom.solve import Budget, Unknown, Unsat
from warploom.synth import complete
from warploom.synth.network.lower import lower
from warploom.synth.network.network import Network
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.prove import prove
from warploom.synth.proof.symbolic import execute, run_spec
from warploom.synth.search.engine import Engine
from warploom.synth.smt.engine import Completed, SmtEngine
from warploom.terms import Term, atom, equal

CASES = {
    "conv1d-4": small.conv1d(4, 3),
    "conv1d-8": small.conv1d(8, 3),
    "stencil2d-2x2": small.stencil2d(2, 2),
    "stencil2d-2x4": small.stencil2d(2, 4),
    "store-crc-4x2": small.transpose_crc(4, 2),
    "store-crc-8x2": small.transpose_crc(8, 2),
    "store-crc-8x3": small.transpose_crc(8, 3),
    "store-rcr-4x2": small.transpose_rcr(4, 2),
    "store-rcr-4x3": small.transpose_rcr(4, 3),
    "store-rcr-8x3": small.transpose_rcr(8, 3),
    "sum-crc-4x2": small.sum_crc(4, 2),
    "sum-crc-8x3": small.sum_crc(8, 3),
    "mult-4": small.multiply(4),
}


@cache
def engines(name: str) -> tuple[Engine, SmtEngine]:
    sketch = CASES[name]
    wanted = run_spec(sketch.spec, sketch.kernel, {})
    algebra = kernel_algebra(sketch)

    def is_right(holes: Any) -> bool:
        return prove(fill(sketch.kernel, holes), sketch.spec, {}, algebra).verdict == "proved"

    arguments = (sketch.kernel, {}, wanted.outputs, wanted.stored, algebra, is_right)
    return Engine(*arguments), SmtEngine(*arguments)


@pytest.mark.parametrize("space", [1, 2, 3])
@pytest.mark.parametrize("name", CASES)
def test_engines_agree(name: str, space: int):
    first, second = engines(name)
    found, again = first.search_space(space), second.search_space(space)
    assert found.complete
    assert again.complete, again.reason
    assert bool(found.answers) == bool(again.answers)
    for (count, _), chosen in again.answers:
        assert count == found.answers[0][0][0]
        sketch = CASES[name]
        assert prove(fill(sketch.kernel, chosen.holes), sketch.spec, {}, kernel_algebra(sketch)).verdict == "proved"
        assert isinstance(second.solve(space, count), Completed)
        assert isinstance(second.solve(space, count - 1), Unsat)


def test_what_the_cases_hold():
    """The comparison above is between answers of both kinds."""
    solved = {name: tuple(bool(engines(name)[1].search_space(s).answers) for s in (1, 2, 3)) for name in CASES}
    assert solved["store-crc-8x2"] == solved["sum-crc-4x2"] == solved["store-rcr-4x2"] == (False, False, True)
    assert all(all(spaces) for name, spaces in solved.items() if not name.endswith("x2") or name.startswith("stencil"))


PLANTED = {
    "statements": small.two_statements(),
    "xor": small.exclusive_or(),
    "max": small.largest(),
    "products": small.products(),
    "scatter": small.scatter(),
    "gather": small.gather(),
    "selected": small.selected(),
    "accumulators": small.elements_of_accumulators(),
    "overwritten": small.overwritten(),
    "branch": small.shuffle_in_a_branch(),
}
BRUTE = 300
"""Completions tried one by one; above it the engines are compared with each other only."""


def listed(network: Network, space: int) -> list[Functions]:
    sets = [function_set(u.hole, u.points, space) for u in network.holes]
    found = [s.matching(np.ones((len(u.points), u.values), bool)) for s, u in zip(sets, network.holes, strict=True)]
    return [f for f in found if f is not None]


def filled(network: Network, functions: list[Functions], numbers: Iterable[int]) -> dict[str, IndexExpr]:
    return {u.hole.name: f.expr(n) for u, f, n in zip(network.holes, functions, numbers, strict=True)}


def compare(name: str, space: int, goal: list[Term]) -> None:
    """Both engines and, where there are few completions, brute force on what `y` must hold."""
    kernel, algebra = PLANTED[name].kernel, kernel_algebra(PLANTED[name])

    def judged(holes: dict[str, IndexExpr]) -> tuple[bool, bool]:
        """Whether the values are right; and whether the run has no fault either."""
        execution = execute(fill(kernel, holes), {})
        got = execution.outputs["y"].reshape(-1)
        right = all(g is not None and equal(g, w, algebra) for g, w in zip(got, goal, strict=True))
        return right, right and not execution.diagnostics

    wanted = np.empty(len(goal), object)
    wanted[:] = goal
    arguments = (kernel, {}, {"y": wanted}, {"y": np.ones(len(goal), bool)}, algebra, lambda h: judged(h)[0])
    first, second = Engine(*arguments), SmtEngine(*arguments)
    every, again = first.search_space(space, all_answers=True), second.search_space(space, all_answers=True)
    assert every.complete
    assert again.complete
    assert len(every.answers) == len(again.answers)
    best, least = first.search_space(space), second.search_space(space)
    assert [a[0][0] for a in best.answers] == [a[0][0] for a in least.answers] == [a[0][0] for a in every.answers[:1]]
    assert all(judged(chosen.holes)[0] for _, chosen in (*every.answers[:20], *again.answers[:20], *least.answers))
    network = lower(kernel, {})
    functions = listed(network, space)
    if prod(len(f) for f in functions) <= BRUTE:
        verdicts = [judged(filled(network, functions, n)) for n in product(*(range(len(f)) for f in functions))]
        assert sum(clean for _, clean in verdicts) <= len(again.answers) <= sum(right for right, _ in verdicts)


goals = st.fixed_dictionaries(
    {
        "space": st.sampled_from([1, 2, 3]),
        "picks": st.lists(st.integers(0, 10_000), min_size=4, max_size=4),
        "swap": st.none() | st.tuples(st.integers(0, 7), st.integers(0, 7)),
    }
)


AGREED = [n for n in PLANTED if n not in ("overwritten", "branch")]


def plant(name: str, goal: dict[str, Any]) -> None:
    """The goal is what the sketch computes with some functions of the space, two of its elements swapped perhaps."""
    kernel = PLANTED[name].kernel
    network = lower(kernel, {})
    functions = listed(network, goal["space"])
    holes = filled(network, functions, [p % len(f) for p, f in zip(goal["picks"], functions, strict=False)])
    elements = execute(fill(kernel, holes), {}).outputs["y"].reshape(-1).tolist()
    assume(None not in elements)
    if goal["swap"] is not None:
        i, j = (n % len(elements) for n in goal["swap"])
        elements[i], elements[j] = elements[j], elements[i]
    compare(name, goal["space"], elements)


@pytest.mark.parametrize("name", AGREED)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(goal=goals)
def test_planted_goals(name: str, goal: dict[str, Any]):
    plant(name, goal)


@pytest.mark.slow
@pytest.mark.parametrize("name", AGREED)
@settings(max_examples=25, deadline=None)
@given(goal=goals)
def test_many_planted_goals(name: str, goal: dict[str, Any]):
    plant(name, goal)


def test_a_register_overwritten_by_a_later_store_holds_nothing_old():
    compare("overwritten", 3, [atom("x", (i,)) for i in range(8)])


def test_a_shuffle_inside_a_branch_reads_active_lanes_only():
    compare("branch", 2, [atom("x", (2,))] * 4)


def test_complete_with_the_second_engine():
    report = complete(small.conv1d(8, 3), engine="smt")
    assert (report.status, report.verdict, report.space, report.optimal_in) == ("solved", "proved", 1, 3)
    report = complete(small.transpose_crc(8, 2), engine="smt", space=1)
    assert (report.status, report.unsat_in) == ("unsat", (1,))


def test_budgets_end_in_unknown_with_the_reason():
    sketch = CASES["store-crc-8x3"]
    wanted = run_spec(sketch.spec, sketch.kernel, {})
    arguments = (sketch.kernel, {}, wanted.outputs, wanted.stored, kernel_algebra(sketch), lambda _: True)
    answer = SmtEngine(*arguments, rlimit=10).solve(3)
    assert isinstance(answer, Unknown)
    assert answer.reason.startswith("budget: z3 stopped")
    stopped = SmtEngine(*arguments).search_space(3, budget=Budget(nodes=0))
    assert (stopped.complete, stopped.reason) == (False, "budget: nodes")
