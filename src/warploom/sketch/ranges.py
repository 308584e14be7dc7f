"""Ranges of index expressions, found before the run by trying every thread, block and loop trip.

Used to tell statically false conditions, loops without trips and masks that are never needed. An answer of None is always
allowed (run-time sizes, reassigned variables, too many points) and only costs precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from warploom.ir import (
    Builtin,
    Compare,
    Hole,
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
from warploom.ir.swizzle import kind_of
from warploom.operations import COMPARISONS, numpy_function

LIMIT = 1 << 21
"""Points tried at most."""

_Values: TypeAlias = npt.NDArray[Any]


class _UnknownError(Exception):
    """The values cannot be listed."""


@dataclass(slots=True)
class Facts:
    """The variables of one kernel: ranges of ids and loop variables, definitions of variables that are assigned once."""

    block: tuple[int, int, int]
    grid: tuple[IndexExpr, IndexExpr, IndexExpr]
    holes: Mapping[str, Hole]
    definitions: dict[str, IndexExpr] = field(default_factory=dict[str, IndexExpr])
    loops: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Smallest and largest value, a superset."""

    def decide(self, cond: IndexExpr) -> bool | None:
        """The truth value of `cond` if it is the same everywhere."""
        values = self._values(cond)
        if values is None or not values.size or bool(values.any()) != bool(values.all()):
            return None
        return bool(values.all())

    def hull(self, expr: IndexExpr) -> tuple[int, int] | None:
        """Bounds on the integer `expr`."""
        values = self._values(expr)
        return None if values is None or not values.size else (int(values.min()), int(values.max()))

    def constant(self, expr: IndexExpr) -> int | None:
        """The value of `expr` if nothing but the kernel's text decides it (block extents, constants)."""
        if self.depends(expr) - {"constant"}:
            return None
        bounds = self.hull(expr)
        return bounds[0] if bounds else None

    def diverges(self, cond: IndexExpr) -> bool:
        """Whether some threads of a block surely see another value of `cond` than others."""
        axes: list[object] = []
        try:
            values = self._evaluate(cond, axes)
        except _UnknownError:
            return False
        threads = tuple(p for p, leaf in enumerate(axes) if isinstance(leaf, Builtin) and leaf.name == "thread_id")
        if any(isinstance(leaf, HoleUse) for leaf in axes) or not threads or values.ndim != len(axes):
            return False
        return bool((values.any(axis=threads) != values.all(axis=threads)).all())

    def depends(self, expr: IndexExpr) -> frozenset[str]:
        """The subset of thread, block, size, loop, hole, variable (reassigned) on which `expr` depends; `constant` is always
        there."""
        found = {"constant"}
        match expr:
            case IndexConst():
                pass
            case HoleArg() | HoleUse():
                found.add("hole")
            case SizeVar():
                found.add("size")
            case Builtin(name="thread_id"):
                found.add("thread")
            case Builtin(name="block_id"):
                found.add("block")
            case Builtin(name="block_dim"):
                pass
            case Builtin(name="grid_dim", axis=axis):
                found |= self.depends(self.grid[axis])
            case Builtin():
                pass
            case IndexVar(name=name) if name in self.loops:
                found.add("loop")
            case IndexVar(name=name):
                found |= self.depends(self.definitions[name]) if name in self.definitions else {"variable"}
            case IndexBinary(lhs=lhs, rhs=rhs) | Compare(lhs=lhs, rhs=rhs):
                found |= self.depends(lhs) | self.depends(rhs)
            case Logical(operands=operands):
                found = found.union(*map(self.depends, operands))
            case IndexSelect(cond=cond, then=then, other=other):
                found |= self.depends(cond) | self.depends(then) | self.depends(other)
        return frozenset(found)

    def _values(self, expr: IndexExpr) -> _Values | None:
        try:
            return self._evaluate(expr, [])
        except _UnknownError:
            return None

    def _evaluate(self, expr: IndexExpr, axes: list[object]) -> _Values:
        """All values of `expr`; one array dimension for each entry that `axes` gets (independent leaves of `expr`)."""
        ranges: dict[object, Sequence[int]] = {}
        self._leaves(expr, ranges)
        axes += list(ranges)
        points = 1
        for values in ranges.values():
            points *= len(values)
        if points > LIMIT:
            raise _UnknownError
        environment: dict[object, _Values] = {}
        for position, (leaf, values) in enumerate(ranges.items()):
            shape = [1] * len(ranges)
            shape[position] = len(values)
            environment[leaf] = np.array(values, dtype=np.int64).reshape(shape)
        return self._compute(expr, environment)

    def _leaves(self, expr: IndexExpr, ranges: dict[object, Sequence[int]]) -> None:
        match expr:
            case IndexConst() | Builtin(name="block_dim"):
                pass
            case Builtin(name="thread_id", axis=axis):
                ranges[expr] = range(self.block[axis])
            case Builtin(name="block_id", axis=axis):
                extent = self.grid[axis]
                if not isinstance(extent, IndexConst):
                    raise _UnknownError
                ranges[expr] = range(int(extent.value))
            case Builtin(axis=axis):
                self._leaves(self.grid[axis], ranges)
            case IndexVar(name=name) if name in self.loops:
                low, high = self.loops[name]
                ranges[expr] = range(low, high + 1)
            case IndexVar(name=name) if name in self.definitions:
                self._leaves(self.definitions[name], ranges)
            case HoleUse(hole=hole):
                ranges[expr] = _hole_values(self.holes.get(hole))
            case IndexBinary(lhs=lhs, rhs=rhs) | Compare(lhs=lhs, rhs=rhs):
                self._leaves(lhs, ranges)
                self._leaves(rhs, ranges)
            case Logical(operands=operands):
                for operand in operands:
                    self._leaves(operand, ranges)
            case IndexSelect(cond=cond, then=then, other=other):
                for part in (cond, then, other):
                    self._leaves(part, ranges)
            case _:
                raise _UnknownError

    def _compute(self, expr: IndexExpr, env: dict[object, _Values]) -> _Values:
        if expr in env:
            return env[expr]
        match expr:
            case IndexConst(value=value):
                return np.asarray(value)
            case Builtin(name="block_dim", axis=axis):
                return np.asarray(self.block[axis])
            case Builtin(axis=axis):
                return self._compute(self.grid[axis], env)
            case IndexVar(name=name):
                return self._compute(self.definitions[name], env)
            case IndexBinary(op=op, lhs=lhs, rhs=rhs):
                a, b = self._compute(lhs, env), self._compute(rhs, env)
                if (op in ("//", "%") and not b.all()) or (op in ("<<", ">>") and (b.min() < 0 or b.max() > 31)):
                    raise _UnknownError
                return cast(_Values, numpy_function(op)(a, b))
            case Compare(op=op, lhs=lhs, rhs=rhs):
                return cast(_Values, COMPARISONS[op].holds(self._compute(lhs, env), self._compute(rhs, env)))
            case Logical(op="not", operands=(operand,)):
                return np.logical_not(self._compute(operand, env))
            case Logical(op=op, operands=operands):
                join = np.logical_and if op == "and" else np.logical_or
                total = np.asarray(op == "and")
                for operand in operands:
                    total = join(total, self._compute(operand, env))
                return total
            case IndexSelect(cond=cond, then=then, other=other):
                return np.where(self._compute(cond, env), self._compute(then, env), self._compute(other, env))
            case _:
                raise _UnknownError


def _hole_values(hole: Hole | None) -> Sequence[int]:
    if hole is None:
        raise _UnknownError
    numbers = kind_of(hole).numbers(hole)
    if numbers is None:
        raise _UnknownError
    return numbers
