"""Programs that move words between registers and lanes, instruction by instruction, and their text in CUDA C++.

Expressions are texts in `lane` (the number of the thread) and in names given before, as `layout.expressions` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.ctext import BARRIER, SHUFFLES
from warploom.layout import expressions

MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"
VECTORS = {1: "unsigned", 2: "uint2", 4: "uint4"}


@dataclass(frozen=True, slots=True)
class Index:
    """`name` stands for an expression from here on."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Flag:
    """`name` holds where the expression is not 0."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Select:
    name: str
    flag: str
    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Reads `value` of the lane that the expression names, modulo the lanes of a group."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Permute:
    """PRMT: byte i is byte `selector >> 4 i & 7` of the eight of `low`, `high`."""

    name: str
    low: str
    high: str
    selector: str


@dataclass(frozen=True, slots=True)
class Merge:
    """LOP3: the bits of `value`, moved by `shift` (up if positive), where the mask has ones, and else those of `kept`."""

    name: str
    kept: str
    value: str
    shift: Literal[-4, 0, 4]
    mask: str

    @property
    def moved(self) -> str:
        return self.value if not self.shift else f"({self.value} {'<<' if self.shift > 0 else '>>'} {abs(self.shift)})"


@dataclass(frozen=True, slots=True)
class Transpose:
    """movmatrix: lanes 4 r to 4 r + 3 hold row r of 8 x 8 halves of words, before and after."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Store:
    """Words side by side into shared memory; the address counts words."""

    address: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Load:
    names: tuple[str, ...]
    address: str
    array: Literal["shared", "memory"] = "shared"
    """Shared memory of the threads, or memory that holds the elements in their order."""


@dataclass(frozen=True, slots=True)
class StoreMatrix:
    """stmatrix: row r of matrix m, four words side by side, goes to the address that lane 8 m + r says.

    The row is the words of lanes 4 r to 4 r + 3; where `is_turned`, that of the transposed matrix of halves.
    """

    address: str
    values: tuple[str, ...]
    is_turned: bool


@dataclass(frozen=True, slots=True)
class LoadMatrix:
    """ldmatrix, which is the same backwards."""

    names: tuple[str, ...]
    address: str
    is_turned: bool


@dataclass(frozen=True, slots=True)
class Meet:
    """All threads of the exchange wait for each other's stores."""


Operation: TypeAlias = (
    Index | Flag | Select | Shuffle | Permute | Merge | Transpose | Store | Load | StoreMatrix | LoadMatrix | Meet
)


@dataclass(frozen=True, slots=True)
class Program:
    """One exchange. Inputs are called in[0], in[1], ..."""

    name: str
    threads: int
    lanes: int
    """Threads of a group, which shuffles do not leave."""
    inputs: int
    """Words of the source; 0 if all are loaded from arrays that hold them before."""
    operations: tuple[Operation, ...]
    outputs: tuple[str, ...]
    """The value of each word of the destination; empty for a word that holds nothing."""
    shared_words: int = 0

    def count(self, kind: type) -> int:
        return sum(isinstance(operation, kind) for operation in self.operations)

    @property
    def logic(self) -> int:
        """LOP3 and shifts of values."""
        return sum(1 + bool(operation.shift) for operation in self.operations if isinstance(operation, Merge))

    @property
    def registers(self) -> int:
        """Words and indices that a thread holds at once, at most: what is read later, and all outputs; without flags."""
        live: set[str] = {value for value in self.outputs if value}
        most = len(live)
        for operation in reversed(self.operations):
            live -= defined(operation)
            live |= {name for name in used(operation) if not name.startswith("p") and not name.startswith("q")}
            most = max(most, len(live | defined(operation)))
        return max(most, len({name for name in live if name.startswith("in[")}))


def defined(operation: Operation) -> set[str]:
    """Words and indices that it names."""
    match operation:
        case Load(names, _, _) | LoadMatrix(names, _, _):
            return set(names)
        case Index(name) | Select(name) | Shuffle(name) | Permute(name) | Merge(name) | Transpose(name):
            return {name}
        case Flag() | Store() | StoreMatrix() | Meet():
            return set()


