"""The cost of accesses under a map, and the least that any map can reach.

The wavefronts come from the one count of all engines. The least is counted here: a group of lanes that goes together needs as
many wavefronts as its bytes fill all banks; and where lanes take several elements at once, these chunks stay together, so a
group that takes the same part of many chunks finds only a part of the banks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from warploom.layout.accesses import Access, Ints, distinct
from warploom.layout.tiles import Tile
from warploom.machines import BANK_BYTES, WIDEST_BYTES, go_in_pairs, ways_each
from warploom.machines import wavefronts as counted

BANK_BITS = 8 * BANK_BYTES


@dataclass(frozen=True, slots=True)
class Price:
    """One access under a map."""

    access: str
    wavefronts: int
    least: int
    """No map that keeps the elements of each lane together needs fewer."""
    ways: int
    """Most wavefronts of one request, per wavefront that it needs at least."""
    worst: tuple[tuple[int, int], ...] = ()
    """Two lanes that meet in one bank, from the first request with a conflict."""


def is_wide_enough(access: Access, table: Ints) -> bool:
    """Whether each lane finds its elements side by side, in order, and aligned to their width."""
    if access.per_lane == 1:
        return True
    here = access.elements[..., 0] >= 0
    places = table[np.where(access.elements < 0, 0, access.elements)]
    first = places[..., 0]
    good = (first % access.per_lane == 0) & (places == first[..., None] + np.arange(access.per_lane)).all(axis=2)
    return bool(good[here].all())


def wavefronts(tile: Tile, access: Access, table: Ints) -> int:
    """Wavefronts of all requests; `table` gives the place of each element."""
    return counted(*_addresses(tile, access, table), _bytes(tile, access), tile.memory, is_store=access.is_store)


def _addresses(tile: Tile, access: Access, table: Ints) -> tuple[Ints, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    first = access.elements[..., 0]
    return table[np.where(first < 0, 0, first)] * tile.bits // 8, first >= 0


def _bytes(tile: Tile, access: Access) -> int:
    return max(1, tile.bits * access.per_lane // 8)


def phases(tile: Tile, access: Access) -> Iterator[Ints]:
    """Groups of elements [lanes, elements of a lane] that are served together, as `machines.banks` says.

    Maps send different elements to different places, so the groups are the same under all of them.
    """
    groups = tile.memory.groups(min(_bytes(tile, access), WIDEST_BYTES), is_store=access.is_store)
    order = np.array([lane for group in groups for lane in group])
    for request in access.elements:
        first = request[None, :, 0]
        together = 2 if tile.memory.pairs and len(groups) > 1 and go_in_pairs(first, first >= 0)[0] else 1
        for group in request[order].reshape(len(groups) // together, -1, access.per_lane):
            active = group[group[:, 0] >= 0]
            if len(active):
                yield active


def chunk_bits(tile: Tile, accesses: Sequence[Access]) -> int:
    """log2 of the elements that stay together because some lane takes them at once."""
    return max((access.per_lane for access in accesses), default=1).bit_length() - 1


def least(tile: Tile, access: Access, chunk: int) -> int:
    """Wavefronts that every map needs which keeps aligned chunks of 2^chunk elements of a row together.

    `chunk` is 0 unless some access covers the whole tile with lanes of that width.
    """
    total = 0
    for group in phases(tile, access):
        elements = distinct(group)
        bound = -(-len(elements) * tile.bits // (tile.memory.banks * BANK_BITS))
        words_in_chunk = (tile.bits << chunk) // BANK_BITS
        if words_in_chunk > 1:
            per_word = max(1, BANK_BITS // tile.bits)
            parts = distinct(elements // per_word) & ((1 << chunk) // per_word - 1)
            bound = max(bound, -(-int(np.bincount(parts).max()) * words_in_chunk // tile.memory.banks))
        total += max(1, bound)
    return total


def forced_chunk(tile: Tile, accesses: Sequence[Access]) -> int:
    """log2 of the chunk that every map must keep: of the widest access, if its lanes reach all elements in aligned chunks."""
    widest = max(accesses, key=lambda a: a.per_lane)
    size = widest.per_lane
    first = distinct(widest.elements[..., 0])
    first = first[first >= 0]
    lanes = widest.elements[widest.elements[..., 0] >= 0]
    if (lanes != lanes[:, :1] + np.arange(size)).any():
        return 0
    is_whole = len(first) * size == tile.elements and bool((first % size == 0).all()) and size & (size - 1) == 0
    return size.bit_length() - 1 if is_whole else 0


def bounds(tile: Tile, accesses: Sequence[Access]) -> tuple[int, ...]:
    """By access: what every map needs."""
    chunk = forced_chunk(tile, accesses)
    return tuple(least(tile, access, chunk) for access in accesses)


def prices(tile: Tile, accesses: Sequence[Access], table: Ints, known: Sequence[int] = ()) -> tuple[Price, ...]:
    """The cost of each access under the map; `known`: its bounds, if there already."""
    found = zip(accesses, known or bounds(tile, accesses), strict=True)
    return tuple(_price(tile, access, table, bound) for access, bound in found)


def _price(tile: Tile, access: Access, table: Ints, bound: int) -> Price:
    cost = wavefronts(tile, access, table)
    if cost <= bound:
        return Price(access.name, cost, bound, 1)
    ways = int(ways_each(*_addresses(tile, access, table), _bytes(tile, access), tile.memory, is_store=access.is_store).max())
    worst = next(filter(None, (_meeting(tile, group, table) for group in phases(tile, access))), ())
    return Price(access.name, cost, bound, ways, worst)


def _meeting(tile: Tile, group: Ints, table: Ints) -> tuple[tuple[int, int], ...]:
    """Elements (row, column) of two lanes that want different words of one bank."""
    seen: dict[int, tuple[int, int]] = {}
    for element in group.ravel().tolist():
        word = int(table[element]) * tile.bits // BANK_BITS
        other, place = seen.setdefault(word % tile.memory.banks, (word, element))
        if other != word:
            return divmod(place, tile.columns), divmod(element, tile.columns)
    return ()
