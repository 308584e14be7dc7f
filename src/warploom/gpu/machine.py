"""NVIDIA GPU architectures as data: what the cost model and the reports need to know of one multiprocessor (SM).

Source: CUDA C++ Programming Guide 13, tables "Technical Specifications per Compute Capability" and "Throughput of Native
Arithmetic Instructions"; latencies: Abdelkhalik et al., Demystifying the Nvidia Ampere Architecture through Microbenchmarking
and Instruction-level Analysis (2022). None where no source is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.core import Diagnostic, UserError
from warploom.ptx import machines


@dataclass(frozen=True, slots=True)
class Machine:
    """One architecture; rates are per SM and clock cycle."""

    arch: str
    name: str
    """An example that people know it by."""
    max_warps: int
    """Resident per SM."""
    max_blocks: int
    """Resident per SM."""
    shared_bytes: int
    """Shared bytes per SM."""
    shared_bytes_per_block: int
    """Shared bytes per block with the opt-in; 48 KiB without."""
    float_lanes: int
    """f32 additions, multiplications or fused ones."""
    integer_lanes: int | None
    """32-bit integer additions, comparisons, logic."""
    shared_latency_cycles: int | None = None
    global_latency_cycles: int | None = None
    registers: int = 65536
    """32-bit, per SM."""
    max_registers_per_thread: int = 255
    warp_lanes: int = 32
    banks: int = 32
    bank_bytes: int = 4
    sector_bytes: int = 32
    issue_per_cycle: int = 4
    """Warp instructions: four schedulers, one each."""
    shuffle_lanes: int = 32
    """Lanes of warp shuffles."""
    wavefronts_per_cycle: int = 1
    """Shared-memory wavefronts: one access to all banks."""

    def resident_warps(self, registers_per_thread: int, shared_bytes: int, threads_per_block: int) -> int:
        """Warps that fit on one SM at once, 0 if not even one block does; see `ptx.machines.resident_warps`."""
        return machines.resident_warps(machines.machine(self.arch), registers_per_thread, shared_bytes, threads_per_block)


_KIB = 1024

MACHINES: dict[str, Machine] = {
    m.arch: m
    for m in (
        Machine("sm_75", "T4, RTX 2080", 32, 16, 64 * _KIB, 64 * _KIB, 64, 64),
        Machine("sm_80", "A100", 64, 32, 164 * _KIB, 163 * _KIB, 64, 64, shared_latency_cycles=23, global_latency_cycles=290),
        Machine("sm_86", "RTX 3090, A40", 48, 16, 100 * _KIB, 99 * _KIB, 128, 64),
        Machine("sm_89", "RTX 4090, L40", 48, 24, 100 * _KIB, 99 * _KIB, 128, 64),
        Machine("sm_90", "H100, H200", 64, 32, 228 * _KIB, 227 * _KIB, 128, 64),
        Machine("sm_100", "B200", 64, 32, 228 * _KIB, 227 * _KIB, 128, None),
        Machine("sm_120", "RTX 5090", 48, 24, 100 * _KIB, 99 * _KIB, 128, None),
    )
}


def machine(arch: str = "sm_90") -> Machine:
    """The description of `arch`; UserError (UNKNOWN_ARCH) for one that is not in the table."""
    if arch not in MACHINES:
        known = ", ".join(MACHINES)
        raise UserError(Diagnostic("UNKNOWN_ARCH", f"expected one of {known}, got {arch}", fix="choose the nearest older one"))
    return MACHINES[arch]
