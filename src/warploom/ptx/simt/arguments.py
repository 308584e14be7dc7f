"""Kernel arguments: arrays get addresses, scalars the bytes of their parameter (PTX ISA 5.1.6, 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import NOWHERE, Diagnostic, UserError
from warploom.ptx.routine import TYPE_BITS, Routine, Variable
from warploom.ptx.simt.images import Image, Surface, Texture
from warploom.ptx.simt.regions import Region
from warploom.ptx.simt.state import LaunchState
from warploom.ptx.simt.tensor_maps import MAP_BYTES, TensorMap

Number: TypeAlias = "NDArray[Any] | np.generic | int | float | bool | bytes"
"""An argument that stands in the parameter itself; arrays without axes are numbers, too."""
Argument: TypeAlias = "Number | Texture | Surface | TensorMap"


@dataclass(frozen=True, slots=True)
class Bound:
    """An array among the arguments."""

    index: int
    array: NDArray[Any]
    region: Region
    offset: int
    """Offset of its first byte in the region: arrays that overlap share one."""

    def contents(self) -> NDArray[Any]:
        """The array's elements now, as a new array of the same shape and type."""
        raw = self.region.views.bytes[self.offset : self.offset + self.array.nbytes].copy()
        return raw.view(self.array.dtype).reshape(self.array.shape)


def bind_arguments(state: LaunchState, kernel: Routine, args: Sequence[Argument]) -> list[Bound]:
    """Places the arrays and fills the parameter block; UserError (LAUNCH_ARGUMENTS) where they do not fit."""
    if len(args) != len(kernel.parameters):
        message = f"expected {len(kernel.parameters)} arguments for {kernel.name}, got {len(args)}"
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, kernel.span(0) if kernel.instructions else NOWHERE))
    offsets: dict[str, int] = {}
    size = 0
    for parameter in kernel.parameters:
        align = max(parameter.align, 1)
        size = (size + align - 1) // align * align
        offsets[parameter.name] = size
        size += parameter.size_bytes
    block = bytearray(max(size, 1))
    region = state.regions.add("kernel parameters", len(block), is_writable=False)
    arrays: dict[int, NDArray[Any]] = {}
    images: dict[int, Image] = {}
    for index, (parameter, argument) in enumerate(zip(kernel.parameters, args, strict=True)):
        if isinstance(argument, Texture | Surface):
            if not _is_pointer(state, parameter) or parameter.size_bytes != 8:
                raise _wrong(index, parameter, "a texture or a surface")
            images[index] = _image(state, index, argument)
        elif isinstance(argument, TensorMap):
            if parameter.size_bytes != MAP_BYTES and not (_is_pointer(state, parameter) and parameter.size_bytes == 8):
                raise _wrong(index, parameter, "a tensor map")
            arrays[index] = argument.array
        elif isinstance(argument, np.ndarray) and (argument.ndim or _is_pointer(state, parameter)):
            if not _is_pointer(state, parameter) or argument.dtype.hasobject:
                raise _wrong(index, parameter, f"an array of {argument.dtype}")
            arrays[index] = argument
    bound = _placed(state, arrays)
    for index, (parameter, argument) in enumerate(zip(kernel.parameters, args, strict=True)):
        offset = offsets[parameter.name]
        if isinstance(argument, Texture | Surface):
            data = images[index].handle.to_bytes(8, "little")
        elif isinstance(argument, TensorMap):
            data = argument.encoded(bound[index].region.base + bound[index].offset)
            if parameter.size_bytes != MAP_BYTES:
                kept = state.regions.add(f"argument {index} (a tensor map)", MAP_BYTES)
                kept.views.bytes[:MAP_BYTES] = np.frombuffer(data, np.uint8)
                data = kept.base.to_bytes(8, "little")
        elif index in bound:
            data = (bound[index].region.base + bound[index].offset).to_bytes(parameter.size_bytes, "little")
        else:
            data = _scalar(index, parameter, argument)
        block[offset : offset + len(data)] = data
    region.views.bytes[: len(block)] = np.frombuffer(bytes(block), np.uint8)
    state.parameters = region
    state.parameter_offsets = offsets
    surfaces = [Bound(i, image.array, image.region, 0) for i, image in images.items() if image.region is not None]
    return [*bound.values(), *surfaces]


