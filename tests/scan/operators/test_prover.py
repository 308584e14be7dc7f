"""The prover's meaning of infinities, and every law alone in refusing."""

from __future__ import annotations

import pytest

from warploom.scan.operators import cases, products
from warploom.scan.operators import expression as ex
from warploom.scan.operators.cases import equal_by_cases
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import INFINITY, MINUS_INFINITY, Expr, Sort
from warploom.scan.operators.laws import associativity, decided, identity
from warploom.scan.operators.products import equal_over_products
from warploom.scan.operators.prover import Fails, Holds, Open, Translator, UntranslatableError, decide

X, Y, Z = (ex.variable(n, ex.INT) for n in "xyz")
LOW, HIGH = ex.variable("low", Sort("int", below=True)), ex.variable("high", Sort("int", above=True))
BOTH = ex.variable("both", Sort("int", below=True, above=True))
R, P = ex.variable("r", ex.REAL), ex.variable("p", ex.BOOL)
DIGIT = ex.variable("digit", Sort("int", values=(0, 1, 2)))
ONE, TWO = ex.ONE, ex.constant(2)


def holds(*claims: Expr, given: tuple[Expr, ...] = (), width: int | None = None) -> bool:
    t = Translator(width)
    verdict = decide(t, [t.condition(g) for g in given], [t.condition(c) for c in claims], [])
    assert not isinstance(verdict, Open)
    return isinstance(verdict, Holds)


def same(left: Expr, right_: Expr) -> bool:
    t = Translator()
    return isinstance(decide(t, [], [t.equal(t.number(left), t.number(right_))], []), Holds)


@pytest.mark.parametrize(
    ("left", "right_", "expected"),
    [
        (ex.maximum(LOW, X), ex.maximum(X, LOW), True),
        (LOW, X, False),  # minus infinity is no number
        (MINUS_INFINITY, MINUS_INFINITY, True),
        (MINUS_INFINITY, INFINITY, False),
        (INFINITY, ex.ZERO, False),
        (BOTH, BOTH, True),
        (ex.negate(ex.negate(BOTH)), BOTH, True),
        (ex.negate(LOW), LOW, False),
        # opposite infinities have no sum, so this is no equality, although both sides read alike
        (ex.add(LOW, HIGH), ex.add(HIGH, LOW), False),
        (ex.maximum(ex.add(LOW, HIGH), X), ex.maximum(ex.add(LOW, HIGH), X), False),
        (ex.select(P, ex.add(LOW, HIGH), X), ex.select(P, ex.add(LOW, HIGH), X), False),
        (
            ex.select(ex.at_least(ex.add(LOW, HIGH), X), ONE, TWO),
            ex.select(ex.at_least(ex.add(LOW, HIGH), X), ONE, TWO),
            False,
        ),
        (ex.multiply(TWO, ex.add(LOW, HIGH)), ex.multiply(TWO, ex.add(LOW, HIGH)), False),
        (ex.add(LOW, X), ex.add(X, LOW), True),
    ],
)
def test_values_that_may_be_infinite(left: Expr, right_: Expr, expected: bool) -> None:
    assert same(left, right_) is expected


