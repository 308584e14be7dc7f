"""Index expressions of a bounded kernel, for all threads at once; what depends on holes stays a table over their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UnsupportedError, UserError
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
    Kernel,
    Logical,
    SizeVar,
)
from warploom.ir.swizzle import kind_of
from warploom.operations import COMPARISONS, numpy_function
from warploom.synth.network.network import BoolArray, HoleUses, IntArray, Slots

Table = NDArray[Any]
"""[threads] or [threads, slot values...] integers or truth values."""

MAX_OPTIONS = 1 << 14
"""Values of all slots of one open expression, multiplied; more would not be a table worth having."""


@dataclass(frozen=True, eq=False, slots=True)
class Open:
    """A per-thread index value that depends on holes: `table[t, v0, v1, ...]`. Only the rows of active threads mean anything."""

    slots: Slots
    table: Table


IndexValue = Table | Open
"""A concrete value is [threads] integers or truth values."""


class IndexLowering:
    """Evaluates index expressions under a mask of active threads, and numbers the points where holes are used."""

    def __init__(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        self.kernel = kernel
        self.sizes = sizes
        self.threads = kernel.threads
        self.holes = {h.name: n for n, h in enumerate(kernel.holes)}
        self.arguments: dict[tuple[int, ...], int] = {}
        """Argument tuples of all holes, numbered."""
        self._rows_met: dict[tuple[bytes, bytes], IntArray] = {}
        """(arguments of all threads, which of them are active) -> [active threads] argument numbers."""
        self.points: list[IntArray] = [np.zeros(0, np.int64) for _ in kernel.holes]
        """Per hole: [argument numbers] point number, -1 where the hole is not used with these arguments."""
        numbers = np.arange(self.threads)
        bx, by, _ = kernel.block
        self.thread_ids = (numbers % bx, numbers // bx % by, numbers // (bx * by))
        self.block = (0, 0, 0)
        self.indices: dict[str, IndexValue] = {}
        self.active: BoolArray = np.ones(self.threads, np.bool_)

    def hole_uses(self) -> tuple[HoleUses, ...]:
        """Every hole with the points met so far, in the kernel's order."""
        uses: list[HoleUses] = []
        arguments = list(self.arguments)
        for hole, numbers in zip(self.kernel.holes, self.points, strict=True):
            arity = len(hole.arg_names) if kind_of(hole).takes == "indices" else 0
            used = np.flatnonzero(numbers >= 0)
            order: list[int] = used[np.argsort(numbers[used])].tolist()
            rows = [arguments[n] for n in order]
            table = np.array(rows, np.int64).reshape(len(rows), arity)
            uses.append(HoleUses(hole, table, hole_values(hole)))
        return tuple(uses)

    def scalar(self, expr: IndexExpr) -> int:
        """An expression over sizes, constants and loop variables."""
        value = self.index(expr)
        assert isinstance(value, np.ndarray)
        return int(value.flat[0])

    def index(self, expr: IndexExpr) -> IndexValue:
        match expr:
            case IndexConst(value):
                return np.full(self.threads, value)
            case IndexVar(name):
                return self.indices[name]
            case Builtin(name, axis):
                return self._builtin(name, axis)
            case SizeVar(name):
                return np.full(self.threads, self.sizes[name])
            case IndexBinary(op, lhs, rhs):
                return self.map(_function(op), self.index(lhs), self.index(rhs))
            case Compare(op, lhs, rhs):
                return self.map(COMPARISONS[op].holds, self.index(lhs), self.index(rhs))
            case Logical("not", (operand,)):
                return self.map(np.logical_not, self.index(operand))
            case Logical(op, operands):
                function = np.logical_and if op == "and" else np.logical_or
                result = self.index(operands[0])
                for operand in operands[1:]:
                    result = self.map(function, result, self.index(operand))
                return result
            case IndexSelect(cond, then, other):
                return self.map(np.where, self.index(cond), self.index(then), self.index(other))
            case HoleUse():
                return self._hole(expr)
            case HoleArg():
                raise TypeError("a hole's parameter outside of a completion")
            case _:
                assert_never(expr)

    def flattened(self, shape: tuple[int, ...], index: tuple[IndexExpr, ...]) -> IndexValue:
        """Row-major position in an array of the given shape, -1 where an index is out of range."""

        def flatten(*values: IntArray) -> IntArray:
            position: Any = 0
            inside: Any = True
            for value, extent in zip(values, shape, strict=True):
                position = position * extent + value
                inside = inside & (value >= 0) & (value < extent)
            return np.where(inside, position, -1)

        return self.map(flatten, *(self.index(i) for i in index)) if shape else np.zeros(self.threads, np.int64)

    def _builtin(self, name: str, axis: int) -> IntArray:
        if name == "thread_id":
            return self.thread_ids[axis]
        if name == "block_id":
            return np.full(self.threads, self.block[axis])
        if name == "block_dim":
            return np.full(self.threads, self.kernel.block[axis])
        return np.full(self.threads, self.scalar(self.kernel.grid[axis]))

    # ------------------------------------------------------------ holes

    def _hole(self, use: HoleUse) -> Open:
        number = self.holes[use.hole]
        hole = self.kernel.holes[number]
        values = hole_values(hole)
        args: list[Table] = []
        for value in (self.index(a) for a in use.args):
            if isinstance(value, Open):
                raise _nested(hole)
            args.append(value)
        kind = kind_of(hole)
        numbers = kind.numbers(hole)
        if kind.takes != "indices":
            self._number_points(number, np.array([self.arguments.setdefault((), len(self.arguments))]))
            slots = Slots((number,), (np.zeros(self.threads, np.int64),))
            return Open(slots, np.stack(args, axis=1) if numbers is None else self._everywhere(np.array(numbers)))
        columns = np.column_stack([np.zeros((self.threads, 0), np.int64), *args]).astype(np.int64)
        if (below := kind.first_below(hole)) is not None:
            self._check_first(hole, below, columns)
        points = self._points(number, columns)
        table: Table = np.array([False, True]) if kind.is_condition else np.arange(values)
        return Open(Slots((number,), (points,)), self._everywhere(table))

    def _everywhere(self, table: Table) -> Table:
        return np.broadcast_to(table, (self.threads, len(table)))

    def _points(self, number: int, columns: IntArray) -> IntArray:
        """[threads] point number of the arguments `columns` ([threads, arguments]) of a hole; 0 in inactive threads."""
        key = columns.tobytes(), self.active.tobytes()
        met = self._rows_met.get(key)
        if met is None:
            rows = columns[self.active].tolist()
            met = np.array([self.arguments.setdefault(tuple(row), len(self.arguments)) for row in rows], np.int64)
            self._rows_met[key] = met
        points = np.zeros(self.threads, np.int64)
        points[self.active] = self._number_points(number, met)
        return points

    def _number_points(self, number: int, arguments: IntArray) -> IntArray:
        """Point numbers of a hole for argument numbers; those met for the first time are counted on."""
        known = self.points[number]
        if len(known) < len(self.arguments):
            known = self.points[number] = np.append(known, np.full(len(self.arguments) - len(known), -1))
        fresh = arguments[known[arguments] < 0]
        if len(fresh):
            distinct, first = np.unique(fresh, return_index=True)
            known[distinct[np.argsort(first)]] = int(known.max()) + 1 + np.arange(len(distinct))
        return known[arguments]

    def _check_first(self, hole: Hole, below: int, columns: IntArray) -> None:
        outside = self.active & ((columns[:, 0] < 0) | (columns[:, 0] >= below))
        if outside.any():
            value = int(columns[np.flatnonzero(outside)[0], 0])
            raise UserError(
                Diagnostic(
                    "HOLE_RANGE",
                    f"expected the first argument of {hole.kind} within 0..{below - 1}, got {hole.arg_names[0]} = {value}",
                    hole.span,
                    "pass the number of indices that the first argument really takes as the second argument",
                )
            )

    # ------------------------------------------------------------ open values

    def map(self, function: Callable[..., Any], *operands: IndexValue) -> IndexValue:
        """`function` applied per thread and per combination of slot values."""
        if not any(isinstance(o, Open) for o in operands):
            with np.errstate(all="ignore"):
                return function(*operands)
        holes: list[int] = []
        points: list[IntArray] = []
        axes = [self._axes(o, holes, points) if isinstance(o, Open) else [] for o in operands]
        shapes = [hole_values(self.kernel.holes[h]) for h in holes]
        if prod(shapes) > MAX_OPTIONS:
            raise _too_open([self.kernel.holes[h] for h in holes], prod(shapes))
        expanded: list[Table] = []
        for operand, mine in zip(operands, axes, strict=True):
            if isinstance(operand, Open):
                order = np.argsort(mine)
                table = np.transpose(operand.table, (0, *(int(o) + 1 for o in order)))
                shape = [self.threads] + [shapes[a] if a in mine else 1 for a in range(len(holes))]
                expanded.append(table.reshape(shape))
            else:
                expanded.append(operand.reshape((self.threads,) + (1,) * len(holes)))
        with np.errstate(all="ignore"):
            table = np.broadcast_to(function(*expanded), (self.threads, *shapes))
        return self._closed(Open(Slots(tuple(holes), tuple(points)), table))

    def _axes(self, operand: Open, holes: list[int], points: list[IntArray]) -> list[int]:
        """Joint axis of each slot of `operand`; slots not met before are appended to `holes` and `points`."""
        mine: list[int] = []
        for hole, where in zip(operand.slots.holes, operand.slots.points, strict=True):
            for axis, (h, p) in enumerate(zip(holes, points, strict=True)):
                if h == hole and axis not in mine and (p is where or np.array_equal(p[self.active], where[self.active])):
                    mine.append(axis)
                    break
            else:
                mine.append(len(holes))
                holes.append(hole)
                points.append(where)
        return mine

    def _closed(self, value: Open) -> IndexValue:
        """Without the slots that make no difference in any active thread (a mask that is always true, say)."""
        table, kept = value.table, list(range(len(value.slots.holes)))
        for axis in reversed(range(len(value.slots.holes))):
            first = table.take([0], axis=axis + 1)
            if (table == first)[self.active].all():
                table = first.squeeze(axis=axis + 1)
                del kept[axis]
        if not kept:
            return table
        slots = Slots(tuple(value.slots.holes[a] for a in kept), tuple(value.slots.points[a] for a in kept))
        return Open(slots, table)

    def merged_index(self, new: IndexValue, old: IndexValue | None, guard: Open | None) -> IndexValue:
        """`new` in the active threads where the open `guard` holds, else `old` (None: nothing yet)."""
        if old is None:
            return new
        if guard is not None:
            new = self.map(np.where, guard, new, old)
        if self.active.all():
            return new
        mask, self.active = self.active, np.ones(self.threads, np.bool_)  # the others' rows of `old` count, too
        merged = self.map(np.where, mask, new, old)
        self.active = mask
        return merged


