"""Sums that a kernel rescales on the way, as a maximum grows, against sums made with the last maximum."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from fractions import Fraction

import numpy as np

from warploom.core import DType, to_numpy
from warploom.terms import Algebra, Normaliser, Term, iterate_post

POWERS = "exp(a + b) = exp(a) * exp(b)"
"""The law that makes them equal."""
NOT_BELOW = "no value below the least float"
"""Domain in which a maximum with the least finite float is the other value."""


class Rescaled:
    """The comparison of such sums under one algebra. notes: get what the domain must say of it."""

    def __init__(self, algebra: Algebra, types: Mapping[str, DType], notes: set[str]) -> None:
        self._algebra, self._types, self._notes = algebra, types, notes
        self._joining: Normaliser | None = None
        self._done: dict[Term, Term] = {}

    def are_equal(self, left: Term, right: Term) -> bool:
        """Whether the laws of the reals and that of powers make them equal."""
        joining = self._joining = self._joining or Normaliser(self._algebra, self._types, joins_powers=True)
        is_equal = self._algebra.dtype.is_float and joining.canonical(left) is joining.canonical(right)
        self._notes.update([POWERS] if is_equal else [])
        return is_equal

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
            done[t] = t.rebuilt(args) if args and any(a is not b for a, b in zip(args, t.args, strict=True)) else t
            if done[t] is not t and (kind := kinds.get(t)) is not None:
                made[done[t]] = kind
        return done[root]
