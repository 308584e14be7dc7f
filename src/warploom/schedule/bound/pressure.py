"""Amounts of every resource that a candidate surely uses, on one thread, one core and the whole machine.

Usage of an access in transactions: one moves a line of the first level for a warp. Usage of the loops: every instruction is
inside all its own loops, so its innermost sequential loop runs once per point, unrolled copies and lanes apart.

Operands (GPU): a thread keeps what it loaded in registers, so it uses it for other points of its own only. Where arithmetic runs
over axes that its operand does not have, those of them that are loops of one thread are all the reuse there is; the loads, or
those from the temporary between, are at least points / reuse.

What a compiler leaves out (see `meetings`): on a CPU loads count as what registers cannot have kept (`refetch`), and what goes
into a temporary and comes from it as nothing, since values in one body never need to go there. On a GPU loads of equal elements
by one thread count once. `plain` has what the nest says, for guesses.

Totals over S threads (GPU): each of them takes part in a tree of at least log2(min(S, 32)) exchanges and additions.
"""

from __future__ import annotations

from math import log2

import numpy as np

from warploom.schedule.bound.facts import (
    LEAST_LOOPS,
    MOST_COPIES,
    MOST_LANES,
    POINTS,
    REPEATS,
    SERIAL,
    SHARE,
    WAVES,
    wasted_lanes,
)
from warploom.schedule.bound.lines import lines_per_point, turned_gain, vector_gain
from warploom.schedule.bound.problem import (
    ALU,
    ANY_LOOP,
    BY_CORE,
    BY_MACHINE,
    BY_THREAD,
    CACHE_ALL,
    CACHE_READ_ONLY,
    COMPUTE,
    IN_GLOBAL,
    ISSUE,
    L1_LINES,
    L2_READ,
    L2_STORED,
    LOAD,
    LOOP,
    MEMORY,
    STORES,
    THREAD,
    UNROLL,
    VECTOR,
    Floats,
    Ints,
    Problem,
    Scratch,
    TargetFigures,
    View,
)
from warploom.schedule.bound.refetch import INTO_NEAR, INTO_REGISTERS, INTO_SECOND, equal_loads, refetch
from warploom.solve.jit import compiled


@compiled
def use(usage: Floats, facts: Floats, instruction: int, resource: int, per_point: float, per_thread: float) -> None:
    """Adds an amount per execution of a point, and on one thread."""
    repeats = facts[instruction, REPEATS]
    usage[instruction, BY_MACHINE, resource] += facts[instruction, POINTS] * repeats * per_point
    usage[instruction, BY_CORE, resource] += facts[instruction, SHARE] * per_point
    usage[instruction, BY_THREAD, resource] += facts[instruction, SERIAL] * per_thread


@compiled
def per_element(problem: Problem, instruction: int, together: float) -> float:
    """Load of one element on a CPU's ports, in instructions of the widest kind, if one takes up to `together` elements."""
    power = int(np.ceil(np.log2(max(1.0, together)) - 1e-9))
    return problem.per_element[instruction, min(power, problem.per_element.shape[1] - 1)]


