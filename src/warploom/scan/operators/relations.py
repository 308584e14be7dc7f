"""Linear relations between columns of sampled values: one constant, equal to another, its negative, or either plus a constant."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr

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
        relation = relation or _sum_relation(kept, columns, column)
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
    if not _all_numbers(theirs) or not _all_numbers(ours):
        return None
    pairs = [(Fraction(a.value), Fraction(b.value)) for a, b in zip(theirs, ours, strict=True)]  # type: ignore[arg-type]
    for sign in (1, -1):
        gaps = {b - sign * a for a, b in pairs}
        if len(gaps) == 1:
            return ex.add(ex.multiply(ex.constant(sign), other), ex.constant(gaps.pop()))
    return None


def _sum_relation(kept: Sequence[Expr], columns: Mapping[Expr, Column], ours: Column) -> Expr | None:
    """A relation that makes this column the sum or difference of two others, plus a constant."""
    if not _all_numbers(ours):
        return None
    numeric = [(s, [Fraction(v.value) for v in columns[s]]) for s in kept if _all_numbers(columns[s])]  # type: ignore[arg-type]
    goal = [Fraction(v.value) for v in ours]  # type: ignore[arg-type]
    for (one, a), (two, b) in itertools.combinations(numeric, 2):
        for sign_one, sign_two in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            gap = goal[0] - sign_one * a[0] - sign_two * b[0]
            if all(g - sign_one * x - sign_two * y == gap for g, x, y in zip(goal, a, b, strict=True)):
                return ex.add(ex.multiply(ex.constant(sign_one), one), ex.multiply(ex.constant(sign_two), two), ex.constant(gap))
    return None


def guessed_facts(columns: Mapping[Expr, Column]) -> list[Expr]:
    """Bounds and orders that hold of all samples."""
    numeric = {s: [Fraction(v.value) for v in c] for s, c in columns.items() if c and _all_numbers(c)}  # type: ignore[arg-type]
    found: list[Expr] = []
    for slot, column in numeric.items():
        if slot.sort.values is not None or slot.sort.is_infinite:
            continue
        found += [ex.at_least(slot, ex.constant(bound)) for bound in (1, 0) if min(column) >= bound]
        if max(column) <= 0:
            found.append(ex.at_least(ex.ZERO, slot))
        for other, theirs in numeric.items():
            plain = other is not slot and other.sort.values is None and not other.sort.is_infinite
            if plain and all(x >= y for x, y in zip(column, theirs, strict=True)):
                found.append(ex.at_least(slot, other))
    return [f for f in found if f.op != "const"]


def _all_numbers(column: Column) -> bool:
    return all(v.op == "const" and not isinstance(v.value, bool | float | str) for v in column)
