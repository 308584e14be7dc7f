"""Signs of zeros (IEEE 754, 6.3): what is known of a product with a zero, and of a sum with one that is left out."""

from __future__ import annotations

from warploom.core import DType
from warploom.synth.compiled.data import Data, Value
from warploom.terms import Term, constant


def product_of_zeros(data: Data, a: Value, b: Value, kind: DType) -> int | None:
    """Bits of the product of two known numbers of which one is zero; None where one is not known, and so its sign."""
    if isinstance(a, int) and isinstance(b, int):
        return (a ^ b) & _sign(kind)
    data.dropped_zero()
    return None


def beside_zero(data: Data, zero: Value | None, value: Value, term: Term, kind: DType) -> Value:
    """The sum of a value and a zero, whose bits are known or not: the value, but for the sign of another zero.

    term: the value as a real number. A word of data, whose bits are looked at as they are, stays in a sum.
    """
    sign = _sign(kind)
    if isinstance(value, int):
        if value & ~sign:
            return value
        if not isinstance(zero, int) and value:
            data.dropped_zero()
        return value & (zero if isinstance(zero, int) else sign)
    if not isinstance(value, Term) or not data.kinds[value].is_float:
        return data.computed("+", [constant(0), term], kind)
    if zero != sign:
        data.dropped_zero()
    return value


def _sign(kind: DType) -> int:
    return 1 << (kind.bits - 1)
