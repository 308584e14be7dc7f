"""The bound of a view: the largest of what each resource needs on each level, the latencies, and the traffic to memory."""

from __future__ import annotations

from warploom.schedule.bound.chains import find_times
from warploom.schedule.bound.facts import WAVES, find_facts
from warploom.schedule.bound.pressure import find_usage, loop_rounds
from warploom.schedule.bound.problem import (
    ALU,
    BY_MACHINE,
    FUSIBLE,
    L1_LINES,
    L2_READ,
    L2_STORED,
    LOOP_LATENCY,
    PIPES,
    Problem,
    Scratch,
    TargetFigures,
    View,
)
from warploom.schedule.bound.refetch import FROM_MEMORY, refetch
from warploom.solve.jit import compiled

DRAM, LATENCY, LOOPS = 0, 1, 2
"""Nanoseconds of the parts that are not resources, in `Scratch.others`."""


@compiled
def evaluate(problem: Problem, figures: TargetFigures, view: View, scratch: Scratch) -> float:
    """Nanoseconds that every completion of the view takes, at least. A view with every choice decided: the leaf cost."""
    find_facts(problem, figures, view, scratch.facts, scratch.grid)
    find_usage(problem, figures, view, scratch)
    longest = 0.0
    distinct = problem.compulsory_read + problem.compulsory_written
    for level in range(3):
        for resource in range(figures.rates.shape[1]):
            amount = 0.0
            products_and_sums = 0.0
            for pipe in range(PIPES if resource == ALU else 1):
                busy = scratch.loops[level, resource] if pipe == 0 else 0.0
                for i in range(problem.instruction_statement.shape[0]):
                    if resource != ALU or problem.pipe[i] == pipe:
                        busy += scratch.usage[i, level, resource]
                if pipe != FUSIBLE:
                    amount = max(amount, busy)
                if pipe in (0, 1, FUSIBLE):
                    products_and_sums += busy
            amount = max(amount, products_and_sums / 2)  # the two pipes, shared by what may run in both
            if level == BY_MACHINE:
                amount = max(amount, compulsory_lines(problem, figures, resource))
            time = amount / figures.rates[level, resource]
            scratch.totals[level, resource] = time
            longest = max(longest, time)
    moved = max(0.0, distinct - figures.capacities[2])
    rounds = 0.0
    again = 0.0
    for i in range(problem.instruction_statement.shape[0]):
        if view.active[i]:
            rounds = max(rounds, loop_rounds(problem, figures, view, scratch.facts, scratch.grid, i))
            if problem.region[i] >= 0 and not problem.is_temporary[problem.region[i]]:
                if figures.is_cuda:
                    refetch(problem, figures, view, scratch.facts, i, scratch.again[i])
                again = max(again, scratch.again[i, FROM_MEMORY])
    scratch.others[DRAM] = max(moved, again) / figures.bandwidth
    scratch.others[LOOPS] = rounds * figures.latencies[LOOP_LATENCY]
    count = find_times(problem, figures, view, scratch.facts, scratch.found, scratch.times, scratch.starts)
    scratch.others[LATENCY] = scratch.times[count] * scratch.grid[WAVES]
    for part in range(3):
        longest = max(longest, scratch.others[part])
    return figures.launch + longest


@compiled
def compulsory_lines(problem: Problem, figures: TargetFigures, resource: int) -> float:
    """Lines of distinct data that must pass between two levels, those that were there from the start apart."""
    near = figures.cores * float(figures.capacities[0])
    if resource == L1_LINES:
        return max(0.0, problem.compulsory_read - near) / figures.lines[0]
    if resource == L2_READ:
        kept = near if figures.is_cuda else figures.cores * float(figures.capacities[1])
        return max(0.0, problem.compulsory_read - kept) / figures.lines[1]
    if resource == L2_STORED:
        return problem.compulsory_written / figures.lines[1]
    return 0.0
