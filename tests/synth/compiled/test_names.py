"""Names for large terms that threads hand to each other, and one symbol for polynomials that the reals make equal."""

from __future__ import annotations

from functools import reduce

import pytest

from warploom.core import DType, f32, i32
from warploom.synth.compiled.data import Data
from warploom.synth.compiled.names import NAME, Names, is_name
from warploom.synth.compiled.renaming import SUM
from warploom.synth.compiled.sealing import Sealed
from warploom.terms import Term, algebra_for, apply, atom, constant

MOST = 9


def element(place: int, *step: int) -> Term:
    return atom("x", (place, *step))


def total(count: int, first: int = 0, *step: int) -> Term:
    """x[first] * y + x[first + 1] * y + ..."""
    products = [apply("*", element(first + k, *step), atom("y", ())) for k in range(count)]
    return reduce(lambda a, b: apply("+", a, b), products)


def names_of(data: Data) -> Names:
    def moved(term: Term, thread: int) -> Term:
        assert term is total(MOST)
        return data.made(total(MOST, 10 * thread), f32)

    return Names(data, moved)


def test_a_large_term_gets_one_name_and_is_found_again() -> None:
    data = Data()
    names = names_of(data)
    large, inside = data.made(total(MOST), f32), data.made(apply("neg", total(MOST)), f32)
    name = names.named(large)
    assert isinstance(name, Term) and is_name(name) and names.named(large) is name
    assert names.expanded(name) is large and data.kinds[name] is f32
    assert names.expanded(apply("neg", name)) is inside


@pytest.mark.parametrize("value", [3, element(0), total(2)], ids=["a number", "an element", "a small term"])
def test_what_gets_no_name(value: Term | int) -> None:
    data = Data()
    if isinstance(value, Term):
        data.made(value, f32)
    assert names_of(data).named(value) is value


def test_integers_get_no_name() -> None:
    data = Data()
    large = data.made(total(MOST), i32)
    assert names_of(data).named(large) is large


def test_names_of_other_threads_stand_for_their_terms() -> None:
    data = Data()
    names = names_of(data)
    name = names.named(data.made(total(MOST), f32))
    assert isinstance(name, Term)
    other = names.for_thread(name, 2, (0, 2, 0))
    assert other is atom(NAME, (0, 0, 2, 0)) and names.for_thread(name, 2, (0, 2, 0)) is other
    assert names.expanded(other) is total(MOST, 20)


# ------------------------------------------------------------ polynomials


def sealing(kind: DType) -> Sealed:
    return Sealed(algebra_for(kind), {}, lambda element: {"x": kind, "y": kind, "n": i32}.get(element.data[0]))


def power(exponent: Term) -> Term:
    return apply("ex2", exponent)


def sealed_pair(a: Term, b: Term) -> tuple[Term, Term]:
    sealed = sealing(f32)
    return sealed(power(a)), sealed(power(b))


def reordered(count: int) -> Term:
    products = [apply("*", atom("y", ()), element(k)) for k in reversed(range(count))]
    return reduce(lambda a, b: apply("+", b, a), products)


def test_equal_polynomials_have_one_symbol_and_multiples_a_multiple_of_it() -> None:
    left, right = sealed_pair(total(MOST), reordered(MOST))
    assert left is right and left is not power(total(MOST))
    plain, twice = sealed_pair(total(MOST), apply("+", total(MOST), reordered(MOST)))
    assert plain is not twice
    assert twice.args[0].args[1] is plain.args[0].args[1]
    assert [t.args[0].args[0].data[0] for t in (plain, twice)] == [1, 2]


@pytest.mark.parametrize(
    "other",
    [total(MOST, 1), total(MOST - 1), total(MOST, 0, 1), apply("-", total(MOST - 1), apply("*", element(8), atom("y", ())))],
    ids=["of other elements", "of fewer", "of elements that move", "with another sign"],
)
def test_other_polynomials_have_other_symbols(other: Term) -> None:
    left, right = sealed_pair(total(MOST), other)
    assert left is not right and left.args[0].args[1] is not right.args[0].args[1]


def test_elements_that_move_make_a_symbol_that_moves() -> None:
    sealed = sealing(f32)
    assert len(sealed(power(total(MOST, 0, 1))).args[0].args[1].data[1]) == 2
    assert len(sealed(power(total(MOST))).args[0].args[1].data[1]) == 1


@pytest.mark.parametrize(
    "inside",
    [total(2), apply("+", total(MOST), atom(SUM, (1,))), apply("-", total(MOST), total(MOST))],
    ids=["a small one", "values handed on", "zero"],
)
def test_polynomials_that_stay(inside: Term) -> None:
    sealed = sealing(f32)
    if inside.args[0] is not total(MOST):
        assert sealed(power(inside)) is power(inside)
    elif inside.op == "+":
        assert sealed(power(inside)).args[0].args[1] is atom(SUM, (1,))
    else:
        assert sealed(power(inside)) is power(inside)


@pytest.mark.parametrize("name", ["n", "unknown"])
def test_what_is_no_float_stays(name: str) -> None:
    """Words wrap, so that a multiple of a sum of them is no multiple of its value."""
    inside = apply("+", apply("*", atom(name, (0,)), constant(2)), total(MOST))
    assert sealing(f32)(power(inside)).args[0].args[0] is inside.args[0]
    converted = apply("+", apply("cast.i32.f32", element(0)), total(MOST))
    assert sealing(f32)(power(converted)).args[0].args[0] is converted.args[0]


def test_integers_stay() -> None:
    root = apply("min", total(MOST), constant(3))
    assert sealing(i32)(root) is root


def test_what_was_sealed_is_opened_and_its_laws_are_told() -> None:
    sealed = sealing(f32)
    assert sealed.domain == []
    closed = sealed(power(total(MOST)))
    opened = sealed.opened(closed)
    assert sealed.domain == ["real sums reordered"]
    assert sealed(opened) is closed
