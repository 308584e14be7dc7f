"""Limits of the machine: threads, thread and block loops, unrolling, shared memory, registers."""

from __future__ import annotations

from warploom.schedule.choices.description.vocabulary import MOST_LOOPS, Vocabulary
from warploom.schedule.choices.description.warps import add_most_levels, add_warps
from warploom.solve.space import Counter, EnumChoice


def add_limits(words: Vocabulary, mapping: EnumChoice | None, partials: EnumChoice | None) -> None:
    """`mapping`: None on targets without threads; `partials`: None where reductions keep one total."""
    space, order, kind, size = words.space, words.order, words.kind, words.size
    a, b, d, i, e, x, r, p = space.objects("a b d i e x r p")
    outermost, exact = space.function("outermost"), space.fact("is_exact")
    space.cover(
        "tiles cover the axis",
        {x: words.axes},
        total=space.constant("axis_size", 1)(x),
        outer=size(outermost(x)),
        tiles=size(e),
        over={e: words.tiles(x)},
        exact=exact(x),
    )
    if mapping is not None:
        thread_dims = space.quotient(
            "ThreadDims",
            of=words.static_dims,
            when=kind.is_("THREAD"),
            by=mapping.is_("MAPPED"),
            flag="is_thread_dim",
        )
        threads = space.counter("threads", product=size(words.extent(d)), over={d: thread_dims})
        levels = space.counter("thread_levels", sum=1, over={d: thread_dims})
        space.require("threads of a block", {}, [threads() <= space.constant("max_threads")])
        warps = add_warps(words, mapping, levels) if words.features.warps else None
        add_most_levels(words, warps, "thread levels", {}, levels())
        _threads_of_instructions(words, warps)
        _sizes_of_threads(words, warps)
        space.require(
            "outer thread loops",
            {a: words.static_dims, b: words.static_dims},
            [mapping(a, b).is_not("MAPPED_OUT"), size(words.extent(a)) <= space.constant("max_outer_thread_size")],
        )
    block_dims = space.quotient("BlockDims", of=words.dims, when=kind.is_("BLOCK"), by=order.is_("MERGED"), flag="is_block_dim")
    blocks = space.counter("block_levels", sum=1, over={d: block_dims})
    space.require("block levels", {}, [blocks() <= space.constant("max_block_dims")])
    space.require(
        "inner block loops",
        {a: words.dims, b: words.dims},
        [order(a, b).is_not("OUTER"), kind(b).is_not("BLOCK"),
         size(words.extent(b)) <= space.constant("max_outer_block_size")],
    )  # fmt: skip
    unrolled = space.counter(
        "unroll_factor",
        of={i: words.instructions},
        product=size(words.extent(d)),
        over={d: words.own(i)},
        when=[kind(d).is_("UNROLL")],
    )
    space.require("unrolling", {i: words.instructions}, [unrolled(i) <= space.constant("max_unroll")])
    held = space.counter(
        "temporary_bytes",
        of={r: words.temporaries},
        product=size(words.extent(words.source(p))),
        over={p: words.dimensions(r)},
        when=[order(words.source(p), words.target(p)).is_("BEFORE")],
        start=space.constant("element_bytes", 1)(r),
    )
    _bytes_if_staged(words)
    if words.features.pipelines:
        shared = _copies(words, held)
    else:
        shared = space.counter("shared_bytes", sum=held(r), over={r: words.temporaries})
    space.require("shared memory", {}, [shared() <= space.constant("max_shared_bytes")])
    if words.features.budgets_registers:
        _registers(words, partials)


def _sizes_of_threads(words: Vocabulary, warps: EnumChoice | None) -> None:
    """Implied: thread loops of different sizes are different levels, whichever instructions they belong to."""
    space, kind, size = words.space, words.kind, words.size
    d, e, n = space.objects("d e n")
    has_threads = space.enum("extent_has_threads", (words.extents,), ("NO", "YES"))
    occurs = space.enum("thread_size_occurs", (words.thread_sizes,), ("NO", "YES"))
    value = space.constant("thread_size", 1)
    space.require(
        "extents of threads", {d: words.static_dims}, [kind(d).is_not("THREAD"), has_threads(words.extent(d)).is_("YES")]
    )
    space.require(
        "sizes of threads",
        {e: words.extents, n: words.thread_sizes},
        [has_threads(e).is_("NO"), size(e) != value(n), occurs(n).is_("YES")],
    )
    product = space.counter("threads_of_sizes", product=value(n), over={n: words.thread_sizes}, when=[occurs(n).is_("YES")])
    space.require("threads of all sizes", {}, [product() <= space.constant("max_threads")])
    count = space.counter("levels_of_sizes", sum=1, over={n: words.thread_sizes}, when=[occurs(n).is_("YES")])
    add_most_levels(words, warps, "thread levels of all sizes", {}, count())


