"""Lines and sectors that an access touches.

`sharing` is the most elements of one vector or warp instruction that lie in one line. Over loops with strides s (bytes) it is at
most the product of min(size, ceil(line / s)), and size where s is 0, as long as no two points meet in an element; a loop whose
stride is a line or more does not help. Undecided loops count as the best they can become: their largest size, the smallest
stride.
"""

from __future__ import annotations

from warploom.machines import TURNED_BYTES
from warploom.schedule.bound.facts import LEAST_THREADS, MOST_LANES, MOST_THREADS, least_stride
from warploom.schedule.bound.problem import (
    MAPPED_IN,
    MAPPED_OUT,
    THREAD,
    UNROLL,
    VECTOR,
    Floats,
    Ints,
    Problem,
    TargetFigures,
    View,
)
from warploom.solve.jit import compiled


@compiled
def most_in_line(problem: Problem, view: View, instruction: int, mask: int, line: float) -> float:
    """Most points of loops that may be of a kind in `mask` in one line of that many bytes."""
    product = 1.0
    width = float(problem.element_bytes[instruction])
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            dim = problem.slot_dims[slot, level]
            if dim < 0 or not view.kind[dim] & mask:
                continue
            stride = least_stride(problem, view, slot, level) * width
            size = float(view.largest[extent])
            if stride == 0.0 or (stride < line and not problem.is_injective[instruction]):
                product *= size
            elif stride < line:
                product *= min(size, -(-line // stride))
    return product


@compiled
def vector_gain(problem: Problem, view: View, facts: Floats, instruction: int) -> float:
    """Elements that one vector access moves at most: none where the vector loop surely skips elements."""
    return min(_neighbours(problem, view, instruction, VECTOR), facts[instruction, MOST_LANES])


@compiled
def turned_gain(problem: Problem, view: View, instruction: int) -> float:
    """Elements that one store of a CPU moves at most where lanes lie apart and vectors are turned in registers: neighbours along
    loops that are written out."""
    return min(_neighbours(problem, view, instruction, UNROLL), float(TURNED_BYTES) / problem.element_bytes[instruction])


@compiled
def _neighbours(problem: Problem, view: View, instruction: int, kind: int) -> float:
    """Elements next to each other along loops that may be of this kind, at most."""
    product = 1.0
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        for level in range(problem.axis_extents.shape[1]):
            extent = problem.axis_extents[axis, level]
            if extent < 0:
                break
            dim = problem.slot_dims[slot, level]
            if dim >= 0 and view.kind[dim] & kind and least_stride(problem, view, slot, level) <= 1.0:
                product *= float(view.largest[extent])
    return product


@compiled
def order_threads(problem: Problem, view: View, instruction: int, lanes: Ints) -> int:
    """Positions in `own_dims` of the vector loop and then the thread loops, innermost first; -1 unless all that matters to a
    warp's addresses is decided: sizes, which loops are threads, their order."""
    count = 0
    threads = 0
    for n in range(problem.own_start[instruction], problem.own_start[instruction + 1]):
        dim = problem.own_dims[n]
        extent = problem.dim_extent[dim]
        kind = view.kind[dim]
        if view.smallest[extent] != view.largest[extent]:
            return -1
        if kind & (THREAD | VECTOR) and kind != THREAD and kind != VECTOR:
            return -1
        if kind == VECTOR:
            for k in range(count, 0, -1):
                lanes[k] = lanes[k - 1]
            lanes[0] = n
            count += 1
        elif kind == THREAD:
            place = count
            while place > count - threads:
                other = problem.own_dims[lanes[place - 1]]
                mapping = view.mapping[dim, other]
                if mapping == MAPPED_OUT:
                    break
                if mapping != MAPPED_IN:
                    return -1
                lanes[place] = lanes[place - 1]
                place -= 1
            lanes[place] = n
            count += 1
            threads += 1
        if count >= lanes.shape[0]:
            return -1
    return count


@compiled
def warp_lines(
    problem: Problem, figures: TargetFigures, view: View, instruction: int, line: int, lanes: Ints, seen: Ints
) -> tuple[float, float]:
    """(lines, elements) of the first warp instruction, both 0 where its addresses are not decided."""
    count = order_threads(problem, view, instruction, lanes)
    if count < 0:
        return 0.0, 0.0
    width = problem.element_bytes[instruction]
    elements = 1
    vector = 1
    for k in range(count):
        dim = problem.own_dims[lanes[k]]
        elements *= view.smallest[problem.dim_extent[dim]]
        if view.kind[dim] == VECTOR:
            vector = view.smallest[problem.dim_extent[dim]]
    elements = min(elements, figures.warp * min(vector, problem.vectors[instruction]), seen.shape[0])
    found = 0
    for element in range(elements):
        rest = element
        offset = 0
        for k in range(count):
            dim = problem.own_dims[lanes[k]]
            size = view.smallest[problem.dim_extent[dim]]
            offset += (rest % size) * own_stride(problem, view, instruction, int(dim))
            rest //= size
        key = offset * width // line
        is_new = True
        for k in range(found):
            if seen[k] == key:
                is_new = False
                break
        if is_new:
            seen[found] = key
            found += 1
    return float(found), float(elements)


@compiled
def own_stride(problem: Problem, view: View, instruction: int, dim: int) -> int:
    """Elements between two iterations of a loop of the instruction, sizes decided."""
    for slot in range(problem.slot_start[instruction], problem.slot_start[instruction + 1]):
        axis = problem.slot_axis[slot]
        for level in range(problem.axis_extents.shape[1]):
            if problem.slot_dims[slot, level] == dim:
                stride = problem.slot_coefficient[slot]
                for deeper in range(level + 1, problem.axis_extents.shape[1]):
                    extent = problem.axis_extents[axis, deeper]
                    if extent < 0:
                        break
                    stride *= view.smallest[extent]
                return stride
    return 0


@compiled
def lines_per_point(
    problem: Problem,
    figures: TargetFigures,
    view: View,
    facts: Floats,
    instruction: int,
    line: int,
    lanes: Ints,
    seen: Ints,
) -> float:
    """Lines that the warps (on a CPU the vectors) of an access touch, per point: at least."""
    together = facts[instruction, MOST_LANES]
    if figures.is_cuda:
        together *= min(float(figures.warp), facts[instruction, MOST_THREADS])
    sharing = most_in_line(problem, view, instruction, THREAD | VECTOR, float(line))
    optimistic = 1.0 / min(sharing, together)
    is_counted = figures.is_cuda and facts[instruction, LEAST_THREADS] == facts[instruction, MOST_THREADS]
    if not is_counted or not view.in_order[0]:
        return optimistic
    found, elements = warp_lines(problem, figures, view, instruction, line, lanes, seen)
    if elements == 0.0:
        return optimistic
    return max(optimistic, found / elements)
