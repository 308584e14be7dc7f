"""A double of the functions of cuda-bindings' driver that calls use: memory, streams, events, contexts, and launches that run the
compiler's PTX in the interpreter.

Work on a stream is done as late as can be: when something waits for it. So whoever forgets to wait reads what was there before.
Streams are independent of each other and of the legacy one. Every address belongs to an allocation, or the driver refuses it.
"""

from __future__ import annotations

import ctypes
import re
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from warploom.ptx import launch

OK, INVALID, NO_CONTEXT = 0, 1, 201
POISON = 0xA5
_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\)", re.S)
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)")
_SIZES = {"u64": "<u8", "b64": "<u8", "s64": "<i8", "u32": "<u4", "s32": "<i4", "b32": "<u4", "f32": "<f4", "f64": "<f8",
          "u16": "<u2", "s16": "<i2", "b16": "<u2", "u8": "u1", "s8": "i1", "b8": "u1"}  # fmt: skip


class FakeDriver:
    """`capabilities`: of each device, by number."""

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76
    )
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self, capabilities: tuple[tuple[int, int], ...] = ((9, 0),)) -> None:
        self.capabilities = capabilities
        self.memory: dict[int, np.ndarray] = {}
        self.device_of: dict[int, int] = {}
        self.next, self.handle = 1 << 32, 100_000
        self.contexts: list[int] = []
        """The stack of this thread."""
        self.streams: dict[int, deque[Callable[[], None]]] = {}
        self.events: dict[int, list[Any]] = {}
        self.ptx: dict[bytes, str] = {}
        """Cubins, and the PTX that they were made of."""
        self.modules: dict[int, str] = {}
        self.functions: dict[int, tuple[str, str, int]] = {}
        """(PTX, name, context)."""
        self.shared: dict[int, int] = {}
        self.launched: list[tuple[str, tuple[int, ...], tuple[int, ...], int]] = []
        """(name, grid, block, stream)."""
        self.findings: list[Any] = []
        self.fails: dict[str, int] = {}
        """Functions that answer with this code."""
        self.compiled: list[tuple[str, str, tuple[str, ...]]] = []
        """(text, architecture, options) of each compilation."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu") and (code := super().__getattribute__("fails").get(name)):
            return lambda *_: (code,)
        return super().__getattribute__(name)

    # ------------------------------------------------------------ the test's side

    def allocated(self, size: int, device: int = 0) -> int:
        base = self.next
        self.next += (size + 511) // 512 * 512 + 512
        self.memory[base] = np.full(size, POISON, np.uint8)
        self.device_of[base] = device
        return base

    def at(self, pointer: int) -> np.ndarray:
        """From the address to the end of its allocation."""
        for base, memory in self.memory.items():
            if base <= pointer < base + len(memory):
                return memory[pointer - base :]
        raise KeyError(hex(pointer))

    def put(self, stream: int, work: Callable[[], None]) -> None:
        self.streams.setdefault(0 if stream == 1 else stream, deque()).append(work)

    def drain(self, stream: int) -> None:
        queue = self.streams.setdefault(0 if stream == 1 else stream, deque())
        while queue:
            queue.popleft()()

    def drain_all(self) -> None:
        for stream in list(self.streams):
            self.drain(stream)

    @property
    def pending(self) -> int:
        return sum(map(len, self.streams.values()))

    # ------------------------------------------------------------ devices, contexts

    def cuGetErrorString(self, error: int) -> tuple[int, bytes]:
        return OK, f"code {error}".encode()

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return OK, len(self.capabilities)

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return OK, ordinal

    def cuDeviceGetAttribute(self, attrib: int, dev: int) -> tuple[int, int]:
        return OK, self.capabilities[dev][attrib - 75]

    def cuDevicePrimaryCtxRetain(self, dev: int) -> tuple[int, int]:
        return OK, 1000 + dev

    def cuCtxGetCurrent(self) -> tuple[int, int]:
        return OK, self.contexts[-1] if self.contexts else 0

    def cuCtxGetDevice(self) -> tuple[int, ...]:
        return (OK, self.contexts[-1] % 1000) if self.contexts else (NO_CONTEXT,)

    def cuCtxPushCurrent(self, ctx: int) -> tuple[int]:
        self.contexts.append(ctx)
        return (OK,)

    def cuCtxPopCurrent(self) -> tuple[int, int]:
        return OK, self.contexts.pop()

    def cuCtxSynchronize(self) -> tuple[int]:
        self.drain_all()
        return (OK,) if self.contexts else (NO_CONTEXT,)

    # ------------------------------------------------------------ memory

    def cuMemAlloc(self, bytesize: int) -> tuple[int, ...]:
        return (OK, self.allocated(bytesize, self.contexts[-1] % 1000)) if self.contexts and bytesize else (INVALID,)

    def cuMemFree(self, dptr: int) -> tuple[int]:
        self.drain_all()
        del self.memory[dptr]
        return (OK,)

    def cuMemAllocAsync(self, bytesize: int, hStream: int) -> tuple[int, ...]:
        return self.cuMemAlloc(bytesize)

    def cuMemFreeAsync(self, dptr: int, hStream: int) -> tuple[int]:
        self.put(hStream, lambda: self.memory.__delitem__(dptr))
        return (OK,)

    def cuPointerGetAttribute(self, attribute: int, ptr: int) -> tuple[int, ...]:
        if not self.contexts or attribute != 9:
            return (NO_CONTEXT,)
        for base, memory in self.memory.items():
            if base <= ptr < base + len(memory):
                return OK, self.device_of[base]
        return (INVALID,)

    def cuMemcpyHtoD(self, dstDevice: int, srcHost: int, ByteCount: int) -> tuple[int]:
        self.drain(0)
        ctypes.memmove(self.at(dstDevice)[:ByteCount].ctypes.data, srcHost, ByteCount)
        return (OK,)

    def cuMemcpyDtoH(self, dstHost: int, srcDevice: int, ByteCount: int) -> tuple[int]:
        self.drain(0)
        ctypes.memmove(dstHost, self.at(srcDevice)[:ByteCount].ctypes.data, ByteCount)
        return (OK,)

    def cuMemcpyDtoHAsync(self, dstHost: int, srcDevice: int, ByteCount: int, hStream: int) -> tuple[int]:
        self.put(hStream, lambda: ctypes.memmove(dstHost, self.at(srcDevice)[:ByteCount].ctypes.data, ByteCount) and None)
        return (OK,)

    def cuMemcpyDtoDAsync(self, dstDevice: int, srcDevice: int, ByteCount: int, hStream: int) -> tuple[int]:
        def copy() -> None:
            self.at(dstDevice)[:ByteCount] = self.at(srcDevice)[:ByteCount]

        self.put(hStream, copy)
        return (OK,)

    def cuMemsetD8Async(self, dstDevice: int, uc: int, N: int, hStream: int) -> tuple[int]:
        self.put(hStream, lambda: self.at(dstDevice)[:N].fill(uc))
        return (OK,)

    # ------------------------------------------------------------ streams, events

    def cuStreamSynchronize(self, hStream: int) -> tuple[int]:
        self.drain(hStream)
        return (OK,)

    def cuEventCreate(self, Flags: int) -> tuple[int, int]:
        self.handle += 1
        self.events[self.handle] = []
        return OK, self.handle

    def cuEventRecord(self, hEvent: int, hStream: int) -> tuple[int]:
        done: list[bool] = []
        self.events[hEvent] = [hStream, done]
        self.put(hStream, lambda: done.append(True))
        return (OK,)

    def cuStreamWaitEvent(self, hStream: int, hEvent: int, Flags: int) -> tuple[int]:
        other, done = self.events[hEvent]

        def wait() -> None:
            queue = self.streams[0 if other == 1 else other]
            while not done:
                queue.popleft()()

        self.put(hStream, wait)
        return (OK,)

    def cuEventDestroy(self, hEvent: int) -> tuple[int]:
        del self.events[hEvent]
        return (OK,)

    # ------------------------------------------------------------ modules, launches

    def cuModuleLoadData(self, image: bytes) -> tuple[int, ...]:
        if not self.contexts or image not in self.ptx:
            return (INVALID,)
        self.handle += 1
        self.modules[self.handle] = self.ptx[image]
        return OK, self.handle

    def cuModuleUnload(self, hmod: int) -> tuple[int]:
        del self.modules[hmod]
        return (OK,)

    def cuModuleGetFunction(self, hmod: int, name: bytes) -> tuple[int, ...]:
        ptx = self.modules[hmod]
        if name.decode() not in dict(_ENTRY.findall(ptx)):
            return (500,)
        self.handle += 1
        self.functions[self.handle] = (ptx, name.decode(), self.contexts[-1])
        return OK, self.handle

    def cuFuncSetAttribute(self, hfunc: int, attrib: int, value: int) -> tuple[int]:
        self.shared[hfunc] = value
        return (OK,)

    def cuLaunchKernel(
        self, f: int, gridDimX: int, gridDimY: int, gridDimZ: int, blockDimX: int, blockDimY: int, blockDimZ: int,
        sharedMemBytes: int, hStream: int, kernelParams: int, extra: int,
    ) -> tuple[int]:  # fmt: skip
        ptx, name, context = self.functions[f]
        grid, block = (gridDimX, gridDimY, gridDimZ), (blockDimX, blockDimY, blockDimZ)
        if not self.contexts or self.contexts[-1] != context or 0 in grid or sharedMemBytes > self.shared.get(f, 48 << 10):
            return (INVALID,)
        kinds = _PARAM.findall(dict(_ENTRY.findall(ptx))[name])
        addresses = np.ctypeslib.as_array((ctypes.c_uint64 * len(kinds)).from_address(kernelParams)).copy()
        values: list[Any] = []
        for kind, address in zip(kinds, addresses.tolist(), strict=True):  # read now, as the driver does
            dtype = np.dtype(_SIZES[kind])
            values.append(np.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype)[0])

        def run() -> None:
            given = [self._argument(kind, value) for kind, value in zip(kinds, values, strict=True)]
            done = launch(
                ptx, name, grid=grid, block=block, args=given, dynamic_shared_bytes=sharedMemBytes, in_place=True, checks=True
            )
            assert done.status == "finished", (done.status, done.findings)
            self.findings += done.findings

        self.launched.append((name, grid, block, hStream))
        self.put(hStream, run)
        return (OK,)

    def _argument(self, kind: str, value: Any) -> Any:
        if kind in ("u64", "b64"):
            if not int(value):
                return np.zeros(0, np.uint8)
            return self.at(int(value))
        return value


NAMES = tuple(name for name in vars(FakeDriver) if name.startswith("cu"))
