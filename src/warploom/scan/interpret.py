"""Straight-line Python, run on expressions: assignments, conditionals, arithmetic, calls of functions of the same file.

Both branches of a conditional are run and what they assign is selected by its condition, so the result of a block is one
expression per variable over the values that were bound before it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from warploom.scan import expression as ex
from warploom.scan.expression import Expr, UndefinedError
from warploom.scan.source import HOLE, Module

Value: TypeAlias = "Expr | tuple[Value, ...]"
MAX_DEPTH = 20
"""Nested calls."""

_CAST = "Use integers, truth values, fractions, min, max, conditionals and functions of this file."


@dataclass(frozen=True, slots=True)
class Ended:
    """How a block ended: it ran to its end, or it returned."""

    bindings: dict[str, Value]
    result: Value | None = None


Subscript: TypeAlias = Callable[[ast.Subscript, dict[str, Value]], Value]
Holes: TypeAlias = Callable[[ast.Name | ast.Call, Sequence[Value]], Value]


@dataclass(slots=True)
class Interpreter:
    """Runs statements of one module's functions."""

    module: Module
    special: Mapping[str, Subscript] = field(default_factory=dict[str, "Subscript"])
    """Meaning of `name[...]` for names that are not values."""
    holes: Holes | None = None
    """Meaning of `??` and `choose(...)` in a template."""
    assumed: list[Expr] = field(default_factory=list[Expr])
    """Conditions of the `assert` statements met."""
    _depth: int = 0

    def block(self, statements: Sequence[ast.stmt], bindings: Mapping[str, Value]) -> Ended:
        """`continue` ends a block as its last statement does."""
        now = dict(bindings)
        for position, statement in enumerate(statements):
            match statement:
                case ast.If(test=test, body=body, orelse=otherwise):
                    condition = self.condition(test, now)
                    leaves = any(isinstance(n, ast.Return | ast.Continue) for n in ast.walk(statement))
                    rest: Sequence[ast.stmt] = statements[position + 1 :] if leaves else ()
                    then = self.block([*body, *rest], now) if condition is not ex.FALSE else None
                    other = self.block([*otherwise, *rest], now) if condition is not ex.TRUE else None
                    joined = self._joined(statement, condition, then, other)
                    if leaves:
                        return joined
                    now = joined.bindings
                case ast.Return(value=value):
                    if value is None:
                        self.module.wrong(statement, "NO_RESULT", "expected a value after return", "Return what was computed.")
                    return Ended(now, self.value(value, now))
                case ast.Continue():
                    return Ended(now)
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.Assert(test=test):
                    condition = self.condition(test, now)
                    self.assumed += condition.args if condition.op == "and" else [condition]
                case ast.Assign(targets=targets, value=value):
                    result = self.value(value, now)
                    for target in targets:
                        self.bind(target, result, now)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.bind(target, self.value(value, now), now)
                case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                    left = self.value(ast.copy_location(ast.Name(target.id, ast.Load()), target), now)
                    now[target.id] = self._binary(statement, op, left, self.value(value, now))
                case ast.Break():
                    self.module.unsupported(
                        statement, "expected a loop that reads every element, got break", "Keep a flag in a variable and test it."
                    )
                case ast.For() | ast.While():
                    self.module.unsupported(
                        statement, "expected one loop, got a loop within it", "Write the inner loop as min, max or sums."
                    )
                case _:
                    kind = type(statement).__name__
                    self.module.unsupported(statement, f"expected assignments and conditionals, got {kind}", "Rewrite this line.")
        return Ended(now)

    def _joined(self, node: ast.stmt, condition: Expr, then: Ended | None, other: Ended | None) -> Ended:
        if then is None or other is None:
            ended = then or other
            assert ended is not None
            return ended
        if (then.result is None) != (other.result is None):
            self.module.unsupported(node, "expected all paths to return, or none", "Return on the other path, too.")
        result = None
        if then.result is not None and other.result is not None:
            result = self._selected(node, condition, then.result, other.result)
        bindings: dict[str, Value] = {}
        for name, value in then.bindings.items():
            if name in other.bindings:
                same = other.bindings[name] is value
                bindings[name] = value if same else self._selected(node, condition, value, other.bindings[name])
        return Ended(bindings, result)

    def _selected(self, node: ast.AST, condition: Expr, then: Value, other: Value) -> Value:
        if isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
            return tuple(self._selected(node, condition, a, b) for a, b in zip(then, other, strict=True))
        if isinstance(then, tuple) or isinstance(other, tuple):
            self.module.wrong(
                node, "SHAPE", "expected values of one shape on both paths, got two", "Assign tuples of one length."
            )
        if "text" in (then.sort.base, other.sort.base) and then.sort.base != other.sort.base:
            self.module.wrong(node, "SORT", "expected values of one type on both paths, got text and a number", "Use one type.")
        if (then.sort.base == "bool") != (other.sort.base == "bool"):
            then, other = ex.as_number(then), ex.as_number(other)
        return ex.select(condition, then, other)

    def bind(self, target: ast.expr, value: Value, bindings: dict[str, Value]) -> None:
        """Assigns to a name or takes a tuple apart."""
        match target:
            case ast.Name(id=name):
                bindings[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if not isinstance(value, tuple) or len(value) != len(parts):
                    got = f"{len(value)} values" if isinstance(value, tuple) else "one value"
                    self.module.wrong(target, "SHAPE", f"expected {len(parts)} values, got {got}", "Match the tuple's length.")
                for part, item in zip(parts, value, strict=True):
                    self.bind(part, item, bindings)
            case _:
                self.module.unsupported(target, "expected a name or a tuple of names to assign to", "Assign to plain variables.")

    def condition(self, node: ast.expr, bindings: dict[str, Value]) -> Expr:
        return ex.as_condition(self.number(node, bindings))

    def number(self, node: ast.expr, bindings: dict[str, Value]) -> Expr:
        """One value, not a tuple."""
        value = self.value(node, bindings)
        if isinstance(value, tuple):
            self.module.wrong(node, "SHAPE", f"expected one value, got a tuple of {len(value)}", "Take one of its parts.")
        return value

    def value(self, node: ast.expr, bindings: dict[str, Value]) -> Value:
        try:
            return self._value(node, bindings)
        except UndefinedError as error:
            self.module.wrong(node, "UNDEFINED", f"expected a value, got {error}", "Keep infinities below min and max.")

    def _value(self, node: ast.expr, bindings: dict[str, Value]) -> Value:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return ex.constant(Fraction(str(value)) if isinstance(value, float) and math.isfinite(value) else value)
            case ast.Constant(value=str() as value):
                return ex.constant(value)
            case ast.Name(id=name):
                return self._name(node, name, bindings)
            case ast.Attribute(value=ast.Name(id="math"), attr="inf"):
                return ex.INFINITY
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, bindings) for part in parts)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.number(operand, bindings))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self.value(left, bindings), self.value(right, bindings))
            case ast.BoolOp(op=op, values=values):
                return self._boolean(op, [self.number(v, bindings) for v in values])
            case ast.Compare(left=left, ops=ops, comparators=others):
                terms = [self.value(t, bindings) for t in (left, *others)]
                return ex.both(*(self._compare(node, op, a, b) for op, a, b in zip(ops, terms, terms[1:], strict=False)))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._selected(
                    node, self.condition(test, bindings), self.value(body, bindings), self.value(otherwise, bindings)
                )
            case ast.Subscript():
                return self._subscript(node, bindings)
            case ast.Call():
                return self._call(node, bindings)
            case _:
                kind = type(node).__name__
                return self.module.unsupported(node, f"expected arithmetic, comparisons or a conditional, got {kind}", _CAST)

    def _name(self, node: ast.Name, name: str, bindings: dict[str, Value]) -> Value:
        if name in bindings:
            return bindings[name]
        if name == HOLE and self.holes is not None:
            return self.holes(node, [])
        if name == "inf":
            return ex.INFINITY
        if name in self.module.constants:
            return self.value(self.module.constants[name], {})
        return self.module.wrong(
            node, "UNBOUND", f"expected a value for {name!r}, got none on some path", "Assign it before, on every path."
        )

    def _unary(self, op: ast.unaryop, operand: Expr) -> Expr:
        match op:
            case ast.USub():
                return ex.negate(ex.as_number(operand))
            case ast.Not():
                return ex.negation(ex.as_condition(operand))
            case ast.Invert() if operand.sort.base != "bool":
                return ex.bitwise("bitxor", operand, ex.constant(-1))
            case ast.Invert():
                return ex.negation(operand)
            case _:
                return operand

    def _boolean(self, op: ast.boolop, values: Sequence[Expr]) -> Expr:
        conditions = [ex.as_condition(v) for v in values]
        return ex.both(*conditions) if isinstance(op, ast.And) else ex.either(*conditions)

    def _compare(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        if isinstance(left, tuple) or isinstance(right, tuple):
            return self._compare_tuples(node, op, left, right)
        textual = "text" in (left.sort.base, right.sort.base)
        if textual and (left.sort.base != right.sort.base or not isinstance(op, ast.Eq | ast.NotEq)):
            self.module.unsupported(
                node, "expected texts compared by == or !=, got another comparison", "Compare with a literal."
            )
        match op:
            case ast.Eq():
                return ex.equal(left, right)
            case ast.NotEq():
                return ex.negation(ex.equal(left, right))
            case _:
                pass
        a, b = ex.as_number(left), ex.as_number(right)
        match op:
            case ast.GtE():
                return ex.at_least(a, b)
            case ast.LtE():
                return ex.at_least(b, a)
            case ast.Gt():
                return ex.more_than(a, b)
            case ast.Lt():
                return ex.more_than(b, a)
            case _:
                return self.module.unsupported(node, "expected ==, !=, <, <=, > or >=", "Use one of these.")

    def _compare_tuples(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        if isinstance(op, ast.In | ast.NotIn) and isinstance(left, Expr) and isinstance(right, tuple):
            found = ex.either(*(self._compare(node, ast.Eq(), left, item) for item in right))
            return found if isinstance(op, ast.In) else ex.negation(found)
        if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
            self.module.wrong(node, "SHAPE", "expected tuples of one length on both sides", "Compare values of one shape.")
        same = [self._compare(node, ast.Eq(), a, b) for a, b in zip(left, right, strict=True)]
        match op:
            case ast.Eq():
                return ex.both(*same)
            case ast.NotEq():
                return ex.negation(ex.both(*same))
            case ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE():
                strict = ast.Lt() if isinstance(op, ast.Lt | ast.LtE) else ast.Gt()
                order = ex.FALSE if isinstance(op, ast.Lt | ast.Gt) else ex.TRUE
                for a, b, equal in reversed(list(zip(left, right, same, strict=True))):
                    order = ex.either(self._compare(node, strict, a, b), ex.both(equal, order))
                return order
            case _:
                return self.module.unsupported(node, "expected ==, !=, <, <=, > or >=", "Use one of these.")

    def _binary(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, ast.Add):
            return left + right
        if isinstance(left, tuple) or isinstance(right, tuple):
            self.module.wrong(node, "SHAPE", "expected numbers, got a tuple", "Take the tuple's parts.")
        if "text" in (left.sort.base, right.sort.base):
            self.module.unsupported(node, "expected numbers, got text", "Texts can only be compared.")
        names = {ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor"}
        for kind, name in names.items():
            if isinstance(op, kind):
                if "bool" in (left.sort.base, right.sort.base) and left.sort.base != right.sort.base:
                    left, right = ex.as_number(left), ex.as_number(right)
                return ex.bitwise(name, left, right)  # type: ignore[arg-type]
        a, b = ex.as_number(left), ex.as_number(right)
        match op:
            case ast.Add():
                return ex.add(a, b)
            case ast.Sub():
                return ex.subtract(a, b)
            case ast.Mult():
                return ex.multiply(a, b)
            case ast.Div():
                return ex.quotient(a, b)
            case ast.FloorDiv():
                return ex.floor_quotient(a, self._positive(node, b))
            case ast.Mod():
                return ex.remainder(a, self._positive(node, b))
            case ast.Pow():
                exponent = self._positive(node, b)
                return reduce(ex.multiply, [a] * exponent)
            case ast.LShift():
                return ex.multiply(a, ex.constant(2 ** self._positive(node, b)))
            case ast.RShift():
                return ex.floor_quotient(a, 2 ** self._positive(node, b))
            case _:
                return self.module.unsupported(node, f"expected +, -, *, //, %, /, got {type(op).__name__}", _CAST)

    def _positive(self, node: ast.AST, value: Expr) -> int:
        if value.op == "const" and isinstance(value.value, int) and value.value > 0:
            return value.value
        return self.module.unsupported(node, "expected a positive constant on the right", "Use a number there.")

    def _subscript(self, node: ast.Subscript, bindings: dict[str, Value]) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id in self.special and node.value.id not in bindings:
            return self.special[node.value.id](node, bindings)
        whole, index = self.value(node.value, bindings), self.number(node.slice, bindings)
        if not isinstance(whole, tuple):
            self.module.wrong(node, "SHAPE", "expected a tuple before [...], got one value", "Annotate it as a tuple.")
        if index.op == "const" and isinstance(index.value, int):
            if not -len(whole) <= index.value < len(whole):
                self.module.wrong(node, "SHAPE", f"expected an index below {len(whole)}, got {index.value}", "Correct the index.")
            return whole[index.value]
        result = whole[-1]
        for position in reversed(range(len(whole) - 1)):
            result = self._selected(node, ex.equal(index, ex.constant(position)), whole[position], result)
        return result

    def _call(self, node: ast.Call, bindings: dict[str, Value]) -> Value:
        if node.keywords:
            self.module.unsupported(node, "expected plain arguments, got keywords", "Pass them by position.")
        match node.func:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="math"), attr=name):
                pass
            case _:
                self.module.unsupported(node, "expected a call of a named function", _CAST)
        if name == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            text = str(node.args[0].value)
            if text.lstrip("+-") in ("inf", "infinity"):
                return ex.MINUS_INFINITY if text.startswith("-") else ex.INFINITY
        arguments = [self.value(a, bindings) for a in node.args]
        if name == "choose" and self.holes is not None:
            return self.holes(node, arguments)
        if name in self.module.functions:
            return self._inlined(node, self.module.functions[name], arguments)
        if len(arguments) == 1 and isinstance(arguments[0], tuple) and name in ("min", "max", "sum"):
            arguments = list(arguments[0])
        return self._builtin(node, name, arguments)

    def _builtin(self, node: ast.Call, name: str, arguments: Sequence[Value]) -> Value:
        numbers = [ex.as_number(a) for a in arguments if isinstance(a, Expr)]
        if len(numbers) != len(arguments) or not numbers:
            self.module.unsupported(node, f"expected numbers as arguments of {name}", _CAST)
        match name, numbers:
            case "max", _:
                return ex.maximum(*numbers)
            case "min", _:
                return ex.minimum(*numbers)
            case "sum", _:
                return ex.add(*numbers)
            case "abs", [one]:
                return ex.maximum(one, ex.negate(one))
            case "gcd", _:
                return reduce(ex.greatest_common_divisor, numbers)
            case "exp", [one]:
                return ex.exponential(one)
            case "bool", [_]:
                return ex.as_condition(numbers[0])
            case "int", [one] if one.sort.base == "int":
                return one
            case "float", [one]:
                return one
            case "Fraction", [one, other]:
                return ex.quotient(one, other)
            case _:
                return self.module.unsupported(node, f"expected a function that is known here, got {name}", _CAST)

    def _inlined(self, node: ast.Call, function: ast.FunctionDef, arguments: Sequence[Value]) -> Value:
        names = [a.arg for a in function.args.args]
        if len(names) != len(arguments):
            self.module.wrong(
                node, "ARGUMENTS", f"expected {len(names)} arguments, got {len(arguments)}", "Pass one for each parameter."
            )
        if self._depth >= MAX_DEPTH:
            self.module.unsupported(node, "expected calls that end, got recursion", "Write it without recursion.")
        self._depth += 1
        try:
            ended = self.block(function.body, dict(zip(names, arguments, strict=True)))
        finally:
            self._depth -= 1
        if ended.result is None:
            self.module.wrong(function, "NO_RESULT", f"expected {function.name} to return a value", "Add a return.")
        return ended.result
