"""Every choice of members of a program's holes, run one and all: the oracle for the engine's answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from tests.ir.dataflow.random_programs import every_member, holes_of

from warploom.ir.dataflow import GatherSet, Program, meets_goal, replays
from warploom.ir.swizzle import BoolArray, IntArray
from warploom.synth.dataflow import ProgramResult, Solution, solve_program

Effects = tuple[tuple[int, ...], ...]
"""Per hole, in order of evaluation: [output elements] sources."""


@dataclass(frozen=True, eq=False, slots=True)
class EveryChoice:
    solutions: frozenset[Effects]
    least_cost: int | None
    """The least cost of a solution, all holes counted; None without one."""
    choices: int


def every_choice(program: Program) -> EveryChoice:
    """The choices that meet the goal; the interpreter confirms the first of both kinds."""
    holes = holes_of(program)
    gathers: list[list[IntArray]] = []
    costs: list[list[int]] = []
    for _, choices in holes:
        functions = every_member(choices)
        gathers.append([choices.gather(table.astype(np.int64)) for table in functions.tables])
        costs.append(functions.costs.tolist())
        assert len({g.tobytes() for g in gathers[-1]}) == len(functions), "two members with one effect"
    chosen = list(product(*(range(len(g)) for g in gathers)))
    members = [{name: g[k] for (name, _), g, k in zip(holes, gathers, pick, strict=True)} for pick in chosen]
    met: BoolArray = replays(program, members)
    for kind in (True, False):
        for n in np.flatnonzero(met == kind)[:2]:
            assert meets_goal(program, members[int(n)]) == kind
    effects = [[tuple(g.tolist()) for g in some] for some in gathers]
    solutions = [pick for pick, fits in zip(chosen, met.tolist(), strict=True) if fits]
    return EveryChoice(
        frozenset(tuple(e[k] for e, k in zip(effects, pick, strict=True)) for pick in solutions),
        min((sum(c[k] for c, k in zip(costs, pick, strict=True)) for pick in solutions), default=None),
        len(chosen),
    )


def effects_of(program: Program, result: ProgramResult, solution: Solution) -> Effects:
    """The engine lists holes in order of evaluation, too."""
    keys = [hole.name for hole in result.solutions.holes]
    assert len(set(keys)) == len(keys) == len(solution.members)
    return tuple(
        tuple(choices.gather(solution.members[key].table.astype(np.int64)).tolist())
        for (_, choices), key in zip(holes_of(program), keys, strict=True)
    )


def cost_of(program: Program, effects: Effects) -> int:
    return sum(_cost(choices, sources) for (_, choices), sources in zip(holes_of(program), effects, strict=True))


def _cost(choices: GatherSet, sources: tuple[int, ...]) -> int:
    functions = every_member(choices)
    (cost,) = (
        int(functions.costs[n])
        for n, table in enumerate(functions.tables)
        if choices.gather(table.astype(np.int64)).tolist() == list(sources)
    )
    return cost


def difference(program: Program) -> str:
    """The engine's error about a program; empty if there is none."""
    expected = every_choice(program)
    result = solve_program(program)
    found = [effects_of(program, result, solution) for solution in result.solutions]
    if not result.complete:
        return f"not complete: {result.reason}"
    if set(found) - expected.solutions:
        return f"wrong solutions: {len(set(found) - expected.solutions)} of {len(found)}"
    if expected.solutions - set(found):
        return f"missing solutions: {len(expected.solutions - set(found))} of {len(expected.solutions)}"
    if len(found) != len(expected.solutions):
        return f"{len(found) - len(expected.solutions)} solutions listed twice"
    if result.solutions.count != len(found):
        return f"count {result.solutions.count} of {len(found)} solutions"
    for goal in ("first", "best"):
        one = solve_program(program, goal=goal)
        some = [effects_of(program, one, solution) for solution in one.solutions]
        if not set(some) <= expected.solutions or bool(some) != bool(expected.solutions) or not (some or one.complete):
            return f"goal {goal}: {len(some)} solutions, {len(set(some) - expected.solutions)} wrong"
        if goal == "best" and some and cost_of(program, some[0]) != expected.least_cost:
            return f"goal best: cost {cost_of(program, some[0])}, the least is {expected.least_cost}"
    return ""
