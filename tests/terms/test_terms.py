"""Terms: interning, operators, errors, text."""

import contextlib
import functools
import math
import random
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from warploom.core import i32
from warploom.terms import (
    NormalForm,
    Normaliser,
    TermError,
    algebra_for,
    apply,
    atom,
    component,
    constant,
    form_text,
    maximum,
    minimum,
    pack,
    strict_comparisons,
    symbols,
    term_text,
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
        (lambda: a**2, r"^`\*\*` of data"),
        (lambda: float(a), r"^expected a known number.*wl\.cast"),
        (lambda: math.pow(a, 2.0), r"functions of `math`.*`x \* x`"),
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


def test_components_in_order():
    items = [atom("v", (n,)) for n in range(4)]
    packed, whole = pack(*items), atom("w", (0,), 4)
    assert [packed.x, packed.y, packed.z, packed.w] == items
    assert [whole.x, whole.y, whole.z, whole.w] == [component(whole, n) for n in range(4)]
    assert pack(whole.x, whole.y, whole.z, whole.w) is whole
    assert pack(whole.x, whole.y, whole.z, items[0]).op == pack(whole.x, items[0], whole.z, whole.w).op == "pack"


def test_inside_of_users_code_a_second_time_is_still_inside():
    with pytest.raises(TermError, match="set or dict"), strict_comparisons():
        with strict_comparisons():
            pass
        _ = {a}
    assert len({a, b}) == 2


def test_text_means_the_term():
    """Python itself reads it."""
    chance = random.Random(1)

    def made(depth: int) -> tuple[Any, int]:
        if depth == 0 or chance.random() < 0.15:
            n = chance.randrange(3)
            return (atom("x", (n,)), VALUES[n]) if chance.random() < 0.7 else (constant(n - 1), n - 1)
        op = chance.choice(["+", "-", "*", "&", "|", "^", "<<", ">>", "neg", "~", "min", "max"])
        (left, p), (right, q) = made(depth - 1), made(depth - 1)
        match op:
            case "neg" | "~":
                return apply(op, left), -p if op == "neg" else ~p
            case "<<" | ">>":
                return apply(op, left, 3), p << 3 if op == "<<" else p >> 3
            case "min" | "max":
                return apply(op, left, right), (min if op == "min" else max)(p, q)
            case _:
                return apply(op, left, right), eval(f"p {op} q", {"p": p, "q": q})

    VALUES = [5, -7, 12]
    for _ in range(300):
        term, value = made(4)
        if term.op != "constant":
            assert eval(str(term), {"x": VALUES, "min": min, "max": max}) == value, term


def test_long_text_says_how_much_is_left_out():
    total = sum((atom("x", (n,)) for n in range(1, 15)), start=atom("x", (0,)))
    assert term_text(total, 13).endswith("x[11] + x[12] + ... (2 more)")
    assert "more" not in term_text(total, 15)
    assert term_text(apply("f", a, b, c), 2) == "f(x[0], x[1], ... (1 more))"


@pytest.mark.parametrize("op", ["+", "^", "|", "min"])
def test_texts_beside_each_other_begin_with_what_differs(op):
    words = Normaliser(algebra_for(i32))
    whole = [atom("x", (n,)) for n in range(40)]
    one, other = (functools.reduce(lambda p, q: apply(op, p, q), whole[:missing] + whole[missing + 1 :]) for missing in (30, 35))
    one, other = words.normal(one), words.normal(other)
    assert isinstance(one, NormalForm) and isinstance(other, NormalForm)
    first, second = form_text(one, beside=other), form_text(other, beside=one)
    assert re.search(r"x\[\d+\]", first).group() == "x[35]" and re.search(r"x\[\d+\]", second).group() == "x[30]"
    assert first.count("x[35]") == 1 and "(27 more)" in first
    assert form_text(one, 50, beside=other) == form_text(one, 50), "nothing is left out, so that the reading order stays"


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
