"""XOR maps: all F2-linear maps without a conflict, or the proof that there is none.

The address of a chunk has g bits for its place among the banks and further bits above. A map adds (xor) to the low bits a linear
function M of the high bits. Two chunks that some group of lanes takes together meet in a bank where the difference of their
addresses, as bits, is in the kernel of the place: low(d) == M(high(d)). So a map is right if it avoids a set of differences.
M is chosen one bit of the high part at a time; each M is met once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from warploom.core.bit_vectors import echelon
from warploom.layout.accesses import Access, Ints, distinct
from warploom.layout.banks import BANK_BITS, phases
from warploom.layout.tiles import Tile

NODES = 200_000
"""Nodes of the tree after which the search gives up."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the bits of an element's address are used: chunk, place among the banks, the rest."""

    chunk: int
    """Bits of the place inside a chunk, which stay."""
    group: int
    """Bits of the chunk's place among the banks."""
    rest: int

    @property
    def low(self) -> int:
        """Bits of an address that name a place among all banks."""
        return self.chunk + self.group


@dataclass(frozen=True, slots=True)
class Found:
    """How a search ended: with M, with the proof that there is none, or neither."""

    columns: tuple[int, ...] | None
    """M's value for each bit of the high part."""
    exhausted: bool
    nodes: int


