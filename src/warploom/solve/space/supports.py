"""Relations as the engine uses them: for each slot, the values that go with those of the other slots."""

from __future__ import annotations

import numpy as np

from warploom.solve.space.engine import Masks
from warploom.solve.space.forms import Relation

DIRECT_BITS = 16
"""Supports are tabulated by masks up to this many bits."""


def supports_of(relation: Relation | None) -> tuple[list[list[int]], list[int], bool]:
    """Supports by slot, numbers of values, whether the supports are by masks."""
    if relation is None:
        return [], [0] * 3, False
    sizes = list(relation.shape)
    is_direct = sum(sorted(sizes)[-2:]) <= DIRECT_BITS if len(sizes) > 2 else max(sizes) <= DIRECT_BITS
    parts = [_supports(np.moveaxis(relation, k, -1), is_direct) for k in range(relation.ndim)]
    return parts, [*sizes, *[0] * (3 - len(sizes))], is_direct


def _supports(relation: Relation, is_direct: bool) -> list[int]:
    """Values of the last axis that go with the others, by the other slots' masks (first in the low bits) or values."""
    rows = relation @ (np.uint64(1) << np.arange(relation.shape[-1], dtype=np.uint64))
    if not is_direct:
        return rows.reshape(-1).tolist()
    for axis in range(rows.ndim):
        rows = _by_masks(rows, axis)
    return rows.T.reshape(-1).tolist()


def _by_masks(rows: Masks, axis: int) -> Masks:
    """Unions of the rows along one axis, for all masks of its values."""
    moved = np.moveaxis(rows, axis, 0)
    table = np.zeros((1 << moved.shape[0], *moved.shape[1:]), dtype=np.uint64)
    for value in range(moved.shape[0]):
        table[1 << value : 2 << value] = table[: 1 << value] | moved[value]
    return np.moveaxis(table, 0, axis)
