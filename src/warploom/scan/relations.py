"""Linear relations between columns of sampled values: one constant, equal to another, its negative, or either plus a constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from warploom.scan import expression as ex
from warploom.scan.expression import Expr

Column = Sequence[Expr]
"""Values of one slot over samples; constants as far as they are numbers."""


def guessed_relations(columns: Mapping[Expr, Column]) -> dict[Expr, Expr]:
    """Slots as functions of earlier slots that are no such functions themselves."""
    found: dict[Expr, Expr] = {}
    kept: list[Expr] = []
    for slot, column in columns.items():
        if not column:
            continue
        if all(v is column[0] for v in column):
            found[slot] = column[0]
            continue
        relation = next((r for other in kept if (r := _relation(other, columns[other], column)) is not None), None)
        if relation is None:
            kept.append(slot)
        else:
            found[slot] = relation
    return found


def _relation(other: Expr, theirs: Column, ours: Column) -> Expr | None:
    if all(a is b for a, b in zip(theirs, ours, strict=True)):
        return other
    first = ours[0]
    if first.sort.base == "bool" or theirs[0].sort.base == "bool":
        opposite = first.sort.base == theirs[0].sort.base and all(b is ex.negation(a) for a, b in zip(theirs, ours, strict=True))
        return ex.negation(other) if opposite else None
    if not all(_is_number(v) for v in (*theirs, *ours)):
        return None
    pairs = [(Fraction(a.value), Fraction(b.value)) for a, b in zip(theirs, ours, strict=True)]  # type: ignore[arg-type]
    for sign in (1, -1):
        gaps = {b - sign * a for a, b in pairs}
        if len(gaps) == 1:
            return ex.add(ex.multiply(ex.constant(sign), other), ex.constant(gaps.pop()))
    return None


def _is_number(value: Expr) -> bool:
    return value.op == "const" and not isinstance(value.value, bool | float | str)
