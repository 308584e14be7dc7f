"""Quotients and remainders of integers; by a constant, in the one form that `division.py` finds in other words."""

from __future__ import annotations

from collections.abc import Callable

from warploom.core import BY_NAME, DType, integer_range
from warploom.synth.compiled.arithmetic import Arithmetic, signed, undefined_in
from warploom.synth.compiled.data import Data, Undefined, Value
from warploom.terms import DIVISORS, Term, apply, constant, is_exact


def quotient(
    arithmetic: Arithmetic, kind: DType, *, is_remainder: bool, is_floored: bool = False
) -> Callable[[Value, Value], Value]:
    """div and rem of integers: towards zero; division by zero is undefined (PTX ISA 9.7.1). is_floored: rounded down."""
    bits, mask, data = kind.bits, (1 << kind.bits) - 1, arithmetic.data
    op = f"{'floordiv' if is_floored else 'div'}.{kind.name}"
    multiply, subtract = arithmetic.signless("mul", kind), arithmetic.signless("sub", kind)

    def run(a: Value, b: Value) -> Value:
        if isinstance(b, int) and b == 0:
            return Undefined("division by zero", 0)
        if isinstance(a, int) and isinstance(b, int):
            x, y = (signed(a, bits), signed(b, bits)) if kind.kind == "int" else (a, b)
            whole = x // y if is_floored or (x < 0) == (y < 0) else -(abs(x) // abs(y))
            return (x - whole * y if is_remainder else whole) & mask
        if (bad := undefined_in(a, b)) is not None:
            return bad
        if not isinstance(b, int):
            data.notes.add(DIVISORS)
            own = f"rem.{kind.name}" if is_remainder else op
            return data.made(apply(own, data.exactly(a, kind), data.exactly(b, kind)), kind)
        if b == mask and kind.kind == "int":
            data.notes.add(DIVISORS)
        if kind.kind == "uint" and not b & (b - 1):
            return (
                arithmetic.signless("and", kind)(a, b - 1)
                if is_remainder
                else arithmetic.shift("shr", kind)(a, b.bit_length() - 1)
            )
        own = data.without_sign(kind, a, b)
        if own is not kind:
            return quotient(arithmetic, own, is_remainder=is_remainder)(a, b)
        whole = _by_number(data, op, data.exactly(a, kind), b, kind)
        return subtract(a, multiply(whole, b)) if is_remainder else whole

    return run


def _by_number(data: Data, op: str, term: Term, number: int, kind: DType) -> Term:
    """A quotient by a constant, in the narrowest type of the dividend that holds it, too."""
    divisor = signed(number, kind.bits) if kind.kind == "int" else number
    words = term.op.split(".")
    if words[0] == "cast" and not (own := BY_NAME[words[1]]).is_float and is_exact(own, kind):
        low, high = integer_range(own)
        if low <= divisor <= high and divisor != -1:
            return data.converted(
                _by_number(data, op.replace(kind.name, own.name), term.args[0], divisor & (1 << own.bits) - 1, own), kind
            )
    return data.made(apply(op, term, constant(divisor)), kind)
