"""Checks of a parsed module beyond its grammar: names, operand counts, types, labels, versions.

Goal: no alarm on what ptxas accepts. Non-goal: to refuse all that ptxas refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from warploom.core import Diagnostic, Span, UserError
from warploom.ptx.flow import branch_targets
from warploom.ptx.instructions import Row, find_row, operand_slots, types
from warploom.ptx.routine import TYPE_BITS, Program, Routine, lower
from warploom.ptx.syntax import (
    Address,
    Directive,
    Function,
    Group,
    Instruction,
    Integer,
    Module,
    Name,
    Negation,
    Operand,
    Pair,
    Source,
    Vector,
)

WARNINGS = frozenset({"PTX_NEWER", "PTX_UNKNOWN"})
"""Codes of diagnostics that say a file is unusual rather than wrong: an instruction newer than `.version` or `.target`, or one
that the instruction table does not have."""


def verify(module: Module) -> tuple[Diagnostic, ...]:
    """Everything that is wrong or unusual, in the order of the file; empty for a good file."""
    found = [*_header(module), *_duplicates(module)]
    try:
        program = lower(module)
    except UserError as error:
        return tuple(_in_order([*found, *error.diagnostics]))
    header = _Header.of(module)
    known = _module_names(module, program)
    for routine in program.routines.values():
        found += _Checker(header, known, routine).diagnostics()
    return tuple(_in_order(found))


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda d: (d.span.line, d.span.column))


def _header(module: Module) -> Iterator[Diagnostic]:
    span = Span(module.file, 1, 1, 1, 2)
    for name, example in (("version", "9.0"), ("target", "sm_90")):
        if not module.directive(name):
            message = f"expected .{name} at the start of the file, found none"
            yield Diagnostic("PTX_HEADER", message, span, fix=f"Add .{name} {example}")


def _duplicates(module: Module) -> Iterator[Diagnostic]:
    source = Source(module.text, module.file)
    seen: dict[str, Function] = {}
    for function in module.functions:
        if function.body is None:
            continue
        earlier = seen.setdefault(function.name, function)
        if earlier is not function:
            first = source.span(max(earlier.extent.start, 0))
            message = f"expected one body of {function.name}, found two"
            here = source.span(max(function.extent.start, 0))
            yield Diagnostic("PTX_DUPLICATE", message, here, fix="Rename one.", notes=(("the first one", first),))


@dataclass(frozen=True, slots=True)
class _Header:
    """PTX version and target in the file's header; None where it says nothing."""

    version: tuple[int, int] | None
    sm: int | None

    @staticmethod
    def of(module: Module) -> _Header:
        version = re.match(r"(\d{1,4})\.(\d{1,4})", module.directive("version"))
        target = re.match(r"sm_(\d{1,6})", module.directive("target"))
        return _Header(
            (int(version[1]), int(version[2])) if version is not None else None, int(target[1]) if target is not None else None
        )  # fmt: skip


def _module_names(module: Module, program: Program) -> frozenset[str]:
    """Names that a call may use."""
    names = {*program.routines, *program.declared, *program.variables}
    for item in module.items:
        if isinstance(item, Directive) and item.name == "alias":
            names.update(name.strip() for name in item.arguments.split(","))
    return frozenset(names)


