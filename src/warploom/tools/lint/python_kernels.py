"""Kernels that a Python module holds: Triton's and Numba's, compiled for an architecture without a device."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, Span, UserError, require_file
from warploom.ptx.simt import SWIZZLES, Argument, TensorMap
from warploom.tools.lint.launchable import Launchable
from warploom.tools.lint.numba_kernels import NumbaKernel, is_numba
from warploom.tools.lint.sources import Compilation, Source
from warploom.tools.ptx.specs import load_spec

_TYPES = {
    "float16": "fp16", "float32": "fp32", "float64": "fp64", "bool": "i1",
    **{f"{sign}int{bits}": f"{letter}{bits}" for sign, letter in (("", "i"), ("u", "u")) for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""Triton's names of NumPy's types."""
_WRAPPED = 8
"""Decorators around a kernel (autotune, heuristics) that are looked through."""
_DIVISIBLE = 16
"""Triton compiles pointers and numbers anew that are multiples of it, and so does this."""


class TritonKernel:
    """A function under `@triton.jit`."""

    def __init__(self, at: str, function: object = None) -> None:
        """`at`: `FILE.py:NAME`; the file is run where the function is not given. UserError: SPEC_NOT_FOUND, SPEC_FAILED,
        TOOL_MISSING, NO_KERNEL."""
        try:
            self._triton: Any = importlib.import_module("triton")
        except ImportError as error:
            message = f"expected the package triton for a kernel of a Python file, got: {error}"
            raise UserError(Diagnostic("TOOL_MISSING", message, fix="Install triton, or give the PTX of the kernel.")) from None
        found: Any = load_spec(at) if function is None else function
        for _ in range(_WRAPPED):
            if isinstance(found, self._triton.runtime.JITFunction):
                break
            found = getattr(found, "fn", None)
        else:
            file = at.rpartition(":")[0]
            message = f"expected a function under @triton.jit or Numba's @cuda.jit, got another one: {at}"
            fix = "Name a kernel of Triton or Numba; of other compilers give the PTX."
            raise UserError(Diagnostic("NO_KERNEL", message, Span(file, 1, 1, 1, 1), fix))
        self._function = found
        self.at = at
        self.name: str = found.__name__
        self.constants = [p.name for p in found.params if p.is_constexpr]
        self.arguments = [p.name for p in found.params if not p.is_constexpr]
        self._read: Source | None = None

    def launchable(
        self, values: Sequence[Argument], constants: Mapping[str, object], compilation: Compilation, threads: int,
        options: Mapping[str, object] | None = None,
    ) -> Launchable:  # fmt: skip
        """Compiled for arguments like these and blocks of so many threads. `constants`: of `tl.constexpr` parameters, and None
        for a parameter that has no argument. `options`: of the compiler, beside num_warps.

        UserError: LAUNCH_SHAPE, CONSTANT, TRITON_ERROR.
        """
        if threads < 1 or threads % 32 or threads & (threads - 1):
            message = f"expected blocks of 32 times num_warps (a power of two) threads for {self.name}, got {threads}"
            raise UserError(Diagnostic("LAUNCH_SHAPE", message))
        made = self._compiled(values, constants, compilation.arch, {"num_warps": threads // 32, **(options or {})})
        name, ptx = str(made.metadata.name), str(made.asm["ptx"])
        if self._read is None or self._read.ptx != ptx:
            self._read = Source(self.at, compilation, ptx)
        source = self._read
        given, positions = _flattened(values, getattr(made.metadata, "tensordesc_meta", None) or ())
        hidden = len(source.program.routines[name].parameters) - len(given)
        wanted = (int(made.metadata.global_scratch_size), int(made.metadata.profile_scratch_size))
        return Launchable(
            source, name, given, int(made.metadata.shared), positions,
            blocks_of_program=int(made.metadata.num_ctas), is_of_triton=True, scratch_bytes=(*wanted, *(0,) * hidden)[:hidden],
        )  # fmt: skip

    def _compiled(self, values: Sequence[Any], constants: Mapping[str, object], arch: str, options: Mapping[str, object]) -> Any:
        given = {name: self._default(name) for name in self.constants} | dict(constants)
        without = {name for name in self.arguments if name in given and given[name] is None}
        wrong = [n for n in given if n not in {*self.constants, *without}] + [n for n, v in given.items() if v is _MISSING]
        if wrong:
            names = ", ".join(self.constants) or "no parameter"
            message = f"expected a constant for each of {names}, got {', '.join(constants) or 'none'}"
            raise UserError(Diagnostic("CONSTANT", message, fix=f"Write --const {(self.constants or ['NAME'])[0]}=..."))
        present = [name for name in self.arguments if name not in without]
        types = dict(zip(present, map(_type, values), strict=True))
        order = [p.name for p in self._function.params]
        even = {
            (order.index(name),): [["tt.divisibility", _DIVISIBLE]]
            for name, value in zip(present, values, strict=True)
            if _is_divisible(value)
        }
        compiler = importlib.import_module("triton.compiler")
        number = int("".join(filter(str.isdigit, arch)))
        target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", number, 32)
        signature = {n: types.get(n, "constexpr") for n in order}
        fixed = {(order.index(n),): v for n, v in given.items()}
        said = io.StringIO()
        try:
            with warnings.catch_warnings(), contextlib.redirect_stderr(said):
                warnings.simplefilter("ignore")
                source = compiler.ASTSource(self._function, signature, fixed, even)
                return compiler.compile(source, target=target, options=dict(options))
        except Exception as error:  # whatever the compiler raises is about the user's kernel
            message = f"Triton refuses the kernel: {type(error).__name__}: {str(error).strip()[:2000]}"
            file = self.at.rpartition(":")[0]
            raise UserError(Diagnostic("TRITON_ERROR", message, Span(file, 1, 1, 1, 1))) from error

    def _default(self, name: str) -> object:
        parameter = next(p for p in self._function.params if p.name == name)
        return parameter.default if parameter.has_default else _MISSING


_MISSING = object()


def python_kernel(at: str, function: object = None) -> TritonKernel | NumbaKernel:
    """`at`: `FILE.py:NAME`; the file is run where the function is not given. UserError as of both."""
    if function is None:
        try:
            function = load_spec(at)
        except UserError:
            if importlib.util.find_spec("triton") is None and importlib.util.find_spec("numba") is None:
                return TritonKernel(at)  # which says what is missing
            raise
    return NumbaKernel(at, function) if is_numba(function) else TritonKernel(at, function)


def is_python_kernel(path: str) -> bool:
    """Whether it is `FILE.py:NAME`. UserError (NO_KERNEL, FILE_NOT_FOUND) for a Python file without a name."""
    if path.endswith(".py"):
        require_file(path)
        message = f"expected the name of a kernel after a colon, got {path}"
        raise UserError(Diagnostic("NO_KERNEL", message, Span(path, 1, 1, 1, 1), f"Write {path}:KERNEL."))
    file, colon, name = path.rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier() and not Path(path).exists()


def file_of(path: str) -> str:
    """The file of `FILE.cu` or `FILE.py:NAME`."""
    return path.rpartition(":")[0] if is_python_kernel(path) else path


def constant(text: str) -> tuple[str, object]:
    """`NAME=VALUE`: a number, True, False, None or a text. UserError (CONSTANT)."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UserError(Diagnostic("CONSTANT", f"expected NAME=VALUE for --const, got {text!r}"))
    words: dict[str, object] = {"True": True, "False": False, "None": None}
    if value in words:
        return name.strip(), words[value]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return name.strip(), kind(value)
    return name.strip(), value


def _flattened(values: Sequence[Argument], described: Sequence[Mapping[str, Any]]) -> tuple[list[Argument], tuple[int, ...]]:
    """Values as the compiled kernel takes them, each with the number of the user's argument that it is part of: a descriptor is a
    tensor map with the swizzle that Triton chose, extents, and strides in elements. No numbers where nothing was taken apart."""
    if not any(isinstance(value, TensorMap) for value in values):
        return list(values), ()
    found: list[tuple[Argument, int]] = []
    left = iter(described)
    for number, value in enumerate(values):
        if not isinstance(value, TensorMap):
            found.append((value, number))
            continue
        chosen = next(left)
        shape = tuple(value.shape if value.shape is not None else value.array.shape)
        size = value.array.dtype.itemsize
        apart = value.strides or [size * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        box = tuple(int(n) for n in chosen["block_size"])
        whole = replace(value, box=box, swizzle=SWIZZLES[int(chosen["swizzle"])])
        if chosen.get("fp4_padded"):
            whole = replace(whole, element="b4x16_p64", shape=(*shape[:-1], 2 * shape[-1]), strides=apart)
        parts = (whole, *map(np.int32, shape), *(np.int64(stride // size) for stride in apart))
        found += [(part, number) for part in parts]
    return [part for part, _ in found], tuple(number for _, number in found)


def _is_divisible(value: Any) -> bool:
    if isinstance(value, TensorMap):
        return False
    if isinstance(value, np.ndarray):
        array: NDArray[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return int(array.__array_interface__["data"][0]) % _DIVISIBLE == 0
    return np.asarray(value).dtype.kind in "iu" and int(value) % _DIVISIBLE == 0


def _type(value: Any) -> str:
    if isinstance(value, TensorMap):
        name = value.element if value.element in ("bf16", "tf32") else _TYPES.get(value.array.dtype.name, "")
        return f"tensordesc<{name}[{','.join(map(str, value.box))}]>"
    dtype = np.asarray(value).dtype
    name = _TYPES.get(dtype.name)
    if name is None:
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", f"expected a type that Triton has, got {dtype.name}"))
    return f"*{name}" if isinstance(value, np.ndarray) else name
