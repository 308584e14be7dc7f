"""One thread's registers as terms, and what each instruction does to them and to the trace."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from warploom.ptx.routine import SPECIAL_REGISTERS, TYPE_BITS, Routine
from warploom.ptx.symbolic import memory
from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.effects import effect_clobber, effect_of, is_quiet, vector_elements
from warploom.ptx.symbolic.facts import negated
from warploom.ptx.symbolic.memory import Access, AccessKind, Clobber, Versions
from warploom.ptx.symbolic.operations import (
    PURE,
    Step,
    extended,
    is_carrying,
    is_well_formed,
    results,
    source_widths,
    types_of,
)
from warploom.ptx.symbolic.term import Term, TermTable, linear
from warploom.ptx.symbolic.uses import CARRY, registers_in, written
from warploom.ptx.syntax import (
    Address,
    Float,
    Instruction,
    Integer,
    Name,
    Negation,
    Operand,
    Pair,
    Sum,
    Vector,
)

Registers = dict[str, Term]

_CHANGING = ("%clock", "%globaltimer", "%pm", "%smid", "%warpid", "%nwarpid", "%current_graph_exec")
"""Special registers whose value may differ from one reading to the next (PTX ISA chapter 10)."""


@dataclass(slots=True)
class Trace:
    """Records of one emulation, made as it goes."""

    accesses: list[Access] = field(default_factory=list[Access])
    versions: Versions = field(default_factory=Versions)
    loop_writes: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    """Spaces that the body of each loop may write, by its header; '*' for all."""


class BasicBlockRun:
    """Executes instructions of one basic block."""

    def __init__(
        self, routine: Routine, algebra: Algebra, registers: Registers, block: int, loops: tuple[int, ...], trace: Trace | None
    ) -> None:
        """`trace` None: only registers are followed, and memory gives unknown values."""
        self.routine = routine
        self.algebra = algebra
        self.table: TermTable = algebra.table
        self.registers = registers
        self._block = block
        self._loops = loops
        self._trace = trace
        self._at = 0
        self._guard = algebra.const(1, 1)

    # operands

    def read(self, operand: Operand, width: int | None = None) -> Term:
        """The operand's value; at `width` if that is narrower than its register, or if it has none of its own."""
        term = self._value(operand, width)
        if width is None or term.width == width:
            return term
        return self.algebra.trunc(term, width) if term.width > width else self.algebra.zext(term, width)

    def _value(self, operand: Operand, width: int | None) -> Term:
        match operand:
            case Name(text):
                return self._named(text, width)
            case Integer(value):
                return self.table.const(value, width or 32)
            case Float(bits, own):
                return self._float(bits, own, width or own)
            case Negation(inner):
                return self.algebra.invert(self.read(inner, width))
            case Sum(base, offset) | Address(base, offset, ()):
                return self.algebra.shifted(self.read(base, width or (64 if isinstance(base, Integer) else None)), offset)
            case Vector(elements) if width is not None and elements and width % len(elements) == 0:
                part = width // len(elements)
                result = self.table.const(0, width)
                for n, element in enumerate(elements):
                    low = self.algebra.zext(self.read(element, part), width)
                    result = self.algebra.add(result, low, 1 << (n * part))
                return result
            case _:
                return self._unknown("operand", width or 32)

    def _named(self, text: str, width: int | None) -> Term:
        routine = self.routine
        if text in routine.registers and text not in routine.register_vectors:
            found = self.registers.get(text)
            if found is None:
                return self._unknown(f"{text}.undefined", TYPE_BITS[routine.registers[text]])
            return self._under_guard(found)
        special = SPECIAL_REGISTERS.get(text)
        if special is not None:
            bits = TYPE_BITS[special]
            if text.startswith(_CHANGING):
                return self._unknown(text, bits)
            found = self.table.special(text[1:], bits)
            low, high = self.algebra.facts.unsigned(found)
            return found if low != high else self.table.const(low, bits)
        if text == "WARP_SZ":
            return self.table.const(32, width or 32)
        if text.startswith("%"):
            return self.registers.get(text) or self._unknown(text, width or 32)
        term = self.table.address(text)
        return term if width is None or width >= 64 else self.algebra.trunc(term, width)

    def _under_guard(self, term: Term) -> Term:
        """The value that matters where the instruction's own guard holds."""
        if term.op == "select" and self._guard.value is None:
            condition = term.args[0]
            if condition is self._guard:
                return term.args[1]
            if condition is negated(self._guard):
                return term.args[2]
        return term

    def _float(self, bits: int, own: int, width: int) -> Term:
        if own == width:
            return self.table.const(bits, width)
        if own == 64 and width in (16, 32):
            try:
                rounded = struct.pack("<f" if width == 32 else "<e", struct.unpack("<d", bits.to_bytes(8, "little"))[0])
                return self.table.const(int.from_bytes(rounded, "little"), width)
            except OverflowError:
                pass
        return self.table.opaque(f"float {bits:#x}", width)

    def _unknown(self, name: str, width: int) -> Term:
        return self.table.opaque(f"{name}@{self._at}", width, self._block)

    def _width_of(self, operand: Operand) -> int:
        for register in registers_in(operand, self.routine):
            return TYPE_BITS[self.routine.registers[register]]
        return 32

    # results

    def _assign(self, operand: Operand, value: Term | None, of: str = "") -> None:
        """`value` None: unknown; `of`: its type, where the register may be wider."""
        if not isinstance(operand, Name) or operand.text == "_":
            for register in registers_in(operand, self.routine) if not isinstance(operand, Name | Address) else ():
                self._set(register, None)
            return
        text = operand.text
        if text in self.routine.registers and text not in self.routine.register_vectors:
            self._set(text, value, of)
            return
        for register in registers_in(operand, self.routine):
            if register in self.routine.register_vectors:
                for name in [n for n in self.registers if n.startswith(f"{register}.")] if text == register else [text]:
                    self.registers[name] = self._unknown(name, TYPE_BITS[self.routine.registers[register]])
            else:
                self._set(register, None)

    def _set(self, register: str, value: Term | None, of: str = "") -> None:
        width = 1 if register == CARRY else TYPE_BITS[self.routine.registers[register]]
        value = self._unknown(register, width) if value is None else extended(self.algebra, value, width, of)
        value = self.algebra.light(value)
        if self._guard.value is None:
            old = self.registers.get(register)
            if old is None:
                old = self._unknown(f"{register}.before", width)
            value = self.algebra.select(self._guard, value, old)
        self.registers[register] = value

    def _clobber_results(self, instruction: Instruction) -> None:
        for register in written(instruction, self.routine):
            if register in self.routine.register_vectors:
                self._assign(Name(register), None)
            else:
                self._set(register, None)

    # instructions

    def guard_of(self, instruction: Instruction) -> Term:
        """The predicate under which an instruction runs."""
        self._guard = self.table.const(1, 1)
        if instruction.guard is None:
            return self._guard
        guard = self.read(Name(instruction.guard.name), 1)
        return self.algebra.negation(guard) if instruction.guard.negated else guard

    def step(self, position: int) -> None:
        """Executes instruction `position`; one it does not know makes its results, and memory, unknown."""
        instruction = self.routine.instructions[position]
        self._at = position
        self._guard = self.guard_of(instruction)
        if self._guard.value == 0:
            return
        opcode = instruction.opcode
        if opcode in PURE:
            self._compute(instruction)
        elif opcode == "mov":
            self._move(instruction)
        elif opcode == "cvta":
            self._convert_address(instruction)
        elif opcode in ("ld", "ldu"):
            self._load(instruction)
        elif is_quiet(instruction):
            self._clobber_results(instruction)
        else:
            self._effect(instruction)

    def forget(self, position: int) -> None:
        """Makes the results of instruction `position` unknown."""
        self._at = position
        self._guard = self.table.const(1, 1)
        self._clobber_results(self.routine.instructions[position])

    def _compute(self, instruction: Instruction) -> None:
        types = types_of(instruction)
        first, *rest = instruction.operands if instruction.operands else (None,)
        if first is None:
            return
        widths = source_widths(instruction, types, len(rest))
        sources = tuple(self.read(o, widths[n] if n < len(widths) else None) for n, o in enumerate(rest))
        carry = self.table.const(0, 1)
        if is_carrying(instruction):
            carry = self.registers.get(CARRY) or self._unknown(f"{CARRY}.undefined", 1)
        step = Step(self.algebra, instruction, types, sources, carry)
        second: Operand | None = None
        if isinstance(first, Pair):
            first, second = first.first, first.second
        if not is_well_formed(step):
            self._clobber_results(instruction)
            return
        found = results(step, self._width_of(first))
        self._assign(first, found[0], types[0] if types else "")
        if second is not None:
            self._assign(second, found[1] if instruction.opcode == "setp" else None)
        if "cc" in instruction.modifiers:
            self._set(CARRY, found[1])

    def _move(self, instruction: Instruction) -> None:
        types = types_of(instruction)
        if len(instruction.operands) != 2:
            self._clobber_results(instruction)
            return
        to, source = instruction.operands
        width = TYPE_BITS[types[0]] if types else None
        if isinstance(to, Vector) and width is not None and not isinstance(source, Vector):
            if not to.elements or width % len(to.elements):
                self._clobber_results(instruction)
                return
            value = self.read(source, width)
            part = width // len(to.elements)
            for n, element in enumerate(to.elements):
                piece = self.algebra.trunc(value, part * (n + 1))
                self._assign(element, self.algebra.high(piece, part * n))
            return
        self._assign(to, self.read(source, width), types[0] if types else "")

    def _convert_address(self, instruction: Instruction) -> None:
        """Global addresses are generic ones; other windows begin somewhere (PTX ISA 6.4.1)."""
        space = memory.space_of(instruction)
        width = TYPE_BITS[types_of(instruction)[0]] if types_of(instruction) else 64
        if len(instruction.operands) != 2:
            self._clobber_results(instruction)
            return
        value = self.read(instruction.operands[1], width)
        if space not in ("global", "generic"):
            window = self.table.special(f"window.{space}", width)
            value = self.algebra.add(value, window, -1 if "to" in instruction.modifiers else 1)
        self._assign(instruction.operands[0], value)

    # memory

    def _address(self, operand: Operand, space: str) -> Term | None:
        """Address of an operand, at 64 bits for global and generic, else at 32."""
        if not isinstance(operand, Address):
            return None
        if operand.rest:
            return None
        address = self.read(operand)
        width = 64 if space in ("global", "generic") else 32
        if address.width == width:
            return address
        return self.algebra.trunc(address, width) if address.width > width else self.algebra.zext(address, width)

    def _load(self, instruction: Instruction) -> None:
        space = memory.space_of(instruction)
        types = types_of(instruction)
        if self._trace is None or len(instruction.operands) < 2 or not types:
            self._clobber_results(instruction)
            return
        to, source = instruction.operands[:2]
        bits = TYPE_BITS[types[-1]]
        count = vector_elements(instruction)
        targets = to.elements if isinstance(to, Vector) else (to,)
        address = self._address(source, space)
        values: list[Term] = []
        version = 0
        read_only = "nc" in instruction.modifiers or space in ("const", "param")
        is_weak = not {"volatile", "relaxed", "acquire", "mmio"}.intersection(instruction.modifiers)
        if not read_only:
            version = self._trace.versions.seen_by(self.algebra, space, address, bits * count // 8)
        for n in range(count):
            if address is None or not is_weak:
                values.append(self._unknown(f"load.{n}", bits))
            else:
                values.append(self._loaded(address, n * bits // 8, bits, space, version, read_only=read_only))
        access = self._record("load", instruction, space, address, tuple(values), types[-1], version)
        if "acquire" in instruction.modifiers:
            self._trace.versions.add(Clobber(access.index, "*", None, 0))
        if len(targets) != count:
            self._clobber_results(instruction)
            return
        for target, value in zip(targets, values, strict=True):
            self._assign(target, value, types[-1])

    def _loaded(self, address: Term, offset: int, bits: int, space: str, version: int, *, read_only: bool) -> Term:
        if space == "param":
            constant, parts = linear(address)
            name = parts[0][0] if len(parts) == 1 and parts[0][1] == 1 else None
            base = name.args[0] if name is not None and name.op == "trunc" else None
            variable = str(base.data[0]) if base is not None and base.op == "address" else ""
            if any(p.name == variable for p in self.routine.parameters):
                return self.table.parameter(variable, constant + offset, bits)
            if not self.routine.is_entry or variable:
                return self._unknown(f"param.{offset}", bits)  # a result of a call
        assert self._trace is not None
        counters: tuple[Term, ...] = ()
        if not read_only:
            changing = [h for h in self._loops if any(memory.may_share(space, w) for w in self._trace.loop_writes.get(h, ()))]
            counters = tuple(self.table.counter(h) for h in changing)
        at = self.algebra.shifted(address, offset)
        return self.table.load(at, bits, space, version, counters, read_only=read_only)

    def _record(
        self,
        kind: AccessKind,
        instruction: Instruction,
        space: str,
        address: Term | None,
        values: tuple[Term, ...],
        of: str,
        version: int = 0,
    ) -> Access:
        """`values` has one entry for every element that is read or written, or none."""
        assert self._trace is not None
        access = Access(
            len(self._trace.accesses), self._at, kind, space, of, TYPE_BITS.get(of, 0), vector_elements(instruction),
            instruction.modifiers,
            address, values, self._guard, self._block, self._loops, version,
        )  # fmt: skip
        self._trace.accesses.append(access)
        return access

    def _effect(self, instruction: Instruction) -> None:
        """Stores, atomics, barriers, calls, copies, and everything unknown."""
        if self._trace is None:
            self._clobber_results(instruction)
            return
        kind, space, position = effect_of(instruction)
        types = types_of(instruction)
        of = types[-1] if types else ""
        address: Term | None = None
        values: tuple[Term, ...] = ()
        if position is not None and position < len(instruction.operands):
            address = self._address(instruction.operands[position], space)
            if kind == "store" and position + 1 < len(instruction.operands) and types:
                value = instruction.operands[position + 1]
                elements = value.elements if isinstance(value, Vector) else (value,)
                values = tuple(self.read(e, TYPE_BITS[of]) for e in elements)
        access = self._record(kind, instruction, space, address, values, of)
        self._clobber_results(instruction)
        clobber = effect_clobber(access)
        if clobber is not None:
            self._trace.versions.add(clobber)