def test_a_branch_without_a_value_that_is_not_taken_does_no_harm() -> None:
    guarded = ex.select(ex.equal(LOW, MINUS_INFINITY), ex.ZERO, ex.add(LOW, HIGH))
    assert same(guarded, guarded)
    assert not holds(ex.at_least(ex.add(LOW, HIGH), X)) and not holds(ex.negation(ex.at_least(ex.add(LOW, HIGH), X)))


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (ex.at_least(ex.maximum(LOW, X), X), True),
        (ex.at_least(LOW, X), False),
        (ex.at_least(X, LOW), False),
        (ex.at_least(ex.minimum(HIGH, X), X), False),
        (ex.at_least(X, ex.minimum(HIGH, X)), True),
        (ex.either(ex.at_least(LOW, X), ex.more_than(X, LOW)), True),
        (ex.either(ex.negation(ex.equal(LOW, MINUS_INFINITY)), ex.equal(ex.negate(LOW), INFINITY)), True),
        (ex.either(ex.negation(ex.equal(LOW, MINUS_INFINITY)), ex.negation(ex.at_least(ex.add(LOW, X), ex.ZERO))), True),
        (ex.either(ex.negation(ex.equal(HIGH, INFINITY)), ex.at_least(ex.add(HIGH, X), ex.ZERO)), True),
        (ex.at_least(DIGIT, ex.ZERO), True),
        (ex.at_least(ONE, DIGIT), False),
        (ex.either(P, ex.negation(P)), True),
        (ex.both(P, P), False),
        (ex.at_least(ex.exponential(R), ex.ZERO), True),
        (ex.more_than(ex.exponential(R), ONE), False),
        (ex.at_least(ex.greatest_common_divisor(X, Y), ONE), False),  # of 0 and 0
    ],
)
def test_claims(claim: Expr, expected: bool) -> None:
    assert holds(claim) is expected


def test_divisors_of_positive_numbers() -> None:
    positive = (ex.at_least(X, ONE), ex.at_least(Y, ONE))
    found = ex.greatest_common_divisor(X, Y)
    assert holds(ex.at_least(found, ONE), ex.at_least(X, found), given=positive)
    assert not holds(ex.at_least(found, TWO), given=positive) and not holds(ex.at_least(X, found))


def test_words_wrap() -> None:
    sum_, given = ex.at_least(ex.add(X, Y), ex.ZERO), (ex.at_least(X, ex.ZERO), ex.at_least(Y, ex.ZERO))
    assert holds(sum_, given=given) and not holds(sum_, given=given, width=8)
    assert holds(ex.at_least(X, ex.bitwise("bitand", X, Y)), given=(ex.at_least(X, ex.ZERO),), width=8)


@pytest.mark.parametrize(
    "expr",
    [ex.multiply(LOW, X), ex.remainder(LOW, 3), ex.floor_quotient(HIGH, 3), ex.bitwise("bitor", X, Y)],
    ids=["product", "remainder", "quotient", "bits"],
)
def test_what_has_no_form_is_said(expr: Expr) -> None:
    with pytest.raises(UntranslatableError):
        Translator().number(expr)


def test_operands_of_another_sort_have_no_form() -> None:
    with pytest.raises(UntranslatableError, match="a whole number or a word"):
        Translator().number(ex.remainder(R, 3))


def test_products_of_cases_have_a_form() -> None:
    """A choice of two finite numbers is one."""
    chosen = ex.select(P, X, ex.negate(X))
    assert holds(ex.at_least(ex.multiply(chosen, chosen), ex.ZERO))


def test_bound_divisors_have_no_form() -> None:
    t = Translator()
    with pytest.raises(UntranslatableError, match="gcd"):
        t.number(ex.greatest_common_divisor(X, Y), t.bound({X: Z}))


def law(slots: tuple[Expr, ...], results: tuple[Expr, ...], known: tuple[Expr, ...] = ()) -> object:
    return associativity(slots, dict(zip(slots, results, strict=True)), known)


def test_one_slot_that_is_associative_does_not_settle_the_others() -> None:
    bad = ex.subtract(Y, right(Y))
    for slots, results in (
        ((X, Y), (ex.add(X, right(X)), bad)),
        ((Y, X), (bad, ex.add(X, right(X)))),
        ((X, Y), (ex.maximum(X, right(X)), bad)),
        ((X, Y), (ex.multiply(X, right(X)), ex.maximum(ex.multiply(X, Y), right(Y)))),
        ((LOW, Y), (ex.maximum(LOW, right(LOW)), bad)),
    ):
        assert not isinstance(law(slots, results), Holds)
    assert isinstance(law((X, Y), (ex.add(X, right(X)), ex.add(Y, right(Y)))), Holds)
    assert isinstance(law((X, Y), (ex.maximum(X, right(X)), ex.add(Y, right(Y)))), Holds)


