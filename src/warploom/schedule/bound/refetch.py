"""Data that is fetched again because it could not be kept: into registers, into each cache, from memory.

The argument of passes: what one iteration of a loop touches and a place that holds `capacity` cannot have had is brought there in
that iteration. It holds for whatever order a compiler gives the instructions inside the iteration, and for the registers just as
for caches: an element that a compiler keeps from an earlier load, in the same body or in an earlier iteration, is in a register
or was spilled, which is an access of its own.
"""

from __future__ import annotations

from warploom.schedule.bound.facts import MOST_LANES, least_stride, whole_rounds
from warploom.schedule.bound.problem import (
    ANY_LOOP,
    BLOCK,
    LOAD,
    LOOP,
    MAPPED,
    MERGED,
    OUTER,
    THREAD,
    UNROLL,
    VECTOR,
    Floats,
    Problem,
    TargetFigures,
    View,
)
from warploom.solve.jit import compiled

INTO_REGISTERS, INTO_NEAR, INTO_SECOND, FROM_MEMORY = range(4)
"""Elements; then bytes of the lines of the first, of the second level, of memory."""


@compiled
def refetch(problem: Problem, figures: TargetFigures, view: View, facts: Floats, instruction: int, amounts: Floats) -> None:
    """Fills `amounts` for an access: of all cores together.

    Footprint of an iteration: own loops surely inside; passes: own loops surely around, with it. Parallel loops around count only
    for places private to a core, where each core passes by itself.
    """
    amounts[:] = 0.0
    region = problem.region[instruction]
    is_temporary = problem.is_temporary[region] != 0
    keeps = problem.operation[instruction] == LOAD and not figures.is_cuda and problem.leader[instruction] == instruction
    kept = figures.kept * facts[instruction, MOST_LANES]
    if keeps and not is_temporary:
        amounts[INTO_REGISTERS] = problem.distinct[instruction]
    if is_temporary and not keeps:
        return
    width = float(problem.element_bytes[instruction])
    inside = problem.inside[instruction]
    statement = problem.instruction_statement[instruction]
    first, last = problem.own_start[instruction], problem.own_start[instruction + 1]
    near, second = float(figures.lines[0]), float(figures.lines[1])
    for loop in range(problem.dim_statement.shape[0]):
        owner = problem.dim_owner[loop]
        if not view.active[owner] or view.kind[loop] & (VECTOR | THREAD):
            continue
        outer = problem.dim_statement[loop]
        is_own = owner == instruction
        if not is_own and view.order[outer, statement] != OUTER:
            continue
        is_shared = not view.kind[loop] & BLOCK
        if figures.is_cuda and not is_shared:
            continue
        private = whole_rounds(problem, view, int(problem.dim_extent[loop]))
        shared = private
        is_usable = True
        for n in range(first, last):
            own = problem.own_dims[n]
            if own == loop:
                continue
            relation = view.order[outer, problem.dim_statement[own]]
            if not is_own and relation & MERGED:
                is_usable = False
                break
            if view.order[problem.dim_statement[own], outer] == OUTER and not view.kind[own] & (VECTOR | THREAD):
                rounds = whole_rounds(problem, view, int(problem.dim_extent[own]))
                private *= rounds
                if not view.kind[own] & BLOCK:
                    shared *= rounds
        if not is_usable:
            continue
        elements = touched(problem, view, instruction, outer) * inside
        is_sure = keeps and not view.kind[loop] & ~(LOOP | BLOCK)
        if is_sure and (not is_temporary or is_filled_before(problem, view, instruction, outer)):
            together = elements
            if not is_temporary and is_own:
                together *= equal_loads(problem, view, instruction, outer)
            if together > kept:
                amounts[INTO_REGISTERS] = max(amounts[INTO_REGISTERS], private * (together - kept))
        if is_temporary:
            continue
        if is_shared:
            footprint = elements * width * spread(problem, view, instruction, outer, second)
            if footprint > figures.capacities[2]:
                amounts[FROM_MEMORY] = max(amounts[FROM_MEMORY], shared * (footprint - figures.capacities[2]))
        if not figures.is_cuda:
            footprint = elements * width * spread(problem, view, instruction, outer, near)
            if footprint > figures.capacities[0]:
                amounts[INTO_NEAR] = max(amounts[INTO_NEAR], private * (footprint - figures.capacities[0]))
            if second != near:
                footprint = elements * width * spread(problem, view, instruction, outer, second)
            if footprint > figures.capacities[1]:
                amounts[INTO_SECOND] = max(amounts[INTO_SECOND], private * (footprint - figures.capacities[1]))


@compiled
def is_filled_before(problem: Problem, view: View, get: int, outer: int) -> bool:
    """The temporary that `get` reads has its values before the loop begins."""
    put = problem.sources[problem.source_start[get]]
    return view.active[put] != 0 and not view.order[outer, problem.instruction_statement[put]] & OUTER