def used(operation: Operation) -> set[str]:
    """Words, indices and flags that it reads."""
    match operation:
        case Index(_, text) | Flag(_, text) | Load(_, text, _) | LoadMatrix(_, text, _):
            return _names(text)
        case Select(_, flag, yes, no):
            return {flag, yes, no}
        case Shuffle(_, value, text):
            return {value, *_names(text)}
        case Transpose(_, value):
            return {value}
        case Permute(_, low, high, text):
            return {low, high, *_names(text)}
        case Merge(_, kept, value, _, text):
            return {kept, value, *_names(text)}
        case Store(text, values) | StoreMatrix(text, values, _):
            return {*values, *_names(text)}
        case Meet():
            return set()


def _names(text: str) -> set[str]:
    return {*expressions.names_in(text)} - {"if", "else", "brev"}


def widened(program: Program, parts: int) -> Program:
    """The program on elements of several words, each of which moves as the element does."""
    operations: list[Operation] = []
    for operation in program.operations:
        match operation:
            case Select(name, flag, yes, no):
                operations += [Select(f"{name}_{p}", flag, part(yes, p, parts), part(no, p, parts)) for p in range(parts)]
            case Shuffle(name, value, source):
                operations += [Shuffle(f"{name}_{p}", part(value, p, parts), source) for p in range(parts)]
            case _:
                operations.append(operation)
    outputs = tuple(part(value, p, parts) for value in program.outputs for p in range(parts))
    return Program(program.name, program.threads, program.lanes, program.inputs * parts, tuple(operations), outputs)


def part(value: str, number: int, parts: int) -> str:
    """One word of a value, whose inputs lie one after the other."""
    match = re.fullmatch(r"in\[(\d+)\]", value)
    if match is not None:
        return f"in[{int(match[1]) * parts + number}]"
    return f"{value}_{number}" if value else ""


def renamed(operation: Operation, values: Mapping[str, str], indices: Mapping[str, str]) -> Operation:
    """The operation with other names of values and flags, and of indices within expressions."""

    def text(expression: str) -> str:
        return re.sub(r"[a-z]\w*", lambda match: indices.get(match[0], match[0]), expression)

    match operation:
        case Index(name, expression):
            return Index(indices[name], text(expression))
        case Flag(name, expression):
            return Flag(values[name], text(expression))
        case Select(name, flag, yes, no):
            return Select(values[name], values[flag], values.get(yes, yes), values.get(no, no))
        case Shuffle(name, value, source):
            return Shuffle(values[name], values.get(value, value), text(source))
        case Permute(name, low, high, selector):
            return Permute(values[name], values.get(low, low), values.get(high, high), text(selector))
        case Transpose(name, value):
            return Transpose(values[name], values.get(value, value))
        case Merge(name, kept, value, shift, mask):
            return Merge(values[name], values.get(kept, kept), values.get(value, value), shift, text(mask))
        case Store(address, stored):
            return Store(text(address), tuple(values.get(value, value) for value in stored))
        case Load(names, address, array):
            return Load(tuple(values[name] for name in names), text(address), array)
        case StoreMatrix(address, stored, is_turned):
            return StoreMatrix(text(address), tuple(values.get(value, value) for value in stored), is_turned)
        case LoadMatrix(names, address, is_turned):
            return LoadMatrix(tuple(values[name] for name in names), text(address), is_turned)
        case Meet():
            return operation


def cuda(program: Program, name: str = "exchange") -> str:
    """A device function on registers `in` and `out`, one statement a line."""
    threads = program.threads
    arrays = {operation.array for operation in program.operations if isinstance(operation, Load)}
    given = [f"const unsigned (&in)[{program.inputs}]"] if program.inputs else []
    given.append(f"unsigned (&out)[{len(program.outputs)}]")
    if program.inputs:
        given += ["unsigned* shared"] if program.shared_words else []
    else:
        given += [f"const unsigned* {array}" for array in sorted(arrays)]
    parameters = ", ".join(given)
    body = [f"const unsigned lane = threadIdx.x & {rounded(threads) - 1};"] if _reads_lane(program) else []
    for operation in program.operations:
        body += _statements(operation, program)
    body += [f"out[{i}] = {value};" for i, value in enumerate(program.outputs) if value]
    lines = "".join(f"    {line}\n" for line in body)
    return f"__device__ __forceinline__ void {name}({parameters}) {{\n{lines}}}\n"


