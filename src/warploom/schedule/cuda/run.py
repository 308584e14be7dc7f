"""Printed kernels compiled, interpreted as PTX without a GPU, run and timed on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError, to_numpy, values_of, words_of
from warploom.gpu import Compiled, Timing, compile_cuda, compile_to_ptx, time_kernel
from warploom.gpu import launch as launch_on_device
from warploom.ptx import Counts, Finding
from warploom.ptx import launch as launch_ptx
from warploom.schedule.backbone import Parameter, Role
from warploom.schedule.cuda.kernel import CudaKernel
from warploom.schedule.nest import Buffer


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """Facts about a compiled kernel and its launch."""

    threads: int
    """Threads of a block."""
    blocks: int
    registers: int
    """Registers per thread."""
    local_bytes: int
    """Bytes per thread that are not in registers; 0 unless too many are asked for."""
    spill_bytes: int
    shared_bytes: int
    """Shared bytes per block, dynamic included."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a run on the PTX interpreter."""

    arrays: Mapping[str, NDArray[Any]]
    """By name of the buffer: after the run, in the shape given."""
    findings: tuple[Finding, ...]
    """Races, accesses out of range and the like."""
    counts: Counts | None


def compile_kernel(kernel: CudaKernel, arch: str | None = None) -> Compiled:
    """Compiles for the machine of its options, or a newer one."""
    return compile_cuda(kernel.text, arch or kernel.arch, options=text_options(kernel))


def ptx_of(kernel: CudaKernel, arch: str | None = None) -> str:
    """NVRTC's PTX. UserError: TOOL_MISSING, CUDA_ERROR."""
    return _ptx(kernel.text, arch or kernel.arch, text_options(kernel))


@lru_cache(maxsize=16)
def _ptx(text: str, arch: str, options: tuple[str, ...]) -> str:
    """A kernel runs on several data sets."""
    return compile_to_ptx(text, arch, options=options)


def facts_of(kernel: CudaKernel, compiled: Compiled) -> KernelFacts:
    return KernelFacts(
        threads=kernel.threads,
        blocks=kernel.blocks,
        registers=compiled.registers,
        local_bytes=compiled.local_bytes,
        spill_bytes=compiled.spill_bytes,
        shared_bytes=compiled.shared_bytes + kernel.dynamic_shared_bytes,
    )


def interpret(
    kernel: CudaKernel,
    arrays: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, float] | None = None,
    *,
    arch: str | None = None,
    counts: bool = False,
    limit: int | None = None,
) -> Outcome:
    """Compiles to PTX and runs it with all checks; arrays by name of the buffer, any shape with enough elements.

    UserError: ARRAY_SHAPE, LAUNCH_FAILED (a fault, a deadlock or the limit reached).
    """
    given = [_words(buffer, _checked(buffer, arrays)) for buffer in kernel.arrays]
    private = [np.zeros(_private_elements(kernel, b), to_numpy(b.dtype)) for b in kernel.block_arrays]
    values = launch_numbers(kernel, scalars or {})
    if 0 in kernel.grid:  # sizes known at run time that leave nothing to do
        return Outcome(dict(arrays), (), None)
    ptx = ptx_of(kernel, arch)
    result = launch_ptx(
        ptx, kernel.name, grid=kernel.grid, block=kernel.block, args=[*given, *private, *values],
        dynamic_shared_bytes=kernel.dynamic_shared_bytes, counts=counts, limit=limit,
    )  # fmt: skip
    if result.status != "finished":
        notes = "; ".join(str(f) for f in result.findings[:2])
        raise UserError(Diagnostic("LAUNCH_FAILED", f"expected {kernel.name} to finish, got {result.status}: {notes}"))
    outputs = {b.name: _values(b, result.arrays[n]).reshape(arrays[b.name].shape) for n, b in enumerate(kernel.arrays)}
    return Outcome(outputs, result.findings, result.counts)


def interpret_all(
    kernels: Sequence[CudaKernel],
    arrays: Mapping[str, NDArray[Any]],
    scalars: Mapping[str, float] | None = None,
    *,
    arch: str | None = None,
    limit: int | None = None,
) -> Outcome:
    """The kernels of a program one after the other; arrays that only kernels write may be left out, and are flat then."""
    current = with_outputs(kernels, arrays)
    findings: list[Finding] = []
    for kernel in kernels:
        outcome = interpret(kernel, current, scalars, arch=arch, limit=limit)
        current |= outcome.arrays
        findings += outcome.findings
    return Outcome(current, tuple(findings), None)


