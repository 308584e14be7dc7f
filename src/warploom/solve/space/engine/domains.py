"""Narrowing the domains of variables and the bounds of counters; their integers."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.packed import (
    CLASS_OF,
    FLIP_OFFSET,
    FLIPS,
    MIRROR,
    VALUES,
    VALUES_START,
    VARIABLES,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.work import FAILED, LOG_END, push, push_instance, record


@compiled
def flip(t: Ints, c: int, mask: np.uint64) -> np.uint64:
    result = np.uint64(0)
    base = t[t[FLIP_OFFSET] + c]
    while mask != np.uint64(0):
        result |= np.uint64(t[t[FLIPS] + base + np.int64(mask & np.uint64(255))])
        mask >>= np.uint64(8)
        base += 256
    return result


@compiled
def narrow(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int, mask: np.uint64) -> bool:
    old = domains[v]
    new = old & mask
    if new == old:
        return True
    if work[LOG_END] > 0:
        record(work, v, np.int64(old), np.int64(new))
    if new == np.uint64(0):
        work[FAILED] = 1
        return False
    domains[v] = new
    m = t[t[MIRROR] + v]
    if m >= 0:
        if m < v:
            old = domains[m]
        domains[m] = flip(t, t[t[CLASS_OF] + v], new)
        v = min(v, m)
    push(work, v, old)
    return True


@compiled
def narrow_bounds(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, i: int, low: int, high: int, is_own: bool
) -> bool:
    """Narrows the bounds of a counter instance; `is_own`: found by itself, which need not run again."""
    is_changed = False
    if low > bounds[0, i]:
        bounds[0, i] = low
        is_changed = True
    if high < bounds[1, i]:
        bounds[1, i] = high
        is_changed = True
    if is_changed and work[LOG_END] > 0:
        record(work, t[VARIABLES] + i, bounds[0, i], bounds[1, i])
    if bounds[0, i] > bounds[1, i]:
        work[FAILED] = 1
        return False
    if is_changed:
        push(work, t[VARIABLES] + i, np.uint64(0))
        if not is_own:
            push_instance(work, i)
    return True


@compiled
def least_value(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int) -> int:
    mask = domains[v]
    n = t[t[VALUES_START] + v]
    while mask & np.uint64(1) == np.uint64(0):
        mask >>= np.uint64(1)
        n += 1
    return t[t[VALUES] + n]


@compiled
def greatest_value(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int) -> int:
    mask = domains[v]
    n = t[t[VALUES_START] + v] - 1
    while mask != np.uint64(0):
        mask >>= np.uint64(1)
        n += 1
    return t[t[VALUES] + n]


@compiled
def values_between(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int, low: int, high: int) -> np.uint64:
    """The part of the domain within the bounds."""
    mask = domains[v]
    result = np.uint64(0)
    bit = np.uint64(1)
    for n in range(t[t[VALUES_START] + v], t[t[VALUES_START] + v + 1]):
        if mask & bit != np.uint64(0) and low <= t[t[VALUES] + n] <= high:
            result |= bit
        bit <<= np.uint64(1)
    return result


@compiled
def common_values(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int, w: int) -> np.uint64:
    """The part of the domain of v whose integers w can take."""
    if v == w:
        return domains[v]
    result = np.uint64(0)
    bit = np.uint64(1)
    other = t[t[VALUES_START] + w]
    other_bit = np.uint64(1)
    for n in range(t[t[VALUES_START] + v], t[t[VALUES_START] + v + 1]):
        while other < t[t[VALUES_START] + w + 1] and t[t[VALUES] + other] < t[t[VALUES] + n]:
            other += 1
            other_bit <<= np.uint64(1)
        is_shared = other < t[t[VALUES_START] + w + 1] and t[t[VALUES] + other] == t[t[VALUES] + n]
        if is_shared and domains[w] & other_bit != np.uint64(0):
            result |= bit
        bit <<= np.uint64(1)
    return result & domains[v]


@compiled
def is_single(mask: np.uint64) -> bool:
    return mask & (mask - np.uint64(1)) == np.uint64(0)
