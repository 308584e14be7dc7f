"""The cost of a whole warp's request in every launch with a known block: sectors of global, wavefronts of shared memory.

Each lane's address is rebuilt with the numbers of its thread; all else is one for the warp, whose lanes make a request in one
round of their loops. Where the difference to the first lane's is a number for all lanes, the pattern is known, and what is left
open is where it begins: at a multiple of what the coefficients of the first address have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

import numpy as np
from numpy.typing import NDArray

from warploom.core.limits import tick
from warploom.machines import LINE_BYTES, SECTOR_BYTES, least_each, lines_each, wavefronts_each, ways_each
from warploom.ptx.launches.assumptions import Assumed
from warploom.ptx.launches.integers import AXES
from warploom.ptx.launches.mbarriers import is_mbarrier_use
from warploom.ptx.launches.questions import RLIMIT, NotDecided, Place, Questions, UnclearError
from warploom.ptx.routine import Program
from warploom.ptx.symbolic import LANES, Algebra, Substitution, Term, linear, signed, subterms

ARRAY_BYTES = 256
"""Arrays of global memory begin at multiples of it, as cudaMalloc makes them."""
_MOST_ADDRESSES = 40_000
"""Addresses that are rebuilt for one kernel: seconds. What comes after them is open."""
_LASTING = frozenset({"tid", "ntid", "ctaid", "nctaid"})
_OF_LANE = frozenset({"load", "opaque", "loop", "other", "function"})
"""Terms that may differ between lanes in ways that are not known."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One access by a warp whose lanes all take part; fewer lanes cost no more."""

    instruction: int
    is_shared: bool
    """Wavefronts; else sectors."""
    least: int
    most: int
    """Over all warps and all that is open."""
    needed: int
    """The least cost for the same elements, if they lay side by side."""
    ways: int
    """Most wavefronts of lanes that go together: 1 is without bank conflicts. 0 for accesses to global memory."""


@dataclass(frozen=True, slots=True)
class Costs:
    known: tuple[Cost, ...]
    open: tuple[int, ...]
    """Instructions whose pattern is not known, or differs with data."""


def costs(program: Program, kernel: str, assumed: Sequence[Assumed] = ()) -> Costs | NotDecided:
    """Sectors and wavefronts of each access. The size of the block must be known, and be whole warps.

    UserError (PTX_LABEL, ASSUMPTION) where the kernel has no such label, parameter or array.
    """
    try:
        return _Costs(program, program.routines[kernel], assumed, RLIMIT).run()
    except UnclearError as error:
        return error.found


class _Costs(Questions):
    _left = _MOST_ADDRESSES

    def run(self) -> Costs:
        extents = [self._limits.bounds(f"ntid.{axis}") for axis in AXES]
        block = [low for low, high in (e for e in extents if e is not None) if low == high]
        if len(block) < len(AXES) or int(np.prod(block)) % LANES:
            raise UnclearError("the size of a block is not known, or is not of whole warps")
        known: list[Cost] = []
        open_: list[int] = []
        for place in self._places(of_all=True):
            if is_mbarrier_use(self._routine.instructions[place.access.instruction]):
                continue  # no request of a warp
            found = self._cost(place, (block[0], block[1], block[2]))
            if found is None:
                open_.append(place.access.instruction)
            else:
                known.append(found)
        return Costs(tuple(known), tuple(open_))

    def _cost(self, place: Place, block: tuple[int, int, int]) -> Cost | None:
        """None: not known."""
        size = place.access.size_bytes
        patterns = list(self._patterns(place, block))
        if None in patterns or not patterns:
            return None
        found: list[int] = []
        ways = 0
        for pattern in patterns:
            assert pattern is not None
            offsets, starts = pattern
            for start in starts:
                row = (offsets + start)[None, :]
                row = row - row.min() // LINE_BYTES * LINE_BYTES
                active = np.ones_like(row, np.bool_)
                if place.is_shared:
                    is_store = place.access.kind == "store"
                    found += wavefronts_each(row, active, size, is_store=is_store).tolist()
                    ways = max(ways, *ways_each(row, active, size, is_store=is_store).tolist())
                else:
                    found += lines_each(row, active, size).tolist()
        distinct = max(len(np.unique(p[0])) for p in patterns if p is not None)
        if place.is_shared:
            needed = int(least_each(np.array([distinct]), size)[0])
        else:
            needed = -(-distinct * size // SECTOR_BYTES)
        return Cost(place.access.instruction, place.is_shared, min(found), max(found), needed, ways)

    def _patterns(self, place: Place, block: tuple[int, int, int]) -> Iterator[tuple[NDArray[np.int64], tuple[int, ...]] | None]:
        """By warp: addresses of its lanes less the first one's, and where that may begin; None: not known."""
        if any(self._is_open(part) for part in subterms(place.address)):
            yield None
            return
        algebra = self._emulation.algebra(place.access.block)
        numbers = np.array([(x, y, z) for z, y, x in product(*(range(n) for n in reversed(block)))])
        self._left -= len(numbers)
        if self._left < 0:
            yield None
            return
        seen: set[tuple[object, ...]] = set()
        for warp in numbers.reshape(-1, LANES, len(AXES)):
            tick()
            addresses = [self._of_thread(place.address, thread.tolist(), algebra) for thread in warp]
            apart = [algebra.sub(address, addresses[0]).value for address in addresses]
            if None in apart:
                yield None
                return
            width = place.address.width
            offsets = np.array([signed(n, width) for n in apart if n is not None], np.int64)
            starts = self._starts(addresses[0], place)
            key = (offsets.tobytes(), starts)
            if key not in seen:
                seen.add(key)
                yield offsets, starts

    def _of_thread(self, address: Term, thread: Sequence[int], algebra: Algebra) -> Term:
        table = self._emulation.table
        given = {table.special(f"tid.{axis}"): algebra.const(n, 32) for axis, n in zip(AXES, thread, strict=True)}
        return Substitution(algebra, given)(address)

    def _is_open(self, term: Term) -> bool:
        if term.op == "special":
            return str(term.data[0]).partition(".")[0] not in _LASTING
        return term.op in _OF_LANE and not self._uniform.is_uniform(term)

    def _starts(self, address: Term, place: Place) -> tuple[int, ...]:
        """Where the first lane's address may lie in a line."""
        offset, parts = linear(address)
        common = LINE_BYTES
        for part, coefficient in parts:
            common = gcd(common, ARRAY_BYTES if part is place.base else signed(coefficient, address.width))
        return tuple(range(offset % common, LINE_BYTES, common))
