"""The host function that launches a printed kernel; text inside `#ifndef __CUDACC_RTC__`, which NVRTC does not see."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.core.intervals import Interval
from warploom.ctext import Names
from warploom.gpu.helpers import Helpers
from warploom.gpu.index_code import IndexCode
from warploom.ir import Builtin, IndexBinary, IndexConst, IndexExpr, Kernel, SizeVar, aligned_params, index_range, simplify


def launch_helper(
    kernel: Kernel,
    launch_name: str,
    kernel_name: str,
    params: Sequence[str],
    names: Names,
    helpers: Helpers,
    growing: dict[IndexExpr, None],
) -> str:
    """`inline cudaError_t launch_NAME(arrays..., sizes..., cudaStream_t)`: computes the grid, launches, returns the error.

    growing: receives the printed expressions that have no bound without a size, as in `IndexCode`.
    """
    ranges: dict[IndexExpr, Interval] = {SizeVar(n): Interval(0, float("inf")) for n in kernel.sizes}
    code = IndexCode(names, ranges, helpers, _no_builtin, on_host=True, growing=growing)
    extents = [simplify(_natural(e, ranges), ranges, bitwise=False) for e in kernel.grid]
    grid = [code.text(e).text for e in extents]
    stream, grid_name, block_name = names.fresh("stream"), names.fresh("grid_size"), names.fresh("block_size")
    arguments = ", ".join([*(names(p.name) for p in kernel.params), *(names(n) for n in kernel.sizes)])
    declared = [*params, *(f"int {names(n)}" for n in kernel.sizes), f"cudaStream_t {stream} = nullptr"]
    block = ", ".join(str(n) for n in kernel.block)
    checks = [f"reinterpret_cast<size_t>({names(name)}) % {size} != 0" for name, size in aligned_params(kernel).items()]
    open_axes = [axis for axis, extent in zip("xyz", extents, strict=True) if not isinstance(extent, IndexConst)]
    empty = " || ".join(f"{grid_name}.{axis} == 0" for axis in open_axes)
    lines = [
        "#ifndef __CUDACC_RTC__",
        "#include <cuda_runtime.h>",
        "",
        f"inline cudaError_t {launch_name}(",
        f"    {', '.join(declared)}) {{",
        *([f"  if ({' || '.join(checks)}) {{", "    return cudaErrorMisalignedAddress;", "  }"] if checks else []),
        f"  const dim3 {block_name}({block});",
        f"  const dim3 {grid_name}({', '.join(grid)});",
        *([f"  if ({empty}) {{", "    return cudaSuccess;  // nothing to do", "  }"] if empty else []),
        f"  {kernel_name}<<<{grid_name}, {block_name}, 0, {stream}>>>({arguments});",
        "  return cudaGetLastError();",
        "}",
        "#endif",
    ]
    return "\n".join(lines)


def _natural(extent: IndexExpr, ranges: dict[IndexExpr, Interval]) -> IndexExpr:
    """No blocks where the extent is negative: `dim3` would take it for a huge number."""
    return extent if index_range(extent, ranges).low >= 0 else IndexBinary("max", extent, IndexConst(0))


def _no_builtin(builtin: Builtin) -> str:
    raise AssertionError(f"a grid size cannot depend on {builtin}")
