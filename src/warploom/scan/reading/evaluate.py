"""Values of Python expressions over expressions: arithmetic, comparisons, calls of functions.

What is on the way to a place (operands of `and` and `or` before it, branches taken) is known there. What is accepted stands in
`subset`; `interpret` runs statements.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import NoReturn, TypeAlias, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, UndefinedError
from warploom.scan.reading import subset
from warploom.scan.reading.records import is_record
from warploom.scan.reading.source import HOLE, MISSING, Function, Module, attribute_of, described
from warploom.scan.reading.tables import linear_table, places_of
from warploom.scan.reading.texts import single
from warploom.scan.reading.values import (
    NONE,
    Character,
    Floating,
    Maybe,
    Record,
    Scalar,
    Value,
    bare,
    constant_of,
    flat,
    floating,
    is_float,
    is_moderate,
    maybe,
)

MAX_DEPTH = 20
"""Nested calls."""
MAX_OPTIONS = 64
"""Values of a table."""


@dataclass(frozen=True, slots=True)
class Ended:
    """End of a block: it ran to its end, or it returned."""

    bindings: dict[str, Value]
    result: Value | None = None


@dataclass(frozen=True, slots=True)
class Division:
    """A division by what is no constant, and what is known where it is reached."""

    divisor: Expr
    given: tuple[Expr, ...]


Subscript: TypeAlias = Callable[[ast.Subscript, dict[str, Value]], Value]
Holes: TypeAlias = Callable[[ast.Name | ast.Call, Sequence[Value]], Value]


@dataclass(slots=True)
class Evaluator:
    """Reads expressions of one function and of those that it calls."""

    function: Function
    special: Mapping[str, Subscript] = field(default_factory=dict[str, "Subscript"])
    """Meaning of `name[...]` for names that are not values."""
    holes: Holes | None = None
    """Meaning of `??` and `choose(...)` in a template."""
    assumed: list[Expr] = field(default_factory=list[Expr])
    """Conditions of the `assert` statements met, each under the condition that it is reached."""
    divisions: list[Division] = field(default_factory=list[Division])
    rounds: bool = False
    """True if integers became floats."""
    is_loop: bool = False
    """True where variables may hold None, dictionaries and dataclass objects."""
    _path: list[Expr] = field(default_factory=list[Expr])
    _depth: int = 0

    @property
    def module(self) -> Module:
        return self.function.module

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

    def _container(self, node: ast.expr, op: ast.cmpop, bindings: dict[str, Value]) -> Value:
        raise NotImplementedError

    def _looked_up(self, node: ast.expr, table: Mapping[object, object], key: Value, default: Value | None) -> Value:
        raise NotImplementedError

    def _compare_characters(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        raise NotImplementedError

    def _of_text(self, node: ast.Call, bindings: dict[str, Value]) -> Value | None:
        raise NotImplementedError

    def knows(self, condition: Expr) -> bool:
        """Whether the condition is certain on the way to this place."""
        return condition is ex.TRUE or any(condition is k or (k.op == "and" and condition in k.args) for k in self._path)

    @contextlib.contextmanager
    def _where(self, condition: Expr) -> Generator[None]:
        """Reads the inside as reached only where the condition holds."""
        self._path.append(condition)
        try:
            yield
        finally:
            self._path.pop()

    def _assume(self, condition: Expr) -> None:
        """Assumes the condition for every element for which the statement is reached."""
        reached = [ex.negation(p) for p in self._path if p is not ex.TRUE]
        said = ex.either(*reached, condition) if reached else condition
        self.assumed += said.args if said.op == "and" else [said]

    def _selected(self, node: ast.AST, condition: Expr, then: Value, other: Value) -> Value:
        if isinstance(then, Maybe) or isinstance(other, Maybe):
            return self._one_or_none(node, condition, then, other)
        if (
            isinstance(then, Record)
            and isinstance(other, Record)
            and then.kind is other.kind
            and then.parts.keys() == other.parts.keys()
        ):
            return Record(then.kind, {k: self._selected(node, condition, v, other.parts[k]) for k, v in then.parts.items()})
        if isinstance(then, tuple) and isinstance(other, tuple) and len(then) == len(other):
            return tuple(self._selected(node, condition, a, b) for a, b in zip(then, other, strict=True))
        if isinstance(then, tuple | Record) or isinstance(other, tuple | Record):
            self.module.wrong(
                node, "SHAPE", "expected values of one shape on both paths, got two", "Assign tuples of one length."
            )
        if isinstance(then, Character) or isinstance(other, Character):
            a, b = single(then), single(other)
            if a is None or b is None:
                self.module.wrong(
                    node, "SORT", "expected values of one type on both paths, got a character and another", "Use one type."
                )
            return Character(ex.select(condition, a.expr, b.expr))
        first, second = bare(then), bare(other)
        if "text" in (first.sort.base, second.sort.base) and first.sort.base != second.sort.base:
            self.module.wrong(node, "SORT", "expected values of one type on both paths, got text and a number", "Use one type.")
        if (first.sort.base == "bool") != (second.sort.base == "bool"):
            first, second = ex.as_number(first), ex.as_number(second)
        found = ex.select(condition, first, second)
        return floating(found) if is_float(then) or is_float(other) else found

    def _one_or_none(self, node: ast.AST, condition: Expr, then: Value, other: Value) -> Value:
        first = then if isinstance(then, Maybe) else Maybe(ex.FALSE, then)
        second = other if isinstance(other, Maybe) else Maybe(ex.FALSE, other)
        is_none = ex.select(condition, first.is_none, second.is_none)
        if first.value is None or second.value is None:
            return maybe(is_none, second.value if first.value is None else first.value)
        return maybe(is_none, self._selected(node, condition, first.value, second.value))

    def _settled(self, value: Value) -> Value:
        """The value itself, where it cannot be None."""
        if isinstance(value, Maybe) and value.value is not None and ex.both(*self._path, value.is_none) is ex.FALSE:
            return value.value
        return value

    def _present(self, node: ast.AST, value: Value) -> Value:
        """A value that is not None."""
        found = self._settled(value)
        if isinstance(found, Maybe):
            got = "None" if found.value is None else "one that may be None here"
            fix = "Test it before: if best is None or x > best."
            self.module.unsupported(node, f"expected a number, a truth value or text, got {got}", fix)
        return found

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

    def _one(self, node: ast.expr, value: Value) -> Scalar:
        if isinstance(value, tuple):
            self.module.wrong(node, "SHAPE", f"expected one value, got a tuple of {len(value)}", "Take one of its parts.")
        if isinstance(value, Character):
            self.module.unsupported(
                node, "expected a number, got a character", "Use ord(c), comparisons, or c.isdigit() and the like."
            )
        assert not isinstance(value, Maybe | Record)
        return value

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

    def _chain(
        self, node: ast.Compare, left: Value, ops: Sequence[ast.cmpop], others: Sequence[ast.expr], bindings: dict[str, Value]
    ) -> Expr:
        """`a < b < c` reads c only where `a < b`."""
        right = self._container(others[0], ops[0], bindings)
        first = self._compare(node, ops[0], left, right)
        if len(ops) == 1 or first is ex.FALSE:
            return first
        with self._where(first):
            return ex.both(first, self._chain(node, right, ops[1:], others[1:], bindings))

    def _compare(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        left, right = self._settled(left), self._settled(right)
        if isinstance(left, Character) or isinstance(right, Character):
            return self._compare_characters(node, op, left, right)
        if isinstance(left, Maybe) or isinstance(right, Maybe) or isinstance(op, ast.Is | ast.IsNot):
            return self._compare_none(node, op, left, right)
        if isinstance(left, tuple) or isinstance(right, tuple):
            return self._compare_tuples(node, op, left, right)
        a, b = bare(left), bare(right)
        textual = "text" in (a.sort.base, b.sort.base)
        if textual and (a.sort.base != b.sort.base or not isinstance(op, ast.Eq | ast.NotEq)):
            self.module.unsupported(
                node,
                "expected texts compared by == or !=, got another comparison",
                "Compare with a literal; annotate lists of texts: str or list[str].",
            )
        match op:
            case ast.Eq():
                return ex.equal(a, b)
            case ast.NotEq():
                return ex.negation(ex.equal(a, b))
            case _:
                a, b = ex.as_number(a), ex.as_number(b)
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

    def _compare_none(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        """Comparisons of values that may be None; `is` is for None only."""
        first, second = (v if isinstance(v, Maybe) else Maybe(ex.FALSE, v) for v in (left, right))
        if isinstance(op, ast.Is | ast.IsNot):
            if not (left is NONE or right is NONE):
                self.module.unsupported(node, "expected ==, !=, <, <=, > or >=", "Use one of these; `is` is for None.")
            same = first.is_none if right is NONE else second.is_none
            return same if isinstance(op, ast.Is) else ex.negation(same)
        if not isinstance(op, ast.Eq | ast.NotEq):
            return self._compare(node, op, self._present(node, left), self._present(node, right))
        same = ex.both(first.is_none, second.is_none)
        if first.value is not None and second.value is not None:
            equal = self._compare(node, ast.Eq(), first.value, second.value)
            same = ex.either(same, ex.both(ex.negation(first.is_none), ex.negation(second.is_none), equal))
        return same if isinstance(op, ast.Eq) else ex.negation(same)

    def _compare_tuples(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        if isinstance(op, ast.In | ast.NotIn) and not isinstance(left, tuple) and isinstance(right, tuple):
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

    def _subscript(self, node: ast.Subscript, bindings: dict[str, Value]) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id in self.special and not (node.value.id in bindings or self._depth):
            return self.special[node.value.id](node, bindings)
        if isinstance(node.value, ast.Name) and isinstance(record := bindings.get(node.value.id), Record):
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
        callee = self.bound(node.func)
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
