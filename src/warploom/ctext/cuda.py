"""Text that every CUDA kernel has in the same words: headers, launch bounds, shared arrays, barriers, shuffles, masks of
lanes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warploom.core import DType
from warploom.ctext.types import cuda_type

BARRIER = "__syncthreads();"
COPY, COMMIT_COPIES, WAIT_FOR_COPIES = "__pipeline_memcpy_async", "__pipeline_commit", "__pipeline_wait_prior"
"""Functions of `COPY_HEADER`: asynchronous copies to shared memory, which it makes plain ones below sm_80."""
COPY_HEADER = "cuda_pipeline_primitives.h"
VOTES = {
    "ballot": "__ballot_sync",
    "any": "__any_sync",
    "all": "__all_sync",
    "match_any": "__match_any_sync",
    "match_all": "__match_all_sync",
}
SHUFFLES = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "xor": "__shfl_xor_sync"}
"""Intrinsics, by how the lane is found that a lane reads from."""
_WARP = 32
_HEADERS = {"f16": "cuda_fp16.h", "bf16": "cuda_bf16.h", "e4m3": "cuda_fp8.h", "e5m2": "cuda_fp8.h"}


def includes(dtypes: Iterable[DType]) -> list[str]:
    """Directives for the element types that CUDA C++ does not know by itself."""
    names = {d.name for d in dtypes}
    return [f"#include <{header}>" for header in dict.fromkeys(h for name, h in _HEADERS.items() if name in names)]


def kernel_head(threads: int, *, blocks_together: int | None = None, most_registers: int | None = None) -> str:
    """The text before the name of a kernel. The kernel has C's linkage and is never launched with more threads per block.
    blocks_together: that one multiprocessor must have room for; None: the compiler weighs registers against blocks."""
    if most_registers is not None:
        limit = f"__maxnreg__({most_registers})"
    else:
        limit = f"__launch_bounds__({threads}{f', {blocks_together}' if blocks_together else ''})"
    return f'extern "C" __global__ void {limit}'


def array_declaration(dtype: DType, name: str, extents: Sequence[int], *, is_shared: bool = False, alignment: int = 0) -> str:
    """`__shared__ __align__(16) float tile[8][32];`; alignment: bytes, where that is more than the type has."""
    shared = "__shared__ " if is_shared else ""
    aligned = f"__align__({alignment}) " if alignment > dtype.size_bytes else ""
    return f"{shared}{aligned}{cuda_type(dtype)} {name}{''.join(f'[{n}]' for n in extents)};"


def rest_of_warps(threads: int) -> tuple[int, int]:
    """(threads in full warps, mask of the lanes of the last warp where it is not full, else 0)."""
    full = threads - threads % _WARP
    return full, (1 << threads % _WARP) - 1
