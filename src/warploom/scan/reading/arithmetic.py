"""Arithmetic of Python on expressions, where both sides have a value."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, UndefinedError
from warploom.scan.reading import subset
from warploom.scan.reading.choices import Choices, Division
from warploom.scan.reading.values import Floating, Scalar, Value, bare, floating, is_float


@dataclass(slots=True)
class Arithmetic(Choices):
    """Operations with one and with two operands."""

    def _unary(self, node: ast.expr, op: ast.unaryop, operand: Scalar) -> Value:
        one = bare(operand)
        if one.sort.base == "text":
            self.module.unsupported(node, "expected a number, got text", "Texts can only be compared.")
        match op:
            case ast.USub():
                found = ex.negate(ex.as_number(one))
            case ast.Invert():
                if is_float(operand) or one.sort.is_infinite:
                    self.module.unsupported(node, "expected a whole number after ~, got a float", subset.USE)
                if one.sort.base != "bool":
                    return ex.bitwise("bitxor", one, ex.constant(-1))
                return ex.subtract(ex.constant(-1), ex.as_number(one))  # ~True is -2
            case _:
                found = ex.as_number(one)
        return floating(found) if is_float(operand) else found

    def _binary(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Add):
            return left + right
        if not isinstance(left, Expr | Floating) or not isinstance(right, Expr | Floating):
            self.module.wrong(node, "SHAPE", "expected numbers, got a tuple or list", "Take its parts; a table is no state.")
        a, b = bare(left), bare(right)
        if "text" in (a.sort.base, b.sort.base):
            self.module.unsupported(node, "expected numbers, got text", "Texts can only be compared.")
        operation = subset.OPERATIONS.get(type(op))
        if operation is None:
            self.module.unsupported(node, f"expected {subset.SIGNS}, got {type(op).__name__}", subset.USE)
        floats = is_float(left) or is_float(right)
        if operation.is_whole and floats:
            message = f"expected whole numbers on both sides of {operation.sign}, got a float"
            self.module.unsupported(node, message, f"Use {operation.sign} of integers only; annotate lists of them: list[int].")
        self._finite(node, operation, a, b)
        if isinstance(op, ast.Div):
            return self.quotient(node, left, right)
        if operation.counts is not None:
            count = self._count(node, operation, b)
            if count != 1 and a.sort.is_infinite:
                raise UndefinedError("a power of an infinity")
            found = operation.meaning(ex.as_number(a), ex.constant(count))
            return floating(found) if floats else found
        if floats:
            self.mixed(left, right)
        if operation.is_bitwise and a.sort.base == b.sort.base == "bool":
            return operation.meaning(a, b)
        found = operation.meaning(ex.as_number(a), ex.as_number(b))
        return floating(found) if floats else found

    def _finite(self, node: ast.AST, operation: subset.Operation, a: Expr, b: Expr) -> None:
        """Refuses arithmetic that has no value for some infinities: no law of numbers holds there."""
        endless = [e for e in (a, b) if e.sort.is_infinite]
        if not endless:
            return
        scaled = operation.sign in ("*", "/") and b.op == "const" and not b.sort.is_infinite and bool(b.value)
        scaled = scaled or (operation.sign == "*" and a.op == "const" and not a.sort.is_infinite and bool(a.value))
        if operation.sign in ("+", "-"):
            below, above = (b.sort.below, b.sort.above) if operation.sign == "+" else (b.sort.above, b.sort.below)
            scaled = not ((a.sort.below and above) or (a.sort.above and below))
        if not scaled and operation.sign != "**":
            message = f"expected finite numbers around {operation.sign}, got one that may be infinite"
            self.module.wrong(node, "UNDEFINED", message, "Keep infinities below min and max.")

    def _count(self, node: ast.AST, operation: subset.Operation, value: Expr) -> int:
        """A constant on the right, in the range that the operation takes."""
        assert operation.counts is not None
        number = ex.as_number(value)
        if number.op == "const" and isinstance(number.value, int) and operation.counts(number.value):
            return number.value
        return self.module.unsupported(node, f"expected {operation.wanted} on the right", "Use a number there.")

    def mixed(self, *values: Scalar) -> None:
        """Notes where integers take part in arithmetic of floats."""
        kinds = {is_float(v) for v in values if bare(v).op != "const"}
        if False in kinds:
            self.rounds = True

    def quotient(self, node: ast.AST, left: Scalar, right: Scalar, *, exact: bool = False) -> Value:
        """A division; one that is not always reached is guarded in every printed form, too."""
        a, b = ex.as_number(bare(left)), ex.as_number(bare(right))
        if b is ex.ZERO:
            self.module.wrong(node, "UNDEFINED", "expected a divisor that is not 0, got 0", "Divide by something else.")
        if ex.is_infinite(a) or ex.is_infinite(b):
            raise UndefinedError("a quotient of infinities")
        if not exact and not (a.op == b.op == "const"):
            self.rounds |= not (is_float(left) and is_float(right))
        if b.op != "const":
            self.divisions.append(Division(b, (*self._path, *self.assumed)))
        found = ex.quotient(a, b, is_guarded=any(p is not ex.TRUE for p in self._path))
        return found if exact else floating(found)
