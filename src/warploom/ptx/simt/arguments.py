"""Kernel arguments: arrays get addresses, scalars the bytes of their parameter (PTX ISA 5.1.6, 7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import NOWHERE, Diagnostic, UserError
from warploom.ptx.routine import TYPE_BITS, Routine, Variable
from warploom.ptx.simt.regions import Region, Views
from warploom.ptx.simt.state import LaunchState

Argument: TypeAlias = "NDArray[Any] | np.generic | int | float | bool | bytes"


@dataclass(frozen=True, slots=True)
class Bound:
    """An array among the arguments."""

    index: int
    array: NDArray[Any]
    region: Region

    def contents(self) -> NDArray[Any]:
        """What the array holds now, as a new array of the same shape and type."""
        raw = self.region.views.bytes[: self.region.size].copy()
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
    bound: list[Bound] = []
    seen: dict[int, Bound] = {}
    for index, (parameter, argument) in enumerate(zip(kernel.parameters, args, strict=True)):
        offset = offsets[parameter.name]
        if isinstance(argument, np.ndarray) and not (argument.ndim == 0 and not _is_pointer(state, parameter)):
            known = seen.get(id(argument))
            if known is None:
                known = _place(state, index, parameter, argument)
                seen[id(argument)] = known
            bound.append(Bound(index, argument, known.region))
            data = known.region.base.to_bytes(parameter.size_bytes, "little")
        else:
            data = _scalar(index, parameter, argument)
        block[offset : offset + len(data)] = data
    region.views.bytes[: len(block)] = np.frombuffer(bytes(block), np.uint8)
    state.parameters = region
    state.parameter_offsets = offsets
    return bound


def _is_pointer(state: LaunchState, parameter: Variable) -> bool:
    return not parameter.dimensions and parameter.type[0] in "ubs" and parameter.size_bytes == state.address_bytes


def _place(state: LaunchState, index: int, parameter: Variable, array: NDArray[Any]) -> Bound:
    if not _is_pointer(state, parameter) or array.dtype.hasobject:
        raise _wrong(index, parameter, f"an array of {array.dtype}")
    views = Views(array.nbytes)
    flat = np.ascontiguousarray(array).reshape(-1)
    views.bytes[: array.nbytes] = flat.view(np.uint8)
    region = state.regions.add(f"argument {index}", array.nbytes, views=views)
    return Bound(index, array, region)


def _scalar(index: int, parameter: Variable, argument: Argument) -> bytes:
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
