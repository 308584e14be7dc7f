"""Propagation to a fixed point: one work list over flat tables, compiled once for all descriptions.

Positions number what forms read: variables first, then the instances of counters, covers and quotient sets. A changed position
wakes the forms of its class; the objects that it stands for are bound, the others enumerated over the members of their sets.

Source: Beaugnon et al., sections 2.1 and 3.3; composition tables as in path consistency.
"""
# numba's decorator and everything behind it is untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedFunctionDecorator=false
# pyright: reportMissingTypeStubs=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnnecessaryComparison=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Masks = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

NEVER, POSSIBLE, MEMBER = 0, 1, 2
"""A reserved tuple that can no longer become a member of a set; one that may; a member."""
PENDING, FIRED, CLOSED = 0, 1, 2
"""Of lowerings."""
SATURATED = 1 << 60
FALSE, UNKNOWN, TRUE = 0, 1, 2

_RELATION, _CLAUSE, _TRIGGER, _COUNTER, _COVER, _QUOTIENT = 0, 1, 2, 3, 4, 5
_IN_MASK, _COMPARE, _IN_RANGE = 0, 1, 2
_EQ, _NE, _LE, _LT = 0, 1, 2, 3
_FAILED, _HEAD, _COUNT, _DIRTY, _EVENTS, _QUEUE_SIZE = 0, 1, 2, 3, 4, 5
_EXACT_COMBINATIONS = 1024


class Tables(NamedTuple):
    """What does not change during a search. CSR arrays come as `*_start` (one more than there are rows) and contents.

    Strides are by quantified object: element = offset + sum of stride * object.
    """

    # variables and positions
    mirror: Ints
    """By variable: the one for the arguments exchanged, -1."""
    class_of: Ints
    """By position: the choice; after the choices, the form."""
    class_first: Ints
    """By class: its first position."""
    class_size: Ints
    """By class: number of values of an enum choice, else 0."""
    flip_offset: Ints
    flips: Masks
    """By class, byte of the mask, value of the byte."""
    values_start: Ints
    values: Ints
    """By variable: the integers of its universe, ascending."""
    argument_members: Ints
    """[variable, 2]: members that say whether its objects take part, -1."""
    # sets
    set_offset: Ints
    set_size: Ints
    """Number of objects of its sort."""
    set_row: Ints
    """First row of `items_start`: of all its objects, then, if parametric, of those of each owner."""
    items_start: Ints
    items: Ints
    touched_start: Ints
    touched: Ints
    """By member: the variables of its object (the first of two directions)."""
    uses_start: Ints
    use_form: Ints
    use_object: Ints
    """By set: forms that quantify over it, triangles excepted."""
    # forms
    kind: Ints
    quantified: Ints
    parameters: Ints
    over_set: Ints
    over_owner: Ints
    over_sort: Ints
    slots_start: Ints
    slot_offset: Ints
    slot_strides: Ints
    slot_indirect: Ints
    """1: through a function, so that its objects may not take part."""
    slot_axes: Ints
    """[slot, 2]: quantified objects that number its cells, -1."""
    slot_sizes: Ints
    slot_reverse: Ints
    slot_table: Ints
    """Positions, -1 for none."""
    reverse_start: Ints
    reverse: Ints
    """By position of the slot's class: cells."""
    guards_start: Ints
    guard_offset: Ints
    guard_strides: Ints
    guard_table: Bytes
    """1: the guard holds."""
    literals_start: Ints
    literal_kind: Ints
    literal_slot: Ints
    literal_other: Ints
    literal_comparator: Ints
    literal_part: Ints
    literal_offset: Ints
    """Into `masks`, or `ranges` for counters."""
    literal_strides: Ints
    masks: Masks
    ranges: Ints
    """[entry, 2]: least and greatest."""
    relation_offset: Ints
    """[form, 3]: into `supports`, by slot that is narrowed."""
    relation_sizes: Ints
    relation_is_direct: Ints
    """1: supports are by masks of the other slots; 0: by their values."""
    supports: Masks
    wakes_start: Ints
    wake_form: Ints
    wake_slot: Ints
    wake_twofold: Ints
    wake_idle: Masks
    wake_is_triangle: Ints
    # instances of counters, covers, quotient sets; lowerings
    instance_first: Ints
    """By form: the first of its instances."""
    instance_strides: Ints
    instance_sizes: Ints
    instance_form: Ints
    is_product: Ints
    value_kind: Ints
    """0: constant, 1: integer choice, 2: counter."""
    value_slot: Ints
    value_offset: Ints
    value_strides: Ints
    start_offset: Ints
    start_strides: Ints
    exact_offset: Ints
    exact_strides: Ints
    constants: Ints
    lowering_offset: Ints
    lowering_strides: Ints
    lowering_table: Ints
    activated_start: Ints
    activated: Ints
    restricted_start: Ints
    restricted: Ints
    restricted_mask: Masks
    makers_start: Ints
    makers: Ints
    """By member: lowerings that may make it one."""
    lowering_first: Ints
    """One element: where the states of lowerings begin among the members."""

    def packed(self) -> Ints:
        """One array: where each table begins, numbers of things, then the tables."""
        header = len(self) + 4
        parts = [np.ascontiguousarray(part).reshape(-1).astype(np.int64) for part in self]
        begins = header + np.concatenate([[0], np.cumsum([part.size for part in parts])])
        counts = [self.mirror.size, self.kind.size, self.wake_form.size, self.set_offset.size]
        return np.concatenate([begins[:-1], counts, *parts]).astype(np.int64)


