"""Propagation to a fixed point: one work list over flat tables, compiled once for all descriptions.

Positions number what forms read: variables first, then the instances of counters, covers and quotient sets. A changed position
wakes the forms of its class; the objects that it stands for are bound, the others enumerated over the members of their sets.

Source: Beaugnon et al., sections 2.1 and 3.3; composition tables as in path consistency.
"""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from warploom.schedule.jit import compiled, digest_of, entry
from warploom.schedule.space.engine.clauses import run_clause
from warploom.schedule.space.engine.counters import run_counter
from warploom.schedule.space.engine.covers import run_cover
from warploom.schedule.space.engine.domains import narrow
from warploom.schedule.space.engine.packed import (
    CLASS_FIRST,
    CLASS_OF,
    COUNTER,
    COVER,
    FORMS,
    INSTANCE_FIRST,
    INSTANCE_FORM,
    INSTANCE_STRIDES,
    KIND,
    MEMBER,
    MIRROR,
    OVER_OWNER,
    PARAMETERS,
    QUANTIFIED,
    RELATION,
    REVERSE,
    REVERSE_START,
    SET_OFFSET,
    SET_SIZE,
    SETS,
    SLOT_AXES,
    SLOT_REVERSE,
    SLOT_SIZES,
    TRIGGER,
    USE_FORM,
    USE_OBJECT,
    USES_START,
    VARIABLES,
    WAKE_FORM,
    WAKE_IDLE,
    WAKE_IS_TRIANGLE,
    WAKE_SLOT,
    WAKE_TWOFOLD,
    WAKES,
    WAKES_START,
    Bytes,
    Ints,
    Masks,
)
from warploom.schedule.space.engine.quotients import run_quotient
from warploom.schedule.space.engine.relations import run_relation, visit_triangle
from warploom.schedule.space.engine.triggers import run_trigger
from warploom.schedule.space.engine.tuples import next_tuple, tuple_state
from warploom.schedule.space.engine.work import (
    DIRTY,
    DIRTY_LIST,
    EVENT_LIST,
    EVENTS,
    FREE_OBJECTS,
    IS_DIRTY,
    IS_QUEUED,
    OBJECTS,
    QUEUE,
    QUEUE_HEAD,
    QUEUE_SIZE,
    QUEUED,
    clear,
    push,
    push_instance,
)

Narrow: TypeAlias = Callable[[Ints, Masks, Bytes, Ints, Ints, Ints, Masks], bool]
"""Tables, domains, members, bounds, work lists, variables to restrict, their masks."""
PropagateAll: TypeAlias = Callable[[Ints, Masks, Bytes, Ints, Ints], bool]


