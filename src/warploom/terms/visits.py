"""Parts that the canonical forms of all regions share: coefficients, pending terms, operands of nested operators."""

from __future__ import annotations

from collections.abc import Callable, Generator
from fractions import Fraction
from heapq import heappop, heappush
from math import isfinite
from typing import Any, TypeAlias

from warploom.terms.algebra import Algebra, Region
from warploom.terms.mixed import control_of
from warploom.terms.term import Number, Term, apply

Visit: TypeAlias = Generator[Term, Term, Term]
"""Yields subterms, is sent their canonical terms, returns its own."""
BIT_OPS = frozenset({"^", "&", "|", "~"})
POWERS = frozenset({"exp", "ex2"})
"""Powers of one base each."""


class Pending:
    """Multiplicities of terms still to be taken apart, largest creation number first."""

    def __init__(self, root: Term, weight: Any, combine: Callable[[Any, Any], Any]) -> None:
        self.weights: dict[Term, Any] = {root: weight}
        self.heap: list[tuple[int, Term]] = [(-root.serial, root)]
        self.combine = combine

    def push(self, term: Term, weight: Any) -> None:
        if term in self.weights:
            self.weights[term] = self.combine(self.weights[term], weight)
        else:
            self.weights[term] = weight
            heappush(self.heap, (-term.serial, term))

    def pop(self) -> tuple[Term, Any] | None:
        if not self.heap:
            return None
        term = heappop(self.heap)[1]
        return term, self.weights.pop(term)


class Visits:
    """The algebra, unpacked for the visits of its regions."""

    def __init__(self, algebra: Algebra, *, joins_powers: bool = False) -> None:
        self.algebra = algebra
        self._joins_powers = joins_powers and algebra.name == "reals"
        self._products: dict[tuple[Term, ...], list[Term]] = {}
        """By powers: their product, as one of each base."""
        self._regions: dict[str, Region] = dict(algebra.regions)
        self._has_bits = "bits" in self._regions.values()
        self._identities = dict(algebra.operators)
        self._modulus = 1 << algebra.modulus_bits if algebra.modulus_bits else 0
        self._has_truths = False
        """True once a comparison was met: a word of one bit."""
        self._ones = (1 << algebra.dtype.bits) - 1

    def _number(self, value: Number) -> Number | None:
        """`value` as the algebra's coefficient: wrapped to the type's range, exact rationals for reals; None if it is neither."""
        if type(value) is int:
            return self._wrap(value) if self._modulus else value
        if isinstance(value, float) and not isfinite(value):
            return None
        exact = Fraction(value)
        if exact.denominator != 1:
            return exact if self.algebra.dtype.is_float else None
        return self._wrap(exact.numerator) if self._modulus else exact.numerator

    def _wrap(self, value: int) -> int:
        value %= self._modulus
        return value - self._modulus if self.algebra.dtype.kind == "int" and value >= self._modulus // 2 else value

    def _bounds(self) -> tuple[Number, Number]:
        dtype = self.algebra.dtype
        if dtype.is_float or not self._modulus:
            return float("-inf"), float("inf")
        return (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.kind == "int" else (0, (1 << dtype.bits) - 1)

    def _shift(self, term: Term) -> int | None:
        amount = term.args[1].data[0] if term.args[1].op == "constant" else None
        return amount if isinstance(amount, int) and 0 <= amount < self.algebra.dtype.bits else None

    def _is_shifted_bits(self, term: Term) -> bool:
        """A shift by a known amount of a bitwise expression: shifts distribute over bitwise operators."""
        if term.op not in ("<<", ">>") or not self._has_bits:
            return False
        while term.op in ("<<", ">>") and self._shift(term) is not None:
            term = term.args[0]
        return term.op in BIT_OPS or control_of(term) is not None

    def _operands(self, root: Term) -> list[Term]:
        """Distinct operands of nested applications of `root`'s idempotent operator."""
        seen: set[Term] = {root}
        stack = [root]
        found: list[Term] = []
        while stack:
            term = stack.pop()
            if term.op != root.op:
                found.append(term)
                continue
            fresh = [a for a in reversed(term.args) if a not in seen]
            seen.update(fresh)
            stack.extend(dict.fromkeys(fresh))
        return found

    def _counted(self, root: Term) -> tuple[dict[Term, int], Number]:
        """Operands of nested applications of `root`'s operator with their counts; constants of a tropical sum added up."""
        counts: dict[Term, int] = {}
        total: Number = 0
        pending = Pending(root, 1, lambda a, b: a + b)
        while item := pending.pop():
            term, power = item
            number = self._number(term.data[0]) if term.op == "constant" else None
            if term.op == root.op:
                for argument in term.args:
                    pending.push(argument, power)
            elif number is not None and self._regions.get(root.op) == "tropical":
                total += number * power
            else:
                counts[term] = power
        return counts, total

    def _opaque(self, term: Term) -> Visit:
        args: list[Term] = []
        for argument in term.args:
            args.append((yield argument))  # noqa: PERF401 - a comprehension cannot yield
        return apply(term.op, *args)
