"""Expressions in other languages, by the text."""

import math

import pytest

from warploom.core import UnsupportedError
from warploom.scan import expression as ex
from warploom.scan.emit.dialect import NUMBA, NUMPY, TRITON, C, Dialect, Types
from warploom.scan.emit.printer import Printer, repeated

X, Y, P = ex.variable("x", ex.INT), ex.variable("y", ex.INT), ex.variable("p", ex.BOOL)
R, T = ex.variable("r", ex.REAL), ex.variable("t", ex.TEXT)
NAMES = {X: "x", Y: "y", P: "p", R: "r", T: "t"}


def printed(expr: ex.Expr, dialect: Dialect, infinite: dict[ex.Expr, tuple[bool, bool]] | None = None) -> str:
    return Printer(dialect, Types(), NAMES, infinite or {}).text(expr)


def test_sums_products_and_branches() -> None:
    expr = ex.select(P, ex.maximum(X, ex.add(Y, ex.constant(1))), ex.subtract(ex.multiply(X, Y), ex.constant(3)))
    assert printed(expr, C) == "p ? largest<int>(x, y + 1) : x * y - 3"
    assert printed(expr, NUMBA) == "max(x, y + 1) if p else x * y - 3"
    assert printed(expr, TRITON) == "tl.where(p, tl.maximum(x, y + 1), x * y - 3)"
    assert printed(expr, NUMPY) == "np.where(p, np.maximum(x, y + 1), x * y - 3)"


def test_logic_is_parenthesised_as_each_language_needs() -> None:
    expr = ex.both(ex.negation(P), ex.at_least(X, ex.constant(2)))
    assert sorted(printed(expr, C).split(" && ")) == ["!p", "x >= 2"]
    assert sorted(printed(expr, NUMPY).split(" & ")) == ["(x >= 2)", "~p"]
    bits = ex.at_least(ex.bitwise("bitand", X, Y), ex.constant(1))
    assert printed(bits, C) == "(x & y) >= 1"


def test_whole_number_infinities_are_guarded_in_sums() -> None:
    expr = ex.add(X, Y)
    assert printed(expr, C) == "x + y"
    assert printed(expr, C, {X: (True, False)}) == "x == INT_BELOW ? INT_BELOW : x + y"
    assert printed(ex.subtract(Y, X), C, {X: (True, False)}) == "x == INT_BELOW ? INT_ABOVE : y - x"
    assert printed(expr, NUMPY, {X: (True, False)}) == "np.where((x == INT_BELOW), INT_BELOW, x + y)"
    assert printed(ex.add(R, ex.constant(1)), C, {R: (True, False)}) == "r + 1.0f"
    with pytest.raises(UnsupportedError, match="a product with what may be infinite"):
        printed(ex.multiply(X, Y), C, {X: (True, False)})


def test_rounding_down_and_wide_remainders() -> None:
    expr = ex.remainder(ex.multiply(X, Y), 1000000007)
    assert printed(expr, C) == "floor_remainder<long long>((long long)x * (long long)y, 1000000007LL)"
    assert printed(ex.floor_quotient(X, 3), NUMPY) == "x // 3"


def test_kinds_meet() -> None:
    assert printed(ex.quotient(X, Y), C) == "(float)x / (float)y"
    assert printed(ex.add(R, X), C) == "r + (float)x"
    assert printed(ex.select(P, ex.constant(-math.inf), R), C) == "p ? (-INFINITY_F) : r"


def test_what_a_language_lacks_is_named() -> None:
    with pytest.raises(UnsupportedError, match="triton can express, got gcd"):
        printed(ex.greatest_common_divisor(X, Y), TRITON)
    with pytest.raises(UnsupportedError, match="the text 'ab'"):
        printed(ex.equal(T, ex.constant("ab")), C)


def test_repeated_expressions() -> None:
    wide = ex.maximum(ex.add(X, Y), ex.constant(0))
    assert repeated([ex.add(wide, X), ex.add(wide, Y)]) == [wide]


def test_a_guarded_quotient_divides_by_no_zero_in_any_language() -> None:
    expr = ex.quotient(R, X, is_guarded=True)
    assert printed(expr, C) == "x != 0 ? r / (float)x : 0.0f"
    assert printed(expr, NUMBA) == "r / float32(x) if x != 0 else 0.0"
    assert printed(expr, TRITON).startswith("tl.where((x != 0), r / ")
    assert printed(expr, NUMPY).startswith("np.where((x != 0), r / ")
    assert printed(ex.quotient(R, X), C) == "r / (float)x"
