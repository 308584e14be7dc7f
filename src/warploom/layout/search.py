"""The cheapest map of a tile for all accesses at once: class after class, from the one that costs nothing.

Order: row-major; padding (if room is given); one Swizzle; any XOR map; rotation; body and rest, by rows and then by columns;
with room, body and rest again, then XOR and rotation with rows rounded up to whole banks. The first map with the least wavefronts
for every access is the answer, and no map of any class has fewer. Without such a map the answer is the one with the fewest
wavefronts among those tried; if it is asked for, a map by table is (`tables.py`), or the proof that there is none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.core.limits import LimitReachedError, why
from warploom.layout.accesses import Access, Ints, distinct
from warploom.layout.banks import (
    BANK_BITS,
    Price,
    bounds,
    chunk_bits,
    is_wide_enough,
    prices,
    wavefronts,
)
from warploom.layout.linear import Shape, applied, avoids, differences, in_basis, reversals, search, shape, spanned, swizzles
from warploom.layout.maps import (
    Map,
    body_and_rest,
    columns_and_rest,
    exchanged,
    full_linear,
    reversed_map,
    rotation,
    row_major,
    xor_map,
)
from warploom.layout.tables import NoMap, any_map
from warploom.layout.tiles import Tile

Room: TypeAlias = int | Literal["any"]
MOST_PADDING = 64
STEPS = 200
"""Maps tried while the best one is improved."""


@dataclass(frozen=True, slots=True)
class NoLinear:
    """The proof that no F2-linear map that keeps chunks is without conflict."""

    chunk: int
    group: int
    space: tuple[int, ...]
    """A basis of chunk addresses that an access takes at once, so that every map without conflict is given by its complement."""
    nodes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A map for a tile and what its accesses cost."""

    tile: Tile
    accesses: tuple[Access, ...]
    map: Map
    prices: tuple[Price, ...]
    before: tuple[Price, ...]
    """The same of the `plain` order."""
    extra_words: int
    tried: int
    no_linear: NoLinear | None = None
    no_map: NoMap | None = None
    stopped: str = ""
    """Why not all maps were tried; empty if they were."""

    @property
    def optimal(self) -> bool:
        """Every access has as few wavefronts as any map allows."""
        return is_least(self.prices)


def is_least(found: Sequence[Price]) -> bool:
    return all(p.wavefronts <= p.least for p in found)


def total(found: Sequence[Price]) -> int:
    return sum(p.wavefronts for p in found)


