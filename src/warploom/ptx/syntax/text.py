"""Syntax tree to PTX text: `exact` reproduces what was parsed, `normal` writes one canonical form."""

from __future__ import annotations

from collections.abc import Iterable
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
    Statement,
    Subscript,
    Sum,
    Vector,
)


def exact(module: Module) -> str:
    """The module's text, byte for byte where nodes are as parsed; nodes that a program made are written in normal form."""
    pieces: list[str] = []
    cursor = 0
    for item in module.items:
        cursor = _exact_item(item, module.text, pieces, cursor)
    pieces.append(module.text[cursor:])
    return "".join(pieces)


def _exact_item(item: Item | Statement, text: str, pieces: list[str], cursor: int) -> int:
    """Appends the item; returns the offset in `text` that follows it."""
    lead, _, end = item.extent
    if lead < 0:
        pieces.append("\n" + _statement(item, 1 if not isinstance(item, Function) else 0))
        return cursor
    if isinstance(item, Function):
        if item.body is None:
            pieces.append(text[lead:end])
        elif item.body.extent.lead < 0:
            pieces.append("\n" + _function(item))
        else:
            pieces.append(text[lead : item.body.extent.lead])
            _exact_block(item.body, text, pieces)
    elif isinstance(item, Block):
        _exact_block(item, text, pieces)
    else:
        pieces.append(text[lead:end])
    return end


def _exact_block(block: Block, text: str, pieces: list[str]) -> None:
    lead, start, end = block.extent
    pieces.append(text[lead : start + 1])
    cursor = start + 1
    for item in block.items:
        cursor = _exact_item(item, text, pieces, cursor)
    closing = text.rfind("}", start, end)
    pieces.append(text[_trivia_before(text, closing, cursor) : end])


def _trivia_before(text: str, closing: int, cursor: int) -> int:
    """Where the trivia before the closing brace starts: at `cursor`, unless the items that stood there were removed."""
    return min(cursor, closing) if cursor <= closing else closing


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
    """As it stands in an instruction."""
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
            return f".section {name}\n{{{contents}}}"
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
    """Without the closing semicolon."""
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
            case _:
                parts.append(operand_text(element))
    return f"{{{', '.join(parts)}}}" if initialiser.braced else parts[0]
