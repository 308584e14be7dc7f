"""The kernel that `explore` found is timed beside the plain loop; where the loop is faster, the search ends with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.core import Diagnostic, UserError
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.cpu import Build, Timing, compiled, plain_nest
from warploom.schedule.search import Implementation
from warploom.schedule.targets import target
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore import floor, kernel
from warploom.tools.explore.budget import OutOfTimeError, SearchEndedError
from warploom.tools.explore.check import Checked
from warploom.tools.explore.data import data_for
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.result import Explored, code_text

AXPY = tensor_kernel("axpy")
KERNEL = tensor_kernel("gesummv")
SIZES = KERNEL.sizes_with({"n": 32})
PROGRAM = KERNEL.program(SIZES, cpu_tiles)
EXPLORED = Explored(PROGRAM, tuple(Implementation(None, plain_nest(s), "0" * 64, {"size(n)": "8"}, 0.5) for s in PROGRAM.stages))  # type: ignore[arg-type]
OPTIONS = KernelOptions(target=target("cpu"), sizes=SIZES, threads=1)
DATA = data_for(PROGRAM, KERNEL, 0)


def timing(ms: float) -> Timing:
    return Timing(ms, ms, ms, 7, 2, is_early=False)


def floored(time_ms: float, limit_s: float = 10.0, verdict: str = "tested") -> tuple[dict[str, Any], Explored]:
    line: dict[str, Any] = {"time_ms": time_ms, "note": "first", "verdict": verdict, "root_bound_ms": 0.25, "bound_ms": 0.5}
    line |= {"sizes": SIZES, "evaluated": 9}
    return floor.with_floor(line, EXPLORED, KERNEL, DATA, OPTIONS, limit_s)


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Milliseconds of what was found and of the plain loop."""
    told = {"found": 3.0, "plain": 2.0}
    monkeypatch.setattr(floor, "retime", lambda calls, threads, rounds: (timing(told["found"]), timing(told["plain"])))
    return told


def test_the_faster_one_runs(times: dict[str, float]) -> None:
    line, explored = floored(3.0)
    assert explored.plain == tuple(plain_nest(s) for s in PROGRAM.stages) == explored.nests
    assert explored.build is Build.EXACT
    assert (line["kind"], line["time_ms"], line["plain_ms"], line["time_over_plain"]) == ("plain", 2.0, 2.0, 1.0)
    assert (line["found_ms"], line["found_over_plain"], line["runs"], line["median"]) == (3.0, 1.5, 14, 2.0)
    assert (line["bound_ms"], line["time_over_bound"], line["cases"]) == (0.25, 8.0, 32 * sum(line["data_sets"].values()))
    assert line["data_sets"].keys() == {"random", "whole"}
    said = "first; the plain loop (2 ms), since the fastest of 9 implementations measured is 1.5 times slower (3 ms), both timed"
    assert line["note"].startswith(f"{said} side by side on {OPTIONS.threads} thread(s); ")
    assert "-fno-tree-vectorize" not in code_text(line, explored, OPTIONS)
    times["plain"] = 6.0
    line, explored = floored(3.0)
    assert (line["kind"], line["time_ms"], line["plain_ms"], line["time_over_plain"]) == ("found", 3.0, 6.0, 0.5)
    assert explored is EXPLORED and line["note"] == "first" and explored.build is Build.DECIDED
    assert "-fno-tree-vectorize" in code_text(line, explored, OPTIONS)


@pytest.mark.parametrize("verdict", ["refuted", "unchecked"])
def test_plain_loops_must_be_as_well_checked(verdict: str, times: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "check_cpu", lambda *_, **__: Checked(verdict, 0, "why"))
    line, explored = floored(3.0)
    assert explored is EXPLORED and line["time_ms"] == 3.0 and f"results are {verdict}: why" in line["note"]
    line, explored = floored(3.0, verdict="unchecked")
    assert bool(explored.plain) == (verdict == "unchecked")


def test_plain_loops_that_are_much_slower_are_timed_roughly() -> None:
    line, explored = floored(1e-9)
    assert line["plain_ms"] > 0 and line["time_over_plain"] < 1e-3 and line["note"] == "first" and explored is EXPLORED


