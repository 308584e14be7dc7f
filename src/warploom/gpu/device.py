"""Running compiled kernels on a CUDA device through the driver API (package cuda-bindings, extra `cuda`).

Arrays are NumPy's (copied to the device and back) or anything with `__cuda_array_interface__` (CuPy, PyTorch: used in place, in
the device's primary context, which those packages use too).
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from statistics import quantiles
from typing import Any, Literal

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.core.launch import STATIC_SHARED_BYTES
from warploom.gpu.toolchain import INSTALL, Compiled

_LEGACY_STREAM = 0


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of repeated launches, by device events; data stays in the caches between launches if it fits."""

    median_ms: float
    best_ms: float
    runs: int
    quartiles_ms: tuple[float, float]
    """A quarter of the launches took no longer than the first, a quarter no less than the second."""


@dataclass(frozen=True, slots=True)
class NoDevice:
    """Why no kernel can be run here."""

    lacks: Literal["package", "driver", "newer driver", "device"]
    text: str


def why_no_device() -> NoDevice | None:
    """None where a CUDA driver and at least one device are there; never raises."""
    try:
        api = importlib.import_module("cuda.bindings.driver")
    except Exception as error:  # a damaged package fails in many ways
        return NoDevice("package", f"the package cuda-bindings is not usable: {error}")
    try:
        (code,) = api.cuInit(0)
        count = 0
        if int(code) == 0:
            code, count = api.cuDeviceGetCount()
    except Exception as error:  # a missing library or driver fails in many ways
        return NoDevice("driver", f"the NVIDIA driver is not usable: {error}")
    match int(code):
        case 0 if int(count) > 0:
            return None
        case 0 | 100:
            return NoDevice("device", "the NVIDIA driver sees no GPU")
        case 35 | 803 as number:
            return NoDevice("newer driver", f"the NVIDIA driver is older than CUDA 13 (its error {number})")
        case number:
            return NoDevice("driver", f"the NVIDIA driver does not start (its error {number})")


def device_available() -> bool:
    """Whether a CUDA driver and at least one device are there; never raises."""
    return why_no_device() is None


def device_names() -> tuple[str, ...]:
    """Names of all devices, by number, each with its architecture; UserError (NO_DEVICE)."""
    api = driver()
    names: list[str] = []
    for number in range(int(checked(api.cuDeviceGetCount()))):
        name = checked(api.cuDeviceGetName(128, checked(api.cuDeviceGet(number))))
        names.append(f"{name.decode(errors='replace').rstrip(chr(0))} ({device_arch(number)})")
    return tuple(names)


@cache
def driver() -> Any:
    """The module `cuda.bindings.driver`, which this module alone imports. UserError (NO_DEVICE)."""
    if not device_available():
        fix = f"run this where a GPU is, with the driver of CUDA 13 ({INSTALL})"
        raise UserError(Diagnostic("NO_DEVICE", "expected a CUDA device and its driver, got none", fix=fix))
    return importlib.import_module("cuda.bindings.driver")


def checked(result: tuple[Any, ...]) -> Any:
    """The values that a function of the driver gives beside its code. UserError (CUDA_DRIVER) for a code that is no success."""
    code, *values = result
    if int(code) != 0:
        api = driver()
        text = api.cuGetErrorString(code)[1]
        text = text.decode() if isinstance(text, bytes) else str(code)
        raise UserError(Diagnostic("CUDA_DRIVER", f"expected the CUDA driver to succeed, got: {text}"))
    return values[0] if len(values) == 1 else tuple(values)


@cache
def primary_context(device: int) -> Any:
    """The context of the device that packages share, kept from now on."""
    api = driver()
    return checked(api.cuDevicePrimaryCtxRetain(checked(api.cuDeviceGet(device))))


