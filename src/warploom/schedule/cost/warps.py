"""The lines and banks that the warps of a block touch."""

from __future__ import annotations

import numpy as np

from warploom.ir import count_wavefronts
from warploom.schedule.nest import Masks, Memory, Threads

BANK_BYTES = 4
SECTOR_BYTES = 32
LINE_BYTES = 128


def lines_touched(threads: Threads, mask: Masks, memory: Memory, element_bytes: int, lanes: int, line_bytes: int) -> int:
    """Lines that the warps of a block touch in one execution, each warp for itself; `lanes` neighbours per thread."""
    first = threads.value(memory.offset)[mask] * element_bytes
    warp = threads.warp[mask]
    if not len(first):
        return 0
    last = first + element_bytes * lanes - 1
    low, high = first // line_bytes, last // line_bytes
    span = int((high - low).max()) + 1
    keys = np.concatenate([np.minimum(low + n, high) for n in range(span)])
    owner = np.concatenate([warp] * span)
    return len(np.unique(owner * (1 << 40) + keys))


def wavefronts(threads: Threads, mask: Masks, memory: Memory, element_bytes: int, lanes: int) -> int:
    """Wavefronts of the warps of a block in one execution of an access to shared memory; `lanes` neighbours per thread."""
    places = threads.value(memory.offset)
    if memory.swizzle is not None:
        places = memory.swizzle.of(places)
    return count_wavefronts(threads.rows(places * element_bytes), threads.rows(mask), element_bytes * lanes)