def extra_words(tile: Tile, table: Ints) -> int:
    """Words beyond those that the tile fills."""
    return -(-(int(table.max()) + 1) * tile.bits // BANK_BITS) - -(-tile.elements * tile.bits // BANK_BITS)


class _Search:
    def __init__(self, tile: Tile, accesses: Sequence[Access], room: Room) -> None:
        self.tile, self.accesses, self.room = tile, tuple(accesses), room
        self.chunk = chunk_bits(tile, accesses)
        self.bounds = bounds(tile, accesses)
        self.quickest = sorted(zip(self.accesses, self.bounds, strict=True), key=lambda pair: len(pair[0].elements))
        self.best: tuple[int, int, Map] | None = None
        self.tried = 0
        self.no_linear: NoLinear | None = None

    def is_good(self, found: Map | None) -> bool:
        """Whether the map is least for all accesses; keeps the best one."""
        if found is None or not self.is_allowed(found):
            return False
        self.tried += 1
        room = extra_words(self.tile, found.table)
        cost, open_bounds = 0, sum(self.bounds)
        for access, bound in self.quickest:
            open_bounds -= bound
            cost += wavefronts(self.tile, access, found.table)
            if self.best is not None and (cost + open_bounds, room) >= self.best[:2]:
                return False
        self.best = cost, room, found
        return cost <= sum(self.bounds)

    def is_allowed(self, found: Map) -> bool:
        """Within the room, no place twice, and lanes find their elements together."""
        if not isinstance(self.room, str) and extra_words(self.tile, found.table) > self.room:
            return False
        return is_bijection(found.table) and all(is_wide_enough(a, found.table) for a in self.accesses)

    def run(self) -> Map:
        tile = self.tile
        for found in self.candidates():
            if self.is_good(found):
                return found
        self.improve()
        if self.best is None:
            raise UserError(
                Diagnostic(
                    "LAYOUT_ACCESS", "expected lanes that take aligned neighbours of a row, or all of a column, got others",
                    fix=f"Take fewer bits a lane on the tile {tile}.",
                )
            )  # fmt: skip
        return self.best[2]

    def candidates(self) -> Iterator[Map]:
        tile = self.tile
        yield row_major(tile, tile.columns)
        if self.room:
            yield from self.padded()
        yield from self.xors(tile.columns, is_last=True)
        yield from self.rotations(tile.columns)
        yield from self.bodies(roomy=False)
        yield from self.by_columns()
        if self.room:
            yield from self.bodies(roomy=True)
        form = shape(tile, self.chunk, tile.elements)
        if self.room and form is not None:
            pitch = -(-tile.columns // (1 << form.low)) << form.low
            if pitch != tile.columns:
                yield from self.xors(pitch, is_last=False)
                yield from self.rotations(pitch)

    def padded(self) -> Iterator[Map]:
        size = 1 << self.chunk
        for padding in range(size, MOST_PADDING + 1, size):
            yield row_major(self.tile, self.tile.columns + padding)

    def xors(self, pitch: int, *, is_last: bool) -> Iterator[Map]:
        tile = self.tile
        form = shape(tile, self.chunk, tile.rows * pitch)
        if form is None or not form.rest:
            return
        end = tile.rows * pitch >> form.low << form.low
        element = np.arange(tile.elements, dtype=np.int64)
        address = element // tile.columns * pitch + element % tile.columns
        forbidden = differences(tile, self.accesses, form, address, end=end)
        for named, columns in swizzles(form):
            if avoids(columns, forbidden, form):
                yield xor_map(tile, pitch, form.low, form.chunk, columns, "swizzle", named, end=end)
        for (start, bits), columns in reversals(form):
            if avoids(columns, forbidden, form):
                found = reversed_map(tile, pitch, form.low, form.group, form.chunk, start, bits)
                if found is not None:
                    yield found
        result = search(forbidden, form)
        if result.columns is not None:
            if any(result.columns):
                yield xor_map(tile, pitch, form.low, form.chunk, result.columns, end=end)
        elif result.exhausted and is_last:
            strict = differences(tile, self.accesses, form, address, strict=True)
            if len(strict) < len(forbidden):
                result = search(strict, form)
            if result.columns is not None and any(result.columns):
                yield xor_map(tile, pitch, form.low, form.chunk, result.columns, end=end)
            elif result.exhausted:
                yield from self.any_linear(form, strict, address, result.nodes)

    def any_linear(self, form: Shape, forbidden: Ints, address: Ints, nodes: int) -> Iterator[Map]:
        """All linear maps, by the complement of a pattern that must be without conflict; or the proof that there is none."""
        tile, bits = self.tile, form.group + form.rest
        if tile.elements != 1 << (bits + form.chunk) or tile.columns & (tile.columns - 1):
            return
        low = tuple(1 << i for i in range(form.group))
        if all(value in set(forbidden.tolist()) for value in range(1, 1 << form.group)):
            self.no_linear = NoLinear(form.chunk, form.group, low, nodes)
            return
        space = spanned(forbidden, tile, self.accesses, form, address)
        if space is None:
            return
        images = in_basis(space, bits)
        result = search(applied(enumerate(images), forbidden), form)
        if result.columns is None:
            if result.exhausted:
                self.no_linear = NoLinear(form.chunk, form.group, space, nodes + result.nodes)
            return
        whole: list[int] = [1 << j for j in range(form.chunk)]
        for image in images:
            turned = image
            for j, value in enumerate(result.columns):
                if image >> (form.group + j) & 1:
                    turned ^= value
            whole.append(turned << form.chunk)
        yield full_linear(tile, whole)

    def rotations(self, pitch: int) -> Iterator[Map]:
        size = 1 << self.chunk
        if pitch % size:
            return
        for step in range(1, min(pitch // size, 64)):
            yield rotation(self.tile, pitch, step, self.chunk)

    def bodies(self, *, roomy: bool) -> Iterator[Map]:
        """Where rows are no whole number of banks: the bulk as S(c) ^ M(r), with bits exchanged or turned, and the rest below."""
        form = shape(self.tile, self.chunk, self.tile.elements)
        if form is None or form.chunk:
            return
        low = form.low
        body = self.tile.columns >> low << low
        if not body or body == self.tile.columns:
            return
        straight = tuple(range(low))
        swapped, turned = _swapped(low), _turned(low)
        tail = self.tile.rows % (1 << low)
        for of_columns in (straight, *swapped):
            for of_rows in dict.fromkeys((straight, *turned, *swapped)):
                if roomy or (self.tile.columns - body == 1 and _keeps(of_rows, tail)):
                    yield body_and_rest(self.tile, body, low, of_columns, of_rows)

    def by_columns(self) -> Iterator[Map]:
        """Without room: columns as rows of banks, where what is left of them is a power of two or nothing."""
        form = shape(self.tile, self.chunk, self.tile.elements)
        if form is None or form.chunk or self.tile.columns < 2:
            return
        low = form.low
        left = self.tile.rows % (1 << low)
        if self.tile.rows == left or left & (left - 1):
            return
        moved = left.bit_length() - 1 if left else 0
        orders = itertools.permutations(range(low)) if moved else (*_turned(low), *_swapped(low))
        for of_rows in orders:
            if min(of_rows[:moved], default=low) >= low - moved:
                yield columns_and_rest(self.tile, low, of_rows)

    def improve(self) -> None:
        """One column of an XOR map changed at a time, as long as that helps."""
        tile = self.tile
        form = shape(tile, self.chunk, tile.elements)
        if form is None or not form.rest or tile.elements % (1 << form.low):
            return
        columns = [0] * form.rest
        best = self.price(form, columns)
        changes = itertools.product(sorted(range(1, 1 << form.group), key=int.bit_count), range(form.rest))
        for value, j in itertools.islice(changes, STEPS):
            changed = [*columns[:j], value, *columns[j + 1 :]]
            cost = self.price(form, changed)
            if cost < best:
                best, columns = cost, changed

    def price(self, form: Shape, columns: Sequence[int]) -> int:
        if not any(columns):
            found = row_major(self.tile, self.tile.columns)
        else:
            found = xor_map(self.tile, self.tile.columns, form.low, form.chunk, columns)
        cost = sum(wavefronts(self.tile, a, found.table) for a in self.accesses)
        if self.best is None or cost < self.best[0]:
            self.is_good(found)
        return cost


def _swapped(low: int) -> list[tuple[int, ...]]:
    """Orders of the low bits in which two change places."""
    return [tuple({i: j, j: i}.get(k, k) for k in range(low)) for i, j in itertools.combinations(range(low), 2)]


def _turned(low: int) -> list[tuple[int, ...]]:
    """Orders in which the lowest bits are turned."""
    return [tuple((k + by) % n if k < n else k for k in range(low)) for n in range(2, low + 1) for by in range(1, n)]


def _keeps(turned: Sequence[int], tail: int) -> bool:
    """Whether numbers below `tail` stay below it when their bits are moved."""
    return all(sum(1 << to for j, to in enumerate(turned) if n >> j & 1) < tail for n in range(tail))


def is_bijection(table: Ints) -> bool:
    """No two elements in one place, and none before the first."""
    return len(distinct(table)) == len(table) and int(table.min()) >= 0


def _down_columns(tile: Tile, accesses: Sequence[Access]) -> tuple[Tile, tuple[Access, ...]] | None:
    """The tile and its accesses with rows and columns exchanged, if all lanes that take several elements take them down a
    column."""
    wide = [a.elements[a.elements[..., 0] >= 0] for a in accesses if a.per_lane > 1]
    if not wide or tile.columns == 1 or any((np.diff(lanes, axis=1) != tile.columns).any() for lanes in wide):
        return None
    turned = tuple(
        replace(a, elements=np.where(a.elements < 0, -1, a.elements % tile.columns * tile.rows + a.elements // tile.columns))
        for a in accesses
    )
    return replace(tile, rows=tile.columns, columns=tile.rows), turned


def plain(tile: Tile, accesses: Sequence[Access]) -> Ints:
    """Places in row-major order; in column-major order, if all lanes that take several elements take them down a column."""
    turned = _down_columns(tile, accesses)
    return row_major(tile, tile.columns).table if turned is None else exchanged(tile, row_major(turned[0], tile.rows)).table


def layout(tile: Tile, accesses: Sequence[Access], room: Room = 0, *, table: bool = False) -> Answer:
    """The cheapest map of the tile for the accesses; `room`: words that may stay unused. `table`: where no class has a map
    without conflict, any map at all is asked of a SAT solver. At the end of the command's budget the best map so far is the
    answer. UserError (LAYOUT_ACCESS, SAT)."""
    if not accesses:
        raise UserError(Diagnostic("ACCESS", "expected at least one access, got none"))
    turned = _down_columns(tile, accesses)
    if turned is not None:
        inner = layout(*turned, room)
        found = exchanged(tile, inner.map)
        return Answer(
            tile, tuple(accesses), found, prices(tile, accesses, found.table), prices(tile, accesses, plain(tile, accesses)),
            inner.extra_words, inner.tried, stopped=inner.stopped,
        )  # fmt: skip
    work = _Search(tile, accesses, room)
    stopped, no_map = "", None
    try:
        found = work.run()
    except LimitReachedError as error:
        if work.best is None:
            raise
        found, stopped = work.best[2], why(error)
    form = shape(tile, work.chunk, tile.elements) if table and not stopped else None
    if (
        form is not None
        and not tile.elements % (1 << form.chunk)
        and not is_least(prices(tile, accesses, found.table, work.bounds))
    ):
        answer = None
        try:
            answer = any_map(tile, accesses, form)
        except LimitReachedError as error:
            stopped = why(error)
        if isinstance(answer, Map):
            found = answer if work.is_good(answer) else found
        else:
            no_map = answer
    before = plain(tile, accesses)
    return Answer(
        tile, tuple(accesses), found,
        prices(tile, accesses, found.table, work.bounds), prices(tile, accesses, before, work.bounds),
        extra_words(tile, found.table), work.tried, work.no_linear, no_map, stopped,
    )  # fmt: skip
