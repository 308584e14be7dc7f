"""Runs a kernel of a PTX file on symbolic arrays: arguments in, what the arrays hold afterwards out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError, scalar_of
from warploom.ptx import Program, Routine
from warploom.ptx.routine import TYPE_BITS, Variable
from warploom.ptx.syntax import Integer
from warploom.synth.compiled.arithmetic import undefined_in
from warploom.synth.compiled.data import Data, NoBitsError, Undefined, Value
from warploom.synth.compiled.faults import Triple, unsupported
from warploom.synth.compiled.instructions import make_steps
from warploom.synth.compiled.memory import Memory, Region, Stored
from warploom.synth.compiled.schedule import run_launch
from warploom.synth.compiled.threads import Launch
from warploom.terms import Term, atom, component, pack

STEP_LIMIT = 20_000_000
"""Instructions times threads of one launch."""
Content = Literal["symbols", "zeros", "undefined"]


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array in global memory; the kernel's parameter is its address."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    content: Content = "symbols"
    """symbols: element `name[i]` is a symbol of that name. undefined: reading it before it is written is a fault."""

    @property
    def count(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number passed by value; None: a symbol, which control and addresses must not depend on."""

    name: str
    dtype: DType
    value: int | float | None


Argument = ArrayArgument | ScalarArgument


@dataclass(frozen=True, eq=False, slots=True)
class SymbolicRun:
    """What a launch left behind."""

    data: Data
    arrays: dict[str, Region]
    routine: Routine
    notes: tuple[str, ...]
    thread_steps: int
    """Instructions executed, summed over threads."""

    def written(self, argument: ArrayArgument) -> dict[int, int]:
        """Element -> instruction of its last store."""
        size = argument.dtype.size_bytes
        found: dict[int, int] = {}
        for offset, cell in self.arrays[argument.name].cells.items():
            if cell.instruction >= 0:
                first, last = offset // size, (offset + cell.size_bytes - 1) // size
                for element in range(first, last + 1):
                    found[element] = max(cell.instruction, found.get(element, -1))
        return found

    def content(self, argument: ArrayArgument, element: int) -> Term | Undefined:
        """An element after the run: a term of the array's kind, or what makes it undefined."""
        scalar = scalar_of(argument.dtype)
        size = scalar.bits // 8
        items: list[Term] = []
        for k in range(argument.dtype.lanes):
            try:
                value = self.arrays[argument.name].load(element * argument.dtype.size_bytes + k * size, size, self.data)
            except NoBitsError as error:
                raise unsupported(
                    f"expected whole elements stored to {argument.name}, got {error}", _where(self.routine)
                ) from error
            if (bad := undefined_in(value)) is not None:
                return bad
            items.append(self.data.as_float(value, scalar) if scalar.is_float else self.data.as_int(value, scalar))
        return items[0] if argument.dtype.lanes == 1 else pack(*items)


