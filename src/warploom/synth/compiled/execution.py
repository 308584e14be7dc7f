"""Runs a kernel of a PTX file on symbolic arrays: arguments in, what the arrays hold afterwards out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Literal

import numpy as np

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError, rarely_collected, scalar_of
from warploom.ptx import TYPE_BITS, Program, Routine, Variable
from warploom.ptx.syntax import Integer
from warploom.synth.compiled.alike import Axes, Classes, Implied, Translations
from warploom.synth.compiled.arithmetic import undefined_in
from warploom.synth.compiled.calls import Opaque
from warploom.synth.compiled.cases import Cases
from warploom.synth.compiled.data import ADDRESSES, Data, NoBitsError, Undefined, Value
from warploom.synth.compiled.faults import FaultError, Triple, triple, unsupported
from warploom.synth.compiled.handover import HandedArgument, Handover
from warploom.synth.compiled.instructions import make_steps
from warploom.synth.compiled.memory import Memory, Region, Stored
from warploom.synth.compiled.moving import LENGTH, OF_BLOCK, OF_THREAD, SIZE, Moving
from warploom.synth.compiled.names import Names
from warploom.synth.compiled.placed import Places, placed
from warploom.synth.compiled.placed import Variable as PlacedVariable
from warploom.synth.compiled.rounds import Repeat, Rounds
from warploom.synth.compiled.schedule import Step, run_launch
from warploom.synth.compiled.threads import GathersSeen, Launch
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
    per_size: int = 0
    """Elements for each unit of the size that is an argument; 0: the length does not depend on it."""
    per_length: int = 0
    """The same, of a size over which something is summed."""
    beside: int = 0
    """Elements besides, where the length depends on a size."""

    @property
    def count(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number passed by value; None: a symbol, which control and addresses must not depend on."""

    name: str
    dtype: DType
    value: int | float | None
    is_size: bool = False
    """A size of arrays, which a box tells."""
    is_length: bool = False
    """A size over which something is summed, which a box tells."""


Argument = ArrayArgument | ScalarArgument
Symbol = ArrayArgument | Literal["initial"]
"""Content of a module's variable when the launch begins: symbols or zeros, or the value that the file gives it."""
_GRID = (2**31 - 1, 65535, 65535)
_BLOCK = (1024, 1024, 64)
"""Source: CUDA C++ Programming Guide, technical specifications per compute capability."""
_VOLTA = 70
_STATIC_SHARED_BYTES = 48 << 10
"""Most bytes of static shared memory: ptxas refuses more."""
_SHARED_BYTES = 227 << 10
"""Most shared bytes of a block on any machine."""


@dataclass(frozen=True, slots=True)
class Box:
    """Blocks side by side in a grid, or with six counts the threads side by side in such blocks."""

    first: tuple[int, ...]
    """Position of the first block, then that of its first thread."""
    counts: tuple[int, ...]
    size: tuple[int, ...] = ()
    """For a size that is an argument: its value in the first block, and by how much it grows with each position, the last of
    which is `%size`. Empty: there is none."""
    length: tuple[int, ...] = ()
    """For a size over which something is summed: its value in the first block, and by how much it grows with `%length`, which is
    then the last position. Empty: there is none."""

    @property
    def positions(self) -> tuple[str, ...]:
        return (*self.places, *((SIZE,) if self.size else ()), *((LENGTH,) if self.length else ()))

    @property
    def places(self) -> tuple[str, ...]:
        """The positions of blocks and threads."""
        return (*OF_BLOCK, *OF_THREAD)[: len(self.counts) - bool(self.size) - bool(self.length)]

    @property
    def growth(self) -> dict[str, int]:
        """By how much the size grows, by position."""
        return dict(zip((*self.places, SIZE), self.size[1:], strict=True)) if self.size else {}

    @property
    def growth_of_length(self) -> dict[str, int]:
        """By how much the size grows over which something is summed, by position."""
        return {LENGTH: self.length[1]} if self.length else {}


