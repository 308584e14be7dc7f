"""Questions that canonical forms leave open, put to z3.

Loads, functions and quotients by what may be zero are free symbols: less is known of them than could be, so an `Unsat` is right,
and a `Sat` may show values that cannot occur.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.comparisons import equal
from warploom.ptx.symbolic.facts import Facts
from warploom.ptx.symbolic.term import Term, linear, subterms
from warploom.solve import Builder, Handle, Sat, Unknown, Unsat, word

BUDGET = 2_000_000
"""z3's resource units for one question; well under a second."""


def counterexample(algebra: Algebra, claim: Term, rlimit: int = BUDGET) -> Sat[bool | int | Fraction] | Unsat | Unknown:
    """Values for which the facts hold and the claim does not; `Unsat`: the claim is proved."""
    if claim.value == 1:
        return Unsat()
    built = Translation(algebra.facts)
    conditions = [built.vector(c) for c in algebra.facts.conditions]
    negation = built.negation(built.vector(claim))
    return built.builder.check([built.holds(p) for p in (*built.bounds, *conditions, negation)], rlimit, "QF_BV")


def is_proved(algebra: Algebra, claim: Term, rlimit: int = BUDGET) -> bool:
    """Whether the facts imply the claim; False is not a refutation."""
    return isinstance(counterexample(algebra, claim, rlimit), Unsat)


def are_equal(algebra: Algebra, x: Term, y: Term, rlimit: int = BUDGET) -> bool:
    """Whether two terms are proved equal; False is not a refutation."""
    return x is y or is_proved(algebra, equal(algebra, x, y), rlimit)


class Translation:
    """Terms as words; a predicate is a word of one bit."""

    def __init__(self, facts: Facts, builder: Builder | None = None, mark: Callable[[Term], str] = lambda _: "") -> None:
        """facts: bound the special registers. mark: goes into the names of a term's symbols, so that two translations with one
        builder share those that they mark alike."""
        self.builder = builder or Builder()
        self.bounds: list[Handle] = []
        """Ranges of the symbols."""
        self._facts = facts
        self._mark = mark
        self._done: dict[Term, Handle] = {}

    def vector(self, term: Term) -> Handle:
        for part in subterms(term):
            if part not in self._done:
                self._done[part] = self._built(part, [self._done[a] for a in part.args])
        return self._done[term]

    def constant(self, value: int, width: int) -> Handle:
        return self.builder.constant(value, word(width))

    def holds(self, predicate: Handle) -> Handle:
        return self.builder.equal(predicate, self.constant(1, 1))

    def negation(self, predicate: Handle) -> Handle:
        return self.builder.bitwise("^", predicate, self.constant(1, 1))

    def _predicate(self, condition: Handle) -> Handle:
        return self.builder.select(condition, self.constant(1, 1), self.constant(0, 1))

    def _less(self, x: Handle, y: Handle, *, is_signed: bool) -> Handle:
        return self._predicate(self.builder.less(x, y, is_signed=is_signed))

    def _select(self, predicate: Handle, then: Handle, otherwise: Handle) -> Handle:
        return self.builder.select(self.holds(predicate), then, otherwise)

    def _symbol(self, term: Term) -> Handle:
        symbol = self.builder.variable(f"t{term.serial}{self._mark(term)}", word(term.width))
        if term.op == "special":
            low, high = self._facts.unsigned(term)
            for least, most in ((self.constant(low, term.width), symbol), (symbol, self.constant(high, term.width))):
                self.bounds.append(self.negation(self._less(most, least, is_signed=False)))
        return symbol

    def _built(self, term: Term, args: list[Handle]) -> Handle:
        b = self.builder
        match term.op:
            case "const" | "sum":
                constant, parts = linear(term)
                result = self.constant(constant, term.width)
                for (_, coefficient), arg in zip(parts, args, strict=True):
                    result = b.add(result, b.multiply(arg, self.constant(coefficient, term.width)))
                return result
            case "product":
                return reduce(b.multiply, args)
            case "and":
                return reduce(partial(b.bitwise, "&"), args)
            case "or":
                return b.bitwise("|", *args)
            case "xor":
                return b.bitwise("^", *args)
            case "shl":
                return b.shift_left(*args)
            case "lshr" | "ashr":
                return b.shift_right(*args, is_signed=term.op == "ashr")
            case "select":
                return self._select(*args)
            case "ult" | "slt":
                return self._less(*args, is_signed=term.op == "slt")
            case "zext" | "sext":
                return b.extended(args[0], term.width, is_signed=term.op == "sext")
            case "trunc":
                return b.bits(args[0], 0, term.width)
            case "high":
                return b.bits(args[0], int(term.data[0]), term.width)
            case "udiv" | "sdiv" if term.args[1].value:
                return b.word_quotient(*args, is_signed=term.op == "sdiv")
            case "eq":
                return self._predicate(b.equal(args[0], self.constant(0, term.args[0].width)))
            case "umin" | "smin":
                return self._select(self._less(*args, is_signed=term.op == "smin"), *args)
            case "umax" | "smax":
                return self._select(self._less(*args, is_signed=term.op == "smax"), *reversed(args))
            case _:
                return self._symbol(term)
