"""Calls of functions that a module only declares: each number that they give is an unknown function of the call, which is one
of all that they take.

Whoever starts the run says which functions these are and where the numbers lie in what they take and give (`Opaque`). Calls
with equal arguments have equal results, and touch no memory. What is passed lies in `.param` variables of the caller: memory of
one thread, which only st.param, ld.param and call name. What was passed is gone after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import DType
from warploom.ptx import TYPE_BITS
from warploom.ptx.syntax import Address, Group, Instruction, Name, Operand
from warploom.synth.compiled.data import ADDRESSES, Undefined, Value
from warploom.synth.compiled.operands import Operands, width_of
from warploom.synth.compiled.schedule import Action
from warploom.synth.compiled.threads import Block, Lanes, Launch
from warploom.terms import Term, apply

Layout: TypeAlias = tuple[tuple[int, DType], ...]
"""Numbers of a structure: byte offset and type."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A function of which nothing is known but what it takes and gives."""

    parameters: tuple[Layout, ...]
    result: Layout


def call_of(function: str) -> str:
    """The operator of the term for a call, which has all numbers that the function takes."""
    return f"{function}()"


def number_of(function: str, offset: int) -> str:
    """The operator of the term for the number at `offset` of what a call gives, of that call."""
    return f"{function}@{offset}"


class Calls:
    """Steps for call, and for ld.param and st.param of what is passed."""

    def __init__(
        self, launch: Launch, operands: Operands, functions: Mapping[str, Opaque],
        extension: Callable[[str, Operand], Callable[[Value], Value] | None],
    ) -> None:  # fmt: skip
        self.launch = launch
        self.extension = extension
        self.operands = operands
        self.functions = functions
        own = launch.routine.variables.values()
        self.passed = {v.name for v in own if v.space == "param"} - set(launch.parameters)

    def is_passed(self, instruction: Instruction) -> bool:
        """Whether a load or store of `.param` names a variable that is passed."""
        return "param" in instruction.modifiers and any(self._variable(o) in self.passed for o in instruction.operands)

    @staticmethod
    def _variable(operand: Operand) -> str:
        if isinstance(operand, Address) and isinstance(operand.base, Name) and not operand.rest:
            return operand.base.text
        return ""

    def store(self, instruction: Instruction, index: int) -> Action:
        type_name = width_of(instruction, "b32")
        size = TYPE_BITS[type_name] // 8
        address, source = instruction.operands
        assert isinstance(address, Address)
        name, first = self._variable(address), address.offset
        readers = [self.operands.reader(o, type_name, index) for o in self.operands.pieces(source)]

        def run(block: Block, lanes: Lanes) -> None:
            of_threads = block.passed.setdefault(name, {})
            for k, reader in enumerate(readers):
                for t, value in zip(lanes, reader(block, lanes), strict=True):
                    of_threads.setdefault(t, {})[first + k * size] = (size, value)

        return run

    def load(self, instruction: Instruction, index: int) -> Action:
        type_name = width_of(instruction, "b32")
        size = TYPE_BITS[type_name] // 8
        target, address = instruction.operands
        assert isinstance(address, Address)
        name, first = self._variable(address), address.offset
        pieces = self.operands.pieces(target)
        writers = [(self.operands.writer(o, index), self.extension(type_name, o)) for o in pieces]
        line = self.launch.span(index).line

        def run(block: Block, lanes: Lanes) -> None:
            for k, (write, extend) in enumerate(writers):
                at = first + k * size
                found: list[Value] = []
                for t in lanes:
                    given = block.passed.get(name, {}).get(t, {})
                    held, value = given.get(at, (0, 0))
                    if held != size and (not given or any(at < o + n and o < at + size for o, (n, _) in given.items())):
                        message = f"expected a number of {size} bytes at byte {at} of {name}, got {held or 'none'}"
                        raise self.launch.unsupported(message, index)
                    if held != size:
                        value = Undefined(f"bytes of {name} between numbers", line)
                    found.append(value if extend is None or isinstance(value, Undefined) else extend(value))
                write(block, lanes, found)

        return run

    def call(self, instruction: Instruction, index: int) -> Action:
        named = [o for o in instruction.operands if isinstance(o, Name)]
        groups = [o for o in instruction.operands if isinstance(o, Group)]
        function = self.functions.get(named[0].text) if len(named) == 1 else None
        if function is None:
            told = named[0].text if named else instruction.name
            raise self.launch.unsupported(f"expected an instruction that this runner follows, got a call of {told}", index)
        gives = groups[0] if groups and instruction.operands.index(groups[0]) < instruction.operands.index(named[0]) else None
        takes = next((g for g in groups if g is not gives), None)
        results = [o.text for o in gives.elements if isinstance(o, Name)] if gives is not None else []
        arguments = [o.text for o in takes.elements if isinstance(o, Name)] if takes is not None else []
        if len(results) != 1 or len(arguments) != len(function.parameters) or not self.passed.issuperset(results + arguments):
            message = f"expected {named[0].text} to take {len(function.parameters)} structures and to give one, as declared"
            raise self.launch.unsupported(message, index)

        called = call_of(named[0].text)
        numbers = [(offset, number_of(named[0].text, offset), kind) for offset, kind in function.result]
        parameters = list(zip(arguments, function.parameters, strict=True))

        def run(block: Block, lanes: Lanes) -> None:
            given = block.passed.setdefault(results[0], {})
            passed = [(name, layout, block.passed.get(name, {})) for name, layout in parameters]
            for t in lanes:
                values: list[Term | Undefined] = []
                for name, layout, of_threads in passed:
                    held = of_threads.get(t, {})
                    values += [self._taken(held, name, offset, kind, index) for offset, kind in layout]
                for name in arguments:
                    block.passed[name].pop(t, None)
                given[t] = self._given(called, numbers, values)

        return run

    def _taken(self, held: Mapping[int, tuple[int, Value]], name: str, offset: int, kind: DType, index: int) -> Term | Undefined:
        size, value = held.get(offset, (0, 0))
        if size * 8 != kind.bits:
            message = f"expected a number of {kind.bits // 8} bytes at byte {offset} of {name}, got {size or 'none'}"
            raise self.launch.unsupported(message, index)
        data = self.launch.data
        if isinstance(value, Term):
            if data.kinds[value] is kind and not data.has_sign_casts:
                return value
        elif isinstance(value, Undefined):
            return value
        elif value.__class__ in ADDRESSES:
            raise self.launch.unsupported(f"expected data passed in {name}, got an address", index)
        return data.as_float(value, kind) if kind.is_float else data.signless(data.as_int(value, kind))

    def _given(
        self, called: str, numbers: Sequence[tuple[int, str, DType]], values: Sequence[Term | Undefined]
    ) -> dict[int, tuple[int, Value]]:
        data = self.launch.data
        terms = [v for v in values if isinstance(v, Term)]
        unknown = next((v for v in values if isinstance(v, Undefined)), None)
        if unknown is not None:
            return {offset: (kind.bits // 8, unknown) for offset, _, kind in numbers}
        call = apply(called, *terms)
        return {offset: (kind.bits // 8, data.made(apply(number, call), kind)) for offset, number, kind in numbers}
