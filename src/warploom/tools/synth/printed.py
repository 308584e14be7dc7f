"""The CUDA text of a completed kernel, read back against the kernel, and compiled where the tools are installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from warploom.core import UserError
from warploom.gpu import (
    Compiled,
    CudaSource,
    compile_cuda,
    count_executed,
    cuda_source,
    executed_cycles,
    grid_of,
    read_back,
    toolchain_available,
)
from warploom.ir import IndexExpr, Kernel, fill
from warploom.machines import nearest_architecture
from warploom.synth import blank_arrays

MOST_THREADS = 1 << 12
"""Most threads of a launch that is counted beside its CUDA."""


@dataclass(frozen=True, slots=True)
class Printed:
    source: CudaSource
    compiled: Compiled | None
    """None when the extra `cuda` is not installed."""
    compared: int
    """Output elements on which text and kernel were compared."""

    def fields(self) -> dict[str, object]:
        """Fields for a report line."""
        found: dict[str, object] = {"read_back": self.compared}
        if self.compiled is not None:
            found |= compiled_fields(self.compiled)
        return found


def print_checked(kernel: Kernel, completions: Mapping[str, IndexExpr], *, compiles: bool = True) -> Printed:
    """CUDA C++ of the completed kernel; UserError (READ_BACK_...) when the text does not do what the kernel does.

    compiles: where the tools are installed.
    """
    source = cuda_source(kernel, completions)
    result = read_back(source.text, fill(kernel, completions))
    if not result.ok:
        raise UserError(*result.diagnostics)
    compiled = compile_cuda(source.text) if compiles and toolchain_available() else None
    return Printed(source, compiled, result.checked)


def executed_fields(printed: Printed, kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, object]:
    """Cycles of a launch at these sizes, by unit, of the compiled kernel; none where it is not compiled, or has many threads.

    Addresses come from the interpreter of PTX, widths of shared accesses from the machine code where it tells them.
    """
    compiled = printed.compiled
    if compiled is None or kernel.threads * prod(grid_of(kernel, sizes)) > MOST_THREADS:
        return {}
    done = count_executed(kernel, printed.source, compiled, blank_arrays(kernel, sizes), sizes)
    cycles = executed_cycles(done.counts, nearest_architecture(compiled.arch))
    return {"executed_cycles": cycles | {"wavefronts": done.counts.shared_wavefronts, "counted": done.counted}}


def compiled_fields(compiled: Compiled) -> dict[str, object]:
    """Report of ptxas, with units in the names."""
    return {
        "arch": compiled.arch,
        "registers": compiled.registers,
        "local_bytes": compiled.local_bytes,
        "spill_bytes": compiled.spill_bytes,
        "shared_bytes": compiled.shared_bytes,
    }
