"""Numba's `kernel[grid, block](...)` in the interpreter, and arrays "of the device" in the memory of the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.tools.lint.checked import run_silently
from warploom.tools.lint.drop_in.arrays import as_array, compilation
from warploom.tools.lint.drop_in.changes import Changes
from warploom.tools.lint.numba_kernels import NumbaKernel

_KERNEL = "_warploom_kernel"
_SIGNATURE = "_warploom_signature"
_FORALL_THREADS = 128


@dataclass(frozen=True, slots=True)
class _Configured:
    """A kernel with its grid and block."""

    dispatcher: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int

    def __call__(self, *args: Any) -> None:
        run_numba(self.dispatcher, self.grid, self.block, self.shared_bytes, args)


def run_numba(dispatcher: Any, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int, args: Sequence[Any]) -> None:
    """Compiles and runs one launch. KernelError for its mistakes, UserError, UnsupportedError."""
    kernel = getattr(dispatcher, _KERNEL, None)
    if kernel is None:
        code = dispatcher.py_func.__code__
        kernel = NumbaKernel(f"{code.co_filename}:{dispatcher.py_func.__name__}", dispatcher)
        setattr(dispatcher, _KERNEL, kernel)
    values = [as_array(getattr(a, "value", a) if type(a).__name__ in ("In", "Out", "InOut") else a, "an argument") for a in args]
    signature = getattr(dispatcher, _SIGNATURE, None)
    threads = int(np.prod(block))
    made = kernel.launchable(values, {}, compilation(), threads, signature if signature and len(signature) == len(values) else ())
    run_silently(replace(made, shared_bytes=shared_bytes), grid, block)


def _extents(value: Any) -> tuple[int, ...]:
    return (int(value),) if np.ndim(value) == 0 else tuple(int(n) for n in value)


def replace_launches(module: ModuleType, changes: Changes) -> None:
    """`numba.cuda.dispatcher`: launches run here; nothing is compiled before the first."""

    def configure(self: Any, griddim: Any, blockdim: Any, stream: object = 0, sharedmem: int = 0) -> _Configured:
        return _Configured(self, _extents(griddim), _extents(blockdim), int(sharedmem))

    def forall(self: Any, ntasks: int, tpb: int = 0, stream: object = 0, sharedmem: int = 0) -> _Configured:
        threads = tpb or _FORALL_THREADS
        return _Configured(self, (max(1, -(-int(ntasks) // threads)),), (threads,), int(sharedmem))

    def compile_for(self: Any, signature: Any) -> None:
        """Types that a decorator names, for scalars at launch."""
        setattr(self, _SIGNATURE, tuple(signature))

    def disable_compile(self: Any, val: bool = True) -> None:
        """Numba asks that something was compiled before."""

    owner: Any = module
    for replaced, name in (
        (configure, "configure"),
        (forall, "forall"),
        (compile_for, "compile"),
        (disable_compile, "disable_compile"),
    ):
        changes.put(owner.CUDADispatcher, name, replaced)


class DeviceArray(np.ndarray[Any, Any]):
    """An array with the methods of Numba's arrays of the device."""

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: object = 0) -> NDArray[Any]:
        if ary is None:
            return np.array(self)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: NDArray[Any], stream: object = 0) -> None:
        self[...] = ary


def _device_array(
    shape: Any, dtype: Any = np.float64, strides: object = None, order: Any = "C", stream: object = 0
) -> DeviceArray:
    return np.empty(shape, dtype, order).view(DeviceArray)


def _device_array_like(ary: NDArray[Any], stream: object = 0) -> DeviceArray:
    return np.empty(ary.shape, ary.dtype).view(DeviceArray)


def _to_device(obj: Any, stream: object = 0, copy: bool = True, to: Any = None) -> DeviceArray:
    if to is not None:
        to[...] = obj
        return to
    return np.array(obj, copy=True).view(DeviceArray)


def replace_arrays(module: ModuleType, changes: Changes) -> None:
    """`numba.cuda`: arrays of the device lie in the memory of the process, and there is nothing to wait for."""
    for name, value in {
        "to_device": _to_device, "device_array": _device_array, "device_array_like": _device_array_like,
        "pinned_array": _device_array, "mapped_array": _device_array, "managed_array": _device_array,
        "is_available": lambda: True, "synchronize": lambda: None,
    }.items():  # fmt: skip
        changes.put(module, name, value)
