"""Tuples of objects that a form binds: what their slots stand for, whether they take part, all of them in turn."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.packed import (
    ARGUMENT_MEMBERS,
    GUARD_OFFSET,
    GUARD_STRIDES,
    GUARD_TABLE,
    GUARDS_START,
    INSTANCE_FIRST,
    INSTANCE_STRIDES,
    ITEMS,
    ITEMS_START,
    KIND,
    MEMBER,
    NEVER,
    OVER_OWNER,
    OVER_SET,
    OVER_SORT,
    PARAMETERS,
    QUANTIFIED,
    SET_OFFSET,
    SET_ROW,
    SET_SIZE,
    SLOT_INDIRECT,
    SLOT_OFFSET,
    SLOT_STRIDES,
    SLOT_TABLE,
    SLOTS_START,
    TRIGGER,
    VARIABLES,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.work import FREE_OBJECTS, ITEM_AT, ITEM_END, OBJECTS


@compiled
def position(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, slot: int) -> int:
    p = t[t[SLOT_OFFSET] + slot]
    for k in range(4):
        if t[t[SLOT_STRIDES] + 4 * slot + k] != 0:
            p += t[t[SLOT_STRIDES] + 4 * slot + k] * work[OBJECTS + k]
    return t[t[SLOT_TABLE] + p]


@compiled
def entry_of(t: Ints, work: Ints, offset: int, strides: int) -> int:
    """The element of a table for the bound objects."""
    for k in range(4):
        if t[strides + k] != 0:
            offset += t[strides + k] * work[OBJECTS + k]
    return offset


@compiled
def is_held(t: Ints, work: Ints, offset: int, strides: int) -> bool:
    """Whether a guard holds for the bound objects: a byte of the table, of which a word has eight."""
    entry = entry_of(t, work, offset, strides)
    return (t[t[GUARD_TABLE] + (entry >> 3)] >> ((entry & 7) << 3)) & 1 != 0


@compiled
def takes_part(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, v: int) -> int:
    state = MEMBER
    for k in range(2):
        m = t[t[ARGUMENT_MEMBERS] + 2 * v + k]
        if m >= 0:
            state = min(state, np.int64(members[m]))
    return state


@compiled
def membership(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, k: int) -> int:
    """Membership of the bound object k of a form; MEMBER as long as its owner is not bound."""
    one = t[t[OVER_SET] + 4 * f + k]
    owner = t[t[OVER_OWNER] + 4 * f + k]
    m = t[t[SET_OFFSET] + one] + work[OBJECTS + k]
    if owner >= 0:
        if work[OBJECTS + owner] < 0:
            return MEMBER
        m += t[t[SET_SIZE] + one] * work[OBJECTS + owner]
    return np.int64(members[m])


@compiled
def tuple_state(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> int:
    """Whether the bound tuple takes part: MEMBER, POSSIBLE or NEVER."""
    n = t[t[QUANTIFIED] + f]
    state = MEMBER
    for k in range(n):
        state = min(state, membership(t, domains, members, bounds, work, f, k))
        for j in range(k):
            if work[OBJECTS + j] == work[OBJECTS + k] and t[t[OVER_SORT] + 4 * f + j] == t[t[OVER_SORT] + 4 * f + k]:
                return NEVER
    if state == NEVER:
        return NEVER
    for g in range(t[t[GUARDS_START] + f], t[t[GUARDS_START] + f + 1]):
        if not is_held(t, work, t[t[GUARD_OFFSET] + g], t[GUARD_STRIDES] + 4 * g):
            return NEVER
    for slot in range(t[t[SLOTS_START] + f], t[t[SLOTS_START] + f + 1]):
        if t[t[SLOT_INDIRECT] + slot] != 0:
            p = position(t, domains, members, bounds, work, slot)
            if p < 0:
                return NEVER
            if p < t[VARIABLES]:
                state = min(state, takes_part(t, domains, members, bounds, work, p))
    return state


@compiled
def open_level(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, level: int) -> None:
    k = work[FREE_OBJECTS + level]
    one = t[t[OVER_SET] + 4 * f + k]
    row = t[t[SET_ROW] + one]
    owner = t[t[OVER_OWNER] + 4 * f + k]
    if owner >= 0 and work[OBJECTS + owner] >= 0:
        row += 1 + work[OBJECTS + owner]
    work[ITEM_AT + level] = t[t[ITEMS_START] + row]
    work[ITEM_END + level] = t[t[ITEMS_START] + row + 1]


@compiled
def next_tuple(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, count: int, is_first: bool) -> bool:
    """Binds the next tuple of the first `count` free objects; False when there is none."""
    if count == 0:
        return is_first
    level = count - 1
    if is_first:
        level = 0
        open_level(t, domains, members, bounds, work, f, 0)
    while level >= 0:
        k = work[FREE_OBJECTS + level]
        is_found = False
        while work[ITEM_AT + level] < work[ITEM_END + level]:
            o = t[t[ITEMS] + work[ITEM_AT + level]]
            work[ITEM_AT + level] += 1
            is_new = True
            for j in range(t[t[QUANTIFIED] + f]):
                if j != k and work[OBJECTS + j] == o and t[t[OVER_SORT] + 4 * f + j] == t[t[OVER_SORT] + 4 * f + k]:
                    is_new = False
            if not is_new:
                continue
            work[OBJECTS + k] = o
            if t[t[KIND] + f] == TRIGGER or membership(t, domains, members, bounds, work, f, k) != NEVER:
                is_found = True
                break
            work[OBJECTS + k] = -1
        if is_found:
            if level == count - 1:
                return True
            level += 1
            open_level(t, domains, members, bounds, work, f, level)
        else:
            work[OBJECTS + k] = -1
            level -= 1
    return False


@compiled
def bind_instance(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, i: int) -> int:
    """Binds the parameters; returns the number of free objects."""
    rest = i - t[t[INSTANCE_FIRST] + f]
    for k in range(4):
        work[OBJECTS + k] = -1
    for k in range(t[t[PARAMETERS] + f]):
        work[OBJECTS + k] = rest // t[t[INSTANCE_STRIDES] + 4 * f + k]
        rest %= t[t[INSTANCE_STRIDES] + 4 * f + k]
    count = 0
    for k in range(t[t[PARAMETERS] + f], t[t[QUANTIFIED] + f]):
        work[FREE_OBJECTS + count] = k
        count += 1
    return count
