"""The elements that lanes need of each other, the fewest shuffles that bring it, and an order of shuffles that reaches them.

In one shuffle every lane offers one register and reads one. So there are at least as many shuffles as any lane must take in, or
give away, in words. Where every element is in one place before and after, that many are enough: the moves are the edges of a
bipartite multigraph of senders and receivers, and its edges have a colouring with as many colours as the largest degree (Koenig).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from warploom.layout.distributed import WORD_BITS, Distributed
from warploom.layout.distributed.held import Ints, numbered, wrong

_BITS = "bits of an element"

Side: TypeAlias = Literal["takes", "gives"]


@dataclass(frozen=True, slots=True)
class Move:
    """A word that a lane needs of another: sender, its register, receiver."""

    sender: int
    register: int
    receiver: int


@dataclass(frozen=True, slots=True)
class Least:
    """The lane that makes further shuffles necessary."""

    shuffles: int
    lane: int
    side: Side
    elements: tuple[int, ...]
    """Elements that the lane takes in from others, or that it alone holds and others need."""


def same_elements(src: Distributed, dst: Distributed) -> None:
    """UserError (REGISTERS) unless the destination can be had from the source."""
    for one, two, what in (
        (src.bits, dst.bits, _BITS),
        (src.lanes, dst.lanes, "lanes"),
        (src.warps, dst.warps, "warps"),
    ):
        if one != two:
            fix = "Convert the values in their registers; mma:SHAPE:C:TYPE is an accumulator in the type of the next operand."
            fix = fix if what == _BITS else ""
            raise wrong(f"expected as many {what} in {dst.name} as in {src.name}", f"{two} and {one}", fix)
    if len(src.shape) == len(dst.shape) > 1 and src.shape != dst.shape:
        one, two = (" x ".join(map(str, given.shape)) for given in (src, dst))
        raise wrong(f"expected the {one} matrix of {src.name} in {dst.name}", two)
    wanted = np.unique(dst.elements[dst.elements >= 0])
    missing = np.setdiff1d(wanted, src.elements)
    if missing.size:
        raise wrong(f"expected the elements of {dst.name} in {src.name}", f"none such as element {int(missing[0])}")
    if not wanted.size:
        raise wrong("expected a destination that holds elements", f"none in {dst.name}")


def least(src: Distributed, dst: Distributed) -> Least:
    """The fewest shuffles of any program, whatever it computes: what a lane takes in or gives away, counted in words."""
    held, wanted = src.parts(), dst.parts()
    width = max(1, WORD_BITS // src.bits)
    before = [set(lane[lane >= 0].tolist()) for lane in held]
    after = [set(lane[lane >= 0].tolist()) for lane in wanted]
    copies: dict[int, int] = {}
    for lane in before:
        for element in lane:
            copies[element] = copies.get(element, 0) + 1
    elsewhere: dict[int, set[int]] = {}
    for number, lane in enumerate(after):
        for element in lane - before[number]:
            elsewhere.setdefault(element, set()).add(number)
    best = Least(0, 0, "takes", ())
    for number in range(len(before)):
        takes = after[number] - before[number]
        gives = {e for e in before[number] if copies[e] == 1 and e in elsewhere}
        sides: tuple[tuple[Side, set[int]], ...] = (("takes", takes), ("gives", gives))
        for side, elements in sides:
            if -(-len(elements) // width) > best.shuffles:
                best = Least(-(-len(elements) // width), number, side, tuple(sorted(elements)))
    return best


def crosses_warps(src: Distributed, dst: Distributed) -> bool:
    """Whether some warp needs an element of another."""
    return any(
        set(dst.elements[warp][dst.elements[warp] >= 0].tolist()) - set(src.elements[warp].ravel().tolist())
        for warp in range(src.warps)
    )


def coloured(moves: Sequence[Move], lanes: int) -> list[int]:
    """By move the number of its shuffle. As few shuffles as the largest degree if no word has two receivers.

    A word with several receivers goes to all of them at once if they are free then; its number of shuffles may exceed the least.
    """
    if len({(m.sender, m.register) for m in moves}) < len(moves):
        return _shared_offers(moves)
    degree = max(np.bincount([m.sender for m in moves] + [lanes + m.receiver for m in moves]), default=0)
    at: list[dict[int, int]] = [{} for _ in range(2 * lanes)]
    colours = [-1] * len(moves)
    ends = [(m.sender, lanes + m.receiver) for m in moves]
    for edge, (one, two) in enumerate(ends):
        free_one = next(c for c in range(degree) if c not in at[one])
        free_two = next(c for c in range(degree) if c not in at[two])
        if free_one not in at[two]:
            free_two = free_one
        elif free_two in at[one]:
            _swap(at, colours, ends, two, free_one, free_two)
            free_two = free_one
        colours[edge] = free_two
        at[one][free_two] = at[two][free_two] = edge
    return colours


def _swap(at: list[dict[int, int]], colours: list[int], ends: list[tuple[int, int]], start: int, one: int, two: int) -> None:
    """Exchanges two colours on the path of these colours that begins at `start` with `one`."""
    path: list[int] = []
    node, colour = start, one
    while colour in at[node]:
        edge = at[node][colour]
        path.append(edge)
        a, b = ends[edge]
        node = b if node == a else a
        colour = two if colour == one else one
    for edge in path:
        for node in ends[edge]:
            if at[node].get(colours[edge]) == edge:
                del at[node][colours[edge]]
    for edge in path:
        colours[edge] = two if colours[edge] == one else one
        for node in ends[edge]:
            at[node][colours[edge]] = edge


def _shared_offers(moves: Sequence[Move]) -> list[int]:
    offers: list[dict[int, int]] = []
    reads: list[set[int]] = []
    colours: list[int] = []
    for move in moves:
        colour = 0
        while colour < len(offers) and (
            move.receiver in reads[colour] or offers[colour].get(move.sender, move.register) != move.register
        ):
            colour += 1
        if colour == len(offers):
            offers.append({})
            reads.append(set())
        offers[colour][move.sender] = move.register
        reads[colour].add(move.receiver)
        colours.append(colour)
    return colours


def word_moves(held: Ints, wanted: Ints) -> list[Move]:
    """The words that each thread needs of other threads; [threads, words, slots]. A word is taken whole, from one place."""
    homes: dict[int, list[tuple[int, int]]] = {}
    for thread, word, slot in np.ndindex(*held.shape):
        element = int(held[thread, word, slot])
        if element >= 0:
            homes.setdefault(element, []).append((thread, word))
    given: dict[int, int] = {}
    moves: dict[Move, None] = {}
    for thread in range(len(wanted)):
        for element in np.unique(wanted[thread][wanted[thread] >= 0]).tolist():
            places = homes[element]
            if any(home == thread for home, _ in places) or any(Move(h, w, thread) in moves for h, w in places):
                continue
            home, word = min(places, key=lambda place: (given.get(place[0], 0), place))
            given[home] = given.get(home, 0) + 1
            moves[Move(home, word, thread)] = None
    return list(moves)


def whole_words(held: Ints, wanted: Ints) -> tuple[Ints, Ints] | None:
    """Numbers of words, where all pieces of wanted words stand in held words in that order."""
    pieces: int = held.shape[2]
    order = numbered(pieces)
    whole = bool((held % pieces == order).all()) and bool((held == held[..., :1] + order).all())
    known: dict[tuple[int, ...], int] = {}
    if not whole:
        for word in held.reshape(-1, pieces).tolist():
            known.setdefault(tuple(word), len(known))

    def number(word: list[int]) -> int | None:
        if all(piece < 0 for piece in word):
            return -1
        if not known:
            return word[0] // pieces if word == list(range(word[0], word[0] + pieces)) and word[0] % pieces == 0 else None
        return known.get(tuple(word))

    tables: list[Ints] = []
    for table in (held, wanted):
        numbers = [number(word) for word in table.reshape(-1, pieces).tolist()]
        if any(n is None for n in numbers):
            return None
        tables.append(np.array(numbers, dtype=np.int64).reshape(table.shape[:2]))
    return tables[0], tables[1]
