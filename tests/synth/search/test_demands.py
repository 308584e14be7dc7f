"""Looking ahead removes no function that a completion has: three gathers in a row, all completions listed."""

from __future__ import annotations

import random
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import warploom as wl
from warploom.core import i32
from warploom.synth.problem import Problem
from warploom.synth.search import demands, lookahead
from warploom.synth.search.demands import ANY_OPTION, NO_OPTION, Demands, only_option, spread
from warploom.synth.search.lookahead import Lookahead
from warploom.synth.search.propagation import Candidate, pack
from warploom.synth.search.sketch_model import SketchModel

LANES, WORDS = 4, 2
Goal = list[int]
"""Element of the input per element of the output."""


def sketch_of(goal: Goal):
    def spec(src, dst):
        for n in range(LANES * WORDS):
            dst[n] = src[goal[n]]

    @wl.sketch(spec=spec, block=LANES, warp_size=LANES)
    def moved(src: wl.Global[i32, LANES * WORDS], dst: wl.Global[i32, LANES * WORDS]):
        lane = wl.lane_id()
        loaded = wl.register(i32, WORDS)
        columns = wl.register(i32, WORDS)
        rows = wl.register(i32, WORDS)
        out = wl.register(i32, WORDS)
        wl.global_to_register(src, loaded)
        for i in range(WORDS):
            columns[i] = loaded[wl.xform(i, WORDS, lane, name="column")]
        for i in range(WORDS):
            rows[i] = wl.shfl(columns[i], wl.xform(lane, LANES, i, name="row"), LANES)
        for i in range(WORDS):
            out[i] = rows[wl.xform(i, WORDS, lane, name="column_after")]
        wl.register_to_global(out, dst)

    return moved


def moves(column: dict[Any, int], row: dict[Any, int], after: dict[Any, int]) -> Goal:
    """The terms that these functions bring to each element of the output."""
    goal: Goal = []
    for register, lane in product(range(WORDS), range(LANES)):
        middle = after[register, lane]
        sender = row[lane, middle]
        goal.append(LANES * column[middle, sender] + sender)
    return goal


def model_of(goal: Goal) -> SketchModel:
    problem = Problem(sketch_of(goal), 0, None)
    assert not problem.prepare()
    engine = problem.engine()
    model = engine.started(engine.function_sets(2), None)
    assert model is not None
    return model


def listed(model: SketchModel) -> list[list[dict[Any, int]]]:
    """Per hole: its functions as tables over its arguments."""
    found: list[list[dict[Any, int]]] = []
    for use, members in zip(model.network.holes, model.sets, strict=True):
        functions = members.matching(np.ones((members.points, members.values), np.bool_))
        assert functions is not None
        points = [tuple(p) for p in use.points.tolist()]
        found.append([dict(zip(points, table, strict=True)) for table in functions.tables.tolist()])
    return found


def check(model: SketchModel, candidate: Candidate, good: set[tuple[Any, ...]]) -> int:
    """`good`: completions below the candidate, as tables. How many functions looking ahead refutes."""
    refuted = 0
    for hole, functions in enumerate(candidate.functions):
        assert functions is not None
        left = Lookahead(candidate, model.constraints, hole, len(model.required.universe)).surviving(functions)
        kept = {tuple(functions.tables[j].tolist()) for j in left}
        assert {tables[hole] for tables in good} <= kept
        refuted += len(functions) - len(left)
    return refuted


def test_no_function_of_a_completion_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookahead, "GLANCE", 1)
    monkeypatch.setattr(demands, "_GLANCES", (1,))
    holes = listed(model_of(list(range(8))))
    ends = [(tables, moves(*tables)) for tables in product(*holes)]
    refuted = 0
    for seed in range(12):
        rng = random.Random(seed)
        goal = list(rng.choice(ends)[1])
        if seed % 3 == 0:
            goal[rng.randrange(8)] = rng.randrange(8)
        model = model_of(goal)
        candidate = model.root()
        good = {tuple(tuple(t.values()) for t in tables) for tables, end in ends if end == goal}
        if candidate is None:
            assert not good
            continue
        refuted += check(model, candidate, good)
        for hole in rng.sample(range(3), 2):
            functions = candidate.functions[hole]
            assert functions is not None
            position = rng.randrange(len(functions))
            chosen = tuple(functions.tables[position].tolist())
            good = {tables for tables in good if tables[hole] == chosen}
            decided = model._decided(candidate, hole, functions, position)
            if decided is None:
                assert not good
                break
            candidate = decided
            refuted += check(model, candidate, good)
    assert refuted > 100


def test_what_many_options_bring_is_left_open() -> None:
    fits = np.array([[False, True, False], [False, False, False], [True, True, False]])
    assert only_option(fits).tolist() == [1, NO_OPTION, ANY_OPTION]
    assert spread(np.arange(10), 3).tolist() == [0, 4, 9]
    assert spread(np.arange(10), None).tolist() == list(range(10))


@pytest.mark.parametrize(
    ("wanted", "source", "asked", "agrees"),
    [
        ([-1, -1, -1], [1, 2], [0, 1], True),
        ([-1, 0, -1], [1, 2], [0, 1], True),
        ([-1, -1, -1], [1, 1], [-1, 1], True),
        ([-1, -1, -1], [1, 1], [0, 1], False),  # a cell that must hold two values
        ([-1, 1, -1], [1, 2], [0, 1], False),  # one that must hold another value already
        ([-1, -1, -1], [1, 2], [2, 1], False),  # one that cannot hold it
        ([-1, -1, -1], [0, 2], [1, 1], False),  # nothing was written there
    ],
)
def test_what_sources_must_hold(wanted: list[int], source: list[int], asked: list[int], agrees: bool) -> None:
    domains = pack(np.array([[False] * 3, [True, True, False], [True, True, True]]), 1)
    at: Any = SimpleNamespace(domains=domains)
    at._may_hold = lambda cell, value: Demands._may_hold(at, cell, value)
    found = Demands._agree(at, np.array([wanted]), np.array([0]), np.array([source]), np.array([asked]))
    assert found.tolist() == [agrees]


@pytest.mark.slow
@pytest.mark.parametrize("words", [10, 12, 14, 18, 20])
def test_stores_whose_words_share_a_factor_with_the_lanes(words: int) -> None:
    tiles = wl.size("tiles")

    def spec(src, dst, tiles):
        for t in range(tiles):
            for i in range(32):
                for j in range(words):
                    dst[32 * words * t + 32 * j + i] = src[32 * words * t + words * i + j]

    @wl.sketch(spec=spec, block=32, grid=tiles, complete_at={"tiles": 1})
    def store(src: wl.Global[i32, 32 * words * tiles], dst: wl.Global[i32, 32 * words * tiles]):
        lane = wl.lane_id()
        first = 32 * words * wl.block_id()
        loaded = wl.register(i32, words)
        columns = wl.register(i32, words)
        rows = wl.register(i32, words)
        out = wl.register(i32, words)
        wl.global_to_register(src, loaded, offset=first)
        for i in range(words):
            columns[i] = loaded[wl.compose(i, words, lane, grammar="long", name="column")]
        for i in range(words):
            rows[i] = wl.shfl(columns[i], wl.compose(lane, 32, i, grammar="long", name="row"))
        for i in range(words):
            out[i] = rows[wl.compose(i, words, lane, name="column_after")]
        wl.register_to_global(out, dst, offset=first)

    done = wl.complete(store)
    assert (done.status, done.verdict) == ("solved", "proved")
    assert all(s.refuted < 1000 for s in done.report.spaces)