(
    MIRROR,
    CLASS_OF,
    CLASS_FIRST,
    CLASS_SIZE,
    FLIP_OFFSET,
    FLIPS,
    VALUES_START,
    VALUES,
    ARGUMENT_MEMBERS,
    SET_OFFSET,
    SET_SIZE,
    SET_ROW,
    ITEMS_START,
    ITEMS,
    TOUCHED_START,
    TOUCHED,
    USES_START,
    USE_FORM,
    USE_OBJECT,
    KIND,
    QUANTIFIED,
    PARAMETERS,
    OVER_SET,
    OVER_OWNER,
    OVER_SORT,
    SLOTS_START,
    SLOT_OFFSET,
    SLOT_STRIDES,
    SLOT_INDIRECT,
    SLOT_AXES,
    SLOT_SIZES,
    SLOT_REVERSE,
    SLOT_TABLE,
    REVERSE_START,
    REVERSE,
    GUARDS_START,
    GUARD_OFFSET,
    GUARD_STRIDES,
    GUARD_TABLE,
    LITERALS_START,
    LITERAL_KIND,
    LITERAL_SLOT,
    LITERAL_OTHER,
    LITERAL_COMPARATOR,
    LITERAL_PART,
    LITERAL_OFFSET,
    LITERAL_STRIDES,
    MASKS,
    RANGES,
    RELATION_OFFSET,
    RELATION_SIZES,
    RELATION_IS_DIRECT,
    SUPPORTS,
    WAKES_START,
    WAKE_FORM,
    WAKE_SLOT,
    WAKE_TWOFOLD,
    WAKE_IDLE,
    WAKE_IS_TRIANGLE,
    INSTANCE_FIRST,
    INSTANCE_STRIDES,
    INSTANCE_SIZES,
    INSTANCE_FORM,
    IS_PRODUCT,
    VALUE_KIND,
    VALUE_SLOT,
    VALUE_OFFSET,
    VALUE_STRIDES,
    START_OFFSET,
    START_STRIDES,
    EXACT_OFFSET,
    EXACT_STRIDES,
    CONSTANTS,
    LOWERING_OFFSET,
    LOWERING_STRIDES,
    LOWERING_TABLE,
    ACTIVATED_START,
    ACTIVATED,
    RESTRICTED_START,
    RESTRICTED,
    RESTRICTED_MASK,
    MAKERS_START,
    MAKERS,
    LOWERING_FIRST,
    VARIABLES,
    FORMS,
    WAKES,
    SETS,
) = range(len(Tables._fields) + 4)
"""Header of the packed tables, in the order of the fields of `Tables`."""
_QUEUE, _IS_QUEUED, _DIRTY_LIST, _IS_DIRTY, _EVENT_LIST, _CHOSEN = 8, 9, 10, 11, 12, 13
_OBJECTS, _FREE, _AT, _END, _LISTS = 16, 20, 24, 28, 32


def work_lists(positions: int, instances: int, members: int, chosen: int) -> Ints:
    """Empty work lists and scratch of one instance of a space, packed: flags and counts, objects bound, then the lists."""
    sizes = (positions + 1, positions, instances + 1, instances, members + 1, chosen)
    begins = _LISTS + np.concatenate([[0], np.cumsum(sizes)])
    work = np.zeros(int(begins[-1]), dtype=np.int64)
    work[_QUEUE : _QUEUE + len(sizes)] = begins[:-1]
    work[_QUEUE_SIZE] = positions + 1
    return work


# Without reference counts (nothing is allocated here): 7 times faster.
# One array each for tables, domains, members, bounds and work: a call with a hundred arrays takes minutes to compile.
_compiled = njit(cache=True, error_model="numpy", _nrt=False)  # pyright: ignore[reportCallIssue]


@_compiled
def _push(work, p):
    if work[work[_IS_QUEUED] + p] == 0:
        work[work[_IS_QUEUED] + p] = 1
        n = work[_QUEUE_SIZE]
        work[work[_QUEUE] + (work[_HEAD] + work[_COUNT]) % n] = p
        work[_COUNT] += 1


@_compiled
def _push_instance(work, i):
    if work[work[_IS_DIRTY] + i] == 0:
        work[work[_IS_DIRTY] + i] = 1
        work[work[_DIRTY_LIST] + work[_DIRTY]] = i
        work[_DIRTY] += 1


@_compiled
def _flip(t, c, mask):
    result = np.uint64(0)
    base = t[t[FLIP_OFFSET] + c]
    while mask != np.uint64(0):
        result |= np.uint64(t[t[FLIPS] + base + np.int64(mask & np.uint64(255))])
        mask >>= np.uint64(8)
        base += 256
    return result


@_compiled
def _narrow(t, domains, members, bounds, work, v, mask):
    old = domains[v]
    new = old & mask
    if new == old:
        return True
    if new == np.uint64(0):
        work[_FAILED] = 1
        return False
    domains[v] = new
    m = t[t[MIRROR] + v]
    if m >= 0:
        domains[m] = _flip(t, t[t[CLASS_OF] + v], new)
        v = min(v, m)
    _push(work, v)
    return True


@_compiled
def _narrow_bounds(t, domains, members, bounds, work, i, low, high, is_own):
    """Of a counter instance; `is_own`: found by itself, which need not run again."""
    is_changed = False
    if low > bounds[0, i]:
        bounds[0, i] = low
        is_changed = True
    if high < bounds[1, i]:
        bounds[1, i] = high
        is_changed = True
    if bounds[0, i] > bounds[1, i]:
        work[_FAILED] = 1
        return False
    if is_changed:
        _push(work, t[VARIABLES] + i)
        if not is_own:
            _push_instance(work, i)
    return True


@_compiled
def _least(t, domains, members, bounds, work, v):
    mask = domains[v]
    n = t[t[VALUES_START] + v]
    while mask & np.uint64(1) == np.uint64(0):
        mask >>= np.uint64(1)
        n += 1
    return t[t[VALUES] + n]


@_compiled
def _greatest(t, domains, members, bounds, work, v):
    mask = domains[v]
    n = t[t[VALUES_START] + v] - 1
    while mask != np.uint64(0):
        mask >>= np.uint64(1)
        n += 1
    return t[t[VALUES] + n]


@_compiled
def _values_between(t, domains, members, bounds, work, v, low, high):
    """The part of the domain within the bounds."""
    mask = domains[v]
    result = np.uint64(0)
    bit = np.uint64(1)
    for n in range(t[t[VALUES_START] + v], t[t[VALUES_START] + v + 1]):
        if mask & bit != np.uint64(0) and low <= t[t[VALUES] + n] <= high:
            result |= bit
        bit <<= np.uint64(1)
    return result


@_compiled
def _common(t, domains, members, bounds, work, v, w):
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


@_compiled
def _is_single(mask):
    return mask & (mask - np.uint64(1)) == np.uint64(0)


@_compiled
def _position(t, domains, members, bounds, work, slot):
    p = t[t[SLOT_OFFSET] + slot]
    for k in range(4):
        if t[t[SLOT_STRIDES] + 4 * slot + k] != 0:
            p += t[t[SLOT_STRIDES] + 4 * slot + k] * work[_OBJECTS + k]
    return t[t[SLOT_TABLE] + p]


