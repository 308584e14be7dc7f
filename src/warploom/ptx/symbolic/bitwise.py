"""Bit operations, shifts and divisions of terms, as sums wherever they are sums.

x & mask, mask of one or two runs of ones  ->  zext(trunc(x, high end)) - zext(trunc(x, low end))
x | y, no common bit possible              ->  x + y
x << c                                     ->  2^c x
x >> c                                     ->  zext(high(x)) or sext(high(x))
x % d                                      ->  x - d (x / d)
"""

from __future__ import annotations

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.comparisons import less
from warploom.ptx.symbolic.term import Term

_RUNS = 3
"""An `and` with at most so many runs of ones is a sum."""


def bit_and(algebra: Algebra, x: Term, y: Term) -> Term:
    if x.width == 1:
        return algebra.conjunction(x, y)
    if x is y:
        return x
    for mask, other in ((x, y), (y, x)):
        if mask.value is not None:
            runs = _runs(mask.value)
            if len(runs) <= _RUNS:
                return _masked(algebra, other, runs)
            return algebra.table.make("and", x.width, (other, mask))
    first, second = sorted((x, y), key=lambda t: t.serial)
    return algebra.table.make("and", x.width, (first, second))


def _runs(mask: int) -> list[tuple[int, int]]:
    """Maximal runs [low, high) of ones."""
    found: list[tuple[int, int]] = []
    at = 0
    while mask >> at:
        at += ((mask >> at) & -(mask >> at)).bit_length() - 1
        ones = mask >> at
        length = ((ones + 1) & ~ones).bit_length() - 1
        found.append((at, at + length))
        at += length
    return found


def _masked(algebra: Algebra, x: Term, runs: list[tuple[int, int]]) -> Term:
    result = algebra.const(0, x.width)
    for low, high in runs:
        upper = algebra.zext(algebra.trunc(x, high), x.width)
        result = algebra.add(result, upper)
        if low:
            result = algebra.sub(result, algebra.zext(algebra.trunc(x, low), x.width))
    return result


def _disjoint(algebra: Algebra, x: Term, y: Term) -> bool:
    for low, high in ((x, y), (y, x)):
        zeros = algebra.facts.trailing_zeros(high)
        if zeros and algebra.facts.unsigned(low)[1] >> zeros == 0:
            return True
    return False


def bit_or(algebra: Algebra, x: Term, y: Term) -> Term:
    if x.width == 1:
        return algebra.disjunction(x, y)
    if x is y:
        return x
    for mask, other in ((x, y), (y, x)):
        if mask.value is not None:  # other | c = (other & ~c) + c
            return algebra.add(bit_and(algebra, other, algebra.invert(mask)), mask)
    if _disjoint(algebra, x, y):
        return algebra.add(x, y)
    first, second = sorted((x, y), key=lambda t: t.serial)
    return algebra.table.make("or", x.width, (first, second))


def bit_xor(algebra: Algebra, x: Term, y: Term) -> Term:
    if x.width == 1:
        return algebra.add(x, y)
    if x is y:
        return algebra.const(0, x.width)
    for mask, other in ((x, y), (y, x)):
        if mask.value is not None:  # other ^ c = other + c - 2 (other & c)
            if mask.value == (1 << x.width) - 1:
                return algebra.invert(other)
            if len(_runs(mask.value)) > _RUNS:
                return algebra.table.make("xor", x.width, (other, mask))
            both = bit_and(algebra, other, mask)
            return algebra.add(algebra.add(other, mask), both, -2)
    if _disjoint(algebra, x, y):
        return algebra.add(x, y)
    first, second = sorted((x, y), key=lambda t: t.serial)
    return algebra.table.make("xor", x.width, (first, second))


def bit_not(algebra: Algebra, x: Term) -> Term:
    return algebra.invert(x)


def shift_left(algebra: Algebra, x: Term, amount: Term) -> Term:
    """Amounts from the width on give 0 (PTX ISA: shl)."""
    if amount.value is not None:
        return algebra.scaled(x, 1 << amount.value) if amount.value < x.width else algebra.const(0, x.width)
    return algebra.table.make("shl", x.width, (x, _amount(algebra, x, amount)))


