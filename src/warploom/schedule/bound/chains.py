"""Time of one thread that no parallelism hides: loops that surely run one after another, and what is surely inside each.

    time(loop)  = size * cycle(loop)
    cycle(loop) >= loop control
                >= time of a loop surely inside, after the results it waits for
                >= latencies along results that stay inside one iteration      (GPU: instructions issue in order)
                >= unrolled copies to issue
                >= a sum carried by the loop: latency * copies that extend the same sum

The whole kernel is a loop of one iteration. Block loops and lanes take no part, waves multiply the total.
"""

from __future__ import annotations

from warploom.schedule.bound.facts import LEAST_COPIES, MOST_LANES, whole_rounds
from warploom.schedule.bound.problem import (
    BEFORE,
    BY_THREAD,
    CACHE_ALL,
    CACHE_READ_ONLY,
    CHAIN,
    COMPUTE,
    GLOBAL_LATENCY,
    IN_GLOBAL,
    IN_SHARED,
    ISSUE,
    LOAD,
    LOOP,
    LOOP_LATENCY,
    MERGED,
    NEAR_LATENCY,
    OUTER,
    SHARED_LATENCY,
    STORE,
    UNROLL,
    Floats,
    Ints,
    Problem,
    TargetFigures,
    View,
)
from warploom.solve.jit import compiled

NO_LOOP = -1

REORDERED = 512.0
"""Instructions that a core of a CPU has in flight: so many of the following sums overlap with the one that is waited for."""


@compiled
def least_latency(problem: Problem, figures: TargetFigures, view: View, instruction: int) -> float:
    """Nanoseconds from an instruction to its user."""
    operation = problem.operation[instruction]
    if operation == STORE:
        return 0.0
    region = problem.region[instruction]
    if operation == LOAD:
        space = view.space[region]
        shared = figures.latencies[SHARED_LATENCY]
        far = figures.latencies[GLOBAL_LATENCY]
        if view.cache[instruction] & (CACHE_ALL | CACHE_READ_ONLY):
            far = min(far, figures.latencies[NEAR_LATENCY])
        if space == IN_GLOBAL:
            return far
        return shared if space == IN_SHARED else min(shared, far)
    return problem.latency[instruction]


@compiled
def is_ahead(problem: Problem, view: View, instruction: int) -> bool:
    """Its operands may be of an earlier iteration: it fills or reads a temporary that may be filled ahead."""
    region = problem.region[instruction]
    return region >= 0 and problem.is_temporary[region] != 0 and view.pipelined[region] != 0


@compiled
def find_loops(problem: Problem, view: View, found: Ints) -> int:
    """Dims that are surely sequential loops, one of each group surely merged, innermost first; how many."""
    count = 0
    for dim in range(problem.dim_statement.shape[0]):
        if view.kind[dim] != LOOP or not view.active[problem.dim_owner[dim]] or count >= found.shape[0]:
            continue
        is_first = True
        for k in range(count):
            if view.order[problem.dim_statement[found[k]], problem.dim_statement[dim]] == MERGED:
                is_first = False
                break
        if is_first:
            found[count] = dim
            count += 1
    inside = 0
    for position in range(count):
        best = position
        fewest = count + 1
        for k in range(position, count):
            inside = 0
            for other in range(position, count):
                if view.order[problem.dim_statement[found[k]], problem.dim_statement[found[other]]] == OUTER:
                    inside += 1
            if inside < fewest:
                fewest = inside
                best = k
        chosen = found[best]
        for k in range(best, position, -1):
            found[k] = found[k - 1]
        found[position] = chosen
    return count


@compiled
def is_inside(problem: Problem, view: View, loop: int, instruction: int) -> bool:
    """`loop` -1: the whole kernel."""
    if not view.active[instruction]:
        return False
    if loop == NO_LOOP:
        return True
    return view.order[problem.dim_statement[loop], problem.instruction_statement[instruction]] == OUTER


@compiled
def carried(problem: Problem, view: View, loop: int, instruction: int) -> float:
    """Additions to one sum that follow each other in one iteration of the loop, 0 if the loop carries no sum."""
    carries = loop == NO_LOOP
    copies = 1.0
    for n in range(problem.own_start[instruction], problem.own_start[instruction + 1]):
        own = problem.own_dims[n]
        if not problem.dim_reduces[own]:
            continue
        if view.kind[own] == UNROLL and view.partials[own] == CHAIN:
            copies *= whole_rounds(problem, view, int(problem.dim_extent[own]))
        if loop != NO_LOOP:
            merged = view.order[problem.dim_statement[loop], problem.dim_statement[own]] == MERGED
            if (own == loop or merged) and view.partials[own] == CHAIN:
                carries = True
    return float(copies) if carries else 0.0


@compiled
def depends(problem: Problem, view: View, loop: int, instruction: int) -> bool:
    """The loop is surely one of the instruction's own."""
    if loop == NO_LOOP or problem.dim_owner[loop] == instruction:
        return True
    for n in range(problem.own_start[instruction], problem.own_start[instruction + 1]):
        if view.order[problem.dim_statement[loop], problem.dim_statement[problem.own_dims[n]]] == MERGED:
            return True
    return False


