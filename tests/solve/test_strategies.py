"""Best-first search, Monte-Carlo tree search, dive and refine: against trees that are known whole."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from tests.solve.trees import KINDS, SIZES, Path, RandomTree, Tiling

from warploom.solve import (
    BestFirst,
    Budget,
    Cost,
    Hints,
    Incumbent,
    Mcts,
    Outcome,
    Progress,
    Refine,
    best_first,
    drafts,
    mcts,
    refine,
    search,
)
from warploom.solve.search.drafts import Descents, run_descents
from warploom.solve.search.incumbent import Leaf
from warploom.solve.search.mcts import _Mcts
from warploom.solve.search.neighbours import Draft, Near, Neighbours
from warploom.solve.search.refine import _Refine

COVERING: dict[str, Callable[[Incumbent[Path, Path]], Outcome[Path]]] = {
    "best first": best_first,
    "best first without dives": lambda i: best_first(i, BestFirst(dive_every=0)),
    "best first in batches": lambda i: best_first(i, BestFirst(batch=5)),
    "best first, little memory": lambda i: best_first(i, BestFirst(queue=4, dive_nodes=3)),
    "tag": mcts,
    "tag in batches": lambda i: mcts(i, Mcts(seed=1, batch=4)),
    "tag, nothing stored": lambda i: mcts(i, Mcts(stored=0)),
    "uct": lambda i: mcts(i, Mcts(policy="uct", sharpness=2.0)),
    "tag, impatient": lambda i: mcts(i, Mcts(patience=0)),
}


@pytest.mark.parametrize("name", COVERING)
@pytest.mark.parametrize("seed", range(6))
def test_complete_search_finds_the_optimum(name: str, seed: int) -> None:
    tree = RandomTree(seed)
    outcome = COVERING[name](Incumbent(tree, hints=Hints(key=lambda path: path)))
    assert outcome.complete and outcome.reason == ""
    best = tree.costs[()]
    assert [cost for cost, _ in outcome.answers] == ([] if best is None else [(best,)])
    assert outcome.bound is None or outcome.bound == (best,)
    assert outcome.statistics.evaluated <= len(tree.leaves)
    assert outcome.statistics.bounded <= outcome.statistics.nodes


@pytest.mark.parametrize("name", COVERING)
def test_no_answer_is_measured_twice(name: str) -> None:
    tree = RandomTree(3, tightness=0.0)
    measured: list[Path] = []

    def measure(answers: Sequence[Path]) -> Iterator[tuple[int, Cost | None]]:
        measured.extend(answers)
        for n, answer in enumerate(answers):
            cost = tree.costs[answer]
            yield n, None if cost is None else (cost + 1,)

    outcome = COVERING[name](Incumbent(tree, hints=Hints(key=lambda path: path, measure=measure)))
    assert outcome.complete and outcome.answers[0][0] == ((tree.costs[()] or 0) + 1,)
    assert sorted(measured) == sorted(p for p in tree.leaves if tree.costs[p] is not None)


@pytest.mark.parametrize("name", COVERING)
def test_same_seed_same_search(name: str) -> None:
    first, second = (COVERING[name](Incumbent(RandomTree(2), hints=Hints(key=lambda p: p))) for _ in range(2))
    assert (first.answers, first.statistics) == (second.answers, second.statistics)


def test_best_first_expands_no_more_than_depth_first() -> None:
    for seed in range(8):
        ours = best_first(Incumbent(RandomTree(seed)), BestFirst(dive_every=0))
        assert ours.statistics.nodes <= search(RandomTree(seed)).statistics.nodes + 3


def test_bound_of_a_stopped_search_holds() -> None:
    tree = RandomTree(5, depth=7)
    best = tree.costs[()] or 0
    last = 0
    for nodes in (10, 30, 100, 300):
        outcome = best_first(Incumbent(tree, budget=Budget(nodes=nodes)))
        assert outcome.bound is not None
        assert last <= outcome.bound[0] <= best
        last = outcome.bound[0]


@pytest.mark.parametrize("name", COVERING)
def test_interruption_keeps_the_best(name: str) -> None:
    tree = RandomTree(1, tightness=0.0, interrupt_at=12)
    outcome = COVERING[name](Incumbent(tree))
    assert (outcome.complete, outcome.reason) == (False, "interrupted")
    assert outcome.answers


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(nodes=40), "budget: nodes"),
        (Budget(evaluations=3), "budget: evaluations"),
        (Budget(wall_s=0.0), "budget: wall seconds"),
        (Budget(cpu_s=0.0), "budget: CPU seconds"),
    ],
)
@pytest.mark.parametrize("strategy", [best_first, mcts, refine])
def test_budgets(strategy: Callable[[Incumbent[Path, Path]], Outcome[Path]], budget: Budget, reason: str) -> None:
    outcome = strategy(Incumbent(RandomTree(4, depth=8, tightness=0.2), budget=budget))
    assert (outcome.complete, outcome.reason) == (False, reason)
    assert budget.evaluations is None or outcome.statistics.evaluated == 3


def test_only_cheaper_answers_count() -> None:
    tree = RandomTree(0)
    best = tree.costs[()] or 0
    for strategy in (best_first, mcts):
        outcome = strategy(Incumbent(tree, below=(best,)))
        assert outcome.complete and outcome.answers == () and outcome.bound == (best,)
        assert strategy(Incumbent(tree, below=(best + 1,))).answers[0][0] == (best,)


def test_margin_saves_candidates_and_keeps_its_promise() -> None:
    tree = RandomTree(7, depth=7)
    exact, near = best_first(Incumbent(tree)), best_first(Incumbent(tree, margin=0.2))
    assert near.statistics.nodes <= exact.statistics.nodes
    assert near.answers[0][0][0] * 0.8 <= exact.answers[0][0][0] + 1


def test_progress_tells_of_every_better_answer() -> None:
    told: list[Cost | None] = []
    incumbent = Incumbent(RandomTree(2, tightness=0.1), progress=lambda p: told.append(p.best))
    outcome = mcts(incumbent)
    costs = [cost for cost in told if cost is not None]
    assert costs == sorted(costs, reverse=True) and costs[-1] == outcome.answers[0][0]
    assert Progress(outcome.statistics, None, 0.0).best is None


def tiling_hints(tiling: Tiling, measured: list[tuple[object, ...]]) -> Hints[tuple[object, ...], tuple[object, ...]]:
    def measure(answers: Sequence[tuple[object, ...]]) -> Iterator[tuple[int, Cost | None]]:
        for n, answer in enumerate(answers):
            measured.append(answer)
            yield n, tiling.time(answer)

    return Hints(
        key=lambda answer: answer,
        measure=measure,
        value=tiling.value,
        features=lambda answer: [(i, v) for i, v in enumerate(answer)],
    )


def test_refine_is_stable_across_seeds() -> None:
    tiling = Tiling(roughness=0.1)
    winners = []
    for seed in range(3):
        measured: list[tuple[object, ...]] = []
        incumbent = Incumbent(tiling, hints=tiling_hints(tiling, measured), budget=Budget(evaluations=160))
        outcome = refine(incumbent, Refine(seed=seed))
        winners.append(outcome.answers[0][0][0])
        assert len(measured) == len(set(measured)) == 160
    assert statistics.median(winners) <= 1.05 * min(winners)
    assert max(winners) <= 1.08 * min(winners)


def test_refine_beats_mcts_where_measurements_are_dear() -> None:
    tiling = Tiling()
    times = {}
    for name, strategy in (("refine", lambda i: refine(i, Refine(seed=5))), ("mcts", lambda i: mcts(i, Mcts(seed=5)))):
        outcome = strategy(Incumbent(tiling, hints=tiling_hints(tiling, []), budget=Budget(evaluations=120)))
        times[name] = outcome.answers[0][0][0]
    assert times["refine"] < times["mcts"]


@dataclass
class Predicted:
    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]


def promising(monkeypatch: pytest.MonkeyPatch, boldness: float, guesses: list[float], deviations: list[float]) -> list[float]:
    """Guesses in the order in which they are measured, where the model errs nowhere but is unsure."""

    def predict(seen: object, residuals: object, asked: object, length: float) -> Predicted:
        return Predicted(np.zeros(len(guesses)), np.array(deviations))

    monkeypatch.setitem(_Refine._promising.__globals__, "predict", predict)
    made = _Refine(Incumbent(RandomTree(1)), Refine(boldness=boldness, batch=2))
    row = np.zeros(0, np.int32)
    made._measured = [Draft(cast(Any, None), (), 1.0, 1.0, row, cost=1.0) for _ in range(4)]
    made._pool = [Draft(cast(Any, None), (), guess, guess, row) for guess in guesses]
    made._promising()
    return [d.guess for d in made._pool]


def test_refine_measures_first_what_may_be_best(monkeypatch: pytest.MonkeyPatch) -> None:
    guesses, deviations = [3.0, 2.0, 1.0], [2.0, 0.5, 0.1]
    assert promising(monkeypatch, 0.0, guesses, deviations) == [1.0, 2.0, 3.0]
    assert promising(monkeypatch, 1.0, guesses, deviations) == [3.0, 1.0, 2.0]
    assert promising(monkeypatch, 1.0, [1.0, 1.5], [0.0, 0.3]) == [1.0, 1.5]
    assert promising(monkeypatch, 1.0, [1.0, 1.5], [0.0, 0.5]) == [1.5, 1.0]


def test_what_is_to_be_measured_first_is() -> None:
    """A batch at a time; those that were dropped meanwhile are not."""
    hints: Hints[Any, Any] = Hints(ways=1)
    made = _Refine(Incumbent(RandomTree(1), hints=hints, budget=Budget(wall_s=60.0)), Refine(batch=4))
    row = np.zeros(0, np.int32)
    made._pool = [Draft(cast(Any, None), (), guess, guess, row) for guess in (7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0)]
    made._first = [Draft(cast(Any, None), (), 0.5, 0.5, row), *made._pool[:5]]
    assert [d.guess for d in made._promising()] == [7.0, 6.0, 5.0, 4.0]
    assert [d.guess for d in made._first] == [3.0]
    batch = made._promising()
    assert batch[0].guess == 3.0
    assert len({id(d) for d in batch}) == len(batch) == 4


@pytest.mark.parametrize("wall_s", [None, 60.0])
def test_answers_that_are_too_dear_to_measure_are_dropped(wall_s: float | None) -> None:
    """Where the clock ends the search; the guess at the effort is asked with what is affordable."""
    asked: list[tuple[float, float]] = []

    def effort_s(answer: float, most_s: float) -> float:
        asked.append((answer, most_s))
        return 50.0 if answer == 1.0 else 0.1

    hints: Hints[Any, Any] = Hints(effort_s=effort_s)
    incumbent: Incumbent[Any, Any] = Incumbent(RandomTree(1), hints=hints, budget=Budget(wall_s=wall_s))
    made = _Refine(incumbent, Refine(batch=4))
    row = np.zeros(0, np.int32)
    leaves = [Leaf(cast(Any, None), (0,), guess, guess) for guess in (1.0, 3.0, 2.0, 4.0)]
    made._pool = [Draft(leaf, (), leaf.answer, leaf.answer, row) for leaf in leaves]
    batch = {d.guess for d in made._promising()}
    assert batch == ({2.0, 3.0, 4.0} if wall_s else {1.0, 2.0, 3.0, 4.0})
    assert asked == ([(1.0, 4.8), (2.0, 4.8), (3.0, 4.8)] if wall_s else [])


@pytest.mark.parametrize(("is_measured", "kept"), [(False, {1.0, 3.0}), (True, {3.0})])
def test_one_dear_answer_is_measured_before_all_others(is_measured: bool, kept: set[float]) -> None:
    """Two take a sixth of the seconds each, which is too much later on."""
    hints: Hints[Any, Any] = Hints(effort_s=lambda answer, most_s: 10.0 if answer < 3.0 else 0.1)
    incumbent: Incumbent[Any, Any] = Incumbent(RandomTree(1), hints=hints, budget=Budget(wall_s=60.0))
    made = _Refine(incumbent, Refine(batch=4))
    row = np.zeros(0, np.int32)
    drafts = [Draft(Leaf(cast(Any, None), (0,), guess, guess), (), guess, guess, row) for guess in (1.0, 2.0, 3.0)]
    made._pool, made._measured = list(drafts), drafts[2:] if is_measured else []
    assert {d.guess for d in made._affordable(drafts, 3)} == kept


def test_what_is_around_a_candidate_is_the_same_for_all_seeds() -> None:
    tiling = Tiling(duplicates=1)
    path = (*((n, 2) for n in range(6)), *((n, KINDS[0]) for n in range(6, 9)), (9, 0))
    found: list[list[tuple[object, ...]]] = []
    for seed in range(2):
        hints: Hints[Any, Any] = Hints(is_amount=lambda choice: choice < 6, value=tiling.value)
        incumbent: Incumbent[Any, Any] = Incumbent(tiling, hints=hints)
        root = incumbent.root()
        assert root is not None
        child = incumbent.follow(root, path)
        made = Neighbours(incumbent, Near(), random.Random(seed))
        draft = made.draft(child)
        assert draft is not None and draft.path == path
        draft.cost = 1.0
        made.add([draft], 10)
        around: list[tuple[object, ...]] = []
        for amounts in (True, False):
            while (following := made.next_around(root, amounts=amounts)) is not None:
                assert following[0] is draft
                around.append(following[1].candidate)
        found.append(around)
    assert found[0] == found[1]
    middle = tuple(value for _, value in path)
    changes = [[n for n in range(10) if a[n] != middle[n]] for a in found[0]]
    amounts = [[SIZES.index(cast(int, c[n])) for n in range(6)] for c in (middle, *found[0])]
    steps = [[b - a for a, b in zip(amounts[0], other, strict=True) if a != b] for other in amounts[1:]]
    single = [s for s in steps if len(s) == 1]
    assert all(len(c) == 1 or (len(c) == 2 and sum(s) == 0) for c, s in zip(changes, steps, strict=True))
    assert single == sorted(single, key=lambda s: abs(s[0]) > 1)  # the nearest first
    assert {n for c in changes for n in c} == set(range(9))
    assert any(len(c) == 2 for c in changes)


def test_decisions_of_a_sort_are_taken_alike_first() -> None:
    """A candidate whose kinds are all the same, reached in another order than that of a descent."""
    tiling = Tiling(duplicates=1)
    whole = (*((n, 2) for n in range(6)), *((n, KINDS[0]) for n in range(6, 9)), (9, 0))

    def retraced(root: object, leaf: object) -> tuple[tuple[int, Any], ...]:
        assert (root, leaf) == ((), tuple(value for _, value in whole))
        return whole

    hints: Hints[Any, Any] = Hints(
        is_amount=lambda choice: choice < 6, value=tiling.value, sort=lambda choice: "kind" if choice in (6, 7, 8) else None,
        retraced=retraced,
    )  # fmt: skip
    incumbent: Incumbent[Any, Any] = Incumbent(tiling, hints=hints)
    root = incumbent.root()
    assert root is not None
    draft = Neighbours(incumbent, Near(), random.Random(0)).draft(incumbent.follow(root, whole))
    assert draft is not None
    made = Neighbours(incumbent, Near(), random.Random(0))
    draft.path, draft.cost = whole[::-1], 1.0
    made.add([draft], 10)
    around = [found[1].candidate for _ in range(4) if (found := made.next_around(root, amounts=False)) is not None]
    assert draft.path == whole
    assert [c[6:9] for c in around[: len(KINDS) - 1]] == [(kind,) * 3 for kind in KINDS[1:]]
    assert around[len(KINDS) - 1][6:8] == KINDS[:1] * 2 and around[len(KINDS) - 1][8] != KINDS[0]  # the last decision first


def test_distances_of_what_is_beside_a_value_leave_out_what_cannot_be() -> None:
    tiling = Tiling()
    incumbent: Incumbent[Any, Any] = Incumbent(tiling)
    root = incumbent.root()
    assert root is not None
    child = incumbent.follow(root, ((0, 32), (1, 32)))
    beside = [(step, c.value) for step, c in incumbent.beside(child, 2, None)]
    assert beside == [(-1, 1), (1, 4)]
    assert [step for step, _ in incumbent.beside(child, 1, 1)] == [1]
    assert list(incumbent.beside(child, 3, None)) == []


def test_runners_up_are_gone_around_beside_the_best() -> None:
    tiling = Tiling()
    incumbent: Incumbent[Any, Any] = Incumbent(tiling)
    root = incumbent.root()
    assert root is not None
    made = Neighbours(incumbent, Near(apart=0.0), random.Random(0))
    row = np.zeros(0, np.int32)
    draft = made.draft(
        next(
            Neighbours(incumbent, Near(), random.Random(0))._finished(
                root, Draft(cast(Any, None), (), 1.0, 1.0, row), 0, is_sure=True
            )
        )
    )
    assert draft is not None
    drafts = [replace(draft, cost=cost) for cost in (1.0, 1.2, 1.25, 2.0)]
    made.add(drafts, 10)
    turns = [made.next_around(root, amounts=False) for _ in range(8)]
    assert [drafts.index(turn[0]) for turn in turns if turn is not None] == [1, 0, 2, 0, 1, 0, 2, 0]


def test_every_decision_may_be_reopened() -> None:
    made = Neighbours(Incumbent(RandomTree(1)), Near(), random.Random(3))
    drawn = [made.reopened(5) for _ in range(200)]
    assert {n for positions in drawn for n in positions} == set(range(5))
    assert all(positions for positions in drawn)
    assert made.reopened(1) == [0]


def test_every_other_value_of_one_decision_is_asked_for_once() -> None:
    made = Neighbours(Incumbent(RandomTree(1)), Near(reopened=1.0, leaps=0.0), random.Random(3))
    done: set[int] = set()
    assert sorted(n for _ in range(5) for n in made.reopened(5, done)) == [0, 1, 2, 3, 4]
    assert len(made.reopened(5, done)) == 2


def test_refine_gives_a_share_of_its_nodes_to_the_first_descents() -> None:
    tiling = Tiling()
    measured: list[tuple[object, ...]] = []
    incumbent = Incumbent(tiling, hints=tiling_hints(tiling, measured), budget=Budget(nodes=600))
    refine(incumbent, Refine(first_dives=10_000))
    assert len(measured) > 8


def test_refine_ends_where_there_is_nothing_new() -> None:
    tree = RandomTree(1, depth=3)
    outcome = refine(Incumbent(tree, hints=Hints(key=lambda p: p)))
    assert (outcome.complete, outcome.reason) == (False, "no new candidates")
    assert outcome.answers[0][0] == (tree.costs[()],)


def test_refine_without_hints_is_deterministic() -> None:
    def run() -> Outcome[tuple[object, ...]]:
        return refine(Incumbent(Tiling(), budget=Budget(evaluations=60)), Refine(seed=2))

    assert (run().answers, run().statistics) == (run().answers, run().statistics)


def made_tiling() -> tuple[Tiling, None]:
    return Tiling(), None


def test_drafts_are_the_same_on_any_executor() -> None:
    alone = [d for t in range(0, 16, 4) for d in run_descents(Descents(made_tiling, 3, t, t + 4, (0.0, 1.0), None))]
    with ThreadPoolExecutor(3) as executor:
        assert list(drafts(made_tiling, 16, seed=3, temperatures=(0.0, 1.0), executor=executor)) == alone
    assert len(alone) >= 10 and all(len(d) == len(Tiling().domains) for d in alone)


def test_refine_takes_drafts() -> None:
    with ThreadPoolExecutor(2) as executor:
        hints = replace(
            tiling_hints(Tiling(), []), drafts=lambda count, seed: drafts(made_tiling, count, seed=seed, executor=executor)
        )
        outcome = refine(Incumbent(Tiling(), hints=hints, budget=Budget(evaluations=60)), Refine(seed=1))
    assert outcome.statistics.evaluated == 60 and outcome.answers


class NoRoot(RandomTree):
    """Propagation refutes everything at once."""

    def root(self) -> Path | None:
        return None


@pytest.mark.parametrize("strategy", [best_first, mcts, refine])
def test_nothing_is_left_at_the_root(strategy: Callable[[Incumbent[Path, Path]], Outcome[Path]]) -> None:
    outcome = strategy(Incumbent(NoRoot(1), hints=Hints(key=lambda path: path)))
    assert not outcome.answers and outcome.statistics.evaluated == 0


def test_what_is_decided_is_not_expanded() -> None:
    node: Any = SimpleNamespace(children="as it was")
    search: Any = SimpleNamespace(_child=lambda _: "a child", _incumbent=SimpleNamespace(children=lambda _: None))
    assert _Mcts._expand(search, node) is False and node.children == "as it was"
