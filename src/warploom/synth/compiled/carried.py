"""The values that a step of a loop hands on to the next one: how a step changes them, and how all steps do.

    a sum             s' = s + a                              after all steps: s + the sum of a
    a maximum         m' = max(m, a)                          max(m, the greatest of a)
    a rescaled sum    s' = s * exp(m - m') + a * exp(-m')     (s * exp(m) + the sum of a) * exp(-m at the end)

Here `a` may move with the steps, but has none of the values handed on in it. The third is any s' for which s' * exp(m') - s *
exp(m) is such a number, by the laws of the reals and exp(a + b) = exp(a) * exp(b): then s * exp(m) is a sum of the first kind. So
it does not matter how a kernel came to s'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from warploom.synth.compiled.base_two import LOG2_E
from warploom.synth.compiled.renaming import SUM
from warploom.synth.compiled.rescaled import POWERS, Rescaled, with_roundings
from warploom.synth.compiled.sealing import Sealed
from warploom.synth.compiled.threads import Launch
from warploom.terms import Algebra, FormTooLargeError, Term, WrittenOut, algebra_for, apply, iterate_post, parts_of, serial

_LONG = 1 << 14


@dataclass(frozen=True, slots=True)
class Added:
    """A step adds these parts to a sum."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Offered:
    """A step offers this to a maximum."""

    value: Term


@dataclass(frozen=True, slots=True)
class AddedRescaled:
    """A step adds this to a sum times the power of e of a maximum, which a symbol stands for."""

    top: Term
    added: Term


Change: TypeAlias = Added | Offered | AddedRescaled


class Carried:
    """The changes of one step, from the symbols of the values at its begin and the values at its end."""

    def __init__(self, launch: Launch, ends: Mapping[Term, Term]) -> None:
        self._data, self._launch, self._ends = launch.data, launch, ends
        self._numbers = {symbol.data[1][0] for symbol in ends}
        self._notes: set[str] = set()
        self._laws: dict[Algebra, Rescaled] = {}
        self._sealed: dict[Algebra, Sealed] = {}
        self._written = WrittenOut()
        self._is_free: dict[Term, bool] = {}
        self._changes: dict[Term, Change] = {}
        self._tops: dict[Term, frozenset[Term]] = {}
        """By term: the maxima handed on that are in it."""

    def changes(self) -> dict[Term, Change] | None:
        """By symbol; None where a step does something else to one of them."""
        sums: list[Term] = []
        for symbol, end in self._ends.items():
            change = self._added(symbol, end) or self._offered(symbol, end)
            if change is None:
                sums.append(symbol)
            else:
                self._changes[symbol] = change
        for symbol in sums:
            change = self._rescaled(symbol, self._ends[symbol])
            if change is None:
                return None
            self._changes[symbol] = change
        self._launch.notes.update(self._notes)
        return self._changes

    def _added(self, symbol: Term, end: Term) -> Added | None:
        added: list[Term] = []
        stack = [end]
        is_found = False
        while stack:
            term = stack.pop()
            if term is symbol:
                if is_found:
                    return None
                is_found = True
            elif term.op == "+" and len(added) + len(stack) < _LONG:
                stack.extend(term.args)
            else:
                added.append(term)
        return Added(tuple(added)) if is_found and all(map(self._is_free_of_symbols, added)) else None

    def _offered(self, symbol: Term, end: Term) -> Offered | None:
        values: dict[Term, None] = {}
        stack = [self._above_least(end)]
        while stack:
            term = stack.pop()
            if term.op == "max":
                stack.extend(term.args)
            else:
                values[term] = None
        if symbol not in values or len(values) < 2:
            return None
        del values[symbol]
        if not all(map(self._is_free_of_symbols, values)):
            return None
        value, *others = values
        for other in others:
            value = apply("max", value, other)
        return Offered(value)

    def _rescaled(self, symbol: Term, end: Term) -> AddedRescaled | None:
        kind = self._data.kinds[symbol]
        algebra = algebra_for(kind)
        laws, sealed = self._laws_of(algebra), self._sealed.setdefault(algebra, Sealed(algebra, {}, self._data.kinds.get))
        end = self._above_least(end)
        for top in self._tops_in(end):
            before, after = apply("*", symbol, _power(top)), apply("*", end, _power(self._above_least(self._ends[top])))
            difference = sealed(apply("-", after, before))
            try:
                added = laws.joined(difference)
            except FormTooLargeError:
                return None
            if self._is_free_of_symbols(added):
                self._notes.update([POWERS, *laws.roundings()])
                made = sealed.opened(self._written(added))
                return AddedRescaled(top, with_roundings(made, laws.rounded_in(difference)))
        return None

    def _tops_in(self, root: Term) -> list[Term]:
        known = self._tops
        for t in iterate_post(root, known):
            if isinstance(self._changes.get(t), Offered):
                known[t] = frozenset([t])
            else:
                parts = {found for a in t.args if (found := known[a])}
                known[t] = next(iter(parts)) if len(parts) == 1 else frozenset[Term]().union(*parts)
        return sorted(known[root], key=serial)

    def _above_least(self, term: Term) -> Term:
        kind = self._data.kinds[term]
        return self._laws_of(algebra_for(kind)).above_least(term, self._data.kinds, self._data.kinds)

    def _laws_of(self, algebra: Algebra) -> Rescaled:
        return self._laws.setdefault(algebra, Rescaled(algebra, {}, self._notes))

    def _is_free_of_symbols(self, root: Term) -> bool:
        """Whether none of the values handed on is in a term or a canonical form."""
        stack = [root]
        while stack:
            term = stack[-1]
            parts = [p for p in parts_of(term) if p not in self._is_free]
            if parts:
                stack += parts
                continue
            stack.pop()
            self._is_free[term] = not self._is_own(term) and all(self._is_free[p] for p in parts_of(term))
        return self._is_free[root]

    def _is_own(self, term: Term) -> bool:
        """Whether it is a value handed on, of this thread or of one that computes alike."""
        return term.op == "atom" and term.data[0] == SUM and term.data[1][0] in self._numbers


def _power(exponent: Term) -> Term:
    return apply("ex2", apply("*", exponent, LOG2_E))
