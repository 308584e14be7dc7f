"""Canonical terms: sums modulo 2^width, with extensions, truncations and shifts pushed inwards wherever that is exact.

Goal: two terms of equal value should be one object as often as is cheap. Non-goals: deciding equality (that is `difference`), and
simplifying floating-point operations (they are functions).

    trunc(a + b)         -> trunc(a) + trunc(b)                      always
    high(2^k a + b)      -> a + high(b)                              always (modulo 2^(width - k))
    2^k zext(high(x))    -> x - zext(trunc(x))                       always; likewise sext(high(x))
    zext(2^t x)          -> 2^t zext(trunc(x))                       always; likewise sext
    sext(a + b)          -> sext(a) + sext(b), likewise zext         only if the facts bound the sum so that it does not wrap
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.ptx.symbolic.building import Assumption
from warploom.ptx.symbolic.division import magic_quotient
from warploom.ptx.symbolic.extension import halved, opened_product, opened_sum, within
from warploom.ptx.symbolic.facts import Facts, negated
from warploom.ptx.symbolic.term import Term, TermTable, is_box, linear, signed

_EXPANDED = 24
"""Products of sums are multiplied out up to this many monomials."""
_HEAVY = 400
"""Terms of a greater weight are kept in one piece."""


class Algebra:
    """Builds terms under facts; sound wherever the facts hold."""

    def __init__(self, table: TermTable, facts: Facts, *, assume_nsw: bool = False) -> None:
        self.table = table
        self.facts = facts
        self.assume_nsw = assume_nsw
        """Take signed sums and products not to wrap, and record it."""
        self.assumptions: dict[Assumption, None] = {}
        self._sign_extended: dict[tuple[Term, int], Term] = {}
        self._truncated: dict[tuple[Term, int], Term] = {}
        self._zero_extended: dict[tuple[Term, int], Term] = {}

    # sums and products

    def const(self, value: int, width: int) -> Term:
        return self.table.const(value, width)

    def sum_of(self, width: int, constant: int, parts: Mapping[Term, int]) -> Term:
        """`constant` plus coefficient times atom; coefficients need not be reduced."""
        mask = (1 << width) - 1
        kept = [(a, c & mask) for a, c in parts.items() if c & mask]
        for atom, coefficient in kept:
            high = atom.args[0] if atom.op in ("zext", "sext") else atom
            if high.op == "high" and coefficient & ((1 << int(high.data[0])) - 1) == 0:
                return self._without_high(width, constant, kept, atom)
        constant &= mask
        if not kept:
            return self.table.const(constant, width)
        if len(kept) == 1 and constant == 0 and kept[0][1] == 1:
            return kept[0][0]
        kept.sort(key=lambda p: p[0].serial)
        return self.table.make("sum", width, tuple(a for a, _ in kept), (constant, *(c for _, c in kept)))

    def _without_high(self, width: int, constant: int, kept: list[tuple[Term, int]], atom: Term) -> Term:
        """One summand m 2^k zext(high(x)) replaced by m (x - zext(trunc(x)))."""
        high = atom if atom.op == "high" else atom.args[0]
        cut = int(high.data[0])
        total: dict[Term, int] = {}
        factor = 0
        for other, coefficient in kept:
            if other is atom:
                factor = coefficient >> cut
            else:
                total[other] = coefficient
        inner = high.args[0]
        low = self.trunc(inner, cut)
        whole = self.resized(inner, width, is_signed=atom.op == "sext")
        for sign, part in ((factor, whole), (-factor, self.resized(low, width, is_signed=False))):
            offset, parts = linear(part)
            constant += sign * offset
            for other, coefficient in parts:
                total[other] = total.get(other, 0) + sign * coefficient
        return self.sum_of(width, constant, total)

    def add(self, x: Term, y: Term, factor: int = 1) -> Term:
        """x + factor * y."""
        constant, parts = linear(x)
        offset, others = linear(y)
        if not others:
            return self.shifted(x, factor * offset)
        total = dict(parts)
        for atom, coefficient in others:
            total[atom] = total.get(atom, 0) + factor * coefficient
        return self.sum_of(x.width, constant + factor * offset, total)

    def shifted(self, x: Term, amount: int) -> Term:
        """x + amount."""
        mask = (1 << x.width) - 1
        if not amount & mask:
            return x
        if x.op == "const":
            return self.table.const(int(x.data[0]) + amount, x.width)
        if x.op == "sum":
            constant = (int(x.data[0]) + amount) & mask
            if not constant and len(x.args) == 1 and x.data[1] == 1:
                return x.args[0]
            return self.table.make("sum", x.width, x.args, (constant, *x.data[1:]))
        return self.table.make("sum", x.width, (x,), (amount & mask, 1))

    def light(self, x: Term) -> Term:
        """x, or x in a box when it has grown too large to be taken apart again and again."""
        return x if x.weight <= _HEAVY else self.table.boxed(x)

    def sub(self, x: Term, y: Term) -> Term:
        return self.add(x, y, -1)

    def neg(self, x: Term) -> Term:
        return self.scaled(x, -1)

    def invert(self, x: Term) -> Term:
        """Every bit the other way: -1 - x."""
        return self.shifted(self.neg(x), -1)

    def scaled(self, x: Term, factor: int) -> Term:
        constant, parts = linear(x)
        return self.sum_of(x.width, constant * factor, {a: c * factor for a, c in parts})

    def mul(self, x: Term, y: Term) -> Term:
        """The product modulo 2^width, multiplied out when small."""
        if x.width == 1:
            return self.conjunction(x, y)
        for one, other in ((x, y), (y, x)):
            if one.value is not None:
                return self.scaled(other, one.value)
        (c, left), (d, right) = linear(x), linear(y)
        if (len(left) + (c != 0)) * (len(right) + (d != 0)) > _EXPANDED:
            return self._monomial(x, y)
        total: dict[Term, int] = {}
        for atom, coefficient in left:
            total[atom] = total.get(atom, 0) + coefficient * d
        for atom, coefficient in right:
            total[atom] = total.get(atom, 0) + coefficient * c
        for a, p in left:
            for b, q in right:
                atom = self._monomial(a, b)
                total[atom] = total.get(atom, 0) + p * q
        return self.sum_of(x.width, c * d, total)

    def _monomial(self, x: Term, y: Term) -> Term:
        factors = [f for t in (x, y) for f in (t.args if t.op == "product" and not is_box(t.op, t.args) else (t,))]
        factors.sort(key=lambda f: f.serial)
        return self.table.make("product", x.width, tuple(factors))

    # widths

    def trunc(self, x: Term, width: int) -> Term:
        """The lowest `width` bits."""
        if width >= x.width:
            assert width == x.width
            return x
        key = (x, width)
        found = self._truncated.get(key)
        if found is None:
            found = self._truncated[key] = self._trunc(x, width)
        return found

    def _trunc(self, x: Term, width: int) -> Term:
        match x.op:
            case "const" | "sum":
                constant, parts = linear(x)
                mask = (1 << width) - 1
                total: dict[Term, int] = {}
                for atom, coefficient in parts:
                    if not coefficient & mask:
                        continue
                    offset, inner = linear(self.trunc(atom, width))
                    constant += coefficient * offset
                    for a, c in inner:
                        total[a] = total.get(a, 0) + coefficient * c
                return self.sum_of(width, constant, total)
            case "zext" | "sext":
                inner = x.args[0]
                if width <= inner.width:
                    return self.trunc(inner, width)
                return self.zext(inner, width) if x.op == "zext" else self.sext(inner, width)
            case "trunc":
                return self.trunc(x.args[0], width)
            case "high":
                cut = int(x.data[0])
                return self.high(self.trunc(x.args[0], width + cut), cut)
            case "product" if width > 1 and not is_box(x.op, x.args):
                result = self.trunc(x.args[0], width)
                for factor in x.args[1:]:
                    result = self.mul(result, self.trunc(factor, width))
                return result
            case "select":
                return self.select(x.args[0], self.trunc(x.args[1], width), self.trunc(x.args[2], width))
            case _:
                return self.table.make("trunc", width, (x,))

    def high(self, x: Term, cut: int) -> Term:
        """x without its lowest `cut` bits."""
        width = x.width - cut
        if cut == 0:
            return x
        assert width > 0
        match x.op:
            case "const":
                return self.table.const(int(x.data[0]) >> cut, width)
            case "high":
                return self.high(x.args[0], cut + int(x.data[0]))
            case "zext":
                inner = x.args[0]
                return self.const(0, width) if cut >= inner.width else self.zext(self.high(inner, cut), width)
            case "sext" if cut < x.args[0].width:
                return self.sext(self.high(x.args[0], cut), width)
            case "select":
                return self.select(x.args[0], self.high(x.args[1], cut), self.high(x.args[2], cut))
            case "sum":
                return self._high_of_sum(x, cut)
            case _:
                return self._high_atom(x, cut)

    def _high_of_sum(self, x: Term, cut: int) -> Term:
        """2^cut a + b -> a + high(b)."""
        constant, parts = linear(x)
        size = 1 << cut
        outer, inner = constant >> cut, constant & (size - 1)
        pulled: dict[Term, int] = {}
        kept: dict[Term, int] = {}
        for atom, coefficient in parts:
            low = coefficient & (size - 1)
            if low >= size >> 1 and coefficient >> (x.width - 1):
                low -= size  # a negative coefficient stays one
            if low:
                kept[atom] = low
            if coefficient != low:
                pulled[atom] = (coefficient - low) >> cut
        rest = self.sum_of(x.width, inner, kept)
        result = self._high_atom(rest, cut) if rest.op == "sum" else self.high(rest, cut)
        result = self.shifted(result, outer)
        for atom, coefficient in pulled.items():
            result = self.add(result, self.trunc(atom, result.width), coefficient)
        return result

    def _high_atom(self, x: Term, cut: int) -> Term:
        low, high = self.facts.unsigned(x)
        if low >> cut == high >> cut:
            return self.const(low >> cut, x.width - cut)
        return magic_quotient(self, x, cut) or self.table.make("high", x.width - cut, (x,), (cut,))

    def zext(self, x: Term, width: int) -> Term:
        """Zero extension; width may equal x's."""
        if width == x.width:
            return x
        key = (x, width)
        found = self._zero_extended.get(key)
        if found is None:
            found = self._zero_extended[key] = self._zext(x, width)
        return found

    def _zext(self, x: Term, width: int) -> Term:
        match x.op:
            case "const":
                return self.table.const(int(x.data[0]), width)
            case "zext":
                return self.zext(x.args[0], width)
            case "select":
                return self.select(x.args[0], self.zext(x.args[1], width), self.zext(x.args[2], width))
            case "trunc" if self.facts.unsigned(x.args[0])[1] >> x.width == 0:
                return self.resized(x.args[0], width, is_signed=False)
            case "sum" if x.width > 1:
                if (even := halved(self, x)) is not None:
                    return self.scaled(self.zext(even[0], width), even[1])
                opened = opened_sum(self, x, width, is_signed=False)
                if opened is None and not self.assume_nsw and self.facts.signed(x)[0] >= 0:
                    opened = opened_sum(self, x, width, is_signed=True)
                return opened or self.table.make("zext", width, (x,))
            case "product" if not is_box(x.op, x.args):
                return opened_product(self, x, width, is_signed=False) or self.table.make("zext", width, (x,))
            case _:
                return self.table.make("zext", width, (x,))

    def sext(self, x: Term, width: int) -> Term:
        """Sign extension; width may equal x's."""
        if width == x.width:
            return x
        key = (x, width)
        found = self._sign_extended.get(key)
        if found is None:
            found = self._sign_extended[key] = self._sext(x, width)
        return found

    def _sext(self, x: Term, width: int) -> Term:
        if x.op == "const":
            return self.table.const(signed(int(x.data[0]), x.width), width)
        if self.facts.signed(x)[0] >= 0:
            extended = self.zext(x, width)
            if not (self.assume_nsw and extended.op == "zext" and extended.args[0] is x and x.op in ("sum", "product")):
                return extended  # otherwise an unsigned sum may have wrapped, and a signed one is taken not to
        match x.op:
            case "zext" | "sext":
                return self.sext(x.args[0], width) if x.op == "sext" else self.zext(x.args[0], width)
            case "select":
                return self.select(x.args[0], self.sext(x.args[1], width), self.sext(x.args[2], width))
            case "trunc" if within(self.facts.signed(x.args[0]), x.width, is_signed=True):
                return self.resized(x.args[0], width, is_signed=True)
            case "sum" if x.width > 1:
                if (even := halved(self, x)) is not None:
                    return self.scaled(self.sext(even[0], width), even[1])
                return opened_sum(self, x, width, is_signed=True) or self.table.make("sext", width, (x,))
            case "product" if not is_box(x.op, x.args):
                return opened_product(self, x, width, is_signed=True) or self.table.make("sext", width, (x,))
            case _:
                return self.table.make("sext", width, (x,))

    def extended(self, x: Term, width: int, *, is_signed: bool) -> Term:
        """Sign or zero extension."""
        return self.sext(x, width) if is_signed else self.zext(x, width)

    def resized(self, x: Term, width: int, *, is_signed: bool) -> Term:
        """Extended, or cut."""
        return self.extended(x, width, is_signed=is_signed) if x.width <= width else self.trunc(x, width)

    # predicates and choices

    def negation(self, x: Term) -> Term:
        """A predicate's opposite."""
        return self.shifted(x, 1)

    def conjunction(self, x: Term, y: Term) -> Term:
        found: dict[Term, None] = {}
        for term in (x, y):
            for part in term.args if term.op == "and" and term.width == 1 else (term,):
                if part.value is not None:
                    if not part.value:
                        return part
                    continue
                if self.negation(part) in found:
                    return self.const(0, 1)
                found[part] = None
        parts = sorted(found, key=lambda t: t.serial)
        if len(parts) < 2:
            return parts[0] if parts else self.const(1, 1)
        return self.table.make("and", 1, tuple(parts))

    def disjunction(self, x: Term, y: Term) -> Term:
        """Predicates know `and` and negation only."""
        return self.negation(self.conjunction(self.negation(x), self.negation(y)))

    def select(self, condition: Term, x: Term, y: Term) -> Term:
        """x where the condition holds, else y; what both have in common is taken out."""
        if x is y:
            return x
        if condition.value is not None:
            return x if condition.value else y
        if (inner := negated(condition)) is not None:
            return self.select(inner, y, x)
        if x.width == 1:
            if x.value is not None:
                return self.disjunction(condition, y) if x.value else self.conjunction(self.negation(condition), y)
            if y.value is not None:
                return self.disjunction(self.negation(condition), x) if y.value else self.conjunction(condition, x)
            return self.table.make("select", 1, (condition, x, y))
        (c, left), (d, right) = linear(x), linear(y)
        if not left and not right:
            return self.sum_of(x.width, d, {self.table.make("zext", x.width, (condition,)): c - d})
        common = set(left) & set(right)
        if not common:
            return self.table.make("select", x.width, (condition, x, y))
        shared = self.sum_of(x.width, 0, dict(common))
        first = self.sum_of(x.width, c, dict(p for p in left if p not in common))
        second = self.sum_of(x.width, d, dict(p for p in right if p not in common))
        return self.add(shared, self.select(condition, first, second))
