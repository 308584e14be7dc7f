"""Values of index lambdas (nodes in `lambda_syntax.py`): Python's integers, floor division, `%` with the divisor's sign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from warploom.core import Diagnostic, Span, UserError
from warploom.ir.dataflow.lambda_syntax import (
    Binary,
    Choice,
    Expression,
    InArgument,
    Indexes,
    Lambda,
    NoSource,
    Number,
    Unary,
    Variable,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A source: element number or one index per axis, in an argument."""

    argument: int
    index: int | tuple[int, ...]


LambdaValue: TypeAlias = int | Place | NoSource
"""A truth value (bool) is among the integers."""

_MAX_SHIFT = 40


def lambda_value(index: Lambda, at: tuple[int, ...]) -> LambdaValue:
    """The lambda at an output index; UserError where it divides by zero or mixes sources with numbers."""
    return _Evaluation(dict(zip(index.parameters, at, strict=True))).value(index.body)


class _Evaluation:
    def __init__(self, variables: Mapping[str, int]) -> None:
        self.variables = variables

    def value(self, expression: Expression) -> LambdaValue:
        match expression:
            case Choice(condition, then, other):
                return self.value(then if self.number(condition) else other)
            case Indexes(items):
                return Place(0, tuple(self.number(i) for i in items))
            case InArgument(argument, Indexes(items)):
                return Place(self.number(argument), tuple(self.number(i) for i in items))
            case InArgument(argument, index):
                return Place(self.number(argument), self.number(index))
            case NoSource():
                return expression
            case Number() | Variable() | Unary() | Binary():
                return self.number(expression)
            case _:
                assert_never(expression)

    def number(self, expression: Expression) -> int:
        match expression:
            case Number(value):
                return value
            case Variable(name):
                return self.variables[name]
            case Unary(op, operand):
                value = self.number(operand)
                return not value if op == "not" else -value
            case Binary("or" | "and" as op, lhs, rhs):
                value = bool(self.number(lhs))
                return value if value == (op == "or") else bool(self.number(rhs))
            case Binary(op, lhs, rhs):
                left, right = self.number(lhs), self.number(rhs)
                if right == 0 and op in ("/", "//", "%"):
                    raise self.wrong("INDEX_RANGE", "a divisor that is not 0", "0", rhs.span)
                if op in ("<<", ">>") and not 0 <= right <= _MAX_SHIFT:
                    raise self.wrong("INDEX_RANGE", f"a shift by 0 to {_MAX_SHIFT}", str(right), rhs.span)
                return _applied(op, left, right)
            case Choice(condition, then, other):
                return self.number(then if self.number(condition) else other)
            case Indexes() | InArgument() | NoSource():
                raise self.wrong("LAMBDA_RESULT", "a number here", "a source", expression.span)
            case _:
                assert_never(expression)

    def wrong(self, code: str, expected: str, got: str, span: Span) -> UserError:
        return UserError(Diagnostic(code, f"expected {expected}, got {got} at {index_text(self.variables)}", span))


def _applied(op: str, lhs: int, rhs: int) -> int:
    match op:
        case "+":
            return lhs + rhs
        case "-":
            return lhs - rhs
        case "*":
            return lhs * rhs
        case "/" | "//":
            return lhs // rhs
        case "%":
            return lhs % rhs
        case "|":
            return lhs | rhs
        case "^":
            return lhs ^ rhs
        case "&":
            return lhs & rhs
        case "<<":
            return lhs << rhs
        case ">>":
            return lhs >> rhs
        case "==":
            return lhs == rhs
        case "!=":
            return lhs != rhs
        case "<":
            return lhs < rhs
        case "<=":
            return lhs <= rhs
        case ">":
            return lhs > rhs
        case ">=":
            return lhs >= rhs
        case _:
            raise ValueError(f"unknown operator {op!r}")


def index_text(variables: Mapping[str, int]) -> str:
    """Values of index variables for a message."""
    return ", ".join(f"{name} = {value}" for name, value in variables.items())
