"""Budgets of programs of several kernels: a first look, then more seconds for the kernels that have more to win."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from tests.schedule.search.fakes import FakeBound, FakeSpace

from warploom.schedule.search import Exploration, KernelModel, Options, explore_kernel
from warploom.schedule.search.shares import Turns

PS = 10**9
LOOKED = explore_kernel(KernelModel(cast("Any", FakeSpace()), FakeBound()), "fake", None, Options(evaluations=4))


@dataclass
class Kernels:
    """Searches that take no time and find what is told."""

    looks_ms: dict[int, float | None]
    complete: set[int] = field(default_factory=set[int])
    asked: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    seconds: dict[int, float] = field(default_factory=dict[int, float])
    reason: str = "budget: wall seconds"

    def __call__(self, n: int, limits: Options, is_look: bool) -> Exploration[Any]:
        self.asked.append((n, is_look))
        if limits.budget_s is not None and not is_look:
            self.seconds[n] = limits.budget_s
        time_ms = self.looks_ms[n]
        best = None if time_ms is None else LOOKED.best
        return replace(
            LOOKED,
            kernel=str(n),
            best=best,
            time_ms=time_ms,
            complete=n in self.complete,
            reason=self.reason,
            nodes=10,
            evaluated=4,
        )


def turned(kernels: Kernels, *, budget_s: float | None = 100.0, is_known: bool = True, **limits: Any) -> Turns:
    bounds = [PS] * len(kernels.looks_ms)
    turns = Turns(bounds, Options(**limits), budget_s, is_known=is_known, began=time.monotonic())
    turns.run(cast("Any", kernels))
    return turns


def test_the_kernel_with_most_to_win_comes_last_and_has_most_seconds() -> None:
    kernels = Kernels({0: 9.0, 1: 2.0, 2: 4.0})
    found = turned(kernels).explored
    assert kernels.asked == [(0, True), (1, True), (2, True), (1, False), (2, False), (0, False)]
    # No time passes here: each is offered its share of all 100 s. 1, 3 and 8 ms are above the bounds of 1 ms.
    assert [round(kernels.seconds[n]) for n in (1, 2, 0)] == [8, 27, 100]
    assert [e.kernel for e in found] == ["0", "1", "2"] and [e.nodes for e in found] == [20, 20, 20]


def test_kernels_that_have_nothing_to_win_are_not_searched_further() -> None:
    kernels = Kernels({0: 1.02, 1: 100.0}, reason="budget: evaluations")
    found = turned(kernels).explored
    assert kernels.asked == [(0, True), (1, True), (1, False)]
    assert found[0].reason == "budget: wall seconds"
    kernels = Kernels({0: 50.0, 1: 100.0}, complete={0}, reason="")
    turned(kernels)
    assert kernels.asked == [(0, True), (1, True), (1, False)]


def test_a_kernel_without_implementation_counts_as_much_as_the_others() -> None:
    kernels = Kernels({0: None, 1: 3.0, 2: 2.0})
    turned(kernels)
    assert [n for n, is_look in kernels.asked if not is_look] == [2, 1, 0]
    assert round(kernels.seconds[2]) == round(100 / 6)


def test_near_its_bound_a_kernel_still_has_seconds() -> None:
    kernels = Kernels({0: 10.0, 1: 100.0})
    turned(replace(kernels, looks_ms={0: 5.0, 1: 100.0}))
    turned(kernels)
    assert round(kernels.seconds[0]) == round(100 * 9 / 108)


@pytest.mark.parametrize(
    ("limits", "is_known", "budget_s"),
    [({}, False, 100.0), ({}, True, 5.0), ({}, True, None), ({"nodes": 80}, True, 100.0), ({"evaluations": 80}, True, 100.0)],
)
def test_without_a_look_kernels_come_in_turn(limits: dict[str, int], is_known: bool, budget_s: float | None) -> None:
    kernels = Kernels({0: 9.0, 1: 2.0})
    turned(kernels, budget_s=budget_s, is_known=is_known, **limits)
    assert kernels.asked == [(0, False), (1, False)]
    assert not kernels.seconds or kernels.seconds[0] < kernels.seconds[1]


@pytest.mark.parametrize("at", [0, 1])
def test_an_interruption_ends_all_searches(at: int) -> None:
    kernels = Kernels({0: 9.0, 1: 2.0}, reason="interrupted")
    assert [e.kernel for e in turned(kernels, is_known=bool(at)).explored] == ["0"]
    assert len(kernels.asked) == 1
