"""Reads the syntax of a dataflow program (grammar in `syntax.py`); names and shapes are checked later, in `parse.py`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import TypeVar

from warploom.core import Diagnostic, UserError
from warploom.ir.dataflow.gather_set import Shape
from warploom.ir.dataflow.lambda_syntax import Lambda, read_lambda
from warploom.ir.dataflow.program import MISSING, NOUGHT, Value
from warploom.ir.dataflow.syntax import (
    ArraySyntax,
    BlockSyntax,
    BuiltinSyntax,
    CallSyntax,
    DefineSyntax,
    FoldSyntax,
    GatherArraySyntax,
    GoalSyntax,
    ItemSyntax,
    LiteralSyntax,
    OptionSyntax,
    OptionValue,
    PlaceSyntax,
    RangeSyntax,
    StatementSyntax,
    TypeSyntax,
    Word,
)
from warploom.ir.dataflow.tokens import Cursor, Source, source_of, syntax_error
from warploom.ir.dataflow.values import folded

Element = TypeVar("Element")

MAX_ELEMENTS = 1 << 24
"""Of one array: a larger type is a slip of the pen."""

_ANNOTATIONS = {"prune": True, "noprune": False}
_OPERATOR_SIGNS = ("+", "*", "&", "|", "^")
_KEYWORDS = ("define", "goal", "fold")
_MAX_AXES = 16
_MAX_BLOCKS = 16


def read_program(source: Source) -> tuple[tuple[ItemSyntax, ...], tuple[Diagnostic, ...], frozenset[str]]:
    """The statements, definitions and goals that can be read, in order; errors; names of statements that cannot be read."""
    reader = _Reader(Cursor(source))
    items = reader.items(None)
    return tuple(items), tuple(reader.found), frozenset(reader.unread)


def read_builtin(text: str) -> tuple[str, dict[str, OptionValue]]:
    """Name and options of a built-in goal; UserError if the text is anything else."""
    reader = _Reader(Cursor(source_of(text, "<goal>")))
    name = reader.word("the name of a goal").text
    options = {o.key.text: o.value for o in reader.options()}
    reader.cursor.expect_kind("end", "the end of the goal")
    return name, options


class _Reader:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.found: list[Diagnostic] = []
        self.unread: set[str] = set()
        self.blocks = 0

    # ------------------------------------------------------------ items

    def items(self, closing: str | None) -> list[ItemSyntax]:
        """Up to the closing bracket (None: the end of the text); after an error goes on at the next line that starts an item."""
        items: list[ItemSyntax] = []
        while self.cursor.peek().kind != "end" and not (closing and self.cursor.sees(closing)):
            before = self.cursor.at
            try:
                items.append(self.item())
            except UserError as error:
                self.found += error.diagnostics
                self.unread |= {t.text for t, u in pairwise(self.cursor.tokens[before : self.cursor.at + 1]) if u.text == ":"}
                self.skip(before, closing)
        return items

    def skip(self, before: int, closing: str | None) -> None:
        cursor = self.cursor
        cursor.at = max(cursor.at, before + 1)
        while cursor.peek().kind != "end" and not self.starts_item():
            if closing and cursor.sees(closing) and self.is_first_on_line():
                return
            cursor.next()

    def starts_item(self) -> bool:
        cursor = self.cursor
        if not self.is_first_on_line():
            return False
        return cursor.sees("define", "goal", "@") or (cursor.peek().kind == "name" and cursor.sees(":", ahead=1))

    def is_first_on_line(self) -> bool:
        cursor = self.cursor
        return cursor.at == 0 or "\n" in cursor.source.text[cursor.tokens[cursor.at - 1].end : cursor.peek().start]

    def item(self) -> ItemSyntax:
        cursor = self.cursor
        is_pruned: bool | None = None
        while cursor.sees("@"):
            start = cursor.next().start
            token = cursor.expect_kind("name", "`prune` or `noprune`")
            if token.text not in _ANNOTATIONS:
                message = f"expected @prune or @noprune, got @{token.text}"
                span = cursor.span_from(start)
                raise UserError(Diagnostic("UNKNOWN_ANNOTATION", message, span, "remove it, or make it a comment with #"))
            is_pruned = _ANNOTATIONS[token.text]
        if cursor.sees("define"):
            return self.define()
        if cursor.sees("goal"):
            return self.goal()
        return self.statement(is_pruned)

    def statement(self, is_pruned: bool | None) -> StatementSyntax:
        cursor = self.cursor
        start = cursor.peek().start
        name = self.word("a statement `name: [shape] = value`, `define` or `goal`")
        cursor.expect(":", "give the shape: `name: [4, 8] = value`")
        type_ = self.type()
        cursor.expect("=", "a statement is `name: [shape] = value`")
        value = self.block() if cursor.sees("{") else self.value()
        return StatementSyntax(name, type_, value, is_pruned, cursor.span_from(start))

    def block(self) -> BlockSyntax:
        cursor = self.cursor
        opening = cursor.expect("{")
        self.blocks += 1
        if self.blocks > _MAX_BLOCKS:
            raise syntax_error(cursor.span_of(opening), f"at most {_MAX_BLOCKS} nested blocks", "one more")
        items = self.items("}")
        self.blocks -= 1
        cursor.expect("}", "close the block that starts with `{`")
        kept: list[StatementSyntax | DefineSyntax] = []
        for item in items:
            if isinstance(item, GoalSyntax):
                message = "expected one goal for the whole program, got a goal inside a block"
                self.found.append(Diagnostic("GOAL_IN_BLOCK", message, item.span, "move the goal out of the block"))
            else:
                kept.append(item)
        return BlockSyntax(tuple(kept), cursor.span_from(opening.start))

    def define(self) -> DefineSyntax:
        cursor = self.cursor
        start = cursor.expect("define").start
        name = self.word("the name of the definition")
        name_end = cursor.tokens[cursor.at - 1].end
        cursor.expect("(", "a definition is `define name([4, 4]) -> [4, 4] = gathers`")
        arguments = [self.type()]
        while cursor.accept(","):
            if cursor.sees(")"):
                break
            arguments.append(self.type())
        cursor.expect(")")
        cursor.expect("->", "give the output's shape: `-> [4, 4]`")
        out = self.type()
        cursor.expect("=")
        members: list[tuple[str, GatherArraySyntax | Lambda]] = []
        if cursor.accept("{"):
            while not cursor.sees("}"):
                kind = "string" if cursor.peek().kind == "string" else "name"
                member = cursor.expect_kind(kind, 'a member `name = gathers` or `"name" = gathers`').text
                cursor.expect("=")
                members.append((member, self.gathers()))
                if not cursor.accept(","):
                    break
            cursor.expect("}")
            if not members:
                raise syntax_error(cursor.span_from(start), "at least one member", "an empty list", "add `name = [..]`")
        else:
            members.append((name.text, self.gathers()))
        text = cursor.source.text
        end = cursor.tokens[cursor.at - 1].end
        written = text[start : name_end - len(name.text)], text[name_end:end]
        return DefineSyntax(name, tuple(arguments), out, tuple(members), written, cursor.span_from(start))

    def goal(self) -> GoalSyntax:
        cursor = self.cursor
        start = cursor.expect("goal").start
        target = type_ = None
        if cursor.accept(":"):
            type_ = self.type()
            has_sign = cursor.accept("=")
        else:
            target = self.word("`: [shape]` or the name of the last statement")
            cursor.expect("==", "write `goal: [shape] = ...` or `goal name == ...`")
            has_sign = True
        is_builtin = cursor.peek().kind == "name" and not cursor.sees("fold", "range")
        if is_builtin:
            value = BuiltinSyntax(self.word("the name of a goal"), self.options())
        elif has_sign:
            value = self.literal(self.folds())
        else:
            raise cursor.wrong("`=` and a literal, or the name of a built-in goal")
        return GoalSyntax(target, type_, value, cursor.span_from(start))

    # ------------------------------------------------------------ values

    def value(self) -> LiteralSyntax | CallSyntax:
        start = self.cursor.peek().start
        folds = self.folds()
        if self.cursor.sees("[") or (self.cursor.sees("range") and self.cursor.sees("(", ahead=1)):
            return self.literal(folds, start)
        if len(folds) > 1:
            raise syntax_error(folds[1].span, "one fold in a call", "a second", "give the inner fold its own statement")
        return self.call(folds[0] if folds else None, start)

    def folds(self) -> tuple[FoldSyntax, ...]:
        folds: list[FoldSyntax] = []
        while self.cursor.sees("fold", "+", "*"):
            folds.append(self.fold())
        return tuple(folds)

    def fold(self) -> FoldSyntax:
        cursor = self.cursor
        token = cursor.next()
        if token.text != "fold":
            return FoldSyntax(token.text, cursor.span_of(token))
        if not (cursor.sees("(") and cursor.sees(")", ahead=2)):
            return FoldSyntax("", cursor.span_of(token))
        op = cursor.peek(1)
        # `fold(max) x` names an operator, `fold(x)` folds x: a value, not a new item, must follow the operator.
        is_value = cursor.peek(3).kind == "name" and not cursor.sees(":", ahead=4) and not cursor.sees("define", "goal", ahead=3)
        if op.text in _OPERATOR_SIGNS or (op.kind == "name" and (is_value or cursor.sees("?", "[", "+", "*", "{", ahead=3))):
            cursor.at += 3
            return FoldSyntax(op.text, cursor.span_from(token.start))
        return FoldSyntax("", cursor.span_of(token))

    def call(self, fold: FoldSyntax | None, start: int) -> CallSyntax:
        cursor = self.cursor
        before = self.options() if fold else ()
        is_wrapped = fold is not None and cursor.accept("(")
        cursor.accept("?")
        callee = self.word("a call, a variable, a literal or a block")
        options = before + self.options()
        index = None
        if cursor.sees("(") and cursor.sees("\\", ahead=1):
            cursor.next()
            index = read_lambda(cursor)
            cursor.expect(")")
            if not cursor.sees("("):
                raise cursor.wrong("`(` and the arguments", f"write `{callee.text}(\\i, j. ...)(x)`")
        arguments: list[Word] | None = None
        if cursor.accept("("):
            arguments = []
            while not cursor.sees(")"):
                arguments.append(self.word("the name of a variable", "give an inner call its own statement"))
                if not cursor.accept(","):
                    break
            cursor.expect(")", "arguments are names: give an inner call its own statement")
        if is_wrapped:
            cursor.expect(")", "close the parenthesis of the fold")
        called = None if arguments is None else tuple(arguments)
        return CallSyntax(fold, callee, options, index, called, cursor.span_from(start))

    def options(self) -> tuple[OptionSyntax, ...]:
        cursor = self.cursor
        options: list[OptionSyntax] = []
        if cursor.accept("{"):
            while not cursor.sees("}"):
                key = self.word("an option `key`, `key=3` or `key=[1, 2]`")
                if any(o.key.text == key.text for o in options):
                    message = f"expected each option once, got `{key.text}` again"
                    raise UserError(Diagnostic("BAD_OPTION", message, key.span, "remove one of them"))
                value: OptionValue = True
                if cursor.accept("="):
                    value = self.integers() if cursor.sees("[") else cursor.integer("an integer or a list [1, 2]")
                options.append(OptionSyntax(key, value))
                if not cursor.accept(","):
                    break
            cursor.expect("}")
        return tuple(options)

    def integers(self) -> tuple[int, ...]:
        self.cursor.expect("[")
        items: list[int] = []
        while not self.cursor.sees("]"):
            items.append(self.cursor.integer())
            if not self.cursor.accept(","):
                break
        self.cursor.expect("]")
        return tuple(items)

    # ------------------------------------------------------------ literals and gathers

    def literal(self, folds: tuple[FoldSyntax, ...], start: int | None = None) -> LiteralSyntax:
        cursor = self.cursor
        start = cursor.peek().start if start is None else start
        inner: list[FoldSyntax] = []
        if cursor.accept("range"):
            cursor.expect("(")
            low = cursor.integer()
            cursor.expect(",", "a range is `range(low, high)`")
            high = cursor.integer()
            cursor.expect(")")
            if high <= low or high - low > MAX_ELEMENTS:
                message = f"expected low < high, at most {MAX_ELEMENTS} apart, got range({low}, {high})"
                raise UserError(Diagnostic("SHAPE_MISMATCH", message, cursor.span_from(start), "high is not part of the range"))
            body = RangeSyntax(low, high)
        else:
            shape, values = self.array(lambda: self.element(inner), between=_progression)
            body = ArraySyntax(shape, values)
        return LiteralSyntax(folds, body, tuple(inner), cursor.span_from(start))

    def element(self, folds: list[FoldSyntax]) -> Value:
        cursor = self.cursor
        token = cursor.peek()
        if token.kind == "name" and token.text[0] == "x" and token.text[1:].isdigit() and len(token.text) <= 15:
            return int(cursor.next().text[1:])
        if cursor.accept("_"):
            return MISSING
        if cursor.accept("zero"):
            return NOUGHT
        if cursor.sees("fold", "+", "*"):
            fold = self.fold()
            folds.append(fold)
            if len(folds) > MAX_ELEMENTS:
                raise cursor.wrong("fewer folds")
            cursor.expect("{", "a folded element is `fold{1, 2}`")
            values = [self.element(folds)]
            while cursor.accept(","):
                values.append(self.element(folds))
            cursor.expect("}")
            return folded(fold.op, values)
        return cursor.integer("an integer, x<integer>, `_` (undefined), `zero` or a nested list")

    def gathers(self) -> GatherArraySyntax | Lambda:
        cursor = self.cursor
        if cursor.sees("\\"):
            return read_lambda(cursor)
        start = cursor.peek().start
        shape, places = self.array(self.place)
        return GatherArraySyntax(shape, places, cursor.span_from(start))

    def place(self) -> PlaceSyntax:
        cursor = self.cursor
        start = cursor.peek().start
        if not cursor.accept("("):
            number = cursor.integer("an element number, (argument, number), (argument, (i, j)) or ((i, j))")
            return PlaceSyntax(0, number, cursor.span_from(start))
        if cursor.sees("("):
            argument, index = 0, self.indexes()
        else:
            argument = cursor.integer("an argument number or `(`")
            cursor.expect(",", "write (argument, number), (argument, (i, j)) or ((i, j))")
            index = self.indexes() if cursor.sees("(") else cursor.integer()
        cursor.expect(")", "indexes of argument 0 need two pairs of parentheses: ((i, j))")
        return PlaceSyntax(argument, index, cursor.span_from(start))

    def indexes(self) -> tuple[int, ...]:
        cursor = self.cursor
        cursor.expect("(")
        items = [cursor.integer()]
        while cursor.accept(",") and not cursor.sees(")"):
            items.append(cursor.integer())
        cursor.expect(")")
        return tuple(items)

    def array(
        self, item: Callable[[], Element], between: Callable[[Cursor, list[Element]], list[Element]] | None = None
    ) -> tuple[Shape, tuple[Element, ...]]:
        """A rectangular nested list: its shape and its elements, row-major; `between` reads what `...` leaves out."""
        cursor = self.cursor
        shape: list[int] = []
        elements: list[Element] = []
        leaf_axis: list[int] = []

        def level(axis: int) -> None:
            opening = cursor.expect("[", "all lists at this depth hold lists, as the first does")
            if axis == _MAX_AXES:
                raise syntax_error(cursor.span_of(opening), f"at most {_MAX_AXES} axes", "one more")
            is_inner = not cursor.sees("[")
            first = len(elements)
            count = 0
            while not cursor.sees("]"):
                if not is_inner:
                    level(axis + 1)
                elif between is not None and cursor.sees("..."):
                    elements.extend(between(cursor, elements[first:]))
                else:
                    elements.append(item())
                count += 1
                if not cursor.accept(",") and not cursor.sees("..."):
                    break
            count = len(elements) - first if is_inner else count
            cursor.expect("]", "separate elements with commas")
            span = cursor.span_from(opening.start)
            if count == 0:
                raise syntax_error(span, "at least one element", "an empty list")
            while len(shape) <= axis:
                shape.append(0)
            if is_inner and not leaf_axis:
                leaf_axis.append(axis)
            if is_inner != (axis == leaf_axis[0]):
                message = f"expected {leaf_axis[0] + 1} levels of brackets as in the first list, got another depth"
                raise UserError(Diagnostic("RAGGED_ARRAY", message, span, "nest all elements equally deep"))
            if shape[axis] not in (0, count):
                message = f"expected lists of {shape[axis]} elements at this depth, got {count}"
                raise UserError(Diagnostic("RAGGED_ARRAY", message, span, "make all lists of one depth equally long"))
            shape[axis] = count

        level(0)
        return tuple(shape), tuple(elements)

    # ------------------------------------------------------------ small parts

    def word(self, expected: str, fix: str = "") -> Word:
        token = self.cursor.peek()
        if token.kind != "name" or token.text in _KEYWORDS:
            raise self.cursor.wrong(expected, fix)
        self.cursor.next()
        return Word(token.text, self.cursor.span_of(token))

    def type(self) -> TypeSyntax:
        cursor = self.cursor
        start = cursor.peek().start
        if not cursor.sees("["):
            raise cursor.wrong("a shape such as [4, 8]")
        shape = self.integers()
        span = cursor.span_from(start)
        if not 1 <= len(shape) <= _MAX_AXES or min(shape) < 1 or prod(shape) > MAX_ELEMENTS:
            expected = f"1 to {_MAX_AXES} positive lengths, at most {MAX_ELEMENTS} elements"
            raise syntax_error(span, expected, f"{list(shape)}", "write a shape such as [4, 8]")
        return TypeSyntax(shape, span)


def _progression(cursor: Cursor, before: list[Value]) -> list[Value]:
    """`a, b, ..., z`: the integers after b up to z in steps of b - a (of 1 after a single one), z included."""
    dots = cursor.expect("...")
    cursor.accept(",")
    token = cursor.peek()
    last_text = token.text[1:] if token.kind == "name" and token.text[:1] == "x" and token.text[1:].isdigit() else None
    last = int(cursor.next().text[1:]) if last_text and len(last_text) <= 15 else cursor.integer("the last integer")
    known = [v for v in before[-2:] if isinstance(v, int)]
    if not known or len(known) != len(before[-2:]):
        raise syntax_error(cursor.span_of(dots), "one or two integers before `...`", "something else")
    step = known[1] - known[0] if len(known) == 2 else 1
    if step == 0 or (last - known[-1]) % step or not 0 <= (last - known[-1]) // step <= MAX_ELEMENTS:
        span = cursor.span_from(dots.start)
        raise syntax_error(span, f"a last integer that steps of {step} from {known[-1]} reach", f"{last}")
    return list(range(known[-1] + step, last + step, step)) if last != known[-1] else []