@_compiled
def _entry(t, work, offset, strides):
    """The element of a table for the bound objects."""
    for k in range(4):
        if t[strides + k] != 0:
            offset += t[strides + k] * work[_OBJECTS + k]
    return offset


@_compiled
def _takes_part(t, domains, members, bounds, work, v):
    state = MEMBER
    for k in range(2):
        m = t[t[ARGUMENT_MEMBERS] + 2 * v + k]
        if m >= 0:
            state = min(state, np.int64(members[m]))
    return state


@_compiled
def _membership(t, domains, members, bounds, work, f, k):
    """Of the bound object k of a form; MEMBER as long as its owner is not bound."""
    one = t[t[OVER_SET] + 4 * f + k]
    owner = t[t[OVER_OWNER] + 4 * f + k]
    m = t[t[SET_OFFSET] + one] + work[_OBJECTS + k]
    if owner >= 0:
        if work[_OBJECTS + owner] < 0:
            return MEMBER
        m += t[t[SET_SIZE] + one] * work[_OBJECTS + owner]
    return np.int64(members[m])


@_compiled
def _tuple_state(t, domains, members, bounds, work, f):
    """Whether the bound tuple takes part: MEMBER, POSSIBLE or NEVER."""
    n = t[t[QUANTIFIED] + f]
    state = MEMBER
    for k in range(n):
        state = min(state, _membership(t, domains, members, bounds, work, f, k))
        for j in range(k):
            if work[_OBJECTS + j] == work[_OBJECTS + k] and t[t[OVER_SORT] + 4 * f + j] == t[t[OVER_SORT] + 4 * f + k]:
                return NEVER
    if state == NEVER:
        return NEVER
    for g in range(t[t[GUARDS_START] + f], t[t[GUARDS_START] + f + 1]):
        if t[t[GUARD_TABLE] + _entry(t, work, t[t[GUARD_OFFSET] + g], t[GUARD_STRIDES] + 4 * g)] == 0:
            return NEVER
    for slot in range(t[t[SLOTS_START] + f], t[t[SLOTS_START] + f + 1]):
        if t[t[SLOT_INDIRECT] + slot] != 0:
            p = _position(t, domains, members, bounds, work, slot)
            if p < 0:
                return NEVER
            if p < t[VARIABLES]:
                state = min(state, _takes_part(t, domains, members, bounds, work, p))
    return state


@_compiled
def _compare(t, domains, members, bounds, work, v, w, comparator):
    if comparator == _EQ:
        if _common(t, domains, members, bounds, work, v, w) == np.uint64(0):
            return FALSE
        if v == w or (_is_single(domains[v]) and _is_single(domains[w])):
            return TRUE
    elif comparator == _NE:
        if v == w:
            return FALSE
        if _common(t, domains, members, bounds, work, v, w) == np.uint64(0):
            return TRUE
        if _is_single(domains[v]) and _is_single(domains[w]):
            return FALSE
    elif comparator == _LE:
        if v == w or _greatest(t, domains, members, bounds, work, v) <= _least(t, domains, members, bounds, work, w):
            return TRUE
        if _least(t, domains, members, bounds, work, v) > _greatest(t, domains, members, bounds, work, w):
            return FALSE
    else:
        if v == w or _least(t, domains, members, bounds, work, v) >= _greatest(t, domains, members, bounds, work, w):
            return FALSE
        if _greatest(t, domains, members, bounds, work, v) < _least(t, domains, members, bounds, work, w):
            return TRUE
    return UNKNOWN


@_compiled
def _status(t, domains, members, bounds, work, literal):
    """FALSE, UNKNOWN or TRUE for the bound tuple."""
    p = _position(t, domains, members, bounds, work, t[t[LITERAL_SLOT] + literal])
    kind = t[t[LITERAL_KIND] + literal]
    if kind == _COMPARE:
        q = _position(t, domains, members, bounds, work, t[t[LITERAL_OTHER] + literal])
        return _compare(t, domains, members, bounds, work, p, q, t[t[LITERAL_COMPARATOR] + literal])
    entry = _entry(t, work, t[t[LITERAL_OFFSET] + literal], t[LITERAL_STRIDES] + 4 * literal)
    if kind == _IN_MASK:
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


@_compiled
def _enforce_comparison(t, domains, members, bounds, work, v, w, comparator):
    if comparator == _EQ:
        return _narrow(t, domains, members, bounds, work, v, _common(t, domains, members, bounds, work, v, w)) and _narrow(
            t, domains, members, bounds, work, w, _common(t, domains, members, bounds, work, w, v)
        )
    if comparator == _NE:
        if v == w:
            work[_FAILED] = 1
            return False
        if _is_single(domains[v]) and not _narrow(
            t, domains, members, bounds, work, w, ~_common(t, domains, members, bounds, work, w, v)
        ):
            return False
        return not _is_single(domains[w]) or _narrow(
            t, domains, members, bounds, work, v, ~_common(t, domains, members, bounds, work, v, w)
        )
    gap = 1 if comparator == _LT else 0
    if v == w:
        if gap == 1:
            work[_FAILED] = 1
            return False
        return True
    if not _narrow(
        t,
        domains,
        members,
        bounds,
        work,
        v,
        _values_between(t, domains, members, bounds, work, v, -SATURATED, _greatest(t, domains, members, bounds, work, w) - gap),
    ):
        return False
    return _narrow(
        t,
        domains,
        members,
        bounds,
        work,
        w,
        _values_between(t, domains, members, bounds, work, w, _least(t, domains, members, bounds, work, v) + gap, SATURATED),
    )


