"""The syntax tree of a PTX module (PTX ISA 9.x, chapters 4, 5 and 7.1): frozen nodes that remember where they stand.

    module      = item*
    item        = directive | declaration | function | section
    function    = linkage? (".entry" | ".func") returns? name parameters? directive* (block | ";")
    block       = "{" (instruction | label | declaration | directive | block)* "}"
    instruction = ("@" "!"? name)? opcode ("." modifier)* (operand ("," operand)*)? ";"
    operand     = name | integer | float | sum | address | subscript | vector | pair | negation | group

Two nodes are equal when they mean the same text up to spaces and comments: extents and number spellings take no part in `==`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Extent(NamedTuple):
    """Offsets into `Module.text`: [lead, start) is the white space and comments before a node, [start, end) the node itself."""

    lead: int
    start: int
    end: int


NEW = Extent(-1, -1, -1)
"""Extent of a node that a program made: it is printed in normal form. Give it to a node that `dataclasses.replace` changes,
too: `exact` copies the text of every other node from the file (but for the items of functions and blocks, which it visits)."""


@dataclass(frozen=True, slots=True)
class Name:
    """A register, special register with its component (`%tid.x`), vector element, variable, label, function, `WARP_SZ` or `_`."""

    text: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant or constant expression, already evaluated to 64 bits (PTX ISA 4.5.1, 4.5.4)."""

    value: int
    """Signed, or unsigned when the literal says so (`U`) or exceeds the signed range."""
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point constant (PTX ISA 4.5.2): exact bits of the given width; decimal forms are 64 bits wide."""

    bits: int
    width: int
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """`base + offset`, outside brackets or in them; offset in bytes."""

    base: Operand
    offset: int


@dataclass(frozen=True, slots=True)
class Address:
    """`[base]`, `[base+offset]`, and texture or tensor forms `[base, {x, y}]` whose further parts are `rest`."""

    base: Operand
    """Name or Integer."""
    offset: int = 0
    rest: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Subscript:
    """`array[index]` as an operand."""

    base: Name
    index: Operand


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, c, d}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: two destinations of one instruction."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negation:
    """`!p` (predicates) as an operand."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """`(a, b)`: the arguments or results of a call."""

    elements: tuple[Operand, ...]


Operand = Name | Integer | Float | Sum | Address | Subscript | Vector | Pair | Negation | Group


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p`."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction; `ld.global.nc.f32 %f1, [%rd1+4];` has opcode `ld` and modifiers `("global", "nc", "f32")`."""

    opcode: str
    modifiers: tuple[str, ...]
    """Modifiers without their dots; `::` stays inside (`L1::no_allocate`)."""
    operands: tuple[Operand, ...]
    """Destinations first, as written."""
    guard: Guard | None = None
    extent: Extent = field(default=NEW, compare=False)
    written: tuple[str, ...] | None = field(default=None, init=False, repr=False, compare=False)
    """Kept by `destinations`, which many passes ask; None before."""
    read: tuple[str, ...] | None = field(default=None, init=False, repr=False, compare=False)
    """Kept by `sources`."""

    @property
    def name(self) -> str:
        """Opcode with all modifiers, as written."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    """`NAME:`."""

    name: str
    extent: Extent = field(default=NEW, compare=False)


@dataclass(frozen=True, slots=True)
class Declarator:
    """One declared name: `a`, `a[4][2]`, `%r<10>` (count 10) or `a = {1, 2}`."""

    name: str
    dimensions: tuple[int | None, ...] = ()
    """None: `[]`."""
    count: int | None = None
    """Count of a parameterised name: `%r<3>` declares %r0, %r1, %r2."""
    initialiser: Initialiser | None = None


@dataclass(frozen=True, slots=True)
class Initialiser:
    """Nested braces of constants, names (their addresses), `generic(name)`, sums, masked addresses `0xff(name)`, settings."""

    elements: tuple[Initialiser | Operand | AddressOf | Setting, ...]
    braced: bool = True
    """False: a single value without braces."""


@dataclass(frozen=True, slots=True)
class AddressOf:
    """`generic(name)+offset` or `mask(name)+offset` in an initialiser (PTX ISA 5.4.4)."""

    operator: str
    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """`filter_mode = linear` in the initialiser of a sampler or surface (PTX ISA 5.3.1)."""

    name: str
    value: Operand


@dataclass(frozen=True, slots=True)
class Declaration:
    """`.shared .align 16 .b8 tile[1024];`, `.reg .b32 %r<10>;`, a parameter of a function."""

    space: str
    """reg, sreg, param, const, global, local, shared, tex."""
    type: str
    """b8 ... f64, pred, texref, samplerref, surfref."""
    declarators: tuple[Declarator, ...]
    linkage: tuple[str, ...] = ()
    """visible, extern, weak, common."""
    align: int | None = None
    vector: int = 1
    attributes: tuple[str, ...] = ()
    """Attributes as written, without the leading dot: `attribute(.managed)`, `ptr`, `global` (the space a pointer parameter
    points to)."""
    pointer_align: int | None = None
    """Alignment of `.ptr ... .align n`. .align n`."""
    extent: Extent = field(default=NEW, compare=False)


@dataclass(frozen=True, slots=True)
class Directive:
    """Anything else that starts with a dot: `.version`, `.target`, `.loc`, `.pragma`, `.maxntid`, `.branchtargets`, ..."""

    name: str
    """Name without the dot."""
    arguments: str
    """The text as written, but without comments and spaces that do not matter, and without the closing semicolon."""
    label: str = ""
    """`NAME:` before `.branchtargets`, `.calltargets` or `.callprototype`."""
    terminated: bool = False
    """True if a semicolon closes the statement."""
    extent: Extent = field(default=NEW, compare=False)


@dataclass(frozen=True, slots=True)
class Section:
    """`.section NAME { ... }` (DWARF); the contents are kept as they are."""

    name: str
    contents: str
    extent: Extent = field(default=NEW, compare=False)


@dataclass(frozen=True, slots=True)
class Block:
    """`{ ... }`: its own scope of names."""

    items: tuple[Statement, ...]
    extent: Extent = field(default=NEW, compare=False)


Statement = Instruction | Label | Declaration | Directive | Section | Block


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (`.entry`) or device function (`.func`), defined or only declared (`body` None)."""

    name: str
    is_entry: bool
    linkage: tuple[str, ...] = ()
    returns: tuple[Declaration, ...] = ()
    parameters: tuple[Declaration, ...] = ()
    directives: tuple[Directive, ...] = ()
    """Directives between the parameters and the body: maxntid, reqntid, minnctapersm, noreturn, ..."""
    body: Block | None = None
    extent: Extent = field(default=NEW, compare=False)


Item = Directive | Declaration | Function | Section


@dataclass(frozen=True, slots=True)
class Module:
    """One PTX file."""

    items: tuple[Item, ...]
    text: str = field(default="", compare=False, repr=False)
    """The parsed text; extents point into it."""
    file: str = field(default="<ptx>", compare=False)

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(item for item in self.items if isinstance(item, Function))

    def directive(self, name: str) -> str:
        """Arguments of the first module-level directive of that name (`version`, `target`, `address_size`), else ''."""
        return next((i.arguments for i in self.items if isinstance(i, Directive) and i.name == name), "")
