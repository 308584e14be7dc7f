"""Whether a given map is right and as good as any: places, widths, wavefronts; and whether two maps are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from warploom.layout.accesses import Access
from warploom.layout.banks import Price, is_wide_enough, prices
from warploom.layout.maps import Map
from warploom.layout.search import Answer, extra_words, is_least, layout, total
from warploom.layout.tiles import Tile


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings about a map."""

    tile: Tile
    accesses: tuple[Access, ...]
    map: Map
    fault: str
    """Why the map is none, with the elements that show it; empty of a good map."""
    prices: tuple[Price, ...]
    """Empty with a fault."""
    extra_words: int
    better: Answer | None
    """A map with fewer wavefronts and no more room, if one was found."""

    @property
    def optimal(self) -> bool:
        return not self.fault and is_least(self.prices)


def check(tile: Tile, found: Map, accesses: Sequence[Access]) -> Checked:
    """Places, widths and wavefronts of the map; a better one where it is not proved optimal."""
    fault = collision(tile, found) or _split(tile, found, accesses)
    if fault:
        better = layout(tile, accesses) if accesses else None
        return Checked(tile, tuple(accesses), found, fault, (), 0, better)
    room = extra_words(tile, found.table)
    cost = prices(tile, accesses, found.table) if accesses else ()
    better = None if is_least(cost) else layout(tile, accesses, room)
    if better is not None and total(better.prices) >= total(cost):
        better = None
    return Checked(tile, tuple(accesses), found, "", cost, room, better)


def collision(tile: Tile, found: Map) -> str:
    """Two elements in one place, or one before the first place, in words; empty where there is none."""
    places = found.table
    if places.min() < 0:
        element = int(places.argmin())
        return f"element {divmod(element, tile.columns)} gets the place {places[element]}, before the first"
    order = np.argsort(places, kind="stable")
    same = np.flatnonzero(places[order][1:] == places[order][:-1])
    if not len(same):
        return ""
    one, two = (divmod(int(order[same[0] + k]), tile.columns) for k in (0, 1))
    return f"elements {one} and {two} both get the place {places[order[same[0]]]}"


def _split(tile: Tile, found: Map, accesses: Sequence[Access]) -> str:
    for access in accesses:
        if not is_wide_enough(access, found.table):
            for lane in access.elements.reshape(-1, access.per_lane):
                places = found.table[lane]
                if lane[0] >= 0 and (places[0] % access.per_lane or (np.diff(places) != 1).any()):
                    row, column = divmod(int(lane[0]), tile.columns)
                    return (
                        f"{access.name} takes {access.per_lane} elements from ({row}, {column}) on at once, which lie at "
                        f"{', '.join(map(str, places.tolist()))}: expected aligned neighbours"
                    )
    return ""


def equal(tile: Tile, one: Map, two: Map) -> tuple[int, int, int, int] | None:
    """None if both give each element one place; else row and column of an element, and its two places."""
    different = np.flatnonzero(one.table != two.table)
    if not len(different):
        return None
    element = int(different[0])
    row, column = divmod(element, tile.columns)
    return row, column, int(one.table[element]), int(two.table[element])
