"""Interface of a fully decided candidate as lowering needs it, and a table that satisfies it by hand.

Statement numbers are those of the backbone (instructions, then dims); temporaries bring further ones for their store, their load
and the copies of the mapped dims on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from warploom.schedule.backbone import Backbone


class LoweringError(RuntimeError):
    """The decisions contradict each other: a constraint of the space is missing. Says which statements and why."""


@dataclass(frozen=True, slots=True)
class DimPair:
    """A dimension of a temporary: one extent, with its loop around the store and its loop around the load (statement numbers)."""

    extent: int
    store: int
    load: int


@dataclass(frozen=True, slots=True)
class Temporary:
    """An array through which a value travels from its producer to one operand of a consumer."""

    region: int
    """Numbers from `len(backbone.regions)` on."""
    name: str
    producer: int
    """Instruction."""
    consumer: int
    """Instruction."""
    operand: int
    """Position among the consumer's operands."""
    store: int
    """Statement."""
    load: int
    """Statement."""
    pairs: tuple[DimPair, ...]
    """One per level of each mapped axis."""


@dataclass(frozen=True, slots=True)
class Twins:
    """Two temporaries that hold the same where two loops are one: then the second is not needed."""

    first: Temporary
    second: Temporary
    loops: tuple[int, int]
    """Outermost loops of both consumers over what they sum (statements)."""


class Decided(Protocol):
    """One value for every choice. Names of values are those of the space, in capitals."""

    @property
    def backbone(self) -> Backbone: ...

    @property
    def has_threads(self) -> bool:
        """CUDA: thread dims, aligned vector accesses, temporaries that are filled ahead."""
        ...

    @property
    def has_async_copy(self) -> bool:
        """cp.async."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Most shared memory of a block."""
        ...

    def temporaries(self) -> Sequence[Temporary]:
        """The active ones only."""
        ...

    def twins(self) -> Sequence[Twins]:
        """Pairs of temporaries of which one may do."""
        ...

    def order(self, first: int, second: int) -> str:
        """BEFORE, AFTER, INNER (first is nested inside second), OUTER, MERGED; ANY where both BEFORE and AFTER remain."""
        ...

    def dim_kind(self, statement: int) -> str:
        """LOOP, UNROLL, VECTOR, BLOCK, THREAD."""
        ...

    def size(self, extent: int) -> int: ...

    def thread_mapping(self, first: int, second: int) -> str:
        """NOT_THREADS, MAPPED, MAPPED_OUT (first is on an outer hardware level), MAPPED_IN.
        The arguments are two dims (statements)."""
        ...

    def mem_space(self, region: int) -> str:
        """GLOBAL, SHARED; of an input SHARED where a block copies what it and its neighbours read."""
        ...

    def cache(self, statement: int) -> str:
        """Cache of a global access: ALL, L2, READ_ONLY, NONE."""
        ...

    def layout(self, first: DimPair, second: DimPair) -> str:
        """Order of two pairs of one temporary: INNER (first varies faster), OUTER."""
        ...

    def partials(self, statement: int) -> str:
        """Form of partial results along a reduction's dim: CHAIN, TREE."""
        ...

    def stages(self, region: int) -> int:
        """Copies of a temporary that are filled ahead, 1: none ahead."""
        ...

    def swizzle(self, region: int) -> str:
        """NONE, PERMUTED: places of a temporary permuted against bank conflicts, where some permutation helps. ATOMS: as groups
        of four warps read it that multiply together."""
        ...

    def is_spread(self, region: int) -> bool:
        """All threads of a block share out the copy into a temporary (`lower_spread.spread`)."""
        ...

    def warps(self) -> str:
        """PLAIN or GRID: a warp's threads are neighbours by their numbers; else how many of them lie along the outer and along
        the inner level of threads, `4x8`."""
        ...

    def fetching(self) -> str:
        """How the loops of a CPU fetch: `lower_prefetch.fetching`."""
        ...

    def is_backward(self) -> bool:
        """Sequential and block loops run in reverse."""
        ...

    def is_mirrored(self) -> bool:
        """A symmetric sum is made on one side of the diagonal, where the tiles allow that."""
        ...


