"""Calls at sizes at which some arrays have no elements: what is left to compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from warploom.schedule.calls.classes import plain_runner
from warploom.schedule.calls.runners import Runner
from warploom.schedule.frontend import TensorFunction


@dataclass(frozen=True, slots=True)
class RestRunner:
    """The runner of what is left, which takes the arrays that have elements."""

    rest: Runner

    @property
    def kind(self) -> str:
        return self.rest.kind

    def run(self, arrays: Sequence[NDArray[Any]], scalars: Sequence[float]) -> None:
        self.rest.run([a for a in arrays if a.size], scalars)


def rest_runner(function: TensorFunction, sizes: Mapping[str, int], threads: int) -> Runner | None:
    """Plain loops of what is left at these sizes; None where nothing lacks elements. UserError as `without_elements`."""
    if not function.lacks_elements(sizes):
        return None
    return RestRunner(plain_runner(function.without_elements(sizes), {}, threads))
