"""Ties: where two implementations have the same code, one of them is refused. Left out in the paper's space."""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import ORDERS, Vocabulary


def add_ties(words: Vocabulary) -> None:
    space, order, kind, size = words.space, words.order, words.kind, words.size
    a, b, d = space.objects("a b d")
    features = words.features
    if features.outer_is_static:
        space.require("a loop of one iteration is no loop", {d: words.dims}, [size(words.extent(d)) != 1, kind(d).is_("UNROLL")])
    if not features.merges_axes:
        same = space.fact("same_part", 2)
        space.require(
            "a loop is not repeated in itself",
            {a: words.dims, b: words.dims},
            [~same(a, b), order(a, b).is_not("INNER", "OUTER")],
        )
    if not features.shares_unrolled:
        kin = space.fact("is_kin", 2)
        """The instruction of a loop, or another loop of it."""
        for value in ORDERS:
            space.require(
                f"unrolled loops lie where their instruction does ({value})",
                {d: words.dims, a: words.statements},
                [kin(d, a), kind(d).is_not("UNROLL", "VECTOR"), order(d, a).is_not(value),
                 order(words.owner(d), a).is_(value)],
            )  # fmt: skip
    if not features.orders_equal_loops:
        above = space.fact("above", 2)
        """Loops of one instruction, the first of a lower number."""
        space.require(
            "unrolled loops are in order",
            {a: words.dims, b: words.dims},
            [~above(a, b), kind(a).is_not("UNROLL"), kind(b).is_not("UNROLL"), order(a, b).is_("OUTER")],
        )
        levels = space.fact("outer_level", 2)
        for name in ("LOOP", "BLOCK", "THREAD"):
            space.require(
                f"levels of an axis are in order ({name})",
                {a: words.dims, b: words.dims},
                [~levels(a, b), kind(a).is_not(name), kind(b).is_not(name), order(a, b).is_("OUTER")],
            )