def with_outputs(kernels: Sequence[CudaKernel], arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays, and flat ones of zeros for the outputs that are missing."""
    found = dict(arrays)
    for buffer in (b for k in kernels for b in k.arrays):
        if buffer.name not in found and buffer.role is Role.OUTPUT:
            found[buffer.name] = np.zeros(buffer.elements, to_numpy(buffer.dtype))
    return found


def run(
    kernel: CudaKernel,
    compiled: Compiled,
    arrays: Mapping[str, Any],
    scalars: Mapping[str, float] | None = None,
    *,
    device: int = 0,
) -> None:
    """Runs on a device, once; arrays are NumPy's or on the device, and are changed in place. NumPy's of bf16, e4m3 and e5m2 hold
    float32, as for `interpret`; those on the device have the real type. UserError as `warploom.gpu.launch`."""
    given = _device_arrays(kernel, arrays)
    launch_on_device(
        compiled, kernel.name, kernel.grid, kernel.block, given, launch_numbers(kernel, scalars or {}),
        device=device, dynamic_shared_bytes=kernel.dynamic_shared_bytes,
    )  # fmt: skip
    for buffer, array in zip(kernel.arrays, given, strict=False):
        own = arrays[buffer.name]
        if array is not own and buffer.role is Role.OUTPUT:
            own[...] = _values(buffer, array).reshape(own.shape)


def time(
    kernel: CudaKernel,
    compiled: Compiled,
    arrays: Mapping[str, Any],
    scalars: Mapping[str, float] | None = None,
    *,
    repeats: int = 20,
    warm_up: int = 3,
    device: int = 0,
) -> Timing:
    """Times on a device, by events around each of `repeats` launches. Outputs of bf16 in NumPy's arrays are not brought back."""
    return time_kernel(
        compiled, kernel.name, kernel.grid, kernel.block, _device_arrays(kernel, arrays), launch_numbers(kernel, scalars or {}),
        repeats=repeats, warm_up=warm_up, device=device, dynamic_shared_bytes=kernel.dynamic_shared_bytes,
    )  # fmt: skip


def _words(buffer: Buffer, array: NDArray[Any]) -> NDArray[Any]:
    """The array as the kernel has it in memory: NumPy holds bf16 and the types of 8 bits in float32."""
    return words_of(buffer.dtype, array)


def _values(buffer: Buffer, array: NDArray[Any]) -> NDArray[Any]:
    return values_of(buffer.dtype, array) if buffer.dtype.is_held else array


def text_options(kernel: CudaKernel) -> tuple[str, ...]:
    """Options with which NVRTC compiles the text."""
    return () if kernel.options.contract else ("--fmad=false",)


def _private_elements(kernel: CudaKernel, buffer: Buffer) -> int:
    return buffer.elements * buffer.copies * kernel.blocks


def _checked(buffer: Buffer, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    array = arrays.get(buffer.name)
    if array is None:
        raise UserError(Diagnostic("ARRAY_SHAPE", f"expected an array {buffer.name}, got {', '.join(arrays) or 'none'}"))
    if array.size < buffer.elements or array.dtype != to_numpy(buffer.dtype) or not array.flags.c_contiguous:
        expected = f"{buffer.elements} contiguous elements of {buffer.dtype.name} in {buffer.name}"
        raise UserError(Diagnostic("ARRAY_SHAPE", f"expected {expected}, got {array.size} of {array.dtype}"))
    return array.reshape(-1)


def _device_arrays(kernel: CudaKernel, arrays: Mapping[str, Any]) -> list[Any]:
    missing = [b.name for b in kernel.arrays if b.name not in arrays]
    if missing:
        raise UserError(Diagnostic("ARRAY_SHAPE", f"expected arrays {', '.join(missing)}, got {', '.join(arrays) or 'none'}"))
    for name, interface in ((b.name, getattr(arrays[b.name], "__cuda_array_interface__", None)) for b in kernel.arrays):
        if interface is not None and int(interface["data"][0]) % 16:
            message = f"expected a device array aligned to 16 bytes, got {name} at {int(interface['data'][0]):#x}"
            raise UserError(Diagnostic("ARRAY_ALIGNMENT", message, fix="make a copy"))
    private = [np.zeros(_private_elements(kernel, b), to_numpy(b.dtype)) for b in kernel.block_arrays]
    return [*(_on_device(b, arrays[b.name]) for b in kernel.arrays), *private]


def _on_device(buffer: Buffer, array: Any) -> Any:
    """The array as the device gets it: words for types that NumPy does not have. UserError: ARRAY_SHAPE."""
    if not buffer.dtype.is_held or not _is_of_numpy(array):
        return array
    return _words(buffer, _checked(buffer, {buffer.name: array}))


def _is_of_numpy(array: object) -> bool:
    return isinstance(array, np.ndarray)


def _scalar(parameter: Parameter, value: float) -> np.generic:
    """The value as the kernel takes it; bf16 as its word."""
    number = to_numpy(parameter.dtype).type(value)
    return words_of(parameter.dtype, np.asarray(number).reshape(1))[0] if parameter.dtype.is_held else number


def launch_numbers(kernel: CudaKernel, scalars: Mapping[str, float]) -> list[np.generic]:
    """The parameters behind the arrays, as a launch takes them. UserError (ARRAY_SHAPE) where one is missing."""
    missing = [p.name for p in kernel.parameters if p.name not in scalars]
    if missing:
        raise UserError(Diagnostic("ARRAY_SHAPE", f"expected scalars {', '.join(missing)}, got {', '.join(scalars) or 'none'}"))
    given = [_scalar(p, scalars[p.name]) for p in kernel.parameters]
    return [*given, *(np.int32(value) for _, value in kernel.run_time)]