@_compiled
def _enforce(t, domains, members, bounds, work, literal, holds):
    """Makes the literal hold, or not hold, for the bound tuple."""
    p = _position(t, domains, members, bounds, work, t[t[LITERAL_SLOT] + literal])
    kind = t[t[LITERAL_KIND] + literal]
    if kind == _COMPARE:
        q = _position(t, domains, members, bounds, work, t[t[LITERAL_OTHER] + literal])
        comparator = t[t[LITERAL_COMPARATOR] + literal]
        if holds:
            return _enforce_comparison(t, domains, members, bounds, work, p, q, comparator)
        if comparator in (_EQ, _NE):
            return _enforce_comparison(t, domains, members, bounds, work, p, q, _NE if comparator == _EQ else _EQ)
        return _enforce_comparison(t, domains, members, bounds, work, q, p, _LT if comparator == _LE else _LE)
    entry = _entry(t, work, t[t[LITERAL_OFFSET] + literal], t[LITERAL_STRIDES] + 4 * literal)
    if kind == _IN_MASK:
        return _narrow(
            t, domains, members, bounds, work, p, np.uint64(t[t[MASKS] + entry]) if holds else ~np.uint64(t[t[MASKS] + entry])
        )
    i = p - t[VARIABLES]
    low = t[t[RANGES] + 2 * entry]
    high = t[t[RANGES] + 2 * entry + 1]
    if holds:
        return _narrow_bounds(t, domains, members, bounds, work, i, low, high, False)
    if bounds[0, i] >= low:  # what is left lies above
        return _narrow_bounds(t, domains, members, bounds, work, i, high + 1, SATURATED, False)
    if bounds[1, i] <= high:
        return _narrow_bounds(t, domains, members, bounds, work, i, -SATURATED, low - 1, False)
    return True


@_compiled
def _all_of(t, domains, members, bounds, work, f, part):
    """Status of the conjunction of a form's literals about `part`, and the only one that is unknown, -1 if several are."""
    status = TRUE
    unknown = -1
    for literal in range(t[t[LITERALS_START] + f], t[t[LITERALS_START] + f + 1]):
        if t[t[LITERAL_PART] + literal] == part:
            one = _status(t, domains, members, bounds, work, literal)
            if one == FALSE:
                return FALSE, -1
            if one == UNKNOWN:
                unknown = literal if status == TRUE else -1
                status = UNKNOWN
    return status, unknown


@_compiled
def _enforce_all(t, domains, members, bounds, work, f, part):
    for literal in range(t[t[LITERALS_START] + f], t[t[LITERALS_START] + f + 1]):
        if t[t[LITERAL_PART] + literal] == part and not _enforce(t, domains, members, bounds, work, literal, True):
            return False
    return True


@_compiled
def _open(t, domains, members, bounds, work, f, level):
    k = work[_FREE + level]
    one = t[t[OVER_SET] + 4 * f + k]
    row = t[t[SET_ROW] + one]
    owner = t[t[OVER_OWNER] + 4 * f + k]
    if owner >= 0 and work[_OBJECTS + owner] >= 0:
        row += 1 + work[_OBJECTS + owner]
    work[_AT + level] = t[t[ITEMS_START] + row]
    work[_END + level] = t[t[ITEMS_START] + row + 1]


@_compiled
def _step(t, domains, members, bounds, work, f, count, is_first):
    """Binds the next tuple of the first `count` free objects; False when there is none."""
    if count == 0:
        return is_first
    level = count - 1
    if is_first:
        level = 0
        _open(t, domains, members, bounds, work, f, 0)
    while level >= 0:
        k = work[_FREE + level]
        is_found = False
        while work[_AT + level] < work[_END + level]:
            o = t[t[ITEMS] + work[_AT + level]]
            work[_AT + level] += 1
            is_new = True
            for j in range(t[t[QUANTIFIED] + f]):
                if j != k and work[_OBJECTS + j] == o and t[t[OVER_SORT] + 4 * f + j] == t[t[OVER_SORT] + 4 * f + k]:
                    is_new = False
            if not is_new:
                continue
            work[_OBJECTS + k] = o
            if t[t[KIND] + f] == _TRIGGER or _membership(t, domains, members, bounds, work, f, k) != NEVER:
                is_found = True
                break
            work[_OBJECTS + k] = -1
        if is_found:
            if level == count - 1:
                return True
            level += 1
            _open(t, domains, members, bounds, work, f, level)
        else:
            work[_OBJECTS + k] = -1
            level -= 1
    return False


@_compiled
def _support(t, f, k, size_1, first, second):
    """Values of slot k that go with the masks of the two others."""
    base = t[t[RELATION_OFFSET] + 3 * f + k]
    if t[t[RELATION_IS_DIRECT] + f] != 0:
        return np.uint64(
            t[t[SUPPORTS] + base + np.int64(first) + (np.int64(second) << t[t[RELATION_SIZES] + 3 * f + (1 if k == 0 else 0)])]
        )
    result = np.uint64(0)
    v = 0
    while first != np.uint64(0):
        if first & np.uint64(1) != np.uint64(0):
            rest = second
            w = 0
            while rest != np.uint64(0):
                if rest & np.uint64(1) != np.uint64(0):
                    result |= np.uint64(t[t[SUPPORTS] + base + v * size_1 + w])
                rest >>= np.uint64(1)
                w += 1
        first >>= np.uint64(1)
        v += 1
    return result


@_compiled
def _support_of_pair(t, f, k, mask):
    """Values of slot k that go with the mask of the other one."""
    base = t[t[RELATION_OFFSET] + 3 * f + k]
    if t[t[RELATION_IS_DIRECT] + f] != 0:
        return np.uint64(t[t[SUPPORTS] + base + np.int64(mask)])
    result = np.uint64(0)
    while mask != np.uint64(0):
        if mask & np.uint64(1) != np.uint64(0):
            result |= np.uint64(t[t[SUPPORTS] + base])
        mask >>= np.uint64(1)
        base += 1
    return result


@_compiled
def _run_relation(t, domains, members, bounds, work, f):
    begin = t[t[SLOTS_START] + f]
    count = t[t[SLOTS_START] + f + 1] - begin
    a = _position(t, domains, members, bounds, work, begin)
    if count == 1:
        return _narrow(t, domains, members, bounds, work, a, np.uint64(t[t[SUPPORTS] + t[t[RELATION_OFFSET] + 3 * f]]))
    b = _position(t, domains, members, bounds, work, begin + 1)
    if count == 2:
        if not _narrow(t, domains, members, bounds, work, a, _support_of_pair(t, f, 0, domains[b])):
            return False
        return _narrow(t, domains, members, bounds, work, b, _support_of_pair(t, f, 1, domains[a]))
    c = _position(t, domains, members, bounds, work, begin + 2)
    if not _narrow(
        t, domains, members, bounds, work, a, _support(t, f, 0, t[t[RELATION_SIZES] + 3 * f + 2], domains[b], domains[c])
    ):
        return False
    if not _narrow(
        t, domains, members, bounds, work, b, _support(t, f, 1, t[t[RELATION_SIZES] + 3 * f + 2], domains[a], domains[c])
    ):
        return False
    return _narrow(
        t, domains, members, bounds, work, c, _support(t, f, 2, t[t[RELATION_SIZES] + 3 * f + 1], domains[a], domains[b])
    )