def rounded(threads: int) -> int:
    """The power of two that threads are numbered by."""
    return 1 << (threads - 1).bit_length() if threads > 32 or not threads & (threads - 1) else 32


def _reads_lane(program: Program) -> bool:
    texts = (getattr(o, field, "") for o in program.operations for field in ("expression", "source", "selector", "address"))
    return any("lane" in text for text in texts)


def _statements(operation: Operation, program: Program) -> Iterator[str]:
    match operation:
        case Index(name, expression):
            yield f"const unsigned {name} = {printed(expression)};"
        case Flag(name, expression):
            yield f"const bool {name} = ({printed(expression)}) != 0;"
        case Select(name, flag, yes, no):
            yield f"const unsigned {name} = {flag} ? {yes} : {no};"
        case Shuffle(name, value, source):
            width = "" if program.lanes & (program.lanes - 1) or program.lanes == 32 else f", {program.lanes}"
            yield f"const unsigned {name} = {SHUFFLES['idx']}(0xffffffffu, {value}, {printed(source)}{width});"
        case Permute(name, low, high, selector):
            yield f"const unsigned {name} = __byte_perm({low}, {high}, {printed(selector)});"
        case Merge(name, kept, _, _, mask):
            others = mask[1:] if mask.startswith("~") else f"~{mask}"
            yield f"const unsigned {name} = ({kept} & {others}) | ({operation.moved} & {mask});"
        case Transpose(name, value):
            yield f'unsigned {name}; asm volatile("{MOVMATRIX} %0, %1;" : "=r"({name}) : "r"({value}));'
        case Store(address, (value,)):
            yield f"shared[{printed(address)}] = {value};"
        case Store(address, values):
            kind = VECTORS[len(values)]
            yield f"*reinterpret_cast<{kind}*>(&shared[{printed(address)}]) = make_{kind}({', '.join(values)});"
        case Load((name,), address, array):
            yield f"const unsigned {name} = {array}[{printed(address)}];"
        case Load(names, address, array):
            kind, whole = VECTORS[len(names)], f"{names[0]}_{len(names)}"
            yield f"const {kind} {whole} = *reinterpret_cast<const {kind}*>(&{array}[{printed(address)}]);"
            for name, part in zip(names, "xyzw", strict=False):
                yield f"const unsigned {name} = {whole}.{part};"
        case StoreMatrix(address, values, is_turned):
            given = ", ".join(f'"r"({value})' for value in values)
            named = ", ".join(f"%{i + 1}" for i in range(len(values)))
            form = _matrix_form("st", len(values), is_turned)
            yield f'asm volatile("{form} [%0], {{{named}}};" :: "r"({_in_shared(address)}), {given} : "memory");'
        case LoadMatrix(names, address, is_turned):
            taken = ", ".join(f'"=r"({name})' for name in names)
            named = ", ".join(f"%{i}" for i in range(len(names)))
            form = _matrix_form("ld", len(names), is_turned)
            where = f'"r"({_in_shared(address)})'
            code = f'"{form} {{{named}}}, [%{len(names)}];"'
            yield f'unsigned {", ".join(names)}; asm volatile({code} : {taken} : {where} : "memory");'
        case Meet():
            yield BARRIER if program.threads > 32 else "__syncwarp();"


def _matrix_form(way: Literal["ld", "st"], count: int, is_turned: bool) -> str:
    return f"{way}matrix.sync.aligned.m8n8.x{count}{'.trans' if is_turned else ''}.shared.b16"


def _in_shared(address: str) -> str:
    return f"(unsigned)__cvta_generic_to_shared(&shared[{printed(address)}])"


def printed(expression: str) -> str:
    """The expression in C."""
    return expressions.as_text(expressions.parse(expression, names=expressions.names_in(expression)), "cuda")
