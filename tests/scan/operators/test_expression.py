"""Expressions: what the simplifying constructors build has the value of what was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import BOOL, INT, REAL, Expr
from warploom.scan.operators.printing import compiled, python
from warploom.scan.operators.prover import Fails, Holds, Translator, decide

X, Y, Z = (ex.variable(n, INT) for n in "xyz")
B, C = (ex.variable(n, BOOL) for n in "bc")
Meaning = Callable[[dict[Expr, int]], int]


def numbers(depth: int) -> st.SearchStrategy[tuple[Expr, Meaning]]:
    """An expression with its value, computed apart from it."""
    leaves: list[tuple[Expr, Meaning]] = [(v, lambda e, v=v: e[v]) for v in (X, Y, Z)]
    leaves += [(ex.constant(n), lambda _, n=n: n) for n in (-2, -1, 0, 1, 3)]
    leaf = st.sampled_from(leaves)
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    pairs = st.tuples(inner, inner)
    return st.one_of(
        leaf,
        pairs.map(lambda p: (ex.add(p[0][0], p[1][0]), lambda e: p[0][1](e) + p[1][1](e))),
        pairs.map(lambda p: (ex.subtract(p[0][0], p[1][0]), lambda e: p[0][1](e) - p[1][1](e))),
        pairs.map(lambda p: (ex.multiply(p[0][0], p[1][0]), lambda e: p[0][1](e) * p[1][1](e))),
        pairs.map(lambda p: (ex.maximum(p[0][0], p[1][0]), lambda e: max(p[0][1](e), p[1][1](e)))),
        pairs.map(lambda p: (ex.minimum(p[0][0], p[1][0]), lambda e: min(p[0][1](e), p[1][1](e)))),
        inner.map(lambda p: (ex.remainder(p[0], 3), lambda e: p[1](e) % 3)),
        inner.map(lambda p: (ex.floor_quotient(p[0], 2), lambda e: p[1](e) // 2)),
        st.tuples(conditions(depth - 1), inner, inner).map(
            lambda p: (ex.select(p[0][0], p[1][0], p[2][0]), lambda e: p[1][1](e) if p[0][1](e) else p[2][1](e))
        ),
    )


def conditions(depth: int) -> st.SearchStrategy[tuple[Expr, Meaning]]:
    flags: list[tuple[Expr, Meaning]] = [(v, lambda e, v=v: e[v]) for v in (B, C)]
    if depth == 0:
        return st.sampled_from(flags)
    inner, number = conditions(depth - 1), numbers(depth - 1)
    pairs, values = st.tuples(inner, inner), st.tuples(number, number)
    return st.one_of(
        st.sampled_from(flags),
        pairs.map(lambda p: (ex.both(p[0][0], p[1][0]), lambda e: p[0][1](e) and p[1][1](e))),
        pairs.map(lambda p: (ex.either(p[0][0], p[1][0]), lambda e: p[0][1](e) or p[1][1](e))),
        inner.map(lambda p: (ex.negation(p[0]), lambda e: not p[1](e))),
        values.map(lambda p: (ex.at_least(p[0][0], p[1][0]), lambda e: p[0][1](e) >= p[1][1](e))),
        values.map(lambda p: (ex.more_than(p[0][0], p[1][0]), lambda e: p[0][1](e) > p[1][1](e))),
        values.map(lambda p: (ex.equal(p[0][0], p[1][0]), lambda e: p[0][1](e) == p[1][1](e))),
    )


small = st.integers(-4, 4)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(numbers(4), small, small, small, st.booleans(), st.booleans())
def test_numbers_keep_their_value(built: tuple[Expr, Meaning], x: int, y: int, z: int, b: bool, c: bool) -> None:
    expr, meaning = built
    assert compiled([X, Y, Z, B, C], [expr])(x, y, z, b, c) == (meaning({X: x, Y: y, Z: z, B: b, C: c}),)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(conditions(4), small, small, small, st.booleans(), st.booleans())
def test_conditions_keep_their_value(built: tuple[Expr, Meaning], x: int, y: int, z: int, b: bool, c: bool) -> None:
    expr, meaning = built
    assert compiled([X, Y, Z, B, C], [expr])(x, y, z, b, c) == (bool(meaning({X: x, Y: y, Z: z, B: b, C: c})),)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(numbers(3), small, small, small, st.booleans(), st.booleans())
def test_the_solver_agrees_with_python(built: tuple[Expr, Meaning], x: int, y: int, z: int, b: bool, c: bool) -> None:
    values = {X: x, Y: y, Z: z, B: b, C: c}
    t = Translator()
    fixed = [t.equal(t.number(v), t.number(ex.constant(value))) for v, value in values.items()]
    claim = t.equal(t.number(built[0]), t.number(ex.constant(built[1](values))))
    assert isinstance(decide(t, fixed, [claim], []), Holds)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ex.select(ex.at_least(X, Y), X, Y), ex.maximum(X, Y)),
        (ex.select(ex.more_than(X, Y), Y, X), ex.minimum(X, Y)),
        (ex.negation(ex.at_least(X, Y)), ex.more_than(Y, X)),
        (ex.maximum(X, ex.minimum(X, Y)), X),
        (ex.add(ex.multiply(ex.add(X, Y), ex.subtract(X, Y)), ex.multiply(Y, Y)), ex.multiply(X, X)),
        (ex.maximum(X, ex.add(X, ex.ONE)), ex.add(X, ex.ONE)),
        (ex.remainder(ex.multiply(ex.remainder(X, 7), Y), 7), ex.remainder(ex.multiply(X, Y), 7)),
        (ex.both(ex.at_least(X, ex.ZERO), ex.at_least(X, ex.ONE)), ex.at_least(X, ex.ONE)),
        (ex.either(ex.at_least(X, ex.ZERO), ex.more_than(ex.ONE, X)), ex.TRUE),
        (ex.either(ex.both(B, C), ex.both(ex.negation(B), C)), C),
    ],
)  # fmt: skip
def test_equal_ones_are_one_object(left: Expr, right: Expr) -> None:
    assert left is right


def test_constants_of_different_types_are_different() -> None:
    assert len({ex.constant(1), ex.constant(True), ex.constant(0), ex.constant(False), ex.constant("1")}) == 5
    assert ex.constant(Fraction(2)) is ex.constant(2)


def test_opposite_infinities_have_no_sum() -> None:
    assert ex.add(ex.MINUS_INFINITY, X) is ex.MINUS_INFINITY
    with pytest.raises(ex.UndefinedError, match=r"^the sum of opposite infinities$"):
        ex.add(ex.MINUS_INFINITY, ex.INFINITY)


def test_infinities_are_exact_in_the_solver() -> None:
    endless = ex.variable("m", ex.Sort("int", below=True))
    t = Translator()
    same = t.equal(t.number(ex.maximum(endless, X)), t.number(X))
    verdict = decide(t, [], [same], [endless, X])
    assert isinstance(verdict, Fails)
    least = t.condition(ex.equal(endless, ex.MINUS_INFINITY))
    assert isinstance(decide(t, [least], [same], []), Holds)


def test_printed_with_few_parentheses() -> None:
    r = ex.variable("r", REAL)
    assert python(ex.add(ex.multiply(X, ex.maximum(Y, Z)), ex.ONE)) == "x * max(y, z) + 1"
    assert python(ex.more_than(X, Y)) == "x > y"
    assert python(ex.both(ex.equal(X, ex.constant(2)), B)) == "x == 2 and b"
    assert python(ex.multiply(r, ex.constant(Fraction(1, 2)))) == "0.5 * r"
    assert python(ex.select(B, X, ex.MINUS_INFINITY)) == "x if b else -inf"
    assert math.isinf(compiled([B, X], [ex.select(B, X, ex.MINUS_INFINITY)])(False, 1)[0])  # type: ignore[arg-type]


def test_equal_infinities_are_not_more_than_each_other() -> None:
    low, high = ex.Sort("int", below=True), ex.Sort("int", above=True)
    for sort, infinity in ((low, ex.MINUS_INFINITY), (high, ex.INFINITY)):
        a, b = ex.variable("a", sort), ex.variable("b", sort)
        for one, other in ((a, b), (b, a)):
            t = Translator()
            given = [t.condition(ex.equal(v, infinity)) for v in (a, b)]
            assert not isinstance(decide(t, given, [t.condition(ex.more_than(one, other))], []), Holds)


def test_comparisons_of_multiples_of_what_may_be_infinite_are_refused() -> None:
    a = ex.variable("a", ex.Sort("int", below=True))
    with pytest.raises(ex.UndefinedError, match="a comparison of values that may be infinite"):
        ex.more_than(ex.multiply(a, ex.constant(3)), a)  # -inf > -inf is false, 2 * a > 0 would have to be


def test_texts_are_true_unless_empty() -> None:
    text = ex.variable("t", ex.TEXT)
    assert [compiled([text], [ex.as_condition(text)])(v)[0] for v in ("", "a")] == [False, True]


def test_a_guarded_quotient_keeps_its_guard_through_substitution() -> None:
    quotient = ex.quotient(X, Y, is_guarded=True)
    assert python(quotient) == "x / y if y != 0 else 0"
    assert python(ex.substituted(quotient, {Y: Z})) == "x / z if z != 0 else 0"
    assert python(ex.quotient(X, Y)) == "x / y"


@pytest.mark.parametrize(
    ("guard", "is_enough"),
    [
        (ex.at_least(Y, ex.ONE), True),
        (ex.more_than(ex.ZERO, Y), True),
        (ex.at_least(Y, ex.ZERO), False),
        (ex.at_least(ex.ONE, Y), False),
        (ex.negation(ex.equal(Y, ex.ZERO)), True),
        (ex.equal(Y, ex.ZERO), False),
        (ex.both(B, ex.at_least(Y, ex.constant(3))), True),
        (ex.either(B, ex.at_least(Y, ex.constant(3))), False),
        (ex.more_than(ex.variable("r", REAL), ex.ZERO), False),
    ],
)
def test_guards_that_stand_there_are_not_printed_twice(guard: Expr, is_enough: bool) -> None:
    quotient = ex.quotient(X, Y, is_guarded=True)
    shown = python(ex.select(guard, quotient, ex.constant(7)))
    assert ("!= 0 else 0" not in shown) == is_enough


LOW, HIGH = ex.variable("low", ex.Sort("int", below=True)), ex.variable("high", ex.Sort("int", above=True))
DIGIT = ex.variable("digit", ex.Sort("int", values=(0, 1, 2)))


@pytest.mark.parametrize(
    "undefined",
    [
        lambda: ex.subtract(LOW, LOW),
        lambda: ex.subtract(ex.multiply(ex.constant(2), HIGH), HIGH),  # at infinity the difference of two infinities
        lambda: ex.add(X, HIGH, ex.multiply(ex.constant(-3), HIGH)),
        lambda: ex.add(ex.INFINITY, X, ex.MINUS_INFINITY),
        lambda: ex.multiply(ex.INFINITY, X),
        lambda: ex.multiply(ex.ZERO, ex.MINUS_INFINITY),
        lambda: ex.multiply(ex.INFINITY, ex.INFINITY) and ex.multiply(X, ex.INFINITY),
        lambda: ex.remainder(ex.INFINITY, 3),
        lambda: ex.at_least(ex.multiply(ex.constant(2), LOW), LOW),
        lambda: ex.constant(2**20_000),
    ],
)
def test_what_has_no_value(undefined: Callable[[], object]) -> None:
    with pytest.raises(ex.UndefinedError):
        undefined()


def test_infinities_are_scaled_by_numbers() -> None:
    assert ex.multiply(ex.constant(-2), ex.INFINITY) is ex.MINUS_INFINITY
    assert ex.add(ex.multiply(ex.constant(2), HIGH), HIGH) is ex.multiply(ex.constant(3), HIGH)


def test_values_that_are_few_are_whole_and_all_there() -> None:
    """A half of a digit is not 0 or 1, which decides the question."""
    half = ex.multiply(ex.constant(Fraction(1, 2)), DIGIT)
    assert half.sort.values is None and ex.at_least(half, ex.ONE).op != "const"
    assert ex.add(DIGIT, ex.ONE).sort.values == (1, 2, 3) and ex.at_least(ex.add(DIGIT, ex.ONE), ex.ONE) is ex.TRUE
    assert ex.add(DIGIT, X).sort.values is None
    digits = [ex.variable(f"d{n}", DIGIT.sort) for n in range(8)]
    assert ex.add(*(ex.multiply(ex.constant(3**n), d) for n, d in enumerate(digits))).sort.values is None


@pytest.mark.parametrize(
    ("then", "otherwise"),
    [(ex.INFINITY, X), (X, ex.MINUS_INFINITY), (ex.INFINITY, ex.MINUS_INFINITY), (HIGH, LOW), (LOW, ex.add(LOW, X))],
)
def test_choices_with_infinities_are_no_extrema(then: Expr, otherwise: Expr) -> None:
    assert ex.select(ex.at_least(X, Y), then, otherwise).op == "ite"


def test_whole_numbers_are_compared_with_whole_numbers() -> None:
    """`2*x <= 0.1` is `x <= 0`: with a fraction left in, machine words could not state it."""
    for numerator in range(-7, 8):
        bound = ex.constant(Fraction(numerator, 3))
        for build, meaning in ((ex.at_least, Fraction.__ge__), (ex.more_than, Fraction.__gt__)):
            for factor in (-2, -1, Fraction(1, 2), 1, 3):
                condition = build(ex.multiply(ex.constant(factor), X), bound)
                run = compiled((X,), (condition,))
                for value in range(-16, 17):
                    assert run(value) == (meaning(Fraction(factor) * value, Fraction(numerator, 3)),)
    atoms = ex.subexpressions(ex.at_least(ex.constant(Fraction(1, 10)), X))
    assert all(e.sort.base != "real" for e in atoms)
    assert ex.at_least(ex.add(X, Y), ex.constant(Fraction(1, 2))) is ex.at_least(ex.add(X, Y), ex.ONE)
    real = ex.variable("r", REAL)
    assert ex.at_least(real, ex.constant(Fraction(1, 2))) is not ex.at_least(real, ex.ONE)
    mixed = ex.add(ex.multiply(ex.constant(3), X), ex.multiply(ex.constant(2), Y))
    assert mixed.sort.base == "int" and ex.more_than(mixed, ex.constant(Fraction(1, 2))).op in ("ge", "gt", "not")


def test_a_sum_is_infinite_where_a_part_of_it_is() -> None:
    for below, above in ((True, False), (False, True)):
        x = ex.variable("x", ex.Sort("int", below=below, above=above))
        assert (ex.add(x, ex.ONE).sort.below, ex.add(x, ex.ONE).sort.above) == (below, above)
        turned = ex.multiply(ex.constant(-2), x).sort
        assert (turned.below, turned.above) == (above, below)


def test_few_values_are_counted() -> None:
    most = ex.Sort("int", values=tuple(range(ex.MAX_CASES - 1)))
    one = ex.Sort("int", values=(ex.MAX_CASES - 1,))
    assert most.joined(one).values == tuple(range(ex.MAX_CASES))
    assert most.joined(one).joined(ex.Sort("int", values=(ex.MAX_CASES,))).values is None
