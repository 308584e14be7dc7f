"""Syntax tree to PTX text: `exact` reproduces what was parsed, `normal` writes one canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import assert_never

from warploom.ptx.syntax.nodes import (
    Address,
    AddressOf,
    Block,
    Declaration,
    Declarator,
    Directive,
    Float,
    Function,
    Group,
    Initialiser,
    Instruction,
    Integer,
    Item,
    Label,
    Module,
    Name,
    Negation,
    Operand,
    Pair,
    Section,
    Setting,
    Statement,
    Subscript,
    Sum,
    Vector,
)
from warploom.ptx.syntax.tokens import TRIVIA


def exact(module: Module) -> str:
    """The module's text, byte for byte where nodes are as parsed; nodes that a program made are written in normal form.

    Functions and blocks are visited; of other parsed nodes the text is copied. Where parsed nodes were taken out their comments
    stay.
    """
    pieces: list[str] = []
    _Exact(module.text, pieces).items(module.items, 0, len(module.text), 0)
    return "".join(pieces)


_SAME_LINE = re.compile(r"[ \t]*+(?://[^\r\n]*+|(?:/\*(?:[^*\n]++|\*(?!/))*+\*/[ \t]*+)++(?=\r?\n))")
"""A comment behind a statement, up to the end of its line."""
_PIECE = re.compile(rf'(?P<trivia>(?=[\s/\0]){TRIVIA.pattern})|"(?:[^"\\\n]++|\\.)*+"|[^\s/"\0]++|.', re.S)

_LAST_SPACE = re.compile(r"(?<!\s)\s++\Z")


class _Exact:
    def __init__(self, text: str, pieces: list[str]) -> None:
        self.text = text
        self.pieces = pieces

    def items(self, items: Sequence[Item | Statement], cursor: int, end: int, level: int) -> None:
        """Appends the items, which stood in [cursor, end), and what surrounded them."""
        made: list[Item | Statement] = []
        for item in items:
            lead, start, stop = item.extent
            if lead < cursor:
                made.append(item)
                continue
            self.comments(cursor, lead)
            if made:
                lead = self.made(made, lead, start, level)
                made.clear()
            self.parsed(item, lead, level)
            cursor = stop
        if not TRIVIA.fullmatch(self.text, cursor, end):
            self.comments(cursor, end)
            closing = _LAST_SPACE.search(self.text, cursor, end)
            cursor = closing.start() if closing is not None else end
        if made:
            cursor = self.made(made, cursor, end, level)
        self.pieces.append(self.text[cursor:end])

    def made(self, items: list[Item | Statement], lead: int, start: int, level: int) -> int:
        """Appends items that are not in the text before the item at `start`; returns where the white space goes on."""
        same_line = _SAME_LINE.match(self.text, lead, start)
        if same_line is not None:
            self.pieces.append(same_line.group())
            lead = same_line.end()
        newline = "\r\n" if "\r\n" in self.text[:_FIRST_LINES] else "\n"
        self.pieces += [newline + _statement(item, level).replace("\n", newline) for item in items]
        return lead

    def comments(self, cursor: int, end: int) -> None:
        """Comments in [cursor, end) with the white space before them, but not the code between."""
        while cursor < end:
            match = _PIECE.match(self.text, cursor, end)
            assert match is not None
            trivia = match["trivia"]
            if trivia is not None and "/" in trivia:
                self.pieces.append(trivia.rstrip())
                if trivia.rstrip().rpartition("\n")[2].lstrip().startswith("//"):
                    self.pieces.append("\n")
            cursor = max(match.end(), cursor + 1)

    def parsed(self, item: Item | Statement, lead: int, level: int) -> None:
        """Appends a parsed item and the white space from `lead` on."""
        _, _, end = item.extent
        if isinstance(item, Function) and item.body is not None:
            body = item.body
            if body.extent.lead < 0:
                self.pieces.append(self.text[lead : item.extent.start] + _function(item))
                return
            self.pieces.append(self.text[lead : body.extent.lead])
            self.block(body, body.extent.lead, level)
        elif isinstance(item, Block):
            self.block(item, lead, level)
        else:
            self.pieces.append(self.text[lead:end])

    def block(self, block: Block, lead: int, level: int) -> None:
        _, start, end = block.extent
        self.pieces.append(self.text[lead : start + 1])
        self.items(block.items, start + 1, end - 1, level + 1)
        self.pieces.append("}")


_FIRST_LINES = 4096
"""Characters that are looked at for the file's line ends."""


def normal(module: Module) -> str:
    """One canonical text: a statement a line, a tab per level, no comments; `parse(normal(m)) == m`."""
    return "\n".join(_statement(item, 0) for item in module.items) + "\n"


