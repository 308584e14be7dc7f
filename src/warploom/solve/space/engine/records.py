"""Tuples that a changed position concerns, listed once for an instance, so that propagation enumerates none of them.

For each wake, a row per position of its class: of a relation, records of `TUPLE` numbers, up to three members that must be
active (-1: none) and the positions of the slots that did not change; of a clause, the same members and the objects, packed in
two numbers; of a form with instances, the instances to look at again. Then, for each instance of a counter or quotient set, its
tuples, as those of clauses.
"""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.solve.jit import compiled, entry
from warploom.solve.space.engine.clauses import run_clause
from warploom.solve.space.engine.domains import narrow
from warploom.solve.space.engine.packed import (
    ARGUMENT_MEMBERS,
    CLASS_FIRST,
    CLAUSE,
    CONDITION,
    COUNTER,
    GUARD_OFFSET,
    GUARD_STRIDES,
    GUARDS_START,
    INSTANCE_FIRST,
    INSTANCE_STRIDES,
    INSTANCES,
    KIND,
    MEMBER,
    MIRROR,
    NEVER,
    OVER_OWNER,
    OVER_SET,
    OVER_SORT,
    PARAMETERS,
    QUANTIFIED,
    RELATION_SIZES,
    REVERSE,
    REVERSE_START,
    SET_OFFSET,
    SET_SIZE,
    SLOT_AXES,
    SLOT_INDIRECT,
    SLOT_REVERSE,
    SLOT_SIZES,
    SLOTS_START,
    VARIABLES,
    WAKE_CLASS,
    WAKE_FORM,
    WAKE_POSITIONS,
    WAKE_SLOT,
    WAKE_TURNED,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.relations import relate, support, support_of_pair
from warploom.solve.space.engine.tuples import bind_instance, is_held, next_tuple, position
from warploom.solve.space.engine.work import FORM, FREE_OBJECTS, OBJECTS, push_instance

Records = NDArray[np.int32]
WAKE = 3
"""Numbers of a wake of a position: its own, where its records begin and end."""
TUPLE = 5
ACTIVATED = 7
"""Numbers of a tuple listed by condition: its form, the members, the positions of its slots."""
OBJECT_BITS = 15
"""Bits of an object of a clause's tuple, counted from 1."""
UNLISTED = -2
"""Stands in place of a member: the tuples of this row have to be enumerated."""


@compiled
def bind_cell(t: Ints, work: Ints, slot: int, cell: int) -> None:
    """The objects that number a cell of a slot; no others."""
    for k in range(4):
        work[OBJECTS + k] = -1
    if t[t[SLOT_AXES] + 2 * slot + 1] >= 0:
        work[OBJECTS + t[t[SLOT_AXES] + 2 * slot + 1]] = cell % t[t[SLOT_SIZES] + 2 * slot + 1]
        cell //= t[t[SLOT_SIZES] + 2 * slot + 1]
    if t[t[SLOT_AXES] + 2 * slot] >= 0:
        work[OBJECTS + t[t[SLOT_AXES] + 2 * slot]] = cell


@compiled
def bind_free(t: Ints, work: Ints, f: int) -> int:
    """Binds the parameters of forms with instances; returns the number of objects that a wake leaves to be enumerated."""
    limit = t[t[QUANTIFIED] + f]
    if t[t[KIND] + f] >= COUNTER:
        limit = t[t[PARAMETERS] + f]
        for k in range(limit, t[t[QUANTIFIED] + f]):
            work[OBJECTS + k] = -1
    count = 0
    for k in range(limit):
        if work[OBJECTS + k] < 0:
            work[FREE_OBJECTS + count] = k
            count += 1
    return count


@compiled
def instance_of(t: Ints, work: Ints, f: int) -> int:
    i = t[t[INSTANCE_FIRST] + f]
    for k in range(t[t[PARAMETERS] + f]):
        i += t[t[INSTANCE_STRIDES] + 4 * f + k] * work[OBJECTS + k]
    return i


@compiled
def add_condition(t: Ints, members: Bytes, m: int, first: int, second: int, third: int) -> tuple[int, int, int, int]:
    """The conditions with one more member, and 0 where it never joins, 2 where there is no room, else 1."""
    if members[m] == MEMBER:
        return 1, first, second, third
    if members[m] == NEVER:
        return 0, first, second, third
    m = t[t[CONDITION] + m]
    if m in (first, second, third):
        return 1, first, second, third
    if first < 0:
        return 1, m, second, third
    if second < 0:
        return 1, first, m, third
    if third < 0:
        return 1, first, second, m
    return 2, first, second, third


@compiled
def conditions_of(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> tuple[int, int, int, int]:
    """Members that the bound tuple waits for, before any decision: as `tuple_state` (0: it never takes part)."""
    n = t[t[QUANTIFIED] + f]
    first = second = third = -1
    state = 1
    for k in range(n):
        one = t[t[OVER_SET] + 4 * f + k]
        m = t[t[SET_OFFSET] + one] + work[OBJECTS + k]
        if t[t[OVER_OWNER] + 4 * f + k] >= 0:
            m += t[t[SET_SIZE] + one] * work[OBJECTS + t[t[OVER_OWNER] + 4 * f + k]]
        one_state, first, second, third = add_condition(t, members, m, first, second, third)
        if one_state == 0:
            return 0, first, second, third
        state = max(state, one_state)
        for j in range(k):
            if work[OBJECTS + j] == work[OBJECTS + k] and t[t[OVER_SORT] + 4 * f + j] == t[t[OVER_SORT] + 4 * f + k]:
                return 0, first, second, third
    for g in range(t[t[GUARDS_START] + f], t[t[GUARDS_START] + f + 1]):
        if not is_held(t, work, t[t[GUARD_OFFSET] + g], t[GUARD_STRIDES] + 4 * g):
            return 0, first, second, third
    for slot in range(t[t[SLOTS_START] + f], t[t[SLOTS_START] + f + 1]):
        if t[t[SLOT_INDIRECT] + slot] != 0:
            p = position(t, domains, members, bounds, work, slot)
            if p < 0:
                return 0, first, second, third
            if p < t[VARIABLES]:
                for k in range(2):
                    m = t[t[ARGUMENT_MEMBERS] + 2 * p + k]
                    if m >= 0:
                        one_state, first, second, third = add_condition(t, members, m, first, second, third)
                        if one_state == 0:
                            return 0, first, second, third
                        state = max(state, one_state)
    return state, first, second, third


@compiled
def others_of(begin: int, slot: int) -> tuple[int, int]:
    """The two other ones of three slots."""
    if slot == begin:
        return begin + 1, begin + 2
    return begin, begin + 1 if slot == begin + 2 else begin + 2


@compiled
def bind_pair(work: Ints, k: int, pair: int) -> None:
    """Two neighbouring objects of a clause's tuple, as it is listed."""
    work[OBJECTS + k] = (pair & ((1 << OBJECT_BITS) - 1)) - 1
    work[OBJECTS + k + 1] = (pair >> OBJECT_BITS) - 1


@compiled
def pair_of(work: Ints, k: int) -> int:
    return work[OBJECTS + k] + 1 + ((work[OBJECTS + k + 1] + 1) << OBJECT_BITS)


@compiled
def run_clauses(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, start: int, end: int, f: int
) -> bool:
    """A clause on the listed tuples that take part."""
    work[FORM] = f
    for n in range(start, end, TUPLE):
        if records[n] >= 0 and not is_active(members, records, n):
            continue
        bind_listed(work, records, n)
        if not run_clause(t, domains, members, bounds, work, f):
            return False
    return True


@compiled
def run_records(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, start: int, end: int, w: int, v: int
) -> bool:
    """Narrows the other slots of a relation, or runs a clause, after variable v, which it reads, has changed."""
    f = t[t[WAKE_FORM] + w]
    if t[t[KIND] + f] == CLAUSE:
        return run_clauses(t, domains, members, bounds, work, records, start, end, f)
    begin = t[t[SLOTS_START] + f]
    slot = t[t[WAKE_SLOT] + w]
    k = slot - begin
    if t[t[SLOTS_START] + f + 1] - begin == 2:
        left = support_of_pair(t, f, 1 - k, domains[v])
        for n in range(start, end, TUPLE):
            b = records[n + 3]
            if domains[b] & ~left == np.uint64(0):
                continue
            if records[n] >= 0 and not is_active(members, records, n):
                continue
            if not narrow(t, domains, members, bounds, work, b, left):
                return False
        return True
    size_1 = t[t[RELATION_SIZES] + 3 * f + 1]
    size_2 = t[t[RELATION_SIZES] + 3 * f + 2]
    for n in range(start, end, TUPLE):
        if records[n] >= 0 and not is_active(members, records, n):
            continue
        b = records[n + 3]
        c = records[n + 4]
        if k == 0:
            left = support(t, f, 1, size_2, domains[v], domains[c])
        elif k == 1:
            left = support(t, f, 0, size_2, domains[v], domains[c])
        else:
            left = support(t, f, 0, size_2, domains[c], domains[v])
        if domains[b] & ~left != np.uint64(0) and not narrow(t, domains, members, bounds, work, b, left):
            return False
        if k == 0:
            left = support(t, f, 2, size_1, domains[v], domains[b])
        elif k == 1:
            left = support(t, f, 2, size_1, domains[b], domains[v])
        else:
            left = support(t, f, 1, size_2, domains[b], domains[v])
        if domains[c] & ~left != np.uint64(0) and not narrow(t, domains, members, bounds, work, c, left):
            return False
    return True


@compiled
def is_active(members: Bytes, records: Records, n: int) -> bool:
    for k in range(3):
        m = records[n + k]
        if m < 0:
            return True
        if members[m] != MEMBER:
            return False
    return True


@compiled
def push_instances(work: Ints, records: Records, start: int, end: int) -> None:
    for n in range(start, end):
        push_instance(work, records[n])


@compiled
def run_activated(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, records: Records, start: int, end: int
) -> bool:
    """The relations of tuples that may take part from now on."""
    for n in range(start, end, ACTIVATED):
        if records[n + 1] >= 0 and not is_active(members, records, n + 1):
            continue
        if not relate(t, domains, members, bounds, work, records[n], records[n + 4], records[n + 5], records[n + 6]):
            return False
    return True


@entry
def list_tuples(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, w: int, records: Records) -> int:
    """Writes where the row of each position of the wake's class begins, from the first row on, and where the last one ends;
    then the rows."""
    f = t[t[WAKE_FORM] + w]
    slot = t[t[WAKE_SLOT] + w]
    begin = t[t[SLOTS_START] + f]
    slots = t[t[SLOTS_START] + f + 1] - begin
    is_relation = t[t[KIND] + f] < COUNTER
    is_clause = t[t[KIND] + f] == CLAUSE
    first = t[t[CLASS_FIRST] + t[t[WAKE_CLASS] + w]]
    count = t[t[WAKE_POSITIONS] + w]
    write = records.shape[0] > 0
    head = count + 1 if write else 0
    end = head
    for n in range(count):
        p = first + n
        if write:
            records[n] = end - head
        v = p
        if t[t[WAKE_TURNED] + w] != 0:
            v = t[t[MIRROR] + p]
        row_begin = end
        row = t[t[SLOT_REVERSE] + slot] + v - first
        is_listed = True
        for m in range(t[t[REVERSE_START] + row], t[t[REVERSE_START] + row + 1]):
            bind_cell(t, work, slot, t[t[REVERSE] + m])
            free = bind_free(t, work, f)
            is_first = True
            while next_tuple(t, domains, members, bounds, work, f, free, is_first):
                is_first = False
                if not is_relation:
                    if write:
                        records[end] = instance_of(t, work, f)
                    end += 1
                    continue
                state, one, two, three = conditions_of(t, domains, members, bounds, work, f)
                if state == 0:
                    continue
                if state == 2:
                    is_listed = False
                    continue
                if write:
                    records[end] = one
                    records[end + 1] = two
                    records[end + 2] = three
                    if is_clause:
                        records[end + 3] = pair_of(work, 0)
                        records[end + 4] = pair_of(work, 2)
                    elif slots == 2:
                        b = begin + 1 if slot == begin else begin
                        records[end + 3] = position(t, domains, members, bounds, work, b)
                        records[end + 4] = -1
                    else:
                        b, c = others_of(begin, slot)
                        records[end + 3] = position(t, domains, members, bounds, work, b)
                        records[end + 4] = position(t, domains, members, bounds, work, c)
                end += TUPLE
        if not is_listed:
            if end - row_begin < TUPLE:
                end = row_begin + TUPLE
            if write:
                records[row_begin] = UNLISTED
    if write:
        records[count] = end - head
    return end - head


@entry
def list_activated(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, records: Records) -> int:
    """Writes the tuples of a relation that wait for members; -1: some wait for too many."""
    begin = t[t[SLOTS_START] + f]
    slots = t[t[SLOTS_START] + f + 1] - begin
    for k in range(4):
        work[OBJECTS + k] = -1
    free = bind_free(t, work, f)
    end = 0
    is_first = True
    while next_tuple(t, domains, members, bounds, work, f, free, is_first):
        is_first = False
        state, one, two, three = conditions_of(t, domains, members, bounds, work, f)
        if state == 2:
            return -1
        if state == 0 or one < 0:
            continue
        if records.shape[0] > 0:
            records[end] = f
            records[end + 1] = one
            records[end + 2] = two
            records[end + 3] = three
            records[end + 4] = position(t, domains, members, bounds, work, begin)
            records[end + 5] = position(t, domains, members, bounds, work, begin + 1) if slots > 1 else -1
            records[end + 6] = position(t, domains, members, bounds, work, begin + 2) if slots > 2 else -1
        end += ACTIVATED
    return end


@compiled
def first_tuple(t: Ints, members: Bytes, records: Records, i: int) -> int:
    """Where the tuples of an instance begin; `end_of_tuples` says where they end."""
    return records[t[VARIABLES] + t[INSTANCES] + members.shape[0] + i]


@compiled
def end_of_tuples(t: Ints, members: Bytes, records: Records, i: int) -> int:
    return records[t[VARIABLES] + t[INSTANCES] + members.shape[0] + i + 1]


@compiled
def listed_state(members: Bytes, records: Records, n: int) -> int:
    """Whether a listed tuple takes part: MEMBER, POSSIBLE or NEVER."""
    state = MEMBER
    for k in range(3):
        m = records[n + k]
        if m < 0:
            return state
        state = min(state, np.int64(members[m]))
    return state


@compiled
def bind_listed(work: Ints, records: Records, n: int) -> None:
    bind_pair(work, 0, records[n + 3])
    bind_pair(work, 2, records[n + 4])


@entry
def list_instance(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, i: int, first: int, records: Records
) -> int:
    """Writes the tuples of an instance of a counter or quotient set from a place on, like clauses. Returns how many numbers
    that makes; -1: one waits for too many members."""
    count = bind_instance(t, domains, members, bounds, work, f, i)
    is_counter = t[t[KIND] + f] == COUNTER
    other = t[t[QUANTIFIED] + f] - 1
    end = first
    is_first = True
    while next_tuple(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        one = two = three = -1
        if is_counter:
            state, one, two, three = conditions_of(t, domains, members, bounds, work, f)
            if state == 0:
                continue
            if state == 2:
                return -1
        elif work[OBJECTS + other] >= work[OBJECTS + t[t[PARAMETERS] + f] - 1]:
            continue  # the lowest object represents its class
        if records.shape[0] > 0:
            records[end] = one
            records[end + 1] = two
            records[end + 2] = three
            records[end + 3] = pair_of(work, 0)
            records[end + 4] = pair_of(work, 2)
        end += TUPLE
    return end - first
