"""Placement of arrays, and the caches through which they are read.

`layout(p, q)` orders the pairs that are dimensions of one array, outermost first. Pairs that are none come first, in a fixed
order, and so do pairs of earlier arrays: they leave nothing to decide. Vector loops run along the innermost dimension.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import AHEAD, CACHES, DIRECTIONS, HALVES, KEPT, Vocabulary
from warploom.solve.space import Fact


def add_memory(words: Vocabulary) -> None:
    space, order, kind = words.space, words.order, words.kind
    p, q, r, i = space.objects("p q r i")
    layout, source, target = words.layout, words.source, words.target
    x, y, z = space.objects("x y z")
    space.require(
        "the layout is an order",
        {x: words.staged_pairs, y: words.staged_pairs, z: words.staged_pairs},
        [layout(x, y).is_not("OUTER"), layout(y, z).is_not("OUTER"), layout(x, z).is_("OUTER")],
    )
    of_later_array = space.fact("is_of_later_array", 2)
    """The second pair is one of a later array."""
    space.require(
        "arrays are laid out apart",
        {p: words.staged_pairs, q: words.staged_pairs},
        [~of_later_array(p, q), layout(p, q).is_("OUTER")],
    )
    laid_out, follows = words.laid_out, space.fact("follows", 2)
    """`follows`: two pairs belong to one value, and the second comes after the first in its list of pairs."""
    space.require(
        "what is no dimension comes first",
        {p: words.staged_pairs, q: words.staged_pairs},
        [~laid_out(p, q), order(source(p), target(p)).is_not("MERGED"), order(source(q), target(q)).is_not("BEFORE"),
         layout(p, q).is_("OUTER")],
    )  # fmt: skip
    space.require(
        "what are no dimensions keep their order",
        {p: words.staged_pairs, q: words.staged_pairs},
        [~follows(p, q), order(source(p), target(p)).is_not("MERGED"), order(source(q), target(q)).is_not("MERGED"),
         layout(p, q).is_("OUTER")],
    )  # fmt: skip
    _faster_pairs_are_dimensions(words, follows)
    for end in (words.put(p), words.get(p)):
        space.require(
            f"vectors run along memory ({end})",
            {p: words.staged_pairs, q: words.staged_pairs},
            [~laid_out(p, q), kind(end).is_not("VECTOR"), layout(q, p).is_("OUTER")],
        )
    temporary, windowed = space.fact("is_temporary"), space.fact("can_window")
    space.require(
        "arrays of the kernel are global, unless neighbours read the same of them",
        {r: words.regions},
        [temporary(r), windowed(r), words.mem_space(r).is_("GLOBAL")],
    )
    space.require("temporaries are shared", {r: words.regions}, [~temporary(r), words.mem_space(r).is_("SHARED")])
    if words.features.swizzles:
        swizzle, can = space.enum("swizzle", (words.temporaries,), ("NONE", "PERMUTED", "ATOMS")), space.fact("can_swizzle")
        space.require("arrays that may be permuted", {r: words.temporaries}, [can(r), swizzle(r).is_("NONE")])
        fits = space.fact("can_be_in_atoms")
        space.require("factors that four warps multiply together", {r: words.temporaries}, [fits(r), swizzle(r).is_not("ATOMS")])
    if words.features.prefetches and not words.flavour.has_threads:
        (k,) = space.objects("k")
        ahead, can = space.enum("prefetch", (words.kernel,), AHEAD), space.fact("can_prefetch")
        space.require("kernels whose data is far away", {k: words.kernel}, [can(k), ahead(k).is_("0")])
    if words.features.directions and not words.flavour.has_threads:
        space.enum("direction", (words.kernel,), DIRECTIONS)
    if words.features.mirrors and not words.flavour.has_threads:
        (k,) = space.objects("k")
        mirror, can = space.enum("mirror", (words.kernel,), HALVES), space.fact("can_mirror")
        space.require("kernels with a symmetric sum", {k: words.kernel}, [can(k), mirror(k).is_("NO")])
        if words.flavour.keeps_totals:
            space.require(
                "half a sum is added up in registers",
                {k: words.kernel, p: words.pairs},
                [mirror(k).is_("NO"), words.transfer(p).is_not(KEPT)],
            )
    for value in CACHES:
        can = space.fact(f"can_cache_{value.lower()}")
        space.require(f"accesses that may be {value}", {i: words.accesses}, [can(i), words.cache(i).is_not(value)])


def _faster_pairs_are_dimensions(words: Vocabulary, follows: Fact) -> None:
    """Implied: the source of the second pair comes before its target or is merged with it; for either one that is said above."""
    p, q = words.space.objects("p q")
    words.space.require(
        "what varies faster than a later pair is a dimension",
        {p: words.staged_pairs, q: words.staged_pairs},
        [~follows(p, q), words.order(words.source(p), words.target(p)).is_not("MERGED"), words.layout(p, q).is_("OUTER")],
    )