def test_alike_is_not_equal_where_infinities_meet() -> None:
    """Both bracketings of a sum read alike, and have no value for opposite infinities."""
    assert not isinstance(law((BOTH,), (ex.add(BOTH, right(BOTH)),)), Holds)
    assert isinstance(law((LOW,), (ex.add(LOW, right(LOW)),)), Holds)


def test_what_is_known_is_of_all_three() -> None:
    for decisive in (X, right(X)):
        op = ex.select(ex.at_least(decisive, ex.ZERO), ex.maximum(X, right(X)), ex.subtract(X, right(X)))
        assert isinstance(law((X,), (op,)), Fails)
        assert isinstance(law((X,), (op,), (ex.at_least(X, ex.ZERO),)), Holds)


@pytest.mark.parametrize(
    ("slot", "operator", "value", "expected"),
    [
        (LOW, ex.maximum(LOW, right(LOW)), MINUS_INFINITY, True),
        (LOW, ex.maximum(LOW, right(LOW)), INFINITY, False),  # the wrong sign
        (HIGH, ex.minimum(HIGH, right(HIGH)), INFINITY, True),
        (HIGH, ex.minimum(HIGH, right(HIGH)), MINUS_INFINITY, False),
        (X, ex.maximum(X, right(X)), ex.ZERO, False),
        (X, right(X), ex.ZERO, False),  # on the left only
        (X, X, ex.ZERO, False),  # on the right only
        (BOTH, ex.add(BOTH, right(BOTH)), ex.ZERO, True),
        (BOTH, ex.add(BOTH, right(BOTH)), INFINITY, False),  # not of minus infinity
    ],
)
def test_identities(slot: Expr, operator: Expr, value: Expr, expected: bool) -> None:
    assert isinstance(identity((slot,), {slot: operator}, [], {slot: value}), Holds) is expected


def test_an_identity_is_one_of_itself() -> None:
    """Where what is known does not hold of it."""
    op = ex.select(ex.both(ex.equal(X, ex.ZERO), ex.equal(right(X), ex.ZERO)), ONE, ex.maximum(X, right(X)))
    assert isinstance(identity((X,), {X: op}, [ex.at_least(X, ONE)], {X: ex.ZERO}), Fails)


def test_equality_by_cases_of_powers_and_divisors() -> None:
    power = ex.multiply(ex.exponential(R), ex.maximum(X, Y))
    by_case = ex.select(ex.at_least(X, Y), ex.multiply(ex.exponential(R), X), ex.multiply(ex.exponential(R), Y))
    assert equal_by_cases(power, by_case, [])
    assert not equal_by_cases(power, ex.multiply(ex.exponential(R), X), [])
    assert equal_by_cases(power, ex.multiply(ex.exponential(R), X), [ex.at_least(X, Y)])
    assert not equal_by_cases(ex.greatest_common_divisor(X, Y), ex.greatest_common_divisor(X, Z), [])


def test_cases_that_are_not_decided_are_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = ex.at_least(ex.bitwise("bitand", X, Y), ONE)
    assert not equal_by_cases(ex.select(bits, X, Y), Y, [])
    monkeypatch.setattr(cases, "MAX_CASES", 1)
    assert not equal_by_cases(ex.maximum(X, Y), ex.select(ex.at_least(X, Y), X, ex.maximum(X, Y)), [])


def test_what_the_solver_gives_up_on_is_open() -> None:
    t = Translator()
    claim = t.condition(ex.at_least(ex.multiply(X, ex.multiply(X, Y)), ex.multiply(Z, Y)))
    assert isinstance(decide(t, [], [claim], [], rlimit=1), Open)


