"""The number of parts of a sum by bounds and budgets: what is searched, for how long, and what is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.search import (
    Exploration,
    Options,
    PartsExploration,
    ProgramExploration,
    explore_parts,
    explore_programs,
    parts,
)
from warploom.schedule.targets import target
from warploom.solve.space import Candidate


def program(
    time_ms: float | None, nodes: int = 10, *, complete: bool = False, reason: str = "budget: nodes", has_all: bool = True
) -> ProgramExploration:
    best = cast(Any, SimpleNamespace()) if has_all and time_ms is not None else None
    stage: Exploration[Candidate] = Exploration(
        "k", best, {}, time_ms, None, 0.5, None, nodes, 0, 0, 0, nodes // 10, 0, 0, 0, complete, reason, 0.0
    )
    return ProgramExploration((stage,), complete, reason)


class Searches:
    """Times by parts, one after the other; the options of each search."""

    def __init__(self, times: Mapping[int, list[float | None]], **given: Any) -> None:
        self.times = {parts: list(found) for parts, found in times.items()}
        self.given = given
        self.asked: list[tuple[int, Options]] = []

    def __call__(self, parts: int, options: Options) -> ProgramExploration:
        self.asked.append((parts, options))
        found = self.times[parts]
        spent = options.nodes or 10
        return program(found.pop(0) if len(found) > 1 else found[0], spent, **self.given)

    @property
    def order(self) -> list[int]:
        return [parts for parts, _ in self.asked]


def found(search: Searches, bounds: Callable[[int], float] = lambda _: 0.1, nodes: int | None = 10_000) -> PartsExploration:
    return explore_parts(tuple(search.times), bounds, search, Options(nodes=nodes))


def test_the_fastest_has_what_is_left() -> None:
    search = Searches({1: [3.0], 2: [2.0, 1.5], 4: [2.5]})
    result = found(search)
    assert search.order == [1, 2, 4, 2]
    assert [options.nodes for _, options in search.asked] == [1333, 1333, 1333, 6001]
    assert [cast(Any, options.strategy).seed for _, options in search.asked] == [0, 0, 0, 1]
    assert (result.parts, result.found.time_ms, result.found.complete) == (2, 1.5, False)
    assert [(t.parts, t.bound_ms, t.time_ms) for t in result.tried] == [(1, 0.1, 3.0), (2, 0.1, 1.5), (4, 0.1, 2.5)]
    assert sum(s.nodes for s in (*result.found.stages, *result.others)) == 10_000


def test_one_that_is_nearly_as_fast_shares_it() -> None:
    search = Searches({1: [2.01, 1.4], 2: [2.0]})
    result = found(search)
    assert search.order == [1, 2, 2, 1] and result.parts == 1 and result.found.time_ms == 1.4
    assert [options.nodes for _, options in search.asked] == [2000, 2000, 3000, 3000]


def test_a_second_search_that_finds_less_changes_nothing() -> None:
    result = found(Searches({1: [2.0, 5.0], 2: [3.0]}))
    assert (result.parts, result.found.time_ms) == (1, 2.0)
    assert sum(s.nodes for s in (*result.found.stages, *result.others)) == 10_000


def test_equally_fast_ones_have_the_fewest_parts() -> None:
    assert found(Searches({1: [2.0], 2: [2.0], 4: [2.0]})).parts == 1


def test_the_bound_leaves_parts_out() -> None:
    search = Searches({1: [2.0], 2: [1.0], 4: [0.5]})
    result = found(search, lambda parts: 3.0 if parts == 2 else 0.1)
    assert search.order == [1, 4, 4]
    assert [(t.parts, t.bound_ms, t.time_ms) for t in result.tried][1] == (2, 3.0, None)


def test_two_that_are_slower_than_those_before_end_the_round() -> None:
    search, bounded = Searches({1: [2.0], 2: [3.0], 4: [4.0], 8: [0.1]}), list[int]()

    def bounds(parts: int) -> float:
        bounded.append(parts)
        return 0.1

    result = found(search, bounds)
    assert search.order == [1, 2, 4, 1] and bounded == [1, 2, 4]
    assert result.tried[-1].bound_ms is None and not result.found.complete


def test_two_without_an_implementation_end_the_round() -> None:
    search = Searches({1: [2.0], 2: [None], 4: [None], 8: [0.1]})
    assert found(search).parts == 1 and search.order == [1, 2, 4, 1]


def test_only_the_first_program_needs_an_implementation(monkeypatch: pytest.MonkeyPatch) -> None:
    needed: list[bool] = []

    def explored(*_: Any, is_needed: bool, **__: Any) -> ProgramExploration:
        needed.append(is_needed)
        return program([None, 2.0, None][min(len(needed), 3) - 1])

    monkeypatch.setattr(parts, "explore", explored)
    kernel = tensor_kernel("axpy")
    same = kernel.program(dict.fromkeys(kernel.sizes, 64), cpu_tiles)
    explore_programs({1: same, 2: same, 4: same}, target("cpu"), options=Options(nodes=600))
    assert needed[:3] == [True, True, False]


def test_small_budgets_search_fewer() -> None:
    search = Searches({1: [3.0], 2: [2.0], 4: [1.0]})
    assert found(search, nodes=20).parts == 1 and search.order == [1] and search.asked[0][1].nodes == 20
    search = Searches({1: [3.0], 2: [2.0], 4: [1.0]})
    assert found(search, nodes=210).parts == 2 and search.order == [1, 2, 2]
    assert [options.nodes for _, options in search.asked] == [100, 100, 10]


def test_seconds_and_evaluations_are_shared_too() -> None:
    search = Searches({1: [3.0], 2: [2.0]})
    explore_parts((1, 2), lambda _: 0.1, search, Options(budget_s=100.0, evaluations=100))
    (first, second, last) = (options for _, options in search.asked)
    assert first.budget_s == second.budget_s == 20.0 and first.evaluations == 20
    assert last.budget_s is not None and 90.0 < last.budget_s <= 100.0
    search = Searches({1: [3.0], 2: [2.0]})
    explore_parts((1, 2), lambda _: 0.1, search, Options(budget_s=1.0))
    assert search.order[0] == 1 and search.asked[0][1].budget_s == pytest.approx(1.0, abs=0.1)  # pyright: ignore


def test_complete_only_where_nothing_is_left() -> None:
    search = Searches({1: [2.0], 2: [1.0]}, complete=True, reason="")
    assert found(search, nodes=None).found.complete and search.order == [1, 2]
    search = Searches({1: [2.0], 2: [1.0]}, complete=True, reason="")
    assert found(search, lambda parts: 3.0 if parts == 2 else 0.1, nodes=None).found.complete and search.order == [1]
    search = Searches({1: [1.0], 2: [2.0], 4: [3.0], 8: [0.5]}, complete=True, reason="")
    assert not found(search, nodes=None).found.complete


def test_an_interruption_keeps_the_best() -> None:
    search = Searches({1: [2.0], 2: [1.0]}, reason="interrupted")
    result = found(search)
    assert search.order == [1] and result.parts == 1 and result.found.reason == "interrupted"

    class Later(Searches):
        def __call__(self, parts: int, options: Options) -> ProgramExploration:
            if parts == 2:
                raise KeyboardInterrupt
            return super().__call__(parts, options)

    result = found(Later({1: [2.0], 2: [1.0]}))
    assert (result.parts, result.found.reason) == (1, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        found(Later({2: [1.0], 4: [1.0]}))


def test_a_program_without_all_its_kernels_is_none() -> None:
    result = found(Searches({1: [None], 2: [None]}))
    assert result.parts == 1 and result.found.time_ms is None and [t.time_ms for t in result.tried] == [None, None]


class More:
    """Gives more time: so many seconds each time that it is asked, none in the end."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = list(seconds)
        self.asked: list[tuple[int, list[float | None]]] = []

    def __call__(self, parts: int, stages: tuple[Exploration[Candidate], ...]) -> float:
        self.asked.append((parts, [stage.time_ms for stage in stages]))
        return self.seconds.pop(0) if self.seconds else 0.0


