"""The lines and banks that the warps of a block touch."""

from __future__ import annotations

from warploom import machines
from warploom.schedule.nest import Masks, Memory, Threads


def lines_touched(threads: Threads, mask: Masks, memory: Memory, element_bytes: int, lanes: int, line_bytes: int) -> int:
    """Lines that the warps of a block touch in one execution, each warp for itself; `lanes` neighbours per thread."""
    places = threads.rows(threads.value(memory.offset) * element_bytes)
    return machines.lines(places, threads.rows(mask), element_bytes * lanes, line_bytes)


def wavefronts(threads: Threads, mask: Masks, memory: Memory, element_bytes: int, lanes: int) -> int:
    """Wavefronts of the warps of a block in one execution of an access to shared memory; `lanes` neighbours per thread."""
    places = threads.value(memory.offset)
    if memory.swizzle is not None:
        places = memory.swizzle.of(places)
    return machines.wavefronts(threads.rows(places * element_bytes), threads.rows(mask), element_bytes * lanes)
