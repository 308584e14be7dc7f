"""Ways of values from the instruction that computes them to those that use them.

`dim_mapping(p)` says how a value travels between the two dims of pair p: merged loops (MERGED), registers of unrolled or vector
loops (UNROLL_MAP), registers of threads mapped alike (THREAD_MAP), or an array (NOT_MAPPED; of totals IN_MEMORY, `kept_totals`).
It follows from order, kinds and thread mapping. NOT_MAPPED brings a temporary to life with its store, its load and their dims
(trigger `stage`): a pair that is not merged becomes a dimension of the array.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import Vocabulary
from warploom.solve.space import EnumChoice, Fact


def add_values(words: Vocabulary, own_loop: EnumChoice, mapping: EnumChoice | None) -> None:
    """`mapping`: None on targets without threads."""
    space, order, kind, transfer = words.space, words.order, words.kind, words.transfer
    p, d, i = space.objects("p d i")
    source, target = words.source(p), words.target(p)
    for scope, allowed in (("thread", words.flavour.transfers[1:]), ("local", ("UNROLL_MAP", "MERGED"))):
        has_scope = space.fact(f"is_{scope}_pair")
        space.require(f"values of {scope} scope", {p: words.pairs}, [~has_scope(p), transfer(p).is_(*allowed)])
    space.require("values travel forward", {p: words.pairs}, [order(source, target).is_("BEFORE", "MERGED")])
    space.require("merged pairs", {p: words.pairs}, [transfer(p).is_not("MERGED"), order(source, target).is_("MERGED")])
    space.require("pairs of merged loops", {p: words.pairs}, [transfer(p).is_("MERGED"), order(source, target).is_not("MERGED")])
    dynamic = space.fact("is_dynamic_pair")
    space.require("loops of unknown size are merged", {p: words.pairs}, [~dynamic(p), order(source, target).is_("MERGED")])
    registers = [("UNROLL",), ("VECTOR",)] if words.flavour.has_vector_arithmetic else [("UNROLL", "VECTOR")]
    for end in (source, target):
        space.require(
            f"registers need unrolled loops ({end})",
            {p: words.pairs},
            [transfer(p).is_not("UNROLL_MAP"), kind(end).is_("UNROLL", "VECTOR")],
        )
    for kinds in registers:
        space.require(
            f"registers of {'/'.join(kinds)}",
            {p: words.pairs},
            [transfer(p).is_not("NOT_MAPPED"), kind(source).is_not(*kinds), kind(target).is_not(*kinds)],
        )
        if len(registers) > 1:
            space.require(
                f"registers are alike ({'/'.join(kinds)})",
                {p: words.pairs},
                [transfer(p).is_not("UNROLL_MAP"), kind(source).is_not(*kinds), kind(target).is_(*kinds)],
            )
    for a, b in ((source, target), (target, source)):
        for kinds in (("LOOP",), ("BLOCK",), ("THREAD",), ("UNROLL", "VECTOR")):
            space.require(
                f"values without an array travel between loops of one kind ({a}, {'/'.join(kinds)})",
                {p: words.pairs},
                [transfer(p).is_("NOT_MAPPED"), kind(a).is_not(*kinds), kind(b).is_(*kinds)],
            )
    if mapping is not None:
        threads = space.fact("has_static_ends")
        mapped = mapping(source, target)
        space.require(
            "registers of threads", {p: words.pairs}, [~threads(p), transfer(p).is_not("THREAD_MAP"), mapped.is_("MAPPED")]
        )
        space.require(
            "threads mapped alike keep registers",
            {p: words.pairs},
            [~threads(p), transfer(p).is_not("NOT_MAPPED"), mapped.is_not("MAPPED")],
        )
        _values_stay_on_their_level(words, mapping, threads)
        space.require("threads are static", {p: words.pairs}, [threads(p), transfer(p).is_not("THREAD_MAP")])
    else:
        space.require("no threads", {p: words.pairs}, [transfer(p).is_not("THREAD_MAP")])
    space.trigger(
        "stage",
        {p: words.block_pairs},
        [transfer(p).is_("NOT_MAPPED")],
        activates=(
            words.statements, words.instructions, words.accesses, words.confined, words.dims, words.static_dims, words.own,
            words.regions, words.temporaries, words.pairs, words.staged_pairs, words.dimensions, words.layers,
        ),
    )  # fmt: skip
    put, get = words.put, words.get
    for side, other in ((source, put(p)), (get(p), target)):
        space.require(
            f"merged pairs have no dimension ({other})",
            {p: words.staged_pairs},
            [order(source, target).is_not("MERGED"), order(side, other).is_("MERGED")],
        )
    space.require(
        "arrays are filled first",
        {p: words.staged_pairs},
        [order(source, target).is_not("BEFORE"), order(put(p), get(p)).is_("BEFORE")],
    )
    space.require(
        "arrays are not shared by merged threads",
        {p: words.staged_pairs},
        [order(source, target).is_not("MERGED"), kind(source).is_not("THREAD")],
    )
    (q,) = space.objects("q")
    laid_out = words.laid_out
    space.require(
        "merged threads leave no array to share",
        {p: words.block_pairs, q: words.block_pairs},
        [~laid_out(p, q), transfer(p).is_not("NOT_MAPPED"), order(words.source(q), words.target(q)).is_not("MERGED"),
         kind(words.source(q)).is_not("THREAD")],
    )  # fmt: skip
    is_put = space.fact("is_put")
    space.require(
        "threads do not repeat what fills an array",
        {i: words.confined, d: words.dims},
        [
            ~is_put(i),
            words.own_dims(i, d),
            order(d, i).is_not("OUTER"),
            kind(d).is_not("THREAD"),
            own_loop(i, d).is_not("NONE"),
        ],
    )


def _values_stay_on_their_level(words: Vocabulary, mapping: EnumChoice, threads: Fact) -> None:
    """Implied: merged loops and threads that keep registers are mapped alike."""
    (p,) = words.space.objects("p")
    words.space.require(
        "values without an array stay on their level",
        {p: words.pairs},
        [~threads(p), words.transfer(p).is_("NOT_MAPPED"),
         mapping(words.source(p), words.target(p)).is_("NOT_THREADS", "MAPPED")],
    )  # fmt: skip
