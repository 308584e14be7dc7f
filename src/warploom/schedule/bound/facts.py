"""Facts that hold around each instruction of a candidate: sizes of loop groups as intervals.

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
    Problem,
    TargetFigures,
    View,
)
from warploom.solve.jit import compiled

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
"""Positions of the facts of the whole grid: least blocks, least threads per block, most blocks at once, least waves, least
accumulator registers of a thread, most blocks per core, least bytes of shared memory per block."""


@compiled
def whole_rounds(problem: Problem, view: View, extent: int) -> float:
    """Iterations of a loop at a level of an axis in which the levels inside it run whole: where tiles do not divide, the last one
    may be cut off. 1 if even the first one is."""
    least_size = float(view.smallest[extent])
    axis = problem.extent_axis[extent]
    if problem.axis_divides[axis]:
        return least_size
    tiles = 1.0
    for deeper in range(problem.extent_level[extent] + 1, problem.axis_extents.shape[1]):
        other = problem.axis_extents[axis, deeper]
        if other < 0:
            break
        tiles *= view.largest[other]
    return min(least_size, max(1.0, float(problem.axis_size[axis] // tiles)))


@compiled
def most(problem: Problem, view: View, instruction: int, mask: int, unrolled: int) -> float:
    """Largest product of the instruction's own loops whose kind may be in `mask`, and of sequential ones of up to `unrolled`
    iterations."""
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
            elif dim >= 0 and view.kind[dim] & LOOP and view.smallest[extent] <= unrolled:
                inside *= min(view.largest[extent], unrolled)
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
def least_whole(problem: Problem, view: View, instruction: int, mask: int, beyond: int) -> float:
    """Like `least`, for iterations that surely run, in loops of more than so many iterations."""
    product = 1.0
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        if mask == BLOCK and not problem.axis_divides[axis]:
            outer = problem.slot_dims[slot, 0]
            if outer < 0 or view.kind[outer] != BLOCK:
                continue
        inside = 1.0
        outside = 1.0
        is_any = False
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            dim = problem.slot_dims[slot, level]
            rounds = whole_rounds(problem, view, extent)
            if dim >= 0 and not view.kind[dim] & ~mask and rounds > beyond:
                inside *= rounds
                is_any = True
            else:
                outside *= view.largest[extent]
        if is_any and (problem.axis_divides[axis] or mask != BLOCK):
            product *= max(inside, problem.axis_size[axis] / outside)
        elif is_any:
            product *= inside
    return float(product)


@compiled
def least_stride(problem: Problem, view: View, slot: int, level: int) -> float:
    """Bytes between two iterations of the loop at that level, at least."""
    axis = problem.slot_axis[slot]
    stride = abs(float(problem.slot_coefficient[slot]))
    for deeper in range(level + 1, problem.axis_extents.shape[1]):
        extent = problem.axis_extents[axis, deeper]
        if extent < 0:
            break
        stride *= view.smallest[extent]
    return float(stride)


@compiled
def most_lanes(problem: Problem, figures: TargetFigures, view: View, instruction: int) -> float:
    """Elements that one instruction moves or computes at most: compilers make vectors of neighbours that one body accesses."""
    region = problem.region[instruction]
    together = VECTOR
    if figures.is_cuda and region >= 0 and problem.is_temporary[region]:
        together |= UNROLL
    lanes = float(problem.vectors[instruction])
    if figures.kept == 0 or not figures.is_cuda or region < 0 or problem.is_temporary[region]:
        return min(lanes, most(problem, view, instruction, together, 0))
    product = 1.0
    leader = problem.leader[instruction]
    neighbours = max(1, problem.member_start[leader + 1] - problem.member_start[leader])
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            dim = problem.slot_dims[slot, level]
            is_written_out = dim >= 0 and view.kind[dim] & LOOP and view.smallest[extent] <= figures.unrolled
            is_one_body = dim >= 0 and (view.kind[dim] & (VECTOR | UNROLL) or is_written_out)
            if is_one_body and least_stride(problem, view, slot, level) <= neighbours:
                product *= view.largest[extent]
    return min(lanes, float(product * neighbours))


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
def is_made_anew(problem: Problem, figures: TargetFigures, view: View, dim: int, instruction: int) -> bool:
    """Every iteration of a foreign loop surely executes the instruction: a compiler takes what is equal in all of them out of the
    loop, but not what a loop inside makes one after another."""
    if figures.kept == 0:
        return True
    outer = problem.dim_statement[dim]
    for n in range(problem.own_start[instruction], problem.own_start[instruction + 1]):
        own = problem.own_dims[n]
        is_inside = view.kind[own] == LOOP and view.order[outer, problem.dim_statement[own]] == OUTER
        if is_inside and whole_rounds(problem, view, int(problem.dim_extent[own])) > figures.unrolled:
            return True
    return False


@compiled
def find_repeats(problem: Problem, figures: TargetFigures, view: View, facts: Floats, instruction: int) -> None:
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
            size = whole_rounds(problem, view, int(problem.dim_extent[dim]))
            is_block = kind == BLOCK
            if is_block:
                block_loops *= size
            if (is_block and figures.is_cuda) or is_made_anew(problem, figures, view, dim, instruction):
                all_loops *= size
                if not kind & BLOCK:
                    serial_loops *= size
        every = max(every, all_loops)
        serial = max(serial, serial_loops)
        blocks = max(blocks, block_loops)
    facts[instruction, REPEATS] = every
    facts[instruction, SERIAL_REPEATS] = serial
    facts[instruction, BLOCK_REPEATS] = blocks


@compiled
def may_share_sums(problem: Problem, view: View) -> bool:
    """Some reduced loop may be a block: what is behind it runs once, not in each block."""
    for dim in range(problem.dim_statement.shape[0]):
        if problem.dim_reduces[dim] and view.kind[dim] & BLOCK and view.active[problem.dim_owner[dim]]:
            return True
    return False


@compiled
def find_facts(problem: Problem, figures: TargetFigures, view: View, facts: Floats, grid: Floats) -> None:
    """Fills `facts[instruction, column]` for the active instructions and `grid[column]`."""
    blocks = 1.0
    threads = 1.0
    accumulators = 0.0
    for i in range(problem.instruction_statement.shape[0]):
        if not view.active[i]:
            continue
        facts[i, POINTS] = problem.points[i]
        if problem.points[i] < 0.0:
            facts[i, POINTS] = least_whole(problem, view, i, 31, 0)
        find_repeats(problem, figures, view, facts, i)
        facts[i, MOST_THREADS] = min(float(figures.max_threads), most(problem, view, i, THREAD, 0))
        facts[i, LEAST_THREADS] = least(problem, view, i, THREAD)
        facts[i, MOST_BLOCKS] = most(problem, view, i, BLOCK, 0)
        facts[i, LEAST_BLOCKS] = least_whole(problem, view, i, BLOCK, 0)
        facts[i, MOST_PARALLEL] = most(problem, view, i, BLOCK | THREAD, 0)
        facts[i, MOST_LANES] = most_lanes(problem, figures, view, i)
        facts[i, MOST_COPIES] = figures.overlapped * most(problem, view, i, UNROLL | VECTOR, figures.unrolled)
        facts[i, LEAST_COPIES] = least_whole(problem, view, i, UNROLL, 0)
        facts[i, LEAST_LOOPS] = least_whole(problem, view, i, LOOP, figures.unrolled)
        blocks = max(blocks, facts[i, LEAST_BLOCKS] * facts[i, BLOCK_REPEATS])
        threads = max(threads, facts[i, LEAST_THREADS])
        if problem.reduces[i]:
            accumulators = max(accumulators, least_accumulators(problem, view, i))
    resident = float(figures.core_blocks)
    warps = -(-int(threads) // figures.warp)
    resident = min(resident, float(max(1, figures.core_threads // (warps * figures.warp))))
    kept = min(accumulators, float(figures.registers))
    if figures.is_cuda and kept >= 1.0:
        resident = min(resident, max(1.0, figures.core_registers // (kept * warps * figures.warp)))
    if figures.is_cuda and grid[SHARED_BYTES] > 0.0:
        resident = min(resident, max(1.0, figures.core_shared // grid[SHARED_BYTES]))
    concurrent = resident * figures.cores
    waves = -(-blocks // concurrent)
    if may_share_sums(problem, view):
        waves = 1.0
    grid[BLOCKS] = blocks
    grid[THREADS] = threads
    grid[CONCURRENT] = concurrent
    grid[WAVES] = waves
    grid[ACCUMULATORS] = accumulators
    grid[RESIDENT] = resident
    busiest = -(-blocks // figures.cores)
    for i in range(problem.instruction_statement.shape[0]):
        if view.active[i]:
            points = facts[i, POINTS]
            once = points * facts[i, SERIAL_REPEATS]
            own = min(facts[i, MOST_PARALLEL], facts[i, MOST_THREADS] * facts[i, MOST_BLOCKS])
            at_once = figures.cores * min(float(figures.core_threads), facts[i, MOST_THREADS] * resident)
            every = points * facts[i, REPEATS]
            if figures.is_cuda:
                facts[i, SERIAL] = max(once / own * waves, every / at_once)
                facts[i, SHARE] = max(once / facts[i, MOST_BLOCKS] * busiest, every / figures.cores)
            else:
                mine = -(-facts[i, LEAST_BLOCKS] // figures.cores)
                facts[i, SERIAL] = max(once / own * mine, every / figures.cores)
                facts[i, SHARE] = facts[i, SERIAL]


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
def wasted_lanes(problem: Problem, figures: TargetFigures, facts: Floats, grid: Floats, instruction: int) -> float:
    """Lanes that a warp instruction occupies per useful one: short blocks, and threads that do not run this nest's own loops.
    Those repeat loads and sums, but skip stores; compilers move what only a store needs to where that is skipped."""
    if not figures.is_cuda:
        return 1.0
    is_skipped = problem.operation[instruction] == STORE or figures.kept > 0
    running = facts[instruction, LEAST_THREADS] if is_skipped else grid[THREADS]
    warps = -(-running // figures.warp)
    return max(1.0, figures.warp * warps / facts[instruction, MOST_THREADS])
