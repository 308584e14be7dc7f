"""Questions that canonical forms leave open, put to z3.

Loads, functions and quotients by what may be zero are free symbols: less is known of them than could be, so an `Unsat` is right,
and a `Sat` may show values that cannot occur.
"""

from __future__ import annotations

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.comparisons import equal
from warploom.ptx.symbolic.term import Term, linear, subterms
from warploom.solve import Answer, BitVector, BitVectors, Unsat

BUDGET = 2_000_000
"""z3's resource units for one question; well under a second."""


def counterexample(algebra: Algebra, claim: Term, rlimit: int = BUDGET) -> Answer:
    """Values for which the facts hold and the claim does not; `Unsat`: the claim is proved."""
    if claim.value == 1:
        return Unsat()
    built = _Translation(algebra)
    conditions = [built.vector(c) for c in algebra.facts.conditions]
    negation = built.vectors.apply("xor", built.vector(claim), built.vectors.constant(1, 1))
    return built.vectors.check([*built.bounds, *conditions, negation], rlimit)


def is_proved(algebra: Algebra, claim: Term, rlimit: int = BUDGET) -> bool:
    """Whether the facts imply the claim; False is not a refutation."""
    return isinstance(counterexample(algebra, claim, rlimit), Unsat)


def are_equal(algebra: Algebra, x: Term, y: Term, rlimit: int = BUDGET) -> bool:
    """Whether two terms are proved equal; False is not a refutation."""
    return x is y or is_proved(algebra, equal(algebra, x, y), rlimit)


class _Translation:
    def __init__(self, algebra: Algebra) -> None:
        self.vectors = BitVectors()
        self.bounds: list[BitVector] = []
        """Ranges of the symbols."""
        self._algebra = algebra
        self._done: dict[Term, BitVector] = {}

    def vector(self, term: Term) -> BitVector:
        for part in subterms(term):
            if part not in self._done:
                self._done[part] = self._built(part, [self._done[a] for a in part.args])
        return self._done[term]

    def _symbol(self, term: Term) -> BitVector:
        vectors = self.vectors
        symbol = vectors.symbol(f"t{term.serial}", term.width)
        if term.op == "special":
            low, high = self._algebra.facts.unsigned(term)
            for least, most in ((vectors.constant(low, term.width), symbol), (symbol, vectors.constant(high, term.width))):
                self.bounds.append(vectors.apply("xor", vectors.apply("ult", most, least), vectors.constant(1, 1)))
        return symbol

    def _built(self, term: Term, args: list[BitVector]) -> BitVector:
        v = self.vectors
        match term.op:
            case "const" | "sum":
                constant, parts = linear(term)
                result = v.constant(constant, term.width)
                for (_, coefficient), arg in zip(parts, args, strict=True):
                    result = v.apply("add", result, v.apply("mul", arg, v.constant(coefficient, term.width)))
                return result
            case "product" | "and":
                result = args[0]
                for arg in args[1:]:
                    result = v.apply("mul" if term.op == "product" else "and", result, arg)
                return result
            case "zext" | "sext":
                return v.extended(args[0], term.width, is_signed=term.op == "sext")
            case "trunc":
                return v.bits(args[0], 0, term.width)
            case "high":
                return v.bits(args[0], int(term.data[0]), term.width)
            case "or" | "xor" | "shl" | "lshr" | "ashr" | "select" | "ult" | "slt":
                return v.apply(term.op, *args)
            case "udiv" | "sdiv" if term.args[1].value:
                return v.apply(term.op, *args)
            case "eq":
                return v.apply("eq", args[0], v.constant(0, term.args[0].width))
            case "umin" | "smin":
                return v.apply("select", v.apply("ult" if term.op == "umin" else "slt", args[0], args[1]), args[0], args[1])
            case "umax" | "smax":
                return v.apply("select", v.apply("ult" if term.op == "umax" else "slt", args[0], args[1]), args[1], args[0])
            case _:
                return self._symbol(term)
