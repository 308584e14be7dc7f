"""Work of a multiprocessor, and the cycles that it takes: what every model of a GPU's time counts and asks.

    time = launches + p-norm of { each unit's amount / its speed, bytes / bandwidth, what passes one after another }

A counter fills a `Work`: from PTX (`ptx.shuffle.usage`), from what an interpreter counted (`gpu.cost`, `scan.tuning`), from a
decided loop nest (`schedule.cost`), or the least of all completions of a candidate (`schedule.bound`). `Speeds` are those of a
row (`usual`), or what no board of it exceeds (`fastest`), for bounds: less work at higher speeds never takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from warploom.machines.boards import TAKEN_BYTES
from warploom.machines.gpu import WARP_LANES, Architecture
from warploom.machines.matrices import by_groups

Unit: TypeAlias = Literal[
    "issue", "f32 units", "f64 units", "integer units", "special units", "matrix units", "load path", "texture path", "barriers",
    "second-level cache", "memory", "latency",
]  # fmt: skip
"""The units that a multiprocessor may be waiting for."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Accesses of warps that are alike, to global or shared memory."""

    times: float
    sectors: float
    """Sectors of global memory that one of them touches."""
    lines: float = 0.0
    """Lines that one of them touches, or its wavefronts in shared memory, one a cycle; 0: no more than its sectors fill."""
    is_store: bool = False
    is_read_only: bool = False
    """`ld.global.nc`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of one multiprocessor, or of a warp or block that has one to itself. Instructions count once for a warp."""

    issued: float = 0.0
    """Instructions of all kinds."""
    floats: float = 0.0
    """Instructions for the f32 units, part of those issued; as the next three."""
    doubles: float = 0.0
    integers: float = 0.0
    """Sums, comparisons, selects and bit operations of integers, where they are counted apart."""
    specials: float = 0.0
    """Exponentials, logarithms, reciprocals and their like."""
    products: tuple[tuple[str, float], ...] = ()
    """Multiply-adds of instructions for matrices, each with the type of its factors, or `by_groups` of it."""
    requests: tuple[Requests, ...] = ()
    wavefronts: float = 0.0
    """Passes of shared memory, one a cycle, where it is not known which requests they are of."""
    shuffles: float = 0.0
    barriers: float = 0.0
    """Warps that arrive at a barrier."""
    l2_bytes: float = 0.0
    """Bytes that pass between this multiprocessor and the second-level cache."""
    memory_bytes: float = 0.0
    """Its share of the bytes from and to memory."""
    waiting: float = 0.0
    """Cycles that pass one after another, whatever runs beside them."""
    launches: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def times(self, count: float) -> Work:
        """The same so many times, one after another."""
        found = {f.name: getattr(self, f.name) * count for f in fields(self) if f.name not in ("requests", "products")}
        requests = tuple(replace(r, times=r.times * count) for r in self.requests)
        return Work(requests=requests, products=tuple((kind, n * count) for kind, n in self.products), **found)

    def sectors(self, *, is_store: bool) -> float:
        """Sectors that all loads, or all stores, touch."""
        return sum(r.times * r.sectors for r in self.requests if r.is_store == is_store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """Speeds of one multiprocessor per cycle."""

    issue: float
    float_lanes: float
    double_lanes: float
    special_lanes: float
    load_lanes: float
    shuffle_lanes: float
    l1_sectors: float
    nc_sectors: float
    nc_is_texture: bool
    integer_lanes: float = math.inf
    matrix_products: Mapping[str, float] = field(default_factory=dict[str, float])
    """By the type of the factors, and `by_groups` of it."""
    barrier_cycles: float = 2.0
    """Cycles between two warps that arrive at a barrier."""
    l2_bytes: float = math.inf
    memory_bytes: float = math.inf
    clock_ghz: float = 1.0
    launch_ns: float = 0.0

    def cycles(self, work: Work) -> dict[Unit, float]:
        """Cycles for which the work keeps each unit busy, or waits."""
        loads = textures = 0.0
        for one in work.requests:
            if one.is_read_only and self.nc_is_texture:
                textures += one.times * max(1.0, one.sectors / self.nc_sectors)
            else:
                loads += one.times * max(WARP_LANES / self.load_lanes, one.sectors / self.l1_sectors, one.lines)
        exchanged = work.wavefronts + work.shuffles * WARP_LANES / self.shuffle_lanes
        return {
            "issue": work.issued / self.issue,
            "f32 units": work.floats * WARP_LANES / self.float_lanes,
            "f64 units": work.doubles * WARP_LANES / self.double_lanes,
            "integer units": work.integers * WARP_LANES / self.integer_lanes,
            "special units": work.specials * WARP_LANES / self.special_lanes,
            **({"matrix units": self.product_cycles(work)} if work.products else {}),
            "load path": loads + exchanged,
            "texture path": textures,
            "barriers": work.barriers * self.barrier_cycles,
            "second-level cache": work.l2_bytes / self.l2_bytes,
            "memory": work.memory_bytes / self.memory_bytes,
            "latency": work.waiting,
        }

    def product_cycles(self, work: Work) -> float:
        """Infinite where there is no instruction for such products."""
        return sum(
            count / self.matrix_products[kind] if kind in self.matrix_products else math.inf for kind, count in work.products
        )

    def time_ns(self, work: Work, sharpness: float = math.inf) -> float:
        return work.launches * self.launch_ns + joined(self.cycles(work).values(), sharpness) / self.clock_ghz


def joined(times: Iterable[float], sharpness: float = math.inf) -> float:
    """Times of what runs side by side, as one: a norm between their maximum (infinite sharpness, for bounds) and their sum (1),
    since units overlap imperfectly."""
    found = list(times)
    longest = max(found, default=0.0)
    if math.isinf(sharpness) or longest == 0.0:
        return longest
    return sum(t**sharpness for t in found) ** (1.0 / sharpness)


def usual(
    on: Architecture,
    *,
    l2_bytes: float = math.inf,
    memory_bytes: float = math.inf,
    clock_ghz: float = 1.0,
    launch_ns: float = 0.0,
) -> Speeds:
    """Speeds of an architecture as measured or written; those of a board (bytes, clock, launch) as given."""
    timing = on.timing
    return Speeds(
        issue=on.issue, float_lanes=timing.float_lanes.value, double_lanes=timing.double_lanes.value,
        integer_lanes=timing.integer_lanes.value, special_lanes=timing.special_lanes.value,
        load_lanes=timing.load_lanes.value, shuffle_lanes=timing.shuffle_lanes.value,
        l1_sectors=timing.l1_sectors.value, nc_sectors=timing.nc_sectors.value, nc_is_texture=on.nc_is_texture,
        matrix_products=timing.products_by_kind,
        l2_bytes=l2_bytes, memory_bytes=memory_bytes, clock_ghz=clock_ghz, launch_ns=launch_ns,
    )  # fmt: skip


def fastest(on: Architecture) -> Speeds:
    """Speeds that no board of the architecture exceeds. ValueError for one that compilers of today do not know."""
    board = on.bounds
    bytes_per_clock = board.memory_gb_s / board.clock_ghz / board.multiprocessors
    found = usual(on, l2_bytes=TAKEN_BYTES, memory_bytes=bytes_per_clock, clock_ghz=board.clock_ghz)
    peak = on.timing.matrix_peak.by_factor
    products = peak | {by_groups(name): rate for name, rate in peak.items() if name in on.group_matrices}
    return replace(found, load_lanes=on.timing.most_load_lanes, matrix_products=products)
