"""Check and proof inside of a search's budget: when they are made, how long the search goes on, what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.schedule.search.fakes import FakeBound, FakeSpace

from warploom.schedule.search import Exploration, KernelModel, Options, explore_kernel
from warploom.solve import Refine
from warploom.solve.search import spending
from warploom.solve.space import Candidate
from warploom.tools.explore import budget as explore_budget
from warploom.tools.explore import judging as explore_judging
from warploom.tools.explore.budget import WallBudget
from warploom.tools.explore.check import Checked
from warploom.tools.explore.judging import Judging
from warploom.tools.explore.proof import Proof

TESTED, UNCHECKED = Checked("tested", 7), Checked("unchecked", 0, "late")
PROVED = Checked("tested", 7, proof=Proof("proved", {"n": 4}))


class Clock:
    now = 100.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (explore_budget, explore_judging, spending):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: found.now, process_time=lambda: found.now))
    monkeypatch.setattr(explore_budget, "compiled_seconds", lambda: 0.0)
    return found


def stage(key: str, time_ms: float = 1.0) -> Exploration[Candidate]:
    best = None if not key else cast(Any, SimpleNamespace(key=key))
    return Exploration("k", best, {"by": key}, time_ms, 0.5, 0.5, None, 9, 0, 0, 0, 1, 0, 0, 0, False, "", 0.0)


class Checks:
    """Findings by key, each after so many seconds."""

    def __init__(self, clock: Clock, seconds: float, **found: Checked) -> None:
        self.clock, self.seconds, self.found = clock, seconds, found
        self.asked: list[str] = []

    def __call__(self, parts: int, implementations: Sequence[Any]) -> Checked:
        self.clock.now += self.seconds
        self.asked.append("".join(i.key for i in implementations))
        return self.found.get(self.asked[-1], PROVED)


def test_the_search_goes_on_in_what_the_check_and_the_proof_leave(clock: Clock) -> None:
    check = Checks(clock, 4.0)
    judging = Judging(WallBudget(40.0), check)
    clock.now += 20.0
    assert judging.more(1, (stage("a"),)) == pytest.approx(40.0 - 20.0 - 4.0 - 1.25 * 4.0)
    clock.now += 11.0
    assert judging.more(1, (stage("a"),)) == 0.0 and check.asked == ["a"]  # nothing new, and no time for more
    assert judging.more(1, (stage("b"),)) == 0.0 and check.asked == ["a", "b"]
    assert judging.more(2, (stage("b"),)) == 0.0 and check.asked == ["a", "b", "b"]  # the same kernel of another program


def test_what_takes_long_leaves_no_time_for_more(clock: Clock) -> None:
    judging = Judging(WallBudget(40.0), Checks(clock, 9.0))
    clock.now += 20.0
    assert judging.more(1, (stage("a"),)) == 0.0


def test_nothing_is_checked_before_there_are_all_kernels(clock: Clock) -> None:
    check = Checks(clock, 1.0)
    judging = Judging(WallBudget(40.0), check)
    clock.now += 20.0
    assert judging.more(1, (stage("a"), stage(""))) == pytest.approx(0.25 * 20.0)
    clock.now += 13.0
    assert judging.more(1, (stage("a"), stage(""))) == 0.0 and not check.asked


@pytest.mark.parametrize("found", [Checked("refuted", 0, "wrong"), replace(TESTED, proof=Proof("refuted", reason="wrong"))])
def test_what_is_refuted_ends_the_search_and_is_told(found: Checked, clock: Clock) -> None:
    judging = Judging(WallBudget(40.0), Checks(clock, 1.0, b=found))
    assert judging.more(1, (stage("a"),)) > 0 and judging.more(1, (stage("b"),)) == 0.0
    assert judging.final(1, (stage("b"),)) == ((stage("b"),), found)


def test_an_interruption_of_the_proof_ends_the_search_with_what_is_known(clock: Clock) -> None:
    found = replace(TESTED, proof=Proof("unchecked", reason="interrupted"), is_interrupted=True)
    check = Checks(clock, 1.0, a=found)
    judging = Judging(WallBudget(40.0), check)
    with pytest.raises(KeyboardInterrupt):
        judging.more(1, (stage("a"),))
    assert judging.final(1, (stage("a"),), UNCHECKED) == ((stage("a"),), found) and check.asked == ["a"]


def test_an_interruption_of_the_search_keeps_what_was_proved(clock: Clock) -> None:
    judging = Judging(WallBudget(40.0), Checks(clock, 1.0))
    judging.more(1, (stage("a", 1.0),))
    near, far = stage("b", 0.99), stage("b", 0.9)
    (kept,), results = judging.final(1, (near,), UNCHECKED)
    assert (kept.decisions, kept.time_ms, kept.nodes, results) == ({"by": "a"}, 1.0, 9, PROVED)
    assert judging.final(1, (far,), UNCHECKED) == ((far,), UNCHECKED)
    assert judging.final(2, (near,), UNCHECKED) == ((near,), UNCHECKED)  # of another program


def test_of_kernels_that_are_as_fast_those_are_kept_of_which_more_is_known(clock: Clock) -> None:
    judging = Judging(WallBudget(40.0), Checks(clock, 1.0, b=TESTED, c=PROVED))
    for key in "ab":
        judging.more(1, (stage(key),))
    assert judging.final(1, (stage("b"),))[1] is PROVED
    assert judging.final(1, (stage("c", 0.99),))[0][0].decisions == {"by": "c"}


def test_a_search_is_asked_in_its_middle_and_goes_on(clock: Clock) -> None:
    """Without a new start: each candidate is looked at once."""
    told: list[tuple[float | None, int]] = []

    def more(found: Exploration[Any]) -> float:
        assert (found.best is None) == (found.time_ms is None)
        told.append((found.time_ms, found.nodes))
        clock.now += 1000.0  # is no part of the search's time
        return 5.0 if len(told) < 5 else 0.0

    class Slow(KernelModel[Any]):
        def bound(self, candidate: Any) -> Any:
            clock.now += 0.1
            return super().bound(candidate)

    options = Options(strategy=Refine(patience=None, first_dives=1), budget_s=1.0, more=more, finalists=0)
    found = explore_kernel(Slow(cast(Any, FakeSpace()), FakeBound()), "fake", None, options)
    assert found.reason == "budget: wall seconds" and len(told) == 5 and told[0][0] is None and told[-1][0] is not None
    assert [nodes for _, nodes in told] == sorted({nodes for _, nodes in told}) and found.nodes == told[-1][1]
