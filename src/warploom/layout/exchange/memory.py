"""Values that still lie in memory, in the order of their elements: no exchange, loads in the order that the destination wants.

`load` loads from global memory. `tma` lets a bulk copy bring the words to shared memory first, in one of the modes of its tensor
map, which permute chunks of 16 bytes, and loads from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warploom.layout.cute import swizzled
from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.program import Program
from warploom.layout.exchange.shared import accesses, loaded
from warploom.layout.exchange.shuffles import Writer

MODES = {"SWIZZLE_NONE": 0, "SWIZZLE_32B": 1, "SWIZZLE_64B": 2, "SWIZZLE_128B": 3}
"""Bits of the number of a 16-byte chunk that are xored by those of the number of the 128-byte row. Source: CUDA driver API,
CUtensorMapSwizzle; PTX ISA 5.5.6."""
_WORD_BYTES = 4


def from_memory(wanted: Ints, lanes: int) -> Program:
    """Words [threads, words], by number in memory."""
    places = numbered(int(wanted.max()) + 2)
    writer = Writer(len(wanted), lanes)
    outputs = loaded(writer, places, wanted, accesses(places, wanted)[0], "memory")
    return writer.program("loads", 0, outputs)


def by_tma(wanted: Ints, lanes: int) -> Iterator[tuple[Program, Ints]]:
    """For each mode the loads from shared memory, and the place of each word there."""
    words = -(-(int(wanted.max()) + 1) // 256) * 256
    for mode, bits in MODES.items():
        places = swizzled(numbered(words) * _WORD_BYTES, bits, 4, 3) // _WORD_BYTES
        table = np.append(places, -1)
        writer = Writer(len(wanted), lanes)
        outputs = loaded(writer, table, wanted, accesses(table, wanted)[0], "shared")
        yield writer.program(mode, 0, outputs, words), places
