"""Sketches completed without an idea: what is found is right, and what the paper says is found or not."""

from __future__ import annotations

import pytest
from tests.synth import small_sketches as small

from warploom.ir import fill
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.prove import prove
from warploom.synth.search.ablation import Missing, complete_without

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


def test_a_spent_budget_is_no_proof() -> None:
    found = complete_without(SKETCHES["multiply-4"], "no-accumulators", budget_s=0.1)
    assert found.status == "unknown" and found.reason.startswith("budget")