def _bytes_if_staged(words: Vocabulary) -> None:
    """Implied: what travels through an array has a dimension for each unrolled, vector or thread loop at either end, which are
    not merged, and for each two loops of which one comes first; where that does not fit nothing may travel through it."""
    space, order, kind, size = words.space, words.order, words.kind, words.size
    v, p = space.objects("v p")
    source, target = words.source(p), words.target(p)
    dimension = space.enum("dimension_if_staged", (words.block_pairs,), ("NO", "YES"))
    kinds = ("VECTOR", "THREAD") if words.features.shares_unrolled else ("UNROLL", "VECTOR", "THREAD")
    for end in (source, target):
        space.require(
            f"dimensions of arrays by kind ({end})",
            {p: words.block_pairs},
            [kind(end).is_not(*kinds), dimension(p).is_("YES")],
        )
    space.require(
        "dimensions of arrays by order",
        {p: words.block_pairs},
        [order(source, target).is_not("BEFORE"), dimension(p).is_("YES")],
    )
    held = space.counter(
        "bytes_if_staged",
        of={v: words.travelling},
        product=size(words.extent(target)),
        over={p: words.travels(v)},
        when=[dimension(p).is_("YES")],
        start=space.constant("element_bytes", 1)(v),
    )
    space.require(
        "arrays that fit",
        {v: words.travelling, p: words.travels(v)},
        [words.transfer(p).is_not("NOT_MAPPED"), held(v) <= space.constant("max_shared_bytes")],
    )


def _threads_of_instructions(words: Vocabulary, warps: EnumChoice | None) -> None:
    """Implied: the thread loops of one instruction are nested, so that each is a level of its own. Whether a loop represents its
    level is known late, as long as loops of lower numbers may be mapped to it; this is seen at once."""
    space, kind, size = words.space, words.kind, words.size
    i, d = space.objects("i d")
    threads = space.counter(
        "threads_of",
        of={i: words.instructions},
        product=size(words.extent(d)),
        over={d: words.own(i)},
        when=[kind(d).is_("THREAD")],
    )
    space.require("threads of an instruction", {i: words.instructions}, [threads(i) <= space.constant("max_threads")])
    levels = space.counter(
        "thread_levels_of", of={i: words.instructions}, sum=1, over={d: words.own(i)}, when=[kind(d).is_("THREAD")]
    )
    add_most_levels(words, warps, "thread levels of an instruction", {i: words.instructions}, levels(i))


def _registers_of_operands(words: Vocabulary, kinds: tuple[str, ...]) -> None:
    """Implied: whether a value comes from registers or from an array that is read into registers, it has one for each iteration
    of the unrolled loops in which it is used."""
    space, kind, size = words.space, words.kind, words.size
    v, p = space.objects("v p")
    held = space.counter(
        "registers_of_operand",
        of={v: words.travelling},
        product=size(words.extent(words.target(p))),
        over={p: words.travels(v)},
        when=[kind(words.target(p)).is_(*kinds)],
    )
    space.require("registers of an operand", {v: words.travelling}, [held(v) <= space.constant("max_registers")])


