"""The generic and the asynchronous proxy: what threads store into shared memory is seen by bulk copies to global memory, wgmma
and tcgen05.mma only across a `fence.proxy.async` (PTX ISA 8.6.1).

A mark per granule says that a thread stored there and no such fence has followed: one of the storing thread, or of a thread that
is ordered after the store by then. What `cp.async` brings is such a store, too, made at its wait (PTX ISA 9.7.9.25.3). Kernels
without such readers have no marks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.routine import Program
from warploom.ptx.simt.code import Access, Group, RunningBlocks
from warploom.ptx.simt.findings import WITHOUT_PROXY_FENCE
from warploom.ptx.simt.regions import Region

MARKS = "generic"
_SITE_SHIFT, _SITES = 21, 1 << 11
_TIME = np.uint64((1 << 18) - 1)
_THREAD = np.uint64(32)


def has_readers(program: Program) -> bool:
    """Whether anything reads shared memory by the asynchronous proxy."""
    for routine in program.routines.values():
        for instruction in routine.instructions:
            if instruction.opcode == "wgmma" or instruction.opcode == "tcgen05":
                return True
            if instruction.opcode == "cp" and "bulk" in instruction.modifiers and "bulk_group" in instruction.modifiers:
                return True
    return False


def watch(region: Region) -> None:
    """Stores into the region are marked from now on."""
    region.marks[MARKS] = np.zeros(region.views.bytes.size // region.granule + 1, np.uint8)


def fenced(group: Group, running: RunningBlocks) -> None:
    """These threads execute `fence.proxy.async`."""
    marks, writes = running.shared.marks.get(MARKS), running.shared.marks.get("write")
    if marks is None or writes is None:
        return
    granules = np.flatnonzero(marks)
    if not len(granules):
        return
    last = writes[granules]
    writers = (last >> _THREAD).astype(np.int64) - 1 - running.first_block * running.padded_threads
    fencing = np.zeros(running.total, np.bool_)
    fencing[group.threads] = True
    marks[granules[fencing[writers]]] = 0
    others = np.flatnonzero(~fencing[writers])
    if not len(others) or running.clock.has_met_nothing:
        return
    by_block = np.full(running.blocks, -1, np.int64)
    by_block[running.block_of[group.threads]] = group.threads
    known = by_block[running.block_of[writers[others]]]
    others, known = others[known >= 0], known[known >= 0]
    if len(others):
        ordered = running.clock.is_ordered(writers[others], (last[others] & _TIME).astype(np.int64), known)
        marks[granules[others[ordered]]] = 0


def check_read(access: Access, granules: NDArray[np.int64], one: Group, running: RunningBlocks) -> None:
    """An asynchronous read of these granules of shared memory."""
    region = running.shared
    marks = region.marks.get(MARKS)
    if marks is None or not marks[granules].any():
        return
    bad = granules[marks[granules] != 0]
    mark = int(region.marks["write"][bad[0]])
    address = int(bad[0]) * region.granule % running.launch.shared_stride
    site = running.launch.accesses[(mark >> _SITE_SHIFT) & (_SITES - 1)]
    others = () if site is None else (("the write", site.code.routine.span(site.instruction)),)
    name = access.code.routine.instructions[access.instruction].name
    message = f"{name} reads shared memory at byte {address}, which a thread has written {WITHOUT_PROXY_FENCE}"
    running.report(
        "shared_race", message, access.code, access.instruction, int(one.threads[0]), address=address, count=len(bad),
        others=others,
    )  # fmt: skip