def instruction_text(instruction: Instruction) -> str:
    """One line, with its semicolon."""
    guard = ""
    if instruction.guard is not None:
        guard = f"@{'!' if instruction.guard.negated else ''}{instruction.guard.name} "
    operands = ", ".join(map(operand_text, instruction.operands))
    return f"{guard}{instruction.name}{' ' if operands else ''}{operands};"


def operand_text(operand: Operand) -> str:
    """Text of the operand as it stands in an instruction."""
    match operand:
        case Name(text):
            return text
        case Integer(value, text):
            return text or str(value)
        case Float(bits, width, text):
            return text or (f"0f{bits:08X}" if width == 32 else f"0d{bits:016X}")
        case Sum(base, offset):
            return f"{operand_text(base)}+{offset}"
        case Address(base, offset, rest):
            inside = operand_text(base) + (f"+{offset}" if offset else "")
            return f"[{', '.join([inside, *map(operand_text, rest)])}]"
        case Subscript(base, index):
            return f"{base.text}[{operand_text(index)}]"
        case Vector(elements):
            return f"{{{_list(elements)}}}"
        case Pair(first, second):
            return f"{operand_text(first)}|{operand_text(second)}"
        case Negation(inner):
            return f"!{operand_text(inner)}"
        case Group(elements):
            return f"({_list(elements)})"
        case _:
            assert_never(operand)


def _list(operands: Iterable[Operand]) -> str:
    return ", ".join(map(operand_text, operands))


def _statement(item: Item | Statement, level: int) -> str:
    indent = "\t" * level
    match item:
        case Instruction():
            return indent + instruction_text(item)
        case Label(name):
            return f"{name}:"
        case Declaration():
            return f"{indent}{declaration_text(item)};"
        case Directive():
            return indent + _directive(item)
        case Section(name, contents):
            return f".section {name} {{{contents}}}"
        case Block(items):
            return "\n".join([f"{indent}{{", *(_statement(i, level + 1) for i in items), f"{indent}}}"])
        case Function():
            return _function(item)
        case _:
            assert_never(item)


def _directive(directive: Directive) -> str:
    if not directive.name:
        return ";"
    if directive.name == "@@":
        return f"@@{directive.arguments}"
    label = f"{directive.label}: " if directive.label else ""
    arguments = f" {directive.arguments}" if directive.arguments else ""
    return f"{label}.{directive.name}{arguments}{';' if directive.terminated else ''}"


def _function(function: Function) -> str:
    words = [f".{w}" for w in function.linkage] + [".entry" if function.is_entry else ".func"]
    if function.returns:
        words.append(_parameters(function.returns))
    header = f"{' '.join(words)} {function.name}{_parameters(function.parameters) if function.parameters else '()'}"
    lines = [header, *map(_directive, function.directives)]
    return "\n".join(lines) + (";" if function.body is None else "\n" + _statement(function.body, 0))


def _parameters(parameters: tuple[Declaration, ...]) -> str:
    return f"({', '.join(map(declaration_text, parameters))})"


def declaration_text(declaration: Declaration) -> str:
    """Text without the closing semicolon."""
    words = [f".{w}" for w in declaration.linkage]
    words.append(f".{declaration.space}")
    words += [f".{a}" for a in declaration.attributes if a.startswith("attribute")]
    if declaration.align is not None:
        words.append(f".align {declaration.align}")
    if declaration.vector > 1:
        words.append(f".v{declaration.vector}")
    words.append(f".{declaration.type}")
    words += [f".{a}" for a in declaration.attributes if not a.startswith("attribute")]
    if declaration.pointer_align is not None:
        words.append(f".align {declaration.pointer_align}")
    return f"{' '.join(words)} {', '.join(map(_declarator, declaration.declarators))}"


def _declarator(declarator: Declarator) -> str:
    text = declarator.name
    if declarator.count is not None:
        text += f"<{declarator.count}>"
    text += "".join("[]" if d is None else f"[{d}]" for d in declarator.dimensions)
    if declarator.initialiser is not None:
        text += f" = {_initialiser(declarator.initialiser)}"
    return text


def _initialiser(initialiser: Initialiser) -> str:
    parts: list[str] = []
    for element in initialiser.elements:
        match element:
            case Initialiser():
                parts.append(_initialiser(element))
            case AddressOf(operator, name, offset):
                parts.append(f"{operator}({name}){f'+{offset}' if offset else ''}")
            case Setting(name, value):
                parts.append(f"{name} = {operand_text(value)}")
            case _:
                parts.append(operand_text(element))
    return f"{{{', '.join(parts)}}}" if initialiser.braced else parts[0]