@_compiled
def _run_clause(t, domains, members, bounds, work, f):
    last = -1
    for literal in range(t[t[LITERALS_START] + f], t[t[LITERALS_START] + f + 1]):
        status = _status(t, domains, members, bounds, work, literal)
        if status == TRUE:
            return True
        if status == UNKNOWN:
            if last >= 0:
                return True
            last = literal
    if last < 0:
        work[_FAILED] = 1
        return False
    return _enforce(t, domains, members, bounds, work, last, True)


@_compiled
def _activate(t, domains, members, bounds, work, m):
    """A reserved member becomes one, or can no longer: whatever reads its variables is looked at again."""
    for n in range(t[t[TOUCHED_START] + m], t[t[TOUCHED_START] + m + 1]):
        _push(work, t[t[TOUCHED] + n])
    work[work[_EVENT_LIST] + work[_EVENTS]] = m
    work[_EVENTS] += 1


@_compiled
def _run_trigger(t, domains, members, bounds, work, f, state):
    lowering = t[t[LOWERING_TABLE] + _entry(t, work, t[t[LOWERING_OFFSET] + f], t[LOWERING_STRIDES] + 4 * f)]
    if lowering < 0:
        return True
    first = t[t[LOWERING_FIRST] + 0]
    if members[first + lowering] != PENDING:
        return True
    status = FALSE
    if state != NEVER:
        status, _ = _all_of(t, domains, members, bounds, work, f, 0)
    if status == TRUE and state == MEMBER:
        members[first + lowering] = FIRED
        for n in range(t[t[ACTIVATED_START] + lowering], t[t[ACTIVATED_START] + lowering + 1]):
            m = t[t[ACTIVATED] + n]
            if members[m] != MEMBER:
                members[m] = MEMBER
                _activate(t, domains, members, bounds, work, m)
        for n in range(t[t[RESTRICTED_START] + lowering], t[t[RESTRICTED_START] + lowering + 1]):
            if not _narrow(t, domains, members, bounds, work, t[t[RESTRICTED] + n], np.uint64(t[t[RESTRICTED_MASK] + n])):
                return False
    elif status == FALSE:
        members[first + lowering] = CLOSED
        for n in range(t[t[ACTIVATED_START] + lowering], t[t[ACTIVATED_START] + lowering + 1]):
            m = t[t[ACTIVATED] + n]
            if members[m] == POSSIBLE:
                is_possible = False
                for k in range(t[t[MAKERS_START] + m], t[t[MAKERS_START] + m + 1]):
                    if members[first + t[t[MAKERS] + k]] == PENDING:
                        is_possible = True
                if not is_possible:
                    members[m] = NEVER
                    _activate(t, domains, members, bounds, work, m)
    return True


