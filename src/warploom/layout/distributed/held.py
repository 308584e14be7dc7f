"""The elements that the lanes of warps hold: a table from (warp, lane, register, slot inside a word) to elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError

Ints: TypeAlias = NDArray[np.int64]

WORD_BITS = 32
MOST = 1 << 16
"""Elements of a layout."""
BITS = (4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True, eq=False)
class Distributed:
    """Elements in registers. Elements of more than 32 bits take that many registers one after the other."""

    name: str
    elements: Ints
    """[warps, lanes, registers, slots]; slots are those of a word, the lowest bits first. Each is an element or -1."""
    bits: int
    shape: tuple[int, ...]
    """Extents of the axes; an element is its coordinates, the last axis next to itself."""
    axes: tuple[str, ...]

    @property
    def warps(self) -> int:
        return self.elements.shape[0]

    @property
    def lanes(self) -> int:
        return self.elements.shape[1]

    @property
    def words(self) -> int:
        """Registers of 32 bits of a lane."""
        return self.elements.shape[2] * max(1, self.bits // WORD_BITS)

    def parts(self) -> Ints:
        """[threads, words, slots]: elements of at most 32 bits; those of more are split into words, the lowest first."""
        threads = self.elements.reshape(self.warps * self.lanes, self.elements.shape[2], -1)
        pieces = max(1, self.bits // WORD_BITS)
        if pieces == 1:
            return threads
        split = np.where(threads < 0, -1, threads * pieces + np.arange(pieces))
        return split.reshape(len(threads), -1, 1)


def distributed(name: str, elements: Ints, bits: int, shape: tuple[int, ...] = (), axes: tuple[str, ...] = ()) -> Distributed:
    """The layout of that table; UserError (REGISTERS) for one that is none."""
    if bits not in BITS:
        raise wrong(f"expected elements of {', '.join(map(str, BITS))} bits", str(bits))
    if not elements.size or elements.size > MOST:
        raise wrong(f"expected 1 to {MOST} elements", f"{elements.size} of {name}")
    if elements.shape[3] != max(1, WORD_BITS // bits):
        raise wrong(
            f"expected {max(1, WORD_BITS // bits)} elements of {bits} bits in a register", f"{elements.shape[3]} in {name}"
        )
    if int(elements.max()) >= MOST or int(elements.min()) < -1:
        raise wrong(f"expected elements from 0 to {MOST - 1}, -1 for none", f"{int(elements.max())} in {name}")
    total = int(elements.max()) + 1
    return Distributed(name, elements.astype(np.int64), bits, shape or (total,), axes or ("e",))


def from_items(name: str, items: Ints, bits: int, shape: tuple[int, ...] = (), axes: tuple[str, ...] = ()) -> Distributed:
    """A layout made of items [warps, lanes, items of a lane], packed into registers in that order."""
    slots = max(1, WORD_BITS // bits)
    warps, lanes, count = items.shape
    missing = -count % slots
    padded = np.concatenate([items, np.full((warps, lanes, missing), -1, dtype=np.int64)], axis=2) if missing else items
    return distributed(name, padded.reshape(warps, lanes, -1, slots), bits, shape, axes)


def numbered(*shape: int) -> Ints:
    """0, 1, 2 and so on in an array of that shape, the last axis next to itself."""
    found: Ints = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
    return found.reshape(shape)


def differing(one: Distributed, two: Distributed) -> dict[str, int] | None:
    """A place that holds different elements in two layouts of one size; None if they are equal."""
    if one.elements.shape != two.elements.shape or one.bits != two.bits:
        raise wrong(
            f"expected layouts of one size, {list(one.elements.shape)} of {one.bits} bits",
            f"{list(two.elements.shape)} of {two.bits} bits",
        )
    places = np.argwhere(one.elements != two.elements)
    if not len(places):
        return None
    names = ("warp", "lane", "register", "slot")
    place = tuple(int(n) for n in places[0])
    return dict(zip(names, place, strict=True)) | {"one": int(one.elements[place]), "two": int(two.elements[place])}


def wrong(expected: str, got: str, fix: str = "") -> UserError:
    return UserError(Diagnostic("REGISTERS", f"{expected}, got {got}", fix=fix))