def hole_values(hole: Hole) -> int:
    """Number of values that a hole takes; they are numbered from 0."""
    return kind_of(hole).values(hole)


def rows_of(slots: Slots, rows: IntArray) -> Slots:
    """`slots` of some rows only."""
    return replace(slots, points=tuple(p[rows] for p in slots.points))


def _nested(hole: Hole) -> UnsupportedError:
    return UnsupportedError(
        Diagnostic(
            "NESTED_HOLE",
            f"expected arguments without holes, got another hole inside an argument of hole '{hole.name}'",
            hole.span,
            "pass loop variables and lane numbers; combine the results of the two holes instead",
        )
    )


def _too_open(holes: Sequence[Hole], options: int) -> UnsupportedError:
    names = ", ".join(f"'{hole.name}'" for hole in holes)
    return UnsupportedError(
        Diagnostic(
            "OPEN_EXPRESSION",
            f"expected an index with at most {MAX_OPTIONS} open values, got {options} from the holes {names}",
            holes[0].span,
            "use the holes in separate accesses (one per array dimension), or give one of them fewer values",
        )
    )


def _shift_left(a: IntArray, b: IntArray) -> IntArray:
    return np.left_shift(a, np.clip(b, 0, 62))


def _shift_right(a: IntArray, b: IntArray) -> IntArray:
    return np.right_shift(a, np.clip(b, 0, 62))


_CLIPPED: dict[str, Callable[..., Any]] = {"<<": _shift_left, ">>": _shift_right}


def _function(op: str) -> Callable[..., Any]:
    return _CLIPPED.get(op) or numpy_function(op)
