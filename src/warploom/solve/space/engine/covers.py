"""Tilings: the outer size times those of the tiles covers a total."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.counters import saturating_product
from warploom.solve.space.engine.domains import greatest_value, least_value, narrow, values_between
from warploom.solve.space.engine.packed import (
    CONSTANTS,
    EXACT_OFFSET,
    EXACT_STRIDES,
    MEMBER,
    PARAMETERS,
    POSSIBLE,
    SATURATED,
    SLOTS_START,
    START_OFFSET,
    START_STRIDES,
    VALUES,
    VALUES_START,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.tuples import (
    bind_instance,
    entry_of,
    is_held,
    membership,
    next_tuple,
    position,
    takes_part,
    tuple_state,
)
from warploom.solve.space.engine.work import CHOSEN

_EXACT_COMBINATIONS = 1024


@compiled
def run_cover(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, i: int) -> bool:
    count = bind_instance(t, domains, members, bounds, work, f, i)
    for k in range(t[t[PARAMETERS] + f]):
        if membership(t, domains, members, bounds, work, f, k) != MEMBER:
            return True
    total = t[t[CONSTANTS] + entry_of(t, work, t[t[START_OFFSET] + f], t[START_STRIDES] + 4 * f)]
    outer = position(t, domains, members, bounds, work, t[t[SLOTS_START] + f])
    is_exact = is_held(t, work, t[t[EXACT_OFFSET] + f], t[EXACT_STRIDES] + 4 * f)
    if outer < 0 or takes_part(t, domains, members, bounds, work, outer) != MEMBER:
        return True
    tiles = 0
    is_first = True
    low = 1
    high = 1
    combinations = 1
    while next_tuple(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        p = position(t, domains, members, bounds, work, t[t[SLOTS_START] + f] + 1)
        if p < 0 or tuple_state(t, domains, members, bounds, work, f) != MEMBER:
            if p >= 0 and tuple_state(t, domains, members, bounds, work, f) == POSSIBLE:
                return True
            continue
        work[work[CHOSEN] + tiles] = p
        tiles += 1
        low = saturating_product(low, least_value(t, domains, members, bounds, work, p))
        high = saturating_product(high, greatest_value(t, domains, members, bounds, work, p))
        options = 0
        mask = domains[p]
        while mask != np.uint64(0):
            mask &= mask - np.uint64(1)
            options += 1
        combinations = saturating_product(combinations, options)
    if combinations <= _EXACT_COMBINATIONS:
        return cover_exactly(t, domains, members, bounds, work, outer, tiles, total, is_exact)
    # outer == ceil(total / product)
    least = max(1, (total + high - 1) // high) if high < SATURATED else 1
    if not narrow(
        t,
        domains,
        members,
        bounds,
        work,
        outer,
        values_between(t, domains, members, bounds, work, outer, least, max(1, (total + low - 1) // low)),
    ):
        return False
    outer_least = least_value(t, domains, members, bounds, work, outer)
    outer_greatest = greatest_value(t, domains, members, bounds, work, outer)
    # ceil(total / product) <= g  <=>  product >= ceil(total / g);  ceil(total / product) >= l  <=>  product * (l - 1) < total
    need = (total + outer_greatest - 1) // outer_greatest
    cap = (total - 1) // (outer_least - 1) if outer_least > 1 else SATURATED
    if is_exact:
        cap = min(cap, total // outer_least)
        keep = np.uint64(0)
        bit = np.uint64(1)
        for n in range(t[t[VALUES_START] + outer], t[t[VALUES_START] + outer + 1]):
            if t[t[VALUES] + n] > 0 and total % t[t[VALUES] + n] == 0:
                keep |= bit
            bit <<= np.uint64(1)
        if not narrow(t, domains, members, bounds, work, outer, keep):
            return False
    for n in range(tiles):
        p = work[work[CHOSEN] + n]
        others_low = low // least_value(t, domains, members, bounds, work, p)
        others_high = high // greatest_value(t, domains, members, bounds, work, p) if high < SATURATED else SATURATED
        keep = values_between(t, domains, members, bounds, work, p, (need + others_high - 1) // others_high, cap // others_low)
        if is_exact:
            bit = np.uint64(1)
            for k in range(t[t[VALUES_START] + p], t[t[VALUES_START] + p + 1]):
                if total % t[t[VALUES] + k] != 0:
                    keep &= ~bit
                bit <<= np.uint64(1)
        # the bounds of the others are those from before this loop: no narrower than they could be, and in any order the same
        work[work[CHOSEN] + tiles + n] = np.int64(keep)
    for n in range(tiles):
        if not narrow(t, domains, members, bounds, work, work[work[CHOSEN] + n], np.uint64(work[work[CHOSEN] + tiles + n])):
            return False
    return True


@compiled
def cover_exactly(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, outer: int, tiles: int, total: int, is_exact: bool
) -> bool:
    """Keeps the values that take part in some solution."""
    for n in range(tiles + 1):
        work[work[CHOSEN] + tiles + n] = 0  # masks kept
        work[work[CHOSEN] + 2 * tiles + 1 + n] = -1  # value indices
    level = 0
    while level >= 0:
        if level < tiles:
            p = work[work[CHOSEN] + level]
            size = t[t[VALUES_START] + p + 1] - t[t[VALUES_START] + p]
            k = work[work[CHOSEN] + 2 * tiles + 1 + level] + 1
            while k < size and (domains[p] >> np.uint64(k)) & np.uint64(1) == np.uint64(0):
                k += 1
            if k == size:
                work[work[CHOSEN] + 2 * tiles + 1 + level] = -1
                level -= 1
                continue
            work[work[CHOSEN] + 2 * tiles + 1 + level] = k
            level += 1
            continue
        product = 1
        for n in range(tiles):
            product = saturating_product(
                product, t[t[VALUES] + t[t[VALUES_START] + work[work[CHOSEN] + n]] + work[work[CHOSEN] + 2 * tiles + 1 + n]]
            )
        wanted = max(1, (total + product - 1) // product)
        if product > 0 and (not is_exact or product * wanted == total):
            bit = np.uint64(1)
            for n in range(t[t[VALUES_START] + outer], t[t[VALUES_START] + outer + 1]):
                if t[t[VALUES] + n] == wanted and domains[outer] & bit != np.uint64(0):
                    work[work[CHOSEN] + 2 * tiles] = np.int64(np.uint64(work[work[CHOSEN] + 2 * tiles]) | bit)
                    for m in range(tiles):
                        mine = np.uint64(1) << np.uint64(work[work[CHOSEN] + 2 * tiles + 1 + m])
                        work[work[CHOSEN] + tiles + m] = np.int64(np.uint64(work[work[CHOSEN] + tiles + m]) | mine)
                bit <<= np.uint64(1)
        level -= 1
    for n in range(tiles):
        if not narrow(t, domains, members, bounds, work, work[work[CHOSEN] + n], np.uint64(work[work[CHOSEN] + tiles + n])):
            return False
    return narrow(t, domains, members, bounds, work, outer, np.uint64(work[work[CHOSEN] + 2 * tiles]))
