"""`warploom synth --best`: parameters by the cost model, then a completion like any other."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.core.limits import CPU_SPENT, LimitReachedError
from warploom.kernels.tunables import tunable_sketch
from warploom.schedule.sketches import FamilyModel, Tuned
from warploom.solve import Cost, Incumbent
from warploom.tools.cli import cli
from warploom.tools.command.outcome import nothing_said
from warploom.tools.synth import command
from warploom.tools.synth.best import best_of
from warploom.tools.synth.synthesise import synthesise

FAMILY = '''"""A family of two sketches, and a sketch without parameters."""

import warploom as wl
from warploom import i32


@wl.tunable(sizes={"n": 1 << 20}, lanes=[32, 64])
def turned(lanes):
    n = wl.size("n")

    def spec(x, y, n):
        for i in range(n):
            y[i] = x[i] + 1

    @wl.sketch(spec=spec, block=lanes, grid=wl.ceil_div(n, lanes), complete_at={"n": lanes})
    def turned(x: wl.Global[i32, n], y: wl.Global[i32, n]):
        if wl.global_id() < n:
            y[wl.global_id()] = x[wl.global_id()] + 1

    return turned
'''


def best(*arguments: str) -> tuple[Result, dict[str, object]]:
    result = CliRunner().invoke(cli, ["synth", *arguments, "--best", "--json"])
    (line,) = lines_of(result.stdout)
    assert "Traceback" not in result.stderr
    return result, line


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "families.py"
    path.write_text(FAMILY)
    return str(path)


def test_the_fastest_setting_is_completed_and_printed(file: str, tmp_path: Path) -> None:
    cuda = tmp_path / "k.cu"
    result, line = best(f"{file}:turned", "--arch", "sm_80", "--cuda", str(cuda))
    assert (result.exit_code, line["status"], line["verdict"]) == (0, "solved", "proved")
    assert (line["arch"], line["time_is"], line["decisions"]) == ("sm_80", "modelled", {"lanes": 64})
    (other,) = line["others"]  # type: ignore[misc]
    assert other["lanes"] == 32 and other.get("at_least_ms", other.get("time_ms")) >= line["time_ms"]  # type: ignore[index,operator]
    assert "__launch_bounds__(64)" in cuda.read_text()
    assert line["binds"] in line["terms_ms"]  # type: ignore[operator]


def test_what_a_block_waits_for_is_told(file: str) -> None:
    """Two blocks have nothing beside them that computes while they wait."""
    Path(file).write_text(FAMILY.replace("1 << 20", "64"))
    _, line = best(f"{file}:turned")
    assert line["binds"] == "latency"
    text = CliRunner().invoke(cli, ["synth", f"{file}:turned", "--best"]).stdout
    told = re.search(r"bound by latency: a block waits (\d+) of its (\d+) cycles for data", text)
    assert told is not None
    assert [int(told[1]), int(told[2])] == [line["waited_cycles"], line["block_cycles"]]
    assert 0 < int(told[1]) < int(told[2])
    assert line["others"][0]["waited_cycles"] > 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("target", "more", "code"),
    [
        (":nobody", (), "SEVERAL_SKETCHES"), ("", ("--arch", "sm_1"), "UNKNOWN_ARCH"), ("x.py", (), "FILE_NOT_FOUND"),
    ],
)  # fmt: skip
def test_what_is_no_family_is_refused(file: str, target: str, more: tuple[str, ...], code: str) -> None:
    result, line = best(file + target, *more)
    assert result.exit_code == 2 and f"{code}: expected" in str(line["reason"])


@pytest.mark.parametrize("name", ["no_such_case", "axpy"])
def test_a_name_that_is_no_sketch_is_refused(name: str) -> None:
    result, line = best(name)
    assert result.exit_code == 2 and str(line["reason"]).startswith("UNKNOWN_EXAMPLE")


def test_a_budget_that_ends_first_leaves_it_open() -> None:
    result, line = best("mult64", "--budget", "0.05s")
    assert (result.exit_code, line["status"]) == (3, "unknown") and "budget" in str(line["reason"])


def interrupting(function: Callable[..., object]) -> Callable[..., object]:
    def interrupted(*given: object, **named: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return function(*given, **named)

    return interrupted


def test_what_the_search_found_survives_an_interruption_of_what_follows(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "synthesise", interrupting(synthesise))
    cuda = tmp_path / "k.cu"
    result, line = best(f"{file}:turned", "--cuda", str(cuda))
    assert (result.exit_code, line["status"], line["verdict"], line["ended"]) == (130, "solved", "proved", "interrupted")
    assert line["decisions"] == {"lanes": 64} and "__launch_bounds__(64)" in cuda.read_text()


def test_an_interrupted_search_gives_the_best_so_far(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def adopted(search: Incumbent[Any, Any], cost: Cost, answer: object) -> None:
        adopt(search, cost, answer)
        if isinstance(answer, Tuned):
            os.kill(os.getpid(), signal.SIGINT)

    adopt = Incumbent[Any, Any].adopt
    monkeypatch.setattr(Incumbent, "adopt", adopted)
    result, line = best(f"{file}:turned")
    assert (result.exit_code, line["status"], line["verdict"]) == (130, "solved", "proved")
    assert line["decisions"] in ({"lanes": 32}, {"lanes": 64}) and line["ended"] == "interrupted"


def test_a_budget_that_ends_behind_the_search_keeps_what_was_found(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> NoReturn:
        raise LimitReachedError(CPU_SPENT)

    monkeypatch.setattr(command, "synthesise", spent)
    result, line = best(f"{file}:turned")
    assert (result.exit_code, line["status"], line["verdict"], line["ended"]) == (0, "solved", "proved", CPU_SPENT)


def test_a_search_that_gives_up_before_it_has_a_kernel_chooses_nothing() -> None:
    with pytest.raises(LimitReachedError, match="budget"):
        best_of("mult64", tunable_sketch("mult64"), "sm_80", 0.0, nothing_said)


def test_completions_that_may_have_been_missed_leave_it_open(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FamilyModel, "given_up", [({"lanes": 32}, "budget: nodes")])
    monkeypatch.setattr(FamilyModel, "answer", lambda self, candidate: None)
    result, line = best(f"{file}:turned")
    assert (result.exit_code, line["status"], line["reason"]) == (3, "unknown", "budget: nodes")


def test_a_family_without_a_kernel_is_told(file: str) -> None:
    Path(file).write_text(FAMILY.replace("wl.global_id()] + 1", "wl.global_id()] + 2"))
    result, line = best(f"{file}:turned")
    assert (result.exit_code, line["status"]) == (2, "error") and "NO_SETTING: expected a setting" in str(line["reason"])
