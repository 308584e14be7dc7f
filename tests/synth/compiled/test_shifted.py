"""Of terms that are others of elements further on one is compared; whatever differs otherwise is compared, too."""

from __future__ import annotations

import pytest

from warploom.synth.compiled.shifted import Shifts
from warploom.terms import GREATEST, Term, apply, atom, constant

Z = atom("z", ())


def x(place: int, *step: int) -> Term:
    return atom("x", (place, *step))


def y(place: int) -> Term:
    return atom("y", (place,))


def moves(one: Term, other: Term, sums: dict[Term, Term] | None = None) -> object:
    return Shifts(sums or {}).between(one, other)


def test_each_array_moves_by_its_own_places() -> None:
    one = apply("+", apply("*", constant(2), x(3)), apply("max", y(7), Z))
    assert moves(one, apply("+", apply("*", constant(2), x(5)), apply("max", y(7), Z))) == {"x": 2, "y": 0}
    assert moves(apply("ex2", apply("cast.f16.f32", x(0, 4))), apply("ex2", apply("cast.f16.f32", x(1, 4)))) == {"x": 1}
    assert moves(constant(1), constant(1)) == {} == moves(Z, Z)


def test_operands_may_stand_in_any_order() -> None:
    one = apply("max", apply("max", x(0), x(4)), apply("*", y(1), x(8)))
    other = apply("max", apply("*", x(9), y(5)), apply("max", x(5), x(1)))
    assert moves(one, other) == {"x": 1, "y": 4}
    assert moves(apply("+", apply("+", x(0), x(4)), x(8)), apply("+", x(3), apply("+", x(11), x(7)))) == {"x": 3}
    assert moves(apply("max", x(0), apply("max", x(0), x(1))), apply("max", x(3), x(2))) == {"x": 2}
    assert moves(apply("+", x(0), apply("+", x(0), x(1))), apply("+", x(3), apply("+", x(2), x(3)))) is None


PAIRS = {
    "one array by two numbers": (apply("+", x(0), x(1)), apply("+", x(1), x(3))),
    "the same elements once more": (apply("+", x(0), x(1)), apply("+", x(0), x(2))),
    "an array that stays in another part": (apply("*", apply("+", x(0), Z), x(1)), apply("*", apply("+", x(0), Z), x(2))),
    "another array": (x(0), y(0)),
    "another operation": (apply("+", x(0), y(0)), apply("-", x(0), y(0))),
    "operands in another order": (apply("-", x(0), y(0)), apply("-", y(0), x(0))),
    "another number": (apply("*", x(0), constant(2)), apply("*", x(1), constant(3))),
    "another scalar": (Z, atom("w", ())),
    "an element and a number": (x(0), constant(0)),
    "another step": (x(0, 4), x(1, 8)),
    "a step and none": (x(0, 4), x(1)),
    "another width": (x(0), atom("x", (1,), 2)),
    "another conversion": (apply("cast.f16.f32", x(0)), apply("cast.bf16.f32", x(1))),
    "an element that is read at an index from data": (apply("read.x.0.1", y(0)), apply("read.x.0.1", y(1))),
    "a function of which nothing is known": (apply("call", x(0)), apply("call", x(1))),
    "symbols for something else": (atom("%name", (0,)), atom("%name", (1,))),
    "one such symbol": (atom("%name", (0,)), atom("%name", (0,))),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_other_terms_are_no_such_terms(pair: str) -> None:
    assert moves(*PAIRS[pair]) is None


def test_symbols_are_what_their_steps_are() -> None:
    one, other, third = (atom("%sum", (n,)) for n in range(3))
    steps = {one: apply(GREATEST, x(0, 4)), other: apply(GREATEST, x(2, 4)), third: x(2, 4)}
    assert moves(apply("+", one, x(9)), apply("+", other, x(11)), steps) == {"x": 2}
    assert moves(apply("+", one, x(9)), apply("+", other, x(9)), steps) is None
    assert moves(one, third, steps) is None and moves(one, x(0), steps) is None


def test_both_sides_move_alike_or_are_compared() -> None:
    shifts = Shifts({})
    assert shifts.is_first((x(0), apply("+", x(0), y(0))))
    assert not shifts.is_first((x(3), apply("+", x(3), y(1))))
    assert shifts.is_first((x(3), apply("+", x(4), y(1))))
    assert shifts.is_first((y(3), apply("+", x(3), y(1))))