@compiled
def find_usage(problem: Problem, figures: TargetFigures, view: View, scratch: Scratch) -> None:
    """Fills `usage`, `loops`, `plain` and `again` of the scratch."""
    facts, usage, loops, plain, again = scratch.facts, scratch.usage, scratch.loops, scratch.plain, scratch.again
    usage[:] = 0.0
    loops[:] = 0.0
    plain[:] = 0.0
    for i in range(problem.instruction_statement.shape[0]):
        if not view.active[i]:
            continue
        wasted = wasted_lanes(problem, figures, facts, scratch.grid, i)
        operation = problem.operation[i]
        if operation == COMPUTE:
            issued = problem.issues[i] / facts[i, MOST_LANES]
            computed = issued if figures.is_cuda else problem.issues[i] * per_element(problem, i, facts[i, MOST_LANES])
            plain[ALU] += facts[i, POINTS] * computed
            use(usage, facts, i, ISSUE, issued * wasted, issued)
            use(usage, facts, i, ALU, computed * wasted, computed)
            if figures.is_cuda and problem.reduces[i]:
                use_combining(problem, figures, view, facts, i, usage)
        elif not problem.of_warps[i]:
            if figures.is_cuda:
                use_memory(problem, figures, view, facts, i, wasted, usage, scratch.lanes, scratch.seen)
            else:
                use_ports(problem, figures, view, facts, i, usage, plain, again[i])
        if facts[i, LEAST_LOOPS] > 1.0 and not problem.of_warps[i]:
            copies = facts[i, MOST_COPIES]
            rounds = facts[i, POINTS] * facts[i, REPEATS] / copies * wasted
            shared = facts[i, SHARE] / copies * wasted
            serial = facts[i, SERIAL] / copies
            loops[BY_MACHINE, ISSUE] = max(loops[BY_MACHINE, ISSUE], rounds * figures.loop_issues)
            loops[BY_MACHINE, ALU] = max(loops[BY_MACHINE, ALU], rounds * figures.loop_alus)
            loops[BY_CORE, ISSUE] = max(loops[BY_CORE, ISSUE], shared * figures.loop_issues)
            loops[BY_CORE, ALU] = max(loops[BY_CORE, ALU], shared * figures.loop_alus)
            loops[BY_THREAD, ISSUE] = max(loops[BY_THREAD, ISSUE], serial * figures.loop_issues)
            loops[BY_THREAD, ALU] = max(loops[BY_THREAD, ALU], serial * figures.loop_alus)
    if figures.is_cuda:
        for i in range(problem.instruction_statement.shape[0]):
            is_global = problem.operation[i] == LOAD and not problem.is_temporary[problem.region[i]]
            if view.active[i] and is_global and not may_overlap(problem, view, i):
                use_operand(problem, view, facts, i, usage)
        if figures.kept > 0:
            for i in range(problem.instruction_statement.shape[0]):
                if problem.member_start[i + 1] - problem.member_start[i] > 1:
                    share_equal(problem, view, i, usage)


@compiled
def share_equal(problem: Problem, view: View, leader: int, usage: Floats) -> None:
    """Counts, among loads of one array that may read the same elements in a thread, only those that surely do not."""
    count = equal_loads(problem, view, leader, ANY_LOOP)
    first, last = problem.member_start[leader], problem.member_start[leader + 1]
    for level in range(usage.shape[1]):
        for resource in range(usage.shape[2]):
            least_used = usage[leader, level, resource]
            for n in range(first, last):
                if view.active[problem.members[n]]:
                    least_used = min(least_used, usage[problem.members[n], level, resource])
            for n in range(first, last):
                usage[problem.members[n], level, resource] = 0.0
            usage[leader, level, resource] = least_used * count


@compiled
def use_combining(problem: Problem, figures: TargetFigures, view: View, facts: Floats, instruction: int, usage: Floats) -> None:
    """Counts the exchanges and additions between the threads of a reduction."""
    together = 1.0
    reduced = 1.0
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        is_reduced = False
        inside = 1.0
        for level in range(problem.axis_extents.shape[1]):
            dim = problem.slot_dims[slot, level]
            if dim >= 0 and problem.dim_reduces[dim]:
                is_reduced = True
                if view.kind[dim] == THREAD:
                    inside *= view.smallest[problem.dim_extent[dim]]
        if is_reduced:
            reduced *= problem.axis_size[problem.slot_axis[slot]]
            together *= inside
    if together > 1.0:
        steps = float(log2(min(together, 32.0)) * together / max(reduced, together))
        use(usage, facts, instruction, ISSUE, 2.0 * steps, 2.0 * steps)
        use(usage, facts, instruction, MEMORY, steps * figures.shuffled, steps)


