"""Order of two statements, and what that keeps together.

`order(a, b)`: a is BEFORE or AFTER b, INNER (inside) or OUTER (around) b, or a and b are one loop (MERGED). The constraints of
`add_order` make every decided order a tree of loops with a sequence in each body; those of `add_flow` keep producers before users
and every instruction in exactly the loops that it may be run in:
  - an instruction lies inside its dims; a store lies in no other loop, else it would be repeated, and a reduction in no other
    loop that does not hold its start as well, else it would add up twice; other instructions may be repeated. The store of a
    temporary may be repeated too, but not by threads: they would write while others read (`values`). What is repeated by a loop
    of a size known at run time, which may be 0, is used in that loop only.
  - a user of a total comes after the loops that it is a total over; a reduction's start comes before them.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import MOST_LOOPS, ORDERS, Vocabulary
from warploom.solve.space import EnumChoice


def add_order(words: Vocabulary) -> None:
    space, order = words.space, words.order
    a, b, c = space.objects("a b c")
    space.require(
        "BEFORE is transitive",
        {a: words.statements, b: words.statements, c: words.statements},
        [order(a, b).is_not("BEFORE"), order(b, c).is_not("BEFORE"), order(a, c).is_("BEFORE")],
    )
    space.require(
        "INNER is transitive",
        {a: words.statements, b: words.statements, c: words.statements},
        [order(a, b).is_not("INNER"), order(b, c).is_not("INNER"), order(a, c).is_("INNER")],
    )
    for side in ("BEFORE", "AFTER"):
        space.require(
            f"what is inside a loop comes {side} with it",
            {a: words.statements, b: words.statements, c: words.statements},
            [order(a, b).is_not(side), order(c, b).is_not("INNER"), order(a, c).is_(side)],
        )
    space.require(
        "loops around one statement are nested",
        {a: words.statements, b: words.statements, c: words.statements},
        [order(b, a).is_not("INNER"), order(b, c).is_not("INNER"), order(a, c).is_("INNER", "OUTER", "MERGED")],
    )
    for value in ORDERS:
        space.require(
            f"merged loops agree on {value}",
            {a: words.statements, b: words.statements, c: words.statements},
            [order(a, b).is_not("MERGED"), order(a, c).is_not(value), order(b, c).is_(value)],
        )
    space.require(
        "instructions hold nothing",
        {a: words.instructions, b: words.statements},
        [order(a, b).is_("BEFORE", "AFTER", "INNER")],
    )
    siblings, chained = space.fact("siblings", 2), space.fact("chained", 2)
    space.require(
        "sums that may not be reordered run in order",
        {a: words.dims, b: words.dims},
        [~chained(a, b), order(a, b).is_("OUTER")],
    )
    space.require(
        "loops of one instruction are nested",
        {a: words.dims, b: words.dims},
        [~siblings(a, b), order(a, b).is_("INNER", "OUTER")],
    )


def add_flow(words: Vocabulary) -> EnumChoice:
    """Returns the choice `own_loop`, which `values` needs too."""
    space, order, own = words.space, words.order, words.own_dims
    a, b, i, d = space.objects("a b i d")
    precedes = space.fact("precedes", 2)
    space.require("an instruction is in its loops", {i: words.instructions, d: words.own(i)}, [order(d, i).is_("OUTER")])
    space.require(
        "producers before users", {a: words.statements, b: words.statements}, [~precedes(a, b), order(a, b).is_("BEFORE")]
    )
    may_be_left_out = space.fact("may_be_left_out", 2)
    """(instruction, loop): the instruction has no such index, and the loop may run no round."""
    space.require(
        "what a loop of no rounds may leave out is used in it",
        {a: words.instructions, b: words.instructions, d: words.dims},
        [~may_be_left_out(a, d), ~precedes(a, b), order(d, a).is_not("OUTER"), order(d, b).is_("OUTER")],
    )
    starts = space.fact("starts", 2)
    """(start of a reduction, reduction)."""
    is_store = space.fact("is_store")
    """True for an instruction that stores to an array of the kernel."""
    own_loop = _merged_with_own(words)
    space.require(
        "a store is not repeated",
        {i: words.confined, d: words.dims},
        [~is_store(i), own(i, d), order(d, i).is_not("OUTER"), own_loop(i, d).is_not("NONE")],
    )
    space.require(
        "a reduction is repeated with its start",
        {a: words.instructions, i: words.confined, d: words.dims},
        [
            ~starts(a, i),
            own(i, d),
            order(d, i).is_not("OUTER"),
            order(d, a).is_("OUTER"),
            own_loop(i, d).is_not("NONE"),
        ],
    )
    return own_loop


def _merged_with_own(words: Vocabulary) -> EnumChoice:
    """`own_loop(i, d)`: which of the instruction's loops d is merged with. A constraint may not say "one of" over objects, so
    where loops of different extents merge a choice names the position among the instruction's dims."""
    space, order = words.space, words.order
    i, d = space.objects("i d")
    which = space.enum("own_loop", (words.confined, words.dims), (*(f"LOOP_{n}" for n in range(MOST_LOOPS)), "NONE"))
    for n in range(MOST_LOOPS):
        has = space.fact(f"has_loop_{n}", 2)
        """The instruction has such a loop, and it may be merged with that dim."""
        nth = space.function(f"loop_{n}")
        name = f"LOOP_{n}"
        space.require(f"{name} exists", {i: words.confined, d: words.dims}, [has(i, d), which(i, d).is_not(name)])
        space.require(
            f"{name} is merged",
            {i: words.confined, d: words.dims},
            [~has(i, d), which(i, d).is_not(name), order(nth(i), d).is_("MERGED")],
        )
        space.require(
            f"merged with {name}",
            {i: words.confined, d: words.dims},
            [~has(i, d), which(i, d).is_(name), order(nth(i), d).is_not("MERGED")],
        )
    return which
