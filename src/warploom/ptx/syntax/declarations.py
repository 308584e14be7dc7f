"""Declarations of registers, variables and parameters (PTX ISA 5.1 to 5.5)."""

from __future__ import annotations

from warploom.ptx.syntax.constants import plain, read_constant
from warploom.ptx.syntax.cursor import Cursor, found
from warploom.ptx.syntax.nodes import AddressOf, Declaration, Declarator, Extent, Initialiser, Operand, Setting
from warploom.ptx.syntax.operands import read_offset, read_operand

SPACES = frozenset({"reg", "sreg", "param", "const", "global", "local", "shared", "tex"})
LINKAGES = frozenset({"visible", "extern", "weak", "common"})
MAX_REGISTERS = 1 << 20
"""Most registers of one parameterised declaration."""


def read_declaration(cursor: Cursor, lead: int, start: int, linkage: tuple[str, ...], *, parameter: bool = False) -> Declaration:
    """Reads from the state space to the semicolon, which parameters do not have."""
    space = type_name = ""
    align = pointer_align = None
    vector = 1
    attributes: list[str] = []
    while True:
        kind, word, at, end = cursor.peek()
        if kind != "dot":
            break
        cursor.position = end
        name = word[1:]
        if not space and name in SPACES:
            space = name
        elif name == "align":
            value = read_constant(cursor, "an alignment in bytes").value
            if value <= 0 or value & (value - 1):
                raise cursor.fault(f"expected an alignment that is a power of two, found {value}", at, cursor.position)
            if "ptr" in attributes:
                pointer_align = value
            else:
                align = value
        elif name in ("v2", "v4", "v8"):
            vector = int(name[1:])
        elif name == "attribute":
            attributes.append(f"attribute{read_parenthesised(cursor, 'after .attribute')}")
        elif name == "ptr" or (name in SPACES and "ptr" in attributes):
            attributes.append(name)
        elif not space:
            raise cursor.fault(f"expected a state space such as .param, found {word!r}", at, end, "Write .param before the type.")
        elif not type_name:
            type_name = name
        else:
            raise cursor.fault(f"expected a name after the type .{type_name}, found {word!r}", at, end)
    if not type_name:
        token = cursor.peek()
        raise cursor.fault(
            f"expected a type such as .b32 in the declaration, found {found(token)}", token[2], token[3],
            f"Write .{space or 'reg'} .b32 NAME.",
        )  # fmt: skip
    declarators = [_declarator(cursor)]
    while not parameter and cursor.take(","):
        declarators.append(_declarator(cursor))
    if not parameter:
        cursor.expect(";", "after the declaration", "End the declaration with a semicolon.")
    extent = Extent(lead, start, cursor.position)
    return Declaration(
        space, type_name, tuple(declarators), linkage, align, vector, tuple(attributes), pointer_align, extent
    )  # fmt: skip


def read_parameters(cursor: Cursor) -> tuple[Declaration, ...]:
    """`(.param .u64 a, .param .f32 b)`."""
    cursor.expect("(", "before the parameters")
    parameters: list[Declaration] = []
    while not cursor.take(")"):
        lead = cursor.position
        token = cursor.peek()
        if token[0] != "dot":
            raise cursor.fault(f"expected a parameter such as '.param .u64 name', found {found(token)}", token[2], token[3])
        parameters.append(read_declaration(cursor, lead, token[2], (), parameter=True))
        if not cursor.take(","):
            cursor.expect(")", "after the parameters", "Separate parameters by commas.")
            break
    return tuple(parameters)


def read_parenthesised(cursor: Cursor, where: str) -> str:
    """A balanced parenthesis as text."""
    opening = cursor.skip(cursor.position)
    cursor.expect("(", where)
    depth = 1
    while depth:
        kind, word, _, _ = cursor.next()
        if kind == "end":
            raise cursor.fault(
                f"expected ')' {where}, found the end of the file", opening, fix="Close the parenthesis that opens here."
            )
        if kind == "punct":
            depth += (word == "(") - (word == ")")
    return plain(cursor.text[opening : cursor.position])


def _declarator(cursor: Cursor) -> Declarator:
    name = cursor.identifier("a name")
    count: int | None = None
    dimensions: list[int | None] = []
    if cursor.take("<"):
        begin = cursor.position
        count = read_constant(cursor, "how many registers").value
        if not 0 <= count <= MAX_REGISTERS:
            raise cursor.fault(f"expected 0 to {MAX_REGISTERS} registers, found {count}", cursor.skip(begin), cursor.position)
        cursor.expect(">", "after the number of registers")
    while cursor.take("["):
        if cursor.take("]"):
            dimensions.append(None)
            continue
        begin = cursor.position
        extent = read_constant(cursor, "an array extent").value
        if extent < 0:
            raise cursor.fault(f"expected an array extent of at least 0, found {extent}", cursor.skip(begin), cursor.position)
        dimensions.append(extent)
        cursor.expect("]", "after the array extent")
    initialiser = _initialiser(cursor) if cursor.take("=") else None
    return Declarator(name, tuple(dimensions), count, initialiser)


def _initialiser(cursor: Cursor) -> Initialiser:
    if not cursor.is_next("{"):
        return Initialiser((_initial_value(cursor),), braced=False)
    cursor.expect("{", "before the initial values")
    cursor.enter()
    elements: list[Initialiser | Operand | AddressOf | Setting] = []
    while not cursor.take("}"):
        elements.append(_initialiser(cursor) if cursor.is_next("{") else _initial_value(cursor))
        if not cursor.take(","):
            cursor.expect("}", "after the initial values", "Separate values by commas.")
            break
    cursor.depth -= 1
    return Initialiser(tuple(elements))


def _initial_value(cursor: Cursor) -> Operand | AddressOf | Setting:
    kind, word, _, end = cursor.peek()
    if kind in ("name", "integer"):
        _, following, _, after = cursor.token_at(end)
        if following == "(":
            cursor.position = after
            name = cursor.identifier("a variable")
            cursor.expect(")", "after the variable")
            return AddressOf(word, name, read_offset(cursor))
        if kind == "name" and following == "=":
            cursor.position = after
            return Setting(word, read_operand(cursor))
    return read_operand(cursor)
