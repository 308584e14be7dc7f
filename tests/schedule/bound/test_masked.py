"""A bound of kernels that leave out tiles stays below what any distribution of their blocks takes, and below the model."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.schedule.cost.test_above_bound import random_step
from tests.schedule.online.attention_forms import causal, plain

from warploom.schedule.backbone import Backbone, Mask, read_once
from warploom.schedule.bound import Bound
from warploom.schedule.bound.masked import unmasked_share
from warploom.schedule.choices import kernel_space
from warploom.schedule.online import online
from warploom.schedule.search import KernelModel
from warploom.schedule.targets import target


def masked(least: float, mean: float, most: float) -> Backbone:
    found = online(plain(causal, {"n": 4, "m": 4, "d": 2}), 2)
    assert isinstance(found, Backbone) and found.rewritten is not None and found.rewritten.mask is not None
    forms = found.rewritten.mask.forms
    return replace(found, rewritten=replace(found.rewritten, mask=Mask(forms, least, mean, most)))


def divides(backbone: Backbone, *, all_of: bool = True) -> np.ndarray:
    return np.full(len(backbone.axes), all_of, np.uint8)


@pytest.mark.parametrize("seed", range(12))
def test_no_distribution_of_blocks_takes_less(seed: int) -> None:
    """All ways to give up to seven blocks to up to three places; the bound has as many whole blocks as the fullest place."""
    chance = random.Random(seed)
    shares = [chance.choice([0.05, 0.2, 0.5, 1.0, chance.random() + 0.01]) for _ in range(chance.randint(1, 7))]
    stage = masked(min(shares), sum(shares) / len(shares), min(1.0, max(shares)))
    share = unmasked_share(stage, divides(stage))
    for places in (1, 2, 3):
        least = min(
            max(sum(s for s, at in zip(shares, chosen, strict=True) if at == place) for place in range(places))
            for chosen in product(range(places), repeat=len(shares))
        )
        assert share * -(-len(shares) // places) <= least * (1 + 1e-9)


def test_shares() -> None:
    stage = masked(0.1, 0.5, 1.0)
    assert unmasked_share(stage, divides(stage)) == pytest.approx(1 / 3)
    assert unmasked_share(stage, divides(stage, all_of=False)) == 0.1
    assert unmasked_share(masked(0.1, 0.4, 1.0), divides(stage)) == pytest.approx(0.4 * 3 / 4)  # four blocks, three of them 0.4
    alike = masked(0.3, 0.3, 0.3)
    assert unmasked_share(alike, divides(alike)) == pytest.approx(0.3)
    assert unmasked_share(stage.plain, divides(stage.plain)) == 1.0


def test_the_model_is_above_the_bound_of_a_masked_kernel() -> None:
    on = target("sm_90")
    stage = online(read_once(causal.program({"n": 16, "m": 16, "d": 2}, {"causal.i": ((2,),)}).stages[0]), 4)
    assert isinstance(stage, Backbone)
    space = kernel_space(stage, on)
    bound = Bound(space)
    model = KernelModel(space, bound)
    root = space.root()
    assert stage.rewritten is not None and stage.rewritten.mask is not None
    assert bound.of(root) == pytest.approx(
        bound.explain(root).parts[0].time_ms * unmasked_share(stage, bound.problem.axis_divides)
    )
    assert on.rates.speeds.time_ns(bound.work(root)) / 1e6 == pytest.approx(bound.of(root), rel=1e-9)
    assert bound.explain(root).what.endswith("of all tiles, at least")
    found = model.answer(random_step(model, 1))
    assert found is not None
    made = bound.modelled(found[1].candidate, found[1].nest)
    assert made.time_ms >= found[1].bound_ms == bound.of(found[1].candidate)