def _image(state: LaunchState, index: int, argument: Texture | Surface) -> Image:
    """The texture or surface with a handle: an address at which nothing lies."""
    is_texture = isinstance(argument, Texture)
    name = f"argument {index} (a {'texture' if is_texture else 'surface'})"
    region = None
    if not is_texture:
        region = state.regions.add(name, argument.array.nbytes)
        region.views.bytes[: region.size] = np.ascontiguousarray(argument.array).reshape(-1).view(np.uint8)
    image = Image(state.regions.add(name, 0).base, name, argument.array, argument if is_texture else None, region)
    state.images[image.handle] = image
    return image


def _is_pointer(state: LaunchState, parameter: Variable) -> bool:
    return not parameter.dimensions and parameter.type[0] in "ubs" and parameter.size_bytes == state.address_bytes


def _placed(state: LaunchState, arrays: dict[int, NDArray[Any]]) -> dict[int, Bound]:
    """A region for every array; contiguous arrays that overlap in the caller's memory do so here, too."""
    found: dict[int, Bound] = {}
    for indices in _overlapping(arrays):
        starts = {index: _bounds(arrays[index])[0] for index in indices}
        first = min(starts.values())
        size = max(starts[index] + arrays[index].nbytes for index in indices) - first
        name = f"argument {indices[0]}" if len(indices) == 1 else f"arguments {', '.join(map(str, indices))}"
        region = state.regions.add(name, size)
        for index in indices:
            offset = starts[index] - first
            flat = np.ascontiguousarray(arrays[index]).reshape(-1)
            region.views.bytes[offset : offset + flat.nbytes] = flat.view(np.uint8)
            found[index] = Bound(index, arrays[index], region, offset)
    return {index: found[index] for index in arrays}


def _overlapping(arrays: dict[int, NDArray[Any]]) -> list[list[int]]:
    """Indices of arrays that lie in one piece of memory, in order of the first of each."""
    groups: list[tuple[int, int, list[int]]] = []
    alone: list[list[int]] = []
    for index, array in arrays.items():
        if not array.flags.c_contiguous or array.nbytes == 0:
            alone.append([index])
            continue
        start, end = _bounds(array)
        members = [index]
        for group in [g for g in groups if g[0] < end and start < g[1]]:
            groups.remove(group)
            start, end, members = min(start, group[0]), max(end, group[1]), members + group[2]
        groups.append((start, end, sorted(members)))
    return sorted([*alone, *(members for _, _, members in groups)])


def _bounds(array: NDArray[Any]) -> tuple[int, int]:
    start = int(array.__array_interface__["data"][0])
    return start, start + array.nbytes


def _scalar(index: int, parameter: Variable, argument: Number) -> bytes:
    size = parameter.size_bytes
    if isinstance(argument, bytes | bytearray):
        if len(argument) != size:
            raise _wrong(index, parameter, f"{len(argument)} bytes")
        return bytes(argument)
    if isinstance(argument, np.generic | np.ndarray):
        if argument.dtype.itemsize == size and argument.dtype.kind in "iufbV":
            if parameter.type in ("f32", "f64") and argument.dtype.kind in "iu":
                return _number(index, parameter, float(argument))
            if parameter.type[0] in "us" and argument.dtype.kind == "f":
                raise _wrong(index, parameter, f"a {argument.dtype}")
            return argument.tobytes()
        if argument.dtype.kind not in "iufb" or parameter.dimensions:
            raise _wrong(index, parameter, f"a {argument.dtype}")
        return _number(index, parameter, argument.item())
    return _number(index, parameter, argument)


def _number(index: int, parameter: Variable, value: float) -> bytes:
    size = parameter.size_bytes
    if parameter.dimensions or TYPE_BITS.get(parameter.type, 0) not in (8, 16, 32, 64):
        raise _wrong(index, parameter, f"the number {value}")
    if parameter.type in ("f16", "f32", "f64"):
        return np.array(value, f"f{size}").tobytes()
    if isinstance(value, float):
        if not value.is_integer() and parameter.type.startswith("b") and size in (4, 8):
            return np.array(value, f"f{size}").tobytes()
        if not value.is_integer():
            raise _wrong(index, parameter, f"the number {value}")
        value = int(value)
    if not -(1 << (8 * size - 1)) <= value < 1 << 8 * size:
        raise _wrong(index, parameter, f"the number {value}")
    return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _wrong(index: int, parameter: Variable, got: str) -> UserError:
    dimensions = "".join(f"[{d}]" for d in parameter.dimensions)
    expected = f".{parameter.type}{dimensions} ({parameter.size_bytes} bytes) for argument {index}, {parameter.name}"
    fix = "Give an array for a pointer, a number for a scalar, bytes for a struct."
    return UserError(Diagnostic("LAUNCH_ARGUMENTS", f"expected a value of type {expected}, got {got}", parameter.span, fix=fix))