def shape(tile: Tile, chunk: int, elements: int) -> Shape | None:
    """None where a chunk is as wide as all banks together or an element is."""
    per_word = max(1, BANK_BITS // tile.bits)
    chunk = max(chunk, per_word.bit_length() - 1)
    low = (tile.memory.banks * BANK_BITS // tile.bits).bit_length() - 1
    if chunk >= low:
        return None
    return Shape(chunk, low - chunk, max(0, (elements - 1).bit_length() - low))


def differences(
    tile: Tile, accesses: Iterable[Access], form: Shape, address: Ints, *, end: int | None = None, strict: bool = False
) -> Ints:
    """Differences of chunk addresses that a map must keep out of one bank.

    Groups that cannot do without conflict are cut in parts, each of which can; `strict`: they are left out, because a map may be
    as good with other parts. Addresses from `end` on are not looked at.
    """
    seen: dict[int, set[bytes]] = {}
    part_bits = form.chunk - (max(1, BANK_BITS // tile.bits).bit_length() - 1)
    for access in accesses:
        groups = list(phases(tile, access))
        at_once = _whole_groups(groups, form, address, end) if not part_bits else None
        if at_once is not None:
            seen.setdefault(at_once.shape[1], set()).update(normal.tobytes() for normal in at_once)
            continue
        for group in groups:
            places = distinct(address[group].ravel())
            places = places if end is None else places[places < end]
            if len(places) < 2:
                continue
            parts = list(_parts(places, form, part_bits))
            if strict and len(parts) > len({int(p) for p in _inside(places, form, part_bits)}):
                continue
            for part in parts:
                normal = np.sort(part ^ part[0])
                seen.setdefault(len(normal), set()).add(normal.tobytes())
    found: set[int] = set()
    for size, keys in seen.items():
        table = np.frombuffer(b"".join(sorted(keys)), dtype=np.int64).reshape(-1, size)
        for lane in range(size):
            found.update(distinct(table ^ table[:, lane : lane + 1]).tolist())
    return np.array(sorted(found - {0}), dtype=np.int64)


def _whole_groups(groups: Sequence[Ints], form: Shape, address: Ints, end: int | None) -> Ints | None:
    """All groups at once, each as the sorted differences from its first chunk; None where they are not equally many chunks, few
    enough for a bank each, before `end`."""
    if not groups or len({len(group) for group in groups}) > 1:
        return None
    places = address[np.stack(groups).reshape(len(groups), -1)]
    chunks: Ints = np.sort(places >> form.chunk, axis=1)
    is_many = not 1 < chunks.shape[1] <= 1 << form.group
    if is_many or (chunks[:, 1:] == chunks[:, :-1]).any() or (end is not None and int(places.max()) >= end):
        return None
    return np.sort(chunks ^ chunks[:, :1], axis=1)


def _parts(places: Ints, form: Shape, part_bits: int) -> Iterator[Ints]:
    """Chunks whose same part is wanted, at most as many as find a bank each."""
    chunks, inside = places >> form.chunk, _inside(places, form, part_bits)
    for part in distinct(inside).tolist():
        same = distinct(chunks[inside == part])
        for start in range(0, len(same), 1 << form.group):
            yield same[start : start + (1 << form.group)]


def _inside(places: Ints, form: Shape, part_bits: int) -> Ints:
    """The number of each place's word inside its chunk."""
    return (places & ((1 << form.chunk) - 1)) >> (form.chunk - part_bits)


def search(forbidden: Ints, form: Shape, nodes: int = NODES) -> Found:
    """M that keeps every forbidden difference out of one bank, sparse ones first."""
    low_mask, size = (1 << form.group) - 1, 1 << form.group
    high = forbidden >> form.group
    lead = np.array([int(h).bit_length() - 1 for h in high.tolist()], dtype=np.int64)
    levels = [((forbidden & low_mask)[lead == j], (high & ((1 << j) - 1))[lead == j]) for j in range(form.rest)]
    order = sorted(range(size), key=lambda v: (v.bit_count(), v))
    spent = 0

    def extended(images: Ints, columns: tuple[int, ...]) -> tuple[int, ...] | None:
        nonlocal spent
        spent += 1
        if len(columns) == form.rest or spent > nodes:
            return columns if len(columns) == form.rest else None
        lows, rest = levels[len(columns)]
        blocked = np.zeros(size, dtype=np.bool_)
        blocked[lows ^ images[rest]] = True
        for value in order:
            if not blocked[value]:
                found = extended(np.concatenate([images, images ^ value]), (*columns, value))
                if found is not None:
                    return found
        return None

    columns = extended(np.zeros(1, dtype=np.int64), ())
    return Found(columns, columns is None and spent <= nodes, spent)


def applied(images: Iterable[tuple[int, int]], numbers: Ints) -> Ints:
    """The F2-linear map that sends each bit of a number to its image, for pairs (bit, image); other bits go to 0."""
    found = np.zeros_like(numbers)
    for bit, image in images:
        found ^= np.where(numbers >> bit & 1, image, 0)
    return found


def avoids(columns: Sequence[int], forbidden: Ints, form: Shape) -> bool:
    """Whether M keeps every forbidden difference out of one bank."""
    image = applied(enumerate(columns, form.group), forbidden)
    return not bool(((forbidden & ((1 << form.group) - 1)) == image).any())


def swizzles(form: Shape) -> Iterator[tuple[tuple[int, int, int], tuple[int, ...]]]:
    """(B, M, S) of CuTe's Swizzle as bits of elements, with M's columns; those that move chunks by bits above the banks."""
    for bits in range(1, form.group + 1):
        for base in range(form.group - bits + 1):
            for start in range(form.rest - bits + 1):
                columns = [0] * form.rest
                for i in range(bits):
                    columns[start + i] = 1 << (base + i)
                yield (bits, form.chunk + base, form.group - base + start), tuple(columns)


def reversals(form: Shape) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """Reversed fields of the high part: (first bit, bits), with M's columns; one instruction of a GPU turns the bits around."""
    bits = min(form.group, form.rest)
    for start in range(form.rest - bits + 1):
        columns = [0] * form.rest
        for i in range(bits):
            columns[start + i] = 1 << (form.group - 1 - i)
        yield (start, bits), tuple(columns)


def spanned(forbidden: Ints, tile: Tile, accesses: Sequence[Access], form: Shape, address: Ints) -> tuple[int, ...] | None:
    """A basis of g chunk addresses all of whose sums are forbidden, from what an access takes at once; None without one."""
    known = set(forbidden.tolist())
    tried: set[tuple[int, ...]] = set()
    for access in accesses:
        for group in phases(tile, access):
            chunks = distinct(address[group].ravel() >> form.chunk)
            basis = echelon(chunks ^ chunks[0]).values()
            key = tuple(sorted(basis))
            if len(basis) == form.group and key not in tried:
                tried.add(key)
                if all(value in known for value in _sums(basis) if value):
                    return key
    return None


def _sums(basis: Iterable[int]) -> list[int]:
    sums = [0]
    for b in basis:
        sums += [s ^ b for s in sums]
    return sums


def in_basis(space: Sequence[int], bits: int) -> list[int]:
    """Images of the unit vectors under the change of basis that sends `space` to the low bits and unit vectors to the rest."""
    pivots = {b.bit_length() - 1: b for b in space}
    others = [j for j in range(bits) if j not in pivots]
    place = {pivot: i for i, pivot in enumerate(sorted(pivots))}
    above = {bit: len(space) + i for i, bit in enumerate(others)}
    images: list[int] = []
    for j in range(bits):
        if j not in pivots:
            images.append(1 << above[j])
        else:  # e_j is the space's vector with this pivot plus unit vectors of others
            rest = pivots[j] ^ (1 << j)
            images.append((1 << place[j]) ^ sum(1 << above[i] for i in others if rest >> i & 1))
    return images
