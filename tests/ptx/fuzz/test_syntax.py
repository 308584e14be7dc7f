"""One hundredth of the mutation fuzzing, and large hostile texts."""

import random

import pytest

from . import syntax
from .large import large_texts
from .syntax import SEEDS, check, given, mutate, run

LARGE = large_texts(20_000)


def test_mutated_inputs() -> None:
    summary = run(2_000, seed=2026)
    assert set(summary.endings) == {"good", "wrong", "refused"}


def test_inputs_can_be_repeated() -> None:
    assert given(7, 3) == given(7, 3)
    assert given(7, 3) != given(7, 4)
    assert mutate(SEEDS[0], random.Random(1)) == mutate(SEEDS[0], random.Random(1))


def test_a_failure_names_seed_input_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> str:
        raise RecursionError("too deep")

    monkeypatch.setattr(syntax, "check", broken)
    with pytest.raises(AssertionError, match=r"^seed 5, input 9: RecursionError: too deep\n'"):
        run(1, seed=5, first=9)


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_large_texts(text: str) -> None:
    assert check(text) in ("good", "wrong", "refused")
