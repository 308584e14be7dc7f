"""Kernels of CuPy (`cupy.RawKernel`): a text in CUDA C++ with a name and options of the compiler."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from warploom.core import Diagnostic, UserError
from warploom.gpu import compile_to_ptx
from warploom.tools.lint.sources import Compilation, Source


def is_raw_kernel(source: object) -> bool:
    kind = type(source)
    return kind.__name__ == "RawKernel" and kind.__module__.split(".")[0] == "cupy"


def raw_source(kernel: Any, compilation: Compilation) -> Source:
    """Compiled by NVRTC with the options that the kernel has. UserError: CUDA_ERROR, NO_KERNEL without a text."""
    code: object = kernel.code
    if not isinstance(code, str):
        message = f"expected a RawKernel with its text (code), got {code!r}"
        raise UserError(Diagnostic("NO_KERNEL", message, fix="Give the path of its file, and kernel=NAME."))
    folders = [f"-I{folder}" for folder in compilation.folders]
    defines = [f"-D{define}" for define in compilation.defines]
    return _compiled(code, compilation, (*kernel.options, *folders, *defines))


@lru_cache(maxsize=16)
def _compiled(code: str, compilation: Compilation, options: tuple[str, ...]) -> Source:
    name = "<RawKernel>"
    return Source(name, compilation, compile_to_ptx(code, compilation.arch, name=name, options=("-lineinfo", *options)))
