"""Propagation to a fixed point: one work list over flat tables, compiled once for all descriptions.

Positions number what forms read: variables first, then the instances of counters, covers and quotient sets. A changed position
wakes the forms of its class; the objects that it stands for are bound, the others enumerated over the members of their sets.

Source: Beaugnon et al., sections 2.1 and 3.3; composition tables as in path consistency.
"""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled, entry
from warploom.solve.space.engine.clauses import run_clause
from warploom.solve.space.engine.counters import run_counter
from warploom.solve.space.engine.covers import run_cover
from warploom.solve.space.engine.domains import narrow
from warploom.solve.space.engine.packed import (
    CLASS_FIRST,
    CONDITION,
    COUNTER,
    COVER,
    FORMS,
    INSTANCE_FORM,
    INSTANCES,
    KIND,
    LISTED,
    MEMBER,
    MIRROR,
    OVER_OWNER,
    RELATION,
    REVERSE,
    REVERSE_START,
    SET_OFFSET,
    SET_SIZE,
    SETS,
    SIGNATURES,
    SLOT_INDIRECT,
    SLOT_REVERSE,
    TRIGGER,
    USE_FORM,
    USE_OBJECT,
    USES_START,
    VARIABLES,
    WAKE_CLASS,
    WAKE_FORM,
    WAKE_IDLE,
    WAKE_IS_TRIANGLE,
    WAKE_SIGNATURE,
    WAKE_SLOT,
    WAKE_TURNED,
    WAKES,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.quotients import run_quotient
from warploom.solve.space.engine.records import (
    WAKE,
    Records,
    bind_cell,
    bind_free,
    instance_of,
    push_instances,
    run_activated,
    run_records,
)
from warploom.solve.space.engine.relations import run_relation, visit_triangle
from warploom.solve.space.engine.triggers import run_trigger
from warploom.solve.space.engine.tuples import next_tuple, tuple_state
from warploom.solve.space.engine.work import (
    DIRTY,
    DIRTY_LIST,
    EVENT_LIST,
    EVENTS,
    FORM,
    IS_DIRTY,
    IS_QUEUED,
    LAST_SEEN,
    LOG_END,
    OBJECTS,
    QUEUE,
    QUEUE_HEAD,
    QUEUE_SIZE,
    QUEUED,
    clear,
    push,
    push_instance,
)


@compiled
def visit(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> bool:
    """Runs a form on, or marks its instances for, all tuples that agree with the bound objects."""
    work[FORM] = f
    kind = t[t[KIND] + f]
    count = bind_free(t, work, f)
    is_first = True
    while next_tuple(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        if kind >= COUNTER:
            push_instance(work, instance_of(t, work, f))
            continue
        state = tuple_state(t, domains, members, bounds, work, f)
        if kind == TRIGGER:
            if not run_trigger(t, domains, members, bounds, work, f, state):
                return False
        elif state == MEMBER:
            if kind == RELATION:
                if not run_relation(t, domains, members, bounds, work, f):
                    return False
            elif not run_clause(t, domains, members, bounds, work, f):
                return False
    return True


@compiled
def set_of(t: Ints, m: int) -> int:
    one = 0
    while one + 1 < t[SETS] and t[t[SET_OFFSET] + one + 1] <= m:
        one += 1
    return one


@compiled
def visit_users(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, m: int) -> bool:
    """All tuples with a changed member, for each form that quantifies over its set."""
    if t[t[CONDITION] + m] == m and members[m] == MEMBER and work[LOG_END] == 0:
        n = t[VARIABLES] + t[INSTANCES] + m
        if not run_activated(t, domains, members, bounds, work, records, records[n], records[n + 1]):
            return False
    one = set_of(t, m)
    cell = m - t[t[SET_OFFSET] + one]
    for n in range(t[t[USES_START] + one], t[t[USES_START] + one + 1]):
        f = t[t[USE_FORM] + n]
        if t[t[LISTED] + f] != 0 and work[LOG_END] == 0:
            continue
        k = t[t[USE_OBJECT] + n]
        for j in range(4):
            work[OBJECTS + j] = -1
        work[OBJECTS + k] = cell % t[t[SET_SIZE] + one]
        if t[t[OVER_OWNER] + 4 * f + k] >= 0:
            work[OBJECTS + t[t[OVER_OWNER] + 4 * f + k]] = cell // t[t[SET_SIZE] + one]
        if not visit(t, domains, members, bounds, work, f):
            return False
    return True


@compiled
def visit_position(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, w: int, v: int) -> bool:
    """All tuples of a wake's form that read the variable or instance at a position."""
    slot = t[t[WAKE_SLOT] + w]
    row = t[t[SLOT_REVERSE] + slot] + v - t[t[CLASS_FIRST] + t[t[WAKE_CLASS] + w]]
    for n in range(t[t[REVERSE_START] + row], t[t[REVERSE_START] + row + 1]):
        bind_cell(t, work, slot, t[t[REVERSE] + n])
        if not visit(t, domains, members, bounds, work, t[t[WAKE_FORM] + w]):
            return False
    return True


@compiled
def run_wake(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, w: int, p: int, start: int, end: int
) -> bool:
    """`start`, `end`: the records of the wake for this position; -1: they are not listed."""
    f = t[t[WAKE_FORM] + w]
    if t[t[WAKE_IS_TRIANGLE] + w] != 0:
        return visit_triangle(t, domains, members, bounds, work, f, p)
    v = t[t[MIRROR] + p] if t[t[WAKE_TURNED] + w] != 0 else p
    if start < 0 or work[LOG_END] > 0:  # what a record says of the tuple is bound by enumeration
        return visit_position(t, domains, members, bounds, work, w, v)
    if t[t[KIND] + f] >= COUNTER:
        push_instances(work, records, start, end)
        return True
    return run_records(t, domains, members, bounds, work, records, start, end, w, v)


@compiled
def wake(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, p: int, is_new: bool) -> bool:
    """`is_new`: its objects take part from now on."""
    is_variable = p < t[VARIABLES]
    before = work[work[LAST_SEEN] + p]
    for n in range(records[p], records[p + 1], WAKE):
        w = records[n]
        is_enumerated = t[t[LISTED] + t[t[WAKE_FORM] + w]] == 0 or work[LOG_END] > 0
        if is_new and is_enumerated and t[t[SLOT_INDIRECT] + t[t[WAKE_SLOT] + w]] != 0:
            v = t[t[MIRROR] + p] if t[t[WAKE_TURNED] + w] != 0 else p
            if not visit_position(t, domains, members, bounds, work, w, v):
                return False
            continue
        if is_variable and not (is_new and t[t[WAKE_IS_TRIANGLE] + w] != 0):
            seen = t[t[WAKE_SIGNATURE] + w]
            if seen >= 0:
                if t[t[SIGNATURES] + seen + before] == t[t[SIGNATURES] + seen + np.int64(domains[p])]:
                    continue
            elif domains[p] & np.uint64(t[t[WAKE_IDLE] + w]) != np.uint64(0):
                continue
        if not run_wake(t, domains, members, bounds, work, records, w, p, records[n + 1], records[n + 2]):
            return False
    return True


@compiled
def propagate(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records) -> bool:
    while True:
        if work[QUEUED] > 0:
            p = work[work[QUEUE] + work[QUEUE_HEAD]]
            work[QUEUE_HEAD] = (work[QUEUE_HEAD] + 1) % work[QUEUE_SIZE]
            work[QUEUED] -= 1
            is_new = work[work[IS_QUEUED] + p] == 2
            work[work[IS_QUEUED] + p] = 0
            if not wake(t, domains, members, bounds, work, records, p, is_new):
                return False
        elif work[EVENTS] > 0:
            work[EVENTS] -= 1
            if not visit_users(t, domains, members, bounds, work, records, work[work[EVENT_LIST] + work[EVENTS]]):
                return False
        elif work[DIRTY] > 0:
            work[DIRTY] -= 1
            i = work[work[DIRTY_LIST] + work[DIRTY]]
            work[work[IS_DIRTY] + i] = 0
            f = t[t[INSTANCE_FORM] + i]
            work[FORM] = f
            kind = t[t[KIND] + f]
            if kind == COUNTER:
                if not run_counter(t, domains, members, bounds, work, records, f, i):
                    return False
            elif kind == COVER:
                if not run_cover(t, domains, members, bounds, work, f, i):
                    return False
            elif not run_quotient(t, domains, members, bounds, work, records, f, i):
                return False
        else:
            return True


@entry
def narrow_and_propagate(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, variables: Ints, masks: Masks
) -> bool:
    """Restricts variables and propagates, in place; False when refuted. The work lists are empty afterwards."""
    is_possible = True
    work[FORM] = -1
    for n in range(variables.shape[0]):
        if not narrow(t, domains, members, bounds, work, variables[n], masks[n]):
            is_possible = False
            break
    if is_possible:
        is_possible = propagate(t, domains, members, bounds, work, records)
    clear(work)
    return is_possible


@entry
def propagate_all(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records) -> bool:
    """Runs every form on all of its tuples, then propagates, in place; False when refuted."""
    for p in range(t[VARIABLES]):
        if t[t[MIRROR] + p] < 0 or p < t[t[MIRROR] + p]:
            push(work, p, np.uint64(0))
    is_possible = True
    for f in range(t[FORMS]):
        is_triangle = False
        for w in range(t[WAKES]):
            if t[t[WAKE_FORM] + w] == f and t[t[WAKE_IS_TRIANGLE] + w] != 0:
                is_triangle = True
        if is_possible and not is_triangle:
            for k in range(4):
                work[OBJECTS + k] = -1
            is_possible = visit(t, domains, members, bounds, work, f)
    if is_possible:
        is_possible = propagate(t, domains, members, bounds, work, records)
    clear(work)
    return is_possible
