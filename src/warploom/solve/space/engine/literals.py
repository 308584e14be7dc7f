"""Literals for the bound tuple: their status, and making them hold or not."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.domains import (
    common_values,
    greatest_value,
    is_single,
    least_value,
    narrow,
    narrow_bounds,
    values_between,
)
from warploom.solve.space.engine.packed import (
    COMPARE,
    EQ,
    FALSE,
    IN_MASK,
    LE,
    LITERAL_COMPARATOR,
    LITERAL_KIND,
    LITERAL_OFFSET,
    LITERAL_OTHER,
    LITERAL_PART,
    LITERAL_SLOT,
    LITERAL_STRIDES,
    LITERALS_START,
    LT,
    MASKS,
    NE,
    RANGES,
    SATURATED,
    TRUE,
    UNKNOWN,
    VARIABLES,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.tuples import entry_of, position
from warploom.solve.space.engine.work import FAILED


@compiled
def compare(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int, w: int, comparator: int) -> int:
    if comparator == EQ:
        if common_values(t, domains, members, bounds, work, v, w) == np.uint64(0):
            return FALSE
        if v == w or (is_single(domains[v]) and is_single(domains[w])):
            return TRUE
    elif comparator == NE:
        if v == w:
            return FALSE
        if common_values(t, domains, members, bounds, work, v, w) == np.uint64(0):
            return TRUE
        if is_single(domains[v]) and is_single(domains[w]):
            return FALSE
    elif comparator == LE:
        if v == w or greatest_value(t, domains, members, bounds, work, v) <= least_value(t, domains, members, bounds, work, w):
            return TRUE
        if least_value(t, domains, members, bounds, work, v) > greatest_value(t, domains, members, bounds, work, w):
            return FALSE
    else:
        if v == w or least_value(t, domains, members, bounds, work, v) >= greatest_value(t, domains, members, bounds, work, w):
            return FALSE
        if greatest_value(t, domains, members, bounds, work, v) < least_value(t, domains, members, bounds, work, w):
            return TRUE
    return UNKNOWN


@compiled
def status_of(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, literal: int) -> int:
    """FALSE, UNKNOWN or TRUE for the bound tuple."""
    p = position(t, domains, members, bounds, work, t[t[LITERAL_SLOT] + literal])
    kind = t[t[LITERAL_KIND] + literal]
    if kind == COMPARE:
        q = position(t, domains, members, bounds, work, t[t[LITERAL_OTHER] + literal])
        return compare(t, domains, members, bounds, work, p, q, t[t[LITERAL_COMPARATOR] + literal])
    entry = entry_of(t, work, t[t[LITERAL_OFFSET] + literal], t[LITERAL_STRIDES] + 4 * literal)
    if kind == IN_MASK:
        domain = domains[p]
        allowed = np.uint64(t[t[MASKS] + entry])
        if domain & allowed == np.uint64(0):
            return FALSE
        if domain & ~allowed == np.uint64(0):
            return TRUE
        return UNKNOWN
    i = p - t[VARIABLES]
    if bounds[0, i] > t[t[RANGES] + 2 * entry + 1] or bounds[1, i] < t[t[RANGES] + 2 * entry]:
        return FALSE
    if bounds[0, i] >= t[t[RANGES] + 2 * entry] and bounds[1, i] <= t[t[RANGES] + 2 * entry + 1]:
        return TRUE
    return UNKNOWN


@compiled
def enforce_comparison(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int, w: int, comparator: int
) -> bool:
    if comparator == EQ:
        return narrow(t, domains, members, bounds, work, v, common_values(t, domains, members, bounds, work, v, w)) and narrow(
            t, domains, members, bounds, work, w, common_values(t, domains, members, bounds, work, w, v)
        )
    if comparator == NE:
        if v == w:
            work[FAILED] = 1
            return False
        if is_single(domains[v]) and not narrow(
            t, domains, members, bounds, work, w, ~common_values(t, domains, members, bounds, work, w, v)
        ):
            return False
        return not is_single(domains[w]) or narrow(
            t, domains, members, bounds, work, v, ~common_values(t, domains, members, bounds, work, v, w)
        )
    gap = 1 if comparator == LT else 0
    if v == w:
        if gap == 1:
            work[FAILED] = 1
            return False
        return True
    if not narrow(
        t,
        domains,
        members,
        bounds,
        work,
        v,
        values_between(
            t, domains, members, bounds, work, v, -SATURATED, greatest_value(t, domains, members, bounds, work, w) - gap
        ),
    ):
        return False
    return narrow(
        t,
        domains,
        members,
        bounds,
        work,
        w,
        values_between(t, domains, members, bounds, work, w, least_value(t, domains, members, bounds, work, v) + gap, SATURATED),
    )


@compiled
def enforce(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, literal: int, holds: bool) -> bool:
    """Makes the literal hold, or not hold, for the bound tuple."""
    p = position(t, domains, members, bounds, work, t[t[LITERAL_SLOT] + literal])
    kind = t[t[LITERAL_KIND] + literal]
    if kind == COMPARE:
        q = position(t, domains, members, bounds, work, t[t[LITERAL_OTHER] + literal])
        comparator = t[t[LITERAL_COMPARATOR] + literal]
        if holds:
            return enforce_comparison(t, domains, members, bounds, work, p, q, comparator)
        if comparator in (EQ, NE):
            return enforce_comparison(t, domains, members, bounds, work, p, q, NE if comparator == EQ else EQ)
        return enforce_comparison(t, domains, members, bounds, work, q, p, LT if comparator == LE else LE)
    entry = entry_of(t, work, t[t[LITERAL_OFFSET] + literal], t[LITERAL_STRIDES] + 4 * literal)
    if kind == IN_MASK:
        return narrow(
            t, domains, members, bounds, work, p, np.uint64(t[t[MASKS] + entry]) if holds else ~np.uint64(t[t[MASKS] + entry])
        )
    i = p - t[VARIABLES]
    low = t[t[RANGES] + 2 * entry]
    high = t[t[RANGES] + 2 * entry + 1]
    if holds:
        return narrow_bounds(t, domains, members, bounds, work, i, low, high, False)
    if bounds[0, i] >= low:  # what is left lies above
        return narrow_bounds(t, domains, members, bounds, work, i, high + 1, SATURATED, False)
    if bounds[1, i] <= high:
        return narrow_bounds(t, domains, members, bounds, work, i, -SATURATED, low - 1, False)
    return True


@compiled
def all_of(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, part: int) -> tuple[int, int]:
    """Status of the conjunction of a form's literals about `part`, and the only one that is unknown, -1 if several are."""
    status = TRUE
    unknown = -1
    for literal in range(t[t[LITERALS_START] + f], t[t[LITERALS_START] + f + 1]):
        if t[t[LITERAL_PART] + literal] == part:
            one = status_of(t, domains, members, bounds, work, literal)
            if one == FALSE:
                return FALSE, -1
            if one == UNKNOWN:
                unknown = literal if status == TRUE else -1
                status = UNKNOWN
    return status, unknown


@compiled
def enforce_all(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, part: int) -> bool:
    for literal in range(t[t[LITERALS_START] + f], t[t[LITERALS_START] + f + 1]):
        if t[t[LITERAL_PART] + literal] == part and not enforce(t, domains, members, bounds, work, literal, True):
            return False
    return True
