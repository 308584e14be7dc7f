"""Irreducible polynomials over GF(2): the moduli of the finite fields GF(2^degree).

A polynomial is an integer, bit i the coefficient of x**i. Test: M. O. Rabin, Probabilistic Algorithms in Finite Fields,
SIAM J. Comput. 9 (1980), theorem 3.1.
"""

from __future__ import annotations

from functools import cache

from warploom.core import Diagnostic, UserError


@cache
def pentanomial(degree: int, largest_exponent: int = 15) -> tuple[int, int, int]:
    """Exponents a > b > c > 0 such that x**degree + x**a + x**b + x**c + 1 is irreducible, with the smallest a, then b, then c.

    (No trinomial of a degree divisible by 8 is irreducible: Swan 1962.) Raises UserError if there is none with
    a <= `largest_exponent`.
    """
    for a in range(3, min(largest_exponent, degree - 1) + 1):
        for b in range(2, a):
            for c in range(1, b):
                if is_irreducible(1 << degree | 1 << a | 1 << b | 1 << c | 1):
                    return a, b, c
    message = f"expected a degree with an irreducible pentanomial of inner exponents up to {largest_exponent}, got {degree}"
    raise UserError(Diagnostic("NO_MODULUS", message, fix="Raise largest_exponent."))


def is_irreducible(polynomial: int) -> bool:
    """Rabin's test for degree d: x**(2**d) = x, and x**(2**(d/q)) - x has no common factor with it for any prime q dividing d."""
    degree = polynomial.bit_length() - 1
    if degree < 1:
        return False
    checkpoints = {degree // q for q in _prime_factors(degree)}
    power = 2  # x ** (2 ** step)
    for step in range(1, degree + 1):
        power = _reduce(_square(power), polynomial)
        if step in checkpoints and step != degree and _gcd(power ^ 2, polynomial) != 1:
            return False
    return power == _reduce(2, polynomial)


def _square(polynomial: int) -> int:
    # Squaring over GF(2) puts a zero between neighbouring coefficients; read base 2, write base 4.
    return int(f"{polynomial:b}", 4)


def _reduce(polynomial: int, modulus: int) -> int:
    excess = polynomial.bit_length() - modulus.bit_length()
    while excess >= 0:
        polynomial ^= modulus << excess
        excess = polynomial.bit_length() - modulus.bit_length()
    return polynomial


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, _reduce(a, b)
    return a


def _prime_factors(number: int) -> set[int]:
    factors: set[int] = set()
    candidate = 2
    while number > 1:
        while number % candidate == 0:
            factors.add(candidate)
            number //= candidate
        candidate += 1
    return factors
