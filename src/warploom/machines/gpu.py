"""GPU architectures as data: one row each, from which every engine takes its limits, latencies and rates.

To add an architecture, add its row to `_ROWS`; every command that takes `--arch` or `--target` then accepts it. A row that lacks
a field or holds an impossible value is refused when it is made. `Limits` are from the CUDA C++ Programming Guide (editions 10 to
13, "Technical Specifications per Compute Capability"), units of allocation from NVIDIA's occupancy calculator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

from warploom.core import Diagnostic, UserError
from warploom.machines.boards import Board, LargestBoard
from warploom.machines.figures import Figure, Quantity, RowError, assumed, checked, known
from warploom.machines.matrices import MATRIX_INSTRUCTIONS, RateKind, by_groups

WARP_LANES = 32
MAX_BLOCK_THREADS = 1024
OLDEST_COMPILED = 75
"""Oldest architecture that the CUDA compilers of today (13) compile for. Source: `nvcc --list-gpu-arch`."""

_KIB = 1024
_Cycles: TypeAlias = Annotated[Figure, Quantity("cycles", 2, 2000)]
_Lanes: TypeAlias = Annotated[Figure, Quantity("lanes per cycle and multiprocessor", 1, 512)]
_Sectors: TypeAlias = Annotated[Figure, Quantity("sectors of 32 bytes per cycle and multiprocessor", 1, 16)]
_Products: TypeAlias = Annotated[Figure, Quantity("multiply-adds per cycle and multiprocessor", 0, 8192)]


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one multiprocessor (SM) for blocks that run at once."""

    max_warps: Annotated[int, Quantity("warps of a multiprocessor", 32, 128)]
    max_blocks: Annotated[int, Quantity("blocks of a multiprocessor", 8, 64)]
    shared_bytes: Annotated[int, Quantity("shared bytes of a multiprocessor", 16 * _KIB, 1024 * _KIB)]
    shared_bytes_per_block: Annotated[int, Quantity("shared bytes of a block", 16 * _KIB, 1024 * _KIB)]
    """The greatest number, with the opt-in where there is one."""
    shared_unit_bytes: Annotated[int, Quantity("bytes of a unit of shared memory", 64, 1024)]
    reserved_shared_bytes: Annotated[int, Quantity("shared bytes that the system takes from every block", 0, 4096)]
    registers: Annotated[int, Quantity("32-bit registers of a multiprocessor", 32768, 262144)]
    registers_per_block: Annotated[int, Quantity("32-bit registers of a block", 32768, 262144)]
    max_registers: Annotated[int, Quantity("registers of a thread", 63, 255)]
    register_unit: Annotated[int, Quantity("registers given to a warp at a time", 64, 1024)]
    partitions: Annotated[int, Quantity("schedulers, each with its share of the registers", 1, 8)]

    def __post_init__(self) -> None:
        room = self.shared_bytes - self.reserved_shared_bytes
        if self.shared_bytes_per_block > room:
            raise RowError(f"Limits: shared_bytes_per_block: expected at most {room}, got {self.shared_bytes_per_block}")
        if self.registers_per_block > self.registers:
            raise RowError(f"Limits: registers_per_block: expected at most {self.registers}, got {self.registers_per_block}")


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRates:
    """Multiply-adds of `mma.sync` by the kind of its factors (`machines.matrices`); 0: the architecture lacks it."""

    f16: _Products
    """Factors of f16 or bf16, sums of f32."""
    tf32: _Products
    bytes: _Products
    """Factors of i8 or u8, sums of i32."""
    f64: _Products
    f8: _Products
    """Factors of e4m3 or e5m2, sums of f32."""

    def of(self, kind: RateKind) -> float:
        figure: Figure = getattr(self, kind)
        return figure.value

    @property
    def by_factor(self) -> dict[str, float]:
        """By the type of the factors; without those that are not there."""
        return {name: self.of(row.kind) for name, row in MATRIX_INSTRUCTIONS.items() if self.of(row.kind) > 0}


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Latencies in cycles; rates per cycle and multiprocessor."""

    arithmetic_cycles: _Cycles
    """Cycles from an addition to one that depends on it."""
    special_cycles: _Cycles
    """Cycles of an exponential or logarithm to base 2, with the product beside it."""
    shuffle_cycles: _Cycles
    shared_cycles: _Cycles
    """Cycles of an access without conflict."""
    l1_cycles: _Cycles
    """Load that hits the first-level cache."""
    l2_cycles: _Cycles
    dram_cycles: _Cycles
    """Load that hits no cache, but the table of addresses."""
    nc_cycles: _Cycles
    """`ld.global.nc` that hits its cache."""
    float_lanes: _Lanes
    """f32 operations."""
    double_lanes: _Lanes
    """f64 operations."""
    integer_lanes: _Lanes
    """Sums, comparisons, selects and bit operations of 32-bit integers."""
    special_lanes: _Lanes
    """Exponentials, logarithms, reciprocals and their like."""
    load_lanes: _Lanes
    """Lanes whose addresses the load and store units take."""
    shuffle_lanes: _Lanes
    l1_sectors: _Sectors
    """Sectors that the first-level cache delivers."""
    nc_sectors: _Sectors
    """The same for `ld.global.nc`."""
    matrix_products: MatrixRates
    group_products: MatrixRates
    """The same of `wgmma`, with both factors in shared memory."""
    matrix_peak: MatrixRates
    """The same by any instruction for matrices, on any board: what no program exceeds."""

    @property
    def products_by_kind(self) -> dict[str, float]:
        """Multiply-adds of instructions of single warps, and of groups of four, by what `Work.products` calls them."""
        of_groups = {by_groups(name): rate for name, rate in self.group_products.by_factor.items()}
        return {**self.matrix_products.by_factor, **of_groups}

    @property
    def most_load_lanes(self) -> float:
        """Lanes of 4-byte loads that no program exceeds: those of the addresses or of the data, whatever is larger."""
        return max(self.load_lanes.value, self.l1_sectors.value * 8)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One GPU architecture; `sm_90` and `sm_90a` are one."""

    name: str
    generation: str
    limits: Limits
    timing: Timing
    issue_per_partition: Annotated[int, Quantity("instructions per cycle that a scheduler can send off", 1, 2)]
    """2: pairs of independent ones of a warp. Source: white."""
    l1_by_default: bool
    """True if plain global loads are cached at the first level without `-dlcm=ca`. Source: NVIDIA's tuning guide."""
    nc_is_texture: bool
    """True if `ld.global.nc` goes through the texture path. Source: NVIDIA's tuning guide."""
    has_async_copy: bool
    """`cp.async` copies from global to shared memory without registers. Source: PTX ISA, sm_80 and later."""
    example: Board
    """A product by which people know it."""
    largest: LargestBoard | None
    """A board that no product exceeds; None only for architectures that compilers of today do not know."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"sm_\d{2,3}", self.name):
            raise RowError(f"Architecture: name: expected sm_ and the compute capability, such as sm_90, got {self.name!r}")
        if self.is_compiled != (self.largest is not None):
            wanted = f"LargestBoard from sm_{OLDEST_COMPILED} on, None before"
            raise RowError(f"{self.name}: largest: expected {wanted}, got {self.largest!r}")
        if self.has_async_copy != (self.number >= 80):
            raise RowError(f"{self.name}: has_async_copy: expected True from sm_80 on, False before, got {self.has_async_copy}")
        if self.largest is not None:
            self._check_boards(self.largest)

    def _check_boards(self, largest: LargestBoard) -> None:
        if largest.l1_kib * _KIB < self.limits.shared_bytes:
            message = f"expected at least the {self.limits.shared_bytes} shared bytes, got {largest.l1_kib} KiB"
            raise RowError(f"{self.name}: l1_kib: {message}")
        parts = (
            ("multiprocessors", self.example.multiprocessors, largest.multiprocessors),
            ("clock_ghz", self.example.clock_mhz / 1e3, largest.clock_ghz),
            ("memory_gb_s", self.example.memory_gb_s, largest.memory_gb_s),
        )
        for name, of_product, most in parts:
            if of_product > most:
                raise RowError(
                    f"{self.name}: {name}: expected at least that of {self.example.name}, {of_product:g}, got {most:g}"
                )

    @property
    def number(self) -> int:
        """90 of `sm_90`."""
        return int(self.name.removeprefix("sm_"))

    @property
    def matrices(self) -> frozenset[str]:
        """Types of factors that warps multiply (`mma.sync`)."""
        return frozenset(self.timing.matrix_products.by_factor)

    @property
    def group_matrices(self) -> frozenset[str]:
        """Types of factors that groups of four warps multiply (`wgmma`)."""
        return frozenset(self.timing.group_products.by_factor)

    @property
    def is_compiled(self) -> bool:
        """Whether the CUDA compilers of today know it."""
        return self.number >= OLDEST_COMPILED

    @property
    def max_threads(self) -> int:
        """Threads of a multiprocessor."""
        return self.limits.max_warps * WARP_LANES

    @property
    def issue(self) -> int:
        """Instructions per cycle and multiprocessor."""
        return self.limits.partitions * self.issue_per_partition

    @property
    def bounds(self) -> LargestBoard:
        """The board that no product exceeds. ValueError for an architecture that compilers of today do not know."""
        if self.largest is None:
            raise ValueError(f"expected an architecture from sm_{OLDEST_COMPILED} on, got {self.name}")
        return self.largest


_WIDE = known(32, "guide")
_UNIFIED = "one path with plain loads since Volta (NVIDIA's tuning guide)"
_AS_A100 = "as A100"

_NOTHING = known(0, "ptx")
_NO_MATRICES = MatrixRates(f16=_NOTHING, tf32=_NOTHING, bytes=_NOTHING, f64=_NOTHING, f8=_NOTHING)


def _most(f16: float, f64: float, *, has_f8: bool) -> MatrixRates:
    """Peaks from those of f16 and f64: half as many products of tf32, twice as many of bytes, as all white papers have it."""
    return MatrixRates(
        f16=known(f16, "white"), tf32=known(f16 / 2, "white"), bytes=known(2 * f16, "white"), f64=known(f64, "white"),
        f8=known(2 * f16, "white") if has_f8 else _NOTHING,
    )  # fmt: skip


_SLOW_DOUBLES = assumed(2, "no faster than the f64 units, of which there are two")
_UNPACKED = "as f16: ptxas 13 makes two HMMA of f16 and conversions of it"

_KEPLER = Timing(
    matrix_products=_NO_MATRICES,
    group_products=_NO_MATRICES,
    matrix_peak=_NO_MATRICES,
    arithmetic_cycles=known(9, "volta"),
    special_cycles=assumed(18, _AS_A100),
    shuffle_cycles=known(24, "paper"),
    shared_cycles=known(26, "paper"),
    l1_cycles=known(35, "paper"),
    l2_cycles=known(200, "volta"),
    dram_cycles=assumed(400, "twice the second-level cache, as on Volta"),
    nc_cycles=assumed(104, "texture cache apart from L1, three times its latency"),
    float_lanes=known(192, "guide"),
    double_lanes=known(64, "guide"),
    integer_lanes=known(160, "guide"),
    special_lanes=known(32, "guide"),
    load_lanes=known(32, "white"),
    shuffle_lanes=_WIDE,
    l1_sectors=assumed(4, "a line of 128 bytes per cycle"),
    nc_sectors=assumed(2, "16 texture units of 4 bytes"),
)
_QUADS = assumed(2, "64 bytes per cycle: two texture units, each a quad of 8-byte lanes")
_MAXWELL = Timing(
    matrix_products=_NO_MATRICES,
    group_products=_NO_MATRICES,
    matrix_peak=_NO_MATRICES,
    arithmetic_cycles=known(6, "volta"),
    special_cycles=assumed(18, _AS_A100),
    shuffle_cycles=known(33, "paper"),
    shared_cycles=known(23, "paper"),
    l1_cycles=known(82, "paper"),
    l2_cycles=known(207, "volta"),
    dram_cycles=assumed(414, "twice the second-level cache, as on Volta"),
    nc_cycles=assumed(82, "the unified L1 and texture cache: as l1_cycles"),
    float_lanes=known(128, "guide"),
    double_lanes=known(4, "guide"),
    integer_lanes=known(128, "guide"),
    special_lanes=known(32, "guide"),
    load_lanes=known(32, "white"),
    shuffle_lanes=_WIDE,
    l1_sectors=_QUADS,
    nc_sectors=_QUADS,
)
_PASCAL = replace(
    _MAXWELL,
    shared_cycles=known(24, "paper"),
    l2_cycles=known(234, "volta"),
    dram_cycles=assumed(468, "twice the second-level cache, as on Volta"),
    float_lanes=known(64, "guide"),
    double_lanes=known(32, "guide"),
    integer_lanes=known(64, "guide"),
    special_lanes=known(16, "guide"),
    load_lanes=known(16, "white"),
)
_VOLTA = Timing(
    matrix_products=_NO_MATRICES,
    group_products=_NO_MATRICES,
    matrix_peak=_NO_MATRICES,
    arithmetic_cycles=known(4, "volta"),
    special_cycles=assumed(18, _AS_A100),
    shuffle_cycles=known(22, "paper"),
    shared_cycles=known(19, "paper"),
    l1_cycles=known(28, "paper"),
    l2_cycles=known(193, "volta"),
    dram_cycles=known(375, "volta"),
    nc_cycles=assumed(28, _UNIFIED),
    float_lanes=known(64, "guide"),
    double_lanes=known(32, "guide"),
    integer_lanes=known(64, "guide"),
    special_lanes=known(16, "guide"),
    load_lanes=known(32, "white"),
    shuffle_lanes=_WIDE,
    l1_sectors=known(4, "volta"),
    nc_sectors=assumed(4, _UNIFIED),
)
_TURING = replace(
    _VOLTA,
    arithmetic_cycles=known(4, "turing"),
    shuffle_cycles=assumed(22, "as Volta"),
    shared_cycles=known(19, "turing"),
    l1_cycles=known(32, "turing"),
    l2_cycles=known(188, "turing"),
    dram_cycles=known(296, "turing"),
    nc_cycles=assumed(32, _UNIFIED),
    double_lanes=known(2, "guide"),
    load_lanes=known(16, "white"),
    l1_sectors=assumed(2, "64 bytes per cycle: half of Volta's load units"),
    nc_sectors=assumed(2, _UNIFIED),
)
_LINE_ASSUMED = assumed(4, "128 bytes per cycle as on Volta")
_AMPERE = replace(
    _VOLTA,
    arithmetic_cycles=known(4, "ampere"),
    special_cycles=known(18, "ampere"),
    shuffle_cycles=assumed(22, "as Volta"),
    shared_cycles=known(23, "ampere"),
    l1_cycles=known(33, "ampere"),
    l2_cycles=known(200, "ampere"),
    dram_cycles=known(290, "ampere"),
    nc_cycles=assumed(33, _UNIFIED),
    l1_sectors=_LINE_ASSUMED,
    matrix_products=_most(1024, 64, has_f8=False),
    matrix_peak=_most(1024, 64, has_f8=False),
)
_SMALL_AMPERE = replace(
    _AMPERE,
    arithmetic_cycles=assumed(4, "as Ampere"),
    special_cycles=assumed(18, _AS_A100),
    shared_cycles=assumed(23, _AS_A100),
    l1_cycles=assumed(33, _AS_A100),
    l2_cycles=assumed(240, "between A100 and RTX 4090"),
    dram_cycles=assumed(541.5, "as RTX 4090, with the same kind of memory"),
    float_lanes=known(128, "guide"),
    double_lanes=known(2, "guide"),
    load_lanes=known(16, "white"),
    # GeForce: sums of floats at half the rate of professional boards
    matrix_products=MatrixRates(
        f16=known(256, "white"), tf32=known(128, "white"), bytes=known(1024, "white"), f64=_SLOW_DOUBLES, f8=_NOTHING
    ),
    matrix_peak=_most(512, 2, has_f8=False),
)
_ADA = replace(
    _SMALL_AMPERE,
    shuffle_cycles=assumed(24, "Volta's, grown as that of shared memory"),
    shared_cycles=known(30.1, "hopper"),
    l1_cycles=known(43.4, "hopper"),
    l2_cycles=known(273, "hopper"),
    dram_cycles=known(541.5, "hopper"),
    nc_cycles=assumed(43.4, _UNIFIED),
    matrix_products=replace(_SMALL_AMPERE.matrix_products, f8=known(512, "white")),
    matrix_peak=_most(512, 2, has_f8=True),
)
_HOPPER = replace(
    _ADA,
    shared_cycles=known(29, "hopper"),
    l1_cycles=known(40.7, "hopper"),
    l2_cycles=known(263, "hopper"),
    dram_cycles=known(478.8, "hopper"),
    nc_cycles=assumed(40.7, _UNIFIED),
    double_lanes=known(64, "guide"),
    load_lanes=known(32, "white"),
    matrix_products=MatrixRates(
        f16=known(1288, "hopper"),
        tf32=assumed(644, "half of f16"),
        bytes=assumed(2576, "twice f16"),
        f64=assumed(64, "m8n8k4 as on A100; m16n8k16 has twice as much"),
        f8=assumed(1288, _UNPACKED),
    ),
    group_products=MatrixRates(f16=known(2048, "white"), tf32=_NOTHING, bytes=known(4096, "white"), f64=_NOTHING, f8=_NOTHING),
    matrix_peak=_most(2048, 128, has_f8=True),
)
_BLACKWELL = replace(
    _HOPPER,
    group_products=_NO_MATRICES,
    shared_cycles=assumed(29, "as Hopper"),
    l1_cycles=assumed(40.7, "as Hopper"),
    l2_cycles=assumed(300, "Hopper's, two dies"),
    dram_cycles=assumed(478.8, "as Hopper"),
    integer_lanes=assumed(64, "as Hopper"),
    load_lanes=assumed(32, "as Hopper"),
    matrix_products=MatrixRates(
        f16=assumed(1288, "as Hopper"),
        tf32=assumed(644, "as Hopper"),
        bytes=assumed(2576, "as Hopper"),
        f64=assumed(64, "as Hopper"),
        f8=assumed(1288, _UNPACKED),
    ),
    matrix_peak=_most(4096, 128, has_f8=True),
)
_BLACKWELL_ULTRA = replace(
    _BLACKWELL,
    double_lanes=known(2, "guide"),
    special_lanes=known(32, "ultra"),
    matrix_products=replace(_BLACKWELL.matrix_products, f64=_SLOW_DOUBLES),
)
_SMALL_BLACKWELL = replace(
    _ADA,
    shared_cycles=assumed(30.1, "as Ada"),
    l1_cycles=assumed(43.4, "as Ada"),
    l2_cycles=assumed(300, "Ada's, a larger cache"),
    dram_cycles=assumed(541.5, "as Ada"),
    integer_lanes=known(128, "white"),
    load_lanes=assumed(16, "as Ada"),
)


def _limits(
    max_warps: int, max_blocks: int, shared: int, per_block: int, unit: int, reserved: int,
    *, registers: int = 65536, partitions: int = 4,
) -> Limits:  # fmt: skip
    """`shared` and `per_block` in KiB. Every architecture since Kepler has the figures written here."""
    return Limits(
        max_warps=max_warps, max_blocks=max_blocks, shared_bytes=shared * _KIB, shared_bytes_per_block=per_block * _KIB,
        shared_unit_bytes=unit, reserved_shared_bytes=reserved, registers=registers, registers_per_block=65536,
        max_registers=255, register_unit=256, partitions=partitions,
    )  # fmt: skip


def _before_volta(max_blocks: int, shared: int, *, registers: int = 65536, partitions: int = 4) -> Limits:
    return _limits(64, max_blocks, shared, 48, 256, 0, registers=registers, partitions=partitions)


def _since_ampere(max_warps: int, max_blocks: int, shared: int) -> Limits:
    return _limits(max_warps, max_blocks, shared, shared - 1, 128, _KIB)


_ROWS = (
    Architecture(
        name="sm_35", generation="Kepler", limits=_before_volta(16, 48), timing=_KEPLER, issue_per_partition=2,
        l1_by_default=False, nc_is_texture=True, has_async_copy=False,
        example=Board(name="Tesla K40c", multiprocessors=15, clock_mhz=875, memory_gb_s=288), largest=None,
    ),
    Architecture(
        name="sm_37", generation="Kepler", limits=_before_volta(16, 112, registers=131072), timing=_KEPLER, issue_per_partition=2,
        l1_by_default=False, nc_is_texture=True, has_async_copy=False,
        example=Board(name="Tesla K80, one of its two", multiprocessors=13, clock_mhz=875, memory_gb_s=240), largest=None,
    ),
    Architecture(
        name="sm_50", generation="Maxwell", limits=_before_volta(32, 64), timing=_MAXWELL, issue_per_partition=2,
        l1_by_default=False, nc_is_texture=True, has_async_copy=False,
        example=Board(name="GeForce GTX 750 Ti", multiprocessors=5, clock_mhz=1085, memory_gb_s=86.4), largest=None,
    ),
    Architecture(
        name="sm_52", generation="Maxwell", limits=_before_volta(32, 96), timing=_MAXWELL, issue_per_partition=2,
        l1_by_default=False, nc_is_texture=True, has_async_copy=False,
        example=Board(name="GeForce GTX TITAN X", multiprocessors=24, clock_mhz=1075, memory_gb_s=336.5), largest=None,
    ),
    Architecture(
        name="sm_60", generation="Pascal", limits=_before_volta(32, 64, partitions=2), timing=_PASCAL, issue_per_partition=2,
        l1_by_default=True, nc_is_texture=True, has_async_copy=False,
        example=Board(name="Tesla P100 PCIe", multiprocessors=56, clock_mhz=1303, memory_gb_s=732), largest=None,
    ),
    Architecture(
        name="sm_70", generation="Volta", limits=_limits(64, 32, 96, 96, 256, 0), timing=_VOLTA, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=False,
        example=Board(name="Tesla V100 SXM2", multiprocessors=80, clock_mhz=1530, memory_gb_s=900), largest=None,
    ),
    Architecture(
        name="sm_75", generation="Turing", limits=_limits(32, 16, 64, 64, 256, 0), timing=_TURING, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=False,
        example=Board(name="T4", multiprocessors=40, clock_mhz=1590, memory_gb_s=320),
        largest=LargestBoard(
            products="TITAN RTX and Quadro RTX 8000; the clock of RTX 2080 Super", multiprocessors=72, clock_ghz=1.815,
            memory_gb_s=672, l1_kib=96, l2_mib=6, l2_bytes_per_clock=4608, l2_gb_s=2500,
        ),
    ),
    Architecture(
        name="sm_80", generation="Ampere", limits=_since_ampere(64, 32, 164), timing=_AMPERE, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="A100 40 GB", multiprocessors=108, clock_mhz=1410, memory_gb_s=1555),
        largest=LargestBoard(
            products="A100 80 GB; the clock of A30", multiprocessors=108, clock_ghz=1.44,
            memory_gb_s=2039, l1_kib=192, l2_mib=40, l2_bytes_per_clock=6912, l2_gb_s=5120,
        ),
    ),
    Architecture(
        name="sm_86", generation="Ampere", limits=_since_ampere(48, 16, 100), timing=_SMALL_AMPERE, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="GeForce RTX 3090", multiprocessors=82, clock_mhz=1695, memory_gb_s=936),
        largest=LargestBoard(
            products="RTX 3090 Ti", multiprocessors=84, clock_ghz=1.86,
            memory_gb_s=1008, l1_kib=128, l2_mib=6, l2_bytes_per_clock=5376, l2_gb_s=3900,
        ),
    ),
    Architecture(
        name="sm_89", generation="Ada", limits=_since_ampere(48, 24, 100), timing=_ADA, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="GeForce RTX 4090", multiprocessors=128, clock_mhz=2520, memory_gb_s=1008),
        largest=LargestBoard(
            products="RTX 6000 Ada and L40S; the memory of RTX 4090, the clock of RTX 4070 Ti",
            multiprocessors=142, clock_ghz=2.61, memory_gb_s=1008, l1_kib=128, l2_mib=96, l2_bytes_per_clock=9088, l2_gb_s=5500,
        ),
    ),
    Architecture(
        name="sm_90", generation="Hopper", limits=_since_ampere(64, 32, 228), timing=_HOPPER, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="H100 SXM5", multiprocessors=132, clock_mhz=1980, memory_gb_s=3352),
        largest=LargestBoard(
            products="H200; the memory of GH200 with HBM3e", multiprocessors=132, clock_ghz=1.98,
            memory_gb_s=4900, l1_kib=256, l2_mib=60, l2_bytes_per_clock=8448, l2_gb_s=5700,
        ),
    ),
    Architecture(
        name="sm_100", generation="Blackwell", limits=_since_ampere(64, 32, 228), timing=_BLACKWELL, issue_per_partition=1,
        l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="B200", multiprocessors=148, clock_mhz=1965, memory_gb_s=8000),
        largest=LargestBoard(
            products="the GPU of GB200, with more multiprocessors and a higher clock than B200", multiprocessors=152,
            clock_ghz=2.07, memory_gb_s=8000, l1_kib=256, l2_mib=126, l2_bytes_per_clock=9728, l2_gb_s=10000,
        ),
    ),
    Architecture(
        name="sm_103", generation="Blackwell Ultra", limits=_since_ampere(64, 32, 228), timing=_BLACKWELL_ULTRA,
        issue_per_partition=1, l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="B300, the clock of B200", multiprocessors=148, clock_mhz=1965, memory_gb_s=8000),
        largest=LargestBoard(
            products="all 160 multiprocessors of the chip (ultra), of which no product has all; the clock of GB200",
            multiprocessors=160, clock_ghz=2.07, memory_gb_s=8000, l1_kib=256, l2_mib=126, l2_bytes_per_clock=10240,
            l2_gb_s=10000,
        ),
    ),
    Architecture(
        name="sm_120", generation="Blackwell consumer", limits=_since_ampere(48, 24, 100), timing=_SMALL_BLACKWELL,
        issue_per_partition=1, l1_by_default=True, nc_is_texture=False, has_async_copy=True,
        example=Board(name="GeForce RTX 5090", multiprocessors=170, clock_mhz=2407, memory_gb_s=1792),
        largest=LargestBoard(
            products="RTX PRO 6000 Blackwell", multiprocessors=188, clock_ghz=2.62,
            memory_gb_s=1792, l1_kib=128, l2_mib=128, l2_bytes_per_clock=12032, l2_gb_s=8000,
        ),
    ),
)  # fmt: skip

ARCHITECTURES: dict[str, Architecture] = {row.name: row for row in _ROWS}
"""All rows by name, the oldest first."""
if len(ARCHITECTURES) < len(_ROWS):
    raise RowError(f"expected one row for each architecture, got {', '.join(row.name for row in _ROWS)}")
COMPILED: tuple[str, ...] = tuple(row.name for row in _ROWS if row.is_compiled)
"""Names of those that the CUDA compilers of today know."""


def architecture(name: str) -> Architecture:
    """The row of `sm_XX` (a last letter `a` or `f` is ignored); UserError (UNKNOWN_ARCH) for one that is not in the table."""
    return _found(name, ARCHITECTURES)


def compiled_architecture(name: str) -> Architecture:
    """The same among those that the CUDA compilers of today know."""
    return _found(name, COMPILED)


def _found(name: str, among: Iterable[str]) -> Architecture:
    plain = re.sub(r"(?<=\d)[af]$", "", name)
    if plain not in among:
        known_names = ", ".join(among)
        fix = "Choose the nearest older one."
        raise UserError(Diagnostic("UNKNOWN_ARCH", f"expected one of {known_names}, got {name}", fix=fix))
    return ARCHITECTURES[plain]


def nearest_architecture(name: str) -> Architecture:
    """The row of `name`, else the newest one that is older; the oldest for anything before."""
    digits = "".join(c for c in name if c.isdigit())
    number = int(digits) if digits else 0
    older = [row for row in _ROWS if row.number <= number]
    return older[-1] if older else _ROWS[0]
