"""Values that all steps of a loop hand on, and the symbols for them that two sides share."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from warploom.core import f32
from warploom.synth.compiled.base_two import LOG2_E
from warploom.synth.compiled.carried import Added, AddedRescaled, Carried, Offered
from warploom.synth.compiled.data import Data
from warploom.synth.compiled.rescaled import POWERS, Rescaled, with_roundings
from warploom.synth.compiled.totals import MovingError, Totals
from warploom.terms import GREATEST, FormTooLargeError, Term, algebra_for, apply, atom, constant

MOVING, OTHER, STILL = atom("x", (3, 8)), atom("x", (4, 8)), atom("y", (4,))
ONE, TWO, THREE = (atom("%sum", (n,)) for n in (1, 2, 3))
SUM, TOP, WEIGHTED = (atom("%sum", (n,)) for n in (11, 12, 13))


def power(exponent: Term) -> Term:
    return apply("ex2", apply("*", exponent, LOG2_E))


def shared(root: Term, sums: dict[Term, Term], notes: set[str] | None = None) -> Term:
    return Totals(algebra_for(f32), {"x": f32, "y": f32}, sums, set() if notes is None else notes).shared(root)


def are_shared(left: Term, right: Term) -> bool:
    """Whether totals of two sides, of these steps, are one."""
    made = Totals(algebra_for(f32), {}, {ONE: left, TWO: right}, set())
    return made.shared(ONE) is made.shared(TWO)


def test_sums_of_one_product_are_one_symbol() -> None:
    assert are_shared(apply("*", MOVING, STILL), apply("*", STILL, MOVING))
    assert are_shared(
        apply("*", apply("+", MOVING, STILL), MOVING), apply("+", apply("*", MOVING, MOVING), apply("*", STILL, MOVING))
    )
    assert are_shared(power(apply("-", MOVING, STILL)), apply("*", power(MOVING), power(apply("neg", STILL))))
    assert not are_shared(MOVING, OTHER)
    assert not are_shared(MOVING, apply("*", MOVING, MOVING))
    assert not are_shared(MOVING, STILL)
    assert not are_shared(power(MOVING), power(apply("+", MOVING, STILL)))


def test_what_does_not_move_stands_outside() -> None:
    """Each step adds it: as often as there are steps, which is no number that is known."""
    symbol = shared(apply("*", STILL, ONE), {ONE: MOVING}).args[1]
    assert symbol.data[0] == "%total"
    assert shared(ONE, {ONE: apply("*", MOVING, STILL)}) in (apply("*", STILL, symbol), apply("*", symbol, STILL))
    notes: set[str] = set()
    shared(ONE, {ONE: power(apply("-", MOVING, STILL))}, notes)
    assert notes == {POWERS}
    assert not are_shared(apply("+", MOVING, constant(1)), MOVING)
    assert shared(ONE, {ONE: apply("*", power(MOVING), power(apply("neg", MOVING)))}) is not constant(1)


def test_the_greatest_of_a_value_is_no_sum_of_it() -> None:
    assert are_shared(apply(GREATEST, apply("max", MOVING, OTHER)), apply(GREATEST, apply("max", OTHER, MOVING)))
    assert not are_shared(apply(GREATEST, MOVING), MOVING)
    assert not are_shared(apply(GREATEST, MOVING), apply(GREATEST, OTHER))
    assert shared(ONE, {ONE: apply(GREATEST, STILL)}) is STILL


WEIGHT = power(apply("-", MOVING, apply("max", MOVING, STILL)))


def rounded(weight: Term, to: str = "f16") -> Term:
    return apply(f"cast.{to}.f32", apply(f"cast.f32.{to}", weight))


def test_weights_of_all_steps_are_rounded_on_both_sides_or_on_none() -> None:
    assert are_shared(rounded(WEIGHT), rounded(WEIGHT)) and are_shared(with_roundings(WEIGHT, ["f16"]), rounded(WEIGHT))
    assert not are_shared(rounded(WEIGHT), WEIGHT)
    assert not are_shared(rounded(WEIGHT), rounded(WEIGHT, "bf16"))
    assert not are_shared(apply(GREATEST, rounded(WEIGHT)), apply(GREATEST, WEIGHT))


def test_symbols_may_stand_anywhere_but_moving_elements_may_not() -> None:
    sums = {ONE: MOVING, TWO: apply(GREATEST, MOVING), THREE: power(apply("-", MOVING, TWO))}
    shared(apply("/", apply("max", ONE, THREE), apply("*", ONE, ONE)), sums)
    with pytest.raises(MovingError, match="only in its sums"):
        shared(apply("+", ONE, MOVING), sums)


def changes(ends: dict[Term, Term]) -> dict[Term, object] | None:
    data = Data()
    for term in (*ends, *ends.values()):
        data.kinds[term] = f32
    return Carried(SimpleNamespace(data=data, notes=set()), ends).changes()  # pyright: ignore[reportArgumentType, reportReturnType]


TOP_AFTER = apply("max", TOP, MOVING)
RESCALED = apply("*", WEIGHTED, power(apply("-", TOP, TOP_AFTER)))
"""The part of a rescaled sum that earlier steps have made."""
NEW = power(apply("-", MOVING, TOP_AFTER))


def test_sums_maxima_and_rescaled_sums_are_told_apart() -> None:
    found = changes({SUM: apply("+", SUM, MOVING), TOP: TOP_AFTER, WEIGHTED: apply("+", RESCALED, NEW)})
    assert found is not None
    assert found[SUM] == Added((MOVING,))
    assert found[TOP] == Offered(MOVING)
    assert found[WEIGHTED] == AddedRescaled(TOP, apply("ex2", apply("*", LOG2_E, MOVING)))


def test_a_rescaled_sum_tells_that_its_weights_were_rounded() -> None:
    found = changes({TOP: TOP_AFTER, WEIGHTED: apply("+", RESCALED, rounded(NEW))})
    assert found is not None
    assert found[WEIGHTED] == AddedRescaled(TOP, with_roundings(apply("ex2", apply("*", LOG2_E, MOVING)), ["f16"]))


@pytest.mark.parametrize(
    "ends",
    [
        {SUM: apply("*", SUM, constant(2))},
        {SUM: apply("+", apply("+", SUM, SUM), MOVING)},
        {SUM: apply("+", SUM, TOP), TOP: TOP_AFTER},
        {SUM: apply("+", SUM, atom("%sum", (12, 1, 0, 0))), TOP: TOP_AFTER},
        {TOP: MOVING},
        {TOP: apply("max", TOP, apply("+", TOP, MOVING))},
        {TOP: apply("max", TOP, apply("+", SUM, MOVING)), SUM: apply("+", SUM, MOVING)},
        {TOP: TOP_AFTER, WEIGHTED: apply("+", apply("*", constant(2), RESCALED), NEW)},
        {TOP: TOP_AFTER, WEIGHTED: apply("+", RESCALED, power(MOVING))},
        {TOP: TOP_AFTER, WEIGHTED: apply("+", RESCALED, apply("*", NEW, SUM)), SUM: apply("+", SUM, MOVING)},
        {TOP: TOP_AFTER, WEIGHTED: apply("+", WEIGHTED, NEW)},
        {TOP: TOP_AFTER, WEIGHTED: apply("+", apply("*", WEIGHTED, power(apply("-", TOP_AFTER, TOP))), NEW)},
        {WEIGHTED: apply("+", RESCALED, NEW)},
    ],
    ids=[
        "doubled", "added twice", "a maximum added", "the maximum of a thread that computes alike added", "no maximum",
        "a maximum of itself and more", "a maximum of a sum", "doubled and rescaled", "a weight that is not rescaled",
        "a weight times a sum", "not rescaled", "rescaled the other way", "rescaled by no maximum that is handed on",
    ],
)  # fmt: skip
def test_other_changes_are_not_followed(ends: dict[Term, Term]) -> None:
    assert changes(ends) is None


def test_a_rescaled_sum_of_too_large_a_form_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {TOP: TOP_AFTER, WEIGHTED: apply("+", RESCALED, NEW)}
    assert changes(ends) is not None

    def large(self: Rescaled, term: Term) -> Term:
        raise FormTooLargeError("too large")

    monkeypatch.setattr(Rescaled, "joined", large)
    assert changes(ends) is None
