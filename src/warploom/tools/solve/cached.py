"""Answers of `warploom solve` in the cache, and back: every solution that is found there is replayed before it counts.

Kept are the tables of the solutions' members, not their texts, and the numbers of the search. What a replay cannot tell (that
nothing is missing, or cheaper, or possible at all) is as it was recorded; the line says `cached`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from warploom.core import Status
from warploom.ir.dataflow import GatherSet, Program, replays
from warploom.ir.swizzle import IntArray
from warploom.solve import Goal, Json
from warploom.synth.dataflow import Objective, machine_counts
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch

DOMAIN = "multisets of symbols"
UNSAT = "no members of the holes meet the goal: the space was exhausted"
_NUMBERS = {"visited": int, "oracle": int, "ineffectiveness": float}
"""Fields of the search; each may be null."""


def listed_objective(goal: Goal, objective: Objective) -> list[str]:
    """The quantities of which the answer is the least, in order."""
    return list(objective.parts) if goal == "best" else []


def entry(line: Line, tables: Sequence[Mapping[str, IntArray]]) -> Json:
    """The part of a final line that is kept; `tables`: the listed solutions."""
    names = ("status", "goal", "complete", "count", "distinct", "cost", *_NUMBERS)
    kept = {name: line[name] for name in names}
    return cast(Json, {**kept, "tables": [{hole: table.tolist() for hole, table in one.items()} for one in tables]})


def outcome_of(
    case: str,
    program: Program,
    holes: Mapping[str, GatherSet],
    found: Json,
    asked: tuple[Goal, bool, Objective],
    phases: Mapping[str, float],
    stopwatch: Stopwatch,
) -> Outcome | None:
    """The outcome that an entry stands for; None where it is no entry for this program, or its solutions do not meet the goal.

    `asked`: the goal, whether one solution per movement is listed, and the objective.
    """
    goal, is_distinct, objective = asked
    match found:
        case {
            "status": "solved" | "unsat" as kept_status, "goal": str(kept_goal), "complete": bool(complete), "count": int(count),
            "distinct": int(distinct), "cost": int() | None as cost, "tables": [*tables],
        } if kept_goal == goal and 0 <= distinct <= count and len(tables) <= count:  # fmt: skip
            pass
        case _:
            return None
    status: Status = "solved" if kept_status == "solved" else "unsat"
    numbers = {name: found.get(name) for name in _NUMBERS}
    if not all(value is None or type(value) in (int, kind) for (name, kind) in _NUMBERS.items() for value in [numbers[name]]):
        return None
    if (status == "solved") != bool(tables) or (status == "unsat" and (count, cost, complete) != (0, None, True)):
        return None
    fields: Line = {
        "goal": goal,
        "objective": listed_objective(goal, objective),
        "complete": complete,
        "count": count,
        "distinct": distinct,
        "cost": cost,
        **numbers,
    }
    fields |= {"phases": dict(phases), "holes": {}}
    verdict, reason = "unchecked", UNSAT if status == "unsat" else ""
    texts: list[dict[str, str]] = []
    if status == "solved":
        read = [_read(holes, one) for one in tables]
        members = [one for one in read if one is not None]
        if len(members) < len(read) or members[0].cost != cost or not _meet(program, holes, members):
            return None
        texts = [one.texts for one in members]
        fields["holes"] = texts[0]
        counts = machine_counts(program, {name: holes[name].gather(table) for name, table in members[0].tables.items()})
        fields |= counts | {"counted": "model"} if counts else {}
        if len(members) == (distinct if is_distinct else count):
            verdict, fields["domain"] = "proved", DOMAIN
        else:
            verdict, fields["cases"] = "tested", len(members)
    if goal == "all":
        fields |= {"listed": "distinct" if is_distinct else "all", "solutions": texts}
    line = plain_line(case, status, stopwatch.read(), verdict=verdict, reason=reason, **fields)
    return Outcome(line | {"cached": True}, EXIT_BY_STATUS[status])


class _Members:
    """One solution: its tables, what they cost, and as the user reads them."""

    def __init__(self, tables: dict[str, IntArray], cost: int, texts: dict[str, str]) -> None:
        self.tables = tables
        self.cost = cost
        self.texts = texts


def _read(holes: Mapping[str, GatherSet], found: Json) -> _Members | None:
    """None where the tables are not those of members of the holes."""
    if not isinstance(found, Mapping) or found.keys() != holes.keys():
        return None
    tables: dict[str, IntArray] = {}
    texts: dict[str, str] = {}
    cost = 0
    for name, choices in holes.items():
        values = found[name]
        points, limit = choices.members.points, choices.members.values
        if not isinstance(values, list) or len(values) != points:
            return None
        if not all(type(value) is int and 0 <= value < limit for value in values):
            return None
        table = np.array(values, np.int64)
        allowed = np.zeros((points, limit), np.bool_)
        allowed[np.arange(points), table] = True
        functions = choices.members.matching(allowed)
        if functions is None or not len(functions):
            return None
        tables[name], texts[name] = table, choices.text(functions.expr(0))
        cost += int(functions.costs[0])
    return _Members(tables, cost, texts)


def _meet(program: Program, holes: Mapping[str, GatherSet], solutions: Sequence[_Members]) -> bool:
    gathers = [{name: holes[name].gather(table) for name, table in one.tables.items()} for one in solutions]
    distinct = {tuple((name, table.tobytes()) for name, table in one.tables.items()) for one in solutions}
    return len(distinct) == len(solutions) and bool(replays(program, gathers).all())
