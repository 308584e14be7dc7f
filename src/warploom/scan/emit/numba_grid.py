"""Numba kernels for whole arrays (`grid_launches`)."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.scan.emit.body import Body
from warploom.scan.emit.dialect import NUMBA
from warploom.scan.emit.grid_launches import launches, names

_SIZES = {"THREADS": 256}
_EMPTY = ("import numpy", "", "return cuda.device_array(_count, numpy.dtype(_kind))")


def identity_of(ready: Body) -> str:
    """A tuple of the identity's fields."""
    fields = zip(ready.fields, ready.identity(), strict=True)
    return f"({', '.join(f'{NUMBA.types[s.scalar]}({text})' for s, text in fields)},)"


def shared_arrays(ready: Body) -> list[str]:
    return [f"s_{s.name} = cuda.shared.array(1024, {NUMBA.types[s.scalar]})" for s in ready.fields]


def scanned_block(ready: Body) -> list[str]:
    """`v` of every thread `t` becomes that of all threads of its block up to it (Kogge-Stone)."""
    loads = ", ".join(f"s_{s.name}[t - d]" for s in ready.fields)
    return [
        "d = 1",
        "while d < cuda.blockDim.x:",
        *(f"    s_{s.name}[t] = v[{k}]" for k, s in enumerate(ready.fields)),
        "    cuda.syncthreads()",
        "    if t >= d:",
        f"        v = combine(({loads},), v)",
        "    cuda.syncthreads()",
        "    d *= 2",
    ]


def lifted_block(ready: Body) -> list[str]:
    """Shared arrays, `i`, `t` and the scanned `v` of the block's elements."""
    given = [*(f"{s.name}[i]" for s in ready.elements), *names(ready.constants)]
    return [
        *shared_arrays(ready),
        "i = cuda.grid(1)",
        "t = cuda.threadIdx.x",
        f"v = {identity_of(ready)}",
        "if i < n:",
        f"    v = lift({', '.join(given)})",
        *scanned_block(ready),
    ]


def projected(ready: Body, condition: str, place: str) -> list[str]:
    """The results of `v` stored at a place where something holds."""
    more = "".join(f", {c}" for c in names(ready.constants))
    stores = [f"    {s.name}_out[{place}] = result[{k}]" for k, s in enumerate(ready.outputs)]
    return [f"if {condition}:", f"    result = project(v{more})", *stores]


def kernel(name: str, arguments: Sequence[str], body: Sequence[str]) -> list[str]:
    return ["", "", "@cuda.jit", f"def {name}({', '.join(arguments)}):", *(f"    {line}" for line in body)]


def grid_source(ready: Body) -> list[str]:
    """Kernels, and the functions `scan_array(elements..., constants..., THREADS)` and `reduce_array(...)` on arrays of Numba."""
    elements, constants, outputs = names(ready.elements), names(ready.constants), names(ready.outputs, "{}_out")
    totals, through = names(ready.fields, "u_{}"), names(ready.fields, "v_{}")

    def stored(arrays: Sequence[str], condition: str, place: str) -> list[str]:
        return [f"if {condition}:", *(f"    {array}[{place}] = v[{k}]" for k, array in enumerate(arrays))]

    def loaded(arrays: Sequence[str], place: str) -> str:
        return f"({', '.join(f'{array}[{place}]' for array in arrays)},)"

    shared = names(ready.fields, "s_{}")
    return [
        *kernel(
            "reduce_blocks", [*elements, *totals, "n", *constants],
            [*lifted_block(ready), *stored(totals, "t == cuda.blockDim.x - 1", "cuda.blockIdx.x")],
        ),
        *kernel(
            "scan_totals", [*totals, *through, "n"],
            [
                *shared_arrays(ready), "t = cuda.threadIdx.x", f"_before = {identity_of(ready)}", "_start = 0",
                "while _start < n:", "    i = _start + t", f"    v = {identity_of(ready)}", "    if i < n:",
                f"        v = {loaded(totals, 'i')}", *(f"    {line}" for line in scanned_block(ready)),
                "    v = combine(_before, v)", *(f"    {line}" for line in stored(through, "i < n", "i")),
                *(f"    {array}[t] = v[{k}]" for k, array in enumerate(shared)), "    cuda.syncthreads()",
                f"    _before = {loaded(shared, 'cuda.blockDim.x - 1')}", "    cuda.syncthreads()",
                "    _start += cuda.blockDim.x",
            ],
        ),
        *kernel(
            "scan_apply", [*elements, *through, *outputs, "n", *constants],
            [
                *lifted_block(ready), "if cuda.blockIdx.x > 0:", f"    v = combine({loaded(through, 'cuda.blockIdx.x - 1')}, v)",
                *projected(ready, "i < n", "i"),
            ],
        ),
        *kernel(
            "reduce_result", [*through, *outputs, "n", *constants],
            [
                f"v = {identity_of(ready)}", "if n > 0:", f"    v = {loaded(through, 'n - 1')}",
                *projected(ready, "cuda.grid(1) == 0", "0"),
            ],
        ),
        "",
        "",
        *launches(ready, _SIZES, "_empty(", _EMPTY, _launched),
    ]  # fmt: skip


def _launched(kernel: str, blocks: str, arguments: Sequence[str]) -> str:
    return f"{kernel}[{blocks}, {'1' if kernel == 'reduce_result' else 'THREADS'}]({', '.join(arguments)})"
