"""Stages that pass over one array: when `explore` joins them, and kernels of joined stages that were kept."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.core import f32
from warploom.kernels.suites import POLYBENCH
from warploom.schedule.backbone import at_sizes, cpu_tiles, evaluate_program
from warploom.schedule.calls import pack
from warploom.schedule.cpu import find_compiler, plain_nest
from warploom.schedule.frontend import out, sharing_passes, tensor
from warploom.schedule.search import Options, explore, strategy_named
from warploom.schedule.targets import target
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore import kernel
from warploom.tools.explore.budget import SearchEndedError
from warploom.tools.explore.options import KernelOptions, program_of
from warploom.tools.explore.replay import replay_file
from warploom.tools.kernels import store
from warploom.tools.kernels.class_records import class_program
from warploom.tools.kernels.store import Kept
from warploom.tools.kernels.tuning import known_class, plain_program, runner_of


@tensor
def beside(A: f32["m", "n"], p: f32["n"], r: f32["m"], X: f32["k"], q: out[f32["m"]], s: out[f32["n"]], Z: out[f32["k"]]):
    q[i] = sum(A[i, j] * p[j], over=j)
    s[j] = sum(A[i, j] * r[i], over=i)
    Z[l] = X[l] * 2


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
    sets = sum(line["data_sets"].values())
    assert (line["verdict"], line["cases"]) == ("tested", sets * sum(SIZES.values()))


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


def test_a_stage_of_another_size_at_run_time_stays_beside_joined_ones() -> None:
    known = KernelOptions(target=target("cpu"), sizes={"m": 6, "n": 5}, run_time={"k": 1}, threads=1)
    program = program_of(beside, known)
    assert [s.name for s in program.stages] == ["beside_q_s", "beside_Z"]
    a, p, r, x = np.ones((6, 5), np.float32), np.arange(5.0), np.arange(6.0), np.arange(3.0)
    found = evaluate_program(at_sizes(program, {"k": 3}), {"A": a, "p": p, "r": r, "X": x})
    assert [found[n].tolist() for n in "qsZ"] == [[10.0] * 6, [15.0] * 5, [0.0, 2.0, 4.0]]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_kept_kernels_of_joined_stages_serve_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "store_folder", lambda **_: tmp_path)
    whole = class_program(beside, {"m": 6, "n": 5, "k": 8}, {"k": 1})
    record = {
        "function": "beside", "key": store.key_of(whole, 1, {"k": 1}), "kind": "found", "sizes": {"m": 6, "n": 5, "k": 8},
        "run_time": {"k": 1}, "threads": 1, "stages": pack([plain_nest(s) for s in sharing_passes(whole, cpu_tiles).stages]),
    }  # fmt: skip
    assert len(record["stages"]) == 2
    store.add(tmp_path, record)
    found = known_class(beside, {"m": 6, "n": 5, "k": 3}, 1)
    assert found is not None and found.kind == "found"
    ones, results = [np.ones(s, np.float32) for s in ((6, 5), 5, 6, 3)], [np.zeros(s, np.float32) for s in (6, 5, 3)]
    found.runner({"m": 6, "n": 5, "k": 3}).run([*ones, *results], [])
    assert [set(r.tolist()) for r in results] == [{5.0}, {6.0}, {2.0}]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_the_plain_loops_of_joined_stages_are_those_of_the_function(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second stage of `atax` needs the sums of the first, so that no plain loop makes both at once."""
    function, code, page = POLYBENCH["atax"].kernel, tmp_path / "atax.c", tmp_path / "atax.html"
    known = KernelOptions(target=target("cpu"), sizes=SIZES, threads=1, code=code, page=page)
    assert [stage.name for stage in program_of(function, known).stages] == ["atax"]

    def late(*_: Any) -> Any:
        raise SearchEndedError

    monkeypatch.setattr(kernel, "_explored", late)
    outcome = kernel.explore_tensor("atax", function, known, Stopwatch(), lambda _: None)
    assert (outcome.line["status"], outcome.line["verdict"], outcome.line["kind"]) == ("solved", "tested", "plain")
    assert [n.name for n in outcome.explored.nests] == ["atax_Ax plain", "atax_y plain"]  # type: ignore[attr-defined]
    assert "2 kernels, to be called in this order" in code.read_text() and "plain loop" in page.read_text()
