"""Large polynomials inside of other terms, such as the scores in powers of e: each as one symbol, by its canonical form.

Two of them get one symbol if the laws of the reals make them equal, and multiples of one symbol if they make them multiples. So
terms that are equal with these symbols are equal, and their canonical forms are small: a sum of 64 products in each of 32 powers
is not written out in each product of the powers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from warploom.core import BY_NAME, DType
from warploom.synth.compiled.renaming import SUM
from warploom.terms import Algebra, FormTooLargeError, Normaliser, Term, apply, atom, constant, iterate_post, summands

_SEALED = "%polynomial"
_POLYNOMIAL = frozenset({"+", "-", "*", "neg"})
_LEAST = 8
"""Operations of the smallest polynomial that gets a symbol."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A polynomial of elements: its size, up to the least that gets a symbol, and whether it moves."""

    operations: int
    does_move: bool
    """True if it has elements that move with the steps of a loop."""


class Sealed:
    """Symbols under one algebra, for polynomials of floats. types: of the arrays' elements; type_of: that of an element, if it is
    known."""

    def __init__(self, algebra: Algebra, types: Mapping[str, DType], type_of: Callable[[Term], DType | None]) -> None:
        self._type_of = type_of
        self._algebra, self._normaliser = algebra, Normaliser(algebra, types)
        self._kinds: dict[Term, _Kind | None] = {}
        self._symbols: dict[Term, Term | None] = {}
        """By polynomial; None: it stays as it is."""
        self._of_form: dict[object, Term] = {}
        """By canonical form without its first number."""
        self._polynomials: dict[Term, Term] = {}
        self._done: dict[Term, Term] = {}
        self._opened: dict[Term, Term] = {}

    def __call__(self, root: Term) -> Term:
        """The term with symbols for the large polynomials of floats in it."""
        if not self._algebra.dtype.is_float:
            return root
        done, kinds = self._done, self._kinds
        self._kind(root)  # and of all that is in it
        for t in iterate_post(root, done):
            if kinds[t] is None:
                symbols = (None if kinds[a] is None else self._symbol(a) for a in t.args)
                done[t] = t.with_args([done[a] if s is None else s for a, s in zip(t.args, symbols, strict=True)])
            else:
                done[t] = t
        return done[root]

    def __len__(self) -> int:
        """Symbols made so far."""
        return len(self._of_form)

    @property
    def domain(self) -> list[str]:
        """The domain of the laws that made polynomials equal."""
        sealed = [term for term, symbol in self._symbols.items() if symbol is not None]
        operators = {t.op for root in sealed for t in iterate_post(root) if t.args}
        return [self._algebra.domain_of(operators)] if operators else []

    def opened(self, root: Term) -> Term:
        """The term with polynomials in place of their symbols."""
        done = self._opened
        for t in iterate_post(root, done):
            args = [done[a] for a in t.args]
            made = t.with_args(args)
            done[t] = self._polynomials.get(t, t) if made is t else made
        return done[root]

    def _is_float(self, element: Term) -> bool:
        kind = None if element.data[0] == SUM else self._type_of(element)
        return kind is not None and kind.is_float

    def _symbol(self, term: Term) -> Term | None:
        kind = self._kind(term)
        if kind is None or kind.operations < _LEAST:
            return None
        if term not in self._symbols:
            try:
                canonical = self._normaliser.canonical(term)
            except FormTooLargeError:
                canonical = term
            self._symbols[term] = self._multiple(term, canonical, does_move=kind.does_move) if canonical is not term else None
        return self._symbols[term]

    def _multiple(self, term: Term, canonical: Term, *, does_move: bool) -> Term | None:
        """A symbol times the number that comes first in the canonical form: multiples of one polynomial have one symbol."""
        (_, first), *_ = products = summands(canonical) or [((), 0)]
        if not first:
            return None
        products = products if first == 1 else [(factors, Fraction(number) / first) for factors, number in products]
        key = (does_move, *products)
        if key not in self._of_form:
            made = self._of_form[key] = atom(_SEALED, (len(self._of_form), *([1] if does_move else [])))
            self._polynomials[made] = apply("*", constant(1 / Fraction(first)), term)
        return apply("*", constant(Fraction(first)), self._of_form[key])

    def _kind(self, root: Term) -> _Kind | None:
        """None: something else than a polynomial of elements."""
        known = self._kinds
        if root in known:
            return known[root]
        for t in iterate_post(root, known):
            own = [known[a] for a in t.args]
            parts = [k for k in own if k is not None]
            if t.op == "atom":
                known[t] = _Kind(0, len(t.data[1]) == 2) if self._is_float(t) else None
            elif t.op == "constant" or t.op in _POLYNOMIAL or _is_of_narrower(t):
                is_whole = len(parts) == len(own)
                does_move = any(k.does_move for k in parts)
                known[t] = _Kind(min(_LEAST, 1 + sum(k.operations for k in parts)), does_move) if is_whole else None
            else:
                known[t] = None
        return known[root]


def _is_of_narrower(term: Term) -> bool:
    """Whether it is an element of one type of floats as one of another type."""
    is_converted = term.op.startswith("cast.") and term.args[0].op == "atom"
    return is_converted and all(BY_NAME[name].is_float for name in term.op.split(".")[1:])