@compiled
def use_operand(problem: Problem, view: View, facts: Floats, load: int, usage: Floats) -> None:
    """Raises the usage of a load, and of those from the temporaries that hold its value, to what its users ask for."""
    instructions = problem.instruction_statement.shape[0]
    lanes = facts[load, MOST_LANES]
    for get in range(instructions):
        if holds_value_of(problem, get, load):
            lanes = max(lanes, facts[get, MOST_LANES] if view.active[get] else float(problem.vectors[load]))
    for level in range(3):
        asked = 0.0
        for user in range(instructions):
            if not view.active[user] or problem.operation[user] != COMPUTE or not has_source(problem, user, load):
                continue
            if problem.of_warps[user]:
                continue
            points = facts[user, POINTS]
            if level == BY_CORE:
                points = facts[user, SHARE]
            elif level == BY_THREAD:
                points = facts[user, SERIAL]
            asked = max(asked, points / reuse(problem, view, user, load, LOOP | UNROLL | VECTOR) / lanes)
        for resource in (ISSUE, MEMORY):
            found = usage[load, level, resource]
            for get in range(instructions):
                if view.active[get] and holds_value_of(problem, get, load):
                    found += usage[get, level, resource]
            if asked > found:
                usage[load, level, resource] += asked - found


@compiled
def may_overlap(problem: Problem, view: View, load: int) -> bool:
    """Points of a load meet in elements of an array that may be a box in shared memory, from which a thread loads each once."""
    return not problem.is_injective[load] and view.space[problem.region[load]] != IN_GLOBAL


@compiled
def has_source(problem: Problem, user: int, producer: int) -> bool:
    is_found = False
    for n in range(problem.source_start[user], problem.source_start[user + 1]):
        is_found = is_found or problem.sources[n] == producer
    return is_found


@compiled
def holds_value_of(problem: Problem, get: int, load: int) -> bool:
    """Whether `get` reads a temporary that the value of `load` is put into."""
    if problem.operation[get] != LOAD or not problem.is_temporary[problem.region[get]]:
        return False
    is_found = False
    for n in range(problem.source_start[get], problem.source_start[get + 1]):
        is_found = is_found or has_source(problem, problem.sources[n], load)
    return is_found


@compiled
def reuse(problem: Problem, view: View, user: int, load: int, mask: int) -> float:
    """Most points of the user, in loops whose kind may be in `mask`, that want the same element of an operand."""
    product = 1.0
    for slot in range(problem.slot_start[user], problem.slot_start[user + 1]):
        axis = problem.slot_axis[slot]
        is_shared = False
        for other in range(problem.slot_start[load], problem.slot_start[load + 1]):
            if problem.slot_axis[other] == axis:
                is_shared = True
        if is_shared:
            continue
        inside = 1.0
        outside = 1.0
        tiles = 1.0
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            if level > 0:
                tiles *= view.largest[extent]
            dim = problem.slot_dims[slot, level]
            if dim >= 0 and view.kind[dim] & mask:
                inside *= view.largest[extent]
            else:
                outside *= view.smallest[extent]
        whole = float(problem.axis_size[axis])
        if not problem.axis_divides[axis]:
            whole += tiles - 1.0
        product *= max(1.0, min(inside, whole / outside))
    return float(product)