def test_the_first_run_of_short_plain_loops_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    (call,) = floor._calls(PROGRAM, [plain_nest(s) for s in PROGRAM.stages], Build.EXACT, DATA)
    whole = iter([3e-5, 4e-6, 2e-6, 5e-6])
    monkeypatch.setattr(compiled, "run_job", lambda job, _: ((next(whole) if job.units == call.kernel.units else 1e-7, 0.0),))
    assert call.kernel.units > 1 and call.rough_ms(1.0) == pytest.approx(2e-3)
    monkeypatch.setattr(compiled, "run_job", lambda job, _: ((2e-3, 0.0),))
    assert call.rough_ms(1.0) == pytest.approx(2.0 * call.kernel.units)


def test_without_time_for_both_plain_loops_win_on_one_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor.Call, "rough_ms", lambda self, enough_ms: 1e3)
    monkeypatch.setattr(floor, "_SHORT_MS", 0.0)
    data = (EXPLORED, [plain_nest(s) for s in PROGRAM.stages], Build.EXACT, DATA)
    assert floor._compared(*data, 4, 900.0, 0.001).ratio == 0.9  # 250 ms, if four threads took a quarter of the time
    assert floor._compared(*data, 4, 2000.0, 0.001).ratio == 2.0


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), UserError(Diagnostic("C_COMPILER", "none")), MemoryError()])
def test_where_nothing_compiles_the_line_stays(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise failure

    monkeypatch.setattr(floor, "compile_nest", refused)
    line, explored = floored(1.0)
    assert explored is EXPLORED and line["time_ms"] == 1.0 and "plain_ms" not in line


def test_a_limit_ends_the_comparison() -> None:
    line, explored = floored(np.inf, limit_s=1e-6)
    assert explored is EXPLORED and "plain_ms" not in line


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException, **more: Any) -> Any:
    """The outcome where the search ends with the error."""

    def search(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(kernel, "_explored", search)
    return kernel.explore_tensor("axpy", AXPY, replace(OPTIONS, sizes={"n": 100}, **more), Stopwatch(), lambda text: None)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (SearchEndedError(), "budget: wall seconds"),
        (
            UserError(Diagnostic("NO_IMPLEMENTATION", "expected an implementation, got none")),
            "expected an implementation, got none",
        ),
    ],
    ids=["late", "none"],
)
def test_a_search_without_an_implementation_ends_with_the_plain_loop(
    error: BaseException, why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outcome = ended(monkeypatch, error, code=tmp_path / "axpy.c", page=tmp_path / "axpy.html")
    line = outcome.line
    assert (line["status"], line["verdict"], line["kind"]) == ("solved", "tested", "plain")
    assert line["cases"] == 100 * sum(line["data_sets"].values())
    assert line["decisions"] == {} and line["bound_ms"] is None and line["root_bound_ms"] is None
    assert line["time_ms"] == line["plain_ms"] > 0 and why in line["note"]
    assert [n.name for n in outcome.explored.nests] == ["axpy plain"]
    assert "axpy" in (tmp_path / "axpy.c").read_text() and "plain loop" in (tmp_path / "axpy.html").read_text()


def test_plain_loops_are_no_answer_to_decisions_by_hand_nor_where_none_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    none = UserError(Diagnostic("NO_IMPLEMENTATION", "got none"))
    with pytest.raises(UserError, match="NO_IMPLEMENTATION"):
        ended(monkeypatch, none, fixed={"size(i)": "8"})
    monkeypatch.setattr(kernel, "alone", lambda *_, **__: None)
    assert ended(monkeypatch, SearchEndedError()).line["reason"] == "budget: wall seconds"
    monkeypatch.undo()

    def unprinted(stage: Any) -> Any:
        raise UserError(Diagnostic("PLAIN_LOOP", "expected another one"))

    monkeypatch.setattr(floor, "plain_nest", unprinted)
    assert ended(monkeypatch, none).line["status"] == "unknown"


def test_plain_loops_that_take_too_long_are_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any, **__: Any) -> Any:
        raise OutOfTimeError

    monkeypatch.setattr(floor, "check_cpu", late)
    line = ended(monkeypatch, SearchEndedError()).line
    assert (line["status"], line["verdict"], line["kind"]) == ("solved", "unchecked", "plain") and line["time_ms"] > 0


def test_both_run_on_arrays_that_begin_with_a_cache_line() -> None:
    """Else stores of whole lines are twice as slow, and the plain loop looks faster than what was found."""
    calls = floor._calls(PROGRAM, EXPLORED.nests, Build.DECIDED, DATA)
    assert calls and all(array.ctypes.data % 64 == 0 for call in calls for array in call._arrays)
