"""Reads the arrays of dataflow programs: shapes, literals, gather arrays, and the parts they share (grammar in `syntax.py`)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeVar

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow.gather_set import Shape
from warploom.ir.dataflow.lambda_syntax import Lambda, read_lambda
from warploom.ir.dataflow.program import MISSING, NOUGHT, Value
from warploom.ir.dataflow.syntax import (
    ArraySyntax,
    FoldSyntax,
    GatherArraySyntax,
    LiteralSyntax,
    PlaceSyntax,
    RangeSyntax,
    TypeSyntax,
    Word,
)
from warploom.ir.dataflow.tokens import Cursor, syntax_error
from warploom.ir.dataflow.values import folded

Element = TypeVar("Element")

MAX_ELEMENTS = 1 << 24
"""Most elements of one array: a larger type is taken for a slip of the pen."""

_OPERATOR_SIGNS = ("+", "*", "&", "|", "^")
_KEYWORDS = ("define", "goal", "fold")
_MAX_AXES = 16
_MAX_FOLDS = 16


class ArrayReader:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.dots: Span | None = None
        """The place of the dots in the literal that was read last."""

    # ------------------------------------------------------------ literals and gathers

    def literal(self, folds: tuple[FoldSyntax, ...], start: int | None = None, *, may_go_on: bool = False) -> LiteralSyntax:
        """Reads a list. With `may_go_on`, `...` may follow the last of several lists."""
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
            self.dots = None
            counted: list[Value] = []

            def between(cursor: Cursor, before: list[Value]) -> list[Value]:
                found = _progression(cursor, before)
                counted.extend(found)
                return found

            shape, values = self.array(lambda: self.element(inner), between=between, may_go_on=may_go_on)
            body = ArraySyntax(shape, values, self.dots, bool(counted))
        return LiteralSyntax(folds, body, tuple(inner), cursor.span_from(start))

    def element(self, folds: list[FoldSyntax], depth: int = 0) -> Value:
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
            if depth == _MAX_FOLDS:
                raise syntax_error(fold.span, f"at most {_MAX_FOLDS} folds inside each other", "one more")
            cursor.expect("{", "a folded element is `fold{1, 2}`")
            values = [self.element(folds, depth + 1)]
            while cursor.accept(","):
                values.append(self.element(folds, depth + 1))
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
        self,
        item: Callable[[], Element],
        between: Callable[[Cursor, list[Element]], list[Element]] | None = None,
        *,
        may_go_on: bool = False,
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
                if may_go_on and axis == 0 and not is_inner and count and cursor.sees("..."):
                    self.dots = cursor.span_of(cursor.next())
                    break
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

    def integers(self) -> tuple[int, ...]:
        self.cursor.expect("[")
        items: list[int] = []
        while not self.cursor.sees("]"):
            items.append(self.cursor.integer())
            if not self.cursor.accept(","):
                break
        self.cursor.expect("]")
        return tuple(items)


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
