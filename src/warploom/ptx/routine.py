"""A function ready to run: one flat list of instructions, names made unique, labels resolved to positions.

    Module --lower--> Program { routines, variables }

Scopes (braces open a scope) are gone: a register `%r1` declared in an inner block is renamed `%r1'2` when another one bears the
name. Nothing else of an instruction changes, and each keeps its extent in the source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from warploom.core import Diagnostic, Span, UserError
from warploom.ptx.scopes import RegisterRange, Scope
from warploom.ptx.syntax import (
    Address,
    Block,
    Declaration,
    Declarator,
    Directive,
    Function,
    Group,
    Guard,
    Initialiser,
    Instruction,
    Label,
    Module,
    Name,
    Negation,
    Operand,
    Pair,
    Source,
    Statement,
    Subscript,
    Sum,
    Vector,
    integer_literal,
)

SPECIAL_REGISTERS: dict[str, str] = {
    **{f"%{n}.{c}": "u32" for n in ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid",
                                    "cluster_nctaid") for c in "xyzw"},
    **{f"%{n}": "u32" for n in ("laneid", "warpid", "nwarpid", "smid", "nsmid", "lanemask_eq", "lanemask_le", "lanemask_lt",
                                "lanemask_ge", "lanemask_gt", "clock", "clock_hi", "globaltimer_lo", "globaltimer_hi",
                                "cluster_ctarank", "cluster_nctarank", "total_smem_size", "dynamic_smem_size",
                                "aggr_smem_size", "reserved_smem_offset_begin", "reserved_smem_offset_end",
                                "reserved_smem_offset_cap", "reserved_smem_offset_0", "reserved_smem_offset_1")},
    **{f"%{n}": "u64" for n in ("gridid", "clock64", "globaltimer", "current_graph_exec")},
    **{f"%pm{n}": "u32" for n in range(8)}, **{f"%pm{n}_64": "u64" for n in range(8)},
    **{f"%envreg{n}": "b32" for n in range(32)},
    "%is_explicit_cluster": "pred",
}  # fmt: skip
"""Name with component -> type (PTX ISA chapter 10)."""

TYPE_BITS: dict[str, int] = {
    "pred": 1, "b8": 8, "u8": 8, "s8": 8, "e4m3": 8, "e5m2": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16,
    "e4m3x2": 16, "e5m2x2": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "tf32": 32, "u16x2": 32,
    "s16x2": 32, "b64": 64, "u64": 64, "s64": 64, "f64": 64, "f32x2": 64, "b128": 128,
    "texref": 64, "samplerref": 64, "surfref": 64,
}  # fmt: skip

_COMPONENT = re.compile(r"(?P<base>.+)\.(?P<component>[xyzw]|[rgba]|b[0-3]|h[01])\Z")


@dataclass(frozen=True, slots=True)
class Variable:
    """A named piece of memory: a parameter, a shared, local, global or constant variable."""

    name: str
    """Name, unique in its routine or in the module."""
    space: str
    """param, shared, local, global, const."""
    type: str
    size_bytes: int
    """0 for `[]` (dynamic shared memory, unsized extern)."""
    align: int
    dimensions: tuple[int | None, ...]
    vector: int
    linkage: tuple[str, ...]
    attributes: tuple[str, ...]
    pointer_align: int | None
    initialiser: Initialiser | None
    span: Span


@dataclass(frozen=True, slots=True)
class Routine:
    """A kernel or device function with a body."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    directives: tuple[Directive, ...]
    """maxntid, reqntid, ..."""
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    """Label -> index of the instruction that follows it; `len(instructions)` at the end."""
    registers: dict[str, str]
    """Unique name -> type (`pred`, `b32`, `f32`, ...); parameters in .reg space included. Of `.reg .b32 %r<100>` those that an
    instruction names stand here. A vector register `%v` (`.v4`) stands here under `%v` with its component type, and in
    `register_vectors`."""
    register_vectors: dict[str, int]
    variables: dict[str, Variable]
    """Declared inside the body, and the parameters."""
    targets: dict[str, tuple[str, ...]]
    """Labels of `.branchtargets` and `.calltargets` directives, with their targets."""
    prototypes: dict[str, str]
    """Labels of `.callprototype` directives, with their text as written."""
    source: Source

    def span(self, index: int) -> Span:
        """Place of instruction `index` in the text."""
        extent = self.instructions[index].extent
        return self.source.span(max(extent.start, 0), extent.end)

    def directive(self, name: str) -> tuple[int, ...] | None:
        """Numbers of `.maxntid`, `.reqntid`, `.minnctapersm` ...; None when absent."""
        for directive in self.directives:
            if directive.name == name:
                values = map(integer_literal, re.findall(r"\w+", directive.arguments))
                return tuple(value[0] for value in values if value is not None)
        return None


