"""Terms in which symbols stand for all steps of a loop: for the sum of what each step adds, or the greatest of what it offers.

Both sides of a comparison have such symbols of their own. Here they become symbols that both share, by the laws of the reals and
exp(a + b) = exp(a) * exp(b). Each product is cut into what moves with the steps (`x[k, s]`: element k + s * n in step n) and what
does not:

    the sum of  2 * y * x[k, s]  over all steps   ->  2 * y * T1         T1: the sum of x[k, s]
    the sum of  exp(x[k, s] - y) * z              ->  exp(-y) * z * T2   T2: the sum of exp(x[k, s])
    the greatest of  max(x[k, s], y)              ->  max(T3, y)         T3: the greatest of x[k, s]

Nothing is assumed of the symbols but that those of one product are one number, so that they may stand anywhere: in quotients,
powers, maxima. Steps are as many on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from warploom.core import DType
from warploom.synth.compiled.rescaled import POWERS, Rescaled
from warploom.terms import (
    GREATEST,
    Algebra,
    Monomial,
    Number,
    Term,
    WrittenOut,
    apply,
    atom,
    iterate_post,
    parts_of,
    serial,
    summands,
    values_of_maximum,
)

_TOTAL = "%total"
_POWERS = ("exp", "ex2")


class MovingError(Exception):
    """An element that moves with the steps of a loop is used outside of its totals."""


def offered(sums: Mapping[Term, Term]) -> dict[Term, Term]:
    """By symbol of a maximum: the value that each step offers to it."""
    return {symbol: added.args[0] for symbol, added in sums.items() if added.op == GREATEST}


class Totals:
    """Shared symbols under one algebra. sums: by symbol, what a step adds or offers; notes: get what the domain must say."""

    def __init__(self, algebra: Algebra, types: Mapping[str, DType], sums: Mapping[Term, Term], notes: set[str]) -> None:
        self._sums, self._notes = sums, notes
        self._laws = Rescaled(algebra, types, notes, offered(sums))
        self._written = WrittenOut()
        self._of_symbol: dict[Term, Term] = {}
        self._shared: dict[tuple[str, Monomial, frozenset[str]], Term] = {}
        """By what is summed, and the types to which weights are rounded in its steps."""
        self._moves: dict[Term, bool] = {}
        self._outside: dict[Term, Term] = {}
        self._inside: dict[Term, Term] = {}
        self._cut: dict[Term, tuple[Term | None, Term]] = {}
        """By factor: what of it stays from step to step, and what moves."""

    def shared(self, root: Term) -> Term:
        """The term with shared symbols. MovingError where something moves with the steps otherwise."""
        return self._replaced(root, self._outside, is_step=False)

    def _replaced(self, root: Term, done: dict[Term, Term], *, is_step: bool) -> Term:
        for t in iterate_post(root, done):
            if t in self._sums:
                done[t] = self._total(t)
            elif not is_step and t.op == "atom" and len(t.data[1]) == 2:
                raise MovingError("expected elements that move with the steps of a loop only in its sums and maxima")
            else:
                args = [done[a] for a in t.args]
                done[t] = t.with_args(args)
        return done[root]

    def _total(self, symbol: Term) -> Term:
        if symbol not in self._of_symbol:
            added = self._sums[symbol]
            is_greatest = added.op == GREATEST
            as_made = added.args[0] if is_greatest else added
            step = self._laws.with_exact_weights(as_made)
            rounded = self._laws.rounded_in(as_made)
            canonical = self._laws.joined(self._replaced(step, self._inside, is_step=True))
            made = self._greatest(canonical, rounded) if is_greatest else self._sum(canonical, rounded)
            self._of_symbol[symbol] = made
            self._notes.update(self._laws.roundings())
        return self._of_symbol[symbol]

    def _sum(self, canonical: Term, rounded: frozenset[str]) -> Term:
        products: list[tuple[Monomial, Number]] = []
        for factors, number in summands(canonical):
            still, moving = self._parted(factors)
            products.append(((*still, self._symbol("sum", moving, rounded)), number))
        return self._written.total(products)

    def _parted(self, factors: Monomial) -> tuple[list[Term], Monomial]:
        """The factors that stay as they are from step to step, and those that move."""
        still = [f for f in factors if not self._does_move(f)]
        moving: list[Term] = []
        for factor in factors:
            if not self._does_move(factor):
                continue
            if factor not in self._cut:
                self._cut[factor] = self._cut_power(factor)
            apart, left = self._cut[factor]
            still += [apart] if apart is not None else []
            moving.append(left)
        return still, tuple(sorted(moving, key=serial))

    def _cut_power(self, factor: Term) -> tuple[Term | None, Term]:
        own = summands(factor.args[0]) if factor.op in _POWERS else []
        apart = [(m, n) for m, n in own if not any(map(self._does_move, m))]
        if not apart:
            return None, factor
        self._notes.add(POWERS)
        still = self._laws.joined(apply(factor.op, self._written.total(apart)))
        return still, self._laws.joined(apply(factor.op, self._written.total([p for p in own if p not in apart])))

    def _greatest(self, canonical: Term, rounded: frozenset[str]) -> Term:
        values = values_of_maximum(canonical)
        found = [self._symbol("greatest", (v,), rounded) if self._does_move(v) else self._written(v) for v in values]
        return reduce(lambda a, b: apply("max", a, b), found)

    def _symbol(self, of: str, moving: Monomial, rounded: frozenset[str]) -> Term:
        return self._shared.setdefault((of, moving, rounded), atom(_TOTAL, (len(self._shared),)))

    def _does_move(self, term: Term) -> bool:
        """Whether a canonical form has an element in it that moves."""
        if term not in self._moves:
            is_moving_element = term.op == "atom" and len(term.data[1]) == 2
            self._moves[term] = is_moving_element or any(map(self._does_move, parts_of(term)))
        return self._moves[term]