def _copies(words: Vocabulary, held: Counter) -> Counter:
    """A temporary that is filled ahead has several copies: layers, each present from some number of stages on."""
    space, order, kind = words.space, words.order, words.kind
    r, c = space.objects("r c")
    layers = words.layers
    stages = space.enum("stages", (words.temporaries,), ("1", "2", "3"))
    layer = space.enum("layer", (layers,), ("ABSENT", "PRESENT"))
    of = space.function("array_of")
    same = _same_tiles(words)
    for first, values in ((1, ("1", "2", "3")), (2, ("2", "3")), (3, ("3",))):
        is_from = space.fact(f"is_layer_{first}")
        space.require(
            f"layer {first} is there",
            {c: layers},
            [~is_from(c), same(of(c)).is_("YES"), layer(c).is_("PRESENT"), stages(of(c)).is_not(*values)],
        )
        space.require(f"layer {first} is needed", {c: layers}, [~is_from(c), layer(c).is_("ABSENT"), stages(of(c)).is_(*values)])
    space.require("tiles copied for another sum have no layers", {c: layers}, [same(of(c)).is_("NO"), layer(c).is_("ABSENT")])
    can = space.fact("can_pipeline")
    space.require("arrays that may be filled ahead", {r: words.temporaries}, [can(r), stages(r).is_("1")])
    around = space.enum("pipelined", (words.temporaries,), (*(f"LOOP_{n}" for n in range(MOST_LOOPS)), "NONE"))
    """A sequential loop around both ends, by the position of its pair."""
    space.require("a loop to run ahead in", {r: words.temporaries}, [stages(r).is_("1"), around(r).is_not("NONE")])
    for n in range(MOST_LOOPS):
        has = space.fact(f"has_pair_{n}")
        first, second = space.function(f"source_{n}")(r), space.function(f"target_{n}")(r)
        name = f"LOOP_{n}"
        space.require(f"pair {n} exists", {r: words.temporaries}, [has(r), around(r).is_not(name)])
        space.require(
            f"pair {n} is merged",
            {r: words.temporaries},
            [~has(r), around(r).is_not(name), order(first, second).is_("MERGED")],
        )
        space.require(
            f"pair {n} is sequential", {r: words.temporaries}, [~has(r), around(r).is_not(name), kind(first).is_("LOOP")]
        )
    return space.counter("shared_bytes", sum=held(of(c)), over={c: layers}, when=[layer(c).is_("PRESENT")])


def _same_tiles(words: Vocabulary) -> EnumChoice:
    """Whether a temporary holds what an earlier one holds in each round of one loop (`twins`), and takes no memory."""
    space, order = words.space, words.order
    (r,) = space.objects("r")
    same, has_twin = space.enum("same_tile", (words.temporaries,), ("NO", "YES")), space.fact("has_twin")
    rounds = order(space.function("rounds_of_twin")(r), space.function("own_rounds")(r))
    space.require("tiles that another sum may have copied", {r: words.temporaries}, [has_twin(r), same(r).is_("NO")])
    space.require(
        "sums in one loop share tiles", {r: words.temporaries}, [~has_twin(r), rounds.is_not("MERGED"), same(r).is_("YES")]
    )
    space.require(
        "sums apart have their own tiles", {r: words.temporaries}, [~has_twin(r), rounds.is_("MERGED"), same(r).is_("NO")]
    )
    return same


def _registers(words: Vocabulary, partials: EnumChoice | None) -> None:
    """A value has one register per iteration of the unrolled (in scalar machines also vector) loops around it; sums that are
    chained need one only. Those that live across loops, the totals of reductions, must fit together. What a sum takes at once
    (`nest.fusion`) may be more than fits."""
    space, kind, size = words.space, words.kind, words.size
    d, i = space.objects("d i")
    each = space.enum("registers", (words.dims,), ("ONE", "EACH"))
    kinds = ("UNROLL",) if words.flavour.has_vector_arithmetic else ("UNROLL", "VECTOR")
    reduced = space.fact("is_reduced")
    space.require("a register each", {d: words.dims}, [reduced(d), kind(d).is_not(*kinds), each(d).is_("EACH")])
    space.require("one register", {d: words.dims}, [kind(d).is_(*kinds), each(d).is_("ONE")])
    if partials is not None:
        space.require("one total", {d: words.reduced_dims}, [partials(d).is_("TREE"), each(d).is_("ONE")])
        space.require(
            "a total each",
            {d: words.reduced_dims},
            [partials(d).is_not("TREE"), kind(d).is_not(*kinds), each(d).is_("EACH")],
        )
    else:
        space.require("one total", {d: words.reduced_dims}, [each(d).is_("ONE")])
    held = space.counter(
        "registers_of",
        of={i: words.instructions},
        product=size(words.extent(d)),
        over={d: words.own(i)},
        when=[each(d).is_("EACH")],
    )
    at_once = space.fact("is_taken_at_once")
    space.require("registers of a value", {i: words.instructions}, [at_once(i), held(i) <= space.constant("max_registers")])
    _registers_of_operands(words, kinds)
    totals = space.counter("registers_of_totals", sum=held(i), over={i: words.reductions})
    space.require("registers of totals", {}, [totals() <= space.constant("max_total_registers")])