def test_the_fastest_is_searched_again_while_there_is_more_time() -> None:
    search, more = Searches({1: [3.0], 2: [2.0, 1.5, 1.75, 1.25]}, reason="budget: wall seconds"), More(7.0, 5.0)
    result = explore_parts((1, 2), lambda _: 0.1, search, Options(budget_s=100.0), more)
    assert search.order == [1, 2, 2, 2, 2] and more.asked == [(2, [1.5]), (2, [1.5]), (2, [1.25])]
    assert [options.budget_s for _, options in search.asked[3:]] == [pytest.approx(7.0, abs=0.5), pytest.approx(5.0, abs=0.5)]
    seeds = [cast(Any, options.strategy).seed for _, options in search.asked]
    assert seeds == [0, 0, 1, 2, 3] and result.found.time_ms == 1.25
    assert sum(s.nodes for s in (*result.found.stages, *result.others)) == 50
    # Whoever gives more is asked in the middle of those searches that nothing else follows.
    assert [options.more is not None for _, options in search.asked] == [False, False, True, True, True]


def test_the_best_of_all_is_what_more_time_is_asked_for() -> None:
    search, more = Searches({1: [3.0], 2: [2.0]}, reason="budget: wall seconds"), More()
    explore_parts((1, 2), lambda _: 0.1, search, Options(budget_s=100.0), more)
    asked = search.asked[-1][1].more
    assert asked is not None and asked(program(2.5).stages[0]) == 0.0 and asked(program(1.0).stages[0]) == 0.0
    assert asked(program(None).stages[0]) == 0.0
    assert more.asked == [(2, [2.0]), (2, [2.0]), (2, [1.0]), (2, [2.0])]


