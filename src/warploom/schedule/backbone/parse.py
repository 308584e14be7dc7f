"""Reads the text form of backbones (grammar in `text.py`)."""

from __future__ import annotations

import re
from typing import NoReturn

from warploom.core import BY_NAME, Diagnostic, DType, Span, UserError
from warploom.core.linear import Linear
from warploom.schedule.backbone.build import assemble
from warploom.schedule.backbone.nodes import (
    Access,
    Axis,
    AxisSum,
    Backbone,
    Carry,
    Constant,
    Extent,
    Instruction,
    Operand,
    Operator,
    Parameter,
    Position,
    Previous,
    Region,
    Result,
    Role,
    Scope,
)
from warploom.schedule.backbone.verify import verify

_HEAD = re.compile(r"backbone (\w+)( ordered)?")
_AXIS = re.compile(r"axis (\w+) (\d+): ([\d |]+)")
_INTEGERS = r"((?:\d+(?:, *\d+)*)?)"
_REGION = re.compile(rf"(input|output|temporary) (\w+) (\w+) \[{_INTEGERS}\] strides \[{_INTEGERS}\]")
_INSTRUCTION = re.compile(r"(\w+)\[([\w, ]*)\] = (\w+) (\w+) (.+)")
_PLACE = re.compile(r"(\w+)\[([^\]]*)\](?: else (\S+))?")
_STORE = re.compile(r"(.+) to (.+)")
_PARAMETER = re.compile(r"([A-Za-z_]\w*):(\w+)")
_RESULT = re.compile(r"(\w+)\[([\w, ]*)\](?:@(\w+))?")
_CARRY = re.compile(r"carry\((\w+); ([\w, ]+)\)")
_PREVIOUS = re.compile(r"before\((\w+)\[([\w, ]*)\]\)")
_POSITION = re.compile(r"at\(([^)]*)\)")
_TERM = re.compile(r"(?:(\d+)\*)?([A-Za-z_]\w*)|(\d+)")
_OPERANDS = re.compile(r",\s*(?![^\[(]*[\])])")
_FIX = "The grammar is in the module `warploom.schedule.backbone.text`."


def parse_backbone(text: str, file: str = "<backbone>") -> Backbone:
    """The backbone, verified. Raises UserError at the first line that does not fit."""
    parser = _Parser(file)
    for number, line in enumerate(text.splitlines(), 1):
        parser.number, parser.line = number, line
        content = line.split("#")[0].strip()
        if content:
            parser.read(content)
    return parser.finish()


