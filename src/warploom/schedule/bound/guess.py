"""A guess of the time of what a candidate may become, for ordering: the bound, and what it leaves out.

Resources overlap imperfectly (a part of the second largest is added), loads of a CPU whose stride is a large power of two
meet in few sets of a cache and few pages, stores to memory bring their lines in first.
"""

from __future__ import annotations

from warploom.schedule.bound.facts import least_stride
from warploom.schedule.bound.problem import BY_MACHINE, LOOP, MEMORY, STORE, UNROLL, Problem, Scratch, TargetFigures, View
from warploom.solve.jit import entry

OVERLAP = 0.25
"""Share of the parts that do not bind which is not hidden."""
SAME_SET_BYTES = 4096.0
SET_PENALTY = 0.5
"""Share of a cache access that a conflict adds."""


@entry
def guess(problem: Problem, figures: TargetFigures, view: View, scratch: Scratch, bound: float) -> float:
    """Nanoseconds; `bound` is that of the evaluation that `scratch` holds."""
    longest = bound
    for resource in range(scratch.plain.shape[0]):
        longest = max(longest, scratch.plain[resource] / figures.rates[BY_MACHINE, resource])
    second = 0.0
    for resource in range(figures.rates.shape[1]):
        time = scratch.plain[resource] / figures.rates[BY_MACHINE, resource]
        if time < longest:
            second = max(second, time)
        for level in range(3):
            time = scratch.totals[level, resource]
            if time < longest:
                second = max(second, time)
    for part in range(scratch.others.shape[0]):
        if scratch.others[part] < longest:
            second = max(second, scratch.others[part])
    total = longest + OVERLAP * second
    if figures.is_cuda:
        return total
    penalty = 0.0
    written = 0.0
    for i in range(problem.instruction_statement.shape[0]):
        if not view.active[i] or problem.region[i] < 0 or problem.is_temporary[problem.region[i]]:
            continue
        if problem.operation[i] == STORE:
            written = problem.compulsory_written
        meets = 0.0
        for slot in range(problem.slot_start[i], problem.slot_start[i + 1]):
            for level in range(problem.axis_extents.shape[1]):
                dim = problem.slot_dims[slot, level]
                if dim >= 0 and not view.kind[dim] & ~(LOOP | UNROLL):
                    stride = least_stride(problem, view, slot, level) * problem.element_bytes[i]
                    if stride >= SAME_SET_BYTES and stride % SAME_SET_BYTES == 0.0:
                        meets = SET_PENALTY
        penalty += meets * scratch.usage[i, BY_MACHINE, MEMORY] / figures.rates[BY_MACHINE, MEMORY]
    kept = max(0.0, written - figures.capacities[2]) / figures.bandwidth
    return total + penalty + kept
