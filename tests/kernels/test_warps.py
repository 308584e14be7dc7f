"""Blocks of several warps, each with a part of shared memory of its own; the last block may have fewer than it has warps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warploom.kernels import field, structs, wide_polynomial
from warploom.sketch import Sketch
from warploom.synth import complete


@pytest.mark.parametrize(
    "sketch",
    [
        lambda: structs.store_shared(3, warps=2), lambda: structs.sum_shared(2, warps=2), lambda: field.ffm_shared(32, warps=2),
        lambda: wide_polynomial.mult_shared(2, 4, warps=2),
    ],
)  # fmt: skip
def test_several_warps_are_proved_for_every_size(sketch: Callable[[], Sketch]) -> None:
    report = complete(sketch(), space=1)
    assert report.verdict == "proved" and report.lift.startswith("proved"), report.lift
