"""Places of tables, and tables of whole numbers whose entries are sums, bit by bit, of others (as those of CRCs)."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr

LEAST = 16
"""Entries of a table that is worth it: others are chosen from one by one."""


def linear_table(table: Sequence[object], place: Expr) -> Expr | None:
    """The entry at a place that is in the table, bit by bit of the place; None where the table is not of that kind."""
    values = [v.value for v in table if isinstance(v, Expr) and v.op == "const" and type(v.value) is int and v.value >= 0]
    size = len(table)
    if len(values) < size or size < LEAST or size & (size - 1) or not _is_below(place, size):
        return None
    bits = size.bit_length() - 1
    first = values[0]
    changes = [values[1 << n] ^ first for n in range(bits)]
    known = [first]
    for change in changes:
        known += [k ^ change for k in known]
    if known != values:
        return None
    found = ex.constant(first)
    for number, change in enumerate(changes):
        is_set = ex.at_least(ex.bitwise("bitand", place, ex.constant(1 << number)), ex.ONE)
        found = ex.bitwise("bitxor", found, ex.select(is_set, ex.constant(change), ex.ZERO))
    return found


def places_of(size: int, is_positive: bool) -> list[tuple[int, int]]:
    """Values of an index with the place that each means, but the last: any other index is an error of Python's."""
    found = [(n, n) for n in range(size - 1)]
    # a negative index counts from the end
    return found if is_positive else found + [(n - size, n) for n in range(size)]


def _is_below(place: Expr, size: int) -> bool:
    """Whether it is plainly in 0 .. size - 1."""
    if place.op == "bitand":
        return any(m.op == "const" and type(m.value) is int and 0 <= m.value < size for m in place.args)
    if place.op == "mod":
        return isinstance(place.value, int) and place.value <= size
    values = place.sort.values
    return values is not None and values[0] >= 0 and values[-1] < size


__all__ = ["linear_table", "places_of"]
