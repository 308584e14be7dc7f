"""Commutative rings: integers modulo 2^n, exact integers, reals as rational polynomials."""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction

from warploom.terms.forms import Monomial, NormalForm, Polynomial, check_size, multiply_polynomials, sorted_monomial
from warploom.terms.term import Term, apply, constant, wrap_form
from warploom.terms.visits import POWERS, Pending, Visit, Visits

_INSIDE_PRODUCT = frozenset({"*", "neg", "constant"})


class RingVisits(Visits):
    def _polynomial(self, root: Term) -> Generator[Term, Term, Polynomial]:
        modulus = self._modulus
        result: Polynomial = {}
        pending = Pending(root, 1, lambda a, b: a + b)

        def add(monomial: Monomial, coefficient: int | Fraction) -> None:
            result[monomial] = result.get(monomial, 0) + coefficient

        while item := pending.pop():
            term, weight = item
            if modulus:
                weight %= modulus
            if not weight:
                continue
            op = term.op
            if op == "atom":
                add((term,), weight)
            elif op in ("+", "-"):
                pending.push(term.args[0], weight)
                pending.push(term.args[1], weight if op == "+" else -weight)
            elif op == "neg":
                pending.push(term.args[0], -weight)
            elif op == "*":
                factors, scale = self._factors(term)
                if len(factors) == 1:
                    pending.push(factors[0], weight * scale)
                else:
                    parts: list[Term] = []
                    for factor in factors:
                        parts.append(factor if factor.op == "atom" else (yield factor))  # noqa: PERF401 - a comprehension cannot yield
                    if all(p.op not in ("form", "constant") for p in parts):
                        add(sorted_monomial(parts), weight * scale)
                        continue
                    product: Polynomial = {(): weight * scale}
                    for part in parts:
                        product = multiply_polynomials(product, self._thaw_polynomial(part), modulus)
                    for monomial, coefficient in product.items():
                        add(monomial, coefficient)
            elif (scaled := self._scaled(term)) is not None:
                pending.push(term.args[0], weight * scaled)
            elif term.op in ("/", "<<") and self._regions.get(term.op) == "polynomial" and not self._is_shifted_bits(term):
                opaque = yield from self._opaque(term)
                add((opaque,), weight)
            else:
                for monomial, coefficient in self._thaw_polynomial((yield term)).items():
                    add(monomial, coefficient * weight)
            if len(result) > 1:
                check_size(len(result))
        if modulus:
            return {m: w for m, c in result.items() if (w := self._wrap(int(c)))}
        result = {m: c for m, c in result.items() if c}
        return (yield from self._with_joined_powers(result)) if self._joins_powers else result

    def _with_joined_powers(self, polynomial: Polynomial) -> Generator[Term, Term, Polynomial]:
        """exp(a) * exp(b) * x -> exp(a + b) * x: at most one power of each base in a monomial."""
        result: Polynomial = {}
        for monomial, coefficient in polynomial.items():
            powers = [t for t in monomial if t.op in POWERS]
            key = monomial
            if len(powers) > 1:
                key = sorted_monomial([t for t in monomial if t.op not in POWERS] + (yield from self._joined(tuple(powers))))
            result[key] = result.get(key, 0) + coefficient
        return {m: c for m, c in result.items() if c}

    def _joined(self, powers: Monomial) -> Generator[Term, Term, list[Term]]:
        """The product of powers, as one of each base."""
        if powers not in self._products:
            parts: list[Term] = []
            for base in dict.fromkeys(t.op for t in powers):
                own = [t.args[0] for t in powers if t.op == base]
                total = own[0]
                for exponent in own[1:]:
                    total = apply("+", total, exponent)
                joined = yield apply(base, total)
                parts += [joined] if joined.op == base else []
            self._products[powers] = parts
        return self._products[powers]

    def _exponential(self, term: Term) -> Visit:
        exponent = yield term.args[0]
        is_one = exponent.op == "constant" and exponent.data[0] == 0
        return constant(1) if is_one else apply(term.op, exponent)

    def _factors(self, root: Term) -> tuple[list[Term], int | Fraction]:
        """Factors of a product that are no product themselves, repeats written out, and the product of the constants."""
        if root.args[0].op not in _INSIDE_PRODUCT and root.args[1].op not in _INSIDE_PRODUCT:
            one, other = root.args
            return [one, other] if one.serial >= other.serial else [other, one], 1
        factors: list[Term] = []
        scale: int | Fraction = 1
        pending = Pending(root, 1, lambda a, b: a + b)
        while item := pending.pop():
            term, power = item
            check_size(power)
            number = self._number(term.data[0]) if term.op == "constant" else None
            if term.op == "*":
                pending.push(term.args[0], power)
                pending.push(term.args[1], power)
            elif number is not None:
                assert not isinstance(number, float)
                scale *= number**power
            elif term.op == "neg":
                scale *= (-1) ** power
                pending.push(term.args[0], power)
            else:
                factors += [term] * power
        return factors or [constant(1)], scale

    def _scaled(self, term: Term) -> int | Fraction | None:
        """The factor when `term` is its first argument times a known number."""
        if term.op not in ("/", "<<") or self._regions.get(term.op) != "polynomial" or term.args[1].op != "constant":
            return None
        number = self._number(term.args[1].data[0])
        assert not isinstance(number, float)
        if term.op == "/":
            return Fraction(1, 1) / number if number else None
        if number is None or not 0 <= number < self.algebra.dtype.bits or self._is_shifted_bits(term):
            return None
        return 1 << int(number)

    def _thaw_polynomial(self, canonical: Term) -> Polynomial:
        if canonical.op == "form" and canonical.data[0].kind == "polynomial":
            return dict(canonical.data[0].items)
        if canonical.op == "constant":
            number = self._number(canonical.data[0])
            if number is not None and not isinstance(number, float):
                return {(): number} if number else {}
        return {(canonical,): 1}

    def _freeze_polynomial(self, result: Polynomial) -> Term:
        if not result:
            return constant(0)
        if len(result) == 1:
            ((monomial, coefficient),) = result.items()
            if not monomial:
                return constant(self._number(coefficient))
            if coefficient == 1 and len(monomial) == 1:
                return monomial[0]
        return wrap_form(NormalForm("polynomial", frozenset((m, self._number(c)) for m, c in result.items())))
