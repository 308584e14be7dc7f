"""CUDA kernels of a program as JSON: their text and how they are launched; compiled where they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from warploom.core import BY_NAME
from warploom.core.launch import MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID
from warploom.gpu import is_architecture
from warploom.schedule.backbone import MOST_BESIDE_SIZE, Program, Region, Role, RunTimeSize
from warploom.schedule.calls.packed import is_count, packed_trips, read_trips, sizes_known_at_run_time
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.nest import Buffer, Trips, buffer_of
from warploom.solve import Json

_ROLES = {role.value: role for role in Role}
_AXES = 3


def pack_cuda(kernels: Sequence[CudaKernel]) -> list[Json]:
    """Sizes known at run time have the values for which the kernels are described."""
    return [
        {
            "name": kernel.name,
            "cuda": kernel.text,
            "grid": list(kernel.grid),
            "block": list(kernel.block),
            "arrays": [_packed(buffer) for buffer in kernel.arrays],
            **({"open_arrays": lengths} if (lengths := _packed_lengths(kernel)) else {}),
            "block_arrays": [_packed(buffer) for buffer in kernel.block_arrays],
            "parameters": [parameter.name for parameter in kernel.parameters],
            "static_shared_bytes": kernel.static_shared_bytes,
            "dynamic_shared_bytes": kernel.dynamic_shared_bytes,
            "arch": kernel.arch,
            "contract": kernel.options.contract,
            **({"run_time": _packed_sizes(kernel), "open_grid": _packed_grid(kernel)} if kernel.run_time else {}),
        }
        for kernel in kernels
    ]


def _packed(buffer: Buffer) -> Json:
    return [buffer.name, buffer.dtype.name, buffer.elements, buffer.role.value, buffer.copies]


def _packed_lengths(kernel: CudaKernel) -> dict[str, Json]:
    """By array its first length, where that is known at run time, then such other ones: of arrays between kernels nothing else
    says them."""

    def one(length: RunTimeSize | None) -> Json:
        return None if length is None else [length.name, length.more]

    return {b.name: [one(b.run_time), *map(one, b.inner)] for b in kernel.arrays if b.open_sizes}


def _packed_sizes(kernel: CudaKernel) -> Json:
    return {size.name: value for size, value in kernel.run_time}


def _packed_grid(kernel: CudaKernel) -> Json:
    return [None if trips is None else packed_trips(trips) for trips in kernel.open_grid]


def unpack_cuda(program: Program, packed: Json) -> list[CudaKernel] | None:
    """None for what `pack_cuda` did not make of kernels of this program."""
    if not isinstance(packed, list) or not packed:
        return None
    scalars = {p.name: p for p in program.parameters}
    regions = {r.name: r for r in program.arguments}
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
        lengths = _read_lengths(program, item.get("open_arrays", {}))
        if lengths is None:
            return None
        buffers = [_buffer(a, regions, lengths) for a in arrays]
        temporaries = [_buffer(a, {}, {}) for a in block_arrays]
        extents = cast("list[int]", grid), cast("list[int]", block)
        if not (is_count(static) and is_count(dynamic)) or not _is_launch(*extents):
            return None
        if any(b is None for b in (*buffers, *temporaries)):
            return None
        opened = _read_sizes(program, item.get("run_time", {}))
        open_grid = None if opened is None else _read_grid(item.get("open_grid", [None] * 3), [size for size, _ in opened])
        if opened is None or open_grid is None:
            return None
        kernel = CudaKernel(
            name=name,
            text=text,
            grid=cast("tuple[int, int, int]", tuple(extents[0])),
            block=cast("tuple[int, int, int]", tuple(extents[1])),
            arrays=tuple(b for b in buffers if b is not None),
            block_arrays=tuple(b for b in temporaries if b is not None),
            parameters=tuple(scalars[str(p)] for p in parameters),
            static_shared_bytes=cast(int, static),
            dynamic_shared_bytes=cast(int, dynamic),
            options=Options(arch=arch.removesuffix("a"), contract=contract),
            has_groups=arch.endswith("a"),
            run_time=opened,
            open_grid=open_grid,
        )
        if not _fits(kernel, program):
            return None
        found.append(kernel)
    return found


def _read_lengths(program: Program, packed: Json) -> dict[str, tuple[RunTimeSize | None, ...]] | None:
    """By array what `_packed_lengths` made; None for what it did not."""
    known = sizes_known_at_run_time(program)
    found: dict[str, tuple[RunTimeSize | None, ...]] = {}
    for name, lengths in packed.items() if isinstance(packed, dict) else [("", None)]:
        own: list[RunTimeSize | None] = []
        for length in lengths if isinstance(lengths, list) and lengths else [()]:
            match length:
                case None:
                    own.append(None)
                case [str(size), int(more)] if size in known and abs(more) <= MOST_BESIDE_SIZE:
                    own.append(replace(known[size], more=more))
                case _:
                    return None
        found[name] = tuple(own)
    return found


def _read_sizes(program: Program, packed: Json) -> tuple[tuple[RunTimeSize, int], ...] | None:
    """Sizes known at run time with their values; None for what `_packed_sizes` did not make of this program's."""
    known = sizes_known_at_run_time(program)
    if not isinstance(packed, dict) or not packed.keys() <= known.keys():
        return None
    if not all(is_count(n) and n for n in packed.values()):
        return None
    return tuple((known[name], value) for name, value in cast("dict[str, int]", packed).items())


def _read_grid(packed: Json, sizes: Sequence[RunTimeSize]) -> tuple[Trips | None, ...] | None:
    """None for what `_packed_grid` did not make of blocks over these sizes."""
    known = {size.name: size for size in sizes}
    if not isinstance(packed, list) or len(packed) != _AXES:
        return None
    found = [None if item is None else read_trips(item, known) for item in packed]
    if any(item is not None and trips is None for item, trips in zip(packed, found, strict=True)):
        return None
    return tuple(found)


def _fits(kernel: CudaKernel, program: Program) -> bool:
    """Whether the arrays are the program's, at its values of sizes known at run time, and the grid is that of its own values."""
    own = {size.name: value for size, value in kernel.run_time}
    values = {length.name: r.shape[at] - length.more for r in program.arguments for at, length in r.open_lengths}
    regions = {r.name: r for r in program.arguments}
    if any(size.name not in own for b in kernel.arrays for size in b.open_sizes) or kernel.at(own) != kernel:
        return False
    named = [(regions[b.name], b) for b in kernel.at(values).arrays if b.name in regions]
    return all((region.elements, region.dtype) == (b.elements, b.dtype) for region, b in named)


def _buffer(packed: Json, regions: Mapping[str, Region], lengths: Mapping[str, tuple[RunTimeSize | None, ...]]) -> Buffer | None:
    match packed:
        case [str(name), str(dtype), int(elements), str(role), int(copies)] if (
            dtype in BY_NAME and role in _ROLES and is_count(elements) and is_count(copies) and elements * copies
        ):
            found = Buffer(name, BY_NAME[dtype], elements, _ROLES[role], copies=copies)
            if name in regions:
                like = buffer_of(regions[name])
                return replace(found, run_time=like.run_time, inner=like.inner)
            first, *inner = lengths.get(name, (None,))
            return replace(found, run_time=first, inner=tuple(length for length in inner if length is not None))
        case _:
            return None


def _is_launch(grid: Sequence[int], block: Sequence[int]) -> bool:
    return (
        all(is_count(n) and 1 <= n <= most for n, most in zip((*grid, *block), (*MAX_GRID, *MAX_BLOCK), strict=True))
        and prod(block) <= MAX_BLOCK_THREADS
    )
