"""A guess for GPUs: the bound as if undecided loops became what they mostly are in fast kernels.

Outer parts of an axis blocks, inner ones threads, the innermost registers; sums over an axis sequential outside, unrolled inside,
and by threads between where there are few results. It only orders candidates: none is left out for it.
"""

from __future__ import annotations

import numpy as np

from warploom.schedule.bound.facts import ACCUMULATORS, MOST_THREADS, POINTS, THREADS
from warploom.schedule.bound.pressure import has_source, reuse
from warploom.schedule.bound.problem import (
    BLOCK,
    BY_MACHINE,
    COMPUTE,
    L2_READ,
    LOAD,
    LOOP,
    THREAD,
    UNROLL,
    VECTOR,
    Ints,
    Masks,
    Problem,
    TargetFigures,
    View,
)
from warploom.schedule.bound.total import Scratch, evaluate
from warploom.solve.jit import compiled, entry

FEW = 1024
"""Results per core below which threads share the sum of one."""
SHORT = 8
"""Axes without parts up to this size are unrolled."""
REGISTERS = 160.0
"""Partial results of a thread that leave room for the rest."""
UNUSUAL = 1.3
"""By how much slower a kernel is taken for, per loop of a sum of another kind."""
LEAST_THREADS = 64.0
"""Least threads of a block."""


def usual_kinds(problem: Problem, figures: TargetFigures) -> Masks:
    """By dim: the kinds to assume while more are possible; 0 where there is none. Loads follow their users."""
    found = np.zeros(len(problem.dim_statement), np.uint8)
    slots = len(problem.slot_axis)
    reduced = {
        int(problem.slot_axis[s]) for s in range(slots) for d in problem.slot_dims[s] if d >= 0 and problem.dim_reduces[int(d)]
    }
    stored = [n for n in range(len(problem.operation)) if problem.reduces[n]] or list(range(len(problem.operation)))
    results = max(_results(problem, n, reduced) for n in stored)
    is_few = results < FEW * figures.cores
    for instruction in range(len(problem.operation)):
        region = int(problem.region[instruction])
        if problem.operation[instruction] == LOAD or (region >= 0 and problem.is_temporary[region]):
            continue
        for slot in range(int(problem.slot_start[instruction]), int(problem.slot_start[instruction + 1])):
            dims = [int(d) for d in problem.slot_dims[slot] if d >= 0]
            axis = int(problem.slot_axis[slot])
            for position, dim in enumerate(dims):
                is_short = int(problem.axis_size[axis]) <= SHORT
                found[dim] = _usual(position, len(dims), is_short, axis in reduced, is_few)
    return found


def _usual(position: int, levels: int, is_short: bool, is_reduced: bool, is_few: bool) -> int:
    if levels == 1 and is_short:
        return UNROLL | VECTOR
    is_last = position == levels - 1
    if is_reduced:
        if position == 0:
            return LOOP | UNROLL
        if is_few and position == 1:
            return THREAD
        return UNROLL | VECTOR if is_last else LOOP | UNROLL
    if position == 0:
        return BLOCK
    if position == 1 and levels > 3:
        return UNROLL
    return UNROLL | VECTOR if is_last and levels > 2 else THREAD


def _results(problem: Problem, instruction: int, reduced: set[int]) -> float:
    product = 1.0
    for slot in range(int(problem.slot_start[instruction]), int(problem.slot_start[instruction + 1])):
        axis = int(problem.slot_axis[slot])
        product *= 1.0 if axis in reduced else float(problem.axis_size[axis])
    return product


@compiled
def fetched(problem: Problem, view: View, scratch: Scratch) -> float:
    """Bytes that the blocks load into their cores, each block what its arithmetic wants once."""
    total = 0.0
    for load in range(problem.instruction_statement.shape[0]):
        if problem.operation[load] != LOAD or problem.is_temporary[problem.region[load]]:
            continue
        most = 0.0
        for user in range(problem.instruction_statement.shape[0]):
            if problem.operation[user] == COMPUTE and has_source(problem, user, load):
                kept = reuse(problem, view, user, load, LOOP | UNROLL | VECTOR | THREAD)
                most = max(most, scratch.facts[user, POINTS] / kept)
        total += most * problem.element_bytes[load]
    return total


@entry
def typical(problem: Problem, figures: TargetFigures, view: View, scratch: Scratch, usual: Masks, kinds: Ints) -> float:
    """Nanoseconds; narrows the view."""
    unusual = 1.0
    for dim in range(usual.shape[0]):
        kept = view.kind[dim] & usual[dim]
        if kinds[dim] >= 0 and kept:
            view.kind[dim] = kept
        elif usual[dim] and problem.reduces[problem.dim_owner[dim]] and view.largest[problem.dim_extent[dim]] > 1:
            unusual *= UNUSUAL
    time = evaluate(problem, figures, view, scratch)
    threads, held = scratch.grid[THREADS], scratch.grid[ACCUMULATORS]
    most = 1.0
    for i in range(problem.reduces.shape[0]):
        if view.active[i]:
            most = max(most, scratch.facts[i, MOST_THREADS])
    again = fetched(problem, view, scratch) / figures.lines[1] / figures.rates[BY_MACHINE, L2_READ]
    time = (time**4 + again**4) ** 0.25
    factor = max(1.0, threads / figures.max_threads) * max(1.0, held / REGISTERS)
    return time * unusual * factor * factor * max(1.0, LEAST_THREADS / most) ** 0.5
