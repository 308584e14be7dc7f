"""Runs of blocks of which nothing is said: each reason refuses alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from warploom.core import DType, f32, f64
from warploom.schedule.backbone import Repetition
from warploom.synth.compiled import CompiledProof, NotAlikeError
from warploom.terms import atom
from warploom.tools.explore import every_block
from warploom.tools.explore.every_block import RECONVERGED, Blocks


@pytest.mark.parametrize(
    ("looked", "told"),
    [
        ({}, ""),
        ({"ordered": {"x"}}, "look at the order of x in memory"),
        ({"notes": [RECONVERGED]}, "look at the active threads"),
    ],
)
def test_what_a_block_looks_at(looked: dict[str, Any], told: str) -> None:
    run: Any = SimpleNamespace(**{"loaded": {"x"}, "stored": {"y"}, "ordered": set(), "notes": [], "thread_steps": 1, **looked})
    first = CompiledProof("unchecked", "", "the first block")
    blocks: Any = SimpleNamespace(loaded=set(), stored=set(), outputs=["y"], _first_block=lambda *_: first)
    nothing: Any = None
    if told:
        with pytest.raises(NotAlikeError, match=told):
            Blocks.prove_box(blocks, nothing, run)
    else:
        assert Blocks.prove_box(blocks, nothing, run) is first


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        ([{("x", 0, 4), ("x", 1, 4)}, {("x", 0, 4)}], ""),
        ([{("x", 0, 4), ("x", 1, 8)}], "all places of x to move alike with the rounds, got 4 and 8"),
    ],
)
def test_rounds_that_move_alike(monkeypatch: pytest.MonkeyPatch, rounds: list[set[tuple[str, int, int]]], told: str) -> None:
    def repetition(stage: object, places: dict[str, tuple[int, list[int]]], steps: int) -> Repetition:
        return Repetition(0, (places["x"][1][0],), places["x"][0], steps)

    monkeypatch.setattr(every_block, "_moving_elements", lambda repeat: repeat.elements)
    monkeypatch.setattr(every_block, "repetition", repetition)
    blocks: Any = SimpleNamespace(stage=None)
    run: Any = SimpleNamespace(repeats=[SimpleNamespace(elements=elements, steps=3, is_open=False) for elements in rounds])
    if told:
        with pytest.raises(NotAlikeError, match=told):
            Blocks._repeated(blocks, run)
    else:
        assert Blocks._repeated(blocks, run) == Repetition(0, (0,), 4, 3)


def test_totals_of_several_types_are_refused() -> None:
    one, other = atom("%sum", (0,)), atom("%sum", (1,))
    repeats = [SimpleNamespace(sums={one: one}), SimpleNamespace(sums={other: other})]

    def run(*kinds: DType) -> Any:
        return SimpleNamespace(repeats=repeats, data=SimpleNamespace(kinds=dict(zip((one, other), kinds, strict=True))))

    assert every_block._kind_of_totals(run(f64, f64)) is f64
    with pytest.raises(NotAlikeError, match="values of one type, got f32 and f64"):
        every_block._kind_of_totals(run(f64, f32))
