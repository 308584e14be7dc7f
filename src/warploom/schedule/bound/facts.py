"""What a candidate surely has around each instruction: sizes of loop groups as intervals.

Along an axis the sizes of all levels multiply to the axis (or a little more where tiles do not divide). So for a set X of levels

    product(X) <= min(product of largest(X), most(axis) / product of smallest(others))
    product(X) >= max(product of smallest(X), size(axis) / product of largest(others))

and both only get tighter when a domain shrinks. Everything below is built from such products, from minima over possible
values and from relations that hold in every completion, so each fact is monotone under restriction: that is what makes the
bound sound.
"""

from __future__ import annotations

from warploom.schedule.bound.problem import (
    BLOCK,
    LOOP,
    MERGED,
    OUTER,
    STORE,
    THREAD,
    UNROLL,
    VECTOR,
    Floats,
    Machine,
    Problem,
    View,
)
from warploom.schedule.jit import compiled

(
    POINTS,
    REPEATS,
    SERIAL_REPEATS,
    BLOCK_REPEATS,
    MOST_THREADS,
    LEAST_THREADS,
    MOST_BLOCKS,
    LEAST_BLOCKS,
    MOST_PARALLEL,
    MOST_LANES,
    MOST_COPIES,
    LEAST_COPIES,
    LEAST_LOOPS,
    SERIAL,
    SHARE,
    FACTS,
) = range(16)
"""Columns of the facts of an instruction: points; executions of each point by loops that are not its own (all, sequential ones of
one thread, block loops); threads, blocks, threads times blocks, vector lanes, unrolled copies times lanes (most, least);
iterations of its own sequential loops; executions per thread one after another, waves counted; executions on the busiest core."""

BLOCKS, THREADS, CONCURRENT, WAVES, ACCUMULATORS, RESIDENT, SHARED_BYTES, GRID_FACTS = range(8)
"""Of the whole grid: least blocks, least threads per block, most blocks at once, least waves, least accumulator registers of a
thread, most blocks per core, least bytes of shared memory per block."""


@compiled
def most(problem: Problem, view: View, instruction: int, mask: int) -> float:
    """Largest product of the instruction's own loops whose kind may be in `mask`."""
    product = 1.0
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        inside = 1.0
        outside = 1.0
        tiles = 1.0
        is_any = False
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            if level > 0:
                tiles *= view.largest[extent]
            dim = problem.slot_dims[slot, level]
            if dim >= 0 and view.kind[dim] & mask:
                inside *= view.largest[extent]
                is_any = True
            else:
                outside *= view.smallest[extent]
        if is_any:
            whole = float(problem.axis_size[axis])
            if not problem.axis_divides[axis]:
                whole += tiles - 1.0
            product *= max(1.0, min(inside, whole / outside))
    return float(product)


@compiled
def least(problem: Problem, view: View, instruction: int, mask: int) -> float:
    """Smallest product of the instruction's own loops whose kind is surely in `mask`."""
    product = 1.0
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        inside = 1.0
        outside = 1.0
        is_any = False
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            dim = problem.slot_dims[slot, level]
            if dim >= 0 and not view.kind[dim] & ~mask:
                inside *= view.smallest[extent]
                is_any = True
            else:
                outside *= view.largest[extent]
        if is_any:
            product *= max(inside, problem.axis_size[axis] / outside)
    return float(product)


@compiled
def is_foreign(problem: Problem, view: View, dim: int, instruction: int) -> bool:
    """The loop is surely around the instruction and surely none of its own."""
    outer = problem.dim_statement[dim]
    if view.order[outer, problem.instruction_statement[instruction]] != OUTER:
        return False
    for n in range(problem.own_start[instruction], problem.own_start[instruction + 1]):
        own = problem.own_dims[n]
        if own == dim or view.order[outer, problem.dim_statement[own]] & MERGED:
            return False
    return True


@compiled
def find_repeats(problem: Problem, view: View, facts: Floats, instruction: int) -> None:
    """Executions of every point by loops of other instructions. The loops of one owner never merge with each other, so their
    product counts; between owners the largest."""
    every = 1.0
    serial = 1.0
    blocks = 1.0
    for owner in range(problem.own_start.shape[0] - 1):
        if owner == instruction or not view.active[owner]:
            continue
        all_loops = 1.0
        serial_loops = 1.0
        block_loops = 1.0
        for n in range(problem.own_start[owner], problem.own_start[owner + 1]):
            dim = problem.own_dims[n]
            kind = view.kind[dim]
            if kind & THREAD or not is_foreign(problem, view, dim, instruction):
                continue
            size = view.smallest[problem.dim_extent[dim]]
            all_loops *= size
            if kind == BLOCK:
                block_loops *= size
            elif not kind & BLOCK:
                serial_loops *= size
        every = max(every, all_loops)
        serial = max(serial, serial_loops)
        blocks = max(blocks, block_loops)
    facts[instruction, REPEATS] = every
    facts[instruction, SERIAL_REPEATS] = serial
    facts[instruction, BLOCK_REPEATS] = blocks