def device_arch(device: int = 0) -> str:
    """`sm_90` and the like of a device; UserError (NO_DEVICE)."""
    api = driver()
    handle = checked(api.cuDeviceGet(device))
    kinds = api.CUdevice_attribute
    major, minor = (
        checked(api.cuDeviceGetAttribute(kind, handle))
        for kind in (kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    )
    return f"sm_{major}{minor}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel and the arguments of a launch."""

    function: Any
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    values: tuple[Any, ...]
    """Each argument as an array of one element; their memory is what the driver reads."""
    dynamic_shared_bytes: int

    def launch(self, stream: int = _LEGACY_STREAM) -> None:
        """Puts the launch on the stream; does not wait."""
        addresses = np.array([v.ctypes.data for v in self.values], np.uint64)
        shared = self.dynamic_shared_bytes
        checked(driver().cuLaunchKernel(self.function, *self.grid, *self.block, shared, stream, addresses.ctypes.data, 0))


def prepared(
    function: Any,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    pointers: Sequence[int],
    numbers: Sequence[int | np.generic],
    dynamic_shared_bytes: int,
) -> Prepared:
    """A launch with pointers first; a plain number is passed as a C int, a NumPy scalar as what it is."""
    values = [np.array([pointer], np.uint64) for pointer in pointers]
    values += [np.array([n], n.dtype if isinstance(n, np.generic) else np.int32) for n in numbers]
    return Prepared(function, grid, block, tuple(values), dynamic_shared_bytes)


def function_of(cubin: bytes, name: str, dynamic_shared_bytes: int) -> tuple[Any, Any]:
    """The module of a cubin, loaded into the current context, and its kernel, which may ask for this much shared memory."""
    api = driver()
    module = checked(api.cuModuleLoadData(cubin))
    try:
        function = checked(api.cuModuleGetFunction(module, name.encode()))
        if dynamic_shared_bytes > STATIC_SHARED_BYTES:
            kind = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            checked(api.cuFuncSetAttribute(function, kind, dynamic_shared_bytes))
    except BaseException:
        api.cuModuleUnload(module)
        raise
    return module, function


def launch(
    compiled: Compiled,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arrays: Sequence[Any],
    sizes: Sequence[int | np.generic] = (),
    *,
    device: int = 0,
    dynamic_shared_bytes: int = 0,
) -> None:
    """Runs the kernel once and waits; `arrays` and `sizes` are its parameters in order, arrays are changed in place.

    A plain number is passed as a C int, a NumPy scalar as what it is.
    Elements must have the C types of the kernel (bf16 as 16-bit words). A grid with a zero does nothing.
    UserError: NO_DEVICE, ARRAY_KIND, CUDA_DRIVER.
    """
    if 0 in grid:
        return
    with _prepared(compiled, name, grid, block, arrays, sizes, device, dynamic_shared_bytes) as kernel:
        kernel.launch()
        checked(driver().cuCtxSynchronize())


def time_kernel(
    compiled: Compiled,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arrays: Sequence[Any],
    sizes: Sequence[int | np.generic] = (),
    *,
    repeats: int = 20,
    warm_up: int = 3,
    device: int = 0,
    dynamic_shared_bytes: int = 0,
) -> Timing:
    """Times `repeats` launches one by one after `warm_up` others; copies are not timed, arrays hold the last launch's results."""
    api = driver()
    with _prepared(compiled, name, grid, block, arrays, sizes, device, dynamic_shared_bytes) as kernel:
        for _ in range(warm_up):
            kernel.launch()
        events = [checked(api.cuEventCreate(0)) for _ in range(2)]
        try:
            times: list[float] = []
            for _ in range(repeats):
                checked(api.cuEventRecord(events[0], _LEGACY_STREAM))
                kernel.launch()
                checked(api.cuEventRecord(events[1], _LEGACY_STREAM))
                checked(api.cuEventSynchronize(events[1]))
                times.append(float(checked(api.cuEventElapsedTime(events[0], events[1]))))
        finally:
            for event in events:
                api.cuEventDestroy(event)
    low, middle, high = quantiles(times, n=4, method="inclusive") if repeats > 1 else times * 3
    return Timing(middle, min(times), repeats, (low, high))


@contextmanager
def _prepared(
    compiled: Compiled,
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arrays: Sequence[Any],
    sizes: Sequence[int | np.generic],
    device: int,
    dynamic_shared_bytes: int,
) -> Generator[Prepared]:
    """The module loaded and the arrays on the device; NumPy arrays are copied back at the end."""
    api = driver()
    problems = [p for p in map(_array_problem, arrays) if p is not None]
    if problems:
        raise UserError(*problems)
    checked(api.cuCtxSetCurrent(primary_context(device)))
    checked(api.cuCtxSynchronize())  # arrays in place may still be written by another stream
    module, function = function_of(compiled.cubin, name, dynamic_shared_bytes)
    copies: list[tuple[Any, Any]] = []
    try:
        pointers: list[int] = []
        for array in arrays:
            pointer = _pointer(array)
            if pointer is None:
                memory = checked(api.cuMemAlloc(max(array.nbytes, 1)))
                copies.append((array, memory))
                if array.nbytes:
                    checked(api.cuMemcpyHtoD(memory, array.ctypes.data, array.nbytes))
                pointer = int(memory)
            pointers.append(pointer)
        yield prepared(function, grid, block, pointers, sizes, dynamic_shared_bytes)
        checked(api.cuCtxSynchronize())
        for array, memory in copies:
            if array.flags.writeable and array.nbytes:
                checked(api.cuMemcpyDtoH(array.ctypes.data, memory, array.nbytes))
    finally:
        for _, memory in copies:
            api.cuMemFree(memory)
        api.cuModuleUnload(module)


def _pointer(array: Any) -> int | None:
    """Device address of an array that is on the device."""
    interface: Mapping[str, Any] | None = getattr(array, "__cuda_array_interface__", None)
    return None if interface is None else int(interface["data"][0])


def _array_problem(array: Any) -> Diagnostic | None:
    interface: Mapping[str, Any] | None = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        strides = interface.get("strides")
        shape, item = tuple(interface["shape"]), int(interface["typestr"][2:])
        dense = tuple(item * int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape)))
        if strides is None or tuple(strides) == dense:
            return None
        return Diagnostic("ARRAY_KIND", "expected a C-contiguous device array, got one with other strides", fix="make a copy")
    if not isinstance(array, np.ndarray):
        message = f"expected a NumPy array or one with __cuda_array_interface__, got {type(array).__name__}"
        return Diagnostic("ARRAY_KIND", message)
    if not array.flags.c_contiguous:
        return Diagnostic("ARRAY_KIND", "expected a C-contiguous array, got another layout", fix="use np.ascontiguousarray")
    return None
