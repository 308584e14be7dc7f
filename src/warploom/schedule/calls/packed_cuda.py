"""CUDA kernels of a program as JSON: their text and how they are launched; compiled where they are called."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from warploom.core import BY_NAME
from warploom.core.launch import MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID
from warploom.gpu import is_architecture
from warploom.schedule.backbone import Program, Role
from warploom.schedule.calls.packed import is_count
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.nest import Buffer
from warploom.solve import Json

_ROLES = {role.value: role for role in Role}


def pack_cuda(kernels: Sequence[CudaKernel]) -> list[Json]:
    """The kernels must be without sizes known at run time."""
    return [
        {
            "name": kernel.name,
            "cuda": kernel.text,
            "grid": list(kernel.grid),
            "block": list(kernel.block),
            "arrays": [_packed(buffer) for buffer in kernel.arrays],
            "block_arrays": [_packed(buffer) for buffer in kernel.block_arrays],
            "parameters": [parameter.name for parameter in kernel.parameters],
            "static_shared_bytes": kernel.static_shared_bytes,
            "dynamic_shared_bytes": kernel.dynamic_shared_bytes,
            "arch": kernel.options.arch,
            "contract": kernel.options.contract,
        }
        for kernel in kernels
    ]


def _packed(buffer: Buffer) -> Json:
    return [buffer.name, buffer.dtype.name, buffer.elements, buffer.role.value, buffer.copies]


def unpack_cuda(program: Program, packed: Json) -> list[CudaKernel] | None:
    """None for what `pack_cuda` did not make of kernels of this program."""
    if not isinstance(packed, list) or not packed:
        return None
    scalars = {p.name: p for p in program.parameters}
    sizes = {r.name: r for r in program.arguments}
    found: list[CudaKernel] = []
    for item in packed:
        match item:
            case {
                "name": str(name),
                "cuda": str(text),
                "grid": [int(), int(), int()] as grid,
                "block": [int(), int(), int()] as block,
                "arrays": list(arrays),
                "block_arrays": list(block_arrays),
                "parameters": list(parameters),
                "static_shared_bytes": static,
                "dynamic_shared_bytes": dynamic,
                "arch": str(arch),
                "contract": bool(contract),
            } if set(map(str, parameters)) <= scalars.keys() and is_architecture(arch):
                pass
            case _:
                return None
        buffers, temporaries = [_buffer(a) for a in arrays], [_buffer(a) for a in block_arrays]
        extents = cast("list[int]", grid), cast("list[int]", block)
        if not (is_count(static) and is_count(dynamic)) or not _is_launch(*extents):
            return None
        if any(b is None for b in (*buffers, *temporaries)):
            return None
        known = [b for b in buffers if b is not None]
        if any(b.name in sizes and (sizes[b.name].elements, sizes[b.name].dtype) != (b.elements, b.dtype) for b in known):
            return None
        found.append(
            CudaKernel(
                name=name,
                text=text,
                grid=cast("tuple[int, int, int]", tuple(extents[0])),
                block=cast("tuple[int, int, int]", tuple(extents[1])),
                arrays=tuple(known),
                block_arrays=tuple(b for b in temporaries if b is not None),
                parameters=tuple(scalars[str(p)] for p in parameters),
                static_shared_bytes=cast(int, static),
                dynamic_shared_bytes=cast(int, dynamic),
                options=Options(arch=arch, contract=contract),
            )
        )
    return found


def _buffer(packed: Json) -> Buffer | None:
    match packed:
        case [str(name), str(dtype), int(elements), str(role), int(copies)] if (
            dtype in BY_NAME and role in _ROLES and is_count(elements) and is_count(copies) and elements * copies
        ):
            return Buffer(name, BY_NAME[dtype], elements, _ROLES[role], copies=copies)
        case _:
            return None


def _is_launch(grid: Sequence[int], block: Sequence[int]) -> bool:
    return (
        all(is_count(n) and 1 <= n <= most for n, most in zip((*grid, *block), (*MAX_GRID, *MAX_BLOCK), strict=True))
        and prod(block) <= MAX_BLOCK_THREADS
    )