@compiled
def find_facts(problem: Problem, machine: Machine, view: View, facts: Floats, grid: Floats) -> None:
    """Fills `facts[instruction, column]` for the active instructions and `grid[column]`."""
    blocks = 1.0
    threads = 1.0
    accumulators = 0.0
    for i in range(problem.instruction_statement.shape[0]):
        if not view.active[i]:
            continue
        facts[i, POINTS] = least(problem, view, i, 31)
        find_repeats(problem, view, facts, i)
        facts[i, MOST_THREADS] = min(float(machine.max_threads), most(problem, view, i, THREAD))
        facts[i, LEAST_THREADS] = least(problem, view, i, THREAD)
        facts[i, MOST_BLOCKS] = most(problem, view, i, BLOCK)
        facts[i, LEAST_BLOCKS] = least(problem, view, i, BLOCK)
        facts[i, MOST_PARALLEL] = most(problem, view, i, BLOCK | THREAD)
        together = VECTOR
        if machine.is_cuda and problem.region[i] >= 0 and problem.is_temporary[problem.region[i]]:
            together |= UNROLL  # aligned neighbours in shared memory: compilers make vectors of them
        facts[i, MOST_LANES] = min(float(problem.vectors[i]), most(problem, view, i, together))
        facts[i, MOST_COPIES] = most(problem, view, i, UNROLL | VECTOR)
        facts[i, LEAST_COPIES] = least(problem, view, i, UNROLL)
        facts[i, LEAST_LOOPS] = least(problem, view, i, LOOP)
        blocks = max(blocks, facts[i, LEAST_BLOCKS] * facts[i, BLOCK_REPEATS])
        threads = max(threads, facts[i, LEAST_THREADS])
        if problem.reduces[i]:
            accumulators = max(accumulators, least_accumulators(problem, view, i))
    resident = float(machine.core_blocks)
    warps = -(-int(threads) // machine.warp)
    resident = min(resident, float(max(1, machine.core_threads // (warps * machine.warp))))
    kept = min(accumulators, float(machine.registers))
    if machine.is_cuda and kept >= 1.0:
        resident = min(resident, max(1.0, machine.core_registers // (kept * warps * machine.warp)))
    if machine.is_cuda and grid[SHARED_BYTES] > 0.0:
        resident = min(resident, max(1.0, machine.core_shared // grid[SHARED_BYTES]))
    concurrent = resident * machine.cores
    waves = -(-blocks // concurrent)
    grid[BLOCKS] = blocks
    grid[THREADS] = threads
    grid[CONCURRENT] = concurrent
    grid[WAVES] = waves
    grid[ACCUMULATORS] = accumulators
    grid[RESIDENT] = resident
    busiest = -(-blocks // machine.cores)
    for i in range(problem.instruction_statement.shape[0]):
        if view.active[i]:
            points = facts[i, POINTS]
            once = points * facts[i, SERIAL_REPEATS]
            own = min(facts[i, MOST_PARALLEL], facts[i, MOST_THREADS] * facts[i, MOST_BLOCKS])
            at_once = machine.cores * min(float(machine.core_threads), facts[i, MOST_THREADS] * resident)
            every = points * facts[i, REPEATS]
            facts[i, SERIAL] = max(once / own * waves, every / at_once)
            facts[i, SHARE] = max(once / facts[i, MOST_BLOCKS] * busiest, every / machine.cores)


@compiled
def least_accumulators(problem: Problem, view: View, instruction: int) -> float:
    """Registers of partial results that live across a sequential loop of a reduction, in 32-bit words: its unrolled copies are
    inside that loop, so each of them keeps its own."""
    is_carried = False
    copies = 1.0
    for n in range(problem.own_start[instruction], problem.own_start[instruction + 1]):
        dim = problem.own_dims[n]
        if problem.dim_reduces[dim]:
            is_carried = is_carried or view.kind[dim] == LOOP
        elif not view.kind[dim] & ~(UNROLL | VECTOR):
            copies *= view.smallest[problem.dim_extent[dim]]
    return copies * problem.element_bytes[instruction] / 4.0 if is_carried else 0.0


@compiled
def wasted_lanes(problem: Problem, machine: Machine, facts: Floats, grid: Floats, instruction: int) -> float:
    """Lanes that a warp instruction occupies per useful one: short blocks, and threads that do not run this nest's own loops.
    Those repeat loads and sums, but skip stores."""
    if not machine.is_cuda:
        return 1.0
    running = facts[instruction, LEAST_THREADS] if problem.operation[instruction] == STORE else grid[THREADS]
    warps = -(-running // machine.warp)
    return max(1.0, machine.warp * warps / facts[instruction, MOST_THREADS])
