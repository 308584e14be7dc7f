"""Exchanges through shared memory by `stmatrix` and `ldmatrix`: rows of 16 bytes, which four lanes hold, or halves of eight.

A matrix access moves whole rows of 8 x 8 halves of words: the words of lanes 4 r to 4 r + 3, or what `movmatrix` would make of
them. So halves are transposed on the way, and need no PRMT. Rows are placed as `shared` places words, but stay together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange import shared
from warploom.layout.exchange.demand import whole_words
from warploom.layout.exchange.matrices import LANES, transposed
from warploom.layout.exchange.program import LoadMatrix, Meet, Program, Store, StoreMatrix
from warploom.layout.exchange.shuffles import Writer, inputs

FIRST_LOAD, FIRST_STORE = 75, 90
"""Compute capabilities with `ldmatrix` and `stmatrix`. Source: PTX ISA 9.7.14.5.15 and 16."""
_MOST_WORDS = 32
Accesses: TypeAlias = tuple[tuple[int, int], ...]
_PLAIN, _STRAIGHT, _TURNED = "plain", "straight", "turned"
_WAYS = (
    (_TURNED, _PLAIN), (_PLAIN, _TURNED), (_STRAIGHT, _PLAIN), (_PLAIN, _STRAIGHT),
    (_TURNED, _STRAIGHT), (_STRAIGHT, _TURNED), (_STRAIGHT, _STRAIGHT),
)  # fmt: skip
"""How words are stored and loaded."""


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    stored: str
    loaded: str
    held: Ints
    """Numbers of words as they are in shared memory [threads, words]."""
    wanted: Ints
    table: Ints
    """By word its place."""
    stores: Accesses
    loads: Accesses
    wavefronts: int

    @property
    def cost(self) -> tuple[int, int]:
        return self.wavefronts, len(self.stores) + len(self.loads)


def programs(held: Ints, wanted: Ints, lanes: int, capability: int) -> Iterator[Program]:
    """The program with the fewest wavefronts and then the fewest accesses; none where rows do not fit."""
    threads = len(held)
    if lanes != LANES or threads % LANES or max(held.shape[1], wanted.shape[1]) > _MOST_WORDS:
        return
    best: _Found | None = None
    for stored, loaded in _WAYS:
        if (stored != _PLAIN and capability < FIRST_STORE) or (loaded != _PLAIN and capability < FIRST_LOAD):
            continue
        for found in _placed(_as(stored, held), _as(loaded, wanted), stored, loaded):
            if best is None or found.cost < best.cost:
                best = found
    if best is not None:
        yield _written(best, lanes)


def _as(way: str, content: Ints) -> Ints:
    """The words as they lie in shared memory."""
    if way != _TURNED:
        return content
    return np.stack([transposed(content[:, word]) for word in range(content.shape[1])], axis=1)


def _placed(held: Ints, wanted: Ints, stored: str, loaded: str) -> Iterator[_Found]:
    """Places for whole words whose rows are moved at once, by order of the rows and with the banks turned."""
    words = whole_words(held, wanted)
    if words is None:
        return
    have, want = words
    if len(np.unique(have)) < have.size or (want < 0).any() or len(np.unique(want)) < want.size or not np.isin(want, have).all():
        return
    rows = [_rows(table) for way, table in ((stored, have), (loaded, want)) if way != _PLAIN]
    if stored == _PLAIN and len(np.intersect1d(have, want)) < have.size:
        return
    if len(rows) == 2 and {*map(tuple, rows[0].tolist())} != {*map(tuple, rows[1].tolist())}:
        return
    for order in _orders(rows[0], want):
        for place in shared.turned(numbered(order.size)):
            lines = place.reshape(-1, 4)
            if (lines[:, :1] % 4).any() or (lines != lines[:, :1] + numbered(1, 4)).any():
                continue
            table = np.full(int(max(have.max(), want.max())) + 1, -1, dtype=np.int64)
            table[order.ravel()] = place
            stores, first = _accesses(table, have, stored)
            loads, second = _accesses(table, want, loaded)
            yield _Found(stored, loaded, have, want, table, stores, loads, first + second)


def _rows(words: Ints) -> Ints:
    """[rows, 4]: of each register and warp, one matrix after the other."""
    return words.T.reshape(-1, 4)


def _orders(rows: Ints, wanted: Ints) -> Iterator[Ints]:
    """Rows one matrix after the other, by their words, and by the thread that wants their first word."""
    yield rows
    yield rows[np.argsort(rows[:, 0])]
    receiver = np.full(int(max(rows.max(), wanted.max())) + 1, wanted.size, dtype=np.int64)
    receiver[wanted.ravel()] = np.arange(wanted.size)
    yield rows[np.argsort(receiver[rows].min(axis=1))]


def _accesses(table: Ints, words: Ints, way: str) -> tuple[Accesses, int]:
    """First register and number of registers of each access, and all wavefronts."""
    if way == _PLAIN:
        return shared.accesses(table, words)
    found: list[tuple[int, int]] = []
    total = at = 0
    while at < words.shape[1]:
        count = next(n for n in (4, 2, 1) if at + n <= words.shape[1])
        where = _addresses(table, words, at, count)
        active = np.tile(np.arange(LANES) < 8 * count, len(where) // LANES)
        total += shared.wavefronts_of(np.repeat(np.where(active, where, -1)[:, None], 4, axis=1))
        found.append((at, count))
        at += count
    return tuple(found), total


def _addresses(table: Ints, words: Ints, at: int, count: int) -> Ints:
    """By thread the place of the row that it names: row l % 8 of matrix l // 8."""
    firsts = table[words[::4, at : at + count]].reshape(-1, 8, count)
    lane = np.arange(LANES)
    return firsts[:, lane % 8, lane // 8 % count].ravel()


def _written(way: _Found, lanes: int) -> Program:
    threads, count = way.held.shape
    writer = Writer(threads, lanes)
    values = inputs(count)
    for at, width in way.stores:
        given = tuple(values[at : at + width])
        if way.stored == _PLAIN:
            writer.operations.append(Store(writer.table.index(way.table[way.held[:, at]]), given))
        else:
            address = writer.table.index(_addresses(way.table, way.held, at, width))
            writer.operations.append(StoreMatrix(address, given, way.stored == _TURNED))
    writer.operations.append(Meet())
    outputs = [""] * way.wanted.shape[1]
    if way.loaded == _PLAIN:
        outputs = shared.loaded(writer, way.table, way.wanted, way.loads, "shared")
    else:
        for at, width in way.loads:
            address = writer.table.index(_addresses(way.table, way.wanted, at, width))
            names = tuple(writer.fresh() for _ in range(width))
            writer.operations.append(LoadMatrix(names, address, way.loaded == _TURNED))
            outputs[at : at + width] = names
    said = {_PLAIN: "", _STRAIGHT: "matrix", _TURNED: "matrix.trans"}
    name = ", ".join(f"{side}{said[how]}" for side, how in (("st", way.stored), ("ld", way.loaded)) if how != _PLAIN)
    return writer.program(name, count, outputs, int(way.table.max()) + 1)
