"""Checks of a parsed module beyond its grammar: names, operand counts, types, labels, versions.

Goal: no alarm on what ptxas accepts. Non-goal: to refuse all that ptxas refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from warploom.core import Diagnostic, Span, UserError
from warploom.ptx.flow import branch_targets
from warploom.ptx.instructions import (
    COMBINING,
    Row,
    data_types,
    find_row,
    has_form,
    operand_faults,
    operand_names,
    operand_slots,
    space,
    types,
    types_of_forms,
)
from warploom.ptx.routine import SPECIAL_REGISTERS, TYPE_BITS, Program, Routine, Variable, lower
from warploom.ptx.syntax import (
    Address,
    Directive,
    Float,
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
    operand_text,
)

WARNINGS = frozenset({"PTX_NEWER", "PTX_UNKNOWN"})
"""Codes of diagnostics that say a file is unusual rather than wrong: an instruction newer than `.version` or `.target`, or one
that the instruction table does not have."""
NEWEST = (9, 1)
"""The PTX ISA whose forms the instruction table has; what a newer file writes may be a new form."""


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
        found += _Checker(header, known, routine, program.variables).diagnostics()
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
    def __init__(self, header: _Header, known: frozenset[str], routine: Routine, variables: Mapping[str, Variable]) -> None:
        self.header = header
        self.version: tuple[int, int] = header.version or NEWEST
        self.variables = variables
        self.routine = routine
        self.known = known
        self.found: list[Diagnostic] = []

    def diagnostics(self) -> list[Diagnostic]:
        for index, instruction in enumerate(self.routine.instructions):
            self.guard(index, instruction)
            row = find_row(instruction)
            if row is None:
                self.unknown(index, instruction)
                continue
            self.age(index, instruction, row)
            if instruction.opcode == "call":
                self.call(index, instruction)
            elif operand_slots(instruction) is None:
                self.count(index, instruction, row)
            else:
                said = len(self.found)
                self.types(index, instruction)
                if len(self.found) == said and not has_form(instruction):
                    self.form(index, instruction)
            if instruction.opcode in ("bra", "brx") and operand_slots(instruction) is not None:
                try:
                    branch_targets(self.routine, index)
                except UserError as error:
                    self.found += error.diagnostics
        return self.found

    def unknown(self, index: int, instruction: Instruction) -> None:
        if has_form(instruction):
            self.say("PTX_UNKNOWN", f"expected an instruction of PTX ISA 9.1, found {instruction.name}", index)
        else:
            self.form(index, instruction)

    def form(self, index: int, instruction: Instruction) -> None:
        """Modifiers that PTX does not have together."""
        wanted = types_of_forms(instruction)
        found = types(instruction)
        if self.version > NEWEST:
            self.say("PTX_UNKNOWN", f"expected an instruction of PTX ISA 9.1, found {instruction.name}", index)
        elif wanted and found:
            of_width = [w for w in wanted if _WIDTH.findall(w) == _WIDTH.findall(".".join(found))] or wanted
            listed = " or ".join(of_width) if len(of_width) < 5 else ", ".join(of_width[:4]) + " ..."
            message = f"expected {listed} as the type of {instruction.opcode}, found .{'.'.join(found)}"
            self.say("PTX_TYPE", message, index)
        else:
            message = f"expected {instruction.opcode} with modifiers that it has in PTX, found {instruction.name}"
            self.say("PTX_FORM", message, index, "PTX ISA 9.7 lists the forms of each instruction.")

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
        if row.name in ("shfl", "vote") and self.version >= (6, 4) and (self.header.sm or 0) >= 70:
            message = f"expected {instruction.opcode}.sync from PTX 6.4 and sm_70 on, found {instruction.name}"
            self.say("PTX_FORM", message, index, "Name the lanes that take part: .sync, and a mask as the last operand.")
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
        self.operands(index, instruction)
        is_conversion = instruction.opcode == "cvt" and len(named) == len(instruction.operands) == 2
        if (
            instruction.opcode == "mov"
            and named
            and named[0][0] != "b"
            and any(isinstance(o, Vector) for o in instruction.operands)
        ):
            message = f"expected a type of bits such as .b64 in a mov of parts, found .{named[0]}"
            self.say("PTX_TYPE", message, index)
        is_load_or_store = instruction.opcode in ("ld", "st", "ldu")
        kinds = data_types(instruction)
        for k, (slot, operand) in enumerate(zip(slots, instruction.operands, strict=True)):
            expected = kinds.get(k) or _expected(slot.type, named, instruction)
            if k in kinds and isinstance(operand, Vector):
                for element in operand.elements:
                    self.agrees(index, instruction, element, expected)
                expected = ""
            if instruction.opcode == "cvt" and k and k in kinds:
                self.at_least(index, instruction, operand, expected)
                expected = expected if isinstance(operand, Integer | Float) else ""
            elif is_conversion and not kinds:
                self.at_least(index, instruction, operand, named[k])
                expected = named[k] if isinstance(operand, Integer | Float) else ""
            if is_load_or_store and slot.role in ("d", "a") and named:
                self.at_least(index, instruction, operand, named[-1])
            elif expected == "pred":
                self.predicate(index, instruction, operand)
            elif expected:
                self.agrees(index, instruction, operand.first if isinstance(operand, Pair) else operand, expected)
            if isinstance(operand, Address):
                self.address(index, instruction, operand)
            elif slot.role == "d":
                self.is_register(index, instruction, operand)
            elif slot.role == "a":
                is_stored = instruction.opcode == "st" and k == 1 and named
                self.is_source(index, instruction, operand, named[-1] if is_stored else expected)

    def operands(self, index: int, instruction: Instruction) -> None:
        """Places, numbers and values of operands; a predicate beside the result of setp and lop3 where they combine with one."""
        for code, wanted, found in operand_faults(instruction, self.width):
            self.say(code, f"expected {wanted} in {instruction.name}, found {found}", index)
        opcode, operands, modifiers = instruction.opcode, instruction.operands, instruction.modifiers
        combines = not COMBINING.isdisjoint(modifiers)
        has_two = isinstance(operands[0], Pair) if operands else False
        if (opcode == "lop3" and has_two != combines) or (opcode == "setp" and has_two and not _HALVES.isdisjoint(modifiers)):
            message = f"expected {'one result' if has_two else 'a predicate beside the result'} of {instruction.name}, "
            self.say("PTX_OPERANDS", f"{message}found {operand_text(operands[0])}", index)

    def width(self, operand: Operand) -> int:
        """Elements of a register; a vector register has its own number."""
        return self.routine.register_vectors.get(operand.text, 1) if isinstance(operand, Name) else 1

    def predicate(self, index: int, instruction: Instruction, operand: Operand) -> None:
        names = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
        for name in names:
            inner = name.operand if isinstance(name, Negation) else name
            kind = self.kind(inner)
            if kind and kind != "pred" and isinstance(inner, Name):
                self.say(
                    "PTX_TYPE", f"expected a .pred register in {instruction.name}, found {inner.text} of type .{kind}", index
                )

    def is_register(self, index: int, instruction: Instruction, operand: Operand) -> None:
        """Results go to registers that are not special ones; those of arithmetic may not be left out."""
        row = find_row(instruction)
        may_be_left_out = row is None or row.kind not in _COMPUTING or isinstance(operand, Pair | Vector)
        for part in _parts(operand):
            if isinstance(part, Integer | Float | Negation) or (
                isinstance(part, Name)
                and (part.text in _READ_ONLY or part.text == "WARP_SZ" or (part.text == "_" and not may_be_left_out))
            ):
                found = operand_text(part)
                self.say("PTX_OPERANDS", f"expected a register for the result of {instruction.name}, found {found}", index)

    def is_source(self, index: int, instruction: Instruction, operand: Operand, expected: str) -> None:
        """Only mov and cvt read special registers and only mov and cvta the addresses of variables, nothing reads `_`, and a
        constant is one of the operand's type (PTX ISA 4.5, 9.7.9.3)."""
        expected = "" if isinstance(operand, Vector) and instruction.opcode == "mov" else expected
        for part in _parts(operand):
            if isinstance(part, Integer | Float) and not _is_constant_of(part, expected):
                message = f"expected a constant of type .{expected} in {instruction.name}, found {operand_text(part)}"
                self.say("PTX_VALUE", message, index, "Write floats as 0f3F800000 or 1.0, integers without a point.")
            elif (isinstance(part, Negation) and expected not in ("", "pred")) or (
                isinstance(part, Name) and (part.text == "_" or not self.is_readable(instruction, operand_names(part), expected))
            ):
                message = f"expected a register or a number in {instruction.name}, found {operand_text(part)}"
                self.say("PTX_OPERANDS", message, index, "Move it into a register first.")

    def is_readable(self, instruction: Instruction, names: tuple[str, ...], expected: str) -> bool:
        """Whether the instruction may have this name as a source."""
        name = next(iter(names), "")
        if name in _READ_ONLY and expected:
            is_exact = TYPE_BITS[SPECIAL_REGISTERS[name]] == TYPE_BITS.get(expected, 0) and expected[0] != "f"
            is_short = (TYPE_BITS.get(expected) == 16 and name.startswith(_SHORT)) or name == "%gridid"
            return instruction.opcode == "cvt" or (instruction.opcode == "mov" and (is_exact or is_short))
        if self.space_of(name):
            return instruction.opcode in ("mov", "cvta", "call") or not expected
        return True

    def address(self, index: int, instruction: Instruction, operand: Address) -> None:
        """A variable is accessed in its own space, or by generic addresses if these reach it; predicates are no addresses."""
        if isinstance(operand.base, Float | Negation):
            message = f"expected an address in {instruction.name}, found [{operand_text(operand.base)}]"
            self.say("PTX_OPERANDS", message, index)
        if not isinstance(operand.base, Name) or instruction.opcode not in ("ld", "st", "atom", "red", "ldu"):
            return
        name, named = operand.base.text, space(instruction)
        if named in ("", "global") and (self.header.sm or 0) >= 90 and TYPE_BITS.get(self.kind(operand.base)) == 32:
            message = f"expected an address of 64 bits in {instruction.name}, found {name} of type .{self.kind(operand.base)}"
            self.say("PTX_TYPE", message, index, "Write .shared for an address in shared memory, or widen it by cvt.u64.u32.")
        own = self.space_of(name)
        if own and (own != named if named else own in ("const", "param")):
            message = f"expected a variable in {named or 'global, shared or local'} memory in {instruction.name}, "
            self.say("PTX_SPACE", f"{message}found {name} in {own} memory", index, f"Write {instruction.opcode}.{own}.")
        elif name in _READ_ONLY or self.routine.registers.get(name) == "pred":
            self.say("PTX_OPERANDS", f"expected an address in {instruction.name}, found [{name}]", index)

    def space_of(self, name: str) -> str:
        """Where a variable lies; '' for other names."""
        own = self.routine.variables.get(name) or self.variables.get(name)
        if own is None:
            own = next((p for p in self.routine.parameters if p.name == name), None)
        return "" if own is None or name in self.routine.registers else own.space

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


