"""Launches on the caller's stream, in the context of the call's tensors.

Goal: no wait of the host, no copy, nothing left behind but the results. The launches come after what the streams of all tensors
hold when the call begins, and in order on one stream; what follows on that stream sees their results.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom.core import Diagnostic, DType, UserError
from warploom.gpu.calls.loading import arch_of_device, loaded
from warploom.gpu.calls.packages import LEGACY, current_stream, empty, is_settled_after, package_of, same_stream, stream_handle
from warploom.gpu.calls.tensors import DeviceTensor, NotTaken, device_tensor, is_on_device, told_stream
from warploom.gpu.device import checked, driver, prepared, primary_context

_WITHOUT_TIMING = 2
"""CU_EVENT_DISABLE_TIMING."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of a call."""

    text: str
    """CUDA C++."""
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: tuple[str, ...]
    """Its first parameters, by name."""
    numbers: tuple[int | np.generic, ...] = ()
    """Its last parameters."""
    options: tuple[str, ...] = ()
    """Flags for NVRTC."""
    dynamic_shared_bytes: int = 0
    arch: str = ""
    """The architecture to compile for, where it has to be this one; else that of the device."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the launches of a call run; its context is the current one."""

    device: int
    arch: str
    context: int
    stream: int

    @contextmanager
    def temporaries(self, sizes_bytes: Mapping[str, int]) -> Generator[dict[str, int]]:
        """Addresses of new memory, by name. It may be used on the stream by what is put there inside."""
        api = driver()
        made: list[Any] = []
        found: dict[str, int] = {}
        try:
            for name, size in sizes_bytes.items():
                made.append(checked(api.cuMemAllocAsync(max(size, 1), self.stream)))
                found[name] = int(made[-1])
            yield found
        finally:
            for memory in made:
                api.cuMemFreeAsync(memory, self.stream)


def call_stream(values: Iterable[Any], given: object = None) -> int:
    """Handle of the stream of a call: the one given, else the current one of a tensor's package, else that of a tensor, else the
    legacy default stream. UserError (CALL_STREAM)."""
    if given is not None:
        return stream_handle(given)
    on_device = [v for v in values if is_on_device(v)]
    for value in on_device:
        found = current_stream(package_of(value), getattr(value, "device", None))
        if found is not None:
            return found
    for value in on_device:
        told = told_stream(value)
        if told is not None:
            return told
    return LEGACY


@contextmanager
def at_tensors(tensors: Mapping[str, DeviceTensor], stream: int) -> Generator[Place]:
    """Makes a context of the tensors' device current, if none is, and lets the stream wait for theirs.

    UserError: CALL_DEVICE where they are on several devices, NO_DEVICE, CUDA_DRIVER.
    """
    api = driver()
    with _some_context():
        numbers = {name: _device_of(api, t.pointer) for name, t in tensors.items() if t.pointer}
    device = next(iter(numbers.values()), 0)
    other = next((name for name, number in numbers.items() if number != device), None)
    if other is not None:
        first = next(iter(numbers))
        message = f"expected tensors of one GPU, got {first!r} on GPU {device} and {other!r} on GPU {numbers[other]}"
        raise UserError(Diagnostic("CALL_DEVICE", message, fix="Copy them to one of the two."))
    with context_of(device) as context:
        waited: list[int] = []
        for tensor in tensors.values():
            if tensor.stream is not None and not any(same_stream(tensor.stream, s) for s in (stream, *waited)):
                waited.append(tensor.stream)
                _wait(api, stream, tensor.stream)
        yield Place(device, arch_of_device(device), context, stream)


@contextmanager
def context_of(device: int) -> Generator[int]:
    """Handle of the current context if it is one of the device; else the device's primary one is, inside."""
    api = driver()
    current = checked(api.cuCtxGetCurrent())
    if int(current) and int(checked(api.cuCtxGetDevice())) == device:
        yield int(current)
        return
    own = primary_context(device)
    checked(api.cuCtxPushCurrent(own))
    try:
        yield int(own)
    finally:
        checked(api.cuCtxPopCurrent())


@contextmanager
def _some_context() -> Generator[None]:
    """Pointers are asked about in a context; which one does not matter."""
    api = driver()
    if int(checked(api.cuCtxGetCurrent())):
        yield
        return
    with context_of(0):
        yield


