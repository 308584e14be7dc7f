"""Terms of the accumulator's form, an outer reduction of inner reductions of atoms, as monomials with multiplicities."""

from __future__ import annotations

from fractions import Fraction

from warploom.core import WarploomError
from warploom.terms.algebra import Algebra
from warploom.terms.forms import Monomial, NormalForm, sorted_monomial
from warploom.terms.normal import Normaliser
from warploom.terms.term import Term


class NotSumOfProductsError(WarploomError):
    """The term is not an outer reduction of inner reductions of atoms under the algebra."""


class ProductReader:
    """Reads many terms of one algebra; shared subterms are normalised once."""

    def __init__(self, algebra: Algebra) -> None:
        self._normaliser = Normaliser(algebra)
        self._algebra = algebra

    def read(self, term: Term, outer: str, inner: str | None = None) -> dict[Monomial, int | Fraction]:
        """Monomials (atoms ordered by creation, repeats kept where the inner operator counts them) with their multiplicities.

        A multiplicity is the ring's coefficient for + (wrapped or rational), the count for an operator that is only
        commutative and associative, and 1 for idempotent ones and xor. The key () holds a constant summand of + or, with 1,
        the all-ones word of ^; components of vector elements count as atoms. Raises NotSumOfProductsError for any other term,
        FormTooLargeError when distributing explodes. Source: Swizzle Inventor, section 4.2 (the multiset s of an
        accumulation).
        """
        canonical = self._normaliser.canonical(term)
        result: dict[Monomial, int | Fraction] = {}
        for monomial, count in self._outer(canonical, outer, inner):
            for generator in monomial:
                if generator.op == "form":
                    break
            else:
                if len(monomial) > 1 and inner is None:
                    raise self._refusal(term, outer, inner)
                self._add(result, monomial, count)
                continue
            if len(monomial) != 1 or inner is None:
                raise self._refusal(term, outer, inner)
            self._add(result, self._inner(monomial[0], inner, term, outer), count)
        for monomial in result:
            if not all(_is_atom(t) for t in monomial):
                raise self._refusal(term, outer, inner)
        return result

    @staticmethod
    def _add(result: dict[Monomial, int | Fraction], monomial: Monomial, count: int | Fraction) -> None:
        result[monomial] = result.get(monomial, 0) + count

    def _outer(self, canonical: Term, outer: str, inner: str | None) -> list[tuple[Monomial, int | Fraction]]:
        """Monomials of the outer region with multiplicities; generators may still be forms of the inner operator."""
        region = dict(self._algebra.regions).get(outer)
        form = canonical.data[0] if canonical.op == "form" else None
        if canonical.op == "constant":
            return self._constant(canonical, outer, inner)
        if not isinstance(form, NormalForm):
            return [((canonical,), 1)]
        items: list[tuple[Monomial, int | Fraction]]
        shared_product = {"polynomial": "*", "bits": "&", "tropical": "+"}.get(region or "")
        match form.kind:
            case "polynomial" if outer == "+":
                items = list(form.items)
            case "bits" | "or" if outer in ("^", "|", "&"):
                ones = (1 << self._algebra.dtype.bits) - 1
                if any(mask != ones for _, mask in form.items):
                    raise self._refusal(canonical, outer, inner)
                items = [(m, 1) for m, _ in form.items]
                if outer == "&" and len(items) == 1:
                    return [((t,), 1) for t in items[0][0]]
                if outer != ("^" if form.kind == "bits" else "|") and len(items) > 1:
                    raise self._refusal(canonical, outer, inner)
            case "min +" | "max +" if outer == form.kind[:3] and all(c == 0 for _, c in form.items):
                items = [(m, 1) for m, _ in form.items]
            case "lattice" if outer in ("min", "max"):
                return self._clauses(form, outer, inner)
            case _ if form.kind == f"multiset {outer}":
                return [((t,), n) for t, n in form.items]
            case _:
                return [((canonical,), 1)]
        if inner != shared_product and any(len(m) > 1 for m, _ in items):
            raise self._refusal(canonical, outer, inner)
        return items

    def _constant(self, canonical: Term, outer: str, inner: str | None) -> list[tuple[Monomial, int | Fraction]]:
        value = canonical.data[0]
        if outer in ("+", "^", "|") and value == 0:
            return []
        if outer == "+" and isinstance(value, int | Fraction):
            return [((), value)]
        if outer == "^" and value in (-1, (1 << self._algebra.dtype.bits) - 1):
            return [((), 1)]
        raise self._refusal(canonical, outer, inner)

    def _clauses(self, form: NormalForm, outer: str, inner: str | None) -> list[tuple[Monomial, int | Fraction]]:
        if any(k is not None for _, k in form.items):
            raise self._refusal(form, outer, inner)  # a constant takes part
        clauses: list[frozenset[Term]] = [c for c, _ in form.items]
        if all(len(c) == 1 for c in clauses) and outer == "min":
            return [((t,), 1) for c in clauses for t in c]
        if len(clauses) == 1 and outer == "max":
            return [((t,), 1) for t in clauses[0]]
        if outer == "min" and inner == "max":
            return [(sorted_monomial(c), 1) for c in clauses]
        raise self._refusal(form, outer, inner)

    def _inner(self, generator: Term, inner: str, term: Term, outer: str) -> Monomial:
        """Atoms of one generator that is a reduction by `inner`."""
        form = generator.data[0]
        match form.kind:
            case "polynomial" if inner == "+" and all(len(m) == 1 and isinstance(c, int) and c > 0 for m, c in form.items):
                return sorted_monomial(t for m, c in form.items for t in m * c)
            case "polynomial" if inner == "*" and len(form.items) == 1:
                ((monomial, coefficient),) = form.items
                if coefficient == 1:
                    return monomial
            case "lattice" if inner in ("min", "max"):
                return sorted_monomial(t for m, _ in self._clauses(form, inner, None) for t in m)
            case "bits" | "or" if inner in ("&", "|", "^"):
                return sorted_monomial(t for m, _ in self._outer(generator, inner, None) for t in m)
            case _ if form.kind == f"multiset {inner}":
                return sorted_monomial(t for t, n in form.items for _ in range(n))
            case _:
                pass
        raise self._refusal(term, outer, inner)

    @staticmethod
    def _refusal(term: object, outer: str, inner: str | None) -> NotSumOfProductsError:
        return NotSumOfProductsError(
            f"expected {outer} of {inner or 'single'} {'reductions of ' if inner else ''}elements, got {term}"
        )


def _is_atom(term: Term) -> bool:
    return term.op == "atom" or (term.op == "component" and term.args[0].op == "atom")
