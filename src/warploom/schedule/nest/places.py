"""Places in the arrays of a kernel: an index for each of their axes, as one offset."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from warploom.core.linear import Linear
from warploom.schedule.backbone import Region
from warploom.schedule.nest.nodes import Affine, Buffer, Rows


def buffer_of(region: Region) -> Buffer:
    inner = tuple(size for size in region.inner if size is not None)
    return Buffer(
        region.name, region.dtype, region.elements, region.role, run_time=region.run_time, spread=region.spread, inner=inner
    )


def placed(region: Region, indices: Sequence[Affine]) -> tuple[Affine, tuple[Rows, ...]]:
    """The offset of an element, and those parts of it whose strides are known at run time."""
    offset: Affine = Linear()
    rows: list[Rows] = []
    opened = dict(region.open_lengths)
    for n, (index, stride, sizes) in enumerate(zip(indices, region.strides, region.open_strides, strict=True)):
        offset = offset.plus(index, stride)
        if sizes and index.divisor:
            behind = prod(length for at, length in enumerate(region.shape) if at > n and at not in opened)
            rows.append(Rows(index, sizes, behind, stride))
    return offset, tuple(rows)