@compiled
def use_memory(
    problem: Problem,
    figures: TargetFigures,
    view: View,
    facts: Floats,
    instruction: int,
    wasted: float,
    usage: Floats,
    lanes: Ints,
    seen: Ints,
) -> None:
    operation = problem.operation[instruction]
    region = problem.region[instruction]
    requests = 1.0 / facts[instruction, MOST_LANES]
    if not problem.is_temporary[region] and operation == LOAD and may_overlap(problem, view, instruction):
        requests *= min(1.0, problem.distinct[instruction] / problem.points[instruction])
    issued = requests * wasted
    is_global = view.space[region] == IN_GLOBAL and not problem.is_temporary[region]
    moved = issued
    if is_global:
        near = lines_per_point(problem, figures, view, facts, instruction, figures.lines[0], lanes, seen)
        moved = max(issued, near * figures.line_lanes)
        if figures.replays_issue:
            issued = moved
        far = lines_per_point(problem, figures, view, facts, instruction, figures.lines[1], lanes, seen)
        if operation == LOAD:
            if not (figures.has_l1 and view.cache[instruction] & (CACHE_ALL | CACHE_READ_ONLY)):
                use(usage, facts, instruction, L1_LINES, near, 0.0)
                use(usage, facts, instruction, L2_READ, far, 0.0)
        else:
            use(usage, facts, instruction, L2_STORED, far, 0.0)
    use(usage, facts, instruction, ISSUE, issued, requests)
    use(usage, facts, instruction, MEMORY, moved, requests)


@compiled
def use_ports(
    problem: Problem,
    figures: TargetFigures,
    view: View,
    facts: Floats,
    instruction: int,
    usage: Floats,
    plain: Floats,
    again: Floats,
) -> None:
    """Counts a CPU's accesses by vectors, and lines into the caches."""
    is_load = problem.operation[instruction] == LOAD
    is_temporary = problem.is_temporary[problem.region[instruction]] != 0
    gain = vector_gain(problem, view, facts, instruction)
    if not is_load:
        gain = max(gain, turned_gain(problem, view, instruction))
    used = per_element(problem, instruction, gain)
    plain[MEMORY if is_load else STORES] += facts[instruction, POINTS] * facts[instruction, REPEATS] * used
    refetch(problem, figures, view, facts, instruction, again)
    if is_load:
        gain = max(gain, most_copied(problem, view, instruction))
        for resource, each in ((ISSUE, 1.0 / gain), (MEMORY, per_element(problem, instruction, gain))):
            loads = again[INTO_REGISTERS] * each
            usage[instruction, BY_MACHINE, resource] += loads
            usage[instruction, BY_CORE, resource] += loads / figures.cores
            usage[instruction, BY_THREAD, resource] += loads / figures.cores
    elif not is_temporary:
        if problem.is_copied[problem.sources[problem.source_start[instruction]]]:
            gain = max(gain, float(problem.vectors[instruction]))
        use(usage, facts, instruction, ISSUE, 1.0 / gain, 1.0 / gain)
        used = per_element(problem, instruction, gain)
        use(usage, facts, instruction, STORES, used, used)
    if not is_temporary:
        for level, resource, place in ((0, L1_LINES, INTO_NEAR), (1, L2_READ, INTO_SECOND)):
            fetched = again[place] / figures.lines[level]
            usage[instruction, BY_MACHINE, resource] += fetched
            usage[instruction, BY_CORE, resource] += fetched / figures.cores


@compiled
def most_copied(problem: Problem, view: View, load: int) -> float:
    """Elements that a compiler moves at once where a loop only copies what it loads."""
    is_copied = problem.is_copied[load] != 0
    for put in range(problem.instruction_statement.shape[0]):
        if problem.operation[put] != LOAD and problem.region[put] >= 0 and problem.is_temporary[problem.region[put]]:
            is_copied = is_copied or (view.possible[put] != 0 and has_source(problem, put, load))
    return float(problem.vectors[load]) if is_copied else 1.0


@compiled
def loop_rounds(problem: Problem, figures: TargetFigures, view: View, facts: Floats, grid: Floats, instruction: int) -> float:
    """Iterations of the innermost sequential loop around the instruction that one thread runs one after another."""
    sure = facts[instruction, LEAST_LOOPS] * grid[WAVES] / figures.overlapped
    if facts[instruction, LEAST_LOOPS] <= 1.0 or problem.of_warps[instruction]:
        return 0.0
    return max(sure, facts[instruction, SERIAL] / facts[instruction, MOST_COPIES])
