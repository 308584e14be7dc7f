"""Index expressions evaluated over whole arrays of variable values at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.ir.intervals import Ranges, index_range
from warploom.ir.kernel.nodes import (
    Builtin,
    Compare,
    HoleArg,
    HoleUse,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Logical,
    SizeVar,
)
from warploom.operations import COMPARISONS, numpy_function

Table: TypeAlias = NDArray[np.int64]
Leaf: TypeAlias = IndexVar | Builtin | SizeVar | HoleArg | HoleUse


def tabulate(expr: IndexExpr, values: Mapping[IndexExpr, Any]) -> Table:
    """Values of `expr` as int64 (truth values 0 and 1), the variables' arrays broadcast together; KeyError if one is missing."""
    match expr:
        case IndexConst(value):
            return np.asarray(int(value), dtype=np.int64)
        case IndexVar() | Builtin() | SizeVar() | HoleArg() | HoleUse():
            return np.asarray(values[expr], dtype=np.int64)
        case IndexBinary(op, lhs, rhs):
            with np.errstate(divide="ignore", over="ignore"):
                return np.asarray(numpy_function(op)(tabulate(lhs, values), tabulate(rhs, values)), dtype=np.int64)
        case Compare(op, lhs, rhs):
            return np.asarray(COMPARISONS[op].holds(tabulate(lhs, values), tabulate(rhs, values)), dtype=np.int64)
        case Logical(op, operands):
            parts = [tabulate(e, values) != 0 for e in operands]
            result = ~parts[0] if op == "not" else parts[0]
            for part in parts[1:]:
                result = result & part if op == "and" else result | part
            return np.asarray(result, dtype=np.int64)
        case IndexSelect(cond, then, other):
            return np.where(tabulate(cond, values) != 0, tabulate(then, values), tabulate(other, values))
        case _:
            assert_never(expr)


def leaves(expr: IndexExpr) -> Iterator[Leaf]:
    """Every variable of `expr`, with repetitions, from left to right."""
    match expr:
        case IndexConst():
            return
        case IndexVar() | Builtin() | SizeVar() | HoleArg():
            yield expr
        case HoleUse():
            yield expr
        case IndexBinary(_, lhs, rhs) | Compare(_, lhs, rhs):
            yield from leaves(lhs)
            yield from leaves(rhs)
        case Logical(_, operands):
            for operand in operands:
                yield from leaves(operand)
        case IndexSelect(cond, then, other):
            yield from leaves(cond)
            yield from leaves(then)
            yield from leaves(other)
        case _:
            assert_never(expr)


def grid(variables: tuple[IndexExpr, ...], ranges: Ranges, limit: int) -> dict[IndexExpr, Table] | None:
    """Every combination of the variables' values, as arrays that broadcast together; None past `limit` points or if unbounded."""
    axes: dict[IndexExpr, Table] = {}
    points = 1
    for position, variable in enumerate(variables):
        known = index_range(variable, ranges)
        if not known.is_finite:
            return None
        points *= max(0, int(known.high - known.low) + 1)
        shape = [1] * len(variables)
        shape[position] = -1
        if points > limit:
            return None
        axes[variable] = np.arange(int(known.low), math.floor(known.high) + 1, dtype=np.int64).reshape(shape)
    return axes
