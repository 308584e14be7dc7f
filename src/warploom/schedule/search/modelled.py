"""Kernels judged by the model of `schedule.cost`, where there is no GPU to measure on."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from warploom.core import WarploomError
from warploom.schedule.cost import judged_ms, modelled
from warploom.schedule.nest import Nest
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Measurement, Timed, Unfit
from warploom.schedule.targets import Target


class ModelEvaluator:
    """Evaluates by the model; its times are those of the nest alone: `Implementation.judged` joins them with the bound. Of nearly
    equal ones the one that does less counts as faster (`schedule.cost.judged_ms`)."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @property
    def name(self) -> str:
        return f"model of {self.target.name}"

    @contextmanager
    def open(self) -> Generator[None]:
        yield

    def effort_s(self, nest: Nest, most_s: float) -> float:
        del nest, most_s
        return 0.0

    def measure(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        del best_ms
        for position, nest in enumerate(nests):
            yield position, self._judged(nest)

    def retime(self, nests: Sequence[Nest], rounds: int = CAREFUL_ROUNDS) -> Sequence[Measurement]:
        return [self._judged(nest) for nest in nests]

    def _judged(self, nest: Nest) -> Measurement:
        try:
            found = modelled(nest, self.target)
            return Timed(found.time_ms, busy_ms=judged_ms(found), is_modelled=True)
        except WarploomError as error:
            return Unfit(str(error))
