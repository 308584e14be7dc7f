"""`warploom bench transposes`: one proved line per size, the journal, self checks, bad input, interruption."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.synth.transposes.judge import is_transposed
from tests.tools.contract import lines_of

from warploom.solve import Failed, Journal, Task
from warploom.tools.bench import transposes as transposes_bench
from warploom.tools.cli import cli


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new process for every test would take longer than all of their sizes."""
    monkeypatch.setattr(transposes_bench, "process_executor", lambda workers: ThreadPoolExecutor(workers))


def run(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    result = CliRunner().invoke(cli, ["bench", "transposes", *arguments, "--json", "--workers", "1"])
    return result.exit_code, lines_of(result.stdout), result.stderr


def test_one_line_per_size() -> None:
    code, lines, _ = run("--min", "2", "--max", "4", "--kind", "crc", "--kind", "sum")
    assert code == 0
    assert [line["case"] for line in lines[:3]] == ["transpose/crc/2x2", "transpose/crc/2x3", "transpose/crc/2x4"]
    assert len(lines) == 18
    for line in lines:
        assert (line["status"], line["verdict"]) == ("solved", "proved")
        assert is_transposed(line["kind"], line["m"], line["n"], line["composition"])
        assert ("table_cost" in line) == (line["kind"] == "crc")
        assert isinstance(line["cost"], int) and isinstance(line["optimal"], bool) and line["depth"] >= 0


def test_template_is_exhausted() -> None:
    code, lines, _ = run("--case", "transpose/rcr/[46]x32", "--kind", "rcr", "--grammar", "template")
    assert code == 1
    assert [line["status"] for line in lines] == ["solved", "unsat"]
    assert "exhausted" in lines[1]["reason"]


def test_lanes() -> None:
    code, lines, _ = run("--min", "3", "--max", "3", "--lanes", "32", "--lanes", "5")
    assert (code, [line["n"] for line in lines]) == (0, [32, 5])


def test_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sizes.journal"
    _, first, _ = run("--min", "2", "--max", "3", "--journal", str(path))
    assert len(Journal(path)) == 4
    monkeypatch.setattr(transposes_bench, "complete", None)  # nothing is left to run
    code, again, _ = run("--min", "2", "--max", "3", "--journal", str(path))
    assert code == 0
    assert again == [line | {"from_journal": True} for line in first]


@pytest.mark.parametrize(
    "change",
    [
        {"composition": ["i", "j", "i"]}, {"composition": "all"}, {"composition": [1, 2, 3]}, {"cost": None}, {"optimal": 1.5},
        {"status": "refused"}, {"status": "unsat"}, {"m": 4}, {"seconds": "1"}, {"peak_mb": None}, {"depth": None},
    ],
)  # fmt: skip
def test_entries_of_a_journal(change: dict[str, Any]) -> None:
    argument: Any = ("crc", 3, 3, "grown")
    value: Any = transposes_bench.complete(argument)
    assert transposes_bench.is_sound(argument, value)
    assert not transposes_bench.is_sound(argument, value | change)
    assert not transposes_bench.is_sound(argument, "solved")


def test_what_a_journal_calls_impossible_is_not_proved_again(tmp_path: Path) -> None:
    asked = ("--case", "transpose/rcr/6x32", "--kind", "rcr", "--grammar", "template", "--journal", str(tmp_path / "journal"))
    _, (first,), _ = run(*asked)
    _, (again,), _ = run(*asked)
    assert (first["status"], first["verdict"], again["status"], again["verdict"]) == ("unsat", "proved", "unsat", "unchecked")
    assert again["recorded"] == {"verdict": "proved"}


def test_a_case_may_be_named_by_its_size() -> None:
    _, lines, _ = run("--max", "3", "--case", "2x3")
    assert [line["case"] for line in lines] == ["transpose/crc/2x3"]


def test_no_size_and_bad_journal(tmp_path: Path) -> None:
    code, lines, stderr = run("--case", "transpose/crc/99x1")
    assert (code, lines[0]["status"]) == (2, "error")
    assert "NO_CASE" in stderr
    (tmp_path / "notes").write_text("no journal\n")
    code, lines, stderr = run("--max", "2", "--journal", str(tmp_path / "notes"))
    assert (code, lines[0]["status"]) == (2, "error")
    assert "JOURNAL_UNUSABLE" in stderr


def test_a_size_that_fails_has_its_line() -> None:
    line = transposes_bench.line_of(Failed(Task("key", ("crc", 3, 4, "grown")), "its worker was ended by signal 9"))
    assert (line["case"], line["status"], line["reason"]) == ("transpose/crc/3x4", "error", "its worker was ended by signal 9")


def test_self_check() -> None:
    result = CliRunner().invoke(cli, ["bench", "transposes", "--self-check", "--json"])
    recover, refute = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (recover["passed"], recover["tried"], refute["passed"], refute["tried"]) == (200, 200, 50, 50)


def test_text_for_people() -> None:
    result = CliRunner().invoke(cli, ["bench", "transposes", "--min", "3", "--max", "3", "--workers", "1"])
    assert result.exit_code == 0
    assert "transpose/crc/3x3" in result.stdout and "rot(3)(k=j" in result.stdout


def test_interruption_leaves_no_size_without_a_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "warploom", "bench", "transposes", "--max", "12", "--min", "9", "--json", "--workers", "1"]
    path = tmp_path / "sizes.journal"
    process = subprocess.Popen([*command, "--journal", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    head = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    lines = lines_of(head + rest)
    assert process.returncode == 130
    assert len(lines) == 16
    assert lines[0]["status"] == "solved" and lines[-1]["reason"] == "interrupted"
    assert len(Journal(path)) >= 1


def test_compositions_are_written_as_kernels(tmp_path: Path) -> None:
    command = ["bench", "transposes", "--workers", "1", "--min", "2", "--max", "33", "--case", "transpose/crc/2x3[23]"]
    result = CliRunner().invoke(cli, [*command, "--cuda", str(tmp_path / "kernels"), "--json"])
    whole, wide = lines_of(result.stdout)
    assert result.exit_code == 0
    assert whole["kernel"]["verdict"] == "proved"
    assert whole["kernel"]["shuffles"] == 2
    assert "TOO_MANY_LANES" in wide["no_kernel"]
    assert [path.name for path in (tmp_path / "kernels").iterdir()] == ["transpose_crc_2x32.cu"]
