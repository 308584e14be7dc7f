"""Accumulates under one condition or its opposite, side by side: put into one `if` with an `else`.

ptxas makes predicated instructions of it, where it makes a select and an instruction of each conditional accumulate alone.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.gpu.facts import Facts
from warploom.ir import Accumulate, Arith, Compare, For, If, IndexConst, IndexExpr, Stmt, ValueConst, ValueExpr, ValueVar, parts

_EXACT = frozenset("^&|")
"""Operators in whose accumulators the order of the operands does not change a bit."""


def joined(body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
    """`body` with such accumulates joined; those without a condition among them come after."""
    result: list[Stmt] = []
    run: list[Accumulate] = []
    for stmt in body:
        if isinstance(stmt, Accumulate) and _may_move(stmt, facts):
            run.append(stmt)
            continue
        result += _joined_run(run)
        run = []
        match stmt:
            case For():
                result.append(replace(stmt, body=joined(stmt.body, facts)))
            case If():
                result.append(replace(stmt, then=joined(stmt.then, facts), other=joined(stmt.other, facts)))
            case _:
                result.append(stmt)
    return (*result, *_joined_run(run))


def _may_move(stmt: Accumulate, facts: Facts) -> bool:
    """Whether it may run before or after its neighbours: values in registers, and an operator that does not mind the order."""
    plain = all(isinstance(p, Arith | ValueVar | ValueConst) for p in parts(stmt.value) if isinstance(p, ValueExpr))
    return plain and facts.accumulators[stmt.accumulator].op in _EXACT


def _joined_run(run: list[Accumulate]) -> list[Stmt]:
    groups: dict[tuple[str, IndexExpr, IndexExpr], list[Accumulate]] = {}
    for stmt in run:
        key, _ = _canonical(stmt.guard)
        if key is not None:
            groups.setdefault(key, []).append(stmt)
    pairs = {key: group for key, group in groups.items() if len({_canonical(s.guard)[1] for s in group}) == 2}
    if not pairs:
        return list(run)
    result: list[Stmt] = []
    for group in pairs.values():
        first = group[0]
        side = _canonical(first.guard)[1]
        then = tuple(replace(s, guard=IndexConst(True)) for s in group if _canonical(s.guard)[1] == side)
        other = tuple(replace(s, guard=IndexConst(True)) for s in group if _canonical(s.guard)[1] != side)
        result.append(If(first.guard, then, other, first.span))
    return [*result, *(s for s in run if _canonical(s.guard)[0] not in pairs)]


def _canonical(guard: IndexExpr) -> tuple[tuple[str, IndexExpr, IndexExpr] | None, bool]:
    """A form that a condition and its opposite share, and which of the two this one is."""
    match guard:
        case Compare("<=", a, b):
            return ("<=", a, b), True
        case Compare(">", a, b):
            return ("<=", a, b), False
        case Compare(">=", a, b):
            return ("<=", b, a), True
        case Compare("<", a, b):
            return ("<=", b, a), False
        case Compare("==", a, b):
            return ("==", a, b), True
        case Compare("!=", a, b):
            return ("==", a, b), False
        case _:
            return None, True
