"""Counting for every value of a size: each reason refuses alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tools.explore.test_every_size import BODY, SHARED, by_hand, doubled

from warploom.gpu import toolchain_available
from warploom.synth.compiled import Box, NotAlikeError, Stores
from warploom.tools.explore import every_size
from warploom.tools.explore.every_size import _Part, _Sizes, prove_sizes
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

BLOCKS = 250
WHOLE = Box((0, 0, 0, 0), (BLOCKS, 1, 1, 1000), (4, 4, 0, 0, 1))
"""Blocks of tiles of 4 with 4 left, or more."""


def sizes() -> _Sizes:
    stage, kernel = by_hand(doubled, BODY, 4, 4)
    found = _Sizes(stage, kernel, arguments_of(stage, kernel))
    found.greatest = 1000
    return found


def part(elements: list[int], *boxes: Box, moves: tuple[int, ...] = (4, 0, 0, 0)) -> _Part:
    return _Part({"z": [Stores(boxes[0], np.array(elements, np.int64), moves)]}, list(boxes))


def test_rows_are_stored_once() -> None:
    sizes()._check_stores(part([3, 1, 0, 2], WHOLE), range(4, 9), is_of_threads=False)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (part([0, 1, 2, 3], WHOLE, WHOLE), "left in one box, got 2"),
        (part([0, 1, 2, 3], replace(WHOLE, size=(5, 4, 0, 0, 1))), "left in one box, got 0"),
        (part([0, 1, 2, 3], WHOLE, moves=(5, 0, 0, 0)), "behind those of the block before"),
        (part([0, 1, 2, 4], WHOLE), "each element"),
        (part([0, 1, 2, 3, 4], WHOLE), "each element"),
        (part([-1, 0, 1, 2, 3], WHOLE), "each element"),
        (part([0, 1, 2, 3, 3], WHOLE), "each element"),
        (part([0, 1, 2], WHOLE), "each element"),
    ],
)
def test_stores_that_are_refused(found: _Part, told: str) -> None:
    with pytest.raises(NotAlikeError, match=told):
        sizes()._check_stores(found, range(4, 5), is_of_threads=False)


def test_too_many_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every_size, "_MOST_COUNTED", 7)
    sizes()._check_stores(part([0, 1, 2, 3], WHOLE), range(4, 5), is_of_threads=False)
    with pytest.raises(NotAlikeError, match="at most 7 stores"):
        sizes()._check_stores(part([0, 1, 2, 3], WHOLE), range(4, 6), is_of_threads=False)


def test_an_array_without_rows_of_the_size() -> None:
    found = sizes()
    found.stage = replace(found.stage, regions=tuple(replace(r, run_time=None) for r in found.stage.regions))
    with pytest.raises(NotAlikeError, match="as many rows"):
        found._check_stores(part([0, 1, 2, 3], WHOLE), range(4, 5), is_of_threads=False)


@pytest.mark.parametrize(
    "box",
    [
        replace(WHOLE, first=(1, 0, 0, 0)),
        replace(WHOLE, counts=(BLOCKS - 1, 1, 1, 1000)),
        replace(WHOLE, size=(4, 3, 0, 0, 1)),
    ],
)
def test_blocks_with_as_much_left_run_alike(box: Box) -> None:
    sizes()._check_blocks(WHOLE, BLOCKS)
    with pytest.raises(NotAlikeError, match="run alike"):
        sizes()._check_blocks(box, BLOCKS)


def test_the_last_cut() -> None:
    below = Box((0, 0, 0, 0), (BLOCKS, 1, 1, 10), (30, 4, 0, 0, -1))
    assert sizes()._last_cut([WHOLE]) == 4 and sizes()._last_cut([WHOLE, below]) == 30
    with pytest.raises(NotAlikeError, match="large values"):
        sizes()._last_cut([replace(below, size=(2000, 4, 0, 0, -1))])


@pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
def test_work_at_edges_has_a_limit() -> None:
    stage, kernel = by_hand(doubled, SHARED.replace("4", "32").replace("3 -", "31 -"), 32, 32)
    ptx, arguments = compiled_for_proof(stage, kernel), arguments_of(stage, kernel)
    found = prove_sizes(stage, kernel, ptx, arguments, 1500, (True, True, True))
    assert found.verdict == "unchecked" and "31 ways in which a block ends" in found.reason
