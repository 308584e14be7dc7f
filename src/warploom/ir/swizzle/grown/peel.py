"""Compositions of a given table by peeling: static permutations outside and inside of rotations by the parameter.

    table = A o D o B      A of up to two, B of up to one static primitive (or the other way round), D of up to two digits, each
                           rotated or masked by exclusive or, with settings solved from the table instead of being tried

Between two values of the parameter only D changes, so conj(B) of that change must move digits alone: one look-up of all B.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from warploom.ir.kernel.cost import is_power_of_two
from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.functions import IntArray
from warploom.ir.swizzle.grown.alphabet import PARAMETERS, windows
from warploom.ir.swizzle.primitives import (
    Core,
    Fan,
    Primitive,
    Rot,
    Window,
    Xor,
    core_cost,
    divide_cost,
    mask_range,
    scale_cost,
    windowed,
)


@dataclass(frozen=True, eq=False, slots=True)
class Statics:
    """All static primitives on indices below n, identity first, one per effect."""

    primitives: tuple[tuple[Primitive, ...], ...]
    """None or one."""
    tables: IntArray
    """[primitives, n]"""
    inverses: IntArray
    by_effect: dict[bytes, int]
    probes: IntArray
    """Points whose images tell most tables apart."""
    occurs: NDArray[np.bool_]
    """[n ** probes] images of the probes, as digits, that some table has."""

    def find(self, table: IntArray) -> int | None:
        return self.by_effect.get(table.astype(np.uint8).tobytes())


@lru_cache(maxsize=128)
def statics(size: int) -> Statics:
    x = np.arange(size)
    found: dict[bytes, tuple[int, tuple[Primitive, ...], IntArray]] = {x.astype(np.uint8).tobytes(): (0, (), x)}
    for window in windows(size):
        n = window.count
        cores: list[Core] = [Fan(n, scale) for scale in range(2, n)]
        cores += [Rot(n, constant=c) for c in range(1, n)]
        cores += [Xor(n, constant=c) for c in range(1, mask_range(n))]
        for core in cores:
            composition = Composition("i", (windowed(core, window),))
            table = composition.apply(x, np.zeros(1, np.int64))
            key = table.astype(np.uint8).tobytes()
            cost = composition.cost(size, 1)
            if key not in found or cost < found[key][0]:
                found[key] = (cost, composition.primitives, table)
    kept = sorted(found.items(), key=lambda item: item[1][0])
    tables = np.stack([table for _, (_, _, table) in kept])
    probes = np.unique(np.array([0, size // 3, size - 1]))
    occurs = np.zeros(size ** len(probes), np.bool_)
    occurs[_digits(tables[:, probes], size)] = True
    return Statics(
        tuple(primitives for _, (_, primitives, _) in kept),
        tables,
        np.argsort(tables, axis=1),
        {key: row for row, (key, _) in enumerate(kept)},
        probes,
        occurs,
    )


def _digits(values: IntArray, base: int) -> IntArray:
    """[..., digits] as one number."""
    number: IntArray = values @ (base ** np.arange(int(values.shape[-1])))
    return number


@lru_cache(maxsize=512)
def rotations(n: int, parameters: int) -> dict[bytes, tuple[int, int]]:
    """(scale, period) of the cheapest rotation without constant that turns by the given amounts."""
    periods = range(2, min(parameters, PARAMETERS))
    settings = [(s, p) for s in range(n) for p in (0, *periods, *(-p for p in periods)) if s or p]
    cost = [scale_cost(s, n, first=False) + (1 + divide_cost(abs(p)) if p else 0) for s, p in settings]
    scale, period = np.array(settings, np.int64).reshape(-1, 2).T
    k = np.arange(parameters)
    amounts = (k * scale[:, None] + k // np.maximum(abs(period), 1)[:, None] * np.sign(period)[:, None]) % n
    dearest_first = np.argsort(-np.array(cost), kind="stable")
    return {amounts[row].astype(np.uint8).tobytes(): settings[row] for row in dearest_first}


def peel(table: IntArray, start: str) -> Iterator[Composition]:
    """Compositions with the given [index, parameter] table, in no order; none where peeling does not apply."""
    size = table.shape[0]
    if size == 1:
        yield Composition(start)
        return
    known = statics(size)
    at_zero = table[:, 0]
    if not permutes(table.T):
        return
    back = np.argsort(at_zero)
    changed = np.flatnonzero((table != at_zero[:, None]).any(axis=0))
    if not len(changed):
        for _, chain in _static_chains(known, at_zero[None, :]):
            yield Composition(start, chain)
        return
    probes = _spread(table, changed)
    inner_change, outer_change = back[table], table[back]
    # Inside: D_0^-1 D_k = B F_0^-1 F_k B^-1.
    for row, cores in _moving(known, inner_change, probes, inside=True):
        undone = at_zero[known.inverses[row]]
        shifts = _shifts(size, cores)
        for number, chain in _static_chains(known, undone[np.argsort(shifts, axis=1)]):
            yield Composition(start, (*chain, *_with_constants(cores, number), *known.primitives[row]))
    # Outside: D_k D_0^-1 = A^-1 F_k F_0^-1 A.
    for row, cores in _moving(known, outer_change, probes, inside=False):
        undone = known.inverses[row][at_zero]
        shifts = _shifts(size, cores)
        for number, chain in _static_chains(known, np.argsort(shifts, axis=1)[:, undone]):
            yield Composition(start, (*known.primitives[row], *_with_constants(cores, number), *chain))


def _spread(table: IntArray, changed: IntArray) -> IntArray:
    """A few of the parameters `changed` with different columns."""
    different = {table[:, k].astype(np.uint8).tobytes(): int(k) for k in changed}
    kept = sorted(different.values())
    return np.array(sorted({kept[len(kept) * part // 32] for part in (0, 3, 8, 13, 20, 31)}))


_Moves = tuple[tuple[Window, Core], ...]


def _moving(known: Statics, change: IntArray, probes: IntArray, *, inside: bool) -> Iterator[tuple[int, _Moves]]:
    """(static primitive, rotations) such that the change, seen through the primitive, is the rotations."""
    forth, back = (known.tables, known.inverses) if inside else (known.inverses, known.tables)
    size = int(change.shape[0])
    turns = _turns(size)
    rows = np.arange(len(forth))
    for probe in probes:
        # A few points show most to be no rotation of digits.
        ends = forth[rows[:, None], change[:, probe][back[rows][:, known.probes]]]
        rows = rows[turns.occurs[_digits(ends, size)]]
    tried: set[bytes] = set()
    for row in rows:
        conjugate = forth[row][change[back[row]]]
        key = conjugate.astype(np.uint8).tobytes()
        if key in tried:
            continue
        tried.add(key)
        alone = False
        for moved in _moved(turns, conjugate[:, probes]):
            if len(moved) > 1 and alone:
                break
            cores = _cores(conjugate, moved)
            if cores:
                alone = True
                yield int(row), cores


@lru_cache(maxsize=512)
def _masks(n: int, parameters: int) -> dict[bytes, int]:
    """Period of the cheapest xor with the given masks."""
    k = np.arange(parameters)
    cheapest_last = sorted(range(1, parameters + 1), key=divide_cost, reverse=True)
    return {(k // p % mask_range(n)).astype(np.uint8).tobytes(): p for p in cheapest_last}


@lru_cache(maxsize=128)
def _digit_sets(size: int) -> tuple[tuple[Window, ...], ...]:
    """One digit, or two that do not overlap, the higher one first."""
    single = windows(size)
    pairs = [(a, b) for a in single for b in single if a.unit % (b.unit * b.count) == 0]
    return tuple((w,) for w in single) + tuple(pairs)


@dataclass(frozen=True, eq=False, slots=True)
class _Turns:
    """All moves, rotations and masks, of one digit or of two that do not overlap."""

    occurs: NDArray[np.bool_]
    """The digits that occur, as in `Statics`."""
    digits: dict[bytes, list[tuple[Window, ...]]]
    """By effect, the digits that may have been moved; one alone where that is enough."""


@lru_cache(maxsize=128)
def _turns(size: int) -> _Turns:
    x = np.arange(size)
    digits: dict[bytes, list[tuple[Window, ...]]] = {}
    probes = statics(size).probes
    occurs = np.zeros(size ** len(probes), np.bool_)
    for moved in _digit_sets(size):
        tables = x[None, :]
        for window in moved:
            digit = tables // window.unit % window.count
            amounts = np.arange(0 if len(moved) == 1 else 1, window.count)[:, None, None]
            moves = (digit + amounts) % window.count
            if _masked(window):
                moves = np.concatenate([moves, digit ^ amounts])
            tables = (tables + (moves - digit) * window.unit).reshape(-1, size)
        occurs[_digits(tables[:, probes], size)] = True
        for table in tables.astype(np.uint8):
            digits.setdefault(table.tobytes(), []).append(moved)
    return _Turns(occurs, digits)


def _moved(turns: _Turns, changes: IntArray) -> Iterator[tuple[Window, ...]]:
    """Windows that may have been moved to give all of [size, some parameters], one digit first."""
    sets = [turns.digits.get(change.tobytes(), ()) for change in changes.T.astype(np.uint8)]
    found = dict.fromkeys(moved for some in sets for moved in some)
    single = dict.fromkeys(window for moved in found for window in moved)
    found |= dict.fromkeys((a, b) for a in single for b in single if a.unit % (b.unit * b.count) == 0)
    for moved in sorted(found, key=len):
        # At some of the parameters a digit may stand still.
        if all(moved in some or any((window,) in some for window in moved) for some in sets):
            yield moved


def _masked(window: Window) -> bool:
    """Whether a mask does to the digit what no rotation does."""
    return window.count > 2 and is_power_of_two(window.count)


def _cores(change: IntArray, moved: tuple[Window, ...]) -> _Moves:
    """The moves whose values at all parameters are `change`; none where one does nothing or is not in the grammar."""
    size, parameters = (int(n) for n in change.shape)
    x: IntArray = np.arange(size)[:, None]
    left = change
    cores: list[tuple[Window, Core]] = []
    for window in moved:
        digit, after = x // window.unit % window.count, change // window.unit % window.count
        amount = after[0]
        key = amount.astype(np.uint8).tobytes()
        found: list[tuple[Window, Core]] = []
        setting, period = rotations(window.count, parameters).get(key), None
        if is_power_of_two(window.count):
            period = _masks(window.count, parameters).get(key)
        if period is not None and np.array_equal(after, digit ^ amount):
            # The low bits of the index are masked as they stand.
            whole = Window(size, 1, size) if window.unit == 1 and window.count == mask_range(size) else window
            found.append((whole, Xor(whole.count, period)))
        if setting is not None and np.array_equal(after, (digit + amount) % window.count):
            found.append((window, Rot(window.count, *setting)))
        if not found:
            return ()
        cores.append(min(found, key=lambda move: core_cost(move[1], move[0], parameters)))
        left = left - (after - digit) * window.unit
    return tuple(cores) if np.array_equal(left, np.broadcast_to(x, left.shape)) else ()


def _counts(cores: _Moves) -> list[int]:
    """Constants that each may have."""
    return [1 if isinstance(core, Xor) else window.count for window, core in cores]


def _shifts(size: int, cores: _Moves) -> IntArray:
    """[combinations of constants, size] what these do where the parameter is 0."""
    x = np.arange(size)
    number = np.arange(int(np.prod(_counts(cores))))
    shifts = np.broadcast_to(x, (len(number), size)).copy()
    for (window, core), count in zip(cores, _counts(cores), strict=True):
        if isinstance(core, Rot):
            digit = x // window.unit % window.count
            shifts += ((digit + (number % count)[:, None]) % window.count - digit) * window.unit
        number = number // count
    return shifts


def _with_constants(cores: _Moves, number: int) -> tuple[Primitive, ...]:
    chain: list[Primitive] = []
    for (window, core), count in zip(cores, _counts(cores), strict=True):
        turned = Rot(core.n, core.scale, core.period, number % count) if isinstance(core, Rot) else core
        number //= count
        chain.append(windowed(turned, window))
    return tuple(chain)


def _static_chains(known: Statics, tables: IntArray) -> Iterator[tuple[int, tuple[Primitive, ...]]]:
    """(table, primitives): each table that one static primitive gives; if there is none, each that two give."""
    single = False
    for number in np.flatnonzero(known.occurs[_digits(tables[:, known.probes], known.tables.shape[1])]):
        row = known.find(tables[number])
        if row is not None:
            single = True
            yield int(number), known.primitives[row]
    if single:
        return
    rests = known.inverses[:, tables[:, known.probes]]
    for outer, number in zip(*np.nonzero(known.occurs[_digits(rests, known.tables.shape[1])]), strict=True):
        inner = known.find(known.inverses[outer][tables[number]])
        if inner is not None:
            yield int(number), (*known.primitives[outer], *known.primitives[inner])


def permutes(rows: IntArray) -> bool:
    """Whether each row holds every number below its length once."""
    return np.array_equal(np.sort(rows, axis=1), np.broadcast_to(np.arange(int(rows.shape[1])), rows.shape))