def test_equality_over_products() -> None:
    positive = [ex.at_least(Z, ex.ZERO)]
    left, right_ = ex.multiply(Z, ex.maximum(X, Y)), ex.maximum(ex.multiply(Z, X), ex.multiply(Z, Y))
    assert equal_over_products(left, right_, positive)
    assert not equal_over_products(left, right_, [])
    assert not equal_over_products(left, ex.minimum(ex.multiply(Z, X), ex.multiply(Z, Y)), positive)


def test_products_have_the_signs_of_their_factors() -> None:
    product = ex.multiply(X, Y)
    x, y = (ex.at_least(v, ex.ZERO) for v in (X, Y))
    below = ex.at_least(ex.ZERO, Y)
    assert equal_over_products(ex.maximum(product, ex.ZERO), product, [x, y])
    assert equal_over_products(ex.minimum(product, ex.ZERO), product, [x, below])
    assert not equal_over_products(ex.maximum(product, ex.ZERO), product, [x])


def test_without_a_translation_every_side_must_be_settled() -> None:
    gcd, other = ex.greatest_common_divisor(X, Y), ex.greatest_common_divisor(X, Z)

    def no_claims(_: Translator) -> list[object]:
        raise UntranslatableError("gcd")

    def verdict(*pairs: tuple[Expr, Expr]) -> object:
        return decided([X], [(lambda a=a: a, b) for a, b in pairs], no_claims, [], [], None)  # type: ignore[arg-type]

    assert isinstance(verdict((gcd, gcd)), Holds)
    assert isinstance(verdict((gcd, gcd), (gcd, other)), Open) and isinstance(verdict((gcd, other), (gcd, gcd)), Open)
    assert isinstance(verdict(), Open)


def test_a_case_without_a_value_is_not_skipped() -> None:
    """Where p is false both infinities meet; the case before, where both sides agree, settles nothing."""
    opposite = ex.add(ex.select(P, X, INFINITY), ex.select(P, Y, MINUS_INFINITY))
    assert not equal_by_cases(opposite, ex.add(X, Y), []) and equal_by_cases(opposite, ex.add(X, Y), [P])


def test_an_extreme_that_its_values_decide_asks_no_question() -> None:
    few = ex.variable("few", ex.Sort("int", values=(0, 5)))
    least = ex.minimum(ex.constant(5), few)
    assert least.op == "min"
    assert equal_by_cases(least, few, []) and not equal_by_cases(least, ex.constant(5), [])


def test_what_contradicts_itself_is_not_possible() -> None:
    """Though another condition has no form for the solver."""
    bits = ex.at_least(ex.bitwise("bitand", X, Y), ONE)
    assert equal_by_cases(X, Y, [ex.FALSE, bits]) and not equal_by_cases(X, Y, [bits])


def test_products_that_are_not_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = ex.maximum(X, Y), ex.maximum(X, Z), ex.maximum(Y, Z)
    for wide in (first, second, third):  # three maxima are not the product of one or two of them
        assert not equal_over_products(ex.multiply(ex.multiply(first, second), third), wide, [])
    divisor = ex.greatest_common_divisor(X, Y)
    assert not equal_over_products(ex.multiply(divisor, Z), ex.multiply(Z, ex.add(divisor, ONE)), [])  # no form of a divisor
    assert not equal_over_products(ex.bitwise("bitor", X, Y), X, [])  # no form of bits
    left, right_ = ex.multiply(Z, ex.maximum(X, Y)), ex.add(ex.multiply(Z, ex.maximum(X, Y, Y)))
    assert equal_over_products(left, right_, [])
    monkeypatch.setattr(products, "MAX_SIZE", 2)
    assert not equal_over_products(left, right_, [])


def test_a_result_that_may_be_none_has_no_form_for_the_solver() -> None:
    with pytest.raises(UntranslatableError, match="a result that may be None"):
        Translator().number(ex.optional(P, X))
    assert ex.optional(ex.FALSE, X) is X