@compiled
def touched(problem: Problem, view: View, instruction: int, outer: int) -> float:
    """Elements that the own loops surely inside statement `outer` touch in one of its iterations."""
    is_temporary = problem.is_temporary[problem.region[instruction]] != 0
    elements = 1.0
    first, last = problem.slot_start[instruction], problem.slot_start[instruction + 1]
    for slot in range(first, last):
        group = problem.slot_group[slot]
        if first + group != slot:
            continue
        most = 1.0
        for other in range(slot, last):
            if problem.slot_group[other] != group or (problem.slot_coefficient[other] == 0 and not is_temporary):
                continue
            axis = problem.slot_axis[other]
            product = 1.0
            for level in range(problem.axis_extents.shape[1]):
                extent = problem.axis_extents[axis, level]
                if extent < 0:
                    break
                dim = problem.slot_dims[other, level]
                if dim >= 0 and problem.dim_statement[dim] != outer and view.order[outer, problem.dim_statement[dim]] == OUTER:
                    product *= whole_rounds(problem, view, extent)
            most = max(most, product)
        elements *= most
    return float(elements)


@compiled
def spread(problem: Problem, view: View, instruction: int, outer: int, line: float) -> float:
    """By how much the lines of what one iteration touches are larger than the elements, at least."""
    width = float(problem.element_bytes[instruction])
    packed = 1.0
    is_one = True
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        if problem.slot_coefficient[slot] == 0:
            continue
        axis = problem.slot_axis[slot]
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            dim = problem.slot_dims[slot, level]
            if dim < 0:
                continue
            statement = problem.dim_statement[dim]
            if statement == outer or not view.order[outer, statement] & OUTER:
                continue
            is_one = False
            stride = least_stride(problem, view, slot, level) * width
            if stride < line:
                if problem.is_injective[instruction]:
                    packed *= min(float(view.largest[extent]), -(-line // stride))
                else:
                    packed = line / width
    if is_one:
        return 1.0
    return max(1.0, line / width / min(packed, line / width))


@compiled
def equal_loads(problem: Problem, view: View, leader: int, outer: int) -> float:
    """Loads of the leader's array that surely touch different elements in one iteration of statement `outer`, or in all that a
    thread does: of all sets of such loads the largest one's number. Each is surely inside, over the same loops."""
    count = 1
    members = problem.member_start[leader + 1] - problem.member_start[leader]
    if members < 2:
        return 1.0
    for chosen in range(1, 1 << members):
        found = 0
        is_apart = True
        for a in range(members):
            if not chosen >> a & 1:
                continue
            found += 1
            one = int(problem.members[problem.member_start[leader] + a])
            if not is_alike(problem, view, leader, one, outer):
                is_apart = False
                break
            for b in range(a):
                other = int(problem.members[problem.member_start[leader] + b])
                if chosen >> b & 1 and not never_meet(problem, view, leader, one, other, outer):
                    is_apart = False
                    break
            if not is_apart:
                break
        if is_apart:
            count = max(count, found)
    return float(count)


@compiled
def is_alike(problem: Problem, view: View, leader: int, member: int, outer: int) -> bool:
    """The member is inside `outer`, one of the leader's loops, and its loops are the leader's, or inside where those are."""
    if member == leader:
        return True
    if outer == ANY_LOOP:
        for n in range(problem.own_start[leader + 1] - problem.own_start[leader]):
            mine = problem.own_dims[problem.own_start[leader] + n]
            other = problem.own_dims[problem.own_start[member] + n]
            alone = LOOP | UNROLL | VECTOR
            is_same = view.order[problem.dim_statement[mine], problem.dim_statement[other]] == MERGED
            is_same = is_same or view.mapping[mine, other] == MAPPED
            if not is_same and not (view.kind[mine] & alone and view.kind[other] & alone):
                return False
        return True
    if view.order[outer, problem.instruction_statement[member]] != OUTER:
        return False
    for n in range(problem.own_start[leader + 1] - problem.own_start[leader]):
        mine = problem.dim_statement[problem.own_dims[problem.own_start[leader] + n]]
        other = problem.dim_statement[problem.own_dims[problem.own_start[member] + n]]
        if view.order[mine, other] == MERGED:
            continue
        if mine == outer or view.order[outer, mine] != OUTER or view.order[outer, other] != OUTER:
            return False
    return True


@compiled
def never_meet(problem: Problem, view: View, leader: int, one: int, other: int, outer: int) -> bool:
    """In one iteration of `outer` the two loads touch different elements: along some axis of the array they are further from each
    other than the loops that may be inside reach."""
    for row in range(problem.constants.shape[1]):
        distance = abs(problem.constants[one, row] - problem.constants[other, row])
        if distance == 0:
            continue
        reach = 0.0
        for slot in range(problem.slot_start[leader], problem.slot_start[leader + 1]):
            factor = abs(problem.slot_factor[slot, row])
            if factor == 0:
                continue
            axis = problem.slot_axis[slot]
            stride = 1.0
            levels = problem.axis_extents.shape[1]
            for back in range(levels):
                level = levels - 1 - back
                extent = problem.axis_extents[axis, level]
                dim = problem.slot_dims[slot, level]
                if extent < 0:
                    continue
                if dim >= 0:
                    statement = problem.dim_statement[dim]
                    if outer == ANY_LOOP:
                        is_inside = view.kind[dim] & (LOOP | UNROLL | VECTOR) != 0
                    else:
                        is_inside = statement != outer and view.order[outer, statement] & OUTER != 0
                    if is_inside:
                        reach += factor * stride * (view.largest[extent] - 1)
                stride *= view.largest[extent]
        if distance > reach:
            return True
    return False
