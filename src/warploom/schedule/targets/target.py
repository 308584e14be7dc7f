"""Machines that kernels are written for: limits that decide which implementations exist, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from warploom.core import Diagnostic, UserError
from warploom.machines import ARCHITECTURES, COMPILED, MAX_BLOCK_THREADS, MOST_TOTALS, TILE_ROWS, TILES, WIDE_CORE, WIDEST_BYTES
from warploom.schedule.nest import Cache
from warploom.schedule.targets.figures import cpu_rates, cuda_rates
from warploom.schedule.targets.rates import K4000_RATES, NO_RATES, Rates

_KIB = 1024


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    kind: Literal["cuda", "cpu"]
    max_threads: int
    """Most threads per block; 1 on a CPU, whose blocks are single threads."""
    max_thread_dims: int
    max_outer_thread_size: int
    """Largest size of a thread dim outside another one."""
    max_block_dims: int
    max_outer_block_size: int
    """Largest size of a block dim inside another one: only the outermost may be longer."""
    shared_bytes: int
    """Bytes of temporaries, per block."""
    registers: int
    """Vector or scalar registers of one thread that values may use."""
    reserved_registers: int
    """Registers, part of those above, for addresses, loop indices and operands of reductions; totals get the others."""
    max_unroll: int
    """Product of the unrolled loops around one instruction."""
    vector_bytes: int
    """Widest vector access."""
    vector_lanes: tuple[int, ...]
    """Sizes of vector loops in f32 elements, ascending."""
    has_vector_arithmetic: bool
    """Else only loads and stores may be vectors."""
    load_caches: tuple[Cache, ...]
    store_caches: tuple[Cache, ...]
    has_async_copy: bool = False
    matrices: frozenset[str] = frozenset()
    """Types of factors that whole warps multiply (`machines.matrices`)."""
    group_matrices: frozenset[str] = frozenset()
    """Types of those that groups of four warps multiply together."""
    words: frozenset[str] = frozenset()
    """Types of elements of which a core multiplies words (`core.WORDS`): one instruction adds all products of a word to each
    total."""
    slow_words: frozenset[str] = frozenset()
    """Types, part of `words`, of which it makes fewer products in a time than of their elements in the type of the total."""
    tiles: frozenset[str] = frozenset()
    """Names under which Linux lists what a core multiplies in tile registers (`machines.tiles`)."""
    rates: Rates = NO_RATES

    @property
    def has_threads(self) -> bool:
        return self.max_thread_dims > 0

    @property
    def with_tiles(self) -> Target:
        """The same for sums that may be made in tile registers, which hold totals and factors, too."""
        kept = self.rates.kept_registers + TILES * TILE_ROWS
        return replace(self, registers=self.registers + MOST_TOTALS * TILE_ROWS, rates=replace(self.rates, kept_registers=kept))

    def lanes(self, element_bytes: int) -> tuple[int, ...]:
        """Sizes that a vector loop over elements of that many bytes may have: at most three, of bytes the widest."""
        if self.has_vector_arithmetic:
            return tuple(n * 4 // element_bytes for n in self.vector_lanes if n * 4 // element_bytes > 1)
        wide = (8, 16) if self.matrices else ()
        return tuple(n for n in (*self.vector_lanes, *wide) if n * element_bytes <= self.vector_bytes)[-3:]


_LOAD_CACHES = (Cache.ALL, Cache.L2, Cache.READ_ONLY, Cache.NONE)
_STORE_CACHES = (Cache.ALL, Cache.L2, Cache.NONE)

K4000 = Target(
    name="k4000", kind="cuda", max_threads=1024, max_thread_dims=3, max_outer_thread_size=64, max_block_dims=3,
    max_outer_block_size=65535, shared_bytes=48 * _KIB, registers=255, reserved_registers=32, max_unroll=512, vector_bytes=16,
    vector_lanes=(2, 4),
    has_vector_arithmetic=False, load_caches=(Cache.L2, Cache.NONE), store_caches=(Cache.L2, Cache.NONE), rates=K4000_RATES,
)  # fmt: skip
"""Quadro K4000 (compute capability 3.0): no read-only loads, no first-level cache for global memory."""


def cuda(arch: str) -> Target:
    """The limits of an architecture that the CUDA compilers of today know."""
    on = ARCHITECTURES[arch]
    return Target(
        name=arch, kind="cuda", max_threads=MAX_BLOCK_THREADS, max_thread_dims=3, max_outer_thread_size=64, max_block_dims=3,
        max_outer_block_size=65535, shared_bytes=on.limits.shared_bytes_per_block, registers=on.limits.max_registers,
        reserved_registers=32, max_unroll=512, vector_bytes=WIDEST_BYTES, vector_lanes=(2, 4), has_vector_arithmetic=False,
        load_caches=_LOAD_CACHES,
        store_caches=_STORE_CACHES, has_async_copy=on.has_async_copy, matrices=on.matrices,
        group_matrices=on.group_matrices, rates=cuda_rates(arch),
    )  # fmt: skip


def cpu(
    vector_bytes: int = WIDE_CORE.vector_bytes, registers: int = WIDE_CORE.vector_registers, scratch_bytes: int = 256 * _KIB
) -> Target:
    """The limits of a CPU: `registers` vector registers, temporaries of one thread in its second-level cache."""
    return Target(
        name="cpu", kind="cpu", max_threads=1, max_thread_dims=0, max_outer_thread_size=1, max_block_dims=3,
        max_outer_block_size=1 << 30, shared_bytes=scratch_bytes, registers=registers, reserved_registers=3, max_unroll=256,
        vector_bytes=vector_bytes, vector_lanes=(vector_bytes // 4,), has_vector_arithmetic=True, load_caches=(Cache.ALL,),
        store_caches=(Cache.ALL, Cache.NONE), rates=cpu_rates(vector_bytes),
    )  # fmt: skip


TARGETS: dict[str, Target] = {t.name: t for t in (K4000, *(cuda(arch) for arch in COMPILED), cpu())}


def target(name: str) -> Target:
    """The target of that name; `cuda` is sm_90. UserError (UNKNOWN_TARGET) for one that is not in the table."""
    key = "sm_90" if name == "cuda" else name
    if key not in TARGETS:
        known = ", ".join(TARGETS)
        fix = "For a GPU that is not listed choose the nearest older one; cuda is sm_90."
        raise UserError(Diagnostic("UNKNOWN_TARGET", f"expected one of {known}, got {name}", fix=fix))
    return TARGETS[key]
