"""Sums that the threads of a CPU share: a reduced loop may be a block.

Every iteration of such a block adds up a part, and what uses the total comes behind the block: it runs when all parts are done.
So nothing but totals passes from inside the block to behind it, and one place of the kernel is behind blocks. The blocks that are
no sums lie around those that are, since what uses a total needs them, too.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import Vocabulary
from warploom.solve.space import EnumChoice

MOST_SUMS = 16
"""Loops of a kernel's sums that may be shared."""


def add_shared_sums(words: Vocabulary, own_loop: EnumChoice) -> None:
    space, order, kind = words.space, words.order, words.kind
    a, b, d, i = space.objects("a b d i")
    is_shared, vanishes = space.fact("is_shared_sum"), space.fact("vanishes")
    """Dims of sums that may be shared; statements of which nothing is left where sums keep parts."""
    lies = ("OUTER", "INNER", "MERGED")
    sum_of = _merged_with_sums(words)
    space.require(
        "blocks lie around or inside, those of sums before what uses them",
        {d: words.dims, a: words.statements},
        [is_shared(d), kind(d).is_not("BLOCK"), sum_of(d).is_not("NONE"), order(d, a).is_(*lies)],
    )
    space.require(
        "blocks of sums come last but for what uses them",
        {d: words.reduced_dims, a: words.statements},
        [vanishes(a), kind(d).is_not("BLOCK"), order(d, a).is_(*lies, "BEFORE")],
    )
    starts = space.fact("starts_sum", 2)
    space.require(
        "only the starts of their own sums come before blocks",
        {a: words.instructions, i: words.confined, d: words.reduced_dims},
        [~starts(a, i), words.own_dims(i, d), kind(d).is_not("BLOCK"), order(d, a).is_not("AFTER"),
         own_loop(i, d).is_not("NONE")],
    )  # fmt: skip
    phase = space.enum("phase", (words.instructions,), ("INSIDE", "BEHIND"))
    """Phase of the blocks of sums; open where there are none."""
    for name, side in (("INSIDE", "OUTER"), ("BEHIND", "BEFORE")):
        space.require(
            f"{name} the blocks of sums",
            {d: words.reduced_dims, i: words.instructions},
            [vanishes(i), kind(d).is_not("BLOCK"), order(d, i).is_not(side), phase(i).is_(name)],
        )
    space.require(
        "starts of sums behind blocks are behind them",
        {a: words.instructions, i: words.confined, d: words.reduced_dims},
        [~starts(a, i), kind(d).is_not("BLOCK"), order(d, a).is_not("OUTER"), phase(i).is_("INSIDE")],
    )
    feeds, sums_for = space.fact("feeds", 2), space.fact("sums_for", 2)
    """(producer, user) of a value; of a reduction's total."""
    for name in ("INSIDE", "BEHIND"):
        space.require(
            f"values stay {name}",
            {a: words.instructions, b: words.instructions},
            [~feeds(a, b), phase(a).is_not(name), phase(b).is_(name)],
        )
    total = space.enum("total", (words.confined,), ("STAYS", "LEAVES"))
    space.require(
        "totals that leave the blocks",
        {i: words.confined, b: words.instructions},
        [~sums_for(i, b), phase(i).is_not("INSIDE"), phase(b).is_not("BEHIND"), total(i).is_("LEAVES")],
    )
    space.require(
        "totals leave the blocks of their sum only",
        {i: words.confined, d: words.reduced_dims},
        [words.own_dims(i, d), kind(d).is_not("BLOCK"), own_loop(i, d).is_not("NONE"), total(i).is_("STAYS")],
    )
    space.require(
        "blocks of sums lie in each other",
        {a: words.reduced_dims, b: words.reduced_dims},
        [kind(a).is_not("BLOCK"), kind(b).is_not("BLOCK"), order(a, b).is_(*lies)],
    )

    blocks = space.counter("blocks_of", of={i: words.instructions}, sum=1, over={d: words.own(i)}, when=[kind(d).is_("BLOCK")])
    space.require("block levels of an instruction", {i: words.instructions}, [blocks(i) <= space.constant("max_block_dims")])


def _merged_with_sums(words: Vocabulary) -> EnumChoice:
    """`sum_of(d)`: a loop of a shared sum with which d is merged, by its position. Open where there are several."""
    space, order = words.space, words.order
    (d,) = space.objects("d")
    which = space.enum("sum_of", (words.dims,), (*(f"SUM_{n}" for n in range(MOST_SUMS)), "NONE"))
    for n in range(MOST_SUMS):
        may = space.fact(f"may_merge_with_sum_{n}")
        nth = space.function(f"sum_{n}")
        space.require(f"sum {n} may be merged", {d: words.dims}, [may(d), which(d).is_not(f"SUM_{n}")])
        space.require(
            f"sum {n} is merged", {d: words.dims}, [~may(d), which(d).is_not(f"SUM_{n}"), order(d, nth(d)).is_("MERGED")]
        )
    return which
