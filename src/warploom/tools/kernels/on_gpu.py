"""Kernels for tensors of a GPU: those that a search has kept for its target, else plain loops spread over threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from warploom.core import Diagnostic, UnsupportedError
from warploom.machines import nearest_architecture
from warploom.schedule.backbone import Program
from warploom.schedule.calls import GpuClass, GpuKernels, all_open, narrowest, spread_nest, unpack_cuda
from warploom.schedule.cpu import plain_nest
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.targets import TARGETS
from warploom.tools.kernels import store
from warploom.tools.kernels.class_records import class_records


def target_of(arch: str) -> str:
    """Name of the target whose kernels a GPU of that architecture runs. UnsupportedError (CALL_DEVICE) for one that is older
    than all of them."""
    name = nearest_architecture(arch).name
    if name not in TARGETS:
        message = f"expected a GPU for which kernels are compiled, got {arch}"
        raise UnsupportedError(Diagnostic("CALL_DEVICE", message, fix="Call it with arrays in the memory of the CPU."))
    return name


def spread_class(function: TensorFunction, sizes: Mapping[str, int], on: str) -> GpuClass:
    """One launch for each stage, for every value of those sizes that can be arguments of kernels. UserError: wrong sizes;
    UnsupportedError: what CUDA C++ here cannot express."""
    multiples, program = all_open(function, function.program(sizes), has_strides=True)
    kernels = tuple(cuda_kernel(spread_nest(plain_nest(stage)), Options(arch=on)) for stage in program.stages)
    fixed = {name: value for name, value in sizes.items() if name not in multiples}
    return GpuClass(program, fixed, multiples, kernels, "plain")


def rest_kernels(function: TensorFunction, sizes: Mapping[str, int], on: str) -> tuple[Program, Sequence[CudaKernel]] | None:
    """The same of what is left at sizes at which some arrays have no elements; None where nothing lacks any."""
    if not function.lacks_elements(sizes):
        return None
    made = spread_class(function.without_elements(sizes), {}, on).launches({})
    return made.program, made.kernels


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


def known_gpu_class(function: TensorFunction, sizes: Mapping[str, int], on: str, shipped: Path | None = None) -> GpuClass | None:
    """The narrowest class of shapes that holds these sizes, of those kept for the target in the user's store, or else in the
    folder of a package. None where neither has one that counts."""
    for folder in (store.store_folder(), shipped):
        files = store.classes(folder, function.name, is_shipped=folder is not None and folder == shipped)
        found = narrowest([*_classes(files, function, sizes, on)], sizes)
        if found is not None:
            return found
    return None


def _classes(files: Iterator[store.Kept], function: TensorFunction, sizes: Mapping[str, int], on: str) -> Iterator[GpuClass]:
    for found in class_records(files, function, sizes, on):
        if found.record.get("key") != store.gpu_key_of(found.program, on, found.multiples):
            continue
        kernels = unpack_cuda(found.program, found.record.get("cuda"))
        if kernels is not None:
            yield GpuClass(found.program, found.fixed, found.multiples, tuple(kernels), "found")
