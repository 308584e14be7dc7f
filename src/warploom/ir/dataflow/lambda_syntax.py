r"""Index lambdas: `\i, j. expression` says where the output element at index (i, j) comes from.

    expression := choice
    choice     := or [ "if" or "else" choice | "?" choice ":" choice ]
    or, and    := Python's `or`, `and`, `not`; operands and results are truth values
    comparison := operand [ ("==" | "!=" | "<" | "<=" | ">" | ">=") operand ]
    operand    := Python's | ^ & << >> + - * / // % and unary -, with Python's precedence; `/` is `//`
    atom       := INT | INT NAME without space between (a product) | NAME | "(" choice ")" | "_" | "zero"
                | "[" choice { "," choice } "]"                    one index per axis
                | "(" choice "," choice ")"                        argument number; element number or indexes in it

Source: Swizzleflow, listings 2 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from warploom.core import Span
from warploom.ir.dataflow.tokens import Cursor, syntax_error


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """`-` or `not`."""

    op: str
    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    lhs: Expression
    rhs: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Choice:
    """`then if condition else other`; only the branch taken is evaluated."""

    condition: Expression
    then: Expression
    other: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Indexes:
    """One index per axis."""

    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class InArgument:
    argument: Expression
    index: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class NoSource:
    """The value 0, or undefined."""

    is_zero: bool
    span: Span


Expression: TypeAlias = "Number | Variable | Unary | Binary | Choice | Indexes | InArgument | NoSource"


@dataclass(frozen=True, slots=True)
class Lambda:
    parameters: tuple[str, ...]
    body: Expression
    span: Span


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_CHOICE, _OR, _AND, _NOT, _COMPARE, _BITOR, _XOR, _BITAND, _SHIFT, _SUM, _PRODUCT, _UNARY = range(12)
_LEVEL = {
    "or": _OR, "and": _AND, **dict.fromkeys(COMPARISONS, _COMPARE), "|": _BITOR, "^": _XOR, "&": _BITAND, "<<": _SHIFT,
    ">>": _SHIFT, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT,
}  # fmt: skip
_MAX_DEPTH, _MAX_OPERATORS = 30, 200
_WORDS = ("zero", "_", "if", "else", "and", "or", "not")


def lambda_text(index: Lambda) -> str:
    """The lambda in its canonical form, which reads back to the same."""
    return f"\\{', '.join(index.parameters)}. {_text(index.body, _CHOICE)}"


def _text(expression: Expression, level: int) -> str:
    def wrap(text: str, own: int) -> str:
        return f"({text})" if own < level else text

    match expression:
        case Number(value):
            return str(value)
        case Variable(name):
            return name
        case Unary("not", operand):
            return wrap(f"not {_text(operand, _NOT)}", _NOT)
        case Unary(op, operand):
            return wrap(f"{op}{_text(operand, _UNARY)}", _UNARY)
        case Binary(op, lhs, rhs):
            own = _LEVEL[op]
            left = own + 1 if op in COMPARISONS else own
            return wrap(f"{_text(lhs, left)} {op} {_text(rhs, own + 1)}", own)
        case Choice(condition, then, other):
            return wrap(f"{_text(then, _OR)} if {_text(condition, _OR)} else {_text(other, _CHOICE)}", _CHOICE)
        case Indexes(items):
            return f"[{', '.join(_text(i, _CHOICE) for i in items)}]"
        case InArgument(argument, index):
            return f"({_text(argument, _CHOICE)}, {_text(index, _CHOICE)})"
        case NoSource(is_zero):
            return "zero" if is_zero else "_"
        case _:
            assert_never(expression)


def read_lambda(cursor: Cursor) -> Lambda:
    r"""The lambda at the cursor, which sees its `\`; every variable in it is a parameter."""
    start = cursor.expect("\\").start
    parameters: list[str] = []
    while True:
        token = cursor.expect_kind("name", "an index variable")
        if token.text in parameters or token.text in _WORDS:
            raise syntax_error(cursor.span_of(token), "a new index variable", f"`{token.text}`", "choose another name")
        parameters.append(token.text)
        if not cursor.accept(","):
            break
    cursor.expect(".", "write `\\i, j. expression`")
    body = _Expressions(cursor, tuple(parameters)).choice()
    return Lambda(tuple(parameters), body, cursor.span_from(start))


class _Expressions:
    def __init__(self, cursor: Cursor, parameters: tuple[str, ...]) -> None:
        self.cursor = cursor
        self.parameters = parameters
        self.depth = 0
        self.operators = 0

    def choice(self) -> Expression:
        cursor = self.cursor
        start = cursor.peek().start
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise cursor.wrong(f"at most {_MAX_DEPTH} nested expressions")
        first = self.binary(_OR)
        result = first
        if cursor.sees("="):
            raise cursor.wrong("an operator or the end of the expression", "compare with `==`")
        if cursor.accept("if"):
            condition = self.binary(_OR)
            cursor.expect("else", "a conditional is `a if condition else b`")
            result = Choice(condition, first, self.choice(), cursor.span_from(start))
        elif cursor.accept("?"):
            then = self.choice()
            cursor.expect(":", "a conditional is `condition ? a : b`")
            result = Choice(first, then, self.choice(), cursor.span_from(start))
        self.depth -= 1
        return result

    def binary(self, level: int) -> Expression:
        """An expression of operators that bind at least as tightly as the level."""
        cursor = self.cursor
        start = cursor.peek().start
        if level <= _NOT and cursor.accept("not"):
            self.count()
            result: Expression = Unary("not", self.binary(_NOT), cursor.span_from(start))
        else:
            result = self.unary()
        while (op := cursor.peek().text) in _LEVEL and cursor.peek().kind != "string" and _LEVEL[op] >= level:
            cursor.next()
            self.count()
            rhs = self.binary(_LEVEL[op] + 1)
            result = Binary(op, result, rhs, cursor.span_from(start))
            if op in COMPARISONS and cursor.sees(*COMPARISONS):
                raise cursor.wrong("one comparison", "join two comparisons with `and`")
        return result

    def unary(self) -> Expression:
        start = self.cursor.peek().start
        turns = 0
        while self.cursor.accept("-"):
            self.count()
            turns += 1
        result = self.atom()
        for _ in range(turns):
            result = Unary("-", result, self.cursor.span_from(start))
        return result

    def count(self) -> None:
        self.operators += 1
        if self.operators > _MAX_OPERATORS:
            raise self.cursor.wrong(f"at most {_MAX_OPERATORS} operators in a lambda")

    def atom(self) -> Expression:
        cursor = self.cursor
        token = cursor.peek()
        match token.kind, token.text:
            case "int", text:
                cursor.next()
                number = Number(int(text), cursor.span_of(token))
                follows = cursor.peek()
                if follows.kind == "name" and follows.start == token.end:
                    return Binary("*", number, self.variable(), cursor.span_from(token.start))
                return number
            case "name", ("zero" | "_") as text if text not in self.parameters:
                cursor.next()
                return NoSource(text == "zero", cursor.span_of(token))
            case "name", _:
                return self.variable()
            case "sign", "[":
                cursor.next()
                items = self.items("]")
                return Indexes(items, cursor.span_from(token.start))
            case "sign", "(":
                cursor.next()
                first, *rest = self.items(")")
                if len(rest) > 1:
                    span = cursor.span_from(token.start)
                    raise syntax_error(span, "(argument, index)", f"{1 + len(rest)} items", "write indexes as [i, j, k]")
                return InArgument(first, rest[0], cursor.span_from(token.start)) if rest else first
            case _:
                raise cursor.wrong("an index expression")

    def items(self, closing: str) -> tuple[Expression, ...]:
        items = [self.choice()]
        while self.cursor.accept(","):
            if self.cursor.sees(closing):
                break
            items.append(self.choice())
        self.cursor.expect(closing)
        return tuple(items)

    def variable(self) -> Expression:
        token = self.cursor.expect_kind("name", "an index variable")
        span = self.cursor.span_of(token)
        if token.text not in self.parameters:
            expected = f"an index variable ({', '.join(self.parameters)})"
            raise syntax_error(span, expected, f"`{token.text}`", "use the variables named before the dot")
        return Variable(token.text, span)
