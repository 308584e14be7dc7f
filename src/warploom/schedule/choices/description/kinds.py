"""Kinds of loops.

Threads, unrolled and vector loops need a size known beforehand; block, thread and vector loops need independent iterations.
Blocks lie around everything and around each other; inside an unrolled loop is no real loop; a vector loop is one vector
instruction. Merged loops are of one kind and size. `partials(d)`: whether a reduction adds up one total along d (CHAIN) or keeps
parts (TREE).
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import KINDS, VECTOR_SIZES, Vocabulary
from warploom.solve.space import EnumChoice


def add_kinds(words: Vocabulary) -> None:
    space, order, kind, size = words.space, words.order, words.kind, words.size
    a, b, d, i = space.objects("a b d i")
    for name in ("UNROLL", "VECTOR", "BLOCK", "THREAD"):
        can = space.fact(f"can_{name.lower()}")
        space.require(f"dims that may be {name}", {d: words.dims}, [can(d), kind(d).is_not(name)])
    for name in KINDS:
        space.require(
            f"merged loops are both {name}",
            {a: words.dims, b: words.dims},
            [order(a, b).is_not("MERGED"), kind(a).is_not(name), kind(b).is_(name)],
        )
    may_merge = space.fact("may_merge", 2)
    space.require("loops that may be merged", {a: words.dims, b: words.dims}, [may_merge(a, b), order(a, b).is_not("MERGED")])
    same_extent = space.fact("same_extent", 2)
    space.require(
        "merged loops have one size",
        {a: words.dims, b: words.dims},
        [same_extent(a, b), ~may_merge(a, b), order(a, b).is_not("MERGED"), size(words.extent(a)) == size(words.extent(b))],
    )
    if not words.flavour.shares_sums:
        space.require(
            "blocks lie around or inside",
            {d: words.dims, a: words.statements},
            [kind(d).is_not("BLOCK"), order(d, a).is_("OUTER", "INNER", "MERGED")],
        )
    space.require(
        "only blocks around blocks",
        {a: words.dims, b: words.dims},
        [kind(b).is_not("BLOCK"), order(a, b).is_not("OUTER"), kind(a).is_("BLOCK")],
    )
    space.require(
        "no loops in unrolled ones",
        {a: words.dims, b: words.dims},
        [kind(a).is_not("UNROLL"), order(b, a).is_not("INNER"), kind(b).is_("UNROLL", "VECTOR")],
    )
    space.require("no loops in vectors", {a: words.dims, b: words.dims}, [kind(a).is_not("VECTOR"), order(b, a).is_not("INNER")])
    space.require(
        "one instruction in a vector",
        {d: words.dims, i: words.instructions},
        [words.own_dims(i, d), kind(d).is_not("VECTOR"), order(i, d).is_not("INNER")],
    )
    lanes = [space.constant(f"lanes_{n}", 1) for n in range(VECTOR_SIZES)]
    space.require(
        "sizes of vectors",
        {d: words.dims},
        [kind(d).is_not("VECTOR"), *(size(words.extent(d)) == allowed(d) for allowed in lanes)],
    )


def add_partials(words: Vocabulary) -> EnumChoice:
    """Returns the choice `partials`."""
    space, kind = words.space, words.kind
    (d,) = space.objects("d")
    partials = space.enum("partials", (words.reduced_dims,), ("CHAIN", "TREE"))
    can = space.fact("can_tree")
    space.require("reductions that may be reordered", {d: words.reduced_dims}, [can(d), partials(d).is_("CHAIN")])
    space.require("loops add up", {d: words.reduced_dims}, [kind(d).is_not("LOOP"), partials(d).is_("CHAIN")])
    space.require(
        "vectors, threads and blocks keep parts",
        {d: words.reduced_dims},
        [kind(d).is_not("VECTOR", "THREAD", "BLOCK"), partials(d).is_("TREE")],
    )
    space.require("one iteration adds up", {d: words.reduced_dims}, [words.size(words.extent(d)) != 1, partials(d).is_("CHAIN")])
    return partials