@compiled
def visit(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> bool:
    """Runs a form on, or marks its instances for, all tuples that agree with the bound objects."""
    kind = t[t[KIND] + f]
    limit = t[t[QUANTIFIED] + f]
    if kind >= COUNTER:
        limit = t[t[PARAMETERS] + f]
        for k in range(limit, t[t[QUANTIFIED] + f]):
            work[OBJECTS + k] = -1
    count = 0
    for k in range(limit):
        if work[OBJECTS + k] < 0:
            work[FREE_OBJECTS + count] = k
            count += 1
    is_first = True
    while next_tuple(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        if kind >= COUNTER:
            i = t[t[INSTANCE_FIRST] + f]
            for k in range(limit):
                i += t[t[INSTANCE_STRIDES] + 4 * f + k] * work[OBJECTS + k]
            push_instance(work, i)
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
def visit_users(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, m: int) -> bool:
    """All tuples with a changed member, for each form that quantifies over its set."""
    one = set_of(t, m)
    cell = m - t[t[SET_OFFSET] + one]
    for n in range(t[t[USES_START] + one], t[t[USES_START] + one + 1]):
        f = t[t[USE_FORM] + n]
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
def wake(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, p: int) -> bool:
    c = t[t[CLASS_OF] + p]
    is_variable = p < t[VARIABLES]
    for w in range(t[t[WAKES_START] + c], t[t[WAKES_START] + c + 1]):
        f = t[t[WAKE_FORM] + w]
        slot = t[t[WAKE_SLOT] + w]
        if t[t[WAKE_IS_TRIANGLE] + w] != 0:
            if not visit_triangle(t, domains, members, bounds, work, f, p):
                return False
            continue
        q = p
        for _ in range(1 + t[t[WAKE_TWOFOLD] + w]):
            if not is_variable or domains[q] & np.uint64(t[t[WAKE_IDLE] + w]) == np.uint64(0):
                row = t[t[SLOT_REVERSE] + slot] + q - t[t[CLASS_FIRST] + c]
                for n in range(t[t[REVERSE_START] + row], t[t[REVERSE_START] + row + 1]):
                    cell = t[t[REVERSE] + n]
                    for k in range(4):
                        work[OBJECTS + k] = -1
                    if t[t[SLOT_AXES] + 2 * slot + 1] >= 0:
                        work[OBJECTS + t[t[SLOT_AXES] + 2 * slot + 1]] = cell % t[t[SLOT_SIZES] + 2 * slot + 1]
                        cell //= t[t[SLOT_SIZES] + 2 * slot + 1]
                    if t[t[SLOT_AXES] + 2 * slot] >= 0:
                        work[OBJECTS + t[t[SLOT_AXES] + 2 * slot]] = cell
                    if not visit(t, domains, members, bounds, work, f):
                        return False
            if is_variable:
                q = t[t[MIRROR] + p]
    return True


@compiled
def propagate(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> bool:
    while True:
        if work[QUEUED] > 0:
            p = work[work[QUEUE] + work[QUEUE_HEAD]]
            work[QUEUE_HEAD] = (work[QUEUE_HEAD] + 1) % work[QUEUE_SIZE]
            work[QUEUED] -= 1
            work[work[IS_QUEUED] + p] = 0
            if not wake(t, domains, members, bounds, work, p):
                return False
        elif work[EVENTS] > 0:
            work[EVENTS] -= 1
            if not visit_users(t, domains, members, bounds, work, work[work[EVENT_LIST] + work[EVENTS]]):
                return False
        elif work[DIRTY] > 0:
            work[DIRTY] -= 1
            i = work[work[DIRTY_LIST] + work[DIRTY]]
            work[work[IS_DIRTY] + i] = 0
            f = t[t[INSTANCE_FORM] + i]
            kind = t[t[KIND] + f]
            if kind == COUNTER:
                if not run_counter(t, domains, members, bounds, work, f, i):
                    return False
            elif kind == COVER:
                if not run_cover(t, domains, members, bounds, work, f, i):
                    return False
            elif not run_quotient(t, domains, members, bounds, work, f, i):
                return False
        else:
            return True


def _entries(sources: int) -> tuple[Narrow, PropagateAll]:
    """What Python calls, bound to a digest of the sources."""

    @entry
    def narrow_and_propagate(
        t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, variables: Ints, masks: Masks
    ) -> bool:
        """Restricts variables and propagates, in place; False when refuted. The work lists are empty afterwards."""
        _ = sources
        is_possible = True
        for n in range(variables.shape[0]):
            if not narrow(t, domains, members, bounds, work, variables[n], masks[n]):
                is_possible = False
                break
        if is_possible:
            is_possible = propagate(t, domains, members, bounds, work)
        clear(work)
        return is_possible

    @entry
    def propagate_all(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> bool:
        """Runs every form on all of its tuples, then propagates, in place; False when refuted."""
        _ = sources
        for p in range(t[VARIABLES]):
            if t[t[MIRROR] + p] < 0 or p < t[t[MIRROR] + p]:
                push(work, p)
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
            is_possible = propagate(t, domains, members, bounds, work)
        clear(work)
        return is_possible

    return narrow_and_propagate, propagate_all


narrow_and_propagate, propagate_all = _entries(digest_of(__file__))