_MIRRORED = {
    "BEFORE": "AFTER", "AFTER": "BEFORE", "INNER": "OUTER", "OUTER": "INNER",
    "MAPPED_OUT": "MAPPED_IN", "MAPPED_IN": "MAPPED_OUT",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Decisions as plain tables, with the commonest value where a key is missing."""

    backbone: Backbone
    orders: Mapping[tuple[int, int], str]
    """Orders; a pair may be given in either direction."""
    sizes: Mapping[int, int]
    """Sizes by extent."""
    kinds: Mapping[int, str] = field(default_factory=dict[int, str])
    """Kinds by statement; LOOP where missing."""
    mappings: Mapping[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    """Mappings; a pair may be given in either direction; NOT_THREADS where missing."""
    arrays: tuple[Temporary, ...] = ()
    pairs_of_tiles: tuple[Twins, ...] = ()
    spaces: Mapping[int, str] = field(default_factory=dict[int, str])
    """Spaces by region; temporaries are SHARED, others GLOBAL where missing."""
    caches: Mapping[int, str] = field(default_factory=dict[int, str])
    layouts: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """By region: extents from the slowest to the fastest; the order of `pairs` where missing."""
    trees: frozenset[int] = frozenset()
    """Dims (statements) that keep partial results."""
    copies: Mapping[int, int] = field(default_factory=dict[int, int])
    swizzles: frozenset[int] = frozenset()
    spreads: frozenset[int] = frozenset()
    shape_of_warps: str = "PLAIN"
    fetched_ahead: int = 0
    runs_backward: bool = False
    has_halves: bool = False
    has_threads: bool = True
    has_async_copy: bool = True
    shared_bytes: int = 48 * 1024

    def temporaries(self) -> Sequence[Temporary]:
        return self.arrays

    def twins(self) -> Sequence[Twins]:
        return self.pairs_of_tiles

    def warps(self) -> str:
        return self.shape_of_warps

    def fetching(self) -> str:
        return str(self.fetched_ahead)

    def is_backward(self) -> bool:
        return self.runs_backward

    def is_mirrored(self) -> bool:
        return self.has_halves

    def order(self, first: int, second: int) -> str:
        found = self.orders.get((first, second))
        if found is None:
            other = self.orders.get((second, first), "ANY")
            found = _MIRRORED.get(other, other)
        return found

    def dim_kind(self, statement: int) -> str:
        return self.kinds.get(statement, "LOOP")

    def size(self, extent: int) -> int:
        return self.sizes[extent]

    def thread_mapping(self, first: int, second: int) -> str:
        found = self.mappings.get((first, second))
        if found is None:
            other = self.mappings.get((second, first), "NOT_THREADS")
            found = _MIRRORED.get(other, other)
        return found

    def mem_space(self, region: int) -> str:
        return self.spaces.get(region, "GLOBAL" if region < len(self.backbone.regions) else "SHARED")

    def cache(self, statement: int) -> str:
        return self.caches.get(statement, "ALL")

    def layout(self, first: DimPair, second: DimPair) -> str:
        array = next(t for t in self.arrays if first in t.pairs)
        order = self.layouts.get(array.region, tuple(p.extent for p in array.pairs))
        return "OUTER" if order.index(first.extent) < order.index(second.extent) else "INNER"

    def partials(self, statement: int) -> str:
        return "TREE" if statement in self.trees else "CHAIN"

    def stages(self, region: int) -> int:
        return self.copies.get(region, 1)

    def is_spread(self, region: int) -> bool:
        return region in self.spreads

    def swizzle(self, region: int) -> str:
        return "PERMUTED" if region in self.swizzles else "NONE"
