"""Blocks that run different numbers of rounds: what the busiest multiprocessor has, and the modelled time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.schedule.cuda.test_rounds import BOUNDS, band

from warploom.schedule.cost import modelled
from warploom.schedule.cost.loads import loads_per_output
from warploom.schedule.cost.uneven import busiest_of
from warploom.schedule.nest import Kind, Loop, Nest, loops
from warploom.schedule.targets import target

SM_90 = target("sm_90")


def rounds_of(nest: Nest) -> int:
    return next(x.size for x in loops(nest.body) if x.name == "j")


@pytest.mark.parametrize(
    ("cores", "at_once", "blocks", "rounds"),
    [
        (1, 1, 7, 4),  # 1 + ... + 7 rounds
        (7, 1, 1, 7),
        (2, 1, 4, 4),  # 1, 3, 5, 7
        (2, 9, 4, 4),  # the same, without regard to what there is to do
        (3, 1, 3, 4),  # 1, 4 and, behind the shortest, 7
        (100, 1, 1, 7),
    ],
)
def test_what_the_busiest_multiprocessor_runs(cores: int, at_once: int, blocks: int, rounds: int) -> None:
    found = busiest_of(band(BOUNDS["up to the block"]), cores, at_once)
    assert (found.blocks, rounds_of(found.nest), rounds_of(found.longest)) == (blocks, rounds, 7)
    assert not any(x.only for x in loops(found.nest.body))


def test_blocks_without_guards_are_alike() -> None:
    nest = band(())
    found = busiest_of(nest, 3, 1)
    assert (found.blocks, found.nest, found.longest) == (3, nest, nest)


def test_the_order_of_blocks_is_that_of_the_hardware() -> None:
    """The dimension x comes first, whichever loop is outside."""
    inner = band(BOUNDS["up to the block"])
    (own,) = inner.body
    assert isinstance(own, Loop)
    for place, rounds in ((0, 5), (1, 7)):  # 1, 1, 1, 2, 2 ..., so that one of 7 gets 3, 5 and 7; or 1 to 7 three times
        outer = Loop(99, "g", Kind.BLOCK, 3, (replace(own, hardware=1 - place),), hardware=place)
        found = busiest_of(replace(inner, body=(outer,)), 7, 9)
        assert (found.blocks, rounds_of(found.nest)) == (3, rounds)


def test_half_of_the_rounds_take_about_half_of_the_time() -> None:
    masked, whole = (modelled(band(forms, blocks=20_000, rounds=50), SM_90) for forms in (((-400, 1, 0),), ()))
    assert 0.45 < masked.time_ms / whole.time_ms < 0.62
    assert masked.traffic.read == pytest.approx(whole.traffic.read / 2, rel=0.1)


def test_a_block_to_each_multiprocessor_takes_as_long_as_the_longest() -> None:
    masked, whole = (modelled(band(forms, blocks=100, rounds=100), SM_90) for forms in (((-1, 1, 0),), ()))
    assert masked.time_ms == pytest.approx(whole.time_ms)


def test_loads_of_rounds_that_are_left_out_do_not_count() -> None:
    assert loads_per_output(band(())) == 9.0
    assert loads_per_output(band(BOUNDS["up to the block"])) == 4.0
