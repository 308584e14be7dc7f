"""The compositions of the paper's Table 3 at a size, with the constants that it leaves out: the cheapest that make a transpose.

Every constant of every rotation and fan is considered: the third step fixes the others, so a shape that none of its third steps
begins is no transpose of this size. So it is where n is a multiple of m: the second step, (j * m + i) mod n, is no permutation of
j. The second step undoes the third one's rotation: by -floor(j / d), which the paper writes as a negative dr.
Source: Swizzle Inventor, section 8, Table 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from warploom.ir.swizzle import Cm2Linear, Composition, Fan, Group, IntArray, Primitive, Rot
from warploom.ir.swizzle.grown import rotations
from warploom.synth.transposes.problem import Tables, Transpose

_Chain = tuple[Primitive, ...]


def table_cost(m: int, n: int) -> int | None:
    """Cost of Table 3's three steps for a column-row-column transpose of m by n; None where they cannot be one."""
    steps = table_steps(m, n)
    return None if steps is None else sum(step.cost(m, n) for step in steps)


@lru_cache(maxsize=1)
def table_steps(m: int, n: int) -> tuple[Composition, ...] | None:
    """The cheapest steps of Table 3's shape that transpose m registers by n lanes; None where no constants do."""
    if m == 1 or n == 1:
        return Composition("i"), Composition("j"), Composition("i")
    if math.gcd(m, n) == 1:
        return _coprime(m, n)
    if n % m == 0:
        return None
    found = _dividing(m, n) if m % n == 0 else _dividing_neither(m, n)
    return min(found, key=lambda steps: sum(step.cost(m, n) for step in steps), default=None)


def _coprime(m: int, n: int) -> tuple[Composition, ...]:
    """With the third step `i` the first two are fixed (equation of the elements' places mod m and mod n)."""
    inverse = pow(n, -1, m)
    first: _Chain = (Rot(m, -inverse % m), Fan(m, inverse))
    second: _Chain = (Rot(n, 1), Fan(n, m % n))
    if inverse == 1:
        first = first[:1]
    if m % n == 1:
        second = second[:1]
    return Composition("i", first), Composition("j", second), Composition("i")


def _dividing(m: int, n: int) -> Iterator[tuple[Composition, ...]]:
    """m a multiple of n: rot o fan o rot, rot, rot."""
    lanes = np.arange(n)
    for scale, period in rotations(m, n).values():
        amounts = _amounts(scale, period, lanes)
        # The second step is j - (rotation of the third step) mod n: a rotation of j where the two differ by a constant.
        if len(np.unique((amounts + lanes) % n)) > 1:
            continue
        for constant in range(m):
            third = Rot(m, scale, period, constant)
            tables = _forced(m, n, third)
            second = None if tables is None else _rotation(tables.second[0], tables.second, np.arange(n))
            if tables is None or second is None:
                continue
            for fan in (None, *(Fan(m, f) for f in range(2, m))):
                first = _turned_fan(tables.first, fan)
                if first is not None:
                    yield Composition("i", first), Composition("j", second), Composition("i", _turned(third))


def _turned_fan(table: IntArray, fan: Fan | None) -> _Chain | None:
    """rot o fan o rot with this [index, parameter] table, if constants of the rotations make it so."""
    m = len(table)
    x = np.arange(m)
    spread = x if fan is None else Composition("i", (fan,)).apply(x, np.zeros(1, np.int64))
    if fan is None or math.gcd(fan.scale, m) == 1:
        outer = _rotation(table[0], table, spread)
        return None if outer is None else (*outer, *((fan,) if fan else ()))
    # [amount, index]: what the inner rotation makes of the fan, up to the outer one. No two amounts make the same.
    moved = spread[(x + x[:, None]) % m]
    shapes = {row.astype(np.uint8).tobytes(): amount for amount, row in enumerate((moved - moved[:, :1]) % m)}
    columns = ((table - table[0]) % m).T.astype(np.uint8)
    known = [shapes.get(column.tobytes()) for column in columns]
    amounts = np.array([a for a in known if a is not None])
    if len(amounts) < len(known):
        return None
    inner, outer = _setting(amounts, m), _setting((table[0] - spread[amounts]) % m, m)
    return None if inner is None or outer is None else (*outer, fan, *inner)


