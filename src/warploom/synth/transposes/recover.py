"""Membership in the grown grammar, decided exhaustively at small sizes: a composition with a given table, or the proof of none.

Meet in the middle: all compositions of half the depth are tabulated once, one per effect, and every inner half is taken off the
goal.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle import Composition, IntArray, Primitive
from warploom.ir.swizzle.grown import USUAL, alphabet, permutes

_EVERY = 1 << 10
"""A price above that of any primitive."""
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, slots=True)
class _Level:
    """All compositions of exactly some depth that no shallower one equals, one per effect."""

    tables: Bytes
    """[compositions, index, parameter]"""
    chains: list[tuple[Primitive, ...]]
    numbers: dict[bytes, int]


def recover(table: IntArray, n: int, k_values: int, depth: int) -> Composition | None:
    """The shallowest composition f(i; k = j) of at most `depth` primitives with the [n, k_values] table; None is a proof.

    Complete for rot, fan, xor, group and unit with every constant. Meant for small sizes: memory and time grow with the square of
    the number of primitives (n = 8 with 4 parameter values: 400 primitives, 10^5 pairs).
    """
    if table.shape != (n, k_values) or not 1 <= n <= USUAL or not 1 <= k_values <= USUAL:
        raise ValueError(f"expected a table of {n} by {k_values} values, up to {USUAL} each")
    goal = table.astype(np.uint8)
    if not permutes(goal.T.astype(np.int64)):
        return None
    for total in range(depth + 1):
        outer_depth = (total + 1) // 2
        inner, outer = _level(n, k_values, total - outer_depth), _level(n, k_values, outer_depth)
        # goal = outer o inner  <=>  goal o inner^-1 = outer.
        rests = np.take_along_axis(goal[None], np.argsort(inner.tables, axis=1), axis=1)
        for number, rest in enumerate(rests):
            found = outer.numbers.get(rest.tobytes())
            if found is not None:
                return Composition("i", (*outer.chains[found], *inner.chains[number]))
    return None


@lru_cache(maxsize=16)
def _level(n: int, k_values: int, depth: int) -> _Level:
    if depth == 0:
        identity = np.repeat(np.arange(n, dtype=np.uint8)[:, None], k_values, axis=1)[None]
        return _Level(identity, [()], {identity[0].tobytes(): 0})
    before = [_level(n, k_values, d) for d in range(depth)]
    if depth == 1:
        letters = alphabet(n, _EVERY)
        rows = np.flatnonzero(letters.valid(k_values))[1:]
        index, parameter = np.divmod(np.arange(n * k_values), k_values)
        tables = letters.image(rows, index[None, :].astype(np.float32), parameter[None, :].astype(np.float32))
        candidates = [(t, (letters.primitive(int(r)),)) for t, r in zip(tables.astype(np.uint8), rows, strict=True)]
        return _new_level([(t.reshape(n, k_values), chain) for t, chain in candidates], before)
    single, rest = before[1], before[depth - 1]
    found: list[tuple[Bytes, tuple[Primitive, ...]]] = []
    for letter, chain in zip(single.tables, single.chains, strict=True):
        tables = np.take_along_axis(letter[None], rest.tables.astype(np.int64), axis=1)
        found += [(t, (*chain, *inner)) for t, inner in zip(tables, rest.chains, strict=True)]
    return _new_level(found, before)


def _new_level(candidates: list[tuple[Bytes, tuple[Primitive, ...]]], before: list[_Level]) -> _Level:
    numbers: dict[bytes, int] = {}
    tables: list[Bytes] = []
    chains: list[tuple[Primitive, ...]] = []
    for table, chain in candidates:
        key = table.tobytes()
        if key in numbers or any(key in level.numbers for level in before):
            continue
        numbers[key] = len(chains)
        tables.append(table)
        chains.append(chain)
    shape = (0, *before[0].tables.shape[1:])
    return _Level(np.stack(tables) if tables else np.zeros(shape, np.uint8), chains, numbers)


def random_composition(rng: random.Random, n: int, k_values: int, depth: int) -> Composition:
    """Any primitives with any constants."""
    letters = alphabet(n, _EVERY)
    rows = np.flatnonzero(letters.valid(k_values))[1:]
    return Composition("i", tuple(letters.primitive(int(rng.choice(rows))) for _ in range(depth)))


def tabulated(composition: Composition, n: int, k_values: int) -> IntArray:
    """[n, k_values]"""
    i, j = np.meshgrid(np.arange(n), np.arange(k_values), indexing="ij")
    return composition.apply(i, j)


def check_recovery(count: int = 200, n: int = 8, k_values: int = 4, depth: int = 3, seed: int = 0) -> tuple[int, int]:
    """(passed, tried): random compositions as goals, each recovered in some form with the same table."""
    rng = random.Random(seed)
    passed = 0
    for _ in range(count):
        goal = tabulated(random_composition(rng, n, k_values, depth), n, k_values)
        found = recover(goal, n, k_values, depth)
        passed += found is not None and bool((tabulated(found, n, k_values) == goal).all())
    return passed, count


def check_refutation(count: int = 50, n: int = 8, k_values: int = 4, depth: int = 3, seed: int = 0) -> tuple[int, int]:
    """(passed, tried): random permutations for each parameter value, each proved outside of the grammar at this depth.

    A random one is inside with probability below 10^-8 at the default size: there are (8!)^4 tables, at most 10^9 compositions.
    """
    rng = np.random.default_rng(seed)
    tables = (np.stack([rng.permutation(n) for _ in range(k_values)], axis=1) for _ in range(count))
    return sum(recover(table, n, k_values, depth) is None for table in tables), count


SELF_CHECKS: dict[str, Callable[[], tuple[int, int]]] = {"recover": check_recovery, "refute": check_refutation}