def _device_of(api: Any, pointer: int) -> int:
    kind = api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(checked(api.cuPointerGetAttribute(kind, pointer)))


def _wait(api: Any, stream: int, other: int) -> None:
    event = checked(api.cuEventCreate(_WITHOUT_TIMING))
    try:
        checked(api.cuEventRecord(event, other))
        checked(api.cuStreamWaitEvent(stream, event, 0))
    finally:
        api.cuEventDestroy(event)  # the driver keeps it until it has happened


def run_launches(place: Place, launches: Sequence[Launch], pointers: Mapping[str, int]) -> None:
    """Puts the launches on the stream, those with an empty grid left out. UserError: CUDA_DRIVER, and those of compiling."""
    for one in launches:
        if 0 in one.grid:
            continue
        function = loaded(place.context, one.text, one.options, one.arch or place.arch, one.name, one.dynamic_shared_bytes)
        at = [pointers[name] for name in one.arrays]
        prepared(function, one.grid, one.block, at, one.numbers, one.dynamic_shared_bytes).launch(place.stream)


def copy_on_device(place: Place, target: int, source: int, size_bytes: int) -> None:
    """On the stream of the call."""
    if size_bytes:
        checked(driver().cuMemcpyDtoDAsync(target, source, size_bytes, place.stream))


def clear_on_device(place: Place, target: int, size_bytes: int) -> None:
    """Zeros, on the stream of the call."""
    if size_bytes:
        checked(driver().cuMemsetD8Async(target, 0, size_bytes, place.stream))


def to_host(place: Place, tensor: DeviceTensor) -> np.ndarray[Any, Any]:
    """Its bytes, once the stream has come this far: the host waits."""
    found = np.empty(tensor.size_bytes, np.uint8)
    if found.size:
        checked(driver().cuMemcpyDtoHAsync(found.ctypes.data, tensor.pointer, found.size, place.stream))
        checked(driver().cuStreamSynchronize(place.stream))
    return found


class OwnedTensor:
    """A new tensor for packages without a known way to make one; any package takes it by `__cuda_array_interface__`."""

    def __init__(self, shape: tuple[int, ...], dtype: DType, device: int) -> None:
        self.shape, self.dtype, self.device = shape, dtype, device
        self._bytes = int(np.prod(shape, dtype=np.int64)) * dtype.size_bytes
        with context_of(device):
            self._memory = checked(driver().cuMemAlloc(max(self._bytes, 1)))

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        letter = {"int": "i", "uint": "u", "float": "f"}[self.dtype.kind]
        text = f"|V{self.dtype.size_bytes}" if self.dtype.is_held else f"<{letter}{self.dtype.size_bytes}"
        pointer = int(self._memory) if self._bytes else 0
        return {"shape": self.shape, "typestr": text, "data": (pointer, False), "strides": None, "version": 3}

    def __del__(self) -> None:
        memory = getattr(self, "_memory", None)
        if memory is not None:
            with suppress(Exception), context_of(self.device):  # the driver may be gone when Python ends
                driver().cuMemFree(memory)


def new_tensor(place: Place, package: str, shape: tuple[int, ...], dtype: DType) -> DeviceTensor:
    """Made as the package makes them; the user's own is its `owner`. UserError (CALL_DTYPE), or the package's own errors."""
    made = empty(package, shape, dtype, place.device, place.stream)
    if made is None:
        made = OwnedTensor(shape, dtype, place.device)
    found = device_tensor(made, place.stream)
    if isinstance(found, NotTaken):
        message = f"expected a tensor that {package} hands over, got {found.got}"
        raise UserError(Diagnostic("CALL_ARRAY", message, fix="Pass the output."))
    return DeviceTensor(
        made, found.pointer, found.shape, found.strides_bytes, dtype.name, dtype.size_bytes,
        is_writable=True, stream=None, package=package,
    )  # fmt: skip


def finish(place: Place, packages: Iterable[str]) -> None:
    """Waits for the launches where a package would not."""
    if any(is_settled_after(package) for package in packages):
        checked(driver().cuStreamSynchronize(place.stream))
