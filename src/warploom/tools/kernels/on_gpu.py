"""Kernels for tensors of a GPU: those that a search has kept for its target, else plain loops spread over threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core import Diagnostic, UnsupportedError
from warploom.machines import nearest_architecture
from warploom.schedule.backbone import Program
from warploom.schedule.calls import spread_nest, unpack_cuda
from warploom.schedule.cpu import plain_nest
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.targets import TARGETS
from warploom.tools.kernels import store


@dataclass(frozen=True, slots=True)
class GpuKernels:
    """Kernels that calls at the same sizes run on GPUs of one target."""

    program: Program
    kernels: Sequence[CudaKernel]
    kind: str
    """`found` or `plain`."""


def target_of(arch: str) -> str:
    """Name of the target whose kernels a GPU of that architecture runs. UnsupportedError (CALL_DEVICE) for one that is older
    than all of them."""
    name = nearest_architecture(arch).name
    if name not in TARGETS:
        message = f"expected a GPU for which kernels are compiled, got {arch}"
        raise UnsupportedError(Diagnostic("CALL_DEVICE", message, fix="Call it with arrays in the memory of the CPU."))
    return name


def spread_kernels(function: TensorFunction, sizes: Mapping[str, int], on: str) -> GpuKernels:
    """One launch for each stage. UserError: wrong sizes; UnsupportedError: what CUDA C++ here cannot express."""
    program = function.program(sizes)
    kernels = [cuda_kernel(spread_nest(plain_nest(stage)), Options(arch=on)) for stage in program.stages]
    return GpuKernels(program, kernels, "plain")


def known_kernels(function: TensorFunction, sizes: Mapping[str, int], on: str, shipped: Path | None = None) -> GpuKernels | None:
    """Kernels in the user's store, or else in the folder of a package; None where neither has any that count."""
    program = function.program(sizes)
    for folder in (store.store_folder(), shipped):
        is_shipped = folder is not None and folder == shipped
        kept = store.find(folder, function.name, lambda: store.gpu_key_of(program, on), is_shipped=is_shipped)
        if kept is None or kept.record is None or kept.reason:
            continue
        kernels = unpack_cuda(program, kept.record.get("cuda"))
        if kernels is not None:
            return GpuKernels(program, kernels, "found")
    return None
