"""Divisions of floats by odd whole numbers, written as a product, two fused steps and a maximum.

q = x r, e = max(q d - x, least), q - e r: with r the float nearest to 1 / d this is the float nearest to x / d for every x,
and is taken for the quotient. A first quotient that is off by less than two last places u leaves an excess of fewer than
2^24 whole u, which a fused step gives exactly; the last step is off by less than 2 u / 2^24 before it rounds. For an odd d
no x / d lies within u / 2d of the middle of two floats, so that d up to 2^22 suffices. The maximum changes no finite excess,
and leaves the infinity of x where the excess is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from warploom.core import DType
from warploom.synth.compiled.arithmetic import Arithmetic
from warploom.synth.compiled.data import Data, Value
from warploom.terms import Term, apply

_MOST = 1 << 22
_LEAST_BITS = 0xFF7FFFFF
"""The least finite float."""


class ExactQuotients:
    """Watches the results of float instructions of one run for the steps of such a division."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._first: dict[Term, tuple[Term, int]] = {}
        self._excess: dict[Term, Term] = {}
        self._bounded: dict[Term, Term] = {}
        self.is_off = False
        """Some instruction of the run rounds otherwise than to the nearest float, of which terms say nothing."""

    def watched(self, opcode: str, kind: DType, function: Callable[..., Value]) -> Callable[..., Value]:
        """`function`, of that opcode, with the quotient as the result of a last step."""
        match opcode if kind.name == "f32" else "":
            case "mul":
                step = self._product
            case "fma":
                step = self._fused
            case "max":
                step = self._maximum
            case "add" | "sub":
                step = self._sum
            case _:
                return function

        def run(*values: Value) -> Value:
            return step(kind, function, *values)

        return run

    def _product(self, kind: DType, function: Callable[..., Value], a: Value, b: Value) -> Value:
        made = function(a, b)
        x, share = (a, b) if isinstance(b, int) else (b, a)
        if isinstance(made, Term) and isinstance(x, Term) and isinstance(share, int):
            divisor = round(1 / number) if 0 < (number := Data.decoded(share, kind)) < 1 and 1 / number <= _MOST else 0
            if divisor % 2 and share == Data.encoded(1 / divisor, kind):
                self._first[made] = x, divisor
        return made

    def _fused(self, kind: DType, function: Callable[..., Value], a: Value, b: Value, c: Value) -> Value:
        term, factor = (a, b) if isinstance(b, int) else (b, a)
        if not isinstance(term, Term) or not isinstance(factor, int) or not isinstance(c, Term):
            return function(a, b, c)
        if (
            (first := self._first.get(term)) is not None
            and factor == Data.encoded(first[1], kind)
            and c is apply("neg", first[0])
        ):
            data = self._arithmetic.data
            unfused = apply("+", apply("*", data.as_float(a, kind), data.as_float(b, kind)), c)
            is_new = unfused not in data.kinds or unfused in self._excess
            made = function(a, b, c)
            if is_new and isinstance(made, Term):
                self._excess[made] = term
            return made
        inner, sign = self._signed(term, factor)
        first = self._first.get(c)
        if not self.is_off and first is not None and self._bounded.get(inner) is c and sign == Data.encoded(-1 / first[1], kind):
            x, divisor = first
            return self._arithmetic.real("/", kind)(x, Data.encoded(divisor, kind))
        return function(a, b, c)

    @staticmethod
    def _signed(term: Term, factor: int) -> tuple[Term, int]:
        """-e times r as e times -r."""
        return (term.args[0], factor ^ 1 << 31) if term.op == "neg" else (term, factor)

    def _maximum(self, kind: DType, function: Callable[..., Value], a: Value, b: Value) -> Value:
        term, bound = (a, b) if isinstance(b, int) else (b, a)
        if not isinstance(bound, int) or bound != _LEAST_BITS or not isinstance(term, Term) or term not in self._excess:
            return function(a, b)
        made = function(a, b)
        if isinstance(made, Term):
            self._bounded[made] = self._excess[term]
        return made

    def _sum(self, kind: DType, function: Callable[..., Value], a: Value, b: Value) -> Value:
        made = function(a, b)
        if isinstance(made, Term):
            self._excess.pop(made, None)  # the same sum of a rounded product
        return made
