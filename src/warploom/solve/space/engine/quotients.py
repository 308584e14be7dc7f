"""Quotient sets: one representative, the lowest object, for each class."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.counters import next_of_instance
from warploom.solve.space.engine.domains import narrow
from warploom.solve.space.engine.literals import all_of, enforce, enforce_all
from warploom.solve.space.engine.packed import FALSE, MEMBER, NEVER, PARAMETERS, QUANTIFIED, SLOTS_START, TRUE, Bytes, Ints, Masks
from warploom.solve.space.engine.records import Records
from warploom.solve.space.engine.tuples import bind_instance, membership, position
from warploom.solve.space.engine.work import OBJECTS


@compiled
def run_quotient(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, f: int, i: int) -> bool:
    count = bind_instance(t, domains, members, bounds, work, f, i)
    if membership(t, domains, members, bounds, work, f, t[t[PARAMETERS] + f] - 1) != MEMBER:
        return True
    for k in range(t[t[PARAMETERS] + f] - 1):
        if membership(t, domains, members, bounds, work, f, k) != MEMBER:
            return True
    mine = work[OBJECTS + t[t[PARAMETERS] + f] - 1]
    flag = position(t, domains, members, bounds, work, t[t[SLOTS_START] + f])
    when, unknown = all_of(t, domains, members, bounds, work, f, 0)
    if when == FALSE:
        return narrow(t, domains, members, bounds, work, flag, np.uint64(1))
    is_representative = domains[flag] == np.uint64(2)
    if is_representative and not enforce_all(t, domains, members, bounds, work, f, 0):
        return False
    possible = 0
    chosen = -1
    at = 0
    other_quantifier = t[t[QUANTIFIED] + f] - 1
    while True:
        at, _ = next_of_instance(t, domains, members, bounds, work, records, f, i, count, at)
        if at < 0:
            break
        if work[OBJECTS + other_quantifier] >= mine:
            continue
        state = membership(t, domains, members, bounds, work, f, other_quantifier)
        if state == NEVER:
            continue
        by, by_unknown = all_of(t, domains, members, bounds, work, f, 1)
        if by == FALSE:
            continue
        other, other_unknown = all_of(t, domains, members, bounds, work, f, 2)
        if other == FALSE:
            continue
        if by == TRUE and other == TRUE and state == MEMBER:
            return narrow(t, domains, members, bounds, work, flag, np.uint64(1))
        if is_representative and state == MEMBER:
            if by == TRUE and other_unknown >= 0:
                if not enforce(t, domains, members, bounds, work, other_unknown, False):
                    return False
                continue
            if other == TRUE and by_unknown >= 0:
                if not enforce(t, domains, members, bounds, work, by_unknown, False):
                    return False
                continue
        possible += 1
        chosen = work[OBJECTS + other_quantifier]
        if state != MEMBER:
            chosen = -1
            possible += 1
    if possible == 0:
        if when == TRUE:
            return narrow(t, domains, members, bounds, work, flag, np.uint64(2))
        if domains[flag] == np.uint64(1):
            for k in range(t[t[QUANTIFIED] + f]):
                work[OBJECTS + k] = -1
            bind_instance(t, domains, members, bounds, work, f, i)
            if unknown >= 0:
                return enforce(t, domains, members, bounds, work, unknown, False)
        return True
    if possible == 1 and chosen >= 0 and when == TRUE and domains[flag] == np.uint64(1):
        bind_instance(t, domains, members, bounds, work, f, i)
        work[OBJECTS + other_quantifier] = chosen
        return enforce_all(t, domains, members, bounds, work, f, 1) and enforce_all(t, domains, members, bounds, work, f, 2)
    return True
