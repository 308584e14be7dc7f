"""Kernels under Numba's `@cuda.jit`, compiled for an architecture without a device."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, Span, UserError
from warploom.ptx.simt import Argument
from warploom.tools.lint.launchable import Launchable
from warploom.tools.lint.sources import Compilation, Source

_LONGEST_MESSAGE = 2000


def is_numba(function: object) -> bool:
    """Whether it is what `@cuda.jit` makes of a function."""
    kind = type(function)
    names = kind.__module__.split(".")
    return names[0] in ("numba", "numba_cuda") and "cuda" in "".join(names) and hasattr(function, "py_func")


class NumbaKernel:
    """A function under `@cuda.jit`."""

    def __init__(self, at: str, function: Any) -> None:
        """UserError (TOOL_MISSING) without numba-cuda."""
        self._function: Any = function.py_func
        self._is_fast = bool(getattr(function, "targetoptions", {}).get("fastmath", False))
        self._read: dict[tuple[tuple[Any, ...], Compilation], Source] = {}
        self.at = at
        self.name: str = self._function.__name__
        self.constants: list[str] = []
        self.arguments = list(inspect.signature(self._function).parameters)
        try:
            self._cuda: Any = importlib.import_module("numba.cuda")
            self._typeof: Any = importlib.import_module("numba").typeof
        except Exception as error:
            message = f"expected the package numba-cuda for a kernel under @cuda.jit, got: {type(error).__name__}: {error}"
            raise UserError(Diagnostic("TOOL_MISSING", message, fix="Install numba-cuda, or give the PTX.")) from None

    def launchable(
        self, values: Sequence[Argument], constants: Mapping[str, object], compilation: Compilation, threads: int,
        types: Sequence[Any] = (),
    ) -> Launchable:  # fmt: skip
        """Compiled for arguments like these, or for Numba's `types`. UserError: CONSTANT, LAUNCH_ARGUMENTS, NUMBA_ERROR."""
        if constants:
            raise UserError(Diagnostic("CONSTANT", "expected --const for a Triton kernel, got it for one under @cuda.jit"))
        if any(isinstance(value, np.ndarray) and not value.flags.c_contiguous for value in values):
            message = f"expected arrays without gaps, row by row, for {self.name}, got another one"
            raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix="Pass np.ascontiguousarray(...)."))
        number = compilation.arch.removeprefix("sm_").rstrip("af")
        try:
            signature = tuple(types) or tuple(self._typeof(value) for value in values)
            if (signature, compilation) not in self._read:
                cc = int(number[:-1]), int(number[-1])
                ptx, _ = self._cuda.compile_ptx(self._function, signature, cc=cc, lineinfo=True, fastmath=self._is_fast)
                self._read[signature, compilation] = Source(self.at, compilation, ptx)
        except Exception as error:  # whatever the compiler raises is about the user's kernel
            message = f"Numba refuses the kernel: {type(error).__name__}: {str(error).strip()[:_LONGEST_MESSAGE]}"
            where = Span(self.at.rpartition(":")[0], 1, 1, 1, 1)
            raise UserError(Diagnostic("NUMBA_ERROR", message, where)) from error
        source = self._read[signature, compilation]
        (kernel,) = source.program.kernels
        parts = [(part, n) for n, value in enumerate(values) for part in _parts(value)]
        return Launchable(source, kernel.name, [part for part, _ in parts], 0, tuple(n for _, n in parts))


def _parts(value: Argument) -> list[Argument]:
    """Values that a kernel takes for an argument: for an array two owners, count, bytes of an element, data, shape and
    strides."""
    if not isinstance(value, np.ndarray):
        return [value]
    array: NDArray[Any] = value
    numbers = [np.int64(n) for n in (*array.shape, *array.strides)]
    return [np.int64(0), np.int64(0), np.int64(array.size), np.int64(array.itemsize), array, *numbers]
