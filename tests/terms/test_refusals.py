"""What terms, conversions and canonical forms say no to: each branch alone, and the laws next to it that still hold."""

from fractions import Fraction

import numpy as np
import pytest

from warploom.core import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32
from warploom.terms import (
    Normaliser,
    NotSumOfProductsError,
    Term,
    algebra_for,
    apply,
    atom,
    component,
    constant,
    convert,
    evaluate,
    maximum,
    minimum,
    pack,
    sum_of_products,
    symbols,
    zero_array,
)
from warploom.terms.casts import cast_types, converted, undone

a, b, c, d = (atom("x", (i,)) for i in range(4))
INT, REAL, XOR, SYNTACTIC = algebra_for(i32), algebra_for(f32), algebra_for(u32, "xor/and"), algebra_for(f32, "commutative")


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300, i32, u8, 44), (200, i32, i8, -56), (127, i32, i8, 127), (128, i32, i8, -128), (-1, i32, u16, 65535),
        (Fraction(5, 2), f32, i32, 2), (Fraction(-5, 2), f32, i32, -2), (-1, f32, u8, None), (255, f32, u8, 255),
        (256, f32, u8, None), (-128, f32, i8, -128), (-129, f32, i8, None), (1 << 24, i32, f32, 1 << 24),
        ((1 << 24) + 1, i32, f32, 1 << 24), (Fraction(1, 10), f32, f32, None), (1, i32, bf16, None),
        (Fraction(1, 2), f64, f16, Fraction(1, 2)), ((1 << 60) + 1, i64, f64, None),
    ],
)  # fmt: skip
def test_numbers_in_another_type(value: int, source, target, expected: int | None) -> None:
    """Source: C++ conversions between integers (modulo 2^n) and CUDA's rounding to nearest even; None where we do not say."""
    assert converted(value, source, target) == expected


def test_only_conversions_have_types_of_a_conversion() -> None:
    assert cast_types(convert(a + b, i32, u8)) == (i32, u8)
    assert cast_types(a + b) is None


def test_what_a_conversion_gives_back() -> None:
    types = {"x": i16}
    there = apply("cast.i16.i32", a)
    assert undone(there, i32, i16, types) is a
    assert undone(a + b, i32, i16, types) is None  # no element
    assert undone(atom("y", (0,)), i32, i16, types) is None  # of an array without a type
    assert undone(apply("cast.i16.i32", a), u32, i16, types) is None  # the inner conversion ends in another type
    assert undone(apply("cast.i16.i8", a), i8, i16, types) is None  # eight bits do not hold it


@pytest.mark.parametrize(
    ("term", "dtype"),
    [
        (apply("mystery", a), i32), (a / b, i32), (a / constant(0), f32), (a << constant(300), i32), (apply("~", a, b), i32),
        (convert(a + b, f32, bf16), f32), (constant(float("inf")) + a, f32),
    ],
)  # fmt: skip
def test_terms_without_a_known_value(term: Term, dtype) -> None:
    assert evaluate([term], dtype, lambda _: 3, casts=True) is None


def test_values() -> None:
    numbers = {a: 12, b: 10}
    for term, value in [(a & b, 8), (a | b, 14), (a ^ b, 6), (~a, -13), (a << 2, 48), (a >> 2, 3), (-a, -12), (a - b, 2)]:
        assert evaluate([term], i32, numbers.__getitem__) == [value], term
    assert evaluate([minimum(a, b), maximum(a, b), a * b], i32, numbers.__getitem__) == [10, 12, 120]
    assert evaluate([a / b], f32, numbers.__getitem__) == [Fraction(6, 5)]
    assert evaluate([convert(a + b, i32, u8)], i32, numbers.__getitem__) is None  # casts not asked for


def test_a_component_of_an_operation_is_the_operation_of_components() -> None:
    v, w = atom("v", (0,), 2), atom("w", (0,), 2)
    numbers = {component(v, 0): 1, component(v, 1): 2, component(w, 0): 30, component(w, 1): 40}
    assert evaluate([component(v + w, 0), component(v + w, 1)], i32, numbers.__getitem__) == [31, 42]


@pytest.mark.parametrize(
    ("term", "algebra", "outer", "inner"),
    [
        ((a & 0xFF) ^ b, INT, "^", "&"), (a ^ b, XOR, "&", None), (a | b, INT, "&", None), ((a & b) ^ c, XOR, "^", None),
        (minimum(a, constant(3)), INT, "min", None), (maximum(minimum(a, b), c), INT, "max", None), (a * b + c, INT, "+", "&"),
        (minimum(a + b, c), algebra_for(f32, "min-plus"), "min", None), (a * constant(3), SYNTACTIC, "*", None),
    ],
)  # fmt: skip
def test_no_sums_of_products(term: Term, algebra, outer: str, inner: str | None) -> None:
    with pytest.raises(NotSumOfProductsError, match=r"^expected "):
        sum_of_products(term, algebra, outer, inner)


def test_constants_of_a_lattice_are_compared() -> None:
    canonical = Normaliser(INT).canonical
    assert canonical(minimum(constant(3), constant(5))) is canonical(constant(3))
    assert canonical(minimum(a, minimum(constant(5), constant(3)))) is canonical(minimum(a, constant(3)))
    assert canonical(minimum(constant(5), constant(3))) is not canonical(constant(5))
    assert canonical(minimum(a, maximum(a, b))) is canonical(a)
    assert canonical(maximum(a, maximum(constant(2), constant(7)))) is canonical(maximum(constant(7), a))


def test_shifts_are_factors_inside_the_word_only() -> None:
    canonical = Normaliser(INT).canonical
    assert canonical(a << constant(31)) is canonical(a * (1 << 31))
    for count in (32, -1):
        shifted = apply("<<", a + b, constant(count))
        assert canonical(shifted) is not canonical(a * (1 << 32) + b * (1 << 32))
        assert "<<" in str(canonical(shifted))


def test_numbers_that_no_algebra_holds_stay_opaque() -> None:
    infinite = Normaliser(REAL).canonical(a * constant(float("inf")))
    assert infinite is not Normaliser(REAL).canonical(a)
    assert "inf" in str(infinite)


def test_constants_are_numbers() -> None:
    from warploom.terms import TermError

    with pytest.raises(TermError, match="expected a number, got str"):
        constant("3")


def test_arrays_say_what_is_wrong() -> None:
    x, y = symbols("x", (4, 2)), zero_array("y", (4,))
    with pytest.raises(IndexError, match=r"^expected 2 indices of x, got 3"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match=r"^expected no access to z, whose extent 0 is 0"):
        symbols("z", (0,))[0]
    with pytest.raises(TypeError, match=r"^expected numbers or terms, got str"):
        y[0:2] = ["a", "b"]
    y[0:2] = [a, 3]
    assert y[0] is a and y[1] is constant(3)
    assert np.asarray(x[..., 0]).shape == (4,)


def test_packs_of_components() -> None:
    v = atom("v", (0,), 2)
    assert pack(component(v, 0), component(v, 1)) is v
    assert pack(component(v, 1), component(v, 0)) is not v
    assert component(pack(a, b), 1) is b
