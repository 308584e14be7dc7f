"""Straight-line Python, run on expressions: assignments, conditionals, arithmetic, calls of functions.

Both branches of a conditional are run and what they assign is selected by its condition, so the result of a block is one
expression per variable over the values that were bound before it. What is on the way to a place (branches taken, operands of
`and` and `or` before it) is known there: an `assert` holds where it is reached, a division is guarded by what stands before it.

What is accepted stands in `subset`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading import subset
from warploom.scan.reading.choices import Division, Ended, Holes, Subscript
from warploom.scan.reading.lookups import Lookups
from warploom.scan.reading.records import is_frozen
from warploom.scan.reading.values import (
    Floating,
    Maybe,
    Record,
    Value,
    bare,
)

MAX_UNROLLED = 64
"""Iterations of a loop within the loop."""


@dataclass(slots=True)
class Interpreter(Lookups):
    """Runs statements of one function and of those that it calls."""

    returned: str | None = None
    """The variable that keeps what a loop returns; None in it means that the loop goes on."""
    falls_off: Callable[[Value], Value] | None = None
    """Gives a function's value on paths without a `return`, from its value on the others; None: all paths return, or none."""

    def block(self, statements: Sequence[ast.stmt], bindings: Mapping[str, Value]) -> Ended:
        """`continue` ends a block as its last statement does."""
        now = dict(bindings)
        for position, statement in enumerate(statements):
            match statement:
                case ast.If(test=test, body=body, orelse=otherwise):
                    condition = self.condition(test, now)
                    leaves = any(isinstance(n, ast.Return | ast.Continue) for n in ast.walk(statement))
                    rest: Sequence[ast.stmt] = statements[position + 1 :] if leaves else ()
                    then = other = None
                    if condition is not ex.FALSE:
                        with self._where(condition):
                            then = self.block([*body, *rest], now)
                    if condition is not ex.TRUE:
                        with self._where(ex.negation(condition)):
                            other = self.block([*otherwise, *rest], now)
                    joined = self._joined(statement, condition, then, other)
                    if leaves:
                        return joined
                    now = joined.bindings
                case ast.Return(value=value):
                    if value is None:
                        self.module.wrong(statement, "NO_RESULT", "expected a value after return", "Return what was computed.")
                    return Ended(now, self._settled(self.value(value, now)))
                case ast.Continue():
                    return Ended(now)
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.Assert(test=test):
                    self._assume(self.condition(test, now))
                case ast.Assign(targets=targets, value=value):
                    result = self.value(value, now)
                    for target in targets:
                        self.bind(target, result, now)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self.bind(target, self.value(value, now), now)
                case ast.AugAssign(target=target, op=op, value=value) if self._is_place(target, now):
                    left = _loaded(target)
                    self.bind(target, self.value(ast.copy_location(ast.BinOp(left, op, value), statement), now), now)
                case ast.For() if self.is_loop:
                    now = self._unrolled(statement, now)
                case _:
                    message, fix = subset.refused_statement(type(statement))
                    self.module.unsupported(statement, message, fix)
        return Ended(now)

    def _is_place(self, target: ast.expr, bindings: Mapping[str, Value]) -> bool:
        match target:
            case ast.Name():
                return True
            case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id=name)):
                return isinstance(bindings.get(name), Record)
            case _:
                return False

    def _unrolled(self, node: ast.For, bindings: dict[str, Value]) -> dict[str, Value]:
        """A loop over numbers that are known, iteration by iteration."""
        leaving = ast.Return | ast.Continue | ast.Break
        counted = self._counted(node.iter, bindings)
        if counted is None or len(counted) > MAX_UNROLLED or node.orelse or any(isinstance(n, leaving) for n in ast.walk(node)):
            message, fix = subset.refused_statement(type(node))
            self.module.unsupported(node, message, fix)
        now = bindings
        for value in counted:
            now = dict(now)
            self.bind(node.target, value, now)
            now = self.block(node.body, now).bindings
        return now

    def _counted(self, node: ast.expr, bindings: dict[str, Value]) -> Sequence[Value] | None:
        """The values that a loop within the loop goes over: those of a `range` of numbers, or of a tuple; None for other
        iterables."""
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or self.bound(node.func) is not range or node.keywords:
                return None
            bounds = [bare(self.number(a, bindings)) for a in node.args]
            whole = [b.value for b in bounds if b.op == "const" and type(b.value) is int]
            if len(whole) != len(bounds) or not 1 <= len(bounds) <= 3 or (len(whole) == 3 and not whole[2]):
                return None
            return [ex.constant(n) for n in range(*whole)[: MAX_UNROLLED + 1]]
        value = self.value(node, bindings)
        return value if isinstance(value, tuple) else None

    def _joined(self, node: ast.stmt, condition: Expr, then: Ended | None, other: Ended | None) -> Ended:
        if then is None or other is None:
            ended = then or other
            assert ended is not None
            return ended
        if (then.result is None) != (other.result is None):
            known = other.result if then.result is None else then.result
            if self.falls_off is None or known is None:
                self.module.unsupported(node, "expected all paths to return, or none", "Return on the other path, too.")
            nothing = self.falls_off(known)
            then, other = (Ended(e.bindings, nothing if e.result is None else e.result) for e in (then, other))
        result = None
        if then.result is not None and other.result is not None:
            result = self._selected(node, condition, then.result, other.result)
        bindings: dict[str, Value] = {}
        for name, value in then.bindings.items():
            if name in other.bindings:
                same = other.bindings[name] is value
                bindings[name] = value if same else self._selected(node, condition, value, other.bindings[name])
        return Ended(bindings, result)

    def bind(self, target: ast.expr, value: Value, bindings: dict[str, Value]) -> None:
        """Assigns to a name, to a part of a record, or takes a tuple apart."""
        match target:
            case ast.Subscript(value=ast.Name(id=name)) | ast.Attribute(value=ast.Name(id=name)) if isinstance(
                record := bindings.get(name), Record
            ):
                part = self._part(target, record, bindings)
                if isinstance(value, Record) or (record.kind is not dict and is_frozen(record.kind)):
                    self.module.unsupported(target, "expected a value that can be set, got another", "Set numbers and tuples.")
                bindings[name] = Record(record.kind, {**record.parts, part: value})
            case ast.Name(id=name):
                if name == self.returned and isinstance(self._settled(value), Maybe):
                    message = "expected the loop to return what is not None, got what may be None"
                    self.module.unsupported(target, message, "Return another value, or break and test after the loop.")
                bindings[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if not isinstance(value, tuple) or len(value) != len(parts):
                    got = f"{len(value)} values" if isinstance(value, tuple) else "one value"
                    self.module.wrong(target, "SHAPE", f"expected {len(parts)} values, got {got}", "Match the tuple's length.")
                for part, item in zip(parts, value, strict=True):
                    self.bind(part, item, bindings)
            case _:
                self.module.unsupported(target, "expected a name or a tuple of names to assign to", "Assign to plain variables.")


def _loaded(target: ast.expr) -> ast.expr:
    """The place of an assignment, read."""
    made = copy.copy(target)
    assert isinstance(made, ast.Name | ast.Subscript | ast.Attribute)
    made.ctx = ast.Load()
    return made


__all__ = ["Division", "Ended", "Floating", "Holes", "Interpreter", "Subscript", "Value"]
