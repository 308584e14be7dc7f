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
    if words.features.spreads and words.flavour.has_threads:
        _add_spread(words, follows)
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


def _add_spread(words: Vocabulary, follows: Fact) -> None:
    """`spread(r)`: whether all threads of a block copy what goes into a temporary, in the order in which it lies in the array,
    whatever its loops are: so these are sequential, in one order, those of the load merged with those of the store."""
    space, order, kind = words.space, words.order, words.kind
    r, p, q = words.space.objects("r p q")
    spread, can = space.enum("spread", (words.temporaries,), ("NO", "YES")), space.fact("can_spread")
    space.require("copies that threads may share out", {r: words.temporaries}, [can(r), spread(r).is_("NO")])
    space.require(
        "all threads copy from the array itself",
        {r: words.temporaries},
        [~can(r), spread(r).is_("NO"), words.mem_space(space.function("copied_from")(r)).is_("GLOBAL")],
    )
    source, target = words.source(p), words.target(p)
    side = space.enum("is_shared_out", (words.pairs,), ("NO", "YES"))
    """A dimension of the tile."""
    of_tile = {r: words.temporaries, p: words.dimensions(r)}
    merged = order(source, target).is_("MERGED")
    space.require("sides of a tile that is shared out", of_tile, [spread(r).is_("NO"), merged, side(p).is_("YES")])
    space.require("no sides of other tiles", of_tile, [spread(r).is_("YES"), side(p).is_("NO")])
    space.require(
        "merged pairs are no sides", {p: words.block_pairs}, [order(source, target).is_not("MERGED"), side(p).is_("NO")]
    )
    space.require("all threads copy in sequential loops", {p: words.block_pairs}, [side(p).is_("NO"), kind(source).is_("LOOP")])
    space.require(
        "all threads load and store together",
        {p: words.staged_pairs},
        [side(p).is_("NO"), order(source, words.put(p)).is_("MERGED")],
    )
    of_copy, s = space.fact("copies", 2), space.objects("s")[0]
    """A pair of a temporary, and a statement of the copy into it."""
    space.require(
        "sides hold nothing else",
        {p: words.block_pairs, s: words.statements},
        [of_copy(p, s), side(p).is_("NO"), order(source, s).is_not("OUTER")],
    )
    within = order(source, words.source(q))
    space.require(
        "sides are in one order",
        {p: words.block_pairs, q: words.block_pairs},
        [~follows(p, q), side(p).is_("NO"), side(q).is_("NO"), within.is_("OUTER")],
    )
    space.require(
        "sides are inside of the loops around the tile",
        {p: words.block_pairs, q: words.block_pairs},
        [~words.laid_out(p, q), side(p).is_("NO"), order(words.source(q), words.target(q)).is_not("MERGED"), within.is_("INNER")],
    )


def _faster_pairs_are_dimensions(words: Vocabulary, follows: Fact) -> None:
    """Implied: the source of the second pair comes before its target or is merged with it; for either one that is said above."""
    p, q = words.space.objects("p q")
    words.space.require(
        "what varies faster than a later pair is a dimension",
        {p: words.staged_pairs, q: words.staged_pairs},
        [~follows(p, q), words.order(words.source(p), words.target(p)).is_not("MERGED"), words.layout(p, q).is_("OUTER")],
    )
