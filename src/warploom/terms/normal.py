"""Canonical forms of terms under an algebra.

`Normaliser` visits a term without Python recursion: a visit is a generator that yields the subterms whose canonical terms it
needs. Sums are taken apart from the root by creation number, so a left-leaning sum of n products costs O(n log n) and shared
subterms are met once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from warploom.core import DType, scalar_of
from warploom.terms.algebra import Algebra, algebra_for
from warploom.terms.bitwise import BitVisits
from warploom.terms.casts import cast_types, comparison_types, convert, holds, narrow_quotient, undone
from warploom.terms.evaluate import COMPARISONS
from warploom.terms.forms import NormalForm
from warploom.terms.mixed import control_of, in_bit_operations
from warploom.terms.orders import OrderVisits
from warploom.terms.promotion import LOW_BITS
from warploom.terms.rings import RingVisits
from warploom.terms.term import Number, Term, apply, component, constant, iterate_post, wrap_form
from warploom.terms.visits import BIT_OPS, POWERS, Visit

Canonical: TypeAlias = Term | NormalForm
_ELEMENTWISE = frozenset({"+", "-", "*", "/", "//", "%", "neg", "min", "max", "&", "|", "^", "<<", ">>", "~"})


def _keeps_low_bits(source: DType, target: DType) -> bool:
    return not source.is_float and not target.is_float and target.bits <= source.bits


def _floored_bits(term: Term, most: Number) -> Term | None:
    """x // 8 -> x >> 3, x % 8 -> x & 7: both round down, whatever the sign."""
    divisor = term.args[1].data[0] if term.args[1].op == "constant" else 0
    if not isinstance(divisor, int) or not 1 <= divisor <= most or divisor & (divisor - 1):
        return None
    return apply(">>", term.args[0], divisor.bit_length() - 1) if term.op == "//" else apply("&", term.args[0], divisor - 1)


def normal(term: Term, algebra: Algebra) -> Canonical:
    """Hashable canonical form: equal for two terms exactly when the algebra's laws make them equal, region by region.

    A single generator or constant is its own form. Raises FormTooLargeError when distribution would explode.
    """
    return Normaliser(algebra).normal(term)


def equal(a: Term, b: Term, algebra: Algebra) -> bool:
    """Whether the algebra's laws make `a` and `b` equal."""
    normaliser = Normaliser(algebra)
    return normaliser.normal(a) == normaliser.normal(b)


