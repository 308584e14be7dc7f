"""Sums that a kernel rescales on the way, as a maximum grows, against sums made with the last maximum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from fractions import Fraction

import numpy as np

from warploom.core import BY_NAME, DType, to_numpy
from warploom.terms import Algebra, Normaliser, Term, apply, iterate_post

POWERS = "exp(a + b) = exp(a) * exp(b)"
"""The law that makes them equal."""
NOT_BELOW = "no value below the least float, no NaN"
"""Domain in which a maximum with the least finite float is the other value."""
WEIGHTS = "weights of 0 to 1 rounded to"
"""Begins the domain's words where such roundings, which another maximum makes at other numbers, are left out."""
_ROUNDED = "%rounded "
"""Around a term that had weights rounded to this type in it."""


def with_roundings(term: Term, types: Iterable[str]) -> Term:
    """The term as one from which roundings of weights to these types were left out."""
    for name in sorted(types):
        term = apply(_ROUNDED + name, term)
    return term


class Rescaled:
    """The comparison of such sums under one algebra. notes: get what the domain must say of it."""

    def __init__(
        self, algebra: Algebra, types: Mapping[str, DType], notes: set[str], offered: Mapping[Term, Term] | None = None
    ) -> None:
        """offered: values that a symbol is never below, as one term."""
        self._algebra, self._types, self._notes, self._offered = algebra, types, notes, offered or {}
        self._joining: Normaliser | None = None
        self._done: dict[Term, Term] = {}
        self._exact: dict[Term, Term] = {}
        self._rounded: set[str] = set()
        """Types to which weights are rounded."""
        self._values: dict[Term, set[Term]] = {}
        """By maximum: the values of which it is one."""
        self._inside: dict[Term, frozenset[str]] = {}
        """By term: those to which weights in it are, if some are."""

    def are_equal(self, left: Term, right: Term) -> bool:
        """Whether the laws of the reals and that of powers make them equal, weights without their rounding; both must have
        weights rounded to the same types."""
        is_equal = self._algebra.dtype.is_float and self.joined(left) is self.joined(right)
        is_equal = is_equal and self.rounded_in(left) == self.rounded_in(right)
        self._notes.update([POWERS, *self.roundings()] if is_equal else [])
        return is_equal

    def joined(self, term: Term) -> Term:
        """The canonical form under these laws."""
        joining = self._joining = self._joining or Normaliser(self._algebra, self._types, joins_powers=True)
        return joining.canonical(self.with_exact_weights(term))

    def roundings(self) -> list[str]:
        """The domain's words for the roundings that were left out so far."""
        return [f"{WEIGHTS} {name} taken as exact" for name in sorted(self._rounded)]

    def with_exact_weights(self, root: Term) -> Term:
        """The value without roundings, there and back, of numbers from 0 to 1: powers of e or 2 of a value less a maximum."""
        dtype, done, inside = self._algebra.dtype, self._exact, self._inside
        for t in iterate_post(root, done):
            types = [found for a in t.args if (found := inside.get(a)) is not None]
            if t.op.startswith(_ROUNDED):
                types.append(frozenset([t.op.removeprefix(_ROUNDED)]))
                done[t] = done[t.args[0]]
            elif (weight := self._rounded_weight(t, dtype)) is not None:
                name = t.args[0].op.rpartition(".")[2]
                self._rounded.add(name)
                types.append(frozenset([name]))
                done[t] = done[weight]
            else:
                done[t] = t.with_args([done[a] for a in t.args])
            if types:
                inside[t] = types[0].union(*types[1:])
        return done[root]

    def rounded_in(self, term: Term) -> frozenset[str]:
        """The types to which weights in it are rounded, of which `with_exact_weights` has left that out."""
        return self._inside.get(term, frozenset())

    def above_least(self, root: Term, kinds: Mapping[Term, DType], made: MutableMapping[Term, DType]) -> Term:
        """A kernel's value, with the other value for each maximum with the least finite float. kinds: of its terms; made: gets
        those of new ones."""
        dtype, done = self._algebra.dtype, self._done
        if dtype.name not in ("f32", "f64"):
            return root
        least = -Fraction(float(np.finfo(to_numpy(dtype)).max))
        for t in iterate_post(root, done):
            args = [done[a] for a in t.args]
            values = [a for a in args if not (a.op == "constant" and a.data[0] == least)]
            if t.op == "max" and len(args) == 2 and len(values) == 1:
                self._notes.add(NOT_BELOW)
                done[t] = values[0]
                continue
            done[t] = t.with_args(args)
            if done[t] is not t and (kind := made.get(t) or kinds.get(t)) is not None:
                made[done[t]] = kind
        return done[root]

    def _rounded_weight(self, term: Term, dtype: DType) -> Term | None:
        """The weight that is rounded to a narrower float and back; None: it is something else."""
        inner = term.args[0] if term.op.startswith("cast.") else term
        narrow = inner.op.rpartition(".")[2]
        is_there_and_back = term.op == f"cast.{narrow}.{dtype.name}" and inner.op == f"cast.{dtype.name}.{narrow}"
        return inner.args[0] if is_there_and_back and BY_NAME[narrow].is_float and self._is_weight(inner.args[0]) else None

    def _is_weight(self, term: Term) -> bool:
        """Whether it is a power with base e or 2 of (a value less a maximum of that and others), or of a positive multiple."""
        exponent = term.args[0] if term.op in ("exp", "ex2") else term
        factors = exponent.args if exponent.op == "*" else (exponent,)
        numbers = [f.data[0] for f in factors if f.op == "constant"]
        others = [f for f in factors if f.op != "constant"]
        is_difference = exponent is not term and len(others) == 1 and others[0].op == "-" and all(n > 0 for n in numbers)
        return is_difference and others[0].args[0] in self._of_maximum(others[0].args[1])

    def _of_maximum(self, top: Term) -> set[Term]:
        """The values of which it is a maximum, maxima of some of them, and itself."""
        if top in self._values:
            return self._values[top]
        known = self._values[top] = set[Term]()
        stack = [top]
        while stack:
            term = stack.pop()
            if term not in known:
                known.add(term)
                stack.extend(term.args if term.op == "max" else (self._offered[term],) if term in self._offered else ())
        return known
