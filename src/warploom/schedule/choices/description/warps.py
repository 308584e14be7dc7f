"""Warps of a block: `warps(kernel)`, how threads that lie along the hardware levels make up warps.

PLAIN: by the number of a thread, which counts the innermost level fastest; at most three levels. GRID: of a sum of products of
matrices, the warps of a block lie along both axes of the result: a fourth level, all of them in one order. 4x8 and so on: of two
levels, the 32 threads of a warp are 4 along the outer one by 8 along the inner one, neighbours above each other.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import WARP_SHAPES, WARPS, Vocabulary
from warploom.solve.space import Counter, EnumChoice, IntegerTerm, Quantifiers


def add_warps(words: Vocabulary, mapping: EnumChoice, levels: Counter) -> EnumChoice:
    """Returns the choice `warps`."""
    space, kind, size = words.space, words.kind, words.size
    k, a, b, d = space.objects("k a b d")
    of_kernel: Quantifiers = {k: words.kernel}
    warps = space.enum("warps", (words.kernel,), WARPS)
    shape = warps(k)
    can_grid, can_shape = space.fact("can_be_in_grid"), space.fact("can_shape_warps")
    space.require("kernels whose warps may be a grid", of_kernel, [can_grid(k), shape.is_not("GRID")])
    space.require("kernels whose warps may have a shape", of_kernel, [can_shape(k), shape.is_("PLAIN", "GRID")])
    of_grid, around = space.fact("is_level_of_grid"), space.fact("is_around_in_grid", 2)
    space.require(
        "levels of a grid are threads",
        of_kernel | {d: words.static_dims},
        [shape.is_not("GRID"), ~of_grid(d), kind(d).is_("THREAD")],
    )
    space.require(
        "levels of a grid are in order",
        of_kernel | {a: words.static_dims, b: words.static_dims},
        [shape.is_not("GRID"), ~around(a, b), mapping(a, b).is_("MAPPED_OUT")],
    )
    for name, (down, across) in WARP_SHAPES.items():
        is_other = shape.is_not(name)
        space.require(f"two levels in warps of {name}", of_kernel, [is_other, levels() <= 2])
        space.require(f"both levels in warps of {name}", of_kernel, [is_other, levels() >= 2])
        outer = [is_other, mapping(a, b).is_not("MAPPED_OUT")]
        two: Quantifiers = of_kernel | {a: words.static_dims, b: words.static_dims}
        space.require(f"threads above each other in warps of {name}", two, [*outer, size(words.extent(a)) >= down])
        space.require(f"threads beside each other in warps of {name}", two, [*outer, size(words.extent(b)) >= across])
        space.require(
            f"no totals over threads in warps of {name}",
            of_kernel | {d: words.reduced_dims},
            [is_other, kind(d).is_not("THREAD")],
        )
    return warps


def add_most_levels(words: Vocabulary, warps: EnumChoice | None, name: str, over: Quantifiers, levels: IntegerTerm) -> None:
    """No more levels of threads than the machine has dimensions, and one more of a grid. warps: None where there are no grids."""
    space, most = words.space, words.space.constant("max_thread_dims")
    if warps is None:
        space.require(name, over, [levels <= most])
        return
    (k,) = space.objects("k")
    space.require(name, {k: words.kernel} | over, [warps(k).is_("GRID"), levels <= most])
    space.require(f"{name}, of a grid", over, [levels <= space.constant("max_grid_levels")])
