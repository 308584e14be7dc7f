"""Vocabulary of all parts of the description: the sets of objects, the choices and facts that several parts need."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.schedule.choices.features import Features
from warploom.solve.space import Space

ORDERS = ("BEFORE", "AFTER", "INNER", "OUTER", "MERGED")
SEQUENTIAL = 0b11
"""BEFORE or AFTER, as a mask of `ORDERS`."""
KINDS = ("LOOP", "UNROLL", "VECTOR", "BLOCK", "THREAD")
MAPPINGS = ("NOT_THREADS", "MAPPED", "MAPPED_OUT", "MAPPED_IN")
TRANSFERS = ("NOT_MAPPED", "UNROLL_MAP", "THREAD_MAP", "MERGED")
KEPT = "IN_MEMORY"
"""A further way: of the totals of a sum, see `kept_totals`."""
SPACES = ("GLOBAL", "SHARED")
CACHES = ("ALL", "L2", "READ_ONLY", "NONE")
AHEAD = ("0", "2", "8", "AROUND", "NEXT")
"""Iterations ahead in the loops that stream; or in those around sums, so far that other lines are read; or the next rows while
rows are read for the last time."""
DIRECTIONS = ("FORWARD", "BACKWARD")
HALVES = ("NO", "YES")
WARP_SHAPES = {"2x16": (2, 16), "4x8": (4, 8), "8x4": (8, 4)}
"""Threads of a warp along an outer and along an inner level."""
WARPS = ("PLAIN", "GRID", *WARP_SHAPES)
MOST_LOOPS = 16
"""Most loops of one instruction, and pairs of one temporary."""
VECTOR_SIZES = 3
"""Sizes that a vector loop may have, at most."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """All that the description depends on, besides facts about objects."""

    features: Features
    has_threads: bool
    has_vector_arithmetic: bool

    @property
    def shares_sums(self) -> bool:
        return self.features.partials and self.features.shares_sums and not self.has_threads

    @property
    def keeps_totals(self) -> bool:
        return self.features.partials and self.features.keeps_totals and not self.has_threads

    @property
    def transfers(self) -> tuple[str, ...]:
        return (*TRANSFERS, KEPT) if self.keeps_totals else TRANSFERS


class Vocabulary:
    """A space with these declared, and no constraint."""

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
        """Pairs between instructions whose value may go through a temporary."""
        self.travelling = space.set("Travelling")
        """Values that may go through a temporary, whether they do or not."""
        self.travels = space.set("Travels", within=self.block_pairs, of=self.travelling)
        self.staged_pairs = space.set("StagedPairs", within=self.block_pairs)
        self.thread_sizes = space.set("ThreadSizes")
        """Sizes that a thread loop may have, 1 left out."""
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
        self.transfer = space.enum("dim_mapping", (self.pairs,), flavour.transfers)
        self.mem_space = space.enum("mem_space", (self.regions,), SPACES)
        self.cache = space.enum("cache", (self.accesses,), CACHES)
        self.layout = space.enum(
            "layout", (self.staged_pairs, self.staged_pairs), ("INNER", "OUTER"), antisymmetric={"INNER": "OUTER"}
        )
        self.extent = space.function("extent")
        self.owner = space.function("owner")
        self.source, self.target = space.function("source"), space.function("target")
        self.put, self.get = space.function("put"), space.function("get")
        """Dims around the temporary's store and load, for a pair that may be staged."""
        self.own_dims = space.fact("owns", 2)
