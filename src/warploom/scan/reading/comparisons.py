"""Comparisons of Python on expressions: of numbers, texts, tuples, characters, and of values that may be None."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading.arithmetic import Arithmetic
from warploom.scan.reading.values import NONE, Character, Maybe, Value, bare


@dataclass(slots=True)
class Comparisons(Arithmetic):
    """Comparisons, alone and in a chain."""

    def _container(self, node: ast.expr, op: ast.cmpop, bindings: dict[str, Value]) -> Value:
        raise NotImplementedError

    def _compare_characters(self, node: ast.expr, op: ast.cmpop, left: Value, right: Value) -> Expr:
        raise NotImplementedError

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
