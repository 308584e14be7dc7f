"""The values that matter to a goal, numbered: its symbols, its multisets and what is inside of them, and 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from warploom.ir.dataflow import NOUGHT, Folded, Value
from warploom.synth.network.network import IntArray

ZERO_NUMBER = 0


@dataclass(frozen=True, eq=False, slots=True)
class ValueNumbers:
    """Every value outside of the goal is `other`."""

    numbers: dict[Value, int]
    composites: IntArray
    """[composites] value numbers of the multisets."""
    members: IntArray
    """[composites, most members] value numbers, ascending, -1 past the end."""
    operators: tuple[str, ...]
    """[composites]."""

    def __len__(self) -> int:
        return len(self.numbers) + 1

    @property
    def other(self) -> int:
        return len(self.numbers)

    def number(self, value: Value) -> int:
        return self.numbers.get(value, self.other)


def value_numbers(goal: Iterable[Value]) -> ValueNumbers:
    """Numbers for the goal's values and everything inside of them; 0 is `ZERO_NUMBER`."""
    numbers: dict[Value, int] = {NOUGHT: ZERO_NUMBER}
    folds: list[Folded] = []

    def add(value: Value) -> None:
        if value in numbers:
            return
        numbers[value] = len(numbers)
        if isinstance(value, Folded):
            folds.append(value)
            for inner in value.values:
                add(inner)

    for value in goal:
        add(value)
    most = max((len(f.values) for f in folds), default=1)
    members = np.full((len(folds), most), -1, np.int64)
    for row, fold in enumerate(folds):
        members[row, : len(fold.values)] = sorted(numbers[v] for v in fold.values)
    composites = np.array([numbers[f] for f in folds], np.int64)
    return ValueNumbers(numbers, composites, members, tuple(f.op for f in folds))