@dataclass(frozen=True, eq=False, slots=True)
class SymbolicRun:
    """Memory and faults that a launch left behind."""

    data: Data
    arrays: dict[str, Region]
    routine: Routine
    launch_notes: frozenset[str]
    place_notes: tuple[str, ...]
    """The domain must say these, of the launch and of where variables lie."""
    thread_steps: int
    """Instructions executed, summed over threads."""

    variables: dict[str, Region]
    """The module's variables, by name."""
    ordered: frozenset[str]
    """Variables whose order in memory decided something."""
    moves: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """By array, for a box of blocks: the bytes by which the accesses of a block lie behind those of the block before."""
    loaded: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    """Arrays that blocks of a box load from and store to."""
    repeats: tuple[Repeat, ...] = ()
    """Rounds of loops that were left out, in order."""
    implied: Implied | None = None
    """Elements that no store left, since they hold what others do, further on."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Statements that the domain must have, also on elements that were read by now."""
        return (*sorted(self.launch_notes | self.data.notes), *self.place_notes)

    def unnamed_stores(self, arguments: tuple[Argument, ...]) -> list[str]:
        """Names for the domain: variables of the module that are stored to and that nobody compares."""
        compared = [self.arrays[a.name] for a in arguments if isinstance(a, ArrayArgument)]
        others = [r for r in self.variables.values() if r.is_written and not any(r is c for c in compared)]
        return [f"what is stored to {r.name} is not compared" for r in others]

    def written(self, argument: ArrayArgument) -> dict[int, int]:
        """Element -> instruction of its last store; without the elements that are implied."""
        size = argument.dtype.size_bytes
        found: dict[int, int] = {}
        implied = self.implied.elements_of(argument.name) if self.implied is not None else {}
        for offset, cell in self.arrays[argument.name].cells.items():
            if cell.instruction >= 0:
                first, last = offset // size, (offset + cell.size_bytes - 1) // size
                for element in range(first, last + 1):
                    if element in implied:
                        continue
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
                if (bad := undefined_in(value)) is not None:
                    return bad
                if value.__class__ in ADDRESSES:
                    raise unsupported(f"expected data stored to {argument.name}, got an address", _where(self.routine))
                items.append(
                    self.data.as_float(value, scalar) if scalar.is_float else self.data.signless(self.data.as_int(value, scalar))
                )
            except NoBitsError as error:
                raise unsupported(
                    f"expected whole elements stored to {argument.name}, got {error}", _where(self.routine)
                ) from error
        items = [self.data.expanded(item) for item in items]
        return items[0] if argument.dtype.lanes == 1 else pack(*items)