class _Checker:
    def __init__(self, header: _Header, known: frozenset[str], routine: Routine) -> None:
        self.header = header
        self.routine = routine
        self.known = known
        self.found: list[Diagnostic] = []

    def diagnostics(self) -> list[Diagnostic]:
        for index, instruction in enumerate(self.routine.instructions):
            self.guard(index, instruction)
            row = find_row(instruction)
            if row is None:
                message = f"expected an instruction of PTX ISA 9.1, found {instruction.name}"
                self.say("PTX_UNKNOWN", message, index)
                continue
            self.age(index, instruction, row)
            if instruction.opcode == "call":
                self.call(index, instruction)
            elif operand_slots(instruction) is None:
                self.count(index, instruction, row)
            else:
                self.types(index, instruction)
            if instruction.opcode in ("bra", "brx") and operand_slots(instruction) is not None:
                try:
                    branch_targets(self.routine, index)
                except UserError as error:
                    self.found += error.diagnostics
        return self.found

    def say(self, code: str, message: str, index: int, fix: str = "") -> None:
        self.found.append(Diagnostic(code, message, self.routine.span(index), fix=fix))

    def guard(self, index: int, instruction: Instruction) -> None:
        if instruction.guard is None:
            return
        kind = self.routine.registers.get(instruction.guard.name, "")
        if kind != "pred":
            described = f"a register of type .{kind}" if kind else "no register"
            message = f"expected a predicate register as the guard, found {instruction.guard.name}, {described}"
            self.say("PTX_GUARD", message, index, "Guard by a .pred register that setp writes.")

    def age(self, index: int, instruction: Instruction, row: Row) -> None:
        if self.header.version is not None and row.ptx > self.header.version:
            needed = "{}.{}".format(*row.ptx)
            self.say("PTX_NEWER", f"expected .version {needed} or later for {instruction.name}", index, f".version {needed}")
        if self.header.sm is not None and row.sm > self.header.sm:
            self.say("PTX_NEWER", f"expected .target sm_{row.sm} or later for {instruction.name}", index, f".target sm_{row.sm}")

    def count(self, index: int, instruction: Instruction, row: Row) -> None:
        fewest, most = row.operand_counts
        wanted = str(fewest) if fewest == most else f"at least {fewest}" if most is None else f"{fewest} to {most}"
        plural = "" if wanted == "1" else "s"
        message = f"expected {wanted} operand{plural} of {instruction.name}, found {len(instruction.operands)}"
        self.say("PTX_OPERANDS", message, index)

    def call(self, index: int, instruction: Instruction) -> None:
        named = [o for o in instruction.operands if isinstance(o, Name)]
        if not named:
            self.say("PTX_OPERANDS", "expected the name of a function after call, found none", index)
            return
        callee = named[0].text
        if callee not in self.known and callee not in self.routine.registers:
            message = f"expected a function of the module or a register after call, found {callee!r}"
            self.say("PTX_NAME", message, index, f"Declare it: .extern .func {callee};")

    def types(self, index: int, instruction: Instruction) -> None:
        slots = operand_slots(instruction)
        assert slots is not None
        named = types(instruction)
        if not named and any(slot.type in ("1", "2", "w") for slot in slots):
            self.say("PTX_TYPE", f"expected a type such as .b32 in {instruction.name}, found none", index)
        if instruction.opcode == "cvt" and "pack" not in instruction.modifiers and len(named) != 2:
            self.say("PTX_TYPE", f"expected two types in {instruction.name}, found {len(named)}", index)
        letters = _LETTERS.get(instruction.opcode, "")
        if letters and "cc" not in instruction.modifiers and named and named[0] in _WORDS and named[0][0] not in letters:
            wanted = " or ".join(f".{letter}{named[0][1:]}" for letter in letters)
            self.say("PTX_TYPE", f"expected {wanted} as the type of {instruction.opcode}, found .{named[0]}", index)
        if instruction.opcode == "lop3" and isinstance(table := instruction.operands[4], Integer) and not 0 <= table.value <= 255:
            self.say("PTX_VALUE", f"expected a table of 0 to 255 in {instruction.name}, found {table.value}", index)
        is_load_or_store = instruction.opcode in ("ld", "st", "ldu")
        for slot, operand in zip(slots, instruction.operands, strict=True):
            expected = _expected(slot.type, named, instruction)
            if is_load_or_store and slot.role in ("d", "a") and named:
                self.at_least(index, instruction, operand, named[-1])
            elif expected == "pred":
                self.predicate(index, instruction, operand)
            elif expected:
                self.agrees(index, instruction, operand.first if isinstance(operand, Pair) else operand, expected)

    def predicate(self, index: int, instruction: Instruction, operand: Operand) -> None:
        names = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
        for name in names:
            inner = name.operand if isinstance(name, Negation) else name
            kind = self.kind(inner)
            if kind and kind != "pred" and isinstance(inner, Name):
                self.say(
                    "PTX_TYPE", f"expected a .pred register in {instruction.name}, found {inner.text} of type .{kind}", index
                )

    def at_least(self, index: int, instruction: Instruction, operand: Operand, wanted: str) -> None:
        """Loads and stores may use registers wider than their type (PTX ISA 9.4.1)."""
        for part in operand.elements if isinstance(operand, Vector) else (operand,):
            kind = self.kind(part)
            if kind and isinstance(part, Name) and TYPE_BITS.get(kind, 1 << 20) < TYPE_BITS.get(wanted, 0):
                message = f"expected a register of at least {TYPE_BITS[wanted]} bits in {instruction.name}, "
                self.say("PTX_TYPE", f"{message}found {part.text} of type .{kind}", index)

    def agrees(self, index: int, instruction: Instruction, operand: Operand, wanted: str) -> None:
        """Checks that register and instruction have the same width, and that no integer register stands for a float or the
        reverse (PTX ISA 9.4)."""
        bits = TYPE_BITS.get(wanted)
        if bits is None or isinstance(operand, (Address, Group)):
            return
        if isinstance(operand, Vector):
            kinds = [self.kind(e) for e in operand.elements]
            widths = [TYPE_BITS.get(k, 0) for k in kinds]
            if all(widths) and sum(widths) != bits:
                message = f"expected a vector of {bits} bits in {instruction.name}, found one of {sum(widths)} bits"
                self.say("PTX_TYPE", message, index)
            return
        kind = self.kind(operand)
        if kind and isinstance(operand, Name) and (TYPE_BITS.get(kind, bits) != bits or _family(kind, wanted)):
            message = f"expected a .{wanted} register in {instruction.name}, found {operand.text} of type .{kind}"
            self.say("PTX_TYPE", message, index, f"Declare it as .reg .b{bits}, or convert it by cvt." if bits > 1 else "")

    def kind(self, operand: Operand) -> str:
        """Type of a scalar register or of an element of a vector register; '' for all else."""
        if not isinstance(operand, Name):
            return ""
        if operand.text in self.routine.registers:
            return "" if operand.text in self.routine.register_vectors else self.routine.registers[operand.text]
        base, _, _ = operand.text.rpartition(".")
        return self.routine.registers.get(base, "")


