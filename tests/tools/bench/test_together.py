"""Benchmark cases that run at the same time: their order, their interruption, and what the journal keeps of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from warploom.tools.bench import together
from warploom.tools.bench.case import Case, InterruptedBenchmarkError
from warploom.tools.bench.run import run_bench
from warploom.tools.command.lines import INTERRUPTED, plain_line
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch


def solved(name: str) -> dict[str, Any]:
    return plain_line(name, "solved", Stopwatch().read(), verdict="tested", cases=1)


def run(cases: Sequence[Case], journal: Path | None, jobs: int) -> tuple[int, list[dict[str, Any]]]:
    seen: list[Any] = []
    code = run_bench(cases, Output(True), lambda _: {}, lambda line: line | {"as_expected": True}, journal, seen, jobs=jobs)
    return code, seen


CASES = [Case(name, (name,), 1.0) for name in "abc"]


def test_lines_come_in_order_of_cases_that_wait_for_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    all_run = threading.Barrier(3)

    def waits(case: Case, _: object) -> dict[str, Any]:
        all_run.wait(60)
        return solved(case.name)

    monkeypatch.setattr(together, "run_case", waits)
    code, seen = run([*CASES, Case("again", ("a",), 1.0)], tmp_path / "j", jobs=3)
    assert code == 0 and [line["case"] for line in seen] == ["a", "b", "c", "again"]
    monkeypatch.setattr(together, "run_case", lambda *_: pytest.fail("runs again"))
    assert [line["case"] for line in run(CASES, tmp_path / "j", jobs=3)[1]] == ["a", "b", "c"]


def test_an_interruption_keeps_what_has_ended_and_asks_the_others_for_their_best(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = threading.Event()

    def case(case: Case, stopped: threading.Event) -> dict[str, Any]:
        if case.name == "a":
            done.wait(60)
            raise InterruptedBenchmarkError(plain_line("a", "unknown", Stopwatch().read(), reason="interrupted"))
        if case.name == "b":
            done.set()
            return solved("b")
        stopped.wait(60)
        raise InterruptedBenchmarkError(plain_line("c", "unknown", Stopwatch().read(), reason="interrupted"))

    monkeypatch.setattr(together, "run_case", case)
    code, seen = run([*CASES, Case("d", ("d",), 1.0)], tmp_path / "j", jobs=3)
    assert code == INTERRUPTED
    assert [(line["case"], line["status"]) for line in seen] == [
        ("a", "unknown"),
        ("b", "solved"),
        ("c", "unknown"),
        ("d", "unknown"),
    ]
    monkeypatch.setattr(together, "run_case", lambda case, _: solved("new " + case.name))
    assert [line["case"] for line in run(CASES, tmp_path / "j", jobs=2)[1]] == ["new a", "b", "new c"]
