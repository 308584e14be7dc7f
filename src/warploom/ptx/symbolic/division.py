"""Divisions by constants as compilers write them: a product with a magic number, and a shift."""

from __future__ import annotations

from warploom.ptx.symbolic.building import Building
from warploom.ptx.symbolic.term import Term, linear, signed


def magic_quotient(algebra: Building, x: Term, cut: int) -> Term | None:
    """high(m y) -> y / d where m is a compiler's magic number for a division by the constant d, for all y in range:
    with e = m d - 2^cut >= 0, floor(m y / 2^cut) = floor(y / d) as long as e y < 2^cut."""
    constant, parts = linear(x)
    if constant or len(parts) != 1:
        return None
    atom, coefficient = parts[0]
    pulled = signed(coefficient, x.width) >> cut
    magic = coefficient & ((1 << cut) - 1)
    most = algebra.facts.unsigned(atom)[1]
    if magic < 2 or most * magic >> x.width:
        return None
    divisor = -(-(1 << cut) // magic)
    if divisor < 2 or (magic * divisor - (1 << cut)) * most >> cut:
        return None
    inner = atom.args[0] if atom.op == "zext" else atom
    if divisor >> inner.width:
        return None
    if divisor & (divisor - 1) == 0:
        quotient = algebra.high(inner, divisor.bit_length() - 1)
    else:
        quotient = algebra.table.make("udiv", inner.width, (inner, algebra.const(divisor, inner.width)))
    width = x.width - cut
    return algebra.add(algebra.resized(quotient, width, is_signed=False), algebra.trunc(atom, width), pulled)