@pytest.mark.parametrize(
    ("reason", "complete"), [("no new candidates", False), ("budget: wall seconds", True), ("interrupted", False)]
)
def test_what_no_time_has_ended_is_not_searched_again(reason: str, complete: bool) -> None:
    search, more = Searches({4: [3.0]}, reason=reason, complete=complete), More(7.0)
    explore_parts((4,), lambda _: 0.1, search, Options(budget_s=100.0), more)
    assert search.order == [4] and not more.asked


def test_kernels_of_one_program_are_kept_one_by_one() -> None:
    def two(first: float, second: float) -> ProgramExploration:
        return replace(program(1.0), stages=program(first).stages + program(second).stages, reason="budget: wall seconds")

    found = [two(3.0, 2.0), two(4.0, 1.0)]
    result = explore_parts((1,), lambda _: 0.1, lambda *_: found.pop(0), Options(budget_s=100.0), More(7.0))
    assert [s.time_ms for s in result.found.stages] == [3.0, 1.0] and [s.time_ms for s in result.others] == [2.0, 4.0][::-1]


def test_one_number_of_parts_has_the_whole_budget() -> None:
    search = Searches({4: [2.0]})
    result = found(search)
    assert search.asked[0][1].nodes == 10_000 and result.parts == 4 and result.others == ()


def test_no_space_is_made_that_there_is_no_budget_for() -> None:
    bounded: list[int] = []
    search = Searches({1: [2.0], 2: [1.0]})
    result = found(search, lambda parts: bounded.append(parts) or 0.1, nodes=20)
    assert (bounded, set(search.order), result.parts) == ([1], {1}, 1)
    assert [(t.parts, t.bound_ms, t.time_ms) for t in result.tried] == [(1, 0.1, 2.0), (2, None, None)]
