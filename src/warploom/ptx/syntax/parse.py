"""PTX text to syntax tree, lossless: every node keeps its extent, the printer needs nothing else.

Statements of the usual forms are read by one regular expression each, their operands through a table of texts already seen; all
else goes token by token. Cost is linear in the text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import NoReturn

from warploom.ptx.syntax.nodes import (
    NEW,
    Address,
    AddressOf,
    Block,
    Declaration,
    Declarator,
    Directive,
    Extent,
    Float,
    Function,
    Group,
    Guard,
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
from warploom.ptx.syntax.tokens import TOKEN, TRIVIA, Source

SPACES = frozenset({"reg", "sreg", "param", "const", "global", "local", "shared", "tex"})
LINKAGES = frozenset({"visible", "extern", "weak", "common"})
_LINE_DIRECTIVES = frozenset({"version", "target", "address_size", "loc", "file"})
"""Ended by the end of their line."""
_NO_ARGUMENTS = frozenset({"noreturn"})

_INSTRUCTION = re.compile(
    r"(?:@(?P<negated>!)?(?P<guard>[A-Za-z_$%][\w$]*)[ \t]+)?"
    r"(?P<opcode>[a-z][a-z0-9_]*)(?P<modifiers>(?:\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)*)"
    r"(?:[ \t]+(?P<operands>[^;/\"\n@]*))?;"
)
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)[ \t]*:(?!:)(?![ \t\r\n]*\.(?:branchtargets|calltargets|callprototype)\b)")
_SIMPLE_NAME = re.compile(r"[A-Za-z_$%][\w$]*(?:\.[a-z0-9]+)?\Z")
_SIMPLE_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)\Z")
_SIMPLE_ADDRESS = re.compile(r"\[([A-Za-z_$%][\w$]*)(?:\+(-?\d+))?\]\Z")
_MAX_DEPTH = 200


def parse(text: str, file: str = "<ptx>") -> Module:
    """The module that `text` spells; UserError (PTX_SYNTAX) with line, column and caret at the first fault."""
    return _Parser(Source(text, file)).module()


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.position = 0
        """Where the next token's trivia starts."""
        self.operand_lists: dict[str, tuple[Operand, ...] | None] = {}
        self.modifier_lists: dict[str, tuple[str, ...]] = {"": ()}
        self.simple: dict[str, Operand] = {}
        self.depth = 0

    # Tokens

    def fail(self, message: str, start: int, end: int | None = None, fix: str = "") -> NoReturn:
        raise self.source.error("PTX_SYNTAX", message, start, end, fix=fix)

    def skip(self, position: int) -> int:
        match = TRIVIA.match(self.text, position)
        end = match.end() if match else position
        if self.text.startswith("/*", end):
            self.fail("expected the end of the comment, found the end of the file", end, fix="Close it with */.")
        return end

    def peek(self) -> tuple[str, str, int, int]:
        """Kind, text, start and end of the next token; kind 'end' at the end of the file."""
        start = self.skip(self.position)
        match = TOKEN.match(self.text, start)
        if match is None:
            if start >= len(self.text):
                return "end", "", start, start
            self.fail(f"expected a PTX token, found {self.text[start]!r}", start)
        return match.lastgroup or "", match.group(), start, match.end()

    def next(self) -> tuple[str, str, int, int]:
        token = self.peek()
        self.position = token[3]
        return token

    def found(self, token: tuple[str, str, int, int]) -> str:
        return "the end of the file" if token[0] == "end" else repr(token[1])

    def take(self, text: str) -> bool:
        """Moves past the token if it is `text`."""
        token = self.peek()
        if token[0] != "end" and token[1] == text and token[0] in ("punct", "dot", "name"):
            self.position = token[3]
            return True
        return False

    def expect(self, text: str, what: str) -> int:
        """End of the token `text`."""
        token = self.next()
        if token[1] != text or token[0] == "end":
            self.fail(f"expected {text!r} {what}, found {self.found(token)}", token[2], token[3])
        return token[3]

    def identifier(self, what: str) -> str:
        token = self.next()
        if token[0] != "name":
            self.fail(f"expected {what}, found {self.found(token)}", token[2], token[3])
        return token[1]

    # Module level

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
                items.append(self.legacy_debug_line(lead, start))
            elif kind == "punct" and word == ";":
                self.position = end
                items.append(Directive("", "", terminated=True, extent=Extent(lead, start, end)))
            else:
                self.fail(
                    f"expected a directive such as .entry or .global, found {word!r}", start, end,
                    fix="Instructions belong inside the braces of a .entry or .func.",
                )  # fmt: skip
        return Module(tuple(items), self.text, self.source.file)

    def legacy_debug_line(self, lead: int, start: int) -> Directive:
        stop = self.text.find("\n", start)
        stop = len(self.text) if stop < 0 else stop
        self.position = stop
        return Directive("@@", self.text[start + 2 : stop].strip(), extent=Extent(lead, start, stop))

    def item(self, lead: int, start: int) -> Item:
        mark = self.position
        linkage: list[str] = []
        while True:
            kind, word, at, end = self.peek()
            if kind != "dot":
                self.fail(f"expected .entry, .func or a state space after the linkage, found {word!r}", at, end)
            name = word[1:]
            if name in LINKAGES:
                self.position = end
                linkage.append(name)
                continue
            if name in ("entry", "func"):
                self.position = end
                return self.function(lead, start, tuple(linkage), name == "entry")
            if name in SPACES:
                return self.declaration(lead, start, tuple(linkage))
            if linkage and name == "attribute":
                self.position = end
                continue
            self.position = mark
            return self.directive(lead, start)

    def function(self, lead: int, start: int, linkage: tuple[str, ...], is_entry: bool) -> Function:
        early: list[Directive] = []
        while self.peek()[0] == "dot":
            token = self.peek()
            early.append(self.directive(self.position, token[2], in_header=True))
        returns = self.parameters() if self.peek()[1] == "(" else ()
        name = self.identifier("the name of the function")
        parameters = self.parameters() if self.peek()[1] == "(" else ()
        directives = early
        while True:
            kind, word, at, end = self.peek()
            if kind == "dot":
                directives.append(self.directive(self.position, at, in_header=True))
            elif word == "{":
                body = self.block(self.position)
                break
            elif word == ";":
                self.position = end
                body = None
                break
            else:
                self.fail(f"expected '{{' or ';' after the header of {name}, found {self.found((kind, word, at, end))}", at, end)
        extent = Extent(lead, start, self.position)
        return Function(name, is_entry, linkage, returns, parameters, tuple(directives), body, extent)

    def parameters(self) -> tuple[Declaration, ...]:
        self.expect("(", "before the parameters")
        found: list[Declaration] = []
        while not self.take(")"):
            lead = self.position
            token = self.peek()
            if token[0] != "dot":
                self.fail(f"expected a parameter such as '.param .u64 name', found {self.found(token)}", token[2], token[3])
            found.append(self.declaration(lead, token[2], (), parameter=True))
            if not self.take(","):
                self.expect(")", "after the parameters")
                break
        return tuple(found)

    def directive(self, lead: int, start: int, *, in_header: bool = False, label: str = "") -> Directive | Section:
        kind, word, at, end = self.next()
        name = word[1:]
        if kind != "dot":
            self.fail(f"expected a directive, found {word!r}", at, end)
        if name == "section":
            return self.section(lead, start)
        if name in _NO_ARGUMENTS:
            return Directive(name, "", label, extent=Extent(lead, start, end))
        if in_header and name != "pragma":
            return self.header_directive(name, lead, start, end)
        if name in _LINE_DIRECTIVES:
            return self.line_directive(name, lead, start, end)
        while True:
            kind, word, at, stop = self.next()
            if word == ";" and kind == "punct":
                arguments = self.text[end:at].strip()
                return Directive(name, arguments, label, terminated=True, extent=Extent(lead, start, stop))
            if kind == "end" or (word in ("{", "}") and kind == "punct" and name != "callprototype"):
                self.fail(f"expected ';' after .{name}, found {self.found((kind, word, at, stop))}", at, stop)

    def header_directive(self, name: str, lead: int, start: int, end: int) -> Directive:
        """Numbers, names and commas up to the next directive, brace or semicolon."""
        last = end
        depth = 0
        while True:
            kind, word, at, stop = self.peek()
            if word == "(":
                depth += 1
            elif word == ")" and depth:
                depth -= 1
            elif (
                depth == 0 and not (kind in ("integer", "string") or word == "," or (kind == "name" and name in ("alias",)))
            ) or kind == "end":
                break
            self.position = last = stop
        return Directive(name, self.text[end:last].strip(), extent=Extent(lead, start, last))

    def line_directive(self, name: str, lead: int, start: int, end: int) -> Directive:
        stop = end
        quoted = False
        while stop < len(self.text):
            character = self.text[stop]
            if character == '"':
                quoted = not quoted
            elif (
                character == "\n"
                or (not quoted and self.text.startswith(("//", "/*"), stop))
                or (character == ";" and not quoted)
            ):
                break
            stop += 1
        arguments = self.text[end:stop]
        terminated = self.text.startswith(";", stop)
        self.position = stop + 1 if terminated else end + len(arguments.rstrip())
        return Directive(name, arguments.strip(), terminated=terminated, extent=Extent(lead, start, self.position))

    def section(self, lead: int, start: int) -> Section:
        mark = self.skip(self.position)
        opening = self.text.find("{", mark)
        if opening < 0:
            self.fail("expected '{' after .section, found the end of the file", mark)
        name = self.text[mark:opening].strip()
        closing = self.text.find("}", opening)
        if closing < 0:
            self.fail("expected '}' at the end of the section, found the end of the file", opening)
        self.position = closing + 1
        return Section(name, self.text[opening + 1 : closing], Extent(lead, start, closing + 1))

    # Declarations

    def declaration(self, lead: int, start: int, linkage: tuple[str, ...], *, parameter: bool = False) -> Declaration:
        space = type_name = ""
        align = pointer_align = None
        vector = 1
        attributes: list[str] = []
        while True:
            kind, word, at, end = self.peek()
            if kind != "dot":
                break
            self.position = end
            name = word[1:]
            if not space and name in SPACES:
                space = name
            elif name == "align":
                value = self.constant("an alignment in bytes").value
                if "ptr" in attributes:
                    pointer_align = value
                else:
                    align = value
            elif name in ("v2", "v4", "v8"):
                vector = int(name[1:])
            elif name == "attribute":
                opening = self.peek()[2]
                self.expect("(", "after .attribute")
                while self.next()[1] != ")":
                    if self.peek()[0] == "end":
                        self.fail("expected ')' after .attribute, found the end of the file", opening)
                attributes.append(self.text[at + 1 : self.position])
            elif name == "ptr" or (name in SPACES and "ptr" in attributes):
                attributes.append(name)
            elif not type_name:
                type_name = name
            else:
                self.fail(f"expected a name after the type .{type_name}, found {word!r}", at, end)
        if not type_name:
            token = self.peek()
            self.fail(f"expected a type such as .b32 in the declaration, found {self.found(token)}", token[2], token[3])
        declarators = [self.declarator()]
        while not parameter and self.take(","):
            declarators.append(self.declarator())
        if not parameter:
            self.expect(";", "after the declaration")
        return Declaration(
            space, type_name, tuple(declarators), linkage, align, vector, tuple(attributes), pointer_align,
            Extent(lead, start, self.position),
        )  # fmt: skip

    def declarator(self) -> Declarator:
        name = self.identifier("a name")
        count: int | None = None
        dimensions: list[int | None] = []
        if self.take("<"):
            count = self.constant("how many registers").value
            self.expect(">", "after the number of registers")
        while self.take("["):
            if self.take("]"):
                dimensions.append(None)
            else:
                dimensions.append(self.constant("an array extent").value)
                self.expect("]", "after the array extent")
        initialiser = self.initialiser() if self.take("=") else None
        return Declarator(name, tuple(dimensions), count, initialiser)

    def initialiser(self) -> Initialiser:
        if self.peek()[1] != "{":
            return Initialiser((self.initial_value(),), braced=False)
        return self.braced_initialiser()

    def braced_initialiser(self) -> Initialiser:
        self.expect("{", "before the initial values")
        self.enter()
        elements: list[Initialiser | Operand | AddressOf] = []
        while not self.take("}"):
            elements.append(self.braced_initialiser() if self.peek()[1] == "{" else self.initial_value())
            if not self.take(","):
                self.expect("}", "after the initial values")
                break
        self.depth -= 1
        return Initialiser(tuple(elements))

    def initial_value(self) -> Operand | AddressOf:
        kind, word, _, end = self.peek()
        following = self.skip(end)
        if kind in ("name", "integer") and self.text.startswith("(", following):
            self.position = following + 1
            name = self.identifier("a variable")
            self.expect(")", "after the variable")
            return AddressOf(word, name, self.offset())
        return self.operand()

    def offset(self) -> int:
        if self.take("+"):
            return self.constant("an offset").value
        if self.take("-"):
            return -self.constant("an offset").value
        return 0

    # Bodies

    def enter(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(f"expected at most {_MAX_DEPTH} levels of braces, found more", self.skip(self.position))

    def block(self, lead: int) -> Block:
        start = self.skip(self.position)
        self.expect("{", "before the body")
        self.enter()
        items: list[Statement] = []
        text, append = self.text, items.append
        match_trivia, match_instruction, match_label = TRIVIA.match, _INSTRUCTION.match, _LABEL.match
        while True:
            at = self.position
            trivia = match_trivia(text, at)
            begin = trivia.end() if trivia else at
            match = match_instruction(text, begin)
            if match is not None:
                operand_text = match["operands"]
                operands = self.operand_list(operand_text) if operand_text else ()
                if operands is not None:
                    guard_name = match["guard"]
                    guard = Guard(guard_name, match["negated"] is not None) if guard_name else None
                    end = match.end()
                    self.position = end
                    modifiers = self.modifier_list(match["modifiers"])
                    append(Instruction(match["opcode"], modifiers, operands, guard, Extent(at, begin, end)))
                    continue
            label = match_label(text, begin)
            if label is not None:
                self.position = label.end()
                append(Label(label[1], Extent(at, begin, label.end())))
                continue
            kind, word, start_token, end = self.peek()
            if word == "}" and kind == "punct":
                self.position = end
                break
            if kind == "end":
                self.fail(
                    "expected '}' at the end of the body, found the end of the file", start, start + 1,
                    fix="Close the brace that opens here.",
                )  # fmt: skip
            append(self.statement(at, start_token, kind, word, end))
        self.depth -= 1
        return Block(tuple(items), Extent(lead, start, self.position))

    def statement(self, lead: int, start: int, kind: str, word: str, end: int) -> Statement:
        if word == "{" and kind == "punct":
            return self.block(lead)
        if word == ";" and kind == "punct":
            self.position = end
            return Directive("", "", terminated=True, extent=Extent(lead, start, end))
        if kind == "dot":
            name = word[1:]
            if name in SPACES or name in LINKAGES:
                linkage: list[str] = []
                while self.peek()[1][1:] in LINKAGES:
                    linkage.append(self.next()[1][1:])
                return self.declaration(lead, start, tuple(linkage))
            return self.directive(lead, start)
        if kind == "name" and self.text.startswith(":", self.skip(end)):
            self.position = self.skip(end) + 1
            token = self.peek()
            if token[1] in (".branchtargets", ".calltargets", ".callprototype"):
                found = self.directive(lead, start, label=word)
                assert isinstance(found, Directive)
                return found
            return Label(word, Extent(lead, start, self.position))
        return self.instruction(lead, start)

    def instruction(self, lead: int, start: int) -> Instruction:
        guard = None
        if self.take("@"):
            negated = self.take("!")
            guard = Guard(self.identifier("a predicate register"), negated)
        token = self.next()
        if token[0] != "name":
            self.fail(f"expected an instruction, found {self.found(token)}", token[2], token[3])
        opcode, end = token[1], token[3]
        modifiers: list[str] = []
        while self.text.startswith(".", end):
            match = TOKEN.match(self.text, end)
            if match is None or match.lastgroup not in ("dot", "float"):
                break
            modifiers.append(match.group()[1:])
            end = self.position = match.end()
        operands: list[Operand] = []
        if not self.take(";"):
            operands.append(self.operand())
            while self.take(","):
                operands.append(self.operand())
            # call's last parts and texture forms need nothing more: they are operands, too
            self.expect(";", f"after the operands of {opcode}")
        return Instruction(opcode, tuple(modifiers), tuple(operands), guard, Extent(lead, start, self.position))

    # Operands

    def modifier_list(self, text: str) -> tuple[str, ...]:
        found = self.modifier_lists.get(text)
        if found is None:
            found = self.modifier_lists[text] = tuple(text[1:].split("."))
        return found

    def operand_list(self, text: str) -> tuple[Operand, ...] | None:
        """Operands of a usual form; None asks for the token-wise reader."""
        if text in self.operand_lists:
            return self.operand_lists[text]
        operands: list[Operand] = []
        for part in text.split(","):
            word = part.strip()
            operand = self.simple.get(word)
            if operand is None:
                operand = _simple_operand(word)
                if operand is None:
                    self.operand_lists[text] = None
                    return None
                self.simple[word] = operand
            operands.append(operand)
        return tuple(operands)

    def operand(self) -> Operand:
        first = self.plain_operand()
        if self.take("|"):
            return Pair(first, self.plain_operand())
        return first

    def plain_operand(self) -> Operand:
        kind, word, start, end = self.peek()
        if kind == "punct":
            if word == "[":
                return self.address()
            if word == "{":
                return Vector(self.sequence("{", "}"))
            if word == "(" and not self.is_constant_expression():
                return Group(self.sequence("(", ")"))
            if word == "!" and self.is_name_next(end):
                self.position = end
                return Negation(self.plain_operand())
            if word == "-" and self.is_name_next(end):
                self.fail(f"expected a register or a constant, found a negated name {word!r}", start, end)
            if word in ("-", "+", "(", "~", "!"):
                return self.constant("a constant")
        if kind == "name":
            return self.named(word, end)
        if kind in ("integer", "bits", "float", "dot"):
            return self.number()
        self.fail(f"expected an operand, found {self.found((kind, word, start, end))}", start, end)

    def is_name_next(self, position: int) -> bool:
        following = self.skip(position)
        match = TOKEN.match(self.text, following)
        return match is not None and match.lastgroup == "name" and match.group() != "WARP_SZ"

    def is_constant_expression(self) -> bool:
        """Whether the parenthesis here holds a constant expression rather than the arguments of a call."""
        position = self.skip(self.position) + 1
        match = TOKEN.match(self.text, self.skip(position))
        while match is not None and match.group() in ("(", "-", "~", "!", "+"):
            match = TOKEN.match(self.text, self.skip(match.end()))
        if match is None or match.lastgroup not in ("integer",):
            return False
        closing = TOKEN.match(self.text, self.skip(match.end()))
        return closing is not None and closing.group() not in (")", ",")

    def sequence(self, opening: str, closing: str) -> tuple[Operand, ...]:
        self.expect(opening, "before a list")
        self.enter()
        found: list[Operand] = []
        while not self.take(closing):
            found.append(self.operand())
            if not self.take(","):
                self.expect(closing, "after the list")
                break
        self.depth -= 1
        return tuple(found)

    def named(self, word: str, end: int) -> Operand:
        self.position = end
        text = word
        while self.text.startswith(".", end):
            match = TOKEN.match(self.text, end)
            if match is None or match.lastgroup != "dot":
                break
            text += match.group()
            end = self.position = match.end()
        if self.peek()[1] == "[":
            self.position = self.peek()[3]
            index = self.operand()
            self.expect("]", "after the index")
            return Subscript(Name(text), index)
        offset = self.offset()
        return Sum(Name(text), offset) if offset else Name(text)

    def number(self) -> Operand:
        kind, word, start, end = self.peek()
        if kind == "bits":
            self.position = end
            return Float(int(word[2:], 16), 32 if word[1] in "fF" else 64, word)
        if kind in ("float", "dot"):
            try:
                value = float(word)
            except ValueError:
                self.fail(f"expected an operand, found {word!r}", start, end)
            self.position = end
            return Float(struct.unpack("<Q", struct.pack("<d", value))[0], 64, word)
        return self.constant("a constant")

    def address(self) -> Operand:
        self.expect("[", "before an address")
        base = self.plain_operand()
        offset = 0
        if isinstance(base, Sum):
            base, offset = base.base, base.offset
        rest: list[Operand] = []
        while self.take(","):
            rest.append(self.operand())
        self.expect("]", "after the address")
        return Address(base, offset, tuple(rest))

    # Constant expressions (PTX ISA 4.5.4 to 4.5.6)

    def constant(self, what: str) -> Integer | Float:
        begin = self.skip(self.position)
        if self.text.startswith("-", begin):
            match = TOKEN.match(self.text, self.skip(begin + 1))
            if match is not None and match.lastgroup in ("float", "bits"):
                self.position = match.end()
                literal = match.group()
                if match.lastgroup == "float":
                    bits = struct.unpack("<Q", struct.pack("<d", -float(literal)))[0]
                    return Float(bits, 64, self.text[begin : match.end()])
                self.fail("expected a constant, found '-' before bits of a float", begin, match.end())
        value, _ = self.expression(what, 0)
        return Integer(value, self.text[begin : self.position].strip())

    def expression(self, what: str, level: int) -> tuple[int, bool]:
        """Value and whether it is unsigned; binary operators by precedence climbing."""
        self.enter()
        left = self.unary(what)
        while True:
            kind, word, _, end = self.peek()
            power = _PRECEDENCE.get(word) if kind == "punct" else None
            if power is None or power < level or (word in (">", "]", "|") and level == 0 and not self._operand_follows(end)):
                break
            self.position = end
            if word == "?":
                then, _ = self.expression(what, 0)
                self.expect(":", "in the conditional constant")
                other, _ = self.expression(what, power)
                left = (then if left[0] else other, left[1])
                continue
            right = self.expression(what, power + 1)
            left = _binary(self, word, left, right, end)
        self.depth -= 1
        return left

    def _operand_follows(self, position: int) -> bool:
        match = TOKEN.match(self.text, self.skip(position))
        return match is not None and match.lastgroup == "integer"

    def unary(self, what: str) -> tuple[int, bool]:
        kind, word, start, end = self.next()
        if kind == "integer":
            return _integer(word)
        if kind == "name" and word == "WARP_SZ":
            return 32, False
        if kind == "punct" and word == "(":
            following = self.text[self.skip(end) :][:4]
            if following in (".s64", ".u64"):
                self.position = self.skip(end) + 4
                self.expect(")", "after the cast")
                value, _ = self.unary(what)
                return _wrap(value, following == ".u64"), following == ".u64"
            value = self.expression(what, 0)
            self.expect(")", "after the constant expression")
            return value
        if kind == "punct" and word in ("-", "+", "~", "!"):
            value, unsigned = self.unary(what)
            return _wrap(_UNARY[word](value), unsigned), unsigned
        self.fail(f"expected {what}, found {self.found((kind, word, start, end))}", start, end)


_UNARY: dict[str, Callable[[int], int]] = {"-": lambda a: -a, "+": lambda a: a, "~": lambda a: ~a, "!": lambda a: int(a == 0)}
_PRECEDENCE = {
    "?": 0, "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


def _wrap(value: int, unsigned: bool) -> int:
    value &= (1 << 64) - 1
    return value if unsigned or value < 1 << 63 else value - (1 << 64)


def _integer(word: str) -> tuple[int, bool]:
    unsigned = word.endswith("U")
    digits = word.rstrip("U")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        value = int(digits, 8) if set(digits) <= set("01234567") else int(digits)
    else:
        value = int(digits, 0)
    return value, unsigned or value >= 1 << 63


def _binary(parser: _Parser, word: str, left: tuple[int, bool], right: tuple[int, bool], at: int) -> tuple[int, bool]:
    a, b = left[0], right[0]
    unsigned = left[1] or right[1]
    if word in ("/", "%"):
        if b == 0:
            parser.fail("expected a divisor other than 0", at)
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return _wrap(quotient if word == "/" else a - b * quotient, unsigned), unsigned
    if word in ("<<", ">>"):
        shift = b & 63
        return _wrap(a << shift if word == "<<" else a >> shift, left[1]), left[1]
    if word in _COMPARE:
        return int(_COMPARE[word](a, b)), False
    return _wrap(_ARITHMETIC[word](a, b), unsigned), unsigned


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "&&": lambda a, b: bool(a and b), "||": lambda a, b: bool(a or b),
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}  # fmt: skip


def _simple_operand(word: str) -> Operand | None:
    if _SIMPLE_NAME.match(word):
        return Name(word)
    match = _SIMPLE_ADDRESS.match(word)
    if match is not None:
        return Address(Name(match[1]), int(match[2] or 0))
    if _SIMPLE_INTEGER.match(word):
        negative = word.startswith("-")
        value, _ = _integer(word.lstrip("-"))
        return Integer(-value if negative else value, word)
    if len(word) in (10, 18) and word[:2] in ("0f", "0F", "0d", "0D"):
        try:
            return (
                Float(int(word[2:], 16), 32 if word[1] in "fF" else 64, word)
                if len(word) == (10 if word[1] in "fF" else 18)
                else None
            )
        except ValueError:
            return None
    return None


__all__ = ["LINKAGES", "NEW", "SPACES", "parse"]
