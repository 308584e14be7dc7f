"""Sketches completed without an idea: what is found is right, and what the paper says is found or not."""

from __future__ import annotations

import pytest
from tests.synth import small_sketches as small

from warploom.ir import fill
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.prove import prove
from warploom.synth.search.ablation import Missing, complete_without
from warploom.synth.search.sums import SumConstraint

FOUND: dict[tuple[str, Missing], bool] = {
    ("sum-crc-8x1", "naive-1"): True,
    ("sum-crc-8x2", "naive-1"): False,
    ("sum-crc-8x2", "naive-2"): False,
    ("sum-crc-8x3", "naive-1"): False,
    ("sum-crc-8x3", "naive-2"): True,
    ("sum-crc-4x3", "no-accumulators"): True,
    ("multiply-2", "no-accumulators"): True,
    ("multiply-4", "naive-1"): True,
}
"""As in Swizzle Inventor, table 2, at its sizes: a depth of 1 does for one word, 2 does not for two words."""
SKETCHES = {
    **{f"sum-crc-{n}x{m}": small.sum_crc(n, m) for n, m in ((8, 1), (8, 2), (8, 3), (4, 3))},
    **{f"multiply-{n}": small.multiply(n) for n in (2, 4)},
}


@pytest.mark.parametrize(("name", "missing"), FOUND)
def test_completions_without_an_idea(name: str, missing: Missing) -> None:
    sketch = SKETCHES[name]
    found = complete_without(sketch, missing, budget_s=20)
    assert found.status == ("solved" if FOUND[name, missing] else "unsat"), found.reason
    if found.holes:
        assert found.verdict == "proved" and sketch.spec is not None
        assert prove(fill(sketch.kernel, found.holes), sketch.spec, {}, kernel_algebra(sketch)).verdict == "proved"


def test_without_accumulators_an_output_is_evaluated_once_its_own_holes_are_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("sums of products say nothing about words")

    monkeypatch.setattr(SumConstraint, "narrow", fails)
    found = complete_without(small.multiply(4, constants=(0, 1, -1)), "no-accumulators", budget_s=60)
    assert found.verdict == "proved" and found.statistics.nodes < 200  # 2,028 where both outputs wait for the last hole


def test_a_spent_budget_is_no_proof() -> None:
    found = complete_without(SKETCHES["multiply-4"], "no-accumulators", budget_s=0.05)
    assert found.status == "unknown" and found.reason.startswith("budget")
