"""Parts of a search against the whole: the same answers in the same order, whatever the number of parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest

from warploom.solve import Alternative, Cost, Goal, Split, search

Digits = tuple[int, ...]


@dataclass
class Numbers:
    """All digit strings, digit n below `widths[n]`, decided from the left; costs are sums of digits; `refused` prefixes fail."""

    widths: Digits
    refused: frozenset[Digits] = frozenset()
    expanded: list[Digits] = field(default_factory=list[Digits])

    def root(self) -> Digits | None:
        return None if () in self.refused else ()

    def open_choices(self, candidate: Digits) -> Sequence[tuple[int, int]]:
        n = len(candidate)
        return [(n, self.widths[n])] if n < len(self.widths) else []

    def alternatives(self, candidate: Digits, choice: int) -> Iterator[Alternative[Digits]]:
        for digit in range(self.widths[choice]):
            child = (*candidate, digit)
            yield Alternative(self.bound(child), partial(self._expand, child))

    def bound(self, candidate: Digits) -> Cost:
        return (sum(candidate) // 2,)

    def answer(self, candidate: Digits) -> tuple[Cost, Digits]:
        return self.bound(candidate), candidate

    def _expand(self, child: Digits) -> Digits | None:
        self.expanded.append(child)
        return None if child in self.refused else child


MODELS = {
    "plain": Numbers((5, 2, 3)),
    "first decisions are forced": Numbers((1, 1, 4, 2)),
    "everything is forced": Numbers((1, 1)),
    "nothing to decide": Numbers(()),
    "no answer": Numbers((3, 2), frozenset({()})),
    "no alternative": Numbers((0, 2)),
    "a forced decision fails": Numbers((1, 3), frozenset({(0,)})),
    "some fail": Numbers((4, 3), frozenset({(0,), (2, 1), (3, 0)})),
}


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("name", MODELS)
def test_parts_make_the_whole(name: str, parts: int) -> None:
    split = Split(MODELS[name])
    outcomes = [search(split.part(part, parts), goal="all") for part in range(parts)]
    assert all(outcome.complete for outcome in outcomes)
    found = sorted(((cost, *placed) for o in outcomes for cost, placed in o.answers), key=lambda a: a[:2])
    assert [(cost, answer) for cost, _, answer in found] == list(search(MODELS[name], goal="all").answers)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("name", MODELS)
def test_the_best_part_has_the_best(name: str, parts: int) -> None:
    split = Split(MODELS[name])
    outcomes = [search(split.part(part, parts), goal="best") for part in range(parts)]
    found = sorted(((cost, *placed) for o in outcomes for cost, placed in o.answers), key=lambda a: a[:2])
    assert [(cost, answer) for cost, _, answer in found[:1]] == list(search(MODELS[name], goal="best").answers)


@pytest.mark.parametrize("goal", ["all", "best", "first"])
def test_no_part_works_on_another(goal: Goal) -> None:
    model = Numbers((1, 5, 2))
    split = Split(model)
    assert model.expanded == [(0,)]
    search(split.part(1, 2), goal=goal)
    assert {digits[1] for digits in model.expanded[1:]} <= {1, 3}
