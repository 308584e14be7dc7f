"""The search driver on a second client, the tile sizes of a matrix product, against brute force; budgets and interruption."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from tests.solve.search.finite import FiniteModel

from warploom.solve import Alternative, Budget, Cost, declared_order, search, smallest_domain

SIZES = (1, 2, 4, 8, 16, 32, 64)
SHARED_BYTES = 6000


def shared_bytes(m: int, n: int, k: int) -> int:
    return 4 * (m * k + k * n)


def loads(m: int, n: int, k: int) -> int:
    """Elements read from global memory by C = A B of size 64, in tiles of m x n, k at a time; then how often a block waits."""
    return 64 * 64 * 64 // n + 64 * 64 * 64 // m + 64 // k


def fits(domains: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]] | None:
    """Drops every tile size that exceeds the shared memory even with the other sizes at their smallest."""
    least = {name: min(values) for name, values in domains.items()}
    kept = {
        name: tuple(v for v in values if shared_bytes(**(least | {name: v})) <= SHARED_BYTES) for name, values in domains.items()
    }
    return domains if kept == domains else kept


def bound(domains: dict[str, tuple[int, ...]]) -> Cost:
    return (loads(*(max(values) for values in domains.values())),)


def tiling() -> FiniteModel[int]:
    return FiniteModel({"m": SIZES, "n": SIZES, "k": SIZES}, (fits,), bound)


def _costs(answers: tuple[tuple[Cost, dict[str, int]], ...]) -> list[Cost]:
    return [cost for cost, _ in answers]


def _brute_costs() -> list[Cost]:
    return sorted((loads(*t),) for t in product(SIZES, repeat=3) if shared_bytes(*t) <= SHARED_BYTES)


@pytest.mark.parametrize("strategy", [smallest_domain, declared_order])
def test_best_tiling_is_brute_force_minimum(strategy) -> None:
    outcome = search(tiling(), strategy=strategy)
    assert outcome.complete and outcome.reason == ""
    [(cost, tiles)] = outcome.answers
    assert cost == _brute_costs()[0] == (loads(**tiles),)
    assert shared_bytes(**tiles) <= SHARED_BYTES
    assert outcome.statistics.tried < len(_brute_costs())


def test_all_tilings_cheapest_first() -> None:
    outcome = search(tiling(), goal="all")
    assert outcome.complete
    assert _costs(outcome.answers) == _brute_costs()


def test_first_answer_stops() -> None:
    outcome = search(tiling(), goal="first")
    assert len(outcome.answers) == 1 and not outcome.complete and outcome.reason == ""


def test_only_cheaper_answers_count() -> None:
    best = _brute_costs()[0]
    assert search(tiling(), below=best).answers == ()
    assert search(tiling(), below=best).complete
    assert _costs(search(tiling(), below=(best[0] + 1,)).answers) == [best]


def test_no_tiling_fits() -> None:
    def nothing(domains: dict[str, tuple[int, ...]]) -> None:
        return None

    outcome = search(FiniteModel({"m": SIZES}, (nothing,), bound))
    assert (outcome.answers, outcome.complete, outcome.statistics.refuted) == ((), True, 1)


def test_two_runs_are_equal() -> None:
    first, second = search(tiling()), search(tiling())
    assert (first.answers, first.statistics) == (second.answers, second.statistics)


class Numbers:
    """Candidates are (value, bits decided); the cost is the value, multiples of 3 are no answers, the dearest come first."""

    def __init__(self, bits: int, interrupt_at: int = 0) -> None:
        self.bits = bits
        self.interrupt_at = interrupt_at
        self.seen = 0

    def root(self) -> tuple[int, int] | None:
        return (0, 0)

    def open_choices(self, candidate: tuple[int, int]) -> list[tuple[int, int]]:
        return [] if candidate[1] == self.bits else [(candidate[1], 2)]

    def alternatives(self, candidate: tuple[int, int], choice: int) -> Iterator[Alternative[tuple[int, int]]]:
        value, bits = candidate
        for bit in (1, 0):
            yield Alternative((0,), lambda bit=bit: (2 * value + bit, bits + 1))

    def bound(self, candidate: tuple[int, int]) -> Cost:
        return (0,)

    def answer(self, candidate: tuple[int, int]) -> tuple[Cost, int] | None:
        self.seen += 1
        if self.seen == self.interrupt_at:
            raise KeyboardInterrupt
        return None if candidate[0] % 3 == 0 else ((candidate[0],), candidate[0])


def test_node_budget_keeps_the_best_so_far() -> None:
    outcome = search(Numbers(6), budget=Budget(nodes=20))
    assert (outcome.complete, outcome.reason) == (False, "budget: nodes")
    assert outcome.answers and outcome.statistics.tried == 21
    assert outcome.answers == search(Numbers(6), budget=Budget(nodes=20)).answers


def test_refuted_alternatives_count_against_the_budget() -> None:
    wide = FiniteModel({"m": SIZES}, (lambda d: d if len(d["m"]) > 1 else None,), lambda d: (0,))
    assert search(wide, budget=Budget(nodes=3)).reason == "budget: nodes"


def test_cpu_budget() -> None:
    outcome = search(Numbers(12), budget=Budget(cpu_s=0.0))
    assert (outcome.complete, outcome.reason) == (False, "budget: CPU seconds")


def test_interruption_keeps_the_best_so_far() -> None:
    outcome = search(Numbers(6, interrupt_at=10))
    assert (outcome.complete, outcome.reason) == (False, "interrupted")
    assert [answer for _, answer in outcome.answers] == [55]


def test_rejected_candidates_are_counted() -> None:
    outcome = search(Numbers(4), goal="all")
    assert outcome.complete
    assert [value for _, value in outcome.answers] == [v for v in range(16) if v % 3]
    assert (outcome.statistics.rejected, outcome.statistics.answers) == (6, 10)


class Dear(Numbers):
    """The first answer is the best; nothing says so."""

    def answer(self, candidate: tuple[int, int]) -> tuple[Cost, int] | None:
        return (1, (1 << self.bits) - candidate[0]), candidate[0]


def test_good_enough_stops_when_nothing_better_turns_up() -> None:
    outcome = search(Dear(10), good_enough=(2, 0))
    assert (outcome.complete, outcome.reason) == (False, "good enough")
    assert outcome.answers == (((1, 1), 1023),)
    assert outcome.statistics.tried < 300
    assert search(Dear(10), good_enough=(1, 0)).complete


def test_progress_is_told() -> None:
    told: list[int] = []
    search(Numbers(6), progress=lambda statistics: told.append(statistics.nodes))
    assert told == sorted(told) and told
