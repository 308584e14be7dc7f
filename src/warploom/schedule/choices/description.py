"""The space of a kernel's implementations: every choice and every constraint, each with its reason.

Order. `order(a, b)` says how two statements lie: a BEFORE or AFTER b, a INNER (inside) or OUTER (around) b, or a and b are
one loop (MERGED). The constraints of `_order` make every decided order a tree of loops with a sequence in each body; those of
`_flow` keep producers before users and every instruction in exactly the loops that it may be run in:
  - an instruction lies inside its dims; a store lies in no other loop, else it would be repeated, and a reduction in no other
    loop that does not hold its start as well, else it would add up twice; other instructions may be repeated. The store of a
    temporary may be repeated too, but not by threads: they would write while others read.
  - a user of a total comes after the loops that it is a total over; a reduction's start comes before them.
Kinds (`_kinds`). Threads, unrolled and vector loops need a size known beforehand; block, thread and vector loops need
independent iterations. Blocks lie around everything and around each other; inside an unrolled loop is no real loop; a vector
loop is one vector instruction. Merged loops are of one kind and size.
Threads (`_threads`). `thread_mapping(a, b)` says on which hardware level two thread loops lie: the same (MAPPED), a on an outer
one (MAPPED_OUT), or the reverse. It is an equivalence with an order of the classes. Nested thread loops follow the order; loops
of one level have one size and are not nested. Nests of thread loops are perfect: nothing stands between two thread loops, so
that all threads meet at every barrier.
Values (`_values`). `dim_mapping(p)` says how a value travels between the two dims of pair p: merged loops (MERGED), registers of
unrolled or vector loops (UNROLL_MAP), registers of threads mapped alike (THREAD_MAP), or an array (NOT_MAPPED). It follows from
order, kinds and thread mapping. NOT_MAPPED brings a temporary to life with its store, its load and their dims (trigger `stage`):
a pair that is not merged becomes a dimension of the array.
Limits (`_limits`): threads, thread and block loops, unrolling, shared memory, registers.
Ties (`_ties`), left out in the paper's space: where two implementations have the same code one of them is refused.

Source: Beaugnon et al., sections 3 and 4; facts of the published implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from warploom.schedule.choices.features import Features
from warploom.schedule.space import CompiledSpace, Counter, Space

ORDERS = ("BEFORE", "AFTER", "INNER", "OUTER", "MERGED")
KINDS = ("LOOP", "UNROLL", "VECTOR", "BLOCK", "THREAD")
MAPPINGS = ("NOT_THREADS", "MAPPED", "MAPPED_OUT", "MAPPED_IN")
TRANSFERS = ("NOT_MAPPED", "UNROLL_MAP", "THREAD_MAP", "MERGED")
SPACES = ("GLOBAL", "SHARED")
CACHES = ("ALL", "L2", "READ_ONLY", "NONE")
AHEAD = ("0", "2", "8")
MOST_LOOPS = 16
"""Of one instruction, and pairs of one temporary."""
VECTOR_SIZES = 3
"""Sizes that a vector loop may have, at most."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """All that the description depends on, besides facts about objects."""

    features: Features
    has_threads: bool
    has_vector_arithmetic: bool


@lru_cache(maxsize=16)
def description(flavour: Flavour) -> CompiledSpace:
    return _Description(flavour).space.compile()


class _Description:
    def __init__(self, flavour: Flavour) -> None:
        self.flavour = flavour
        self.features = flavour.features
        self.space = space = Space("kernel")
        self.statements = space.set("Statements")
        self.instructions = space.set("Instructions", within=self.statements)
        self.accesses = space.set("Accesses", within=self.instructions)
        self.confined = space.set("Confined", within=self.instructions)
        """Stores and reductions: not every loop may repeat them."""
        self.reductions = space.set("Reductions", within=self.confined)
        self.dims = space.set("Dims", within=self.statements, disjoint_from=self.instructions)
        self.static_dims = space.set("StaticDims", within=self.dims)
        self.reduced_dims = space.set("ReducedDims", within=self.dims)
        self.own = space.set("Own", within=self.dims, of=self.instructions)
        self.axes = space.set("Axes")
        self.extents = space.set("Extents")
        self.tiles = space.set("Tiles", within=self.extents, of=self.axes)
        self.regions = space.set("Regions")
        self.temporaries = space.set("Temporaries", within=self.regions)
        self.pairs = space.set("Pairs")
        self.block_pairs = space.set("BlockPairs", within=self.pairs)
        """Between instructions whose value may go through a temporary."""
        self.staged_pairs = space.set("StagedPairs", within=self.block_pairs)
        self.laid_out = space.fact("laid_out", 2)
        """Pairs of one value, dimensions of one array if it is staged."""
        self.dimensions = space.set("Dimensions", within=self.pairs, of=self.temporaries)
        self.kernel = space.set("Kernel")
        """One object, for what is decided once."""
        self.layers = space.set("Layers")
        """Copies that a temporary may have."""

        self.order = space.enum(
            "order", (self.statements, self.statements), ORDERS, antisymmetric={"BEFORE": "AFTER", "INNER": "OUTER"}
        )
        self.kind = space.enum("dim_kind", (self.dims,), KINDS)
        self.size = space.integer("size", (self.extents,))
        self.transfer = space.enum("dim_mapping", (self.pairs,), TRANSFERS)
        self.mem_space = space.enum("mem_space", (self.regions,), SPACES)
        self.cache = space.enum("cache", (self.accesses,), CACHES)
        self.layout = space.enum(
            "layout", (self.staged_pairs, self.staged_pairs), ("INNER", "OUTER"), antisymmetric={"INNER": "OUTER"}
        )
        self.extent = space.function("extent")
        self.owner = space.function("owner")
        self.source, self.target = space.function("source"), space.function("target")
        self.put, self.get = space.function("put"), space.function("get")
        """Of a pair that may be staged: its dims around the temporary's store and load."""
        self.own_dims = space.fact("owns", 2)
        self._order()
        self._flow()
        self._kinds()
        if flavour.has_threads:
            self._threads()
        if self.features.partials:
            self._partials()
        self._values()
        self._memory()
        self._limits()
        self._ties()

    def _order(self) -> None:
        space, order = self.space, self.order
        a, b, c = space.objects("a b c")
        space.require(
            "BEFORE is transitive",
            {a: self.statements, b: self.statements, c: self.statements},
            [order(a, b).is_not("BEFORE"), order(b, c).is_not("BEFORE"), order(a, c).is_("BEFORE")],
        )
        space.require(
            "INNER is transitive",
            {a: self.statements, b: self.statements, c: self.statements},
            [order(a, b).is_not("INNER"), order(b, c).is_not("INNER"), order(a, c).is_("INNER")],
        )
        for side in ("BEFORE", "AFTER"):
            space.require(
                f"what is inside a loop comes {side} with it",
                {a: self.statements, b: self.statements, c: self.statements},
                [order(a, b).is_not(side), order(c, b).is_not("INNER"), order(a, c).is_(side)],
            )
        space.require(
            "loops around one statement are nested",
            {a: self.statements, b: self.statements, c: self.statements},
            [order(b, a).is_not("INNER"), order(b, c).is_not("INNER"), order(a, c).is_("INNER", "OUTER", "MERGED")],
        )
        for value in ORDERS:
            space.require(
                f"merged loops agree on {value}",
                {a: self.statements, b: self.statements, c: self.statements},
                [order(a, b).is_not("MERGED"), order(a, c).is_not(value), order(b, c).is_(value)],
            )
        space.require(
            "instructions hold nothing",
            {a: self.instructions, b: self.statements},
            [order(a, b).is_("BEFORE", "AFTER", "INNER")],
        )
        siblings, chained = space.fact("siblings", 2), space.fact("chained", 2)
        space.require(
            "sums that may not be reordered run in order",
            {a: self.dims, b: self.dims},
            [~chained(a, b), order(a, b).is_("OUTER")],
        )
        space.require(
            "loops of one instruction are nested",
            {a: self.dims, b: self.dims},
            [~siblings(a, b), order(a, b).is_("INNER", "OUTER")],
        )

    def _flow(self) -> None:
        space, order, own = self.space, self.order, self.own_dims
        a, b, i, d = space.objects("a b i d")
        precedes = space.fact("precedes", 2)
        space.require("an instruction is in its loops", {i: self.instructions, d: self.own(i)}, [order(d, i).is_("OUTER")])
        space.require(
            "producers before users", {a: self.statements, b: self.statements}, [~precedes(a, b), order(a, b).is_("BEFORE")]
        )
        self.starts = space.fact("starts", 2)
        """(start of a reduction, reduction)."""
        self.is_store = space.fact("is_store")
        """To an array of the kernel."""
        self._merged_with_own()
        space.require(
            "a store is not repeated",
            {i: self.confined, d: self.dims},
            [~self.is_store(i), own(i, d), order(d, i).is_not("OUTER"), self.own_loop(i, d).is_not("NONE")],
        )
        space.require(
            "a reduction is repeated with its start",
            {a: self.instructions, i: self.confined, d: self.dims},
            [
                ~self.starts(a, i),
                own(i, d),
                order(d, i).is_not("OUTER"),
                order(d, a).is_("OUTER"),
                self.own_loop(i, d).is_not("NONE"),
            ],
        )

    def _merged_with_own(self) -> None:
        """`own_loop(i, d)`: which of the instruction's loops d is merged with. A constraint may not say "one of" over objects, so
        where loops of different extents merge a choice names the position among the instruction's dims."""
        space, order = self.space, self.order
        i, d = space.objects("i d")
        which = space.enum("own_loop", (self.confined, self.dims), (*(f"LOOP_{n}" for n in range(MOST_LOOPS)), "NONE"))
        for n in range(MOST_LOOPS):
            has = space.fact(f"has_loop_{n}", 2)
            """The instruction has such a loop, and it may be merged with that dim."""
            nth = space.function(f"loop_{n}")
            name = f"LOOP_{n}"
            space.require(f"{name} exists", {i: self.confined, d: self.dims}, [has(i, d), which(i, d).is_not(name)])
            space.require(
                f"{name} is merged",
                {i: self.confined, d: self.dims},
                [~has(i, d), which(i, d).is_not(name), order(nth(i), d).is_("MERGED")],
            )
            space.require(
                f"merged with {name}",
                {i: self.confined, d: self.dims},
                [~has(i, d), which(i, d).is_(name), order(nth(i), d).is_not("MERGED")],
            )
        self.own_loop = which

    def _kinds(self) -> None:
        space, order, kind, size = self.space, self.order, self.kind, self.size
        a, b, d, i = space.objects("a b d i")
        for name in ("UNROLL", "VECTOR", "BLOCK", "THREAD"):
            can = space.fact(f"can_{name.lower()}")
            space.require(f"dims that may be {name}", {d: self.dims}, [can(d), kind(d).is_not(name)])
        for name in KINDS:
            space.require(
                f"merged loops are both {name}",
                {a: self.dims, b: self.dims},
                [order(a, b).is_not("MERGED"), kind(a).is_not(name), kind(b).is_(name)],
            )
        may_merge = space.fact("may_merge", 2)
        space.require("loops that may be merged", {a: self.dims, b: self.dims}, [may_merge(a, b), order(a, b).is_not("MERGED")])
        same_extent = space.fact("same_extent", 2)
        space.require(
            "merged loops have one size",
            {a: self.dims, b: self.dims},
            [same_extent(a, b), ~may_merge(a, b), order(a, b).is_not("MERGED"), size(self.extent(a)) == size(self.extent(b))],
        )
        space.require(
            "blocks lie around or inside",
            {d: self.dims, a: self.statements},
            [kind(d).is_not("BLOCK"), order(d, a).is_("OUTER", "INNER", "MERGED")],
        )
        space.require(
            "only blocks around blocks",
            {a: self.dims, b: self.dims},
            [kind(b).is_not("BLOCK"), order(a, b).is_not("OUTER"), kind(a).is_("BLOCK")],
        )
        space.require(
            "no loops in unrolled ones",
            {a: self.dims, b: self.dims},
            [kind(a).is_not("UNROLL"), order(b, a).is_not("INNER"), kind(b).is_("UNROLL", "VECTOR")],
        )
        space.require(
            "no loops in vectors", {a: self.dims, b: self.dims}, [kind(a).is_not("VECTOR"), order(b, a).is_not("INNER")]
        )
        space.require(
            "one instruction in a vector",
            {d: self.dims, i: self.instructions},
            [self.own_dims(i, d), kind(d).is_not("VECTOR"), order(i, d).is_not("INNER")],
        )
        lanes = [space.constant(f"lanes_{n}", 1) for n in range(VECTOR_SIZES)]
        space.require(
            "sizes of vectors",
            {d: self.dims},
            [kind(d).is_not("VECTOR"), *(size(self.extent(d)) == allowed(d) for allowed in lanes)],
        )

    def _threads(self) -> None:
        space, order, kind, size = self.space, self.order, self.kind, self.size
        a, b, c, s = space.objects("a b c s")
        mapping = space.enum(
            "thread_mapping", (self.static_dims, self.static_dims), MAPPINGS, antisymmetric={"MAPPED_OUT": "MAPPED_IN"}
        )
        self.mapping = mapping
        space.require(
            "only threads are mapped",
            {a: self.static_dims, b: self.static_dims},
            [mapping(a, b).is_("NOT_THREADS"), kind(a).is_("THREAD")],
        )
        space.require(
            "all threads are mapped",
            {a: self.static_dims, b: self.static_dims},
            [mapping(a, b).is_not("NOT_THREADS"), kind(a).is_not("THREAD"), kind(b).is_not("THREAD")],
        )
        for value in MAPPINGS[1:]:
            space.require(
                f"threads mapped alike agree on {value}",
                {a: self.static_dims, b: self.static_dims, c: self.static_dims},
                [mapping(a, b).is_not("MAPPED"), mapping(b, c).is_not(value), mapping(a, c).is_(value)],
            )
        space.require(
            "outer levels are in order",
            {a: self.static_dims, b: self.static_dims, c: self.static_dims},
            [mapping(a, b).is_not("MAPPED_OUT"), mapping(b, c).is_not("MAPPED_OUT"), mapping(a, c).is_("MAPPED_OUT")],
        )
        space.require(
            "threads mapped alike have one size",
            {a: self.static_dims, b: self.static_dims},
            [mapping(a, b).is_not("MAPPED"), size(self.extent(a)) == size(self.extent(b))],
        )
        space.require(
            "threads mapped alike are not nested",
            {a: self.static_dims, b: self.static_dims},
            [mapping(a, b).is_not("MAPPED"), order(a, b).is_not("INNER", "OUTER")],
        )
        space.require(
            "nested threads follow the levels",
            {a: self.static_dims, b: self.static_dims},
            [mapping(a, b).is_not("MAPPED_OUT"), order(a, b).is_not("INNER", "MERGED")],
        )
        nest = space.enum("thread_nest", (self.static_dims, self.static_dims), ("NO", "OUT", "IN"), antisymmetric={"OUT": "IN"})
        space.require(
            "nested threads are threads",
            {a: self.static_dims, b: self.static_dims},
            [nest(a, b).is_not("OUT"), mapping(a, b).is_("MAPPED_OUT")],
        )
        space.require(
            "nested threads are nested",
            {a: self.static_dims, b: self.static_dims},
            [nest(a, b).is_not("OUT"), order(a, b).is_("OUTER")],
        )
        space.require(
            "nested threads",
            {a: self.static_dims, b: self.static_dims},
            [nest(a, b).is_("OUT"), mapping(a, b).is_not("MAPPED_OUT"), order(a, b).is_not("OUTER")],
        )
        space.require(
            "nests of threads are perfect",
            {s: self.instructions, a: self.static_dims, b: self.static_dims},
            [order(s, a).is_not("INNER"), nest(a, b).is_not("OUT"), order(s, b).is_("INNER")],
        )
        stand = space.enum("thread_stand", (self.dims,), ("PLAIN", "THREAD", "ABOVE"))
        space.require("threads stand as threads", {a: self.dims}, [kind(a).is_not("THREAD"), stand(a).is_("THREAD")])
        space.require("only threads stand as threads", {a: self.dims}, [kind(a).is_("THREAD"), stand(a).is_not("THREAD")])
        space.require(
            "loops above threads",
            {a: self.dims, b: self.dims},
            [kind(b).is_not("THREAD"), order(a, b).is_not("OUTER"), stand(a).is_not("PLAIN")],
        )
        space.require(
            "no loops between threads",
            {a: self.dims, b: self.dims},
            [kind(a).is_not("THREAD"), order(b, a).is_not("INNER"), stand(b).is_not("ABOVE")],
        )

    def _values(self) -> None:
        space, order, kind, transfer = self.space, self.order, self.kind, self.transfer
        p, d, i = space.objects("p d i")
        source, target = self.source(p), self.target(p)
        for scope, allowed in (("thread", TRANSFERS[1:]), ("local", ("UNROLL_MAP", "MERGED"))):
            has_scope = space.fact(f"is_{scope}_pair")
            space.require(f"values of {scope} scope", {p: self.pairs}, [~has_scope(p), transfer(p).is_(*allowed)])
        space.require("values travel forward", {p: self.pairs}, [order(source, target).is_("BEFORE", "MERGED")])
        space.require("merged pairs", {p: self.pairs}, [transfer(p).is_not("MERGED"), order(source, target).is_("MERGED")])
        space.require(
            "pairs of merged loops", {p: self.pairs}, [transfer(p).is_("MERGED"), order(source, target).is_not("MERGED")]
        )
        dynamic = space.fact("is_dynamic_pair")
        space.require("loops of unknown size are merged", {p: self.pairs}, [~dynamic(p), order(source, target).is_("MERGED")])
        registers = [("UNROLL",), ("VECTOR",)] if self.flavour.has_vector_arithmetic else [("UNROLL", "VECTOR")]
        for end in (source, target):
            space.require(
                f"registers need unrolled loops ({end})",
                {p: self.pairs},
                [transfer(p).is_not("UNROLL_MAP"), kind(end).is_("UNROLL", "VECTOR")],
            )
        for kinds in registers:
            space.require(
                f"registers of {'/'.join(kinds)}",
                {p: self.pairs},
                [transfer(p).is_not("NOT_MAPPED"), kind(source).is_not(*kinds), kind(target).is_not(*kinds)],
            )
            if len(registers) > 1:
                space.require(
                    f"registers are alike ({'/'.join(kinds)})",
                    {p: self.pairs},
                    [transfer(p).is_not("UNROLL_MAP"), kind(source).is_not(*kinds), kind(target).is_(*kinds)],
                )
        for a, b in ((source, target), (target, source)):
            for kinds in (("LOOP",), ("BLOCK",), ("THREAD",), ("UNROLL", "VECTOR")):
                space.require(
                    f"values without an array travel between loops of one kind ({a}, {'/'.join(kinds)})",
                    {p: self.pairs},
                    [transfer(p).is_("NOT_MAPPED"), kind(a).is_not(*kinds), kind(b).is_(*kinds)],
                )
        if self.flavour.has_threads:
            threads = space.fact("has_static_ends")
            mapped = self.mapping(source, target)
            space.require(
                "registers of threads", {p: self.pairs}, [~threads(p), transfer(p).is_not("THREAD_MAP"), mapped.is_("MAPPED")]
            )
            space.require(
                "threads mapped alike keep registers",
                {p: self.pairs},
                [~threads(p), transfer(p).is_not("NOT_MAPPED"), mapped.is_not("MAPPED")],
            )
            space.require("threads are static", {p: self.pairs}, [threads(p), transfer(p).is_not("THREAD_MAP")])
        else:
            space.require("no threads", {p: self.pairs}, [transfer(p).is_not("THREAD_MAP")])
        space.trigger(
            "stage",
            {p: self.block_pairs},
            [transfer(p).is_("NOT_MAPPED")],
            activates=(
                self.statements, self.instructions, self.accesses, self.confined, self.dims, self.static_dims, self.own,
                self.regions, self.temporaries, self.pairs, self.staged_pairs, self.dimensions, self.layers,
            ),
        )  # fmt: skip
        put, get = self.put, self.get
        for side, other in ((source, put(p)), (get(p), target)):
            space.require(
                f"merged pairs have no dimension ({other})",
                {p: self.staged_pairs},
                [order(source, target).is_not("MERGED"), order(side, other).is_("MERGED")],
            )
        space.require(
            "arrays are filled first",
            {p: self.staged_pairs},
            [order(source, target).is_not("BEFORE"), order(put(p), get(p)).is_("BEFORE")],
        )
        space.require(
            "arrays are not shared by merged threads",
            {p: self.staged_pairs},
            [order(source, target).is_not("MERGED"), kind(source).is_not("THREAD")],
        )
        (q,) = space.objects("q")
        laid_out = self.laid_out
        space.require(
            "merged threads leave no array to share",
            {p: self.block_pairs, q: self.block_pairs},
            [~laid_out(p, q), transfer(p).is_not("NOT_MAPPED"), order(self.source(q), self.target(q)).is_not("MERGED"),
             kind(self.source(q)).is_not("THREAD")],
        )  # fmt: skip
        is_put = space.fact("is_put")
        space.require(
            "threads do not repeat what fills an array",
            {i: self.confined, d: self.dims},
            [
                ~is_put(i),
                self.own_dims(i, d),
                order(d, i).is_not("OUTER"),
                kind(d).is_not("THREAD"),
                self.own_loop(i, d).is_not("NONE"),
            ],
        )

    def _memory(self) -> None:
        space, order, kind = self.space, self.order, self.kind
        p, q, r, i = space.objects("p q r i")
        layout, source, target = self.layout, self.source, self.target
        x, y, z = space.objects("x y z")
        space.require(
            "the layout is an order",
            {x: self.staged_pairs, y: self.staged_pairs, z: self.staged_pairs},
            [layout(x, y).is_not("OUTER"), layout(y, z).is_not("OUTER"), layout(x, z).is_("OUTER")],
        )
        laid_out, follows = self.laid_out, space.fact("follows", 2)
        """The second pair comes after the first in the list of pairs."""
        space.require(
            "layouts of one array",
            {p: self.staged_pairs, q: self.staged_pairs},
            [laid_out(p, q), ~follows(p, q), layout(p, q).is_("OUTER")],
        )
        space.require(
            "what is no dimension comes first",
            {p: self.staged_pairs, q: self.staged_pairs},
            [~laid_out(p, q), order(source(p), target(p)).is_not("MERGED"), order(source(q), target(q)).is_not("BEFORE"),
             layout(p, q).is_("OUTER")],
        )  # fmt: skip
        space.require(
            "what are no dimensions keep their order",
            {p: self.staged_pairs, q: self.staged_pairs},
            [~follows(p, q), order(source(p), target(p)).is_not("MERGED"), order(source(q), target(q)).is_not("MERGED"),
             layout(p, q).is_("OUTER")],
        )  # fmt: skip
        for end in (self.put(p), self.get(p)):
            space.require(
                f"vectors run along memory ({end})",
                {p: self.staged_pairs, q: self.staged_pairs},
                [~laid_out(p, q), kind(end).is_not("VECTOR"), layout(q, p).is_("OUTER")],
            )
        temporary = space.fact("is_temporary")
        space.require("arrays of the kernel are global", {r: self.regions}, [temporary(r), self.mem_space(r).is_("GLOBAL")])
        space.require("temporaries are shared", {r: self.regions}, [~temporary(r), self.mem_space(r).is_("SHARED")])
        if self.features.swizzles:
            swizzle, can = space.enum("swizzle", (self.temporaries,), ("NONE", "XOR")), space.fact("can_swizzle")
            space.require("arrays that may be permuted", {r: self.temporaries}, [can(r), swizzle(r).is_("NONE")])
        if self.features.prefetches and not self.flavour.has_threads:
            (k,) = space.objects("k")
            ahead, can = space.enum("prefetch", (self.kernel,), AHEAD), space.fact("can_prefetch")
            space.require("kernels whose data is far away", {k: self.kernel}, [can(k), ahead(k).is_("0")])
        for value in CACHES:
            can = space.fact(f"can_cache_{value.lower()}")
            space.require(f"accesses that may be {value}", {i: self.accesses}, [can(i), self.cache(i).is_not(value)])

    def _limits(self) -> None:
        space, order, kind, size = self.space, self.order, self.kind, self.size
        a, b, d, i, e, x, r, p = space.objects("a b d i e x r p")
        outermost, exact = space.function("outermost"), space.fact("is_exact")
        space.cover(
            "tiles cover the axis",
            {x: self.axes},
            total=space.constant("axis_size", 1)(x),
            outer=size(outermost(x)),
            tiles=size(e),
            over={e: self.tiles(x)},
            exact=exact(x),
        )
        if self.flavour.has_threads:
            thread_dims = space.quotient(
                "ThreadDims",
                of=self.static_dims,
                when=kind.is_("THREAD"),
                by=self.mapping.is_("MAPPED"),
                flag="is_thread_dim",
            )
            threads = space.counter("threads", product=size(self.extent(d)), over={d: thread_dims})
            levels = space.counter("thread_levels", sum=1, over={d: thread_dims})
            space.require("threads of a block", {}, [threads() <= space.constant("max_threads")])
            space.require("thread levels", {}, [levels() <= space.constant("max_thread_dims")])
            space.require(
                "outer thread loops",
                {a: self.static_dims, b: self.static_dims},
                [self.mapping(a, b).is_not("MAPPED_OUT"), size(self.extent(a)) <= space.constant("max_outer_thread_size")],
            )
        block_dims = space.quotient(
            "BlockDims", of=self.dims, when=kind.is_("BLOCK"), by=order.is_("MERGED"), flag="is_block_dim"
        )
        blocks = space.counter("block_levels", sum=1, over={d: block_dims})
        space.require("block levels", {}, [blocks() <= space.constant("max_block_dims")])
        space.require(
            "inner block loops",
            {a: self.dims, b: self.dims},
            [order(a, b).is_not("OUTER"), kind(b).is_not("BLOCK"),
             size(self.extent(b)) <= space.constant("max_outer_block_size")],
        )  # fmt: skip
        unrolled = space.counter(
            "unroll_factor",
            of={i: self.instructions},
            product=size(self.extent(d)),
            over={d: self.own(i)},
            when=[kind(d).is_("UNROLL")],
        )
        space.require("unrolling", {i: self.instructions}, [unrolled(i) <= space.constant("max_unroll")])
        held = space.counter(
            "temporary_bytes",
            of={r: self.temporaries},
            product=size(self.extent(self.source(p))),
            over={p: self.dimensions(r)},
            when=[order(self.source(p), self.target(p)).is_("BEFORE")],
            start=space.constant("element_bytes", 1)(r),
        )
        if self.features.pipelines:
            shared = self._copies(held)
        else:
            shared = space.counter("shared_bytes", sum=held(r), over={r: self.temporaries})
        space.require("shared memory", {}, [shared() <= space.constant("max_shared_bytes")])
        if self.features.budgets_registers:
            self._registers()

    def _copies(self, held: Counter) -> Counter:
        """A temporary that is filled ahead has several copies: layers, each present from some number of stages on."""
        space, order, kind = self.space, self.order, self.kind
        r, c = space.objects("r c")
        layers = self.layers
        stages = space.enum("stages", (self.temporaries,), ("1", "2", "3"))
        layer = space.enum("layer", (layers,), ("ABSENT", "PRESENT"))
        of = space.function("array_of")
        for first, values in ((1, ("1", "2", "3")), (2, ("2", "3")), (3, ("3",))):
            is_from = space.fact(f"is_layer_{first}")
            space.require(
                f"layer {first} is there", {c: layers}, [~is_from(c), layer(c).is_("PRESENT"), stages(of(c)).is_not(*values)]
            )
            space.require(
                f"layer {first} is needed", {c: layers}, [~is_from(c), layer(c).is_("ABSENT"), stages(of(c)).is_(*values)]
            )
        can = space.fact("can_pipeline")
        space.require("arrays that may be filled ahead", {r: self.temporaries}, [can(r), stages(r).is_("1")])
        around = space.enum("pipelined", (self.temporaries,), (*(f"LOOP_{n}" for n in range(MOST_LOOPS)), "NONE"))
        """A sequential loop around both ends, by the position of its pair."""
        space.require("a loop to run ahead in", {r: self.temporaries}, [stages(r).is_("1"), around(r).is_not("NONE")])
        for n in range(MOST_LOOPS):
            has = space.fact(f"has_pair_{n}")
            first, second = space.function(f"source_{n}")(r), space.function(f"target_{n}")(r)
            name = f"LOOP_{n}"
            space.require(f"pair {n} exists", {r: self.temporaries}, [has(r), around(r).is_not(name)])
            space.require(
                f"pair {n} is merged",
                {r: self.temporaries},
                [~has(r), around(r).is_not(name), order(first, second).is_("MERGED")],
            )
            space.require(
                f"pair {n} is sequential", {r: self.temporaries}, [~has(r), around(r).is_not(name), kind(first).is_("LOOP")]
            )
        return space.counter("shared_bytes", sum=held(of(c)), over={c: layers}, when=[layer(c).is_("PRESENT")])

    def _registers(self) -> None:
        """A value has one register per iteration of the unrolled (in scalar machines also vector) loops around it; sums that are
        chained need one only. Those that live across loops, the totals of reductions, must fit together."""
        space, kind, size = self.space, self.kind, self.size
        d, i = space.objects("d i")
        each = space.enum("registers", (self.dims,), ("ONE", "EACH"))
        kinds = ("UNROLL",) if self.flavour.has_vector_arithmetic else ("UNROLL", "VECTOR")
        reduced = space.fact("is_reduced")
        space.require("a register each", {d: self.dims}, [reduced(d), kind(d).is_not(*kinds), each(d).is_("EACH")])
        space.require("one register", {d: self.dims}, [kind(d).is_(*kinds), each(d).is_("ONE")])
        if self.features.partials:
            partials = self.partials
            space.require("one total", {d: self.reduced_dims}, [partials(d).is_("TREE"), each(d).is_("ONE")])
            space.require(
                "a total each",
                {d: self.reduced_dims},
                [partials(d).is_not("TREE"), kind(d).is_not(*kinds), each(d).is_("EACH")],
            )
        else:
            space.require("one total", {d: self.reduced_dims}, [each(d).is_("ONE")])
        held = space.counter(
            "registers_of",
            of={i: self.instructions},
            product=size(self.extent(d)),
            over={d: self.own(i)},
            when=[each(d).is_("EACH")],
        )
        space.require("registers of a value", {i: self.instructions}, [held(i) <= space.constant("max_registers")])
        totals = space.counter("registers_of_totals", sum=held(i), over={i: self.reductions})
        space.require("registers of totals", {}, [totals() <= space.constant("max_total_registers")])

    def _ties(self) -> None:
        space, order, kind, size = self.space, self.order, self.kind, self.size
        a, b, d = space.objects("a b d")
        features = self.features
        if features.outer_is_static:
            space.require(
                "a loop of one iteration is no loop", {d: self.dims}, [size(self.extent(d)) != 1, kind(d).is_("UNROLL")]
            )
        if not features.merges_axes:
            same = space.fact("same_part", 2)
            space.require(
                "a loop is not repeated in itself",
                {a: self.dims, b: self.dims},
                [~same(a, b), order(a, b).is_not("INNER", "OUTER")],
            )
        if not features.shares_unrolled:
            kin = space.fact("is_kin", 2)
            """The instruction of a loop, or another loop of it."""
            for value in ORDERS:
                space.require(
                    f"unrolled loops lie where their instruction does ({value})",
                    {d: self.dims, a: self.statements},
                    [kin(d, a), kind(d).is_not("UNROLL", "VECTOR"), order(d, a).is_not(value),
                     order(self.owner(d), a).is_(value)],
                )  # fmt: skip
        if not features.orders_equal_loops:
            above = space.fact("above", 2)
            """Loops of one instruction, the first of a lower number."""
            space.require(
                "unrolled loops are in order",
                {a: self.dims, b: self.dims},
                [~above(a, b), kind(a).is_not("UNROLL"), kind(b).is_not("UNROLL"), order(a, b).is_("OUTER")],
            )
            levels = space.fact("outer_level", 2)
            for name in ("LOOP", "BLOCK", "THREAD"):
                space.require(
                    f"levels of an axis are in order ({name})",
                    {a: self.dims, b: self.dims},
                    [~levels(a, b), kind(a).is_not(name), kind(b).is_not(name), order(a, b).is_("OUTER")],
                )

    def _partials(self) -> None:
        space, kind = self.space, self.kind
        (d,) = space.objects("d")
        self.partials = partials = space.enum("partials", (self.reduced_dims,), ("CHAIN", "TREE"))
        can = space.fact("can_tree")
        space.require("reductions that may be reordered", {d: self.reduced_dims}, [can(d), partials(d).is_("CHAIN")])
        space.require("loops add up", {d: self.reduced_dims}, [kind(d).is_not("LOOP", "BLOCK"), partials(d).is_("CHAIN")])
        space.require(
            "vectors and threads keep parts",
            {d: self.reduced_dims},
            [kind(d).is_not("VECTOR", "THREAD"), partials(d).is_("TREE")],
        )
        space.require("one iteration adds up", {d: self.reduced_dims}, [self.size(self.extent(d)) != 1, partials(d).is_("CHAIN")])
