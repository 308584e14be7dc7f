"""Stages that pass over one array: when `explore` joins them, and kernels of joined stages that were kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from warploom.kernels.suites import POLYBENCH
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.calls import pack
from warploom.schedule.cpu import find_compiler
from warploom.schedule.frontend import sharing_passes
from warploom.schedule.search import Options, explore, strategy_named
from warploom.schedule.targets import target
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import KernelOptions, program_of
from warploom.tools.explore.replay import replay_file
from warploom.tools.kernels.store import Kept
from warploom.tools.kernels.tuning import plain_program, runner_of

BICG = POLYBENCH["bicg"].kernel
SIZES = {"m": 24, "n": 20}
APART, JOINED = ["bicg_s", "bicg_q"], ["bicg"]


def options(threads: int, *fixed: str) -> KernelOptions:
    return KernelOptions(target=target("cpu"), sizes=SIZES, threads=threads, fixed=dict.fromkeys(fixed, ""))


def names(threads: int, *fixed: str) -> list[str]:
    return [stage.name for stage in program_of(BICG, options(threads, *fixed)).stages]


def test_one_thread_passes_once() -> None:
    assert names(1) == JOINED and names(2) == APART


def test_decisions_say_which_stages_they_are_about() -> None:
    assert names(1, "bicg_s/size(m0)") == APART
    assert names(2, "size(m0)") == JOINED
    assert names(1, "nothing/size(m0)") == APART


@pytest.fixture(scope="module")
def found() -> object:
    (stage,) = program_of(BICG, options(1)).stages
    (explored,) = explore(stage, target("cpu"), options=Options(strategy=strategy_named("refine"), nodes=30)).stages
    assert explored.best is not None
    return explored.best


def test_what_was_found_on_one_thread_is_judged_on_several(found: object, tmp_path: Path) -> None:
    kept = tmp_path / "decisions.json"
    kept.write_text(json.dumps(dict(found.decisions)))  # type: ignore[attr-defined]
    line = replay_file("bicg", BICG, options(2), kept, Stopwatch(), lambda _: None).line
    assert (line["verdict"], line["cases"]) == ("tested", sum(SIZES.values()))


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_kept_kernels_of_joined_stages_run(found: object) -> None:
    program = plain_program(BICG.function, SIZES)
    assert len(sharing_passes(program, cpu_tiles).stages) == 1
    record = {"kind": "found", "sizes": SIZES, "stages": pack([found.nest])}  # type: ignore[attr-defined]
    runner = runner_of(Kept(Path(), record), BICG.function, program, 1)
    assert runner is not None
    numbers = np.random.default_rng(3)
    a, p, r = (numbers.uniform(-1, 1, shape).astype(np.float32) for shape in ((24, 20), 20, 24))
    s, q = np.zeros(20, np.float32), np.zeros(24, np.float32)
    runner.run([a, p, r, s, q], [])
    np.testing.assert_allclose(s, a.T @ r, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(q, a @ p, rtol=1e-4, atol=1e-4)
    assert (
        runner_of(Kept(Path(), {**record, "stages": [*record["stages"], *record["stages"], {}]}), BICG.function, program, 1)
        is None
    )
