"""Costs of the compositions of the paper's Table 3 at a size: for comparison with what the search finds, which never sees them.

The table gives shapes without constants. Where a shape leaves them open, its cost here is the least that any constants allow,
whether or not these make a transpose. Where the third step is to be `i` but m and n have a common divisor, none do: the second
step, (j * m + i) mod n, is no permutation of j.
Source: Swizzle Inventor, section 8, Table 3.
"""

from __future__ import annotations

import math

from warploom.ir.swizzle import Composition, Fan, Primitive, Rot, Window, core_cost, divide_cost, scale_cost


def table_cost(m: int, n: int) -> int | None:
    """Cost of Table 3's three steps for a column-row-column transpose of m by n; None where they cannot be one."""
    if m == 1 or n == 1:
        return 0
    if math.gcd(m, n) == 1:
        return _coprime(m, n)
    if n % m == 0:
        return None
    turn = _turn(m)
    if m % n == 0:
        # rot o fan o rot: the two remainders stay apart, or one rot would do.
        return turn + _dividing_fan(m) + 1 + _turn(n) + turn
    switch = scale_cost(m, n, first=False) + divide_cost(n)
    return _dividing_fan(m) + 1 + turn + switch + turn + turn


def _turn(n: int) -> int:
    """The cheapest rotation by a parameter: one addition, one remainder. A coprime fan beside it costs at least one more."""
    return 1 + divide_cost(n)


def _dividing_fan(n: int) -> int:
    """The cheapest fan that is not coprime; those that are could join the rotation."""
    window = Window(n, 1, n)
    return min((core_cost(Fan(n, f), window, 1) for f in range(2, n) if math.gcd(f, n) > 1), default=divide_cost(n))


def _coprime(m: int, n: int) -> int:
    """Exact: with the third step `i` the first two are fixed (equation of the elements' places mod m and mod n)."""
    inverse = pow(n, -1, m)
    first: tuple[Primitive, ...] = (Rot(m, -inverse % m), Fan(m, inverse))
    second: tuple[Primitive, ...] = (Rot(n, 1), Fan(n, m % n))
    if inverse == 1:
        first = first[:1]
    if m % n == 1:
        second = second[:1]
    return Composition("i", first).cost(m, n) + Composition("j", second).cost(m, n)