def run_symbolically(
    program: Program,
    kernel: str | None,
    arguments: tuple[Argument, ...],
    grid: Triple,
    block: Triple,
    *,
    dynamic_shared_bytes: int = 0,
    is_alone: bool = False,
) -> SymbolicRun:
    """Runs the launch; parameters take `arguments` in order. is_alone: activemask names each thread alone.

    FaultError at the first fault of the program; UserError: NO_KERNEL, ARGUMENTS, ARGUMENT_TYPE, LAUNCH; UnsupportedError for
    what depends on data, for instructions that are not followed and past the step limit.
    """
    routine = program.kernel(kernel)
    if len(arguments) != len(routine.parameters):
        message = f"expected {len(routine.parameters)} arguments for {routine.name}, got {len(arguments)}"
        raise UserError(Diagnostic("ARGUMENTS", message, _where(routine), "Give one per kernel parameter."))
    if prod(block) > 1024 or min(*grid, *block) < 1:
        raise UserError(Diagnostic("LAUNCH", f"expected a grid and 1 to 1024 threads per block, got {grid} and {block}"))
    data, memory = Data(), Memory()
    arrays: dict[str, Region] = {}
    parameters: dict[str, Region] = {}
    for argument, parameter in zip(arguments, routine.parameters, strict=True):
        if isinstance(argument, ArrayArgument):
            _check_width(parameter, 8, f"an array for {argument.name}")
            region = arrays[argument.name] = memory.add(
                argument.name, argument.count * argument.dtype.size_bytes, _initial(argument, data)
            )
            region.granule_bytes = min(4, argument.dtype.bits // 8)
            value: Value = region.base
        else:
            _check_width(parameter, argument.dtype.bits // 8, f"{argument.dtype} for {argument.name}")
            value = _scalar(argument, data)
        parameters[parameter.name] = _parameter(parameter, value)
    launch = Launch(
        routine, data, memory, parameters, grid, block, dynamic_shared_bytes, steps_left=STEP_LIMIT, is_alone=is_alone
    )
    _add_module_variables(launch, program)
    run_launch(launch, make_steps(launch))
    return SymbolicRun(data, arrays, routine, tuple(sorted(launch.notes | data.notes)), STEP_LIMIT - launch.steps_left)


def _where(routine: Routine) -> Span:
    return routine.span(0) if routine.instructions else NOWHERE


def _check_width(parameter: Variable, size: int, what: str) -> None:
    if parameter.size_bytes != size:
        message = f"expected an argument of {parameter.size_bytes} bytes for parameter {parameter.name}, got {what}"
        raise UserError(Diagnostic("ARGUMENT_TYPE", message, parameter.span, "Arrays go to 64-bit parameters."))


def _initial(argument: ArrayArgument, data: Data) -> Callable[[int], tuple[int, int, Value]]:
    scalar, lanes, shape = scalar_of(argument.dtype), argument.dtype.lanes, argument.shape
    size, whole = scalar.bits // 8, argument.dtype.size_bytes

    def cell(offset: int) -> tuple[int, int, Value]:
        start = offset - offset % size
        if argument.content == "zeros":
            return start, size, 0
        element, within = divmod(start, whole)
        index = tuple(int(i) for i in np.unravel_index(element, shape)) if len(shape) > 1 else (element,)
        if argument.content == "undefined":
            return start, size, Undefined(f"{argument.name}[{', '.join(map(str, index))}] before it is written", 0)
        term = atom(argument.name, index, lanes)
        return start, size, data.made(term if lanes == 1 else component(term, within // size), scalar)

    return cell


def _scalar(argument: ScalarArgument, data: Data) -> Value:
    if argument.value is None:
        return data.made(atom(argument.name, ()), argument.dtype)
    if argument.dtype.is_float:
        return data.encoded(float(argument.value), argument.dtype)
    return int(argument.value) & ((1 << argument.dtype.bits) - 1)


def _parameter(parameter: Variable, value: Value) -> Region:
    size = parameter.size_bytes
    return Region(parameter.name, 0, size, lambda offset: (0, size, value), is_tracked=False)


def _add_module_variables(launch: Launch, program: Program) -> None:
    launch.module_shared = tuple(v for v in program.variables.values() if v.space == "shared")
    for variable in program.variables.values():
        if variable.space in ("const", "global"):
            region = launch.memory.add(variable.name, variable.size_bytes, lambda offset: (offset, 1, 0))
            launch.module_variables[variable.name] = region
            _initialise(region, variable, launch.data)


def _initialise(region: Region, variable: Variable, data: Data) -> None:
    if variable.initialiser is None:
        return
    size = TYPE_BITS.get(variable.type, 8) // 8
    for k, element in enumerate(variable.initialiser.elements):
        if not isinstance(element, Integer):
            raise unsupported(f"expected plain integers as the content of {variable.name}", variable.span)
        region.cells[k * size] = _constant_cell(element.value, size)


def _constant_cell(value: int, size: int) -> Stored:
    return Stored(value & ((1 << 8 * size) - 1), size, -1)
