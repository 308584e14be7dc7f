"""The dearest request of each access of a warp to shared and global memory: lanes by the banks, or by the sectors, that they ask.

Counted by `machines`, over all requests of the warp that the page shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from warploom.core import NOWHERE, DType, Span
from warploom.ir import Declare, Kernel, statements
from warploom.machines import BANK_BYTES, BANKS, SECTOR_BYTES, WARP_LANES, lines_each, wavefronts_each
from warploom.tools.pages.movement import Movement, Request


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a warp: what it costs, and what each lane asks."""

    text: str
    """The access, such as `load of tile, line 22`."""
    is_shared: bool
    units: int
    """Wavefronts of shared memory or sectors of global memory."""
    requests: int
    total: int
    """How often the warp makes this access, and wavefronts or sectors of all these requests."""
    cells: tuple[tuple[int, int, int], ...]
    """Lane, column (bank, or sector counted from the first one) and word."""
    columns: int


def asked_in(movement: Movement, kernel: Kernel) -> list[Asked]:
    """For each access, in the order of the run, its request with the most wavefronts or sectors, the first of equal ones."""
    types = {p.name: (p.dtype, False) for p in kernel.params}
    types |= {s.name: (s.dtype, s.space == "shared") for s in statements(kernel.body) if isinstance(s, Declare)}
    found: dict[tuple[str, bool, Span, int], list[Asked]] = {}
    for request in movement.requests:
        one = _asked(request, *types[request.array])
        found.setdefault((request.array, request.is_store, request.span, request.place), []).append(one)
    return [
        replace(max(each, key=lambda one: one.units), requests=len(each), total=sum(one.units for one in each))
        for each in found.values()
    ]


def _asked(request: Request, dtype: DType, is_shared: bool) -> Asked:
    line = f", line {request.span.line}" if request.span != NOWHERE else ""
    text = f"{'store' if request.is_store else 'load'} of {request.array}{line}"
    size = dtype.size_bytes
    addresses, active = np.zeros((1, WARP_LANES), np.int64), np.zeros((1, WARP_LANES), np.bool_)
    for lane, element in request.lanes:
        addresses[0, lane], active[0, lane] = element * size, True
    if is_shared:
        units = int(wavefronts_each(addresses, active, size, is_store=request.is_store)[0])
        words = [(lane, at * size // BANK_BYTES + n) for lane, at in request.lanes for n in range(-(-size // BANK_BYTES))]
        return Asked(text, True, units, 1, units, tuple((lane, word % BANKS, word) for lane, word in words), BANKS)
    units = int(lines_each(addresses, active)[0])
    sectors = {s: n for n, s in enumerate(sorted({at * size // SECTOR_BYTES for _, at in request.lanes}))}
    cells = tuple((lane, sectors[at * size // SECTOR_BYTES], at) for lane, at in request.lanes)
    return Asked(text, False, units, 1, units, cells, len(sectors))
