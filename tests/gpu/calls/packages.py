"""Tensors on the double of the driver, and doubles of the packages that make them, by as much of each as calls use."""

from __future__ import annotations

import ctypes
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from tests.gpu.calls.fake_driver import FakeDriver


class Array:
    """A tensor at an address; `stream`: as `__cuda_array_interface__` tells it."""

    def __init__(
        self, driver: FakeDriver, values: np.ndarray, *, stream: int | None = None, device: int = 0, offset: int = 0,
        strides: tuple[int, ...] | None = None, read_only: bool = False,
    ) -> None:  # fmt: skip
        self.driver, self.shape, self.np_dtype = driver, values.shape, values.dtype
        self.dtype: Any = values.dtype
        self.number, self.told, self.strides, self.read_only = device, stream, strides, read_only
        self.pointer = driver.allocated(max(values.nbytes, 1) + offset, device) + offset if values.nbytes else 0
        if values.nbytes:
            driver.at(self.pointer)[: values.nbytes] = np.frombuffer(values.tobytes(), np.uint8)

    @property
    def interface(self) -> dict[str, Any]:
        found = {
            "shape": self.shape, "typestr": self.np_dtype.str, "data": (self.pointer, self.read_only), "strides": self.strides,
            "version": 3,
        }  # fmt: skip
        return found if self.told is None else found | {"stream": self.told}

    def host(self) -> np.ndarray:
        """Its values now, whatever is still to be done."""
        size = int(np.prod(self.shape)) * self.np_dtype.itemsize
        return self.driver.at(self.pointer)[:size].copy().view(self.np_dtype).reshape(self.shape)

    def late(self, values: np.ndarray, stream: int) -> None:
        """Work on a stream that writes these."""

        def write() -> None:
            self.driver.at(self.pointer)[: values.nbytes] = np.frombuffer(values.tobytes(), np.uint8)

        self.driver.put(stream, write)


class Plain(Array):
    """A tensor of no package."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface


class Cupy(Plain):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface | {"stream": sys.modules["cupy"].cuda.get_current_stream().ptr or 1}


Cupy.__module__ = "cupy._core.core"


class Torch(Array):
    requires_grad = False
    negated = False

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.requires_grad:
            raise RuntimeError("it requires grad")
        return {k: v for k, v in self.interface.items() if k != "stream"} | {"version": 2}

    @property
    def device(self) -> int:
        return self.number

    def is_neg(self) -> bool:
        return self.negated

    def detach(self) -> Torch:
        found = Torch.__new__(Torch)
        found.__dict__ |= self.__dict__ | {"requires_grad": False}
        return found


Torch.__module__ = "torch"


class Jax(Array):
    """Its stream is its own; `waits`: what `block_until_ready` does."""

    def block_until_ready(self) -> None:
        self.driver.drain(JAX_STREAM)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.interface


Jax.__module__ = "jaxlib._jax"
JAX_STREAM = 777


class Capsule(Array):
    """Handed over by DLPack alone; the stream that was asked for is noted."""

    asked: ClassVar[list[Any]] = []
    kind = 2
    lanes = 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.number

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        self.asked.append(stream)
        code = {"i": 0, "u": 1, "f": 2, "c": 5}[self.np_dtype.kind]
        return capsule(self.pointer, self.shape, (code, 8 * self.np_dtype.itemsize, self.lanes), self.strides, self.kind)


_held: list[Any] = []


def capsule(
    pointer: int, shape: tuple[int, ...], kind: tuple[int, int, int], strides: tuple[int, ...] | None, device: int,
    offset: int = 0,
) -> Any:  # fmt: skip
    """`DLManagedTensor` by hand, byte by byte: it shares no layout with the reader."""
    extents = (ctypes.c_int64 * max(1, len(shape)))(*shape)
    steps = None if strides is None else (ctypes.c_int64 * len(strides))(*(s * 8 // kind[1] for s in strides))
    words = bytearray()
    words += pointer.to_bytes(8, "little") + device.to_bytes(4, "little") + (0).to_bytes(4, "little")
    words += len(shape).to_bytes(4, "little") + bytes([kind[0], kind[1]]) + kind[2].to_bytes(2, "little")
    words += ctypes.addressof(extents).to_bytes(8, "little")
    words += (0 if steps is None else ctypes.addressof(steps)).to_bytes(8, "little") + offset.to_bytes(8, "little")
    words += bytes(16)  # manager_ctx, deleter
    buffer = (ctypes.c_uint8 * len(words)).from_buffer(words)
    name = b"dltensor"
    _held.append((extents, steps, words, buffer, name))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(buffer), name, None)


class Streams:
    """A package's current stream and the contexts that change it."""

    def __init__(self) -> None:
        self.current = 0
        self.made: list[tuple[int, int]] = []
        """(stream, device) of each new tensor."""

    @contextmanager
    def use(self, stream: int) -> Any:
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before


def cupy_double(driver: FakeDriver, streams: Streams) -> ModuleType:
    module = ModuleType("cupy")
    devices: list[int] = []

    @contextmanager
    def device(number: int) -> Any:
        devices.append(number)
        try:
            yield
        finally:
            devices.pop()

    def empty(shape: tuple[int, ...], dtype: Any) -> Cupy:
        streams.made.append((streams.current, devices[-1]))
        return Cupy(driver, np.full(shape, 99).astype(dtype), device=devices[-1])

    module.__dict__.update(
        empty=empty, float32=np.float32, int32=np.int32, uint32=np.uint32,
        cuda=SimpleNamespace(
            Device=device,
            ExternalStream=lambda ptr, device_id=-1: streams.use(ptr),
            get_current_stream=lambda: SimpleNamespace(ptr=streams.current),
        ),
    )  # fmt: skip
    return module


def torch_double(driver: FakeDriver, streams: Streams, *, grad: bool = True) -> ModuleType:
    module = ModuleType("torch")

    def empty(shape: tuple[int, ...], *, dtype: Any, device: str) -> Torch:
        number = int(device.removeprefix("cuda:"))
        streams.made.append((streams.current, number))
        return Torch(driver, np.full(shape, 99).astype(dtype), device=number)

    module.__dict__.update(
        empty=empty, float32=np.float32, is_grad_enabled=lambda: grad,
        cuda=SimpleNamespace(
            current_stream=lambda device=None: SimpleNamespace(cuda_stream=streams.current),
            ExternalStream=lambda ptr, device=None: SimpleNamespace(cuda_stream=ptr),
            stream=lambda stream: streams.use(stream.cuda_stream),
        ),
    )  # fmt: skip
    return module


def jax_double(driver: FakeDriver) -> ModuleType:
    module = ModuleType("jax")

    def zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.zeros(shape, np.float32 if dtype == np.float64 else dtype)  # as without 64 bits

    def device_put(values: np.ndarray, device: Any) -> Jax:
        return Jax(driver, values, device=device.id)

    module.__dict__.update(
        devices=lambda: [SimpleNamespace(id=n) for n in range(len(driver.capabilities))], device_put=device_put,
        numpy=SimpleNamespace(zeros=zeros, float32=np.float32, float64=np.float64),
    )  # fmt: skip
    return module
