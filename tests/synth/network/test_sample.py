"""Deciding on a part of the network first changes no result."""

from __future__ import annotations

import pytest

from warploom.kernels import conv1d, stencil2d
from warploom.sketch import Sketch
from warploom.synth import complete
from warploom.synth.network import sample


@pytest.mark.parametrize("sketch", [conv1d(3, warps=1), stencil2d(2, (1, 1))], ids=lambda s: s.name)
def test_all_solutions_are_the_same(sketch: Sketch, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = complete(sketch, all_solutions=True)
    taken: list[int] = []
    below = sample.Sample.below
    monkeypatch.setattr(sample, "WORTH_IT", 0)
    monkeypatch.setattr(sample.Sample, "below", lambda self, candidate: taken.append(1) or below(self, candidate))
    part = complete(sketch, all_solutions=True)
    assert taken
    assert whole.completions
    assert [c.holes for c in part.completions] == [c.holes for c in whole.completions]
