"""Canonical forms taken apart, and written out as terms that other code than the normal forms looks into."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from warploom.terms.forms import Monomial
from warploom.terms.term import Number, Term, apply, constant, serial


def summands(canonical: Term) -> list[tuple[Monomial, Number]]:
    """The factors and the number of each product whose sum a canonical form over the reals is."""
    if canonical.op == "form" and canonical.data[0].kind == "polynomial":
        return sorted(canonical.data[0].items, key=lambda item: [serial(t) for t in item[0]])
    if canonical.op == "constant":
        return [((), canonical.data[0])] if canonical.data[0] else []
    return [((canonical,), 1)]


def values_of_maximum(canonical: Term) -> list[Term]:
    """The values whose maximum a canonical form is; it alone where it is none."""
    if canonical.op == "form" and canonical.data[0].kind == "lattice" and len(canonical.data[0].items) == 1:
        ((clause, number),) = canonical.data[0].items
        return [*sorted(clause, key=serial), *([] if number is None else [constant(number)])]
    return [canonical]


def parts_of(canonical: Term) -> Iterator[Term]:
    """The terms of which it is made."""
    if canonical.op == "form":
        yield from _inside(canonical.data[0].items)
    yield from canonical.args


def _inside(items: Any) -> Iterator[Term]:
    if isinstance(items, Term):
        yield items
    elif isinstance(items, tuple | frozenset):
        for item in items:  # pyright: ignore[reportUnknownVariableType] - forms are nested tuples and sets
            yield from _inside(item)


class WrittenOut:
    """Canonical forms over the reals as terms without forms, remembered between calls."""

    def __init__(self) -> None:
        self._done: dict[Term, Term] = {}

    def __call__(self, canonical: Term) -> Term:
        """The term; a form that is neither a polynomial nor made of minima and maxima stays."""
        if canonical not in self._done:
            self._done[canonical] = self._made(canonical)
        return self._done[canonical]

    def total(self, products: list[tuple[Monomial, Number]]) -> Term:
        """The sum of products of canonical factors."""
        return reduce(lambda a, b: apply("+", a, b), [self.product(*p) for p in products]) if products else constant(0)

    def product(self, factors: Monomial, number: Number) -> Term:
        terms = [*([] if number == 1 and factors else [constant(number)]), *map(self, factors)]
        return reduce(lambda a, b: apply("*", a, b), terms)

    def _made(self, canonical: Term) -> Term:
        if canonical.op != "form":
            return canonical.rebuilt([self(a) for a in canonical.args]) if canonical.args else canonical
        form = canonical.data[0]
        if form.kind == "polynomial":
            return self.total(summands(canonical))
        if form.kind != "lattice":
            return canonical
        clauses = [
            reduce(lambda a, b: apply("max", a, b), [*map(self, sorted(c, key=serial)), *([] if k is None else [constant(k)])])
            for c, k in sorted(form.items, key=lambda item: sorted(serial(t) for t in item[0]))
        ]
        return reduce(lambda a, b: apply("min", a, b), clauses)
