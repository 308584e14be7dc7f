"""Amounts of every resource that a candidate surely uses, on one thread, one core and the whole machine.

Usage of an access in transactions: one moves a line of the first level for a warp. Usage of the loops: every instruction is
inside all its own loops, so its innermost sequential loop runs once per point, unrolled copies and lanes apart.
"""

from __future__ import annotations

from warploom.schedule.bound.compiled import compiled
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
from warploom.schedule.bound.lines import lines_per_point, refetched, vector_gain
from warploom.schedule.bound.problem import (
    ALU,
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
    MEMORY,
    STORES,
    Floats,
    Ints,
    Machine,
    Problem,
    View,
)


@compiled
def use(usage: Floats, facts: Floats, instruction: int, resource: int, per_point: float, per_thread: float) -> None:
    """Adds an amount per execution of a point, and on one thread."""
    repeats = facts[instruction, REPEATS]
    usage[instruction, BY_MACHINE, resource] += facts[instruction, POINTS] * repeats * per_point
    usage[instruction, BY_CORE, resource] += facts[instruction, SHARE] * per_point
    usage[instruction, BY_THREAD, resource] += facts[instruction, SERIAL] * per_thread


@compiled
def find_usage(
    problem: Problem,
    machine: Machine,
    view: View,
    facts: Floats,
    grid: Floats,
    usage: Floats,
    loops: Floats,
    lanes: Ints,
    seen: Ints,
) -> None:
    """`usage[instruction, level, resource]` of the bodies and `loops[level, resource]` of loop control."""
    usage[:] = 0.0
    loops[:] = 0.0
    for i in range(problem.instruction_statement.shape[0]):
        if not view.active[i]:
            continue
        wasted = wasted_lanes(problem, machine, facts, grid, i)
        operation = problem.operation[i]
        if operation == COMPUTE:
            issued = problem.issues[i] / facts[i, MOST_LANES]
            use(usage, facts, i, ISSUE, issued * wasted, issued)
            use(usage, facts, i, ALU, issued * wasted, issued)
        else:
            use_memory(problem, machine, view, facts, i, wasted, usage, lanes, seen)
        if facts[i, LEAST_LOOPS] > 1.0:
            copies = facts[i, MOST_COPIES]
            rounds = facts[i, POINTS] * facts[i, REPEATS] / copies * wasted
            shared = facts[i, SHARE] / copies * wasted
            serial = facts[i, SERIAL] / copies
            loops[BY_MACHINE, ISSUE] = max(loops[BY_MACHINE, ISSUE], rounds * machine.loop_issues)
            loops[BY_MACHINE, ALU] = max(loops[BY_MACHINE, ALU], rounds * machine.loop_alus)
            loops[BY_CORE, ISSUE] = max(loops[BY_CORE, ISSUE], shared * machine.loop_issues)
            loops[BY_CORE, ALU] = max(loops[BY_CORE, ALU], shared * machine.loop_alus)
            loops[BY_THREAD, ISSUE] = max(loops[BY_THREAD, ISSUE], serial * machine.loop_issues)
            loops[BY_THREAD, ALU] = max(loops[BY_THREAD, ALU], serial * machine.loop_alus)


@compiled
def use_memory(
    problem: Problem,
    machine: Machine,
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
    port = MEMORY if machine.is_cuda or operation == LOAD else STORES
    if not machine.is_cuda:
        gain = vector_gain(problem, view, facts, instruction)
        use(usage, facts, instruction, ISSUE, 1.0 / gain, 1.0 / gain)
        use(usage, facts, instruction, port, 1.0 / gain, 1.0 / gain)
        if not problem.is_temporary[region]:
            for level, resource in ((0, L1_LINES), (1, L2_READ)):
                size = float(machine.lines[level])
                fetched = refetched(problem, view, instruction, size, float(machine.capacities[level]), True) / size
                usage[instruction, BY_MACHINE, resource] += fetched
                usage[instruction, BY_CORE, resource] += fetched / machine.cores
        return
    requests = 1.0 / facts[instruction, MOST_LANES]
    issued = requests * wasted
    is_global = view.space[region] == IN_GLOBAL and not problem.is_temporary[region]
    moved = issued
    if is_global:
        near = lines_per_point(problem, machine, view, facts, instruction, machine.lines[0], lanes, seen)
        moved = max(issued, near * machine.warp)
        if machine.replays_issue:
            issued = moved
        far = lines_per_point(problem, machine, view, facts, instruction, machine.lines[1], lanes, seen)
        if operation == LOAD:
            if not (machine.has_l1 and view.cache[instruction] & (CACHE_ALL | CACHE_READ_ONLY)):
                use(usage, facts, instruction, L1_LINES, near, 0.0)
                use(usage, facts, instruction, L2_READ, far, 0.0)
        else:
            use(usage, facts, instruction, L2_STORED, far, 0.0)
    use(usage, facts, instruction, ISSUE, issued, requests)
    use(usage, facts, instruction, port, moved, requests)


@compiled
def loop_rounds(problem: Problem, machine: Machine, view: View, facts: Floats, grid: Floats, instruction: int) -> float:
    """Iterations of the innermost sequential loop around the instruction that one thread runs one after another."""
    sure = facts[instruction, LEAST_LOOPS] * grid[WAVES]
    if facts[instruction, LEAST_LOOPS] <= 1.0:
        return 0.0
    return max(sure, facts[instruction, SERIAL] / facts[instruction, MOST_COPIES])
