"""Terms with sorts: words are those of SMT-LIB, whole numbers beside reals become reals, all else is refused by its sorts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from warploom.solve import BOOL, INT, REAL, Builder, Handle, Sat, SortError, Unknown, Unsat, word

BUDGET = 2_000_000


def holds(b: Builder, condition: Handle) -> bool:
    answer = b.check([b.negation(condition)], BUDGET)
    assert not isinstance(answer, Unknown)
    return isinstance(answer, Unsat)


def test_identities_of_mixed_widths() -> None:
    b = Builder()
    x = b.variable("x", word(32))
    low = b.extended(b.bits(x, 0, 5), 32, is_signed=False)
    assert holds(b, b.equal(low, b.bitwise("&", x, b.constant(31, word(32)))))


def test_sign_extension_distributes_only_without_overflow() -> None:
    b = Builder()
    x = b.variable("x", word(32))
    inside = b.extended(b.add(x, b.constant(1, word(32))), 64, is_signed=True)
    outside = b.add(b.extended(x, 64, is_signed=True), b.constant(1, word(64)))
    differ = b.negation(b.equal(inside, outside))
    answer = b.check([differ], BUDGET)
    assert isinstance(answer, Sat)
    assert answer.model["x"] == 2**31 - 1
    assert isinstance(b.check([differ, b.less(x, b.constant(1000, word(32)))], BUDGET), Unsat)


@pytest.mark.parametrize(("x", "y"), [(7, 3), (200, 100), (1, 255)])
def test_words_of_constants(x: int, y: int) -> None:
    b = Builder()
    one, other = b.constant(x, word(8)), b.constant(y, word(8))
    signed = [n - 256 if n > 127 else n for n in (x, y)]
    quotient = abs(signed[0]) // abs(signed[1]) * (1 if signed[0] * signed[1] >= 0 else -1)
    found = {
        "+": (b.add(one, other), x + y),
        "-": (b.subtract(one, other), x - y),
        "*": (b.multiply(one, other), x * y),
        "neg": (b.negate(one), -x),
        "~": (b.invert(one), ~x),
        "&": (b.bitwise("&", one, other), x & y),
        "|": (b.bitwise("|", one, other), x | y),
        "^": (b.bitwise("^", one, other), x ^ y),
        "<<": (b.shift_left(one, other), x << y if y < 8 else 0),
        ">> of naturals": (b.shift_right(one, other, is_signed=False), x >> y),
        ">>": (b.shift_right(one, other, is_signed=True), signed[0] >> min(y, 8)),
        "/ of naturals": (b.word_quotient(one, other, is_signed=False), x // y),
        "/": (b.word_quotient(one, other, is_signed=True), quotient),
        "//": (b.floor_divide(one, 3), signed[0] // 3),
        "%": (b.remainder(one, 3), signed[0] % 3),
    }
    assert holds(b, b.both([b.equal(term, b.constant(value, word(8))) for term, value in found.values()]))
    assert holds(b, b.less(one, other, is_signed=False)) is (x < y)
    assert holds(b, b.less(one, other)) is (signed[0] < signed[1])
    assert holds(b, b.at_least(one, other)) is (signed[0] >= signed[1])


def test_a_whole_number_beside_a_real_one_is_real() -> None:
    b = Builder()
    n, x = b.variable("n", INT), b.variable("x", REAL)
    half = b.divide(n, b.constant(2, INT))
    assert half.sort == REAL and b.add(n, x).sort == REAL and b.select(b.equal(n, x), n, x).sort == REAL
    assert holds(b, b.equal(b.multiply(b.constant(2, REAL), half), n))
    answer = b.check([b.equal(half, b.constant(Fraction(7, 2), REAL))], BUDGET)
    assert isinstance(answer, Sat) and answer.model["n"] == 7


def test_sorts_that_do_not_fit_are_named() -> None:
    b = Builder()
    whole, real, wide, short, flag = (
        b.variable(name, sort) for name, sort in (("n", INT), ("x", REAL), ("w", word(32)), ("s", word(8)), ("f", BOOL))
    )
    wrong = [
        lambda: b.add(wide, real),
        lambda: b.at_least(wide, whole),
        lambda: b.equal(wide, short),
        lambda: b.multiply(flag, whole),
        lambda: b.negate(flag),
        lambda: b.divide(wide, real),
        lambda: b.remainder(real, 2),
        lambda: b.floor_divide(real, 2),
        lambda: b.bitwise("&", whole, whole),
        lambda: b.bitwise("&", flag, wide),
        lambda: b.invert(whole),
        lambda: b.less(whole, whole, is_signed=False),
        lambda: b.shift_left(wide, short),
        lambda: b.extended(wide, 8, is_signed=False),
        lambda: b.extended(whole, 64, is_signed=False),
        lambda: b.bits(short, 4, 8),
        lambda: b.bits(flag, 0, 1),
        lambda: b.select(whole, whole, whole),
        lambda: b.select(flag, whole, wide),
        lambda: b.both([flag, whole]),
        lambda: b.either([wide]),
        lambda: b.negation(real),
        lambda: b.sum([(2, whole), (1, real)]),
        lambda: b.variable("n", REAL),
        lambda: b.check([whole], BUDGET),
    ]
    for attempt in wrong:
        with pytest.raises(SortError, match="SOLVER_SORTS"):
            attempt()
    with pytest.raises(SortError, match="expected two terms of one sort in a question for z3, got 32-bit word and real"):
        b.add(wide, real)


def test_too_small_a_budget_is_unknown_and_is_counted() -> None:
    b = Builder()
    x, y = (b.variable(n, word(64)) for n in "xy")
    product = b.equal(b.multiply(x, y), b.constant((2**31 - 1) * (2**61 - 1), word(64)))
    bounds = [b.less(b.constant(1, word(64)), n, is_signed=False) for n in (x, y)]
    small = [b.less(n, b.constant(2**62, word(64)), is_signed=False) for n in (x, y)]
    answer = b.check([product, *bounds, *small], 10, "QF_BV")
    assert isinstance(answer, Unknown) and answer.reason and answer.spent < BUDGET


def test_constant_conditions_are_decided_without_asking() -> None:
    b = Builder()
    flag = b.variable("f", BOOL)
    assert b.both([]) is b.true and b.either([]) is b.false
    assert b.both([flag, b.false]) is b.false and b.either([flag, b.true]) is b.true
    assert b.negation(b.true) is b.false and b.select(b.false, flag, b.true) is b.true