_COMPUTING = frozenset({"integer", "float", "half", "compare", "logic", "move", "convert"})
_HALVES = frozenset({"f16", "bf16"})


def _parts(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Vector):
        return operand.elements
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)


_WIDTH = re.compile(r"(?<=\D)\d+")
_READ_ONLY = frozenset(SPECIAL_REGISTERS)
_SHORT = ("%tid", "%ntid", "%ctaid", "%nctaid")
"""Special registers that a mov of 16 bits reads, too."""


def _is_constant_of(constant: Integer | Float, wanted: str) -> bool:
    """Whether a constant may stand for an operand of that type: integers for integers and bits, floats for f32 and f64, floats of
    the same width for bits of 32 and 64; none for halves, which have no constants."""
    letter, bits = wanted[:1], TYPE_BITS.get(wanted)
    if bits is None or wanted == "pred":
        return bits is None or isinstance(constant, Integer)
    if wanted in ("f32", "f64"):
        return isinstance(constant, Float)
    if wanted.startswith(("f16", "bf16")):
        return False
    return isinstance(constant, Integer) or (letter == "b" and constant.width == bits)


_TWICE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "u64": "b128", "s64": "b128"}


def _family(kind: str, wanted: str) -> bool:
    """Whether one is a float and the other an integer; bits go with both, and ptxas takes .f16x2 for bits."""
    if kind == "f16x2":
        return False
    return (kind[0] == "f" and wanted[0] in "us") or (kind[0] in "us" and wanted[0] == "f")
