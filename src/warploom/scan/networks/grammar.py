"""The small grammar of index maps that moves are made of.

    source  := round + shift             round := i | i // m * m | (i + 1) // m * m           m := d | e | h | c
                                         shift := 0 | -1 | -d | -d - 1 | m - 1 - d
    guard   := activity | (i + 1) % c == 0 and activity
    activity:= i >= d | i % e >= d | i % e // d == t | (i + 1) % e == 0 | i % e == (t + 1) * d - 1
             | (i + 1) % e == d and i >= e | (i + 1) % d == 0 and (i + 1) % e != 0 and i >= e

c: offsets of low levels, larger than 1. Expressions without t and with one are for phases that run a move once, or r - 1 times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warploom.ir import Compare, IndexBinary, IndexConst, IndexExpr, Logical, index_cost, leaves
from warploom.scan.networks.program import BELOW, LANE, NEXT, OFFSET, TURN

ONE = IndexConst(1)
AFTER = IndexBinary("+", LANE, ONE)


@dataclass(frozen=True, slots=True)
class Template:
    """One expression of the grammar with its price."""

    expr: IndexExpr
    cost: float
    """Weighted operations (`ir.kernel.cost`), 10 more for a constant."""
    uses_turn: bool


def guards(constants: Sequence[int]) -> list[Template]:
    """Cheapest first."""
    found: list[Template] = []
    for activity in _activities():
        found.append(_template(activity))
        for constant in constants:
            stride = Compare("==", IndexBinary("%", AFTER, IndexConst(constant)), IndexConst(0))
            parts = activity.operands if isinstance(activity, Logical) else (activity,)
            found.append(_template(Logical("and", (stride, *parts)), extra=10))
    return sorted(found, key=lambda t: t.cost)


def sources(constants: Sequence[int]) -> list[Template]:
    """Cheapest first."""
    found = [_template(_less(LANE, OFFSET))]
    for unit in (OFFSET, NEXT, BELOW, *map(IndexConst, constants)):
        extra = 10 if isinstance(unit, IndexConst) else 3 if unit == BELOW else 0
        for argument in (LANE, AFTER):
            rounded = IndexBinary("*", IndexBinary("//", argument, unit), unit)
            shifts = [_less(rounded, ONE), _less(rounded, OFFSET), _less(_less(rounded, OFFSET), ONE)]
            if unit not in (OFFSET, NEXT):
                shifts.append(_less(IndexBinary("+", rounded, _less(unit, ONE)), OFFSET))
            found += [_template(shift, extra) for shift in shifts]
    return sorted(found, key=lambda t: t.cost)


def _less(expr: IndexExpr, amount: IndexExpr) -> IndexExpr:
    if isinstance(expr, IndexConst) and isinstance(amount, IndexConst):
        return IndexConst(int(expr.value) - int(amount.value))
    return IndexBinary("-", expr, amount)


def _activities() -> Iterator[IndexExpr]:
    zero = IndexConst(0)
    within = IndexBinary("%", LANE, NEXT)
    whole = Compare("==", IndexBinary("%", AFTER, NEXT), zero)
    yield Compare(">=", LANE, OFFSET)
    yield Compare(">=", within, OFFSET)
    yield Compare("==", IndexBinary("//", within, OFFSET), TURN)
    yield whole
    yield Compare("==", within, _less(IndexBinary("*", IndexBinary("+", TURN, ONE), OFFSET), ONE))
    beyond = Compare(">=", LANE, NEXT)
    yield Logical("and", (Compare("==", IndexBinary("%", AFTER, NEXT), OFFSET), beyond))
    part = Compare("==", IndexBinary("%", AFTER, OFFSET), zero)
    yield Logical("and", (part, Compare("!=", IndexBinary("%", AFTER, NEXT), zero), beyond))


def _template(expr: IndexExpr, extra: float = 0) -> Template:
    return Template(expr, index_cost(expr) / 4 + extra, TURN in set(leaves(expr)))
