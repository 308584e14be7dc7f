"""How many warps fit on a multiprocessor at once, as NVIDIA's occupancy calculator (`cuda_occupancy.h`) counts them."""

from __future__ import annotations

from warploom.machines.gpu import MAX_BLOCK_THREADS, WARP_LANES, Architecture

_LAUNCH_PARTITIONS = 4
"""The check of a launch counts as many, on GP100, which has two, as well."""


def resident_warps(on: Architecture, registers: int, shared_bytes: int, threads: int) -> int:
    """Warps of one multiprocessor when it is full of blocks of `threads` threads; 0 if not even one block fits.

    `registers` per thread, `shared_bytes` per block. ValueError for a block that no launch could ask for.
    """
    if not 1 <= threads <= MAX_BLOCK_THREADS or registers < 0 or shared_bytes < 0:
        raise ValueError(
            f"expected 1 to {MAX_BLOCK_THREADS} threads, nothing negative, got {threads}, {registers}, {shared_bytes}"
        )
    limits = on.limits
    warps = -(-threads // WARP_LANES)
    if registers > limits.max_registers or shared_bytes > limits.shared_bytes_per_block:
        return 0
    blocks = min(limits.max_blocks, limits.max_warps // warps)
    per_warp = _round_up(registers * WARP_LANES, limits.register_unit)
    if per_warp:
        if per_warp * _round_up(warps, _LAUNCH_PARTITIONS) > limits.registers_per_block:
            return 0
        blocks = min(blocks, limits.registers // limits.partitions // per_warp * limits.partitions // warps)
    shared = _round_up(shared_bytes + limits.reserved_shared_bytes, limits.shared_unit_bytes)
    if shared:
        blocks = min(blocks, limits.shared_bytes // shared)
    return blocks * warps


def occupancy(on: Architecture, registers: int, shared_bytes: int, threads: int) -> float:
    """Resident warps as a part of the most that there can be, 0 to 1; see `resident_warps`."""
    return resident_warps(on, registers, shared_bytes, threads) / on.limits.max_warps


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
