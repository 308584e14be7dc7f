"""Totals of a sum that lie in an array while the sum goes on.

Totals stay in registers as long as no loop of the sum lies around a loop over results. Where one does, each of its iterations
takes up every total again: `dim_mapping(p)` is IN_MEMORY for the loops over results inside of it, on the way from the sum's
start to the sum and from there to each user. The array is the thread's own, and has one element for each total that the pairs
which are not merged tell apart. It follows from the order; without the outermost loop of the sum around them, loops over results
need no array.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import Vocabulary
from warploom.solve.space import EnumChoice


def add_kept_totals(words: Vocabulary, partials: EnumChoice) -> None:
    space, order, kind, transfer = words.space, words.order, words.kind, words.transfer
    p, q, d, i = space.objects("p q d i")
    can_keep = space.fact("can_keep")
    space.require("totals that may be kept", {p: words.pairs}, [can_keep(p), transfer(p).is_not("IN_MEMORY")])
    for end in (words.source(p), words.target(p)):
        space.require(
            f"loops over kept totals run ({end})", {p: words.pairs}, [transfer(p).is_not("IN_MEMORY"), kind(end).is_("LOOP")]
        )
    outermost, adds = space.fact("goes_on_around", 2), space.fact("adds_up", 2)
    """(loop of a sum, pair of its totals): the outermost part of the first axis that it sums over; any."""
    results = space.function("results_of")
    """The sum's own loop, for a pair of its totals."""
    space.require(
        "totals are kept while the sum goes on",
        {p: words.pairs, d: words.reduced_dims},
        [~outermost(d, p), transfer(p).is_not("IN_MEMORY"), order(d, results(p)).is_("OUTER")],
    )
    space.require(
        "sums go on in loops",
        {p: words.pairs, d: words.reduced_dims},
        [~outermost(d, p), transfer(p).is_not("IN_MEMORY"), kind(d).is_("LOOP")],
    )
    space.require(
        "kept totals are whole",
        {p: words.pairs, d: words.reduced_dims},
        [~adds(d, p), transfer(p).is_not("IN_MEMORY"), partials(d).is_("CHAIN")],
    )
    space.require(
        "totals taken up again are kept",
        {p: words.block_pairs, d: words.reduced_dims},
        [~adds(d, p), order(d, results(p)).is_not("OUTER"), kind(results(p)).is_not("LOOP"), transfer(p).is_not("NOT_MAPPED")],
    )
    space.require(
        "kept totals need no other array",
        {p: words.block_pairs, q: words.block_pairs},
        [~words.laid_out(p, q), transfer(p).is_not("IN_MEMORY"), transfer(q).is_not("NOT_MAPPED")],
    )
    totals = space.set("Totals", within=words.pairs, of=words.reductions)
    """Pairs between a sum's start and the sum."""
    held = space.counter(
        "kept_bytes",
        of={i: words.reductions},
        product=words.size(words.extent(words.target(p))),
        over={p: totals(i)},
        when=[order(words.source(p), words.target(p)).is_("BEFORE")],
        start=space.constant("total_bytes", 1)(i),
    )
    space.require(
        "kept totals that fit",
        {i: words.reductions, p: totals(i)},
        [transfer(p).is_not("IN_MEMORY"), held(i) <= space.constant("max_shared_bytes")],
    )