class Normaliser(RingVisits, BitVisits, OrderVisits):
    """Canonical forms under one algebra, remembered between calls."""

    def __init__(self, algebra: Algebra, types: Mapping[str, DType] | None = None, *, joins_powers: bool = False) -> None:
        """types: of the arrays' elements, for conversions that give an element back unchanged. joins_powers: over the reals,
        exp(a) * exp(b) is exp(a + b), and exp(0) is 1; the same of powers of two."""
        super().__init__(algebra, joins_powers=joins_powers)
        self._types = types or {}
        self._memo: dict[Term, Term] = {}
        self._inner: dict[DType, Normaliser] = {}

    def normal(self, term: Term) -> Canonical:
        """Canonical form of `term`; see the function `normal`."""
        canonical = self.canonical(term)
        return canonical.data[0] if canonical.op == "form" else canonical

    def canonical(self, term: Term) -> Term:
        """Canonical form as a term."""
        memo = self._memo
        stack: list[tuple[Term, Visit]] = []
        wanted = term
        while True:
            value = memo.get(wanted)
            if value is None:
                stack.append((wanted, self._visit(wanted)))
            while stack:
                current, visit = stack[-1]
                try:
                    wanted = next(visit) if value is None else visit.send(value)
                    break
                except StopIteration as stop:
                    value = memo[current] = stop.value
                    stack.pop()
            else:
                assert value is not None
                return value

    def _visit(self, term: Term) -> Visit:
        op = term.op
        if op in ("atom", "form"):
            return term
        if op == "constant":
            return self._constant(term)
        if op == "component":
            return (yield from self._component(term))
        if self._has_bits and (op in BIT_OPS or self._is_shifted_bits(term)):
            if self._is_monotone(term):
                return self._freeze_bits((yield from self._or(term)), "or")
            return self._freeze_bits((yield from self._bits(term)), "bits")
        if types := cast_types(term):
            return (yield from self._conversion(term, *types))
        if op in ("<<", ">>") and term.args[1] is constant(0) and self.algebra.name == "machine":
            return (yield term.args[0])
        if control_of(term) is not None and self.algebra.name == "machine":
            return (yield in_bit_operations(term))
        if compared := comparison_types(term):
            return (yield from self._comparison(term, *compared))
        if op == "popc" and self.algebra.name == "machine":
            return (yield from self._ones_of(term))
        if op in ("//", "%") and self.algebra.name == "machine":
            bits = _floored_bits(term, self._bounds()[1])
            return (yield from self._opaque(term)) if bits is None else (yield bits)
        region = self._regions.get(op)
        if region == "polynomial":
            return self._freeze_polynomial((yield from self._polynomial(term)))
        if region == "lattice":
            return self._freeze_clauses((yield from self._lattice(term)))
        if region == "tropical":
            return self._freeze_tropical((yield from self._tropical(term)))
        if region == "multiset":
            return (yield from self._multiset(term))
        if self._joins_powers and op in POWERS:
            return (yield from self._exponential(term))
        return (yield from self._opaque(term))

    def _conversion(self, term: Term, source: DType, target: DType) -> Visit:
        """A converted value is computed in its own type, under that type's laws."""
        inside = self._within(source)
        operand = (yield term.args[0]) if inside is self else inside.canonical(term.args[0])
        narrow = narrow_quotient(term.args[0], source, target, self._types) if self.algebra.name != "syntactic" else None
        if narrow is not None:
            return (yield narrow)
        if _keeps_low_bits(source, target) and term.args[0].op in LOW_BITS and self.algebra.name != "syntactic":
            parts = [apply(term.op, a) if a.op != "constant" else convert(a, source, target) for a in term.args[0].args]
            return (yield apply(term.args[0].op, *parts))
        if operand.op == "constant" and (number := convert(operand, source, target)).op == "constant":
            return self._constant(number)
        if comparison_types(operand) is not None and self.algebra.name not in ("syntactic", "commutative"):
            return operand  # 1 or 0 in any type
        same = undone(operand, source, target, self._types)
        return apply(term.op, operand) if same is None else (yield same)

    def _comparison(self, term: Term, dtype: DType, sign: str) -> Visit:
        """Operands under the laws of their own type; `>` and `>=` turned round, equal operands in one order."""
        inside = self._within(dtype)
        self._has_truths = True
        operands: list[Term] = []
        for argument in term.args:
            canonical = (yield argument) if inside is self else inside.canonical(argument)
            operands.append(canonical)
        if self.algebra.name == "syntactic":
            return apply(term.op, *operands)
        known = self._known_comparison(operands, sign, inside is self)
        if known is not None:
            return (yield known)
        if sign in (">", ">=") or (sign in ("==", "!=") and operands[0].serial > operands[1].serial):
            operands.reverse()
        return holds({">": "<", ">=": "<="}.get(sign, sign), dtype, *operands)

    def _known_comparison(self, operands: list[Term], sign: str, is_own: bool) -> Term | None:
        """The comparison of two numbers; that of another comparison, or of a word made of such, with 0."""
        left, right = operands
        if left.op == right.op == "constant":
            a, b = left.data[0], right.data[0]
            return None if isinstance(a, float) or isinstance(b, float) else constant(int(COMPARISONS[sign](a, b)))
        if sign not in ("==", "!=") or constant(0) not in operands:
            return None
        word = left if right is constant(0) else right
        if comparison_types(word) is None and not (is_own and self._has_bits and self._is_truth(word)):
            return None
        return word if sign == "!=" else apply("^", word, 1) if self._has_bits else None

    def _ones_of(self, term: Term) -> Visit:
        """The number of ones of a word whose bits are known to be comparisons at places of their own is the sum of these."""
        operand = yield term.args[0]
        places = self._placed_truths(operand)
        if places is None:
            return apply(term.op, operand)
        ones, truths = places
        total = constant(ones)
        for truth in truths:
            total = apply("+", total, truth)
        return (yield total)

    def _within(self, source: DType) -> Normaliser:
        """The normaliser of terms of type `source`."""
        if scalar_of(source) == self.algebra.dtype or self.algebra.name in ("syntactic", "commutative"):
            return self
        if source.is_float and self.algebra.dtype.is_float:
            return self  # the reals, whatever their width
        key = scalar_of(source)
        if key not in self._inner:
            own = {name: identity for name, identity in self.algebra.operators if self._regions.get(name) == "multiset"}
            self._inner[key] = Normaliser(algebra_for(key, operators=own), self._types)
        return self._inner[key]

    def _component(self, term: Term) -> Visit:
        """Components move inside element-wise operators, where they meet packs and atoms."""
        vector, position = term.args[0], term.data[0]
        if vector.op == "atom":
            return term
        if vector.op == "constant":
            return self._constant(vector)
        if vector.op not in _ELEMENTWISE:
            return component((yield vector), position)
        moved: dict[Term, Term] = {}
        for t in iterate_post(vector):
            if t.op in _ELEMENTWISE:
                moved[t] = apply(t.op, *(moved[a] for a in t.args))
            elif t.op == "pack":
                moved[t] = t.args[position] if position < len(t.args) else t
            else:
                moved[t] = t if t.op == "constant" else component(t, position)
        return (yield moved[vector])

    def _constant(self, term: Term) -> Term:
        if self.algebra.name == "syntactic":
            return term
        number = self._number(term.data[0])
        return term if number is None else constant(number)

    def _multiset(self, root: Term) -> Visit:
        counts, _ = self._counted(root)
        result: dict[Term, int] = {}
        identity = self._identities.get(root.op)
        kind = f"multiset {root.op}"
        for operand, power in counts.items():
            canonical = yield operand
            if canonical.op == "constant" and identity is not None and canonical.data[0] == identity:
                continue
            inside = canonical.data[0].items if canonical.op == "form" and canonical.data[0].kind == kind else {(canonical, 1)}
            for generator, n in inside:
                result[generator] = result.get(generator, 0) + n * power
        if not result:
            return constant(identity)
        if len(result) == 1:
            ((generator, n),) = result.items()
            if n == 1:
                return generator
        return wrap_form(NormalForm(kind, frozenset(result.items())))
