"""Terms: interning, operators, errors, text."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest

from warploom.terms import (
    TermError,
    apply,
    atom,
    component,
    constant,
    maximum,
    minimum,
    pack,
    strict_comparisons,
    symbols,
    zero_array,
)

a, b, c = (atom("x", (i,)) for i in range(3))


def test_equal_construction_is_the_same_object():
    assert atom("x", (0,)) is a
    assert a + b is apply("+", a, b)
    assert a + b is not b + a


def test_numbers_of_different_types_stay_apart():
    numbers = [constant(v) for v in (1, True, 1.0, 0, False, 0.0, -0.0, Fraction(1))]
    assert len({id(n) for n in numbers}) == 8
    assert constant(np.int32(1)) is constant(1)
    assert constant(np.float64(1)) is constant(1.0)


def test_reflected_and_numpy_operands():
    assert 2 * a is apply("*", 2, a)
    assert 1 - a is apply("-", 1, a)
    assert np.int64(3) + a is apply("+", 3, a)
    x = symbols("x", (3,))
    assert (x + a)[1] is b + a
    assert (a * x)[1] is a * b
    assert ~a is apply("~", a) and -a is apply("neg", a)
    assert (a ^ b & c << 1 | a >> 2).op == "|"


@pytest.mark.parametrize(
    ("use", "pattern"),
    [
        (lambda: bool(a), r"^expected a condition on indices, got data \(x\[0\]\)"),
        (lambda: a < b, r"^expected a comparison of indices.*minimum\(a, b\)"),
        (lambda: a == 3, r"^expected a comparison of indices"),
        (lambda: min(a, b), r"minimum\(a, b\)"),
        (lambda: list(a), r"^expected an array, got one element"),
        (lambda: [1, 2][a], r"^expected an index, got data"),
        (lambda: a // 2, r"^`//` and `%` of data"),
        (lambda: a**2, r"^`\*\*` of data"),
        (lambda: float(a), r"^expected a known number"),
    ],
)
def test_misuse_names_the_right_form(use, pattern):
    with pytest.raises(TermError, match=pattern):
        use()


def test_equality_of_terms_is_identity_except_in_users_code():
    assert a != b
    with pytest.raises(TermError, match="comparison"), strict_comparisons():
        _ = a == b
    assert {(a, b): 1}[(a, b)] == 1


def test_users_code_makes_no_set_of_data():
    """How many differ is a function of the data."""
    with pytest.raises(TermError, match="set or dict"), strict_comparisons():
        _ = {a, b}


def test_an_error_that_users_code_caught_is_raised_in_the_end():
    with pytest.raises(TermError, match="comparison"), strict_comparisons(), contextlib.suppress(TypeError):
        _ = a < b


def test_minimum_works_on_terms_and_numbers():
    assert minimum(a, 3) is apply("min", a, 3)
    assert maximum(2, 5) == 5


def test_vectors_cancel():
    v = atom("v", (0,), 2)
    assert component(pack(a, b), 1) is b
    assert pack(v.x, v.y) is v
    assert pack(v.y, v.x) is not v
    assert pack(atom("v", (0,), 4).x, atom("v", (0,), 4).y).op == "pack"


def test_text():
    assert str(a * b + c) == "x[0] * x[1] + x[2]"
    assert str((a + b) * c - (a - b)) == "(x[0] + x[1]) * x[2] - (x[0] - x[1])"
    assert str(apply("min", a, 3)) == "min(x[0], 3)"
    assert str(-(a + b)) == "-(x[0] + x[1])"
    assert str(atom("y", (1, 2), 2).y) == "y[1, 2].y"
    long = a
    for i in range(5000):
        long = long + atom("z", (i,))
    assert str(long).endswith("+ ... (4989 more)")


def test_arrays_are_strict_about_indices():
    x = symbols("x", (4, 2))
    assert len(x) == 4 and x.shape == (4, 2) and x[1, 1] is atom("x", (1, 1))
    assert [t.data[1] for t in x[1:3, 0]] == [(1, 0), (2, 0)]
    with pytest.raises(IndexError, match=r"^expected index 0 of x in 0\.\.3, got -1"):
        x[-1, 0]
    with pytest.raises(IndexError, match=r"^expected index 1 of x in 0\.\.1, got 2"):
        x[0][0], x[0, 2]
    with pytest.raises(IndexError, match=r"does not depend on data"):
        x[a]
    y = zero_array("y", (2,))
    y[0] += 0
    assert y[0] is constant(0) and type(y[1]) is int
    with pytest.raises(TypeError, match=r"^expected a number or a term"):
        y[0] = "no"


def test_deep_terms_are_freed_without_recursion():
    t = a
    for i in range(100_000):
        t = t + atom("deep", (i,))
    del t