@_compiled
def _visit(t, domains, members, bounds, work, f):
    """Runs a form on, or marks its instances for, all tuples that agree with the bound objects."""
    kind = t[t[KIND] + f]
    limit = t[t[QUANTIFIED] + f]
    if kind >= _COUNTER:
        limit = t[t[PARAMETERS] + f]
        for k in range(limit, t[t[QUANTIFIED] + f]):
            work[_OBJECTS + k] = -1
    count = 0
    for k in range(limit):
        if work[_OBJECTS + k] < 0:
            work[_FREE + count] = k
            count += 1
    is_first = True
    while _step(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        if kind >= _COUNTER:
            i = t[t[INSTANCE_FIRST] + f]
            for k in range(limit):
                i += t[t[INSTANCE_STRIDES] + 4 * f + k] * work[_OBJECTS + k]
            _push_instance(work, i)
            continue
        state = _tuple_state(t, domains, members, bounds, work, f)
        if kind == _TRIGGER:
            if not _run_trigger(t, domains, members, bounds, work, f, state):
                return False
        elif state == MEMBER:
            if kind == _RELATION:
                if not _run_relation(t, domains, members, bounds, work, f):
                    return False
            elif not _run_clause(t, domains, members, bounds, work, f):
                return False
    return True


@_compiled
def _set_of(t, m):
    one = 0
    while one + 1 < t[SETS] and t[t[SET_OFFSET] + one + 1] <= m:
        one += 1
    return one


@_compiled
def _visit_users(t, domains, members, bounds, work, m):
    """All tuples with a changed member, for each form that quantifies over its set."""
    one = _set_of(t, m)
    cell = m - t[t[SET_OFFSET] + one]
    for n in range(t[t[USES_START] + one], t[t[USES_START] + one + 1]):
        f = t[t[USE_FORM] + n]
        k = t[t[USE_OBJECT] + n]
        for j in range(4):
            work[_OBJECTS + j] = -1
        work[_OBJECTS + k] = cell % t[t[SET_SIZE] + one]
        if t[t[OVER_OWNER] + 4 * f + k] >= 0:
            work[_OBJECTS + t[t[OVER_OWNER] + 4 * f + k]] = cell // t[t[SET_SIZE] + one]
        if not _visit(t, domains, members, bounds, work, f):
            return False
    return True


@_compiled
def _visit_triangle(t, domains, members, bounds, work, f, v):
    """A relation that is the same for all orders of its three objects, around the pair of variable v."""
    one = t[t[OVER_SET] + 4 * f]
    size = t[t[SET_SIZE] + one]
    slot = t[t[SLOTS_START] + f]
    table = t[t[SLOT_OFFSET] + slot]
    cell = t[t[REVERSE] + t[t[REVERSE_START] + t[t[SLOT_REVERSE] + slot] + v - t[t[CLASS_FIRST] + t[t[CLASS_OF] + v]]]]
    a = cell // size
    b = cell % size
    first = t[t[SET_OFFSET] + one]
    if members[first + a] != MEMBER or members[first + b] != MEMBER:
        return True
    shift = t[t[RELATION_SIZES] + 3 * f]
    to_ab = t[t[RELATION_OFFSET] + 3 * f]
    to_ac = t[t[RELATION_OFFSET] + 3 * f + 1]
    to_bc = t[t[RELATION_OFFSET] + 3 * f + 2]
    row = t[t[SET_ROW] + one]
    ab = np.int64(domains[v])
    for n in range(t[t[ITEMS_START] + row], t[t[ITEMS_START] + row + 1]):
        c = t[t[ITEMS] + n]
        if c in (a, b) or members[first + c] != MEMBER:
            continue
        p = t[t[SLOT_TABLE] + table + a * size + c]
        q = t[t[SLOT_TABLE] + table + b * size + c]
        ac = np.int64(domains[p])
        bc = np.int64(domains[q])
        new = np.int64(np.uint64(t[t[SUPPORTS] + to_ac + ab + (bc << shift)]))
        if ac & ~new != 0:
            if not _narrow(t, domains, members, bounds, work, p, np.uint64(new)):
                return False
            ac &= new
        new = np.int64(np.uint64(t[t[SUPPORTS] + to_bc + ab + (ac << shift)]))
        if bc & ~new != 0:
            if not _narrow(t, domains, members, bounds, work, q, np.uint64(new)):
                return False
            bc &= new
        new = np.int64(np.uint64(t[t[SUPPORTS] + to_ab + ac + (bc << shift)]))
        if ab & ~new != 0:
            if not _narrow(t, domains, members, bounds, work, v, np.uint64(new)):
                return False
            ab &= new
    return True


@_compiled
def _wake(t, domains, members, bounds, work, p):
    c = t[t[CLASS_OF] + p]
    is_variable = p < t[VARIABLES]
    for w in range(t[t[WAKES_START] + c], t[t[WAKES_START] + c + 1]):
        f = t[t[WAKE_FORM] + w]
        slot = t[t[WAKE_SLOT] + w]
        if t[t[WAKE_IS_TRIANGLE] + w] != 0:
            if not _visit_triangle(t, domains, members, bounds, work, f, p):
                return False
            continue
        q = p
        for _ in range(1 + t[t[WAKE_TWOFOLD] + w]):
            if not is_variable or domains[q] & np.uint64(t[t[WAKE_IDLE] + w]) == np.uint64(0):
                row = t[t[SLOT_REVERSE] + slot] + q - t[t[CLASS_FIRST] + c]
                for n in range(t[t[REVERSE_START] + row], t[t[REVERSE_START] + row + 1]):
                    cell = t[t[REVERSE] + n]
                    for k in range(4):
                        work[_OBJECTS + k] = -1
                    if t[t[SLOT_AXES] + 2 * slot + 1] >= 0:
                        work[_OBJECTS + t[t[SLOT_AXES] + 2 * slot + 1]] = cell % t[t[SLOT_SIZES] + 2 * slot + 1]
                        cell //= t[t[SLOT_SIZES] + 2 * slot + 1]
                    if t[t[SLOT_AXES] + 2 * slot] >= 0:
                        work[_OBJECTS + t[t[SLOT_AXES] + 2 * slot]] = cell
                    if not _visit(t, domains, members, bounds, work, f):
                        return False
            if is_variable:
                q = t[t[MIRROR] + p]
    return True


@_compiled
def _product(a, b):
    """Saturating, of non-negative numbers."""
    if a == 0 or b == 0:
        return 0
    if a >= SATURATED // b:
        return SATURATED
    return a * b


@_compiled
def _value_bounds(t, domains, members, bounds, work, f):
    """Of a counter's value for the bound tuple."""
    kind = t[t[VALUE_KIND] + f]
    if kind == 0:
        n = t[t[CONSTANTS] + _entry(t, work, t[t[VALUE_OFFSET] + f], t[VALUE_STRIDES] + 4 * f)]
        return n, n
    p = _position(t, domains, members, bounds, work, t[t[VALUE_SLOT] + f])
    if kind == 1:
        return _least(t, domains, members, bounds, work, p), _greatest(t, domains, members, bounds, work, p)
    i = p - t[VARIABLES]
    return bounds[0, i], bounds[1, i]


@_compiled
def _term(t, domains, members, bounds, work, f):
    """Status of the bound tuple's term in a counter, its only unknown literal, -1 if several or membership are unknown."""
    state = _tuple_state(t, domains, members, bounds, work, f)
    if state == NEVER:
        return FALSE, -1
    status, unknown = _all_of(t, domains, members, bounds, work, f, 0)
    if status == TRUE and state == POSSIBLE:
        return UNKNOWN, -1
    if state == POSSIBLE:
        unknown = -1
    return status, unknown


@_compiled
def _bind_instance(t, domains, members, bounds, work, f, i):
    """Binds the parameters; returns the number of free objects."""
    rest = i - t[t[INSTANCE_FIRST] + f]
    for k in range(4):
        work[_OBJECTS + k] = -1
    for k in range(t[t[PARAMETERS] + f]):
        work[_OBJECTS + k] = rest // t[t[INSTANCE_STRIDES] + 4 * f + k]
        rest %= t[t[INSTANCE_STRIDES] + 4 * f + k]
    count = 0
    for k in range(t[t[PARAMETERS] + f], t[t[QUANTIFIED] + f]):
        work[_FREE + count] = k
        count += 1
    return count


@_compiled
def _run_counter(t, domains, members, bounds, work, f, i):
    count = _bind_instance(t, domains, members, bounds, work, f, i)
    is_product = t[t[IS_PRODUCT] + f] != 0
    neutral = 1 if is_product else 0
    low = t[t[CONSTANTS] + _entry(t, work, t[t[START_OFFSET] + f], t[START_STRIDES] + 4 * f)]
    high = low
    is_first = True
    while _step(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        status, _ = _term(t, domains, members, bounds, work, f)
        if status == FALSE:
            continue
        least, greatest = _value_bounds(t, domains, members, bounds, work, f)
        if status == UNKNOWN:
            least = neutral
        if is_product:
            low = _product(low, least)
            high = _product(high, greatest)
        else:
            low = min(SATURATED, low + least)
            high = min(SATURATED, high + greatest)
    if not _narrow_bounds(t, domains, members, bounds, work, i, low, high, True):
        return False
    top = bounds[1, i]
    bottom = bounds[0, i]
    if top >= high and bottom <= low:
        return True
    is_first = True
    while _step(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        status, unknown = _term(t, domains, members, bounds, work, f)
        if status == FALSE:
            continue
        least, greatest = _value_bounds(t, domains, members, bounds, work, f)
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
            if not _enforce(t, domains, members, bounds, work, unknown, False):
                return False
            continue
        if status == UNKNOWN and need > neutral:
            if _tuple_state(t, domains, members, bounds, work, f) != MEMBER:
                continue
            if not _enforce_all(t, domains, members, bounds, work, f, 0):
                return False
            status = TRUE
        if status == TRUE:
            if t[t[VALUE_KIND] + f] == 1:
                p = _position(t, domains, members, bounds, work, t[t[VALUE_SLOT] + f])
                if not _narrow(
                    t, domains, members, bounds, work, p, _values_between(t, domains, members, bounds, work, p, need, cap)
                ):
                    return False
            elif t[t[VALUE_KIND] + f] == 2:
                p = _position(t, domains, members, bounds, work, t[t[VALUE_SLOT] + f])
                if not _narrow_bounds(t, domains, members, bounds, work, p - t[VARIABLES], need, cap, False):
                    return False
            elif least > cap or least < need:
                work[_FAILED] = 1
                return False
    return True


@_compiled
def _run_quotient(t, domains, members, bounds, work, f, i):
    count = _bind_instance(t, domains, members, bounds, work, f, i)
    if _membership(t, domains, members, bounds, work, f, t[t[PARAMETERS] + f] - 1) != MEMBER:
        return True
    for k in range(t[t[PARAMETERS] + f] - 1):
        if _membership(t, domains, members, bounds, work, f, k) != MEMBER:
            return True
    mine = work[_OBJECTS + t[t[PARAMETERS] + f] - 1]
    flag = _position(t, domains, members, bounds, work, t[t[SLOTS_START] + f])
    when, unknown = _all_of(t, domains, members, bounds, work, f, 0)
    if when == FALSE:
        return _narrow(t, domains, members, bounds, work, flag, np.uint64(1))
    is_representative = domains[flag] == np.uint64(2)
    if is_representative and not _enforce_all(t, domains, members, bounds, work, f, 0):
        return False
    possible = 0
    chosen = -1
    is_first = True
    other_quantifier = t[t[QUANTIFIED] + f] - 1
    while _step(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        if work[_OBJECTS + other_quantifier] >= mine:
            continue
        state = _membership(t, domains, members, bounds, work, f, other_quantifier)
        by, by_unknown = _all_of(t, domains, members, bounds, work, f, 1)
        if by == FALSE:
            continue
        other, other_unknown = _all_of(t, domains, members, bounds, work, f, 2)
        if other == FALSE:
            continue
        if by == TRUE and other == TRUE and state == MEMBER:
            return _narrow(t, domains, members, bounds, work, flag, np.uint64(1))
        if is_representative and state == MEMBER:
            if by == TRUE and other_unknown >= 0:
                if not _enforce(t, domains, members, bounds, work, other_unknown, False):
                    return False
                continue
            if other == TRUE and by_unknown >= 0:
                if not _enforce(t, domains, members, bounds, work, by_unknown, False):
                    return False
                continue
        possible += 1
        chosen = work[_OBJECTS + other_quantifier]
        if state != MEMBER:
            chosen = -1
            possible += 1
    if possible == 0:
        if when == TRUE:
            return _narrow(t, domains, members, bounds, work, flag, np.uint64(2))
        if domains[flag] == np.uint64(1):
            for k in range(t[t[QUANTIFIED] + f]):
                work[_OBJECTS + k] = -1
            _bind_instance(t, domains, members, bounds, work, f, i)
            if unknown >= 0:
                return _enforce(t, domains, members, bounds, work, unknown, False)
        return True
    if possible == 1 and chosen >= 0 and when == TRUE and domains[flag] == np.uint64(1):
        _bind_instance(t, domains, members, bounds, work, f, i)
        work[_OBJECTS + other_quantifier] = chosen
        return _enforce_all(t, domains, members, bounds, work, f, 1) and _enforce_all(t, domains, members, bounds, work, f, 2)
    return True


@_compiled
def _run_cover(t, domains, members, bounds, work, f, i):
    count = _bind_instance(t, domains, members, bounds, work, f, i)
    for k in range(t[t[PARAMETERS] + f]):
        if _membership(t, domains, members, bounds, work, f, k) != MEMBER:
            return True
    total = t[t[CONSTANTS] + _entry(t, work, t[t[START_OFFSET] + f], t[START_STRIDES] + 4 * f)]
    outer = _position(t, domains, members, bounds, work, t[t[SLOTS_START] + f])
    is_exact = t[t[GUARD_TABLE] + _entry(t, work, t[t[EXACT_OFFSET] + f], t[EXACT_STRIDES] + 4 * f)] != 0
    if outer < 0 or _takes_part(t, domains, members, bounds, work, outer) != MEMBER:
        return True
    tiles = 0
    is_first = True
    low = 1
    high = 1
    combinations = 1
    while _step(t, domains, members, bounds, work, f, count, is_first):
        is_first = False
        p = _position(t, domains, members, bounds, work, t[t[SLOTS_START] + f] + 1)
        if p < 0 or _tuple_state(t, domains, members, bounds, work, f) != MEMBER:
            if p >= 0 and _tuple_state(t, domains, members, bounds, work, f) == POSSIBLE:
                return True
            continue
        work[work[_CHOSEN] + tiles] = p
        tiles += 1
        low = _product(low, _least(t, domains, members, bounds, work, p))
        high = _product(high, _greatest(t, domains, members, bounds, work, p))
        options = 0
        mask = domains[p]
        while mask != np.uint64(0):
            mask &= mask - np.uint64(1)
            options += 1
        combinations = _product(combinations, options)
    if combinations <= _EXACT_COMBINATIONS:
        return _cover_exactly(t, domains, members, bounds, work, outer, tiles, total, is_exact)
    # outer == ceil(total / product)
    least = max(1, (total + high - 1) // high) if high < SATURATED else 1
    if not _narrow(
        t,
        domains,
        members,
        bounds,
        work,
        outer,
        _values_between(t, domains, members, bounds, work, outer, least, max(1, (total + low - 1) // low)),
    ):
        return False
    outer_least = _least(t, domains, members, bounds, work, outer)
    outer_greatest = _greatest(t, domains, members, bounds, work, outer)
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
        if not _narrow(t, domains, members, bounds, work, outer, keep):
            return False
    for n in range(tiles):
        p = work[work[_CHOSEN] + n]
        others_low = low // _least(t, domains, members, bounds, work, p)
        others_high = high // _greatest(t, domains, members, bounds, work, p) if high < SATURATED else SATURATED
        keep = _values_between(t, domains, members, bounds, work, p, (need + others_high - 1) // others_high, cap // others_low)
        if is_exact:
            bit = np.uint64(1)
            for k in range(t[t[VALUES_START] + p], t[t[VALUES_START] + p + 1]):
                if total % t[t[VALUES] + k] != 0:
                    keep &= ~bit
                bit <<= np.uint64(1)
        # the bounds of the others are those from before this loop: no narrower than they could be, and in any order the same
        work[work[_CHOSEN] + tiles + n] = np.int64(keep)
    for n in range(tiles):
        if not _narrow(t, domains, members, bounds, work, work[work[_CHOSEN] + n], np.uint64(work[work[_CHOSEN] + tiles + n])):
            return False
    return True


@_compiled
def _cover_exactly(t, domains, members, bounds, work, outer, tiles, total, is_exact):
    """Keeps the values that take part in some solution."""
    for n in range(tiles + 1):
        work[work[_CHOSEN] + tiles + n] = 0  # masks kept
        work[work[_CHOSEN] + 2 * tiles + 1 + n] = -1  # value indices
    level = 0
    while level >= 0:
        if level < tiles:
            p = work[work[_CHOSEN] + level]
            size = t[t[VALUES_START] + p + 1] - t[t[VALUES_START] + p]
            k = work[work[_CHOSEN] + 2 * tiles + 1 + level] + 1
            while k < size and (domains[p] >> np.uint64(k)) & np.uint64(1) == np.uint64(0):
                k += 1
            if k == size:
                work[work[_CHOSEN] + 2 * tiles + 1 + level] = -1
                level -= 1
                continue
            work[work[_CHOSEN] + 2 * tiles + 1 + level] = k
            level += 1
            continue
        product = 1
        for n in range(tiles):
            product = _product(
                product, t[t[VALUES] + t[t[VALUES_START] + work[work[_CHOSEN] + n]] + work[work[_CHOSEN] + 2 * tiles + 1 + n]]
            )
        wanted = max(1, (total + product - 1) // product)
        if product > 0 and (not is_exact or product * wanted == total):
            bit = np.uint64(1)
            for n in range(t[t[VALUES_START] + outer], t[t[VALUES_START] + outer + 1]):
                if t[t[VALUES] + n] == wanted and domains[outer] & bit != np.uint64(0):
                    work[work[_CHOSEN] + 2 * tiles] = np.int64(np.uint64(work[work[_CHOSEN] + 2 * tiles]) | bit)
                    for m in range(tiles):
                        mine = np.uint64(1) << np.uint64(work[work[_CHOSEN] + 2 * tiles + 1 + m])
                        work[work[_CHOSEN] + tiles + m] = np.int64(np.uint64(work[work[_CHOSEN] + tiles + m]) | mine)
                bit <<= np.uint64(1)
        level -= 1
    for n in range(tiles):
        if not _narrow(t, domains, members, bounds, work, work[work[_CHOSEN] + n], np.uint64(work[work[_CHOSEN] + tiles + n])):
            return False
    return _narrow(t, domains, members, bounds, work, outer, np.uint64(work[work[_CHOSEN] + 2 * tiles]))


@_compiled
def _clear(work):
    while work[_COUNT] > 0:
        work[work[_IS_QUEUED] + work[work[_QUEUE] + work[_HEAD]]] = 0
        work[_HEAD] = (work[_HEAD] + 1) % work[_QUEUE_SIZE]
        work[_COUNT] -= 1
    while work[_DIRTY] > 0:
        work[_DIRTY] -= 1
        work[work[_IS_DIRTY] + work[work[_DIRTY_LIST] + work[_DIRTY]]] = 0
    work[_EVENTS] = 0
    work[_FAILED] = 0


@_compiled
def _propagate(t, domains, members, bounds, work):
    while True:
        if work[_COUNT] > 0:
            p = work[work[_QUEUE] + work[_HEAD]]
            work[_HEAD] = (work[_HEAD] + 1) % work[_QUEUE_SIZE]
            work[_COUNT] -= 1
            work[work[_IS_QUEUED] + p] = 0
            if not _wake(t, domains, members, bounds, work, p):
                return False
        elif work[_EVENTS] > 0:
            work[_EVENTS] -= 1
            if not _visit_users(t, domains, members, bounds, work, work[work[_EVENT_LIST] + work[_EVENTS]]):
                return False
        elif work[_DIRTY] > 0:
            work[_DIRTY] -= 1
            i = work[work[_DIRTY_LIST] + work[_DIRTY]]
            work[work[_IS_DIRTY] + i] = 0
            f = t[t[INSTANCE_FORM] + i]
            kind = t[t[KIND] + f]
            if kind == _COUNTER:
                if not _run_counter(t, domains, members, bounds, work, f, i):
                    return False
            elif kind == _COVER:
                if not _run_cover(t, domains, members, bounds, work, f, i):
                    return False
            elif not _run_quotient(t, domains, members, bounds, work, f, i):
                return False
        else:
            return True


@_compiled
def _narrow_and_propagate(t, domains, members, bounds, work, variables, masks):
    is_possible = True
    for n in range(variables.shape[0]):
        if not _narrow(t, domains, members, bounds, work, variables[n], masks[n]):
            is_possible = False
            break
    if is_possible:
        is_possible = _propagate(t, domains, members, bounds, work)
    _clear(work)
    return is_possible


@_compiled
def _propagate_all(t, domains, members, bounds, work):
    for p in range(t[VARIABLES]):
        if t[t[MIRROR] + p] < 0 or p < t[t[MIRROR] + p]:
            _push(work, p)
    is_possible = True
    for f in range(t[FORMS]):
        is_triangle = False
        for w in range(t[WAKES]):
            if t[t[WAKE_FORM] + w] == f and t[t[WAKE_IS_TRIANGLE] + w] != 0:
                is_triangle = True
        if is_possible and not is_triangle:
            for k in range(4):
                work[_OBJECTS + k] = -1
            is_possible = _visit(t, domains, members, bounds, work, f)
    if is_possible:
        is_possible = _propagate(t, domains, members, bounds, work)
    _clear(work)
    return is_possible


def narrow_and_propagate(
    t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, variables: Ints, masks: Masks
) -> bool:
    """Restricts variables and propagates, in place; False when refuted. The work lists are empty afterwards."""
    return bool(_narrow_and_propagate(t, domains, members, bounds, work, variables, masks))


def propagate_all(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints) -> bool:
    """Runs every form on all of its tuples, then propagates, in place; False when refuted."""
    return bool(_propagate_all(t, domains, members, bounds, work))
