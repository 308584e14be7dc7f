"""Constraints over enum choices as tables of supports, and triangles: one relation for all orders of three objects."""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled
from warploom.solve.space.engine.domains import narrow
from warploom.solve.space.engine.packed import (
    CLASS_FIRST,
    CLASS_OF,
    ITEMS,
    ITEMS_START,
    MEMBER,
    OVER_SET,
    RELATION_IS_DIRECT,
    RELATION_OFFSET,
    RELATION_SIZES,
    REVERSE,
    REVERSE_START,
    SET_OFFSET,
    SET_ROW,
    SET_SIZE,
    SLOT_OFFSET,
    SLOT_REVERSE,
    SLOT_TABLE,
    SLOTS_START,
    SUPPORTS,
    Bytes,
    Ints,
    Masks,
)
from warploom.solve.space.engine.tuples import position
from warploom.solve.space.engine.work import FORM, OBJECTS


@compiled
def support(t: Ints, f: int, k: int, size_1: int, first: np.uint64, second: np.uint64) -> np.uint64:
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


@compiled
def support_of_pair(t: Ints, f: int, k: int, mask: np.uint64) -> np.uint64:
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


@compiled
def run_relation(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int) -> bool:
    begin = t[t[SLOTS_START] + f]
    count = t[t[SLOTS_START] + f + 1] - begin
    a = position(t, domains, members, bounds, work, begin)
    b = position(t, domains, members, bounds, work, begin + 1) if count > 1 else -1
    c = position(t, domains, members, bounds, work, begin + 2) if count > 2 else -1
    return relate(t, domains, members, bounds, work, f, a, b, c)


@compiled
def relate(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, a: int, b: int, c: int) -> bool:
    """A form's relation of the variables at up to three positions (-1: fewer)."""
    if b < 0:
        return narrow(t, domains, members, bounds, work, a, np.uint64(t[t[SUPPORTS] + t[t[RELATION_OFFSET] + 3 * f]]))
    if c < 0:
        if not narrow(t, domains, members, bounds, work, a, support_of_pair(t, f, 0, domains[b])):
            return False
        return narrow(t, domains, members, bounds, work, b, support_of_pair(t, f, 1, domains[a]))
    if not narrow(
        t, domains, members, bounds, work, a, support(t, f, 0, t[t[RELATION_SIZES] + 3 * f + 2], domains[b], domains[c])
    ):
        return False
    if not narrow(
        t, domains, members, bounds, work, b, support(t, f, 1, t[t[RELATION_SIZES] + 3 * f + 2], domains[a], domains[c])
    ):
        return False
    return narrow(
        t, domains, members, bounds, work, c, support(t, f, 2, t[t[RELATION_SIZES] + 3 * f + 1], domains[a], domains[b])
    )


@compiled
def visit_triangle(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, f: int, v: int) -> bool:
    """A relation that is the same for all orders of its three objects: what the pair of variable v leaves of the other two."""
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
    to_ac = t[t[RELATION_OFFSET] + 3 * f + 1]
    to_bc = t[t[RELATION_OFFSET] + 3 * f + 2]
    row = t[t[SET_ROW] + one]
    ab = np.int64(domains[v])
    work[FORM] = f
    work[OBJECTS] = a
    work[OBJECTS + 1] = b
    work[OBJECTS + 3] = -1
    ac_of = t[SUPPORTS] + to_ac + ab
    bc_of = t[SUPPORTS] + to_bc + ab
    row_a = t[SLOT_TABLE] + table + a * size
    row_b = t[SLOT_TABLE] + table + b * size
    items = t[ITEMS]
    for n in range(items + t[t[ITEMS_START] + row], items + t[t[ITEMS_START] + row + 1]):
        c = t[n]
        if c in (a, b) or members[first + c] != MEMBER:
            continue
        work[OBJECTS + 2] = c
        p = t[row_a + c]
        q = t[row_b + c]
        ac = np.int64(domains[p])
        bc = np.int64(domains[q])
        new = t[ac_of + (bc << shift)]
        if ac & ~new != 0:
            if not narrow(t, domains, members, bounds, work, p, np.uint64(new)):
                return False
            ac &= new
        new = t[bc_of + (ac << shift)]
        if bc & ~new != 0 and not narrow(t, domains, members, bounds, work, q, np.uint64(new)):
            return False
    return True
