"""Exchanges through shared memory: every thread stores its words, all meet, every thread loads what it wants; nothing is padded.

Words get places such that each store and each load takes the fewest wavefronts, by the one count of `machines.banks`. Tried are
orders of the words (by element, by receiver, by sender) with a xor or a turn of the banks, and the widest accesses. If none
of them is free of conflicts, a colouring of the pairs (register stored, register loaded) by 32 banks is, with 32-bit accesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.demand import Move, coloured
from warploom.layout.exchange.program import Load, Meet, Program, Store
from warploom.layout.exchange.shuffles import Writer, inputs
from warploom.machines import BANKS, WARP_LANES, passes, wavefronts

_WIDTHS = (4, 2, 1)


@dataclass(frozen=True, slots=True)
class Way:
    """Places of the words, and the accesses (first register of each, words) that store and load them."""

    places: dict[int, int]
    stores: tuple[tuple[int, int], ...]
    loads: tuple[tuple[int, int], ...]
    wavefronts: int

    @property
    def cost(self) -> tuple[int, int]:
        return self.wavefronts, len(self.stores) + len(self.loads)


def least_wavefronts(held: Ints, wanted: Ints, in_a_pass: int = BANKS) -> int:
    """The least number of wavefronts under any map and width: the distinct words of all threads over the banks, stored and
    loaded.

    Each group of lanes that goes together moves at most 32 words; a store of a thread's word does not serve another. Bytes count
    as words do, 128 in a pass.
    """
    stored = len(np.intersect1d(held, wanted[wanted >= 0]))
    return -(-stored // in_a_pass) + least_loads(wanted, in_a_pass)


def least_loads(wanted: Ints, in_a_pass: int) -> int:
    """The least wavefronts of loads, each warp counted by itself."""
    warps = (wanted[at : at + WARP_LANES] for at in range(0, len(wanted), WARP_LANES))
    return sum(-(-len(np.unique(warp[warp >= 0])) // in_a_pass) for warp in warps)


def through_shared(held: Ints, wanted: Ints, lanes: int) -> Program | None:
    """The program with the fewest wavefronts and then the fewest accesses; words [threads, words]. None if threads do not fit."""
    threads = len(held)
    if threads & (threads - 1) and threads % 32:
        return None
    keep = _kept(held, wanted)
    best: Way | None = None
    floor = least_wavefronts(held, wanted)
    singly = held.shape[1] + wanted.shape[1]
    for orders in _orders(held, wanted, keep):
        for places in orders:
            way = _priced(places, held, wanted, keep)
            if best is None or way.cost < best.cost:
                best = way
        if best is not None and best.wavefronts <= floor and len(best.stores) + len(best.loads) < singly:
            break
    if best is None or best.wavefronts > floor:
        way = _priced(_by_banks(held, wanted, keep), held, wanted, keep)
        best = way if best is None or way.cost < best.cost else best
    return _written(best, held, wanted, keep, lanes)


def _kept(held: Ints, wanted: Ints) -> Ints:
    """`held` with -1 for what nobody wants, and for a second place of the same word."""
    found = np.where(np.isin(held, wanted[wanted >= 0]), held, -1)
    flat = found.T.ravel()
    _, first = np.unique(flat, return_index=True)
    once = np.full_like(flat, -1)
    once[first] = flat[first]
    return once.reshape(found.T.shape).T


def _orders(held: Ints, wanted: Ints, keep: Ints) -> Iterator[Iterator[dict[int, int]]]:
    """Places by word: for each order of the words, with the banks as they are and turned."""
    words = np.unique(keep[keep >= 0])
    by_element = {int(word): i for i, word in enumerate(words)}
    by_receiver = {int(word): i for i, word in enumerate(dict.fromkeys(wanted[wanted >= 0].tolist()))}
    by_sender = {int(word): i for i, word in enumerate(keep[keep >= 0].tolist())}
    seen: set[tuple[int, ...]] = set()
    for order in (by_element, by_receiver, by_sender):
        key = tuple(order[int(word)] for word in words)
        if key not in seen:
            seen.add(key)
            yield ({int(w): int(at) for w, at in zip(words, place, strict=True)} for place in turned(np.array(key)))


def turned(place: Ints) -> Iterator[Ints]:
    """Rows of banks with their chunks of 1, 2 or 4 words xored by a part of the row's number."""
    yield place
    rows = -(-len(place) // BANKS)
    if len(place) % BANKS:
        return
    row = place // BANKS
    seen: set[tuple[int, int, int]] = set()
    for chunk in (2, 1, 0):
        for bits in range(1, 6 - chunk):
            for apart in dict.fromkeys((max(1, rows >> bits), max(1, rows * (1 << chunk) >> 5), 1)):
                if (chunk, bits, apart) not in seen:
                    seen.add((chunk, bits, apart))
                    yield place ^ (row // apart % (1 << bits)) << chunk


def _priced(places: dict[int, int], held: Ints, wanted: Ints, keep: Ints) -> Way:
    table = _table(places, held, wanted)
    stores, stored = accesses(table, keep)
    loads, loaded = accesses(table, wanted)
    return Way(places, stores, loads, stored + loaded)


def _table(places: dict[int, int], held: Ints, wanted: Ints) -> Ints:
    """By word its place; -1 for those that have none."""
    table = np.full(int(max(held.max(), wanted.max())) + 2, -1, dtype=np.int64)
    table[list(places)] = list(places.values())
    return table


def accesses(table: Ints, words: Ints) -> tuple[tuple[tuple[int, int], ...], int]:
    """Registers of each access, as wide as all threads allow without further wavefronts, and all wavefronts."""
    where = np.where(words < 0, -1, table[words])
    found: list[tuple[int, int]] = []
    total = at = 0
    single = _each(where)
    while at < words.shape[1]:
        if (where[:, at] < 0).all():
            at += 1
            continue
        for width in _WIDTHS:
            if at + width > words.shape[1]:
                continue
            if width > 1 and not _side_by_side(where[:, at : at + width]):
                continue
            cost = wavefronts_of(where[:, at : at + width]) if width > 1 else single[at]
            if cost <= sum(single[at : at + width]):
                found.append((at, width))
                total += cost
                at += width
                break
    return tuple(found), total


def _side_by_side(where: Ints) -> bool:
    first, width = where[:, :1], where.shape[1]
    follows = where == first + numbered(1, width)
    return bool((first >= 0).all() and (first % width == 0).all() and follows.all())


def _each(where: Ints) -> list[int]:
    """Wavefronts of every register by accesses of one word."""
    padded = np.full((-(-len(where) // 32) * 32, where.shape[1]), -1, dtype=np.int64)
    padded[: len(where)] = where
    rows = padded.reshape(-1, 32, where.shape[1]).transpose(2, 0, 1)
    return passes(rows.reshape(-1, 32), rows.reshape(-1, 32) >= 0).reshape(where.shape[1], -1).sum(axis=1).tolist()


def wavefronts_of(where: Ints) -> int:
    """Wavefronts of one access; threads that take no part go along with another one's address."""
    padded = np.full(-(-len(where) // 32) * 32, -1, dtype=np.int64)
    padded[: len(where)] = where[:, 0]
    rows = padded.reshape(-1, 32)
    return wavefronts(rows * 4, rows >= 0, 4 * where.shape[1])


def _by_banks(held: Ints, wanted: Ints, keep: Ints) -> dict[int, int]:
    """A bank for each word so that no store or load of a register finds a bank twice: an edge colouring, by warp and register."""
    senders: dict[int, int] = {}
    for thread, register in zip(*np.nonzero(keep >= 0), strict=True):
        senders[int(keep[thread, register])] = int(thread) // 32 * held.shape[1] + int(register)
    moves: dict[int, Move] = {}
    for thread, register in zip(*np.nonzero(wanted >= 0), strict=True):
        word = int(wanted[thread, register])
        if word not in moves:
            moves[word] = Move(senders[word], len(moves) + 1, int(thread) // 32 * wanted.shape[1] + int(register))
    sizes = max(held.shape[1], wanted.shape[1]) * -(-len(held) // 32)
    colours = coloured(list(moves.values()), sizes)
    rows: dict[int, int] = {}
    places: dict[int, int] = {}
    for word, colour in zip(moves, colours, strict=True):
        bank = colour % BANKS
        places[word] = rows.get(bank, 0) * BANKS + bank
        rows[bank] = rows.get(bank, 0) + 1
    return places


def _written(way: Way, held: Ints, wanted: Ints, keep: Ints, lanes: int) -> Program:
    threads = len(held)
    writer = Writer(threads, lanes)
    values = inputs(held.shape[1])
    table = _table(way.places, held, wanted)
    room = max(way.places.values()) + 1
    for at, width in way.stores:
        where = np.where(keep[:, at] < 0, -1, table[keep[:, at]])
        if (where < 0).any():
            # Threads that have nothing to store write to a place of their own behind the words.
            idle = np.flatnonzero(where < 0)
            where[idle] = room + np.arange(len(idle))
            room += len(idle)
        writer.operations.append(Store(writer.table.index(where), tuple(values[at : at + width])))
    writer.operations.append(Meet())
    outputs = loaded(writer, table, wanted, way.loads, "shared")
    return writer.program("shared", held.shape[1], outputs, -(-room // 4) * 4)


def loaded(
    writer: Writer, table: Ints, wanted: Ints, loads: Sequence[tuple[int, int]], array: Literal["shared", "memory"]
) -> list[str]:
    """The words that these accesses bring; `table` gives the place of each word."""
    outputs = [""] * wanted.shape[1]
    for at, width in loads:
        here = wanted[:, at] >= 0
        where = np.where(here, table[wanted[:, at]], 0)
        names = tuple(writer.fresh() for _ in range(width))
        writer.operations.append(Load(names, _address(writer, where, here), array))
        outputs[at : at + width] = names
    return outputs


def _address(writer: Writer, where: Ints, here: Sequence[bool] | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> str:
    """Threads that want nothing load what another one loads."""
    filled = where.copy()
    cares = np.asarray(here)
    if not cares.all():
        filled[~cares] = where[cares][0]
    return writer.table.index(filled)
