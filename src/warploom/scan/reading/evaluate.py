"""Values of Python expressions over expressions: arithmetic, comparisons, calls of functions.

What is on the way to a place (operands of `and` and `or` before it, branches taken) is known there. What is accepted stands in
`subset`; `interpret` runs statements.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, UndefinedError
from warploom.scan.reading import subset
from warploom.scan.reading.choices import Ended
from warploom.scan.reading.comparisons import Comparisons
from warploom.scan.reading.records import is_record
from warploom.scan.reading.source import HOLE, MISSING, Function, attribute_of, described
from warploom.scan.reading.tables import linear_table, places_of
from warploom.scan.reading.values import (
    NONE,
    Character,
    Maybe,
    Record,
    Scalar,
    Value,
    bare,
    constant_of,
    flat,
    is_float,
    is_moderate,
)

MAX_DEPTH = 20
"""Nested calls."""
MAX_OPTIONS = 64
"""Values of a table."""


@dataclass(slots=True)
class Evaluator(Comparisons):
    """Reads expressions of one function and of those that it calls."""

    def block(self, statements: Sequence[ast.stmt], bindings: Mapping[str, Value]) -> Ended:
        """Runs statements; `continue` ends a block as its last statement does."""
        raise NotImplementedError

    # what `lookups` reads: tables of the file, characters, records

    def _part(self, node: ast.Subscript | ast.Attribute, record: Record, bindings: dict[str, Value]) -> str | int:
        raise NotImplementedError

    def _dictionary(self, node: ast.Dict, bindings: dict[str, Value]) -> Record:
        raise NotImplementedError

    def _object(self, node: ast.Call, kind: type, bindings: dict[str, Value]) -> Record:
        raise NotImplementedError

    def _looked_up(self, node: ast.expr, table: Mapping[object, object], key: Value, default: Value | None) -> Value:
        raise NotImplementedError

    def _of_text(self, node: ast.Call, bindings: dict[str, Value]) -> Value | None:
        raise NotImplementedError

    def condition(self, node: ast.expr, bindings: dict[str, Value]) -> Expr:
        """Whether it is true, its operands in the order in which Python reads them."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return self._conditions(isinstance(op, ast.And), values, bindings)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ex.negation(self.condition(operand, bindings))
            case _:
                value = self._settled(self.value(node, bindings))
                if isinstance(value, Character):
                    return ex.at_least(value.expr, ex.ZERO)
                if not isinstance(value, Maybe):
                    return ex.as_condition(bare(self._one(node, value)))
                if value.value is None:
                    return ex.FALSE
                return ex.both(ex.negation(value.is_none), ex.as_condition(bare(self._one(node, value.value))))

    def _conditions(self, is_and: bool, values: Sequence[ast.expr], bindings: dict[str, Value]) -> Expr:
        """Operands of `and` and `or`: an operand is reached if all before it are true (false)."""
        first = self.condition(values[0], bindings)
        if len(values) == 1 or first is (ex.FALSE if is_and else ex.TRUE):
            return first
        with self._where(first if is_and else ex.negation(first)):
            rest = self._conditions(is_and, values[1:], bindings)
        return ex.both(first, rest) if is_and else ex.either(first, rest)

    def number(self, node: ast.expr, bindings: dict[str, Value]) -> Scalar:
        """One value, not a tuple."""
        return self._one(node, self._present(node, self.value(node, bindings)))

    def value(self, node: ast.expr, bindings: dict[str, Value]) -> Value:
        try:
            found = self._value(node, bindings)
        except UndefinedError as error:
            self.module.wrong(node, "UNDEFINED", f"expected a value, got {error}", "Keep infinities below min and max.")
        if any(not is_moderate(e) for e in ([] if isinstance(found, tuple) else flat(found))):
            self.module.unsupported(
                node, "expected numbers of at most 1,200 digits and sums of 2,000 terms, got more", subset.USE
            )
        return found

    def _value(self, node: ast.expr, bindings: dict[str, Value]) -> Value:
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name(id=name) if name in bindings:
                if isinstance(bindings[name], Record):
                    message = f"expected a part of {name}, got all of it: a second name would see what changes in it"
                    self.module.unsupported(node, message, f"Read {name}.field or {name}[key].")
                return bindings[name]
            case ast.Attribute(value=ast.Name(id=name)) if isinstance(record := bindings.get(name), Record):
                return record.parts[self._part(node, record, bindings)]
            case ast.Dict() if self.is_loop:
                return self._dictionary(node, bindings)
            case ast.Name() | ast.Attribute():
                if isinstance(node, ast.Name) and node.id == HOLE and self.holes is not None:
                    return self.holes(node, [])
                return self._constant(node, self.bound(node))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.value(part, bindings) for part in parts)
            case ast.UnaryOp(op=ast.Not()):
                return self.condition(node, bindings)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(node, op, self.number(operand, bindings))
            case ast.BinOp(left=left, op=op, right=right):
                return self._folded(
                    node, self._binary(node, op, *(self._present(n, self.value(n, bindings)) for n in (left, right)))
                )
            case ast.BoolOp(op=op, values=values):
                return self._operand(node, isinstance(op, ast.And), values, bindings)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._chain(node, self.value(left, bindings), ops, others, bindings)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                condition = self.condition(test, bindings)
                if condition is ex.TRUE or condition is ex.FALSE:
                    return self.value(body if condition is ex.TRUE else otherwise, bindings)
                with self._where(condition):
                    then = self.value(body, bindings)
                with self._where(ex.negation(condition)):
                    other = self.value(otherwise, bindings)
                return self._selected(node, condition, then, other)
            case ast.Subscript():
                return self._subscript(node, bindings)
            case ast.Call():
                return self._call(node, bindings)
            case _:
                kind = type(node).__name__
                return self.module.unsupported(node, f"expected arithmetic, comparisons or a conditional, got {kind}", subset.USE)

    def _constant(self, node: ast.expr, value: object) -> Value:
        if value is None and self.is_loop:
            return NONE
        found = constant_of(value)
        if found is None:
            name = ast.unparse(node) if not isinstance(node, ast.Constant) else "a constant"
            got = "None" if value is None else f"{name}: {described(value)}"
            none = 'Start from a number that stands for nothing found, such as -1, float("inf") or float("-inf").'
            fix = none if value is None else "Use numbers of up to 1,200 digits."
            self.module.unsupported(node, f"expected a number, a truth value or text, got {got}", fix)
        return found

    def _folded(self, node: ast.BinOp, found: Value) -> Value:
        """Arithmetic of literals alone: Python computes it in floats before the function runs, `0.1 + 0.2` is no 0.3."""
        literal = ast.BinOp | ast.UnaryOp | ast.Constant | ast.operator | ast.unaryop
        if isinstance(found, tuple) or not is_float(found) or not all(isinstance(n, literal) for n in ast.walk(node)):
            return found
        try:
            return self._constant(node, eval(compile(ast.Expression(node), "<literals>", "eval"), {}))
        except ArithmeticError:  # Python leaves it to the call
            return found

    def bound(self, node: ast.expr) -> object:
        """The object to which a name that is no value of the loop, or an attribute of a module, is bound."""
        match node:
            case ast.Name(id=name):
                found = MISSING if name in self.function.locals else self.function.lookup(name)
                if found is MISSING:
                    message = f"expected a value for {name!r}, got none on some path"
                    self.module.wrong(node, "UNBOUND", message, "Assign it before, on every path.")
                return found
            case ast.Attribute(value=whole, attr=name):
                owner = self.bound(whole)
                if isinstance(owner, ModuleType) and (found := attribute_of(owner, name)) is not MISSING:
                    return found
            case _:
                pass
        return self.module.unsupported(
            node, f"expected a name or a value of a module, got {ast.unparse(node)}", "Keep it in a plain variable."
        )

    def _operand(self, node: ast.expr, is_and: bool, values: Sequence[ast.expr], bindings: dict[str, Value]) -> Value:
        """The value of `and` and `or`: the first operand that is false (true), else the last one."""
        first = self.number(values[0], bindings)
        if len(values) == 1:
            return first
        test = ex.as_condition(bare(first))
        if test is (ex.FALSE if is_and else ex.TRUE):
            return first
        with self._where(test if is_and else ex.negation(test)):
            rest = self._operand(node, is_and, values[1:], bindings)
        return self._selected(node, test, rest, first) if is_and else self._selected(node, test, first, rest)

    def _subscript(self, node: ast.Subscript, bindings: dict[str, Value]) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id in self.special and not (node.value.id in bindings or self._depth):
            return self.special[node.value.id](node, bindings)
        if isinstance(node.value, ast.Name) and isinstance(record := bindings.get(node.value.id), Record):
            if record.kind is dict and not isinstance(node.slice, ast.Constant):
                key = self._present(node.slice, self.value(node.slice, bindings))
                if not (isinstance(key, Expr) and key.op == "const"):
                    return self._looked_up(node, cast("Mapping[object, object]", record.parts), key, None)
            return record.parts[self._part(node, record, bindings)]
        if isinstance(node.value, ast.Name) and self.is_loop and node.value.id not in bindings:
            table = self.bound(node.value)
            if type(table) is dict:  # another class may have values for keys that it does not hold
                key = self._present(node.slice, self.value(node.slice, bindings))
                return self._looked_up(node, cast("Mapping[object, object]", table), key, None)
        whole, index = self._present(node, self.value(node.value, bindings)), self.number(node.slice, bindings)
        if not isinstance(whole, tuple):
            self.module.wrong(node, "SHAPE", "expected a tuple before [...], got one value", "Annotate it as a tuple.")
        if is_float(index) or bare(index).sort.is_infinite or bare(index).sort.base == "text":
            self.module.wrong(node, "SHAPE", "expected a whole number as index, got a float", "Use an integer.")
        at = ex.as_number(bare(index))
        if at.op == "const" and isinstance(at.value, int):
            if not -len(whole) <= at.value < len(whole):
                self.module.wrong(node, "SHAPE", f"expected an index below {len(whole)}, got {at.value}", "Correct the index.")
            return whole[at.value]
        if (linear := linear_table(whole, at)) is not None:
            return linear
        is_positive = ex.at_least(at, ex.ZERO) in (ex.TRUE, *self._path, *self.assumed)
        options = places_of(len(whole), is_positive)
        if len(options) > MAX_OPTIONS:
            message = f"expected a position in a tuple of at most {MAX_OPTIONS} values, got one of {len(whole)}"
            self.module.unsupported(node, message, "Compute the value.")
        result = whole[-1]
        for position, place in reversed(options):
            result = self._selected(node, ex.equal(at, ex.constant(position)), whole[place], result)
        return result

    def _call(self, node: ast.Call, bindings: dict[str, Value]) -> Value:
        name = node.func.id if self.is_loop and isinstance(node.func, ast.Name) and node.func.id not in bindings else ""
        if name and name not in self.function.locals and is_record(made := self.function.lookup(name)):
            return self._object(node, made, bindings)
        if self.is_loop and (found := self._of_text(node, bindings)) is not None:
            return found
        if node.keywords:
            self.module.unsupported(node, "expected plain arguments, got keywords", "Pass them by position.")
        if isinstance(node.func, ast.Name) and node.func.id == "choose" and self.holes is not None:
            return self.holes(node, [self.value(a, bindings) for a in node.args])
        if isinstance(node.func, ast.Name) and node.func.id in bindings:
            self.module.wrong(
                node.func, "NOT_A_FUNCTION", f"expected a function, got the variable {node.func.id!r}", "Rename the variable."
            )
        if not isinstance(node.func, ast.Name | ast.Attribute):
            self.module.unsupported(node, "expected a call of a named function", subset.USE)
        called = ast.unparse(node.func)
        if isinstance(node.func, ast.Name) and self.function.lookup(called) is MISSING and called not in self.function.locals:
            self._unknown(node, called)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id in bindings:
            fix = "Compute what the loop needs of an element before it: a number, a truth value, or a text that it compares."
            self.module.unsupported(node, f"expected a function that is known here, got a method of a value, {called}", fix)
        callee = self.bound(node.func)
        written = subset.spelled(callee, node)
        if written is not None:
            return self._value(written, bindings)
        known = subset.function(callee)
        own = self.module.defined(callee) or (self.module.elsewhere(callee) if known is None else None)
        if own is None and known is None:
            self._unknown(node, called)
        arguments = [self.value(a, bindings) for a in node.args]
        if own is not None:
            return self._inlined(node, own, arguments)
        assert known is not None
        return known.meaning(self, node, [self._present(a, v) for a, v in zip(node.args, arguments, strict=True)])

    def _unknown(self, node: ast.Call, called: str) -> NoReturn:
        self.module.unsupported(node, f"expected a function that is known here, got {called}", subset.instead_of(called))

    def _inlined(self, node: ast.Call, function: Function, arguments: Sequence[Value]) -> Value:
        given = dict(zip(function.parameters, arguments, strict=False))
        for name, value in function.defaults().items():
            given.setdefault(name, self._constant(function.parameters[name], value))  # type: ignore[arg-type]
        if len(arguments) > len(function.parameters) or len(given) != len(function.parameters):
            wanted = len(function.parameters)
            self.module.wrong(
                node, "ARGUMENTS", f"expected {wanted} arguments, got {len(arguments)}", "Pass one for each parameter."
            )
        if self._depth >= MAX_DEPTH:
            self.module.unsupported(node, "expected calls that end, got recursion", "Write it without recursion.")
        caller = self.function
        self._depth += 1
        self.function = function
        try:
            ended = self.block(function.node.body, given)
        finally:
            self._depth -= 1
            self.function = caller
        if ended.result is None:
            self.module.wrong(function.node, "NO_RESULT", f"expected {function.name} to return a value", "Add a return.")
        return ended.result
