"""PTX text to syntax tree, lossless: every node keeps its extent, the printer needs nothing else.

Instructions of the usual forms are read by one regular expression, their operands through a table of texts already seen; all else
goes token by token. Cost is linear in the text.
"""

from __future__ import annotations

import re

from warploom.ptx.syntax.cursor import Cursor, found
from warploom.ptx.syntax.declarations import LINKAGES, SPACES, read_declaration, read_parameters
from warploom.ptx.syntax.directives import LABELLED, read_directive, read_header_directive, read_legacy_debug_line
from warploom.ptx.syntax.nodes import (
    Block,
    Directive,
    Extent,
    Function,
    Guard,
    Instruction,
    Item,
    Label,
    Module,
    Operand,
    Statement,
)
from warploom.ptx.syntax.operands import OperandTable, read_operand
from warploom.ptx.syntax.tokens import NAME, TRIVIA, Source

_INSTRUCTION = re.compile(
    rf"(?:@(?P<negated>!)?(?P<guard>{NAME})[ \t]++)?"
    r"(?P<opcode>[a-z][a-z0-9_]*+)(?P<modifiers>(?:\.[A-Za-z0-9_]++(?:::[A-Za-z0-9_]++)*+)*+)"
    r"(?:[ \t]++(?P<operands>[^;/\"\n@:]*+))?;",
    re.A,
)
_MODIFIER = re.compile(r"\.(?=\d*+[A-Za-z_])([A-Za-z0-9_]++(?:::[A-Za-z0-9_]++)*+)", re.A)
_LABEL = re.compile(
    rf"({NAME})[ \t]*+:(?!:)(?!{TRIVIA.pattern}\.(?:{'|'.join(sorted(LABELLED))})\b)", re.A
)  # fmt: skip
_END = "End the instruction with a semicolon, or separate operands by commas."


def parse(text: str, file: str = "<ptx>") -> Module:
    """The module that `text` spells; UserError (PTX_SYNTAX) with line, column and caret at the first fault."""
    return _Parser(Source(text, file)).module()


