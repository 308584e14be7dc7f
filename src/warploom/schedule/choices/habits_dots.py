"""Habits of products of few rows on CPUs: vectors along the sum of factors that both lie in line there, as those of
X[m, k] * W[n, k] do, whose lanes are added up at the end.

Vectors along a row of results need a copy of the factor that lies across. It serves as many products as there are rows, while
the lanes of a total are added up once for all the steps of its sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from warploom.core import WORDS
from warploom.schedule.backbone import Instruction, Operator, Result
from warploom.schedule.choices.objects import Habit, Objects, Operation
from warploom.schedule.targets import Target

_WAYS = 3
LEAST_TOTALS = 8
"""Totals that keep two units of multiply-adds busy, whose results take four cycles."""


def dots_habits(objects: Objects, target: Target) -> tuple[tuple[Habit, ...], ...]:
    """Ways to begin; none for kernels of another sum, of several, or of more rows."""
    if len(objects.sums) != 1:
        return ()
    dots = _Dots(objects, target, objects.sums[0])
    return tuple(tuple(dots.habits(*tile)) for tile in dots.tiles()[:_WAYS]) if dots.applies else ()


class _Dots:
    """Habits of one sum: the vectors of a few rows and of a few columns are multiplied each with each."""

    def __init__(self, objects: Objects, target: Target, total: Operation) -> None:
        self.objects, self.total = objects, total
        self.loop = {x.statement: x for x in objects.loops}
        backbone = objects.backbone
        instructions = backbone.instructions
        product = instructions[total.instruction]
        self.width = max(target.lanes(product.dtype.size_bytes), default=1)
        self.room = target.registers - target.reserved_registers
        store = next(i for i in instructions if i.operator is Operator.STORE)
        axes = dict.fromkeys(self.loop[s].axis for s in total.loops)
        reduced = [a for a in axes if any(self.loop[s].is_reduction for s in total.loops if self.loop[s].axis == a)]
        results = [a for a in axes if a not in reduced]
        factors = _factors(instructions, product)
        self.summed = reduced[0] if len(reduced) == 1 else None
        self.columns = next((a for a in results if objects.stride(store.access, a) == 1), None)
        along = [i for i in factors if self.columns in i.axes]
        is_in_line = len(factors) == 2 and all(objects.stride(i.access, a) == 1 for i in factors for a in reduced)
        rows = [a for a in results if len(along) == 1 and a not in along[0].axes]
        self.rows = rows[-1] if rows else None
        few = math.prod(backbone.axes[a].size for a in rows)
        self.applies = bool(
            self.summed is not None
            and self.columns is not None
            and rows
            and is_in_line
            and (product.dtype.is_float or all(i.dtype in WORDS.values() for i in factors))
            and self.width in self._sizes(self.summed)
            and few * self.width <= backbone.axes[self.summed].size
        )

    def tiles(self) -> list[tuple[int, int]]:
        """Rows and columns whose totals, and the vectors of one of both, the registers hold; fewest loads for a product first."""
        found = [
            (r, c)
            for r in self._sizes(self.rows)
            for c in self._sizes(self.columns)
            if LEAST_TOTALS <= r * c <= self.room - min(r, c) - 1 and self._size(self.rows) % r == 0
        ]
        return sorted(found, key=lambda tile: sum(tile) / math.prod(tile))

    def habits(self, rows: int, columns: int) -> Iterator[Habit]:
        inner = {self.rows: rows, self.columns: columns, self.summed: self.width}
        levels = self.objects.levels
        for number, extent in enumerate(self.objects.backbone.extents):
            left = levels[extent.axis] - 1 - extent.level
            if extent.axis in inner and self._is_inner(extent.axis, extent.level):
                yield "size", (number,), str(inner[extent.axis])
            elif extent.axis == self.summed and left == 1 and extent.level > 0:
                most = self._size(extent.axis) // self.width
                yield "size", (number,), str(max((n for n in extent.sizes if most % n == 0), default=1))
            elif extent.axis == self.columns and left == 1 and extent.level > 0:
                yield "size", (number,), "1"
        for pair in self.objects.pairs:  # all that is loaded is loaded where it is used
            is_open = not pair.is_reserved and self._kind(pair.target) is None and not self._is_single(pair.target)
            if pair.temporary is not None and is_open:
                yield "order", (pair.source, pair.target), "MERGED"
        for operation in self.objects.operations:
            if operation.temporary is None:
                for statement in operation.loops:
                    if (kind := self._kind(statement)) is not None:
                        yield "dim_kind", (statement,), kind
        outer = {self.loop[s].axis: s for s in self.total.loops if self.loop[s].level == 0}
        assert self.columns is not None and self.rows is not None
        yield "order", (outer[self.columns], outer[self.rows]), "OUTER"

    def _sizes(self, axis: int | None) -> tuple[int, ...]:
        """Sizes of the innermost level of an axis; 1 where it has no tiles."""
        return next((e.sizes for e in self.objects.backbone.extents if e.axis == axis and self._is_inner(e.axis, e.level)), (1,))

    def _is_inner(self, axis: int, level: int) -> bool:
        return 0 < level == self.objects.levels[axis] - 1

    def _size(self, axis: int | None) -> int:
        return 1 if axis is None else self.objects.backbone.axes[axis].size

    def _is_single(self, statement: int) -> bool:
        """A level of columns that has one iteration: columns are side by side at the innermost one."""
        loop = self.loop[statement]
        return loop.axis == self.columns and 0 < loop.level == self.objects.levels[loop.axis] - 2

    def _kind(self, statement: int) -> str | None:
        loop = self.loop[statement]
        if not self._is_inner(loop.axis, loop.level):
            return None
        if loop.axis == self.summed:
            return "VECTOR"
        return "UNROLL" if loop.axis in (self.rows, self.columns) else None


def _factors(instructions: Sequence[Instruction], product: Instruction) -> list[Instruction]:
    """The loads that a sum of products multiplies."""
    if product.operator is not Operator.FMA:
        return []
    read = [instructions[o.instruction] for o in product.operands if isinstance(o, Result)]
    return [i for i in read if i.operator is Operator.LOAD]
