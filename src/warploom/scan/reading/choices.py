"""The ground of reading expressions: conditions that are known on the way to a place, and values that conditions choose."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading.source import Function, Module
from warploom.scan.reading.texts import single
from warploom.scan.reading.values import (
    Character,
    Maybe,
    Record,
    Scalar,
    Value,
    bare,
    chosen,
    floating,
    is_float,
    maybe,
)


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
class Choices:
    """Reads the expressions of one function and of those that it calls: what is known where, and what is chosen."""

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
    begun: Mapping[Expr, Expr] | None = None
    """The states before the first element: what may be None is used only where it is not None for the first one."""
    is_after: bool = False
    """True after the loop, where what may be None may be used: Python raises where it is None."""
    missing: list[Expr] = field(default_factory=list[Expr])
    """Conditions under which a value that is used would be None."""
    is_loop: bool = False
    """True where variables may hold None, dictionaries and dataclass objects."""
    _path: list[Expr] = field(default_factory=list[Expr])
    _depth: int = 0

    @property
    def module(self) -> Module:
        return self.function.module

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
        found = chosen(condition, first, second)
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
            if found.value is not None and (self.is_after or self.begun is not None):
                is_missing = ex.both(*self._path, found.is_none)
                if self.is_after or ex.substituted(is_missing, self.begun or {}) is ex.FALSE:
                    self.missing.append(is_missing)
                    return found.value
            got = "None" if found.value is None else "one that may be None here"
            fix = "Test it before: if best is None or x > best."
            self.module.unsupported(node, f"expected a number, a truth value or text, got {got}", fix)
        return found

    def _one(self, node: ast.expr, value: Value) -> Scalar:
        if isinstance(value, tuple):
            self.module.wrong(node, "SHAPE", f"expected one value, got a tuple of {len(value)}", "Take one of its parts.")
        if isinstance(value, Character):
            self.module.unsupported(
                node, "expected a number, got a character", "Use ord(c), comparisons, or c.isdigit() and the like."
            )
        assert not isinstance(value, Maybe | Record)
        return value
