"""Sums and products over the tuples that fulfil a condition, as intervals."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

from warploom.solve.jit import compiled
from warploom.solve.space.engine.domains import greatest_value, least_value, narrow, narrow_bounds, values_between
from warploom.solve.space.engine.literals import all_of, enforce, enforce_all
from warploom.solve.space.engine.packed import (
    CONSTANTS,
    FALSE,
    IS_PRODUCT,
    MEMBER,
    NEVER,
    POSSIBLE,
    SATURATED,
    START_OFFSET,
    START_STRIDES,
    TRUE,
    UNKNOWN,
    VALUE_KIND,
    VALUE_OFFSET,
    VALUE_SLOT,
    VALUE_STRIDES,
    VARIABLES,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.records import (
    TUPLE,
    UNLISTED,
    Records,
    bind_listed,
    end_of_tuples,
    first_tuple,
    listed_state,
)
from warploom.solve.space.engine.tuples import bind_instance, entry_of, next_tuple, position, tuple_state
from warploom.solve.space.engine.work import FAILED, LOG_END, record


@compiled
def saturating_product(a: int, b: int) -> int:
    """Saturating product of non-negative numbers."""
    if a == 0 or b == 0:
        return 0
    if a >= SATURATED // b:
        return SATURATED
    return a * b


@compiled
def value_bounds(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> tuple[int, int]:
    """Bounds of a counter's value for the bound tuple."""
    kind = t[t[VALUE_KIND] + f]
    if kind == 0:
        n = t[t[CONSTANTS] + entry_of(t, work, t[t[VALUE_OFFSET] + f], t[VALUE_STRIDES] + 4 * f)]
        return n, n
    p = position(t, domains, members, bounds, work, t[t[VALUE_SLOT] + f])
    if kind == 1:
        return least_value(t, domains, members, bounds, work, p), greatest_value(t, domains, members, bounds, work, p)
    i = p - t[VARIABLES]
    return bounds[0, i], bounds[1, i]


@compiled
def term_of(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, state: int) -> tuple[int, int]:
    """Status of the bound tuple's term in a counter, its only unknown literal, -1 if several or membership are unknown. `state`:
    whether the tuple takes part."""
    if state == NEVER:
        return FALSE, -1
    status, unknown = all_of(t, domains, members, bounds, work, f, 0)
    if status == TRUE and state == POSSIBLE:
        return UNKNOWN, -1
    if state == POSSIBLE:
        unknown = -1
    return status, unknown


@compiled
def next_of_instance(
    t: Ints,
    domains: Masks,
    members: Bytes,
    bounds: Ints,
    work: Ints,
    records: Records,
    f: int,
    i: int,
    count: int,
    at: int,
) -> tuple[int, int]:
    """Binds the next tuple of an instance: the place of the one after it and its state; -1: there is none. `at`: the place, 0 for
    the first one. Tuples that are not listed are enumerated."""
    start = first_tuple(t, members, records, i)
    end = end_of_tuples(t, members, records, i)
    if work[LOG_END] > 0 or (start < end and records[start] == UNLISTED):
        if not next_tuple(t, domains, members, bounds, work, f, count, at == 0):
            return -1, NEVER
        return 1, tuple_state(t, domains, members, bounds, work, f)
    if at == 0:
        at = start
    while at < end:
        state = listed_state(members, records, at)
        if state != NEVER:
            bind_listed(work, records, at)
            return at + TUPLE, state
        at += TUPLE
    return -1, NEVER


@compiled
def run_counter(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, f: int, i: int) -> bool:
    count = bind_instance(t, domains, members, bounds, work, f, i)
    is_product = t[t[IS_PRODUCT] + f] != 0
    neutral = 1 if is_product else 0
    low = t[t[CONSTANTS] + entry_of(t, work, t[t[START_OFFSET] + f], t[START_STRIDES] + 4 * f)]
    high = low
    at = 0
    while True:
        at, state = next_of_instance(t, domains, members, bounds, work, records, f, i, count, at)
        if at < 0:
            break
        status, _ = term_of(t, domains, members, bounds, work, f, state)
        if status == FALSE:
            continue
        least, greatest = value_bounds(t, domains, members, bounds, work, f)
        if status == UNKNOWN:
            least = neutral
        if is_product:
            low = saturating_product(low, least)
            high = saturating_product(high, greatest)
        else:
            low = min(SATURATED, low + least)
            high = min(SATURATED, high + greatest)
    if not narrow_bounds(t, domains, members, bounds, work, i, low, high, True):
        return False
    top = bounds[1, i]
    bottom = bounds[0, i]
    if top >= high and bottom <= low:
        return True
    at = 0
    while True:
        at, state = next_of_instance(t, domains, members, bounds, work, records, f, i, count, at)
        if at < 0:
            return True
        status, unknown = term_of(t, domains, members, bounds, work, f, state)
        if status == FALSE:
            continue
        least, greatest = value_bounds(t, domains, members, bounds, work, f)
        # what the others give at least and at most; `low` and `high` stay those of the first pass, which only weakens this
        surely = least if status == TRUE else neutral
        if is_product:
            if low >= SATURATED:
                others_low = 0
            else:
                others_low = low // surely
            others_high = SATURATED if high >= SATURATED else high // greatest
            cap = top // others_low if others_low > 0 else SATURATED
            need = (bottom + others_high - 1) // others_high if bottom > 0 else 0
        else:
            others_low = low - surely if low < SATURATED else 0
            others_high = SATURATED if high >= SATURATED else high - greatest
            cap = top - others_low
            need = bottom - others_high
        if status == UNKNOWN and unknown >= 0 and (least > cap or greatest < need):
            if not enforce(t, domains, members, bounds, work, unknown, False):
                return False
            continue
        if status == UNKNOWN and need > neutral:
            if state != MEMBER:
                continue
            if not enforce_all(t, domains, members, bounds, work, f, 0):
                return False
            status = TRUE
        if status == TRUE:
            if t[t[VALUE_KIND] + f] == 1:
                p = position(t, domains, members, bounds, work, t[t[VALUE_SLOT] + f])
                if not narrow(
                    t, domains, members, bounds, work, p, values_between(t, domains, members, bounds, work, p, need, cap)
                ):
                    return False
            elif t[t[VALUE_KIND] + f] == 2:
                p = position(t, domains, members, bounds, work, t[t[VALUE_SLOT] + f])
                if not narrow_bounds(t, domains, members, bounds, work, p - t[VARIABLES], need, cap, False):
                    return False
            elif least > cap or least < need:
                record(work, -1, 0, 0)
                work[FAILED] = 1
                return False
