"""Hardware levels of thread loops.

`thread_mapping(a, b)` says it of two thread loops: on the same (MAPPED), a on an outer one (MAPPED_OUT), or the reverse. It is an
equivalence with an order of the classes. Nested thread loops follow the order; loops of one level have one size and are not
nested. Nests of thread loops are perfect: nothing stands between two thread loops, so that all threads meet at every barrier.
"""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import MAPPINGS, Vocabulary
from warploom.solve.space import EnumChoice


def add_threads(words: Vocabulary) -> EnumChoice:
    """Returns the choice `thread_mapping`."""
    space, order, kind, size = words.space, words.order, words.kind, words.size
    a, b, c, s = space.objects("a b c s")
    mapping = space.enum(
        "thread_mapping", (words.static_dims, words.static_dims), MAPPINGS, antisymmetric={"MAPPED_OUT": "MAPPED_IN"}
    )
    space.require(
        "only threads are mapped",
        {a: words.static_dims, b: words.static_dims},
        [mapping(a, b).is_("NOT_THREADS"), kind(a).is_("THREAD")],
    )
    space.require(
        "all threads are mapped",
        {a: words.static_dims, b: words.static_dims},
        [mapping(a, b).is_not("NOT_THREADS"), kind(a).is_not("THREAD"), kind(b).is_not("THREAD")],
    )
    for value in MAPPINGS[1:]:
        space.require(
            f"threads mapped alike agree on {value}",
            {a: words.static_dims, b: words.static_dims, c: words.static_dims},
            [mapping(a, b).is_not("MAPPED"), mapping(b, c).is_not(value), mapping(a, c).is_(value)],
        )
    space.require(
        "outer levels are in order",
        {a: words.static_dims, b: words.static_dims, c: words.static_dims},
        [mapping(a, b).is_not("MAPPED_OUT"), mapping(b, c).is_not("MAPPED_OUT"), mapping(a, c).is_("MAPPED_OUT")],
    )
    space.require(
        "threads mapped alike have one size",
        {a: words.static_dims, b: words.static_dims},
        [mapping(a, b).is_not("MAPPED"), size(words.extent(a)) == size(words.extent(b))],
    )
    space.require(
        "threads mapped alike are not nested",
        {a: words.static_dims, b: words.static_dims},
        [mapping(a, b).is_not("MAPPED"), order(a, b).is_not("INNER", "OUTER")],
    )
    space.require(
        "nested threads follow the levels",
        {a: words.static_dims, b: words.static_dims},
        [mapping(a, b).is_not("MAPPED_OUT"), order(a, b).is_not("INNER", "MERGED")],
    )
    nest = space.enum("thread_nest", (words.static_dims, words.static_dims), ("NO", "OUT", "IN"), antisymmetric={"OUT": "IN"})
    space.require(
        "nested threads are threads",
        {a: words.static_dims, b: words.static_dims},
        [nest(a, b).is_not("OUT"), mapping(a, b).is_("MAPPED_OUT")],
    )
    space.require(
        "nested threads are nested",
        {a: words.static_dims, b: words.static_dims},
        [nest(a, b).is_not("OUT"), order(a, b).is_("OUTER")],
    )
    space.require(
        "nested threads",
        {a: words.static_dims, b: words.static_dims},
        [nest(a, b).is_("OUT"), mapping(a, b).is_not("MAPPED_OUT"), order(a, b).is_not("OUTER")],
    )
    space.require(
        "nests of threads are perfect",
        {s: words.instructions, a: words.static_dims, b: words.static_dims},
        [order(s, a).is_not("INNER"), nest(a, b).is_not("OUT"), order(s, b).is_("INNER")],
    )
    stand = space.enum("thread_stand", (words.dims,), ("PLAIN", "THREAD", "ABOVE"))
    space.require("threads stand as threads", {a: words.dims}, [kind(a).is_not("THREAD"), stand(a).is_("THREAD")])
    space.require("only threads stand as threads", {a: words.dims}, [kind(a).is_("THREAD"), stand(a).is_not("THREAD")])
    space.require(
        "loops above threads",
        {a: words.dims, b: words.dims},
        [kind(b).is_not("THREAD"), order(a, b).is_not("OUTER"), stand(a).is_not("PLAIN")],
    )
    space.require(
        "no loops between threads",
        {a: words.dims, b: words.dims},
        [kind(a).is_not("THREAD"), order(b, a).is_not("INNER"), stand(b).is_not("ABOVE")],
    )
    return mapping