def run_symbolically(
    program: Program,
    kernel: str | None,
    arguments: tuple[Argument | HandedArgument, ...],
    grid: Triple,
    block: Triple,
    *,
    dynamic_shared_bytes: int = 0,
    symbols: Mapping[str, Symbol] | None = None,
    is_alone: bool = False,
    order: tuple[str, ...] = (),
    box: Box | None = None,
    has_rounds_left_out: bool = False,
    alike: Axes | None = None,
    classes: Classes = (),
    step_limit: int | None = None,
    gathers: GathersSeen | None = None,
    functions: Mapping[str, Opaque] | None = None,
    handover: Handover | None = None,
    only_block: Triple | None = None,
    cases: Cases | None = None,
) -> SymbolicRun:
    """Runs the launch; parameters take `arguments` in order. is_alone: activemask names each thread alone. order: names of
    arrays that lie before all others, in this order.

    box: run its first block only, which stands for all blocks of the box, or its first thread, which stands for all of its
    threads where none needs another one. SplitError where they do not run alike.
    alike: axes of the block along which threads that compute alike are represented by one (`alike.py`), with the same proviso.
    classes: which threads may do so; ApartError where some of a class hold elements and others numbers.
    has_rounds_left_out: rounds of a loop that run alike are run once (`rounds.py`), provided that no array is loaded and stored.

    gathers: which elements may be read at indices that data give; None: none.

    functions: those that the module calls and does not define, as unknown functions of what they take; None: none.

    handover: run only one block, `only_block`, which is told so of what others hand to it, and tells what it hands over.

    symbols: what the module's `.const` and `.global` variables hold, by name. The host may set any of them before the launch, so
    reading one that is not named is not followed.

    cases: which way the one thread of the launch goes where it decides on integers of data; None: that is not followed.

    FaultError at the first fault of the program; UserError: NO_KERNEL, ARGUMENTS, ARGUMENT_TYPE, LAUNCH; UnsupportedError for
    what depends on data, for instructions that are not followed and past the step limit.
    """
    step_limit = STEP_LIMIT if step_limit is None else step_limit
    assert not functions or (box is None and alike is None and not has_rounds_left_out), "what is passed is part of no state"
    routine = program.kernel(kernel)
    if len(arguments) != len(routine.parameters):
        message = f"expected {len(routine.parameters)} arguments for {routine.name}, got {len(arguments)}"
        raise UserError(Diagnostic("ARGUMENTS", message, _where(routine), "Give one per kernel parameter."))
    _check_launch(routine, program, grid, block, dynamic_shared_bytes)
    data, memory, places = Data(), Memory(order), Places()
    if cases is not None:
        assert prod(grid) == prod(block) == 1, "threads that decide apart"
        data.decide = cases.decide
    if box is not None:
        places.moving = Moving({name: count - 1 for name, count in zip(box.positions, box.counts, strict=True)})
    arrays: dict[str, Region] = {}
    parameters: dict[str, Region] = {}
    for argument, parameter in zip(arguments, routine.parameters, strict=True):
        if isinstance(argument, HandedArgument):
            assert handover is not None, "another block's values need its promises"
            _check_width(parameter, 8, f"an array for {argument.name}")
            region = arrays[argument.name] = memory.add(
                argument.name, argument.count * argument.stride, handover.initial(argument, data)
            )
            region.is_handed = True
            region.element_bytes, region.align = argument.stride, max(kind.bits // 8 for _, kind in argument.layout)
            known = PlacedVariable(region.size_bytes, region.align, is_small=False, is_allocated=True, base=region.base)
            value: Value = places.address(argument.name, known)
        elif isinstance(argument, ArrayArgument):
            _check_width(parameter, 8, f"an array for {argument.name}")
            region = arrays[argument.name] = memory.add(
                argument.name, argument.count * argument.dtype.size_bytes, _initial(argument, data)
            )
            region.granule_bytes = min(4, argument.dtype.bits // 8)
            if box is not None:
                region.grows = _growth(argument, box, places.moving.last)
            region.element_bytes = argument.dtype.size_bytes
            region.align = max(scalar_of(argument.dtype).bits // 8, argument.dtype.size_bytes, parameter.pointer_align or 1)
            known = PlacedVariable(region.size_bytes, region.align, is_small=False, is_allocated=True, base=region.base)
            value = places.address(argument.name, known)
        elif argument.is_size or argument.is_length:
            _check_width(parameter, argument.dtype.bits // 8, f"{argument.dtype} for {argument.name}")
            value = _size(argument, box, places)
        else:
            _check_width(parameter, argument.dtype.bits // 8, f"{argument.dtype} for {argument.name}")
            value = _scalar(argument, data)
        parameters[parameter.name] = _parameter(parameter, value)
    launch = Launch(
        routine, data, memory, parameters, grid, block, dynamic_shared_bytes, places=places, steps_left=step_limit,
        meets_anywhere=_sm(program) >= _VOLTA, is_alone=is_alone,
        first_block=only_block if box is None else triple(box.first[:3]),
        lone_thread=triple(box.first[3:6]) if box is not None and len(box.places) > 3 else None,
        gathers=gathers,
    )  # fmt: skip
    _add_module_variables(launch, program, symbols or {}, arrays)
    rounds = launch.rounds = Rounds(launch) if has_rounds_left_out else None
    if alike is not None:
        threads = [(x, y, z) for z in range(block[2]) for y in range(block[1]) for x in range(block[0])]
        translations = launch.translations = Translations.of_block(data, threads, block, alike, classes)
        if translations is not None and handover is None:
            translations.names = Names(data, translations.translated)
            data.expand = translations.names.expanded
    steps = make_steps(launch, functions or {}, handover)
    if launch.lone_thread is not None:
        _check_lone(launch, steps)
    try:
        with rarely_collected():
            run_launch(launch, steps)
    except FaultError as error:
        error.assumed = (*launch.notes, *data.notes)
        raise
    finally:
        launch.rounds = None  # the two hold each other, and nobody may look for such cycles
    translations = launch.translations
    repeats = tuple(rounds.repeats) if rounds is not None else ()
    implied = None
    if translations is not None:
        implied = translations.implied(arrays)
        repeats = tuple(replace(r, sums=translations.with_sums_of_threads(r.sums)) for r in repeats)
    return SymbolicRun(
        data, arrays, routine, frozenset(launch.notes), tuple(places.notes()), step_limit - launch.steps_left,
        launch.module_variables, frozenset(places.ordered), launch.moves, frozenset(launch.loaded), frozenset(launch.stored),
        repeats, implied,
    )  # fmt: skip


def _check_lone(launch: Launch, steps: list[Step]) -> None:
    """UnsupportedError for a kernel whose threads share memory or wait for each other."""
    for index, step in enumerate(steps):
        if step.meeting is not None or step.barrier is not None:
            raise launch.unsupported("expected threads that wait for nobody, where one stands for several", index)
    if any(v.space == "shared" for v in (*launch.module_shared, *launch.routine.variables.values())):
        raise launch.unsupported("expected no shared memory, where one thread stands for several", 0)


def _sm(program: Program) -> int:
    """The number of the module's `.target sm_NN`; 0 for others."""
    found = re.match(r"sm_(\d{1,6})", program.module.directive("target"))
    return int(found[1]) if found is not None else 0


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


def _growth(argument: ArrayArgument, box: Box, last: Mapping[str, int]) -> dict[str, int]:
    """Bytes by which the array is longer at the next position of the box."""
    found: dict[str, int] = {}
    for each, growth in ((argument.per_size, box.growth), (argument.per_length, box.growth_of_length)):
        found |= {name: each * argument.dtype.size_bytes * by for name, by in growth.items() if each and last.get(name)}
    return found


def _size(argument: ScalarArgument, box: Box | None, places: Places) -> Value:
    assert box is not None, "a size is told by a box"
    (first, *_), growth = (box.length, box.growth_of_length) if argument.is_length else (box.size, box.growth)
    mask = (1 << argument.dtype.bits) - 1
    of = sorted((name, by & mask) for name, by in growth.items() if by and places.moving.last.get(name))
    return placed(first & mask, tuple(of)) if of else first & mask


def _check_launch(routine: Routine, program: Program, grid: Triple, block: Triple, dynamic_shared_bytes: int) -> None:
    """UserError (LAUNCH) for what no device starts: a proof of such a launch would say nothing."""
    if prod(block) > 1024 or min(*grid, *block) < 1:
        raise UserError(Diagnostic("LAUNCH", f"expected a grid and 1 to 1024 threads per block, got {grid} and {block}"))
    for what, extents, most in (("grid", grid, _GRID), ("block", block, _BLOCK)):
        if any(n > m for n, m in zip(extents, most, strict=True)):
            raise UserError(Diagnostic("LAUNCH", f"expected a {what} of at most {most}, got {extents}"))
    required, largest = routine.directive("reqntid"), routine.directive("maxntid")
    if required is not None and (*required, 1, 1)[:3] != block:
        raise UserError(Diagnostic("LAUNCH", f"expected blocks of {required} threads (.reqntid of {routine.name}), got {block}"))
    if largest is not None and prod(block) > prod(largest):
        message = f"expected at most {prod(largest)} threads in a block (.maxntid of {routine.name}), got {prod(block)}"
        raise UserError(Diagnostic("LAUNCH", message))
    of_module = [v for v in program.variables.values() if v.space == "shared"]
    static = sum(v.size_bytes for v in (*of_module, *routine.variables.values()) if v.space == "shared")
    if static > _STATIC_SHARED_BYTES:  # other kernels of the module may have variables of their own: ptxas leaves them out
        words = {word for i in routine.instructions for word in re.findall(r"[\w$%]+", repr(i.operands))}
        static -= sum(v.size_bytes for v in of_module if v.name not in words)
    if static > _STATIC_SHARED_BYTES or static + dynamic_shared_bytes > _SHARED_BYTES:
        message = (
            f"expected at most {_STATIC_SHARED_BYTES} bytes of static shared memory and {_SHARED_BYTES} in all, got {static} and "
            f"{static + dynamic_shared_bytes}"
        )
        raise UserError(Diagnostic("LAUNCH", message, _where(routine)))


def _parameter(parameter: Variable, value: Value) -> Region:
    size = parameter.size_bytes
    return Region(parameter.name, 0, size, lambda offset: (0, size, value), is_tracked=False)


def _add_module_variables(
    launch: Launch, program: Program, symbols: Mapping[str, Symbol], arrays: dict[str, Region]
) -> None:  # fmt: skip
    launch.module_shared = tuple(v for v in program.variables.values() if v.space == "shared")
    variables = {v.name: v for v in program.variables.values() if v.space in ("const", "global")}
    for name in symbols:
        if name not in variables:
            known = ", ".join(variables) or "none"
            message = f"expected a .const or .global variable of the module, got {name}; it has: {known}"
            raise UserError(Diagnostic("SYMBOL", message, fix="Name one of them."))
    for name, variable in variables.items():
        told = symbols.get(name)
        if isinstance(told, ArrayArgument):
            if told.count * told.dtype.size_bytes != variable.size_bytes:
                message = f"expected {variable.size_bytes} bytes for {name}, got {told.count} elements of {told.dtype}"
                raise UserError(
                    Diagnostic("SYMBOL", message, variable.span, "Give exactly as many elements as the variable has.")
                )
            region = arrays[told.name] = launch.memory.add(name, variable.size_bytes, _initial(told, launch.data))
            region.granule_bytes = min(4, told.dtype.bits // 8)
        else:
            region = launch.memory.add(name, variable.size_bytes, lambda offset: (offset, 1, 0))
            if told == "initial":
                _initialise(region, variable)
                launch.notes.add(f"{name} as the file initialises it")
            else:
                region.untold = f"what {name} holds, which the host may set before the launch (line {variable.span.line})"
        region.align = variable.align
        region.is_constant = variable.space == "const"
        launch.module_variables[name] = region


def _initialise(region: Region, variable: Variable) -> None:
    if variable.initialiser is None:
        return
    size = TYPE_BITS.get(variable.type, 8) // 8
    for k, element in enumerate(variable.initialiser.elements):
        if not isinstance(element, Integer) or variable.type[0] not in "bus":
            raise unsupported(f"expected plain integers as the content of {variable.name}", variable.span)
        region.cells[k * size] = _constant_cell(element.value, size)


def _constant_cell(value: int, size: int) -> Stored:
    return Stored(value & ((1 << 8 * size) - 1), size, -1)
