"""Kernels that the model finds are compiled at the end of a search: those that spill count as slower."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from tests.schedule.choices import hand
from tests.schedule.choices.test_habits import SMALL, first

from warploom.core import Diagnostic, UserError
from warploom.schedule.choices import kernel_space
from warploom.schedule.nest import Nest
from warploom.schedule.search import ModelEvaluator, Timed, modelled
from warploom.schedule.targets import target

SM_90 = target("sm_90")


class _Compiled:
    def __init__(self, spill_bytes: int) -> None:
        self.spill_bytes = spill_bytes


@cache
def _nests() -> list[Nest]:
    space = kernel_space(hand.matmul(16, 32, 24, SMALL, divisors=False), SM_90)
    return [replace(first(space, space.usually(space.root(), lambda _: False)), name=name) for name in "abc"]


def _times(monkeypatch: pytest.MonkeyPatch, spills: dict[str, int | None], share: float = 0.0) -> tuple[list[float], list[str]]:
    """Times in shares of the first without spills, and the kernels that were compiled."""
    asked: list[str] = []

    def compile_kernel(name: str) -> _Compiled:
        asked.append(name)
        if (found := spills[name]) is None:
            raise UserError(Diagnostic("TOOL_MISSING", "no compiler"))
        return _Compiled(found)

    monkeypatch.setattr(modelled, "_MANY", share)
    monkeypatch.setattr(modelled, "cuda_kernel", lambda nest, _: nest.name)
    monkeypatch.setattr(modelled, "compile_kernel", compile_kernel)
    nests = _nests()
    evaluator = ModelEvaluator(SM_90)
    ((_, plain),) = evaluator.measure(nests[:1], None)
    found = evaluator.retime(nests)
    assert isinstance(plain, Timed) and all(isinstance(m, Timed) for m in found)
    return [m.judged_ms / plain.judged_ms for m in found if isinstance(m, Timed)], asked


def test_the_next_kernel_is_compiled_where_one_spills(monkeypatch: pytest.MonkeyPatch) -> None:
    times, asked = _times(monkeypatch, {"a": 64, "b": 0, "c": 64})
    assert times == pytest.approx([2.0, 1.0, 1.0]) and asked == ["a", "b"]


def test_kernels_of_as_many_registers_as_two_that_spill_are_taken_to_spill(monkeypatch: pytest.MonkeyPatch) -> None:
    times, asked = _times(monkeypatch, {"a": 64, "b": 32, "c": 0})
    assert times == pytest.approx([2.0, 1.5, 1.5]) and asked == ["a", "b"]


def test_kernels_of_few_registers_and_those_without_a_compiler_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _times(monkeypatch, {"a": 64}, share=1.0) == (pytest.approx([1.0, 1.0, 1.0]), [])
    assert _times(monkeypatch, {"a": None}) == (pytest.approx([1.0, 1.0, 1.0]), ["a"])