def shift_right(algebra: Algebra, x: Term, amount: Term, *, is_signed: bool) -> Term:
    """Amounts from the width on give 0, or the sign in every bit (PTX ISA: shr)."""
    if amount.value is not None:
        if amount.value == 0:
            return x
        if is_signed:
            return algebra.sext(algebra.high(x, min(amount.value, x.width - 1)), x.width)
        if amount.value >= x.width:
            return algebra.const(0, x.width)
        return algebra.zext(algebra.high(x, amount.value), x.width)
    return algebra.table.make("ashr" if is_signed else "lshr", x.width, (x, _amount(algebra, x, amount)))


def _amount(algebra: Algebra, x: Term, amount: Term) -> Term:
    """Amounts are as wide as what they shift, and at most its width."""
    if amount.width > x.width:
        bound = algebra.const(x.width, amount.width)
        amount = algebra.select(less(algebra, amount, bound, is_signed=False), amount, bound)
        return algebra.trunc(amount, x.width)
    return algebra.zext(amount, x.width)


def bit_field(algebra: Algebra, x: Term, start: Term, length: Term, *, is_signed: bool) -> Term | None:
    """`bfe` with constant position and length (their lowest 8 bits count); None for others."""
    if start.value is None or length.value is None:
        return None
    low, count = start.value & 0xFF, length.value & 0xFF
    if count == 0:
        return algebra.const(0, x.width)
    if not is_signed:
        if low >= x.width:
            return algebra.const(0, x.width)
        return algebra.zext(algebra.high(algebra.trunc(x, min(low + count, x.width)), low), x.width)
    if low >= x.width:
        low = x.width - 1
    return algebra.sext(algebra.high(algebra.trunc(x, min(low + count, x.width)), low), x.width)


def bit_insert(algebra: Algebra, x: Term, into: Term, start: Term, length: Term) -> Term | None:
    """`bfi` with constant position and length; None for others."""
    if start.value is None or length.value is None:
        return None
    low, count = start.value & 0xFF, length.value & 0xFF
    if count == 0 or low >= into.width:
        return into
    mask = ((1 << min(count, into.width - low)) - 1) << low
    kept = bit_and(algebra, into, algebra.const(~mask, into.width))
    placed = bit_and(algebra, algebra.scaled(x, 1 << low), algebra.const(mask, into.width))
    return algebra.add(kept, placed)


def divide(algebra: Algebra, x: Term, y: Term, *, is_signed: bool) -> Term:
    """Quotient rounded towards zero; division by zero is an uninterpreted value, as the machine's is unspecified."""
    if is_signed and algebra.facts.signed(x)[0] >= 0 and algebra.facts.signed(y)[0] > 0:
        is_signed = False
    divisor = y.value
    if divisor is None or divisor == 0:
        return algebra.table.make("sdiv" if is_signed else "udiv", x.width, (x, y))
    if is_signed:
        return x if divisor == 1 else algebra.table.make("sdiv", x.width, (x, y))
    if divisor & (divisor - 1) == 0:
        cut = divisor.bit_length() - 1
        return algebra.zext(algebra.high(x, cut), x.width)
    low, high = algebra.facts.unsigned(x)
    if low // divisor == high // divisor:
        return algebra.const(low // divisor, x.width)
    return algebra.table.make("udiv", x.width, (x, y))


def remainder(algebra: Algebra, x: Term, y: Term, *, is_signed: bool) -> Term:
    """x - y * (x / y); y is not 0."""
    return algebra.sub(x, algebra.mul(y, divide(algebra, x, y, is_signed=is_signed)))


def multiply_high(algebra: Algebra, x: Term, y: Term, *, is_signed: bool) -> Term:
    """The upper half of the double-width product."""
    wide = 2 * x.width
    extend = algebra.sext if is_signed else algebra.zext
    return algebra.high(algebra.mul(extend(x, wide), extend(y, wide)), x.width)
