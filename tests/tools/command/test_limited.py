"""`--budget` and `--memory` of the commands, and the guard that turns what is left into outcomes."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any

import click
import pytest
from tests.synth.small_sketches import conv1d

from warploom.core import limits
from warploom.core.limits import CPU_SPENT, OUT_OF_MEMORY, LimitReachedError, Limits
from warploom.synth import complete
from warploom.tools.cli import cli
from warploom.tools.command.duration import duration
from warploom.tools.command.guard import TOO_DEEP, guarded
from warploom.tools.command.limited import memory_size
from warploom.tools.command.lines import GAVE_UP
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch


def _commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


LIMITED = {
    "synth", "solve", "bench transposes", "ptx check", "ptx fmt", "ptx run", "ptx prove", "ptx trace", "ptx shuffle", "scan lift",
    "scan check", "scan network", "scan template", "scan tune", "scan emit", "explore",
}  # fmt: skip


def test_every_command_that_may_run_long_has_a_budget_and_a_memory_limit() -> None:
    found = {
        name
        for name, command in _commands(cli)
        if {"budget", "memory"} <= {p.name for p in command.params} and not command.hidden
    }
    assert found >= LIMITED


def _outcome(error: BaseException) -> Outcome:
    def work(_: Progress) -> Outcome:
        raise error

    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        return guarded("case", work, Stopwatch(), Output(as_json=True), debug=False)


class Z3Exception(Exception):
    """As the library's."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), OUT_OF_MEMORY),
        (RecursionError("maximum"), TOO_DEEP),
        (LimitReachedError(CPU_SPENT), CPU_SPENT),
        (KeyboardInterrupt(), "interrupted"),
        (Z3Exception("out of memory"), OUT_OF_MEMORY),
        (ctypes.ArgumentError("argument 1: KeyboardInterrupt: "), "interrupted"),
    ],
)
def test_resources_that_end_are_unknown_with_their_reason(error: BaseException, reason: str) -> None:
    outcome = _outcome(error)
    assert (outcome.line["status"], outcome.line["verdict"], outcome.line["reason"]) == ("unknown", "unchecked", reason)
    assert outcome.exit_code == GAVE_UP


@pytest.mark.parametrize("error", [ValueError("broken"), Z3Exception("sort mismatch"), OverflowError("int too large")])
def test_a_fault_is_called_a_bug_of_warploom(error: Exception) -> None:
    outcome = _outcome(error)
    assert outcome.line["status"] == "error"
    assert str(outcome.line["reason"]).startswith(f"internal error, a bug of Warploom: {type(error).__name__}: ")


@pytest.mark.parametrize(("text", "size"), [("4G", 4 << 30), ("500 MB", 500 << 20), ("64", 64 << 20), ("2GiB", 2 << 30)])
def test_sizes_of_memory(text: str, size: int) -> None:
    param = next(p for p in dict(_commands(cli))["solve"].params if p.name == "memory")
    assert memory_size(click.Context(cli), param, text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "4T", "lots", "1" * 40])
def test_sizes_that_are_none(text: str) -> None:
    param = next(p for p in dict(_commands(cli))["solve"].params if p.name == "memory")
    with pytest.raises(click.BadParameter, match="expected a size such as 4G"):
        memory_size(click.Context(cli), param, text)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("stage", "verdict"), [("check", "unchecked"), ("lift", "tested")])
def test_a_budget_that_ends_after_the_search_keeps_what_was_found(
    stage: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is claimed that was not done: a proof without its check is unchecked, a kernel without its lift is tested."""
    clock = Clock()

    def late(*_: object) -> None:
        clock.now += 100
        limits.tick()

    monkeypatch.setattr(import_module("warploom.synth.proof.judge"), stage, late)
    sketch = conv1d(4, 2) if stage == "check" else _sized()
    with Limits(10.0, clock=clock) as given, given.watched():
        report = complete(sketch)
    assert (report.status, report.verdict) == ("solved", verdict)
    assert report.reason == f"{CPU_SPENT} during the {stage}"
    assert report.completions
    assert not report.domain


def _sized():  # type: ignore[no-untyped-def]
    import warploom as wl
    from warploom.core import f32

    n = wl.size("n")

    def spec(x, y, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            y[i] = x[i]

    @wl.sketch(spec=spec, block=4, grid=wl.ceil_div(n, 4), warp_size=4, complete_at={"n": 8})
    def copy(x: wl.Global[f32, n], y: wl.Global[f32, n]):  # type: ignore[no-untyped-def]
        if wl.global_id() < n:
            y[wl.global_id()] = x[wl.global_id()]

    return copy


@pytest.mark.parametrize("text", ["9" * 5000 + "s", "99999h", "nan", "-1s", "٣s", "1d"])
def test_times_that_no_clock_has(text: str) -> None:
    nothing: Any = None
    with pytest.raises(click.BadParameter, match="expected a time"):
        duration(nothing, nothing, text)
    assert duration(nothing, nothing, "1.5m") == 90.0
