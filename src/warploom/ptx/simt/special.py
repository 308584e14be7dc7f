"""Special registers (PTX ISA chapter 10): what a batch's threads read there.

Clocks and timers only grow; they tell nothing about time. One multiprocessor. Of the registers that PTX leaves to the driver
(`%envreg`) two hold the address that CUDA's grid groups look for there, in a cooperative launch.
"""

from __future__ import annotations

import numpy as np

from warploom.ptx.simt.code import RunningBlocks
from warploom.ptx.simt.threads import Threads, Value

CHANGING = frozenset(("%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"))
_AXES = {"x": 0, "y": 1, "z": 2, "w": 3}
_FIXED: dict[str, int] = {
    "%smid": 0, "%nsmid": 1, "%gridid": 0, "%reserved_smem_offset_begin": 0,
    "%reserved_smem_offset_end": 0, "%reserved_smem_offset_cap": 0, "%reserved_smem_offset_0": 0, "%reserved_smem_offset_1": 0,
    "%current_graph_exec": 0,
}  # fmt: skip


def is_alike(name: str) -> bool:
    """Whether every batch of as many blocks reads the same there."""
    return name.startswith(("%tid", "%laneid", "%warpid", "%lanemask"))


def special_value(name: str, running: RunningBlocks) -> Value | None:
    """Value per thread of the batch, or zero-dimensional; None for registers that the interpreter does not have."""
    launch = running.launch
    base, _, axis = name.partition(".")
    place = _AXES.get(axis, 0)
    if base in ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"):
        return _coordinate(base, place, running)
    thread: Threads = np.arange(running.total, dtype=np.int64)
    inside = thread % running.padded_threads
    lane = thread & 31
    match name:
        case "%laneid":
            return lane.astype(np.uint32)
        case "%warpid":
            return (inside >> 5).astype(np.uint32)
        case "%nwarpid":
            return _word(running.padded_threads >> 5)
        case "%lanemask_eq":
            return (np.uint64(1) << lane.astype(np.uint64)).astype(np.uint32)
        case "%lanemask_lt":
            return ((np.uint64(1) << lane.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
        case "%lanemask_le":
            return ((np.uint64(2) << lane.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
        case "%lanemask_gt":
            return ~((np.uint64(2) << lane.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
        case "%lanemask_ge":
            return ~((np.uint64(1) << lane.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
        case "%dynamic_smem_size":
            return _word(launch.dynamic_bytes)
        case "%total_smem_size" | "%aggr_smem_size":
            return _word(launch.shared_bytes)
        case "%is_explicit_cluster":
            return np.array(launch.is_explicit_cluster, np.bool_)
        case "%cluster_nctarank":
            return _word(launch.cluster_blocks)
        case "%cluster_ctarank":
            return _split(running.block_of, (launch.cluster_blocks, 1, 1), 0)
        case _ if name in CHANGING:
            launch.clock += 1
            shift = 32 if name.endswith("_hi") else 0
            return np.array((launch.clock >> shift) & (2**64 - 1), np.uint64)
        case _ if name in _FIXED:
            return _word(_FIXED[name])
        case "%envreg1":
            return _word(launch.workspace >> 32)
        case "%envreg2":
            return _word(launch.workspace & 0xFFFFFFFF)
        case _ if name.startswith(("%pm", "%envreg")):
            return _word(0)
        case _:
            return None


def _word(value: int) -> Value:
    return np.array(value, np.uint32)


def _coordinate(base: str, axis: int, running: RunningBlocks) -> Value:
    launch = running.launch
    if axis == 3:
        return _word(0 if base in ("%tid", "%ctaid", "%clusterid", "%cluster_ctaid") else 1)
    match base:
        case "%ntid":
            return _word(launch.block[axis])
        case "%nctaid":
            return _word(launch.grid[axis])
        case "%nclusterid":
            return _word(launch.grid[axis] // launch.cluster[axis])
        case "%cluster_nctaid":
            return _word(launch.cluster[axis])
        case "%cluster_ctaid":
            return _split(running.block_of % launch.cluster_blocks, launch.cluster, axis)
        case "%tid":
            value = _split(np.arange(running.padded_threads, dtype=np.int64), launch.block, axis)
            return np.tile(value, running.blocks) if value.ndim else value
        case "%ctaid" if launch.cluster_blocks == 1:
            value = _split(np.arange(running.blocks, dtype=np.int64) + running.first_block, launch.grid, axis)
            return np.repeat(value, running.padded_threads) if value.ndim else value
        case "%ctaid":
            whole, inside = (_coordinate(name, axis, running) for name in ("%clusterid", "%cluster_ctaid"))
            return whole * np.uint32(launch.cluster[axis]) + inside
        case _:
            clusters = tuple(n // c for n, c in zip(launch.grid, launch.cluster, strict=True))
            number = (running.block_of + running.first_block) // launch.cluster_blocks
            return _split(number, (clusters[0], clusters[1], clusters[2]), axis)


def _split(linear: Threads, extents: tuple[int, int, int], axis: int) -> Value:
    if extents[axis] == 1:
        return _word(0)
    stride = 1
    for extent in extents[:axis]:
        stride *= extent
    value = linear // stride % extents[axis]
    if value[0] == value[-1] and (value == value[0]).all():
        return _word(int(value[0]))
    return value.astype(np.uint32)
