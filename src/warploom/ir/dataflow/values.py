"""Values of dataflow programs: the order and the canonical form of folds, and their text.

Source: Swizzleflow, section 2 (reductions and fold).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from warploom.ir.dataflow.program import MISSING, NOUGHT, Folded, Nothing, Value


def value_key(value: Value) -> tuple[Any, ...]:
    """A total order: symbols by number, then folds, then 0 and undefined."""
    match value:
        case int():
            return (0, value)
        case Folded(op, values):
            return (1, op, len(values), *(value_key(v) for v in values))
        case Nothing(is_zero):
            return (2, not is_zero)
        case _:
            assert_never(value)


def folded(op: str, values: Iterable[Value]) -> Value:
    """The fold of the values: 0 does not count, of nothing it is 0, with an undefined one undefined.

    A fold of one value is not that value, and a fold among the values stays one value.
    """
    kept = [v for v in values if v != NOUGHT]
    if MISSING in kept:
        return MISSING
    return Folded(op, tuple(sorted(kept, key=value_key))) if kept else NOUGHT


def operators_of(value: Value) -> frozenset[str]:
    """Operators of all folds inside."""
    if not isinstance(value, Folded):
        return frozenset()
    return frozenset({value.op}).union(*(operators_of(v) for v in value.values))


def value_text(value: Value) -> str:
    """The text of a value as an element of a literal array."""
    match value:
        case int():
            return str(value)
        case Folded(op, values):
            return f"{fold_text(op)}{{{', '.join(value_text(v) for v in values)}}}"
        case Nothing(is_zero):
            return "zero" if is_zero else "_"
        case _:
            assert_never(value)


def fold_text(op: str) -> str:
    """The fold's keyword with its operator."""
    return f"fold({op})" if op else "fold"
