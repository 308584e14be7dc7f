"""How many candidates the next levels of a tree have, counted without making them.

Takes a candidate and the variables in the order in which they are decided. Each value that is left of the first open one is a
child; values of one group are one alternative.
"""
# Elements of arrays are arrays or scalars of numpy to the checker, plain numbers here.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false

from __future__ import annotations

import numpy as np

from warploom.solve.jit import compiled, entry
from warploom.solve.space.engine.domains import narrow
from warploom.solve.space.engine.packed import MEMBER, Bytes, Ints, Masks
from warploom.solve.space.engine.propagation import propagate
from warploom.solve.space.engine.records import Records
from warploom.solve.space.engine.tuples import takes_part
from warploom.solve.space.engine.work import FORM, clear


@compiled
def first_open(t: Ints, domains: Masks, members: Bytes, bounds: Ints, work: Ints, turns: Ints, groups: Masks) -> int:
    """Place in `turns` of the first variable with more than one alternative; -1: none."""
    for n in range(turns.shape[0]):
        left = domains[turns[n]]
        group = groups[n]
        if group != np.uint64(0) and left & group == group:
            left = (left & ~group) | (group & (~group + np.uint64(1)))
        if left & (left - np.uint64(1)) == np.uint64(0):
            continue
        if takes_part(t, domains, members, bounds, work, turns[n]) == MEMBER:
            return n
    return -1


@entry
def count_levels(
    t: Ints,
    domains: Masks,
    members: Bytes,
    bounds: Ints,
    work: Ints,
    records: Records,
    turns: Ints,
    groups: Masks,
    left: Masks,
    places: Ints,
    found: Ints,
) -> int:
    """Adds the candidates of each level to `found`, level 0 being the one in the first rows of `domains`, `members` and `bounds`;
    their other rows, `left` and `places` are scratch, by level. Returns the children made, refuted ones as well. The work lists
    are empty afterwards."""
    last = found.shape[0] - 1
    made = 0
    level = 0
    found[0] += 1
    places[0] = first_open(t, domains[0], members[0], bounds[0], work, turns, groups)
    left[0] = np.uint64(0)
    if places[0] >= 0 and last > 0:
        left[0] = domains[0, turns[places[0]]]
    while level >= 0:
        if left[level] == np.uint64(0):
            level -= 1
            continue
        place = places[level]
        mask = left[level] & (~left[level] + np.uint64(1))
        if groups[place] != np.uint64(0) and left[level] & groups[place] == groups[place]:
            mask = groups[place]
        left[level] &= ~mask
        for n in range(domains.shape[1]):
            domains[level + 1, n] = domains[level, n]
        for n in range(members.shape[1]):
            members[level + 1, n] = members[level, n]
        for k in range(2):
            for n in range(bounds.shape[2]):
                bounds[level + 1, k, n] = bounds[level, k, n]
        made += 1
        work[FORM] = -1
        is_possible = narrow(t, domains[level + 1], members[level + 1], bounds[level + 1], work, turns[place], mask)
        if is_possible:
            is_possible = propagate(t, domains[level + 1], members[level + 1], bounds[level + 1], work, records)
        clear(work)
        if not is_possible:
            continue
        level += 1
        found[level] += 1
        left[level] = np.uint64(0)
        if level < last:
            places[level] = first_open(t, domains[level], members[level], bounds[level], work, turns, groups)
            if places[level] >= 0:
                left[level] = domains[level, turns[places[level]]]
    return made
