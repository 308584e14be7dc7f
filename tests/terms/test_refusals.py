"""Refusals of terms, conversions and canonical forms: each branch alone, and the laws next to it that still hold."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.terms.products import sum_of_products

from warploom.core import SCALARS, UserError, bf16, f16, f32, f64, i8, i16, i32, i64, integer_range, to_numpy, u8, u16, u32
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
    partial,
    symbols,
    zero_array,
)
from warploom.terms.arrays import as_terms
from warploom.terms.casts import cast_types, converted, held_number, is_exact, undone
from warploom.terms.products import ProductReader
from warploom.terms.term import TermError, strict_comparisons

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


def test_words_are_converted_as_numpy_does() -> None:
    """Source: NumPy, whose conversions between integers are those of C."""
    words = [t for t in SCALARS if not t.is_float]
    for source, target in itertools.product(words, words):
        low, high = integer_range(source)
        edges = {0, 1, -1, 127, 128, 255, 256, 2**15, 2**31, 2**32 - 1, low, low + 1, high, high - 1}
        for value in sorted(v for v in edges if low <= v <= high):
            expected = int(np.array([value], to_numpy(source)).astype(to_numpy(target))[0])
            assert converted(value, source, target) == expected
            assert held_number(value, target).data[0] == expected


def test_which_types_hold_which() -> None:
    """All values of the small types are tried; of the wide ones those at the ends."""
    for source, target in itertools.product(SCALARS, SCALARS):
        if bf16 in (source, target) or source.is_float:
            continue
        low, high = integer_range(source)
        values = [v for v in (low, low + 1, high, high - 1, 2047, 2049, 2**24 + 1, 2**53 + 1) if low <= v <= high]
        with np.errstate(over="ignore"):
            kept = [np.array([v], to_numpy(source)).astype(to_numpy(target))[0] for v in values]
        holds = all(np.isfinite(k) and Fraction(k.item()) == v for v, k in zip(values, kept, strict=True))
        if target.name != "f16":  # never said to hold integers
            assert is_exact(source, target) is holds, (source, target)


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
        (apply("mystery", a), i32), (a / constant(0), i32), (a / constant(0), f32), (a // constant(0), i32),
        (a % constant(0), i32), (a // constant(2), f32), (constant(-(2**31)) // constant(-1), i32),
        (a << constant(300), i32), (apply("~", a, b), i32),
        (convert(a + b, f32, bf16), f32), (constant(float("inf")) + a, f32),
    ],
)  # fmt: skip
def test_terms_without_a_known_value(term: Term, dtype) -> None:
    assert evaluate([term], dtype, lambda _: 3, casts=True) is None


def test_values() -> None:
    numbers = {a: 12, b: 10}
    word = atom("w", (0,), 2)
    assert evaluate([word.y], i32, {word.y: 7}.__getitem__) == [7]
    assert evaluate([component(pack(a, b), 1)], i32, numbers.__getitem__) == [10]
    for term, value in [(a & b, 8), (a | b, 14), (a ^ b, 6), (~a, -13), (a << 2, 48), (a >> 2, 3), (-a, -12), (a - b, 2)]:
        assert evaluate([term], i32, numbers.__getitem__) == [value], term
    assert evaluate([minimum(a, b), maximum(a, b), a * b], i32, numbers.__getitem__) == [10, 12, 120]
    assert evaluate([a / b], f32, numbers.__getitem__) == [Fraction(6, 5)]
    signed = {a: -12, b: 10}
    assert evaluate([a / b, a // b, a % b], i32, signed.__getitem__) == [-1, -2, 8]
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


def test_what_is_no_element() -> None:
    cells = zero_array("y", (3,))
    with pytest.raises(TypeError, match="expected one number for an element of y, got an array of shape"):
        cells[0] = np.array([1, 2])
    cells.view(np.ndarray)[1] = "text"
    with pytest.raises(UserError, match="expected numbers in y, got str at"):
        as_terms(cells)


def test_sums_with_something_else_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant among the elements; and products where single elements are asked for, whoever let them through."""
    assert sum_of_products(minimum(a, maximum(b, c)), INT, "min", "max")
    with pytest.raises(NotSumOfProductsError):
        sum_of_products(minimum(a, maximum(b, constant(3))), INT, "min", "max")
    reader = ProductReader(INT)
    monkeypatch.setattr(reader, "_outer", lambda *given: [((a, b), 1)])
    assert reader.read(a, "+", "*") == {(a, b): 1}
    with pytest.raises(NotSumOfProductsError):
        reader.read(a, "+")


def test_indices_and_components_that_python_takes_otherwise() -> None:
    x, vectors = symbols("x", (4,)), symbols("v", (4,), 2)
    for index in (True, np.True_):
        with pytest.raises(IndexError, match="expected an integer as index of x, got True"):
            x[index]
    with pytest.raises(TypeError, match="expected a number or a term, got str"):
        vectors[0].x = "text"
    element = vectors[0]
    with pytest.raises(TermError, match=r"expected `a\[i\]\.x = \.\.\.` as target, got a component of a vector in a variable"):
        element.x = 1
    vectors[0].x = 1
    assert component(as_terms(vectors)[0], 0) is constant(1)


def test_a_fraction_is_no_integer() -> None:
    assert evaluate([constant(2.5)], i32, lambda _: 3) is None
    assert evaluate([constant(2.5)], f32, lambda _: 3) == [Fraction(5, 2)]


def test_an_operand_without_a_value_is_not_seen_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    assert partial._is_inside_somewhere("/", a, f32) is True
    monkeypatch.setattr(partial, "evaluate", lambda *_: None)
    assert partial._is_inside_somewhere("/", a, f32) is False


def test_rounded_quotients_of_reals() -> None:
    with pytest.raises(TermError, match="expected integers for `//`, got floats"), strict_comparisons(only_floats=True):
        _ = a // b