@dataclass(frozen=True, slots=True)
class Program:
    """All routines of a module, its variables, and the names it only declares."""

    module: Module
    routines: dict[str, Routine]
    variables: dict[str, Variable]
    declared: dict[str, Function]
    """Functions without a body (extern, forward declarations whose body follows are not here)."""

    @property
    def kernels(self) -> tuple[Routine, ...]:
        return tuple(r for r in self.routines.values() if r.is_entry)

    def kernel(self, name: str | None = None) -> Routine:
        """The kernel of that name, or the only one; UserError (NO_KERNEL, SEVERAL_KERNELS)."""
        names = [k.name for k in self.kernels]
        span = Span(self.module.file, 1, 1, 1, 2)
        if name is None and len(names) == 1:
            return self.kernels[0]
        if name in names:
            return self.routines[name]
        if not names:
            raise UserError(Diagnostic("NO_KERNEL", "expected a kernel (.entry), found none", span))
        listed = ", ".join(names)
        if name is None:
            raise UserError(Diagnostic("SEVERAL_KERNELS", f"expected one kernel, found {len(names)}: {listed}", span,
                                       fix=f"Name one: --kernel {names[0]}"))  # fmt: skip
        raise UserError(Diagnostic("NO_KERNEL", f"expected one of {listed}, got {name!r}", span))


def lower(module: Module) -> Program:
    """Every function with a body as a routine; UserError (PTX_NAME, PTX_LABEL, PTX_TYPE) collects undeclared and repeated names
    and unknown types.

    The last one is kept: that a file is right is seen by lowering it, and what works with it lowers it again."""
    for known, program in _last:
        if known is module:
            return program
    program = _lowered(module)
    _last[:] = [(module, program)]
    return program


_last: list[tuple[Module, Program]] = []


def _lowered(module: Module) -> Program:
    source = Source(module.text, module.file)
    variables: dict[str, Variable] = {}
    functions: dict[str, Function] = {}
    faults: list[Diagnostic] = []
    for item in module.items:
        if isinstance(item, Declaration):
            faults += _type_faults(item, source)
            for variable in _variables(item, source):
                variables[variable.name] = variable
        elif isinstance(item, Function) and (item.body is not None or item.name not in functions):
            functions[item.name] = item
    known = set(variables) | set(functions) | _alias_names(module)
    routines: dict[str, Routine] = {}
    for function in functions.values():
        if function.body is not None:
            builder = _Builder(function, source, known)
            routines[function.name] = builder.routine()
            faults += builder.faults
    if faults:
        raise UserError(*faults)
    return Program(module, routines, variables, {n: f for n, f in functions.items() if f.body is None})


def _alias_names(module: Module) -> set[str]:
    names: set[str] = set()
    for item in module.items:
        if isinstance(item, Directive) and item.name == "alias":
            names.update(n.strip() for n in item.arguments.split(","))
    return names


def _variables(declaration: Declaration, source: Source, rename: dict[str, str] | None = None) -> list[Variable]:
    found: list[Variable] = []
    extent = declaration.extent
    span = source.span(max(extent.start, 0), max(extent.end, 1))
    for declarator in declaration.declarators:
        element = TYPE_BITS.get(declaration.type, 0) // 8 * declaration.vector
        dimensions = declarator.dimensions
        if dimensions and dimensions[0] is None and declarator.initialiser is not None:
            dimensions = (len(declarator.initialiser.elements), *dimensions[1:])
        size = element
        for extent_elems in dimensions:
            size *= extent_elems or 0
        align = declaration.align or max(element, 1)
        found += [
            Variable(
                (rename or {}).get(name, name), declaration.space, declaration.type, size, align, dimensions, declaration.vector,
                declaration.linkage, declaration.attributes, declaration.pointer_align, declarator.initialiser, span,
            )
            for name in _expanded(declarator)
        ]  # fmt: skip
    return found


