"""Levels of a kernel's tree that are counted at once are those of its decisions one by one."""

from __future__ import annotations

import pytest

from warploom.kernels.tensors import PAPER_SPACES
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features
from warploom.schedule.search import KernelModel, Recipe
from warploom.schedule.targets import K4000
from warploom.solve import enumerate_levels

DEPTH = 5


@pytest.mark.parametrize("features", [Features.paper(), Features.of(K4000)], ids=["paper", "ours"])
def test_levels_counted_at_once(features: Features, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's order is a list of choices; ours depends on the loops, so that nothing is counted at once."""
    (stage,) = next(space for space in PAPER_SPACES if space.name == "axpy").program().stages
    model = Recipe(stage, K4000, Bound, features)()
    widths, below = model.widths(model.root(), 2), (int(7.05e9),)
    assert (widths is None) == (not features.exact)
    depth = DEPTH if features.exact else 3
    counted = enumerate_levels(model, depth, below=below).levels
    assert widths is None or tuple(widths) == counted.nodes[1:3]
    assert any(kept < nodes for kept, nodes in zip(counted.kept, counted.nodes, strict=True)) or not features.exact
    monkeypatch.setattr(KernelModel, "widths", lambda self, step, levels: None)
    assert enumerate_levels(model, depth, below=below).levels == counted