@compiled
def must_issue(problem: Problem, figures: TargetFigures, view: View, loop: int, instruction: int) -> bool:
    """No compiler takes it out of the loop, nor finds it equal to another."""
    if figures.kept == 0:
        return True
    if not depends(problem, view, loop, instruction) or problem.leader[instruction] != instruction:
        return False
    return figures.is_cuda or problem.operation[instruction] == COMPUTE


@compiled
def joined_rounds(
    problem: Problem, figures: TargetFigures, view: View, loop: int, rounds: float, count: int, found: Ints
) -> float:
    """Iterations of the loop whose waiting may overlap since a compiler joins them: of innermost ones."""
    for k in range(count):
        is_within = loop == NO_LOOP or view.order[problem.dim_statement[loop], problem.dim_statement[found[k]]] == OUTER
        if is_within and whole_rounds(problem, view, int(problem.dim_extent[found[k]])) > figures.unrolled:
            return 1.0
    return rounds if rounds <= figures.unrolled else figures.overlapped


@compiled
def find_times(
    problem: Problem, figures: TargetFigures, view: View, facts: Floats, found: Ints, times: Floats, starts: Floats
) -> int:
    """Fills `found` with loops and `times` with their nanoseconds, innermost first, the whole kernel last; how many loops."""
    count = find_loops(problem, view, found)
    pace = figures.rates[BY_THREAD, ISSUE]
    for k in range(count + 1):
        loop = found[k] if k < count else NO_LOOP
        rounds = whole_rounds(problem, view, int(problem.dim_extent[loop])) if k < count else 1.0
        joined = joined_rounds(problem, figures, view, loop, rounds, count, found)
        cycle = figures.latencies[LOOP_LATENCY] / joined if k < count and rounds > figures.unrolled else 0.0
        issued = 0.0
        for i in range(problem.instruction_statement.shape[0]):
            if is_inside(problem, view, loop, i) and must_issue(problem, figures, view, loop, i):
                issued += facts[i, LEAST_COPIES] / facts[i, MOST_LANES] * problem.issues[i]
            if is_inside(problem, view, loop, i) and problem.reduces[i]:
                waits = carried(problem, view, loop, i)
                if waits > 0.0 and not figures.is_cuda:
                    waits /= 1.0 + REORDERED / (waits * rounds)
                cycle = max(cycle, waits * problem.latency[i])
        cycle = max(cycle, issued / pace)
        for inner in range(k):
            if loop == NO_LOOP or view.order[problem.dim_statement[loop], problem.dim_statement[found[inner]]] == OUTER:
                cycle = max(cycle, times[inner])
        if figures.is_cuda:
            path = longest_path(problem, figures, view, loop, k, found, times, starts)
            cycle = max(cycle, path / joined if k < count else path)
        times[k] = cycle * rounds
    return count


@compiled
def longest_path(
    problem: Problem, figures: TargetFigures, view: View, loop: int, inner_count: int, found: Ints, times: Floats, starts: Floats
) -> float:
    """Latest time that an instruction of one iteration can start or an inner loop can end, by what each must wait for.

    Results pass through an inner loop only if it surely starts after the producer and surely ends before the user.
    """
    longest = 0.0
    for position in range(problem.rank.shape[0]):
        i = problem.rank[position]
        starts[i] = 0.0
        if not is_inside(problem, view, loop, i):
            continue
        statement = problem.instruction_statement[i]
        start = 0.0
        for n in range(problem.source_start[i], problem.source_start[i + 1]):
            producer = problem.sources[n]
            is_late = figures.kept == 0 or depends(problem, view, loop, producer)
            if is_inside(problem, view, loop, producer) and is_late and not is_ahead(problem, view, i):
                start = max(start, starts[producer] + least_latency(problem, figures, view, producer))
        for k in range(inner_count):
            inner = problem.dim_statement[found[k]]
            if loop != NO_LOOP and view.order[problem.dim_statement[loop], inner] != OUTER:
                continue
            if view.order[inner, statement] == BEFORE:
                end = times[k]
                for member in range(problem.instruction_statement.shape[0]):
                    if view.active[member] and view.order[inner, problem.instruction_statement[member]] == OUTER:
                        for n in range(problem.source_start[member], problem.source_start[member + 1]):
                            producer = problem.sources[n]
                            if (
                                view.active[producer]
                                and view.order[problem.instruction_statement[producer], inner] == BEFORE
                                and is_inside(problem, view, loop, producer)
                                and is_ranked_before(problem, producer, i)
                                and not is_ahead(problem, view, member)
                                and (figures.kept == 0 or depends(problem, view, loop, producer))
                            ):
                                ready = starts[producer] + least_latency(problem, figures, view, producer)
                                end = max(end, ready + times[k])
                start = max(start, end)
        starts[i] = start
        longest = max(longest, start)
    return float(longest)


@compiled
def is_ranked_before(problem: Problem, first: int, second: int) -> bool:
    """`first` is settled when `second` is: producers come first in `rank`."""
    for position in range(problem.rank.shape[0]):
        if problem.rank[position] == first:
            return True
        if problem.rank[position] == second:
            return False
    return False
