"""Habits of CPU kernels without a sum, such as stencils: vectors along the fastest axis of what is stored, loops in the order in
which that lies in memory, and in each iteration some vectors next to each other and some rows below each other, of which
neighbours read the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from warploom.schedule.backbone import Operator
from warploom.schedule.choices.objects import Habit, Objects
from warploom.schedule.choices.windows import neighbours, windowed_regions
from warploom.schedule.targets import Target

_VECTORS = 1, 2, 4
"""Vectors of an iteration next to each other."""
_TILES = (4, 1), (2, 2), (8, 1), (2, 1), (1, 2), (1, 1)
"""Rows of an iteration along an axis whose neighbours read the same, and vectors."""
_WAYS = 8


def elementwise_habits(objects: Objects, target: Target) -> tuple[tuple[Habit, ...], ...]:
    """Ways to begin; none for kernels with a sum, and where nothing that is stored lies in line."""
    if objects.sums:
        return ()
    rows = _Rows(objects, target)
    if rows.lanes is None:
        return ()
    tiles = [({axis: count}, vectors) for count, vectors in _TILES for axis in (rows.near if count > 1 else [rows.lanes])]
    found = (tuple(rows.habits(counts, vectors)) for counts, vectors in (tiles if rows.near else [({}, v) for v in _VECTORS]))
    return tuple(islice(dict.fromkeys(found), _WAYS))


class _Rows:
    def __init__(self, objects: Objects, target: Target) -> None:
        self.objects = objects
        self.loop = {x.statement: x for x in objects.loops}
        self.levels = objects.levels
        backbone = objects.backbone
        store = next(i for i in backbone.instructions if i.operator is Operator.STORE)
        axes = range(len(backbone.axes))
        self.strides = {a: objects.stride(store.access, a) for a in axes}
        self.width = max(target.lanes(store.dtype.size_bytes), default=1)
        self.lanes = next((a for a in axes if self.strides[a] == 1), None)
        near = neighbours(backbone, windowed_regions(backbone))
        self.near = sorted((a for a in near if a != self.lanes and self.levels[a] > 1), key=lambda a: self.strides[a])
        """Axes of rows whose neighbours read the same, the innermost first."""

    def habits(self, rows: dict[int, int], vectors: int) -> Iterator[Habit]:
        for number, extent in enumerate(self.objects.backbone.extents):
            if (size := self._size(extent.axis, extent.level, extent.sizes, rows, vectors)) is not None:
                yield "size", (number,), str(size)
        for operation in self.objects.operations:
            if operation.temporary is None:
                yield from (("dim_kind", (s,), self._kind(s)) for s in operation.loops)
                yield from self._order(operation.loops)

    def _size(self, axis: int, level: int, sizes: Sequence[int], rows: dict[int, int], vectors: int) -> int | None:
        """The size of a level of loops; None: any."""
        last = self.levels[axis] - 1
        if axis == self.lanes:
            wanted = {last: self.width, last - 1: vectors}.get(level, 1)
        else:
            wanted = rows.get(axis, 1) if level == last else 1
        return max((n for n in sizes if n <= wanted), default=None) if level > 0 else None

    def _kind(self, statement: int) -> str:
        loop = self.loop[statement]
        if loop.level == 0:
            return "LOOP|BLOCK"
        return "VECTOR" if loop.axis == self.lanes and loop.is_innermost else "UNROLL"

    def _order(self, statements: Sequence[int]) -> Iterator[Habit]:
        """Loops of slower axes lie around those of faster ones."""
        outer = sorted((s for s in statements if self.loop[s].level == 0), key=lambda s: -self.strides[self.loop[s].axis])
        for n, statement in enumerate(outer):
            yield from (("order", (statement, inner), "OUTER") for inner in outer[n + 1 :])
