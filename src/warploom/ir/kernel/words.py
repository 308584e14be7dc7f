"""Words made of the bits of others, byte_perm and lop3, and of lanes that hold the same, on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray


def mixed(op: Literal["byte_perm", "lop3"], words: Sequence[NDArray[Any]], control: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Words of u32 as `Mixed` makes them of two or three; all arrays broadcast against each other."""
    shape = np.broadcast_shapes(control.shape, *(w.shape for w in words))
    if op == "byte_perm":
        eight = np.concatenate(
            [np.ascontiguousarray(np.broadcast_to(w, shape))[..., None].view(np.uint8) for w in words], axis=-1
        )
        places = np.stack([np.broadcast_to(control >> 4 * k & 7, shape) for k in range(4)], axis=-1)
        return np.ascontiguousarray(np.take_along_axis(eight, places, axis=-1)).view(np.uint32)[..., 0]
    a, b, c = ([(w >> np.uint32(bit)) & np.uint32(1) for bit in range(32)] for w in words)
    result = np.zeros(shape, np.uint32)
    for bit in range(32):
        row = (4 * a[bit] + 2 * b[bit] + c[bit]).astype(np.int64)
        result |= ((control >> row & 1) << bit).astype(np.uint32)
    return result


def matched(kind: str, groups: NDArray[Any]) -> NDArray[np.uint32]:
    """Masks of the lanes whose values are equal, of match_any or match_all; by axis: blocks, warps, lanes."""
    lanes = np.arange(groups.shape[2], dtype=np.uint32)
    equal = groups[..., :, None] == groups[..., None, :]
    masks = np.where(equal, np.uint32(1) << lanes, np.uint32(0)).sum(axis=3, dtype=np.uint32)
    if kind == "match_any":
        return masks
    return np.where(equal.all(axis=(2, 3))[..., None], masks, np.uint32(0))
