"""Quotients that round down: which laws hold of them, and where none is used."""

from __future__ import annotations

import pytest

from warploom.core import i8, i16, i32, i64, u8, u32
from warploom.terms import Normaliser, Term, algebra_for, apply, atom, component, constant
from warploom.terms.casts import narrow_quotient

X, Y = atom("x", (0,)), atom("y", (0,))
TYPES = {"x": i8, "y": i16}


@pytest.mark.parametrize(("dtype", "divisor"), [(i32, 1), (i32, 8), (u32, 1 << 31), (i8, 64)])
def test_powers_of_two_are_shifts_and_masks(dtype, divisor: int) -> None:
    normaliser = Normaliser(algebra_for(dtype))
    assert normaliser.canonical(X // divisor) is normaliser.canonical(X >> (divisor.bit_length() - 1))
    assert normaliser.canonical(X % divisor) is normaliser.canonical(X & (divisor - 1))


@pytest.mark.parametrize(("dtype", "divisor"), [(i32, 3), (i32, -8), (i32, 0), (i8, 128), (i32, 1 << 31)])
def test_other_divisors_are_not(dtype, divisor: int) -> None:
    assert Normaliser(algebra_for(dtype)).canonical(X % divisor).op == "%"


def test_laws_that_were_not_declared_are_not_used() -> None:
    assert Normaliser(algebra_for(i32, "syntactic")).canonical(X % 8).op == "%"


def test_components_move_inside() -> None:
    v = atom("v", (0,), 2)
    assert Normaliser(algebra_for(i32)).canonical(component(v // 3, 1)) is component(v, 1) // 3


def test_a_quotient_of_narrow_values_is_narrow() -> None:
    for op in ("/", "//", "%"):
        assert narrow_quotient(apply(op, X, 3), i32, i8, TYPES) is apply(op, X, 3)
    there = apply("cast.i8.i32", X + 1)
    assert narrow_quotient(there // X, i32, i8, TYPES) is (X + 1) // X
    narrow, wide = Normaliser(algebra_for(i8), TYPES), apply("cast.i32.i8", X // 3)
    assert narrow.canonical(wide) is narrow.canonical(X // 3)


@pytest.mark.parametrize(
    ("term", "source", "target"),
    [
        (X + 3, i32, i8),  # no quotient
        (X // 3, i8, i16),  # of fewer bits than the result
        (X // 3, i32, u8),  # i8 is no u8
        (X // 300, i32, i8),  # a number of more bits
        (Y // 3, i32, i8),  # an element of more bits
        (atom("z", (0,)) // 3, i32, i8),  # of an array without a type
        ((X + 1) // 3, i32, i8),  # computed in i32
        (apply("cast.i16.i32", Y) // 3, i32, i8),
        (apply("cast.i8.i64", X) // 3, i32, i8),
    ],
)
def test_other_quotients_stay_wide(term: Term, source, target) -> None:
    assert narrow_quotient(term, source, target, TYPES) is None


def test_numbers_fold_nowhere() -> None:
    assert Normaliser(algebra_for(i64)).canonical(constant(7) // X).op == "//"
