"""Fills a view from the flat domains of a candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warploom.schedule.bound.facts import SHARED_BYTES
from warploom.schedule.bound.problem import (
    AFTER,
    BEFORE,
    IN_ORDER,
    INNER,
    LOOP,
    MERGED,
    OUTER,
    SPREAD,
    THREAD,
    UNROLL,
    VECTOR,
    Floats,
    Ints,
    Problem,
    TargetFigures,
    View,
)
from warploom.schedule.bound.total import Scratch, evaluate
from warploom.solve.jit import compiled, entry

Domains = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

NEVER_STATE, MEMBER_STATE = 0, 2


class Positions(NamedTuple):
    """Positions in the domains of a space of everything that a view shows; -1: the space has no such variable and the view
    keeps its value."""

    member: Ints
    """By instruction, in the states of members."""
    order: Ints
    """[statement, statement]"""
    kind: Ints
    size: Ints
    universe: Ints
    """[extent, value]"""
    mapping: Ints
    """[dim, dim]"""
    space: Ints
    cache: Ints
    partials: Ints
    stages: Ints
    shared: int
    """Column of the counter of shared bytes, or -1."""
    tied: Ints
    """[pair, 2]: dims between which a value surely travels in registers."""
    spread: Ints
    """[n, 5]: a dim that copies into a temporary, the variable that says whether all threads share the copy out, the store
    (instruction), and source and target (statements) of the pair, which is a side of the tile unless they are merged."""
    warps: int
    """How threads make up warps, or -1."""


@compiled
def read(
    positions: Positions, problem: Problem, domains: Domains, members: Bytes, bounds: Ints, view: View, grid: Floats
) -> None:
    """Overwrites the view with what a candidate's arrays say. What fills a tile counts as absent where another tile may serve;
    loops of copies that all threads may share out are whatever makes them fast."""
    for i in range(positions.member.shape[0]):
        if positions.member[i] >= 0:
            view.active[i] = 1 if members[positions.member[i]] == MEMBER_STATE else 0
            view.possible[i] = 1 if members[positions.member[i]] != NEVER_STATE else 0
        if positions.cache[i] >= 0:
            view.cache[i] = domains[positions.cache[i]]
    for a in range(positions.order.shape[0]):
        for b in range(positions.order.shape[0]):
            if a != b and positions.order[a, b] >= 0:
                mask = np.int64(domains[positions.order[a, b]])
                view.order[a, b] = mask
                turned = mask & MERGED
                if mask & BEFORE:
                    turned |= AFTER
                if mask & AFTER:
                    turned |= BEFORE
                if mask & INNER:
                    turned |= OUTER
                if mask & OUTER:
                    turned |= INNER
                view.order[b, a] = turned
    for a in range(positions.kind.shape[0]):
        if positions.kind[a] >= 0:
            view.kind[a] = domains[positions.kind[a]]
        if positions.partials[a] >= 0:
            view.partials[a] = domains[positions.partials[a]]
        for b in range(positions.kind.shape[0]):
            if positions.mapping[a, b] >= 0:
                mapped = np.int64(domains[positions.mapping[a, b]])
                view.mapping[a, b] = mapped
                view.mapping[b, a] = (mapped & 3) | (mapped & 4) << 1 | (mapped & 8) >> 1
    for n in range(positions.spread.shape[0]):
        dim, variable, store = positions.spread[n, 0], positions.spread[n, 1], positions.spread[n, 2]
        is_side = view.order[positions.spread[n, 3], positions.spread[n, 4]] != MERGED
        if is_side and view.possible[store] and view.kind[dim] & LOOP and (domains[variable] & np.uint64(SPREAD)):
            view.kind[dim] |= LOOP | UNROLL | VECTOR | THREAD
    for e in range(positions.size.shape[0]):
        sizes = domains[positions.size[e]]
        first = -1
        last = 0
        for bit in range(positions.universe.shape[1]):
            if (sizes >> np.uint64(bit)) & np.uint64(1):
                if first < 0:
                    first = bit
                last = bit
        view.smallest[e] = positions.universe[e, max(first, 0)]
        view.largest[e] = positions.universe[e, last]
    for r in range(positions.space.shape[0]):
        if positions.space[r] >= 0:
            view.space[r] = domains[positions.space[r]]
        if positions.stages[r] >= 0:
            view.pipelined[r] = 1 if domains[positions.stages[r]] != 1 else 0
    for i in range(problem.shared_put.shape[0]):
        put = problem.shared_put[i]
        if put >= 0:
            if view.order[problem.first_rounds[i], problem.second_rounds[i]] & MERGED and view.possible[put]:
                view.active[i] = 0
            elif positions.member[i] < 0:
                view.active[i] = 1
    if positions.warps >= 0:
        view.in_order[0] = 0 if domains[positions.warps] & ~np.uint64(IN_ORDER) else 1
    grid[SHARED_BYTES] = max(0, bounds[0, positions.shared]) if positions.shared >= 0 else 0.0


@compiled
def tie(problem: Problem, positions: Positions, view: View) -> bool:
    """Registers connect two loops that are merged, both unrolled (or vectors), or both threads: kinds that the other end rules
    out go. False if nothing is left: then there is no completion."""
    copied = UNROLL | VECTOR
    for _ in range(2):
        for pair in range(positions.tied.shape[0]):
            first, second = positions.tied[pair, 0], positions.tied[pair, 1]
            if not view.active[problem.dim_owner[first]] or not view.active[problem.dim_owner[second]]:
                continue
            one, other = view.kind[first], view.kind[second]
            first_wide = one | copied if one & copied else one
            second_wide = other | copied if other & copied else other
            one &= second_wide
            other &= first_wide
            if one == 0 or other == 0:
                return False
            view.kind[first] = one
            view.kind[second] = other
    return True


@entry
def bound_of(
    positions: Positions,
    problem: Problem,
    figures: TargetFigures,
    view: View,
    scratch: Scratch,
    domains: Domains,
    members: Bytes,
    bounds: Ints,
) -> float:
    """Nanoseconds; infinite where no completion is left."""
    read(positions, problem, domains, members, bounds, view, scratch.grid)
    if not tie(problem, positions, view):
        return np.inf
    return evaluate(problem, figures, view, scratch)
