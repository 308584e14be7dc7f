"""Steps of transposes that are none, each asked by itself."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.synth.transposes.problem import Transpose


@pytest.mark.parametrize(
    ("inner_end", "outer_start", "found"),
    [([0, 1, 0, 1], [0, 0, 1, 1], True), ([0, 0, 0, 0], [0, 0, 1, 1], False), ([0, 1, 0, 1], [0, 0, 0, 0], False)],
)
def test_steps_that_do_not_permute(inner_end: list[int], outer_start: list[int], found: bool) -> None:
    at: Any = SimpleNamespace(
        ends=(np.array([0, 0, 1, 1]), np.array(inner_end)),
        starts=(np.array(outer_start), np.array([0, 1, 0, 1])),
        outer=2,
        inner=2,
    )
    assert (Transpose._tables(at, np.array([[0, 1], [2, 3]])) is not None) is found


def test_texts_that_are_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = import_module("warploom.synth.transposes.replay")  # the package has a function of this name
    monkeypatch.setattr(replay, "_primitive", lambda _: lambda value, other: value - other)
    assert replay._index_map("less(i)")(3, 2) == 1
    with pytest.raises(ValueError, match="negative index -1"):
        replay._index_map("less(j)")(3, 2)
    with pytest.raises(ValueError, match=r"expected \(i\) or \(j\) at the end"):
        replay._index_map("less(k)")


def test_a_table_that_is_no_word_costs_more_than_any_word() -> None:
    def source(number: int | None) -> Any:
        return SimpleNamespace(limit=5, costs=[2, 3], find=lambda _: number, composition=lambda *_: "step")

    join = import_module("warploom.synth.transposes.join")
    tables = SimpleNamespace(first="a", second="b", third="c")
    for numbers, cost, best in (((0, 1), 7, 7), ((None, 1), 15, None), ((0, None), 10, None)):
        at: Any = SimpleNamespace(
            _outer=source(numbers[0]), _inner=source(numbers[1]), _names=("i", "j"), _problem=SimpleNamespace(steps=3), _best=None
        )
        assert join.Join._look_up(at, tables) == cost
        assert (at._best and at._best.cost) == best
