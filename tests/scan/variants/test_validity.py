"""Why a variant is not called proved, one reason at a time."""

from __future__ import annotations

import pytest

from warploom.scan.networks import NAMED, Generalised, Program, generalise
from warploom.scan.variants import (
    SegmentedOperator,
    Variant,
    is_associative,
    is_serial_step,
    segmented,
    segmented_operator,
    segments,
    validity,
    variant,
)


def program() -> Program:
    found = generalise(NAMED["kogge-stone"](16))
    assert isinstance(found, Generalised)
    return found.program


def test_a_size_that_fails_refutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variant, "first_failure", lambda *_: 37)
    assert (validity(Variant(program())).verdict, validity(Variant(program())).reason) == ("refuted", "no scan for n = 37")


def test_without_a_proof_it_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variant, "prove_every_size", lambda *_: "why")
    found = validity(Variant(program()), 64)
    assert (found.verdict, found.largest, found.reason) == ("tested", 64, "why")


@pytest.mark.parametrize("wrong", ["solutions", "is_associative", "is_serial_step"])
def test_the_segmented_operator_must_be_proved(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, wrong, lambda *_: [] if wrong == "solutions" else False)
    segmented_operator.cache_clear()
    with pytest.raises(AssertionError, match="expected one proved segmented operator"):
        validity(segmented(Variant(program())))
    segmented_operator.cache_clear()


def test_each_law_of_segments_refuses_alone() -> None:
    right = segmented_operator("heads")
    steps = [o for o in segments.candidates() if is_serial_step(o, "heads")]
    assert right in steps and all(is_associative(o) for o in steps) == (len(steps) == 1)
    associative = SegmentedOperator(("x",) * 4, (False, False, True, True))
    assert is_associative(associative) and not is_serial_step(associative, "heads")
    crooked = SegmentedOperator(("x op y", "y", "x op y", "x"), (False, True, True, True))
    assert not is_associative(crooked)
