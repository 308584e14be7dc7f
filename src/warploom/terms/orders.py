"""Ordered values: min and max as a distributive lattice, min-plus and max-plus semirings."""

from __future__ import annotations

from collections.abc import Generator
from math import isfinite

from warploom.terms.forms import Clauses, NormalForm, Tropical, absorb_clauses, check_size, multiply_clauses, sorted_monomial
from warploom.terms.term import Number, Term, constant, wrap_form
from warploom.terms.visits import Visits


class OrderVisits(Visits):
    def _lattice(self, root: Term) -> Generator[Term, Term, Clauses]:
        if root.op == "min":
            least: Clauses = {}
            for operand in self._operands(root):
                for clause, const in self._thaw_clauses((yield operand), "min").items():
                    if clause not in least or _lower(const, least[clause]):
                        least[clause] = const
            return absorb_clauses(least)
        joint: set[Term] = set()
        top: Number | None = None
        product: Clauses = {frozenset(): None}
        for operand in self._operands(root):
            clauses = self._thaw_clauses((yield operand), "max")
            if len(clauses) == 1:
                ((terms, const),) = clauses.items()
                joint |= terms
                top = _higher(top, const)
            else:
                product = multiply_clauses(product, clauses)
        return multiply_clauses(product, {frozenset(joint): top})

    def _thaw_clauses(self, canonical: Term, op: str) -> Clauses:
        if canonical.op == "form" and canonical.data[0].kind == "lattice":
            return dict(canonical.data[0].items)
        if canonical.op == "constant":
            value: Number = canonical.data[0]
            low, high = self._bounds()
            if op == "min" and value >= high:
                return {}
            return {frozenset(): None if op == "max" and value <= low else value}
        return {frozenset((canonical,)): None}

    def _freeze_clauses(self, clauses: Clauses) -> Term:
        low, high = self._bounds()
        if not clauses:
            return constant(high)
        if len(clauses) == 1:
            ((terms, const),) = clauses.items()
            if not terms:
                return constant(low if const is None else const)
            if const is None and len(terms) == 1:
                return next(iter(terms))
        return wrap_form(NormalForm("lattice", frozenset(clauses.items())))

    def _tropical(self, root: Term) -> Generator[Term, Term, Tropical]:
        outer = "min" if self.algebra.name == "min-plus" else "max"
        better = min if outer == "min" else max
        if root.op == outer:
            best: Tropical = {}
            for operand in self._operands(root):
                for monomial, const in self._thaw_tropical((yield operand)).items():
                    best[monomial] = better(best[monomial], const) if monomial in best else const
            return best
        counts, total = self._counted(root)
        product: Tropical = {(): total}
        for operand, power in counts.items():
            part = self._thaw_tropical((yield operand))
            for _ in range(power):
                check_size(len(product) * len(part))
                grown: Tropical = {}
                for left, p in product.items():
                    for right, q in part.items():
                        key = sorted_monomial(left + right)
                        grown[key] = better(grown[key], p + q) if key in grown else p + q
                product = grown
        return product

    def _thaw_tropical(self, canonical: Term) -> Tropical:
        if canonical.op == "form" and canonical.data[0].kind in ("min +", "max +"):
            return dict(canonical.data[0].items)
        if canonical.op == "constant":
            value: Number = canonical.data[0]
            if isinstance(value, float) and not isfinite(value) and (value > 0) == (self.algebra.name == "min-plus"):
                return {}
            return {(): value}
        return {(canonical,): 0}

    def _freeze_tropical(self, result: Tropical) -> Term:
        outer = "min" if self.algebra.name == "min-plus" else "max"
        if not result:
            return constant(float("inf") if outer == "min" else float("-inf"))
        if len(result) == 1:
            ((monomial, const),) = result.items()
            if not monomial:
                return constant(const)
            if const == 0 and len(monomial) == 1:
                return monomial[0]
        return wrap_form(NormalForm(f"{outer} +", frozenset(result.items())))


def _lower(a: Number | None, b: Number | None) -> bool:
    """a < b, None counting as minus infinity."""
    return b is not None and (a is None or a < b)


def _higher(a: Number | None, b: Number | None) -> Number | None:
    return b if a is None else a if b is None else max(a, b)
