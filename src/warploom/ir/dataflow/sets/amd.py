"""Lane operations of AMD GCN3 and CDNA wavefronts, along one axis (`axis`, default 0) of 16, 32, 48 or 64 lanes.

    amd_dpp          quad_perm, row_shl, row_shr, row_ror 1..15, wave_shl, wave_rol, wave_shr, wave_ror 1, row_mirror,
                     row_half_mirror, row_bcast 15 and 31; rows are 16 lanes
    amd_ds_swizzle   bit mode ((lane & and) | or) ^ xor in 32 lanes, and quad mode
    amd_bpermute     ds_bpermute_b32: every lane reads any lane (factored)

`shl` reads the lane with the higher number, `shr` the lower one. A DPP lane without a source is 0 with bound_ctrl and keeps the
destination's old value otherwise, which is undefined here. ds_swizzle reads 0 from lanes that do not exist.

Source: AMD GCN3 ISA, sections on DPP, ds_swizzle_b32 and ds_bpermute_b32; LLVM's AMDGPU operand syntax for the names.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from warploom.ir.dataflow.gather_set import UNDEFINED, ZERO, GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.lanes import free_lanes, lane_axis, listed_lanes, move_costs
from warploom.ir.swizzle import IntArray

ROW, WAVE, SWIZZLE_LANES = 16, 64, 32
NO_LANE = -1


def _lanes(call: Call) -> tuple[int, IntArray]:
    call.only("axis")
    axis, length = lane_axis(call)
    if length % ROW or length > WAVE:
        raise call.mismatch(f"16, 32, 48 or 64 lanes on axis {axis}")
    return axis, np.arange(length)


def amd_dpp(call: Call) -> GatherSet:
    axis, lane = _lanes(call)
    controls = _dpp_controls(lane)
    rows: list[IntArray] = []
    names: list[str] = []
    for name, source in controls:
        missing = source == NO_LANE
        rows.append(np.where(missing, UNDEFINED, source))
        names.append(name)
        if missing.any():
            rows.append(np.where(missing, ZERO, source))
            names.append(f"{name} bound_ctrl:1")
    lanes = np.stack(rows)
    return listed_lanes(call, axis, lanes, move_costs(lanes), lambda row: f"{call.name}({names[row]})")


def _dpp_controls(lane: IntArray) -> list[tuple[str, IntArray]]:
    """Name and source lane (or `NO_LANE`) of every control."""
    local, start, count = lane % ROW, lane - lane % ROW, len(lane)
    found = [(f"quad_perm:[{','.join(map(str, order))}]", source) for order, source in _quads(lane)]
    for n in range(1, ROW):
        found.append((f"row_shl:{n}", np.where(local + n < ROW, lane + n, NO_LANE)))
        found.append((f"row_shr:{n}", np.where(local >= n, lane - n, NO_LANE)))
        found.append((f"row_ror:{n}", start + (local - n) % ROW))
    found += [
        ("wave_shl:1", np.where(lane + 1 < count, lane + 1, NO_LANE)),
        ("wave_rol:1", (lane + 1) % count),
        ("wave_shr:1", np.where(lane > 0, lane - 1, NO_LANE)),
        ("wave_ror:1", (lane - 1) % count),
        ("row_mirror", start + ROW - 1 - local),
        ("row_half_mirror", lane - lane % 8 + 7 - lane % 8),
        ("row_bcast:15", np.where(lane >= ROW, start - 1, NO_LANE)),
        ("row_bcast:31", np.where(lane >= 2 * ROW, 2 * ROW - 1, NO_LANE)),
    ]
    return [(name, source) for name, source in found if (source != NO_LANE).any()]


def _quads(lane: IntArray) -> list[tuple[tuple[int, ...], IntArray]]:
    """Every choice of a source in its quad for each of the four lanes, the identity first."""
    orders = sorted(product(range(4), repeat=4), key=lambda order: order != (0, 1, 2, 3))
    return [(order, lane - lane % 4 + np.array(order)[lane % 4]) for order in orders]


def amd_ds_swizzle(call: Call) -> GatherSet:
    axis, lane = _lanes(call)
    local, start = lane % SWIZZLE_LANES, lane - lane % SWIZZLE_LANES
    quads = _quads(lane)
    masks = _bit_masks()
    kept, ones, flipped = masks.T[:, :, None]
    bit_mode = start + (((local & kept) | ones) ^ flipped)
    lanes = np.concatenate([np.stack([source for _, source in quads]), np.where(bit_mode < len(lane), bit_mode, ZERO)])

    def text(row: int) -> str:
        if row < len(quads):
            return f"{call.name}(quad_perm, {', '.join(map(str, quads[row][0]))})"
        a, o, x = (int(mask) for mask in masks[row - len(quads)])
        return f"{call.name}(and={a:#04x}, or={o:#04x}, xor={x:#04x})"

    return listed_lanes(call, axis, lanes, move_costs(lanes), text)


def _bit_masks() -> IntArray:
    """[1024, 3] and, or, xor masks, one for each effect: every bit of the lane number is kept, flipped, 0 or 1."""
    bits = range(SWIZZLE_LANES.bit_length() - 1)
    effects = list(product(((1, 0, 0), (1, 0, 1), (0, 0, 0), (0, 1, 0)), repeat=len(bits)))
    return np.array([[sum(effect[b][mask] << b for b in bits) for mask in range(3)] for effect in effects], np.int64)


def amd_bpermute(call: Call) -> GatherSet:
    axis, _ = _lanes(call)
    return free_lanes(call, axis, lambda lanes: f"{call.name}({', '.join(map(str, lanes))})")