class _Parser(Cursor):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.table = OperandTable()
        self.modifier_lists: dict[str, tuple[str, ...]] = {"": ()}

    def module(self) -> Module:
        items: list[Item] = []
        while True:
            lead = self.position
            kind, word, start, end = self.peek()
            if kind == "end":
                break
            if kind == "dot":
                items.append(self.item(lead, start))
            elif kind == "punct" and word == "@" and self.text.startswith("@@", start):
                items.append(read_legacy_debug_line(self, lead, start))
            elif kind == "punct" and word == ";":
                self.position = end
                items.append(Directive("", "", terminated=True, extent=Extent(lead, start, end)))
            else:
                raise self.fault(
                    f"expected a directive such as .entry or .global, found {found((kind, word, start, end))}", start, end,
                    "Instructions belong inside the braces of a .entry or .func.",
                )  # fmt: skip
        return Module(tuple(items), self.text, self.source.file)

    def item(self, lead: int, start: int) -> Item:
        linkage: list[str] = []
        while True:
            token = self.peek()
            kind, word, _, end = token
            name = word[1:] if kind == "dot" else ""
            if name in LINKAGES:
                self.position = end
                linkage.append(name)
            elif name in ("entry", "func"):
                self.position = end
                return self.function(lead, start, tuple(linkage), name == "entry")
            elif name in SPACES:
                return read_declaration(self, lead, start, tuple(linkage))
            elif linkage:
                raise self.fault(
                    f"expected .entry, .func or a state space such as .global after .{linkage[-1]}, found {found(token)}",
                    token[2], end,
                )  # fmt: skip
            else:
                return read_directive(self, lead, start)

    def function(self, lead: int, start: int, linkage: tuple[str, ...], is_entry: bool) -> Function:
        directives: list[Directive] = []
        while self.peek()[0] == "dot":
            directives.append(read_header_directive(self, self.position, self.peek()[2]))
        returns = read_parameters(self) if self.is_next("(") else ()
        name = self.identifier("the name of the function")
        parameters = read_parameters(self) if self.is_next("(") else ()
        body: Block | None = None
        while True:
            token = self.peek()
            if token[0] == "dot":
                directives.append(read_header_directive(self, self.position, token[2]))
            elif self.is_next("{"):
                body = self.block(self.position)
                break
            elif self.take(";"):
                break
            else:
                raise self.fault(
                    f"expected '{{' or ';' after the header of {name}, found {found(token)}", token[2], token[3],
                    "Open the body with a brace, or end the declaration with a semicolon.",
                )  # fmt: skip
        extent = Extent(lead, start, self.position)
        return Function(name, is_entry, linkage, returns, parameters, tuple(directives), body, extent)

    def block(self, lead: int) -> Block:
        start = self.skip(self.position)
        self.expect("{", "before the body")
        self.enter()
        items: list[Statement] = []
        text, append, operands_of, modifiers_of = self.text, items.append, self.table.operands, self.modifiers
        match_trivia, match_instruction, match_label = TRIVIA.match, _INSTRUCTION.match, _LABEL.match
        while True:
            at = self.position
            trivia = match_trivia(text, at)
            begin = trivia.end() if trivia else at
            match = match_instruction(text, begin)
            if match is not None:
                negated, guard_name, opcode, modifiers, operand_text = match.groups()
                operands = operands_of(operand_text) if operand_text else ()
                if operands is not None:
                    guard = Guard(guard_name, negated is not None) if guard_name else None
                    end = self.position = match.end()
                    append(Instruction(opcode, modifiers_of(modifiers), operands, guard, Extent(at, begin, end)))
                    continue
            label = match_label(text, begin)
            if label is not None:
                self.position = label.end()
                append(Label(label[1], Extent(at, begin, label.end())))
                continue
            kind, word, first, end = self.peek()
            if kind == "punct" and word == "}":
                self.position = end
                break
            if kind == "end":
                raise self.fault(
                    "expected '}' at the end of the body, found the end of the file", start, start + 1,
                    "Close the brace that opens here.",
                )  # fmt: skip
            append(self.statement(at, first, kind, word, end))
        self.depth -= 1
        return Block(tuple(items), Extent(lead, start, self.position))

    def statement(self, lead: int, start: int, kind: str, word: str, end: int) -> Statement:
        """A statement that is neither a usual instruction nor a plain label."""
        if kind == "punct" and word == "{":
            return self.block(lead)
        if kind == "punct" and word == ";":
            self.position = end
            return Directive("", "", terminated=True, extent=Extent(lead, start, end))
        if kind == "dot":
            return self.directive_statement(lead, start)
        if kind == "name":
            colon = self.token_at(end)
            if colon[1] == ":" and colon[0] == "punct":
                self.position = colon[3]
                following = self.peek()
                if following[0] == "dot" and following[1][1:] in LABELLED:
                    directive = read_directive(self, lead, start, label=word)
                    assert isinstance(directive, Directive)
                    return directive
                self.position = colon[3]
                return Label(word, Extent(lead, start, self.position))
        return self.instruction(lead, start)

    def directive_statement(self, lead: int, start: int) -> Statement:
        linkage: list[str] = []
        while True:
            kind, word, at, end = self.peek()
            name = word[1:] if kind == "dot" else ""
            if name in LINKAGES:
                self.position = end
                linkage.append(name)
            elif name in SPACES:
                return read_declaration(self, lead, start, tuple(linkage))
            elif name in ("entry", "func"):
                raise self.fault(
                    f"expected a statement or '}}', found .{name}", at, end,
                    "Close the body of the function before this one; functions do not nest.",
                )  # fmt: skip
            elif linkage:
                token = (kind, word, at, end)
                raise self.fault(f"expected a state space such as .shared after .{linkage[-1]}, found {found(token)}", at, end)
            else:
                return read_directive(self, lead, start)

    def instruction(self, lead: int, start: int) -> Instruction:
        """Token by token."""
        guard = None
        if self.take("@"):
            negated = self.take("!")
            guard = Guard(self.identifier("a predicate register"), negated)
        token = self.next()
        if token[0] != "name":
            raise self.fault(f"expected an instruction, found {found(token)}", token[2], token[3])
        opcode, end = token[1], token[3]
        modifiers: list[str] = []
        while (match := _MODIFIER.match(self.text, self.skip(end))) is not None:
            modifiers.append(match[1])
            end = self.position = match.end()
        operands: list[Operand] = []
        if not self.take(";"):
            operands.append(read_operand(self))
            while self.take(","):
                operands.append(read_operand(self))
            self.expect(";", f"after the operands of {opcode}", _END)
        return Instruction(opcode, tuple(modifiers), tuple(operands), guard, Extent(lead, start, self.position))

    def modifiers(self, text: str) -> tuple[str, ...]:
        found_list = self.modifier_lists.get(text)
        if found_list is None:
            found_list = self.modifier_lists[text] = tuple(text[1:].split("."))
        return found_list
