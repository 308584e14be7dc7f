"""Complete candidates by randomised greedy descents, here or on an executor's workers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, cast

from warploom.solve.model import Cost, Model
from warploom.solve.runs.executor import Finished, Task, run_tasks
from warploom.solve.search.incumbent import Hints, Incumbent

S = TypeVar("S")
A = TypeVar("A")
T = TypeVar("T")

_CHUNK = 4
"""Descents of one task."""
TEMPERATURES = (0.0, 0.05, 0.3, 1.0)
"""Temperatures of descents, in turn (see `drawn`)."""


def drawn(children: Sequence[T], guess: Callable[[T], float], chance: random.Random, temperature: float) -> T:
    """One of the children: a guess that is dearer than the best by the share `temperature` is chosen 1 / e as often."""
    if len(children) == 1:
        return children[0]
    guesses = [guess(c) for c in children]
    least = min(guesses)
    unit = max(temperature * abs(least), 1e-9 * abs(least), 1e-12)
    return chance.choices(children, [math.exp(-min((g - least) / unit, 700.0)) for g in guesses])[0]


Made: TypeAlias = "tuple[Model[S, A], Callable[[S], float] | None]"
"""A model and its guess at the best cost behind a candidate; None: the bound."""


@dataclass(frozen=True, slots=True)
class Descents(Generic[S, A]):
    """One task; picklable where `make` is."""

    make: Callable[[], Made[S, A]]
    seed: int
    first: int
    last: int
    """Excluded."""
    temperatures: tuple[float, ...]
    below: Cost | None


def drafts(
    make: Callable[[], Made[S, A]],
    count: int,
    *,
    seed: int = 0,
    temperatures: tuple[float, ...] = TEMPERATURES,
    below: Cost | None = None,
    executor: Executor | None = None,
) -> Iterator[tuple[Hashable, ...]]:
    """The values decided on the way to complete candidates, root first; the same ones, in the same order, whatever the executor.
    Descents that end in a dead end give none, and so do those of workers that fail. `make` is called once per worker.
    """
    spans = [(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)]
    tasks = [Task(str(a), Descents(make, seed, a, b, temperatures, below)) for a, b in spans]
    for result in run_tasks(tasks, run_descents, executor=executor, ordered=True):
        if isinstance(result, Finished):
            yield from (tuple(values) for values in result.value)


def run_descents(task: Descents[S, A]) -> list[tuple[Hashable, ...]]:
    model, estimate = _made(task.make)
    hints: Hints[S, A] = Hints(estimate=estimate)
    incumbent = Incumbent(model, hints=hints, below=task.below)
    found: list[tuple[Hashable, ...]] = []
    for n in range(task.first, task.last):
        chance = random.Random(f"{task.seed}/{n}")
        child = incumbent.root()
        while child is not None:
            children = incumbent.children(child)
            if children is None:
                found.append(tuple(value for _, value in child.path))
                break
            temperature = task.temperatures[n % len(task.temperatures)]
            child = drawn(children, incumbent.guess, chance, temperature) if children else None
    return found


def _made(make: Callable[[], Made[S, A]]) -> Made[S, A]:
    """The object that `make` makes, kept for the next task of the worker."""
    if make not in _KEPT:
        _KEPT.clear()
        _KEPT[make] = make()
    return cast("Made[S, A]", _KEPT[make])


_KEPT: dict[Callable[[], object], object] = {}
