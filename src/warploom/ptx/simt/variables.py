"""Addresses of variables: the layout of shared memory, and initialisers of global and constant variables (PTX ISA 5.4.4)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.ptx.routine import TYPE_BITS, Program, Routine, Variable
from warploom.ptx.simt.analysis import names
from warploom.ptx.simt.regions import Region
from warploom.ptx.syntax import AddressOf, Float, Initialiser, Integer, Name, Operand, Sum, operand_text
from warploom.ptx.syntax.nodes import Setting


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Offsets in a block's shared memory by name; a routine's own variables as `routine:name`."""

    offsets: dict[str, int]
    static_bytes: int
    size_bytes: int
    """Size in bytes without what a launch adds."""
    mentioned: frozenset[str] = frozenset()
    """All names that the kernel and what it reaches mention."""


def shared_layout(program: Program, kernel: Routine) -> SharedLayout:
    """Static variables of everything that the kernel may call, in the order of the file; all `extern []` ones share the rest."""
    used, mentioned = _reachable(program, kernel)
    candidates = [(v.name, v) for v in program.variables.values() if v.name in mentioned]
    for routine in used:
        candidates += [(f"{routine.name}:{v.name}", v) for v in routine.variables.values()]
    offsets: dict[str, int] = {}
    offset = 0
    dynamic: list[tuple[str, Variable]] = []
    for name, variable in candidates:
        if variable.space != "shared":
            continue
        if variable.size_bytes == 0:
            dynamic.append((name, variable))
            continue
        align = max(variable.align, 1)
        offset = (offset + align - 1) // align * align
        offsets[name] = offset
        offset += variable.size_bytes
    static = offset
    if dynamic:
        align = max(16, *(variable.align for _, variable in dynamic))
        offset = (offset + align - 1) // align * align
        offsets |= dict.fromkeys((name for name, _ in dynamic), offset)
    return SharedLayout(offsets, static, offset, frozenset(mentioned))


def _reachable(program: Program, kernel: Routine) -> tuple[list[Routine], set[str]]:
    """Routines whose name occurs in the kernel or in what it reaches, and all names that occur."""
    mentioned: set[str] = set()
    used: list[Routine] = []
    work = [kernel]
    while work:
        routine = work.pop()
        used.append(routine)
        for instruction in routine.instructions:
            for operand in instruction.operands:
                mentioned.update(names(operand))
        mentioned.update(name for targets in routine.targets.values() for name in targets)
        work += [r for r in program.routines.values() if r.name in mentioned and r not in used and r not in work]
        for variable in program.variables.values():
            if variable.name in mentioned and variable.initialiser is not None:
                mentioned.update(_initial_names(variable.initialiser))
    return used, mentioned


def _initial_names(initialiser: Initialiser) -> set[str]:
    found: set[str] = set()
    for element in initialiser.elements:
        match element:
            case Initialiser():
                found |= _initial_names(element)
            case AddressOf(_, name, _):
                found.add(name)
            case Setting():
                pass
            case _:
                found.update(names(element))
    return found


def initialise(variable: Variable, region: Region, symbol: Callable[[str], int | None]) -> None:
    """Writes the initial value; missing elements stay zero."""
    assert variable.initialiser is not None
    size = TYPE_BITS.get(variable.type, 8) // 8
    extents = [e or 0 for e in variable.dimensions]
    if variable.vector > 1:
        extents.append(variable.vector)
    data = bytearray(region.size)
    _fill(variable, variable.initialiser, data, 0, extents, size, symbol)
    region.views.bytes[: region.size] = np.frombuffer(bytes(data), np.uint8)


def _fill(
    variable: Variable, initialiser: Initialiser, data: bytearray, offset: int, extents: list[int], size: int,
    symbol: Callable[[str], int | None],
) -> None:  # fmt: skip
    stride = size
    for extent in extents[1:]:
        stride *= extent
    for position, element in enumerate(initialiser.elements):
        start = offset + position * stride
        if isinstance(element, Initialiser):
            _fill(variable, element, data, start, extents[1:], size, symbol)
            continue
        if isinstance(element, Setting):
            message = f"expected a constant or an address as an initial value of {variable.name}, got {element.name}"
            raise UserError(Diagnostic("PTX_INITIALISER", message, variable.span))
        value = _value(variable, element, size, symbol)
        end = start + size
        if end > len(data):
            message = f"expected at most {len(data)} bytes of initial values for {variable.name}, got more"
            raise UserError(Diagnostic("PTX_INITIALISER", message, variable.span))
        data[start:end] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _value(variable: Variable, element: Operand | AddressOf, size: int, symbol: Callable[[str], int | None]) -> int:
    match element:
        case Integer(value):
            if variable.type in ("f32", "f64"):
                return _float_bits(float(value), size)
            return value
        case Float(bits, width):
            if width == 8 * size:
                return bits
            return _float_bits(struct.unpack("<d" if width == 64 else "<f", bits.to_bytes(width // 8, "little"))[0], size)
        case Name(text):
            return _address(variable, text, symbol)
        case Sum(Name(text), offset):
            return _address(variable, text, symbol) + offset
        case AddressOf(operator, name, offset):
            address = _address(variable, name, symbol) + offset
            if operator == "generic":
                return address
            mask = int(operator, 0)
            shift = (mask & -mask).bit_length() - 1
            return (address & mask) >> shift
        case _:
            message = f"expected a constant or an address as an initial value of {variable.name}, got {operand_text(element)}"
            raise UserError(Diagnostic("PTX_INITIALISER", message, variable.span))


def _float_bits(value: float, size: int) -> int:
    return int.from_bytes(struct.pack("<f" if size == 4 else "<d", value), "little")


def _address(variable: Variable, name: str, symbol: Callable[[str], int | None]) -> int:
    found = symbol(name)
    if found is None:
        message = f"expected a variable or function with a body in the initial value of {variable.name}, got {name}"
        raise UserError(Diagnostic("PTX_INITIALISER", message, variable.span))
    return found
