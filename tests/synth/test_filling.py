"""A sketch's holes as choices of a search: the same answers as `complete`, whatever decides the holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warploom.ir import Hole, HoleArg, IndexConst, index_text, parse_index, parse_kernel
from warploom.kernels import line
from warploom.sketch import Sketch
from warploom.solve import declared_order, search
from warploom.synth import Filling, complete, read_holes
from warploom.synth.filling import table_of
from warploom.synth.network.network import HoleUses
from warploom.synth.problem import Problem
from warploom.synth.proof.judge import Judged

from .test_complete import GUARDED, TILE, XFORM, _sketch, half, moved, reverse  # pyright: ignore[reportPrivateUsage]


def answer(sketch: Sketch) -> Any:
    filling = Filling(sketch)
    outcome = search(filling, strategy=declared_order)
    return filling, outcome.answers[0][1] if outcome.answers else None


@pytest.mark.parametrize("sketch", [_sketch(TILE.format(sync="sync()"), reverse, XFORM), line.conv1d(3, 1, 1)])
def test_the_search_finds_what_completing_finds(sketch: Sketch) -> None:
    _, found = answer(sketch)
    expected = complete(sketch)
    assert (found.status, found.verdict, found.domain) == (expected.status, expected.verdict, expected.domain)
    assert found.completions[0].holes == expected.completions[0].holes
    assert (found.completions[0].accumulates, found.space) == (expected.completions[0].accumulates, expected.space)


def test_a_size_at_which_an_answer_fails_is_completed_at() -> None:
    filling, found = answer(Sketch(parse_kernel(GUARDED), moved, {"n": 40}))
    assert found.verdict == "proved"
    assert index_text(found.completions[0].holes["guard"], ("g", "n")) == "g < n"
    assert filling.problem.more and not filling.gave_up


def test_an_answer_with_a_fault_gives_way_to_one_without() -> None:
    body = "v: i32 = x[thread_id + hole('by')]\nif thread_id < 4:\n    y[thread_id] = x[thread_id]\n"
    _, found = answer(_sketch(body, half, "@hole('by', kind='const', args=(), constants=(1, 0))", outputs=8))
    assert found.completions[0].holes == {"by": IndexConst(0)}


def test_a_fault_of_the_sketch_itself_ends_it() -> None:
    filling, found = answer(_sketch(TILE.format(sync=""), reverse, XFORM))
    assert found is None
    assert filling.problem.refused


def test_judges_that_disagree_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from warploom.synth import problem

    def disagree(*arguments: Any) -> Judged:
        judged = real(*arguments)
        return Judged(judged.proof, None, "", "refuted", None, "", (), disagreement="one says no")

    real = problem.judge
    monkeypatch.setattr(problem, "judge", disagree)
    filling, found = answer(line.conv1d(3, 1, 1))
    assert found is None
    assert filling.gave_up == "one says no"
    assert filling.root() is None


def test_a_sketch_without_holes_is_judged_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Problem, "engine", None)  # there is nothing to search
    _, found = answer(line.conv1d_shared(3, 1))
    assert (found.status, found.verdict, found.space, dict(found.completions[0].holes)) == ("solved", "proved", 1, {})
    assert (found.completions[0].accumulates, found.completions[0].executed) == (1, 3)


def test_a_wrong_sketch_without_holes_has_no_answer() -> None:
    _, found = answer(_sketch(TILE.format(sync="sync()").replace("hole('from', thread_id, 0)", "thread_id"), reverse, ""))
    assert found is None


def test_holes_decided_before_are_kept() -> None:
    sketch = line.conv1d(3, 1, 1)
    filling = Filling(sketch)
    decided = read_holes(sketch, {"weight": "2 - k", "other": "k"})
    assert set(decided) == {"weight"}
    assert filling.values(decided) == {
        "row": ["0 if lane + k > 1 else 1"], "lane": ["(lane - k + 2) % 32"], "weight": ["2 - k"],
    }  # fmt: skip
    assert filling.values(read_holes(sketch, {"weight": "9"})) == {"row": [], "lane": [], "weight": []}
    root = filling.root_with(decided)
    assert root is not None and filling.decisions(root) == decided


def uses(kind: Any, **fields: Any) -> HoleUses:
    return HoleUses(Hole("h", kind, ("a",), **fields), np.arange(3).reshape(3, 1), fields.get("n", 2))


@pytest.mark.parametrize(
    ("use", "text", "expected"),
    [
        (uses("xform", n=3), "2 - a", [2, 1, 0]),
        (uses("xform", n=3), "a + 1", None),  # 3 is no value
        (uses("xform", n=3), "a - 1", None),
        (uses("cond"), "a < 2", [1, 1, 0]),
        (uses("cond"), "arg(1) < 2", None),
        (uses("const", constants=(4, 7)), "7", [1, 1, 1]),
        (uses("const", constants=(4, 7)), "1", None),
        (uses("const", constants=(4, 7)), "a", None),
        (uses("choose", n=2), "a", [0, 0, 0]),
        (uses("choose", n=2), "0", None),
    ],
)
def test_values_of_what_a_user_writes(use: HoleUses, text: str, expected: list[int] | None) -> None:
    table = table_of(parse_index(text, use.hole.arg_names), use)
    assert (None if table is None else table.tolist()) == expected
    assert parse_index("a", ("a",)) == HoleArg(0)
