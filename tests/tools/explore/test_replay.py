"""`explore --replay` of kernels that fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import pytest

from warploom.core import UserError
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, cpu_tiles
from warploom.schedule.nest import Nest
from warploom.schedule.search import Options, Unfit, explore, strategy_named
from warploom.schedule.targets import target
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore import replay as explore_replay
from warploom.tools.explore.data import Data
from warploom.tools.explore.options import KernelOptions


class Crashing:
    @contextmanager
    def open(self) -> Generator[None]:
        yield

    def retime(self, nests: Sequence[Nest]) -> Sequence[Unfit]:
        return [Unfit("signal 11") for _ in nests]


def test_a_kernel_that_crashes_is_not_run_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    axpy = tensor_kernel("axpy")
    search = Options(strategy=strategy_named("refine"), nodes=20)
    (found,) = explore(axpy.program({"n": 40}, cpu_tiles), target("cpu"), options=search).stages
    kept = tmp_path / "decisions.json"
    kept.write_text(json.dumps(dict(found.decisions)))

    def crashing(options: KernelOptions, data: Data, executor: Executor | None) -> Callable[[Backbone], Crashing]:
        assert not data.outputs
        return lambda stage: Crashing()

    monkeypatch.setattr(explore_replay, "evaluators", crashing)
    monkeypatch.setattr(explore_replay, "checked", lambda *_: pytest.fail("run in this process"))
    options = KernelOptions(target=target("cpu"), sizes={"n": 40})
    line = explore_replay.replay_file("axpy", axpy, options, kept, Stopwatch(), lambda _: None).line
    assert line["verdict"] == "unchecked" and line["time_ms"] is None
    assert str(line["note"]).startswith("axpy has no time: signal 11; ")


def test_a_line_of_the_plain_loop_has_nothing_to_replay(tmp_path: Path) -> None:
    axpy, kept = tensor_kernel("axpy"), tmp_path / "line.json"
    kept.write_text(json.dumps({"v": 1, "kernel": "axpy", "sizes": {"n": 40}, "decisions": {}, "kind": "plain"}))
    options = KernelOptions(target=target("cpu"), sizes={"n": 40})
    with pytest.raises(UserError, match="whose answer is the plain loop, which has none"):
        explore_replay.replay_file("axpy", axpy, options, kept, Stopwatch(), lambda _: None)
