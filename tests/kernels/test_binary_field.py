"""Rabin's irreducibility test against trial division, and the moduli against published ones."""

import pytest

from warploom.core import UserError
from warploom.kernels import is_irreducible, pentanomial
from warploom.kernels.reference import remainder


def test_irreducible_matches_trial_division() -> None:
    for polynomial in range(2, 1024):
        degree = polynomial.bit_length() - 1
        divisible = any(remainder(polynomial, d) == 0 for d in range(2, 1 << (degree // 2 + 1)) if d != polynomial)
        assert is_irreducible(polynomial) == (degree >= 1 and not divisible), polynomial


def test_constants_are_not_irreducible() -> None:
    assert not is_irreducible(0)
    assert not is_irreducible(1)


def test_published_moduli() -> None:
    # AES (FIPS 197) and GCM (NIST SP 800-38D); G. Seroussi, Table of Low-Weight Binary Irreducible Polynomials (1998)
    assert pentanomial(8) == (4, 3, 1)
    assert pentanomial(128) == (7, 2, 1)
    assert [pentanomial(d) for d in (32, 64, 96)] == [(7, 3, 2), (4, 3, 1), (10, 9, 6)]


def test_none_in_reach() -> None:
    with pytest.raises(UserError) as caught:
        pentanomial(96, largest_exponent=9)
    assert caught.value.diagnostics[0].code == "NO_MODULUS"
