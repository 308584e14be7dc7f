"""Triton's `kernel[grid](...)` in the interpreter."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ptx import TensorMap
from warploom.tools.lint.checked import run_silently
from warploom.tools.lint.drop_in.arrays import as_array, compilation, without_gaps
from warploom.tools.lint.drop_in.changes import Changes
from warploom.tools.lint.python_kernels import TritonKernel

_KERNEL = "_warploom_kernel"
_WARPS = 4
"""Triton's own choice."""
_OPTIONS = ("num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "allow_fp8e4nv", "debug")
"""Keywords of a launch, beside num_warps, that are the compiler's; of others Triton makes nothing here."""


def _run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
    """Compiles and runs one launch. KernelError for its mistakes, UserError, UnsupportedError."""
    for hook in self.pre_run_hooks:
        hook(*args, **kwargs)
    names = [p.name for p in self.params]
    given = self.signature.bind(*args, **{name: value for name, value in kwargs.items() if name in names})
    given.apply_defaults()
    bound: dict[str, Any] = dict(given.arguments)
    if warmup:
        return
    kernel = getattr(self, _KERNEL, None)
    if kernel is None:
        kernel = TritonKernel(f"{self.file_name}:{self.__name__}", self)
        setattr(self, _KERNEL, kernel)
    constants = {name: bound[name] for name in kernel.constants}
    values = [_value(bound[name], name) for name in kernel.arguments]
    constants |= {name: None for name, value in zip(kernel.arguments, values, strict=True) if value is None}
    threads = 32 * int(kwargs.get("num_warps") or _WARPS)
    options = {name: kwargs[name] for name in _OPTIONS if kwargs.get(name) is not None}
    present = [value for value in values if value is not None]
    made = kernel.launchable(present, constants, compilation(), threads, options)
    chosen: Any = grid(bound) if callable(grid) else grid
    run_silently(made, (chosen,) if isinstance(chosen, int) else tuple(map(int, chosen)), threads)


def _value(value: Any, name: str) -> Any:
    if hasattr(value, "block_shape") and hasattr(value, "base"):  # a TensorDescriptor
        array = _value(value.base, name)
        if not isinstance(array, np.ndarray):
            raise UserError(Diagnostic("LAUNCH_ARGUMENTS", f"expected a descriptor of an array for {name}"))
        memory = cast("NDArray[Any]", array)
        strides = [int(stride) * memory.dtype.itemsize for stride in value.strides]
        fill = "nan" if getattr(value, "padding", "zero") == "nan" else "zero"
        return TensorMap(memory, tuple(value.block_shape), tuple(value.shape), strides, fill=fill)
    found = as_array(value, name)
    if not isinstance(found, np.ndarray):
        return np.int32(found) if type(found) is int and -(2**31) <= found < 2**31 else found
    array = cast("NDArray[Any]", found)
    if not array.flags.writeable:
        message = f"expected an array that can be written for {name}, got a read-only one"
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix="Give a copy."))
    return without_gaps(array)


def replace_launches(module: ModuleType, changes: Changes) -> None:
    """`triton.runtime.jit`: launches run here, and a device is there for programs that ask which."""
    owner: Any = module
    changes.put(owner.JITFunction, "run", _run)
    changes.put(importlib.import_module("triton.runtime.driver").driver, "_active", _driver())


def replace_benchmarks(module: ModuleType, changes: Changes) -> None:
    """`triton.runtime.autotuner`: no choice is timed, the first one is taken."""
    owner: Any = module

    def no_bench(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        return [0.0, 0.0, 0.0]

    changes.put(owner.Autotuner, "_bench", no_bench)


def _driver() -> object:
    """Programs that ask Triton's driver for the device get the CPU of torch, if that is there, and the architecture."""
    target: Any = importlib.import_module("triton.backends.compiler").GPUTarget

    class Driver:
        """Stands in for a driver of a device."""

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, device: int) -> None:
            pass

        def get_current_stream(self, device: int) -> int:
            return 0

        def get_current_target(self) -> Any:
            return target("cuda", int("".join(filter(str.isdigit, compilation().arch))), 32)

        def get_active_torch_device(self) -> Any:
            return importlib.import_module("torch").device("cpu")

    return Driver()