def _expected(slot: str, named: tuple[str, ...], instruction: Instruction) -> str:
    """The type that a slot asks for; '' when there is no rule."""
    first = next(iter(named), "")
    match slot:
        case "p":
            return "pred"
        case "1":
            return first
        case "w":
            return _TWICE.get(first, "") if "wide" in instruction.modifiers else first
        case "2":
            return named[1] if len(named) > 1 else first
        case _:
            return slot


_WORDS = frozenset({f"{letter}{bits}" for letter in "bus" for bits in (8, 16, 32, 64)})
_LETTERS = {
    **dict.fromkeys(("abs", "neg"), "s"),
    **dict.fromkeys(("add", "sub", "mul", "mad", "mul24", "mad24", "sad", "div", "rem", "min", "max", "bfe"), "us"),
    **dict.fromkeys(("and", "or", "xor", "not", "cnot", "shl", "popc", "clz", "brev", "bfi", "prmt", "lop3", "shf"), "b"),
}
"""Letters of the integer types that an operation has (PTX ISA 9.7.1, 9.7.8); ptxas refuses the others."""

_TWICE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "u64": "b128", "s64": "b128"}


def _family(kind: str, wanted: str) -> bool:
    """Whether one is a float and the other an integer; bits go with both, and ptxas takes .f16x2 for bits."""
    if kind == "f16x2":
        return False
    return (kind[0] == "f" and wanted[0] in "us") or (kind[0] in "us" and wanted[0] == "f")
