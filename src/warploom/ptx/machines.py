"""GPUs as data, for the question whether a shuffle costs less than the load that it replaces.

Every measured quantity is a `Figure`: its value, whether it is from the literature or assumed, and where from. `Limits` are from
the CUDA C++ Programming Guide (editions 10 to 13, "Technical Specifications per Compute Capability"), units of allocation from
NVIDIA's occupancy calculator.

Sources, by the keys used below:

- paper: Matsumura, Garcia De Gonzalo, Peña, A Symbolic Emulator for Shuffle Synthesis on the NVIDIA PTX Code (2023), Table 1.
- volta: Jia, Maggioni, Staiger, Scarpazza, Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking (2018).
- turing: Jia, Maggioni, Smith, Scarpazza, Dissecting the NVidia Turing T4 GPU via Microbenchmarking (2019).
- ampere: Abdelkhalik, Arafa, Santhi, Badawy, Demystifying the Nvidia Ampere Architecture through Microbenchmarking (2022).
- hopper: Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture (2024); measures A100, RTX 4090 and H100.
- guide: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions".
- white: NVIDIA's white paper on the architecture; data: NVIDIA's data sheet of the board.
- tuning: NVIDIA's tuning guide for the architecture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from warploom.core import Diagnostic, UserError

Standing: TypeAlias = Literal["literature", "assumed"]

WARP_LANES = 32
MAX_BLOCK_THREADS = 1024
_LAUNCH_PARTITIONS = 4
"""The check of a launch counts as many, on GP100, which has two, as well."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity and what it rests on."""

    value: float
    standing: Standing
    source: str
    """A key of the module's list of sources; for an assumption, the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one multiprocessor (SM) for blocks that run at once."""

    max_warps: int
    max_blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    """Most shared bytes of a block, with the opt-in where there is one."""
    shared_unit_bytes: int
    reserved_shared_bytes: int = 0
    """Bytes that the system takes from every block's shared memory."""
    registers: int = 65536
    """32-bit."""
    registers_per_block: int = 65536
    max_registers: int = 255
    """Most registers per thread."""
    register_unit: int = 256
    """Registers are given to a warp in multiples of this."""
    partitions: int = 4
    """Schedulers, each with its share of the registers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Latencies in cycles; rates per cycle and multiprocessor."""

    arithmetic_cycles: Figure
    """Cycles from an addition to one that depends on it."""
    shuffle_cycles: Figure
    shared_cycles: Figure
    """Cycles of an access without conflict."""
    l1_cycles: Figure
    """Load that hits the first-level cache."""
    l2_cycles: Figure
    nc_cycles: Figure
    """`ld.global.nc` that hits its cache."""
    float_lanes: Figure
    """f32 operations."""
    load_lanes: Figure
    """Lanes whose addresses the load and store units take."""
    shuffle_lanes: Figure
    l1_sectors: Figure
    """Sectors of 32 bytes that the first-level cache delivers."""
    nc_sectors: Figure
    """The same for `ld.global.nc`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One architecture, by an example."""

    arch: str
    example: str
    generation: str
    limits: Limits
    timing: Timing
    issue_per_partition: int = 1
    """Instructions per cycle that a scheduler can send off; 2: pairs of independent ones of a warp. Source: white."""
    multiprocessors: int
    """Number of multiprocessors of the example board."""
    clock_mhz: int
    """Boost clock of the example board."""
    dram_gigabytes_per_s: float
    """Memory bandwidth of the example board. Source: data."""
    l1_by_default: bool
    """Whether plain global loads are cached at the first level without `-dlcm=ca`. Source: tuning."""
    nc_is_texture: bool
    """Whether `ld.global.nc` goes through the texture path. Source: tuning."""

    @property
    def max_threads(self) -> int:
        return self.limits.max_warps * WARP_LANES

    @property
    def issue(self) -> int:
        """Instructions per cycle and multiprocessor."""
        return self.limits.partitions * self.issue_per_partition

    @property
    def dram_bytes_per_cycle(self) -> float:
        """The board's bandwidth divided among its multiprocessors, at the boost clock."""
        return self.dram_gigabytes_per_s * 1e3 / (self.multiprocessors * self.clock_mhz)