def _type_faults(declaration: Declaration, source: Source) -> list[Diagnostic]:
    """Diagnostics where the type is none of PTX ISA 5.2; [] for one that is."""
    if declaration.type in TYPE_BITS:
        return []
    span = source.span(max(declaration.extent.start, 0), declaration.extent.end)
    message = f"expected a type such as .b32 in the declaration, found .{declaration.type}"
    return [Diagnostic("PTX_TYPE", message, span, fix=f"Write .{declaration.space} .b32 NAME.")]


def _expanded(declarator: Declarator) -> list[str]:
    if declarator.count is None:
        return [declarator.name]
    return [f"{declarator.name}{n}" for n in range(declarator.count)]


class _Builder:
    def __init__(self, function: Function, source: Source, module_names: set[str]) -> None:
        self.function = function
        self.source = source
        self.module_names = module_names
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.registers: dict[str, str] = {}
        self.register_vectors: dict[str, int] = {}
        self.variables: dict[str, Variable] = {}
        self.targets: dict[str, tuple[str, ...]] = {}
        self.prototypes: dict[str, str] = {}
        self.faults: list[Diagnostic] = []
        self.scopes = 0

    def routine(self) -> Routine:
        function = self.function
        scope = Scope(None)
        parameters = self.declare_all(function.parameters, scope)
        returns = self.declare_all(function.returns, scope)
        assert function.body is not None
        self.block(function.body, scope)
        return Routine(
            function.name, function.is_entry, parameters, returns, function.directives, tuple(self.instructions), self.labels,
            self.registers, self.register_vectors, self.variables, self.targets, self.prototypes, self.source,
        )  # fmt: skip

    def declare_all(self, declarations: tuple[Declaration, ...], scope: Scope) -> tuple[Variable, ...]:
        for declaration in declarations:
            self.declare(declaration, scope)
        return tuple(v for declaration in declarations for v in _variables(declaration, self.source))

    def fault(self, code: str, message: str, start: int, end: int, fix: str = "") -> None:
        self.faults.append(Diagnostic(code, message, self.source.span(max(start, 0), end), fix=fix))

    def unique(self, name: str, scope: Scope) -> str:
        if self.is_free(name) and not scope.is_declared_outside(name):
            return name
        self.scopes += 1
        return f"{name}'{self.scopes}"

    def declare(self, declaration: Declaration, scope: Scope) -> None:
        self.faults += _type_faults(declaration, self.source)
        renamed: dict[str, str] = {}
        is_register = declaration.space == "reg"
        for declarator in declaration.declarators:
            if is_register and declarator.count is not None:
                self.declare_range(declarator, declarator.count, declaration, scope)
                continue
            for name in _expanded(declarator):
                if is_register and name in scope.names:
                    self.fault("PTX_NAME", f"expected a new name, {name} is declared twice", *declaration.extent[1:])
                unique = scope.names[name] = renamed[name] = self.unique(name, scope)
                if is_register:
                    self.registers[unique] = declaration.type
                    if declaration.vector > 1:
                        self.register_vectors[unique] = declaration.vector
        if not is_register:
            for variable in _variables(declaration, self.source, renamed):
                self.variables[variable.name] = variable

    def declare_range(self, declarator: Declarator, count: int, declaration: Declaration, scope: Scope) -> None:
        if declarator.name in scope.ranges:
            message = f"expected new names, {declarator.name}0 is declared twice"
            self.fault("PTX_NAME", message, *declaration.extent[1:])
        scope.ranges[declarator.name] = RegisterRange(count, declaration.type, declaration.vector)

    def find(self, name: str, scope: Scope) -> str | None:
        """The unique name; a register of a parameterised declaration becomes one of the routine."""
        at: Scope | None = scope
        while at is not None:
            found = at.names.get(name)
            if found is not None:
                return found
            declared = at.range_of(name)
            if declared is not None:
                unique = at.names[name] = self.unique(name, at)
                self.registers[unique] = declared.type
                if declared.vector > 1:
                    self.register_vectors[unique] = declared.vector
                return unique
            at = at.outer
        return None

    def block(self, block: Block, scope: Scope) -> None:
        for item in block.items:
            if isinstance(item, Declaration):
                self.declare(item, scope)
            elif isinstance(item, Label):
                if item.name in scope.names:
                    self.fault("PTX_LABEL", f"expected a new label, {item.name} is defined twice", *item.extent[1:])
                unique = self.unique(item.name, scope)
                scope.names[item.name] = unique
                self.labels[unique] = -1
            elif isinstance(item, Directive) and item.label:
                scope.names[item.label] = item.label
        for name in scope.names:
            if scope.range_of(name) is not None:
                self.fault("PTX_NAME", f"expected a new name, {name} is declared twice", *block.extent[1:])
        for item in block.items:
            self.statement(item, scope)

    def is_free(self, name: str) -> bool:
        return name not in self.registers and name not in self.variables and name not in self.labels

    def statement(self, item: Statement, scope: Scope) -> None:
        match item:
            case Instruction():
                self.instructions.append(self.renamed(item, scope))
            case Label(name):
                self.labels[scope.names[name]] = len(self.instructions)
            case Block():
                self.block(item, Scope(scope))
            case Directive(name, arguments, label) if label:
                if name == "callprototype":
                    self.prototypes[label] = arguments
                else:
                    words = [w.strip() for w in arguments.split(",")]
                    self.targets[label] = tuple(self.find(w, scope) or w for w in words)
            case _:
                pass

    def renamed(self, instruction: Instruction, scope: Scope) -> Instruction:
        operands = tuple(self.operand(o, instruction, scope) for o in instruction.operands)
        guard = instruction.guard
        if guard is not None:
            name = self.name(guard.name, instruction, scope)
            guard = guard if name == guard.name else Guard(name, guard.negated)
        if guard is instruction.guard and all(a is b for a, b in zip(operands, instruction.operands, strict=True)):
            return instruction
        return replace(instruction, operands=operands, guard=guard)

    def name(self, text: str, instruction: Instruction, scope: Scope) -> str:
        found = self.find(text, scope)
        if found is not None:
            return found
        if text in SPECIAL_REGISTERS or text in self.module_names or text in ("_", "WARP_SZ"):
            return text
        match = _COMPONENT.match(text)
        if match is not None:
            base = self.find(match["base"], scope)
            if base is not None:
                return f"{base}.{match['component']}"
        if f"{text}.x" in SPECIAL_REGISTERS:
            return text
        if instruction.opcode == "call":
            return text
        is_guard = instruction.guard is not None and instruction.guard.name == text
        if instruction.opcode in ("bra", "brx") and not text.startswith("%") and not is_guard:
            message = f"expected a label of {self.function.name} after {instruction.name}, found {text!r}"
            self.fault("PTX_LABEL", message, *instruction.extent[1:], fix=f"Put {text}: before the instruction to go to.")
            return text
        self.fault(
            "PTX_NAME", f"expected a declared name in {instruction.name}, {text} is not declared", *instruction.extent[1:],
            fix=f"Declare it before: .reg .b32 {text};" if text.startswith("%") else "",
        )  # fmt: skip
        return text

    def operand(self, operand: Operand, instruction: Instruction, scope: Scope) -> Operand:
        def again(inner: Operand) -> Operand:
            return self.operand(inner, instruction, scope)

        match operand:
            case Name(text):
                name = self.name(text, instruction, scope)
                return operand if name == text else Name(name)
            case Address(base, offset, rest):
                new, parts = again(base), tuple(map(again, rest))
                return operand if new is base and parts == rest else Address(new, offset, parts)
            case Vector(elements):
                return Vector(tuple(map(again, elements)))
            case Group(elements):
                return Group(tuple(map(again, elements)))
            case Pair(first, second):
                return Pair(again(first), again(second))
            case Negation(inner):
                return Negation(again(inner))
            case Sum(base, offset):
                return Sum(again(base), offset)
            case Subscript(base, index):
                name = again(base)
                assert isinstance(name, Name)
                return Subscript(name, again(index))
            case _:
                return operand