class _Parser:
    def __init__(self, file: str) -> None:
        self.file = file
        self.number = 1
        self.line = ""
        self.name: str | None = None
        self.is_ordered = False
        self.axes: list[Axis] = []
        self.extents: list[Extent] = []
        self.regions: list[Region] = []
        self.instructions: list[Instruction] = []

    def fail(self, expected: str, got: str) -> NoReturn:
        column = max(0, self.line.find(got)) + 1
        span = Span(self.file, self.number, column, self.number, column + max(1, len(got)), self.line)
        raise UserError(Diagnostic("BACKBONE_SYNTAX", f"expected {expected}, got {got!r}", span, _FIX))

    def finish(self) -> Backbone:
        if self.name is None:
            self.fail("a line `backbone NAME`", "")
        made = assemble(self.name, self.axes, self.extents, self.regions, self.instructions, can_reorder=not self.is_ordered)
        verify(made)
        return made

    def read(self, line: str) -> None:
        if self.name is None:
            found = _HEAD.fullmatch(line)
            if not found:
                self.fail("`backbone NAME`", line)
            self.name, self.is_ordered = found[1], found[2] is not None
        elif found := _AXIS.fullmatch(line):
            self.read_axis(found)
        elif found := _REGION.fullmatch(line):
            self.regions.append(Region(found[2], self.dtype(found[3]), _integers(found[4]), _integers(found[5]), Role(found[1])))
        elif found := _INSTRUCTION.fullmatch(line):
            self.read_instruction(found)
        else:
            self.fail("an axis, a region or an instruction", line)

    def read_axis(self, found: re.Match[str]) -> None:
        levels = [tuple(int(n) for n in level.split()) for level in found[3].split("|")]
        if int(found[2]) < 1 or not all(levels):
            self.fail("a size of 1 or more, and sizes of every level", found[0])
        number = len(self.axes)
        self.axes.append(Axis(found[1], int(found[2]), tuple(levels[1:])))
        self.extents += [Extent(number, level, sizes) for level, sizes in enumerate(levels)]

    def read_instruction(self, found: re.Match[str]) -> None:
        name, axes, dtype, what = found[1], self.axis_numbers(found[2]), self.dtype(found[4]), found[5]
        if found[3] not in list(Operator):
            self.fail("an operator", found[3])
        operator = Operator(found[3])
        access = region = None
        operands: tuple[Operand, ...] = ()
        match operator:
            case Operator.LOAD:
                access = self.access(what)
            case Operator.STORE:
                store = _STORE.fullmatch(what)
                if not store:
                    self.fail("`operand to place`", what)
                operands, access = (self.operand(store[1]),), self.access(store[2])
            case Operator.GATHER:
                place, between, named = what.rpartition(" in ")
                if not between:
                    self.fail("`operand in region`", what)
                operands, region = (self.operand(place),), self.region(named)
            case _:
                operands = tuple(self.operand(part) for part in _OPERANDS.split(what))
        self.instructions.append(Instruction(name, operator, operands, axes, dtype, access, region=region))

    def operand(self, text: str) -> Operand:
        if found := _CARRY.fullmatch(text):
            return Carry(self.instruction_number(found[1]), self.axis_numbers(found[2]))
        if found := _PREVIOUS.fullmatch(text):
            return Previous(self.instruction_number(found[1]), self.axis_numbers(found[2]))
        if found := _POSITION.fullmatch(text):
            return Position(self.axis_sum(found[1]))
        if found := _RESULT.fullmatch(text):
            scope = found[3] or Scope.BLOCK.value
            if scope not in list(Scope):
                self.fail("a scope", scope)
            return Result(self.instruction_number(found[1]), self.axis_numbers(found[2]), Scope(scope))
        if found := _PARAMETER.fullmatch(text):
            return Parameter(found[1], self.dtype(found[2]))
        return Constant(self.float_of(text))

    def float_of(self, text: str) -> int | float:
        try:
            return int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            self.fail("a number, a scalar, a result or a carry", text)

    def access(self, text: str) -> Access:
        found = _PLACE.fullmatch(text)
        if not found:
            self.fail("a place such as A[i, k]", text)
        region = self.region(found[1])
        indices = tuple(self.axis_sum(part) for part in found[2].split(",")) if found[2].strip() else ()
        return Access(region, indices, None if found[3] is None else self.float_of(found[3]))

    def region(self, name: str) -> int:
        region = next((n for n, r in enumerate(self.regions) if r.name == name), None)
        if region is None:
            self.fail("the name of a region", name)
        return region

    def axis_sum(self, text: str) -> AxisSum:
        terms: list[tuple[int, int]] = []
        constant = 0
        words = re.findall(r"[+-]|[^\s+-]+", text)
        if words and words[0] not in "+-":
            words.insert(0, "+")
        if not words or len(words) % 2:
            self.fail("an index", text)
        for sign, word in zip(words[::2], words[1::2], strict=True):
            found = _TERM.fullmatch(word)
            if not found or sign not in "+-":
                self.fail("an index such as 2*i + 1", text)
            factor = -1 if sign == "-" else 1
            if found[3]:
                constant += factor * int(found[3])
            else:
                terms.append((self.axis_numbers(found[2])[0], factor * int(found[1] or 1)))
        return Linear(tuple(terms), constant)

    def axis_numbers(self, text: str) -> tuple[int, ...]:
        known = {a.name: n for n, a in enumerate(self.axes)}
        names = [n.strip() for n in text.split(",")] if text.strip() else []
        for name in names:
            if name not in known:
                self.fail("the name of an axis", name)
        return tuple(known[n] for n in names)

    def instruction_number(self, name: str) -> int:
        number = next((n for n, i in enumerate(self.instructions) if i.name == name), None)
        if number is None:
            self.fail("an instruction of a line before", name)
        return number

    def dtype(self, name: str) -> DType:
        found = BY_NAME.get(name)
        if found is None or found.lanes > 1:
            self.fail("an element type", name)
        return found


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(",")) if text.strip() else ()