def _dividing_neither(m: int, n: int) -> Iterator[tuple[Composition, ...]]:
    """fan o fan o rot, with a fan of groups before them or not; rot after the switch of the index; rot.

    A constant of the third step would be undone by one in each of the others: it has none.
    """
    lanes = np.arange(n)
    for scale, period in rotations(m, n).values():
        amounts = _amounts(scale, period, lanes) % m
        back = _setting(-amounts % m, m)
        tables = None if back is None else _forced(m, n, Rot(m, scale, period))
        if back is None or tables is None:
            continue
        second = Composition("i", (Cm2Linear(m, n), *back))
        for first in _fans_after_rotation(tables.first):
            yield Composition("i", first), second, Composition("i", _turned(Rot(m, scale, period)))


def _fans_after_rotation(table: IntArray) -> Iterator[_Chain]:
    m = len(table)
    x = np.arange(m)
    start = np.argsort(table[:, 0])
    # The rotations between the parameters: all columns are the first one, turned.
    turned = start[table[0]]
    if not np.array_equal(table, table[:, 0][(x[:, None] + turned) % m]):
        return
    for constant in range(m):
        rotation = _setting((turned + constant) % m, m)
        fans = None if rotation is None else _spread(table[(x - constant) % m, 0])
        if rotation is not None and fans is not None:
            yield (*fans, *rotation)


def _spread(table: IntArray) -> _Chain | None:
    """fan o fan, or one of groups before it, with this table."""
    m = len(table)
    pairs = _pairs(m)
    found = [pairs.get(table.astype(np.uint8).tobytes())]
    for size in (g for g in range(3, m) if m % g == 0 and found == [None]):
        for scale in range(2, size):
            group = Group(size, Fan(size, scale))
            back = np.argsort(Composition("i", (group,)).apply(np.arange(m), np.zeros(1, np.int64)))
            rest = pairs.get(back[table].astype(np.uint8).tobytes())
            found += [] if rest is None else [(group, *rest)]
    chains = [chain for chain in found if chain is not None]
    return min(chains, key=lambda chain: Composition("i", chain).cost(m, 1), default=None)


@lru_cache(maxsize=4)
def _pairs(m: int) -> dict[bytes, _Chain]:
    """The cheapest of up to two fans with each effect."""
    x, zero = np.arange(m), np.zeros(1, np.int64)
    fans: list[_Chain] = [(), *((Fan(m, scale),) for scale in range(2, m))]
    tables = [Composition("i", fan).apply(x, zero) for fan in fans]
    found: dict[bytes, tuple[int, _Chain]] = {}
    for outer, after in zip(fans, tables, strict=True):
        for inner, before in zip(fans, tables, strict=True):
            chain = (*outer, *inner)
            key, cost = after[before].astype(np.uint8).tobytes(), Composition("i", chain).cost(m, 1)
            if key not in found or cost < found[key][0]:
                found[key] = cost, chain
    return {key: chain for key, (_, chain) in found.items()}


def _amounts(scale: int, period: int, parameters: IntArray) -> IntArray:
    amounts: IntArray = parameters * scale
    return amounts + (1 if period > 0 else -1) * (parameters // abs(period)) if period else amounts


def _forced(m: int, n: int, third: Rot) -> Tables | None:
    i, j = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
    return Transpose("crc", m, n).from_third(Composition("i", (third,)).apply(i, j))


def _rotation(amounts: IntArray, table: IntArray, spread: IntArray) -> _Chain | None:
    """The rotation with the [index, parameter] table of the indices that `spread` gives first."""
    n = len(table)
    amounts = (amounts - spread[0]) % n
    return _setting(amounts, n) if np.array_equal(table, (spread[:, None] + amounts) % n) else None


def _setting(amounts: IntArray, n: int) -> _Chain | None:
    """The cheapest rotation by these amounts, one per parameter."""
    found = rotations(n, len(amounts)).get(((amounts - amounts[0]) % n).astype(np.uint8).tobytes())
    return None if found is None else _turned(Rot(n, *found, int(amounts[0]) % n))


def _turned(rotation: Rot) -> _Chain:
    return (rotation,) if rotation.scale or rotation.period or rotation.constant else ()
