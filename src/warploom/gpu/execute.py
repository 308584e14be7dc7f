"""Running a completed kernel on a device by the names of its arrays and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from warploom.core import Diagnostic, UserError, bf16_values, bf16_words
from warploom.gpu.cuda import CudaSource
from warploom.gpu.device import Timing, launch, time_kernel
from warploom.gpu.merged import merged_accesses
from warploom.gpu.toolchain import Compiled
from warploom.ir import IndexExpr, Kernel, SizeVar, tabulate
from warploom.ptx import Counts
from warploom.ptx import launch as launch_ptx


def run_kernel(
    kernel: Kernel, source: CudaSource, compiled: Compiled, arrays: Mapping[str, Any], sizes: Mapping[str, int] | None = None
) -> None:
    """Runs the printed and compiled kernel once; `arrays` by parameter name, outputs included, are changed in place.

    NumPy arrays of bf16 parameters hold float32, as in the interpreter; device arrays hold the real type.
    UserError: ARRAY_MISSING, SHAPE_MISMATCH, and those of `launch`.
    """
    sizes = dict(sizes or {})
    given = [_converted(kernel, name, arrays, sizes) for name in (p.name for p in kernel.params)]
    launch(compiled, source.name, grid_of(kernel, sizes), kernel.block, given, [sizes[n] for n in kernel.sizes])
    for param, array in zip(kernel.params, given, strict=True):
        original = arrays[param.name]
        if array is not original and param.is_output:
            original[...] = bf16_values(array)


def time_on_device(
    kernel: Kernel,
    source: CudaSource,
    compiled: Compiled,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
    *,
    repeats: int = 20,
) -> Timing:
    """Times launches of the kernel (see `time_kernel`); the contents of outputs are not brought back for bf16."""
    sizes = dict(sizes or {})
    given = [_converted(kernel, name, arrays, sizes) for name in (p.name for p in kernel.params)]
    grid = grid_of(kernel, sizes)
    return time_kernel(compiled, source.name, grid, kernel.block, given, [sizes[n] for n in kernel.sizes], repeats=repeats)


@dataclass(frozen=True, slots=True)
class Executed:
    """Traffic of a launch of the compiled kernel."""

    counts: Counts
    counted: Literal["sass", "interpreter"]
    """sass: shared accesses have the widths of the machine's instructions. interpreter: those of the PTX, since the SASS does not
    tell (`merged_accesses`)."""
    arrays: Mapping[str, Any]
    """Contents afterwards, by parameter."""


def count_executed(
    kernel: Kernel, source: CudaSource, compiled: Compiled, arrays: Mapping[str, Any], sizes: Mapping[str, int] | None = None
) -> Executed:
    """Runs the compiled kernel on the PTX interpreter and counts; needs no device. UserError: those of `run_kernel`."""
    sizes = dict(sizes or {})
    given = [_converted(kernel, name, arrays, sizes) for name in (p.name for p in kernel.params)]
    merged = merged_accesses(compiled.ptx, compiled.arch)
    arguments = [*given, *(sizes[n] for n in kernel.sizes)]
    done = launch_ptx(
        compiled.ptx, source.name, grid=grid_of(kernel, sizes), block=kernel.block, args=arguments, counts=True, merged=merged,
        checks=False,
    )  # fmt: skip
    if done.counts is None or done.status != "finished":
        raise RuntimeError(f"expected {source.name} to run to its end, got {done.status}: {done.findings[:1]}")
    contents = {p.name: done.arrays[n] for n, p in enumerate(kernel.params) if n in done.arrays}
    return Executed(done.counts, "interpreter" if merged is None else "sass", contents)


def grid_of(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[int, int, int]:
    """Blocks in x, y, z at the given sizes."""
    x, y, z = (max(0, _number(g, sizes)) for g in kernel.grid)
    return x, y, z


def _number(expr: IndexExpr, sizes: Mapping[str, int]) -> int:
    return int(tabulate(expr, {SizeVar(n): v for n, v in sizes.items()}))


def _converted(kernel: Kernel, name: str, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    param = next(p for p in kernel.params if p.name == name)
    if name not in arrays:
        raise UserError(Diagnostic("ARRAY_MISSING", f"expected an array for {name}, got none", param.span))
    array = arrays[name]
    lanes = (param.dtype.lanes,) if param.dtype.lanes > 1 else ()
    shape = tuple(_number(e, sizes) for e in param.shape) + lanes
    if tuple(array.shape) != shape:
        raise UserError(Diagnostic("SHAPE_MISMATCH", f"expected {name} of shape {shape}, got {tuple(array.shape)}", param.span))
    if param.dtype.name == "bf16" and isinstance(array, np.ndarray):
        return bf16_words(np.asarray(array, np.float32))
    return array
