"""Expressions of the states into normal forms, part by part."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.operators.forms import (
    MAX_TREE,
    TOO_MANY_CASES,
    Branch,
    Flag,
    FormError,
    Leaf,
    Merge,
    Number,
    Plain,
    Term,
    Tree,
    Work,
    both,
    chosen,
    combined,
    compared,
    either,
    greatest,
    leaf_fixed,
    least,
    mapped,
    number,
    plain_number,
    product_of,
    slope_of,
    sum_of,
)  # fmt: skip

_OF_BITS = ("bitand", "bitor", "bitxor")
_OF_ANY_SIZE = ", a whole number of any size; if it is a register, keep its bits, such as by & 0xFFFFFFFF"


class Normaliser:
    """Trees of expressions over `states`; `merge` joins two leaves under a condition without states."""

    def __init__(self, states: Iterable[Expr], merge: Merge, work: Work) -> None:
        self._work = work
        self._states = frozenset(states)
        self._merge = merge
        self._known: dict[Expr, Tree] = {}
        self._free: dict[Expr, bool] = {}

    def tree(self, expr: Expr) -> Tree:
        """Raises FormError."""
        for part in ex.subexpressions(expr):
            if part not in self._known:
                result = self._tree(part)
                size = _size(result)
                self._work.spend(size)
                if size > MAX_TREE:
                    raise FormError(TOO_MANY_CASES)
                self._known[part] = result
        return self._known[expr]

    def _is_free(self, expr: Expr) -> bool:
        known = self._free.get(expr)
        if known is None:
            known = self._free[expr] = expr not in self._states and all(self._is_free(a) for a in expr.args)
        return known

    def _tree(self, expr: Expr) -> Tree:
        if self._is_free(expr):
            return plain_number(expr) if expr.sort.is_numeric else Plain(expr)
        match expr.op:
            case "var":
                return self._state(expr)
            case "poly":
                return self._polynomial(expr)
            case "max" | "min":
                pick = greatest if expr.op == "max" else least
                return mapped(self._split, reduce(lambda a, b: combined(pick, a, b), (self._known[a] for a in expr.args)))
            case "ite":
                condition, then, otherwise = (self._known[a] for a in expr.args)
                return chosen(condition, then, otherwise, self._merge)
            case "ge" | "gt":
                return self._sign(expr)
            case "and":
                return reduce(both, (self._known[a] for a in expr.args))
            case "or":
                return reduce(either, (self._known[a] for a in expr.args))
            case "not":
                return mapped(lambda leaf: Plain(ex.negation(cast(Plain, leaf).value)), self._known[expr.args[0]])
            case "eq":
                return self._equality(expr)
            case "mod":
                return self._few(expr)
            case _:
                beside = _OF_ANY_SIZE if expr.op in _OF_BITS else ""
                raise FormError(f"{expr.op} of a value that is carried along{beside}")

    def _split(self, leaf: Leaf) -> Leaf:
        """Multiples with few factors among several terms, by the factors' cases, so that slopes are numbers."""
        value = cast(Number, leaf)
        if value.single is not None:
            return leaf
        for clause in value.clauses:
            for term in clause:
                for _, factor in term.slope.parts:
                    if factor.op == "const" or factor.sort.values is None:
                        continue
                    part = next(p for p in ex.subexpressions(factor) if p.op == "ite" or p.op == "var")
                    part = next((p for p in ex.subexpressions(factor) if p.op == "ite"), part)
                    if part.op == "ite":
                        then, otherwise = (self._split(leaf_fixed(value, {part: a})) for a in part.args[1:])
                        return self._merge(part.args[0], then, otherwise)
                    if part.sort.values is not None:
                        cases = [(v, self._split(leaf_fixed(value, {part: ex.constant(v)}))) for v in part.sort.values]
                        result = cases[0][1]
                        for number_, case in cases[1:]:
                            result = self._merge(ex.at_least(part, ex.constant(number_)), case, result)
                        return result
        return leaf

    def _state(self, state: Expr) -> Tree:
        if state.sort.base == "bool":
            return Branch(Flag(state), Plain(ex.TRUE), Plain(ex.FALSE))
        if state.sort.base == "text":
            raise FormError("a text that is carried along")
        return number([[Term(slope_of({(state,): ex.ONE}), ex.ZERO)]])

    def _polynomial(self, expr: Expr) -> Tree:
        total: Tree = plain_number(ex.ZERO)
        for coefficient, monomial in expr.terms:
            part: Tree = plain_number(ex.constant(coefficient))
            for atom in monomial:
                part = combined(product_of, part, self._known[atom])
            total = combined(sum_of, total, part)
        return total

    def _sign(self, expr: Expr) -> Tree:
        """`sum >= 0`, compared as positive part against negative part so that extrema stay extrema."""
        strict = expr.op == "gt"
        terms = ex.polynomial(expr.args[0])
        left: Tree = plain_number(ex.ZERO)
        right: Tree = plain_number(ex.ZERO)
        for monomial, coefficient in terms.items():
            part: Tree = plain_number(ex.constant(abs(coefficient)))
            for atom in monomial:
                part = combined(product_of, part, self._known[atom])
            if coefficient > 0:
                left = combined(sum_of, left, part)
            else:
                right = combined(sum_of, right, part)
        return combined(lambda a, b: compared(a, b, strict=strict), left, right)

    def _equality(self, expr: Expr) -> Tree:
        raise FormError("a comparison with an infinity or a text that is carried along")

    def _few(self, expr: Expr) -> Tree:
        """A remainder of a sum of states with few values, by cases."""
        inner = expr.args[0]
        few = [a for a in ex.variables(inner) if a in self._states]
        if any(a.sort.values is None for a in few):
            raise FormError("a remainder of a value that is carried along")
        atom = few[0]
        assert atom.sort.values is not None
        result = expr
        cases: Expr | None = None
        for value in atom.sort.values:
            case = ex.substituted(result, {atom: ex.constant(value)})
            cases = case if cases is None else ex.select(ex.at_least(atom, ex.constant(value)), case, cases)
        assert cases is not None
        return Normaliser(self._states, self._merge, self._work).tree(cases)


def _size(tree: Tree) -> int:
    return 1 + _size(tree.then) + _size(tree.otherwise) if isinstance(tree, Branch) else 1
