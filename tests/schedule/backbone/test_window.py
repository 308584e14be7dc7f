"""Parts of a backbone are the whole's, and move as told; what does not move evenly is refused."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import (
    Backbone,
    NoWindowError,
    Repetition,
    count_stored,
    evaluate_terms,
    evaluate_window,
    moved,
    points_of,
    repetition,
)
from warploom.terms import Normaliser, Term, algebra_for, atom, iterate_post

CASES = {
    "matmul": ({"m": 4, "n": 6, "k": 5}, {"m": (1, 2), "n": (2, 3)}),
    "conv2d_same": ({"c": 2, "o": 2, "h": 5, "w": 4}, {"h": (1, 2), "o": (1, 1)}),
    "softmax": ({"rows": 4, "columns": 3}, {"r": (2, 2)}),
    "gesummv": ({"n": 4}, {"i": (1, 2)}),
}


def stage_of(name: str) -> Backbone:
    return tensor_kernel(name).program(tensor_kernel(name).sizes_with(CASES[name][0])).stages[0]


def part(stage: Backbone, wanted: dict[str, tuple[int, int]]) -> list[range]:
    return [range(first, first + count) for first, count in (wanted.get(a.name, (0, a.size)) for a in stage.axes)]


@pytest.mark.parametrize("name", list(CASES))
def test_a_part_stores_what_the_whole_stores_there(name: str) -> None:
    stage = stage_of(name)
    window = evaluate_window(stage, part(stage, CASES[name][1]))
    everything = evaluate_terms(stage)
    assert sum(map(len, window.stored.values())) > 0
    for output, stored in window.stored.items():
        for place, term in stored.items():
            assert everything[output].stored[place] and everything[output].terms[place] is term
        assert count_stored(stage, output) == everything[output].stored.sum()


def further_on(term: Term, moves: dict[str, int]) -> Term:
    done: dict[Term, Term] = {}
    for t in iterate_post(term):
        is_element = t.op == "atom" and len(t.data[1]) == 1
        made = atom(t.data[0], (t.data[1][0] + moves[t.data[0]],)) if is_element else t
        done[t] = t.rebuilt([done[a] for a in t.args]) if t.args else made
    return done[term]


MOVES = {
    "matmul": ({"A": 5, "C": 6}, 1, 2),
    "conv2d_same": ({"X": 0, "W": 18, "Y": 20}, 1, 2),
    "softmax": ({"X": 3, "Y": 3}, 1, 3),
}


@pytest.mark.parametrize("name", list(MOVES))
def test_a_part_that_moves_stores_elements_further_on(name: str) -> None:
    stage, (by, _, count) = stage_of(name), MOVES[name]
    axis = {"matmul": "m", "conv2d_same": "o", "softmax": "r"}[name]
    points = part(stage, {axis: (0, 1)})
    known = {r.name: 0 for r in stage.regions} | by
    window = evaluate_window(stage, points)
    moved(stage, points, {n: (s, 0, 0) for n, s in known.items()}, (count, 1, 1))
    everything = evaluate_terms(stage)
    for output, stored in window.stored.items():
        for place, term in stored.items():
            for block in range(count):
                step = {n: s * block for n, s in known.items()}
                assert everything[output].terms[place + step[output]] is further_on(term, step)


def test_what_does_not_move_evenly_is_refused() -> None:
    stage = stage_of("matmul")
    still = {"A": (0, 0, 0), "B": (0, 0, 0), "C": (0, 0, 0)}
    row = evaluate_window(stage, part(stage, {"m": (0, 1)}))
    for wrong, moves, count in (
        ("load_A moves by 5", still | {"C": (6, 0, 0)}, 3),
        ("moves by 0", still | {"A": (5, 0, 0)}, 3),
        ("to be inside it", still | {"A": (5, 0, 0), "C": (6, 0, 0)}, 5),
        ("expected accesses to A", {"B": (0, 0, 0), "C": (6, 0, 0)}, 3),
    ):
        with pytest.raises(NoWindowError, match=wrong):
            moved(stage, row.points, moves, (count, 1, 1))
    with pytest.raises(NoWindowError, match="share the sum over"):
        evaluate_window(stage, part(stage, {"k": (0, 2)}))
    padded = stage_of("conv2d_same")
    top = evaluate_window(padded, part(padded, {"h": (0, 1)}))
    with pytest.raises(NoWindowError, match="in every block or in none"):
        moved(padded, top.points, {"X": (4, 0, 0), "W": (0, 0, 0), "Y": (4, 0, 0)}, (2, 1, 1))


def test_sums_of_many_steps_are_the_whole_sums() -> None:
    stage = tensor_kernel("matmul").program({"m": 1, "n": 1, "k": 12}).stages[0]
    repeated = repetition(stage, {"A": (3, [2, 3, 4]), "B": (3, [2, 3, 4])}, 3)
    assert (repeated.firsts, repeated.width, repeated.steps) == ((2,), 3, 3)
    window = evaluate_window(stage, [range(a.size) for a in stage.axes], repeated)
    (term,) = window.stored["C"].values()
    ((symbol, added),) = window.sums.items()
    total = term
    steps = [_step(added, n) for n in range(3)]
    for t in steps:
        total = total + t
    normaliser = Normaliser(algebra_for(stage.regions[0].dtype))
    whole = evaluate_terms(stage)["C"].terms[0]
    assert normaliser.canonical(total) is normaliser.canonical(whole + symbol)


def _step(term: Term, n: int) -> Term:
    done: dict[Term, Term] = {}
    for t in iterate_post(term):
        is_moving = t.op == "atom" and len(t.data[1]) == 2
        made = atom(t.data[0], (t.data[1][0] + n * t.data[1][1],)) if is_moving else t
        done[t] = t.rebuilt([done[a] for a in t.args]) if t.args else made
    return done[term]


def test_steps_that_follow_no_summed_axis_are_refused() -> None:
    stage = stage_of("matmul")
    for moves in (
        {"A": (2, [0]), "B": (6, [0])},
        {"A": (1, [0])},
        {"A": (-1, [4]), "B": (-6, [24])},
        {"A": (1, [0]), "B": (6, [0])},
    ):
        with pytest.raises(NoWindowError, match="along one axis"):
            repetition(stage, moves, 6)


def test_only_sums_are_repeated() -> None:
    stage = stage_of("softmax")
    columns = next(n for n, a in enumerate(stage.axes) if a.size == 3)
    with pytest.raises(NoWindowError):
        evaluate_window(stage, [range(a.size) for a in stage.axes], Repetition(columns, (0,), 1, 2))


def test_the_part_that_stores_some_places() -> None:
    stage = stage_of("matmul")
    points = points_of(stage, {"C": np.array([8, 9, 14])})
    assert {a.name.rpartition(".")[2]: p for a, p in zip(stage.axes, points, strict=True)} == {
        "m": [1, 2],
        "n": [2, 3],
        "k": range(5),
    }