def resident_warps(machine: Machine, registers: int, shared_bytes: int, threads: int) -> int:
    """Warps of one multiprocessor when it is full of blocks of `threads` threads; 0 if not even one block fits.

    `registers` per thread, `shared_bytes` per block. ValueError for a block that no launch could ask for.
    """
    if not 1 <= threads <= MAX_BLOCK_THREADS or registers < 0 or shared_bytes < 0:
        raise ValueError(
            f"expected 1 to {MAX_BLOCK_THREADS} threads, nothing negative, got {threads}, {registers}, {shared_bytes}"
        )
    limits = machine.limits
    warps = -(-threads // WARP_LANES)
    if registers > limits.max_registers or shared_bytes > limits.shared_bytes_per_block:
        return 0
    blocks = min(limits.max_blocks, limits.max_warps // warps)
    per_warp = _round_up(registers * WARP_LANES, limits.register_unit)
    if per_warp:
        if per_warp * _round_up(warps, _LAUNCH_PARTITIONS) > limits.registers_per_block:
            return 0
        blocks = min(blocks, limits.registers // limits.partitions // per_warp * limits.partitions // warps)
    shared = _round_up(shared_bytes + limits.reserved_shared_bytes, limits.shared_unit_bytes)
    if shared:
        blocks = min(blocks, limits.shared_bytes // shared)
    return blocks * warps


def occupancy(machine: Machine, registers: int, shared_bytes: int, threads: int) -> float:
    """Resident warps as a part of the most that there can be, 0 to 1; see `resident_warps`."""
    return resident_warps(machine, registers, shared_bytes, threads) / machine.limits.max_warps


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def machine(arch: str) -> Machine:
    """The machine of `sm_XX` (a trailing letter is ignored); UserError (UNKNOWN_ARCH) for one that is not in the table."""
    plain = arch.rstrip("af")
    if plain not in MACHINES:
        known = ", ".join(MACHINES)
        raise UserError(Diagnostic("UNKNOWN_ARCH", f"expected one of {known}, got {arch}", fix="choose the nearest older one"))
    return MACHINES[plain]


def _known(value: float, source: str) -> Figure:
    return Figure(value, "literature", source)


def _assumed(value: float, reason: str) -> Figure:
    return Figure(value, "assumed", reason)


_KIB = 1024
_SHUFFLE_LANES = _known(32, "guide")
_UNIFIED = "one path with plain loads since Volta (tuning)"
_LINE = _known(4, "volta")
"""A line of 128 bytes per cycle."""
_LINE_ASSUMED = _assumed(4, "128 bytes per cycle as on Volta")
_QUADS = _assumed(2, "64 bytes per cycle: two texture units, each a quad of 8-byte lanes")

_KEPLER = Timing(
    arithmetic_cycles=_known(9, "volta"),
    shuffle_cycles=_known(24, "paper"),
    shared_cycles=_known(26, "paper"),
    l1_cycles=_known(35, "paper"),
    l2_cycles=_known(200, "volta"),
    nc_cycles=_assumed(104, "texture cache apart from L1, three times its latency"),
    float_lanes=_known(192, "guide"),
    load_lanes=_known(32, "white"),
    shuffle_lanes=_SHUFFLE_LANES,
    l1_sectors=_assumed(4, "a line of 128 bytes per cycle"),
    nc_sectors=_assumed(2, "16 texture units of 4 bytes"),
)
_MAXWELL = Timing(
    arithmetic_cycles=_known(6, "volta"),
    shuffle_cycles=_known(33, "paper"),
    shared_cycles=_known(23, "paper"),
    l1_cycles=_known(82, "paper"),
    l2_cycles=_known(207, "volta"),
    nc_cycles=_assumed(82, "the unified L1 and texture cache: as l1_cycles"),
    float_lanes=_known(128, "guide"),
    load_lanes=_known(32, "white"),
    shuffle_lanes=_SHUFFLE_LANES,
    l1_sectors=_QUADS,
    nc_sectors=_QUADS,
)
_PASCAL = replace(
    _MAXWELL,
    shared_cycles=_known(24, "paper"),
    l2_cycles=_known(234, "volta"),
    float_lanes=_known(64, "guide"),
    load_lanes=_known(16, "white"),
)


def _since_volta(
    arithmetic: Figure, shuffle: Figure, shared: Figure, l1: Figure, l2: Figure, floats: int, loads: Figure, sectors: Figure
) -> Timing:
    return Timing(
        arithmetic_cycles=arithmetic,
        shuffle_cycles=shuffle,
        shared_cycles=shared,
        l1_cycles=l1,
        l2_cycles=l2,
        nc_cycles=Figure(l1.value, "assumed", _UNIFIED),
        float_lanes=_known(floats, "guide"),
        load_lanes=loads,
        shuffle_lanes=_SHUFFLE_LANES,
        l1_sectors=sectors,
        nc_sectors=Figure(sectors.value, "assumed", _UNIFIED),
    )


_FOUR = _assumed(4, "as Ampere")
_LIKE_VOLTA, _LIKE_SHARED = _assumed(22, "as Volta"), _assumed(24, "Volta's, grown as that of shared memory")
_MANY, _FEW = _known(32, "white"), _known(16, "white")
_VOLTA = _since_volta(
    _known(4, "volta"), _known(22, "paper"), _known(19, "paper"), _known(28, "paper"), _known(193, "volta"), 64, _MANY, _LINE
)
_TURING = _since_volta(
    _known(4, "turing"), _LIKE_VOLTA, _known(19, "turing"), _known(32, "turing"), _known(188, "turing"), 64, _FEW,
    _assumed(2, "64 bytes per cycle: half of Volta's load units"),
)  # fmt: skip
_AMPERE = _since_volta(
    _known(4, "ampere"), _LIKE_VOLTA, _known(23, "ampere"), _known(33, "ampere"), _known(200, "ampere"), 64, _MANY, _LINE_ASSUMED
)
_SMALL_AMPERE = _since_volta(
    _FOUR, _LIKE_VOLTA, _assumed(23, "as A100"), _assumed(33, "as A100"), _assumed(240, "between A100 and RTX 4090"), 128, _FEW,
    _LINE_ASSUMED,
)  # fmt: skip
_ADA = _since_volta(
    _FOUR, _LIKE_SHARED, _known(30.1, "hopper"), _known(43.4, "hopper"), _known(273, "hopper"), 128, _FEW, _LINE_ASSUMED
)
_HOPPER = _since_volta(
    _FOUR, _LIKE_SHARED, _known(29, "hopper"), _known(40.7, "hopper"), _known(263, "hopper"), 128, _MANY, _LINE_ASSUMED
)
_BLACKWELL = _since_volta(
    _FOUR, _LIKE_SHARED, _assumed(29, "as Hopper"), _assumed(40.7, "as Hopper"), _assumed(300, "Hopper's, two dies"), 128,
    _assumed(32, "as Hopper"), _LINE_ASSUMED,
)  # fmt: skip
_SMALL_BLACKWELL = _since_volta(
    _FOUR, _LIKE_SHARED, _assumed(30.1, "as Ada"), _assumed(43.4, "as Ada"), _assumed(300, "Ada's, a larger cache"), 128,
    _assumed(16, "as Ada"), _LINE_ASSUMED,
)  # fmt: skip


def _old(max_blocks: int, shared: int, *, registers: int = 65536, partitions: int = 4) -> Limits:
    """Limits before Volta. `shared` in KiB."""
    return Limits(
        max_warps=64, max_blocks=max_blocks, shared_bytes=shared * _KIB, shared_bytes_per_block=48 * _KIB, shared_unit_bytes=256,
        registers=registers, partitions=partitions,
    )  # fmt: skip


def _new(max_warps: int, max_blocks: int, shared: int) -> Limits:
    """Since Ampere. `shared` in KiB."""
    return Limits(
        max_warps=max_warps, max_blocks=max_blocks, shared_bytes=shared * _KIB, shared_bytes_per_block=(shared - 1) * _KIB,
        shared_unit_bytes=128, reserved_shared_bytes=_KIB,
    )  # fmt: skip


def _between(max_warps: int, max_blocks: int, shared: int) -> Limits:
    """Volta and Turing. `shared` in KiB."""
    return Limits(
        max_warps=max_warps, max_blocks=max_blocks, shared_bytes=shared * _KIB, shared_bytes_per_block=shared * _KIB,
        shared_unit_bytes=256,
    )  # fmt: skip


MACHINES: dict[str, Machine] = {
    m.arch: m
    for m in (
        Machine(
            arch="sm_35", example="Tesla K40c", generation="Kepler", limits=_old(16, 48), timing=_KEPLER, issue_per_partition=2,
            multiprocessors=15, clock_mhz=875, dram_gigabytes_per_s=288, l1_by_default=False, nc_is_texture=True,
        ),
        Machine(
            arch="sm_37", example="Tesla K80, one of its two", generation="Kepler", limits=_old(16, 112, registers=131072),
            timing=_KEPLER, issue_per_partition=2, multiprocessors=13, clock_mhz=875, dram_gigabytes_per_s=240,
            l1_by_default=False, nc_is_texture=True,
        ),
        Machine(
            arch="sm_50", example="GeForce GTX 750 Ti", generation="Maxwell", limits=_old(32, 64), timing=_MAXWELL,
            issue_per_partition=2, multiprocessors=5, clock_mhz=1085, dram_gigabytes_per_s=86.4, l1_by_default=False,
            nc_is_texture=True,
        ),
        Machine(
            arch="sm_52", example="GeForce GTX TITAN X", generation="Maxwell", limits=_old(32, 96), timing=_MAXWELL,
            issue_per_partition=2, multiprocessors=24, clock_mhz=1075, dram_gigabytes_per_s=336.5, l1_by_default=False,
            nc_is_texture=True,
        ),
        Machine(
            arch="sm_60", example="Tesla P100 PCIe", generation="Pascal", limits=_old(32, 64, partitions=2), timing=_PASCAL,
            issue_per_partition=2, multiprocessors=56, clock_mhz=1303, dram_gigabytes_per_s=732, l1_by_default=True,
            nc_is_texture=True,
        ),
        Machine(
            arch="sm_70", example="Tesla V100 SXM2", generation="Volta", limits=_between(64, 32, 96), timing=_VOLTA,
            multiprocessors=80, clock_mhz=1530, dram_gigabytes_per_s=900, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_75", example="T4", generation="Turing", limits=_between(32, 16, 64), timing=_TURING,
            multiprocessors=40, clock_mhz=1590, dram_gigabytes_per_s=320, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_80", example="A100 40 GB", generation="Ampere", limits=_new(64, 32, 164), timing=_AMPERE,
            multiprocessors=108, clock_mhz=1410, dram_gigabytes_per_s=1555, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_86", example="GeForce RTX 3090", generation="Ampere", limits=_new(48, 16, 100), timing=_SMALL_AMPERE,
            multiprocessors=82, clock_mhz=1695, dram_gigabytes_per_s=936, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_89", example="GeForce RTX 4090", generation="Ada", limits=_new(48, 24, 100), timing=_ADA,
            multiprocessors=128, clock_mhz=2520, dram_gigabytes_per_s=1008, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_90", example="H100 SXM5", generation="Hopper", limits=_new(64, 32, 228), timing=_HOPPER,
            multiprocessors=132, clock_mhz=1980, dram_gigabytes_per_s=3352, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_100", example="B200", generation="Blackwell", limits=_new(64, 32, 228), timing=_BLACKWELL,
            multiprocessors=148, clock_mhz=1965, dram_gigabytes_per_s=8000, l1_by_default=True, nc_is_texture=False,
        ),
        Machine(
            arch="sm_120", example="GeForce RTX 5090", generation="Blackwell consumer", limits=_new(48, 24, 100),
            timing=_SMALL_BLACKWELL, multiprocessors=170, clock_mhz=2407, dram_gigabytes_per_s=1792, l1_by_default=True,
            nc_is_texture=False,
        ),
    )
}  # fmt: skip
