"""Benchmark runs: a fresh process per case, one line per case whatever happens, the journal."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.core.limits import Limits, children
from warploom.kernels import MORE_NAMES, NAMES, PUBLISHED, find
from warploom.tools.bench import case as bench
from warploom.tools.bench import kernels as kernel_bench
from warploom.tools.bench import programs as program_bench
from warploom.tools.bench import synth as synth_bench
from warploom.tools.bench import together
from warploom.tools.bench.case import Case, InterruptedBenchmarkError, run_case
from warploom.tools.cli import cli
from warploom.tools.command.lines import combined_exit, plain_line
from warploom.tools.command.usage import Stopwatch


def solved(name: str, **fields: object) -> dict[str, Any]:
    return plain_line(name, "solved", Stopwatch().read(), verdict="proved", domain="integers", **fields)


def python(name: str, code: str, monkeypatch: pytest.MonkeyPatch, limit_s: float = 60.0) -> dict[str, Any]:
    """The line of a case whose process runs `code` instead of a command."""
    popen = bench.subprocess.Popen
    monkeypatch.setattr(bench.subprocess, "Popen", lambda command, **options: popen([command[0], "-c", code], **options))
    line = run_case(Case(name, (), limit_s))
    check(line)
    return line


def test_a_case_that_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    line = python("c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", monkeypatch)
    assert (line["case"], line["status"]) == ("c", "error")
    assert "signal 11" in line["reason"]


def test_a_case_that_prints_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    line = python("c", "import sys; print('hello'); sys.exit('no memory')", monkeypatch)
    assert line["status"] == "error"
    assert line["reason"] == "the process exited with 1 and no line: no memory"


def test_a_case_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "GRACE_S", 0.1)
    monkeypatch.setattr(bench, "PATIENCE", 1.0)
    line = python("c", "import time, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)", monkeypatch, 0.3)
    assert line["status"] == "unknown"
    assert line["reason"] == "stopped after 0.3 s of CPU time"


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(600)",
        # A case that prints its best so far has not ended by itself, either.
        """
import json, time
try:
    time.sleep(600)
except KeyboardInterrupt:
    usage = {"seconds": 0.1, "wall_s": 0.1, "peak_mb": 1.0}
    print(json.dumps({"v": 1, "case": "c", "status": "solved", "verdict": "proved", "domain": "integers"} | usage))
""",
    ],
)
def test_the_budget_of_the_command_ends_the_case_that_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_grace_s", lambda: 60.0)
    looks = iter([0.0, 0.1])
    with Limits(1.0, clock=lambda: next(looks, 2.0)):
        line = python("c", code, monkeypatch)
    assert (line["status"], line["verdict"], line["reason"]) == ("unknown", "unchecked", bench.ALL_SPENT)
    assert not children


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import time; time.sleep(0.5); print('no line')", "the process exited with 0 and no line: nothing on stderr"),
        ("while True: pass", "stopped after 0.4 s of CPU time"),
    ],
)
def test_only_cpu_time_counts(monkeypatch: pytest.MonkeyPatch, code: str, reason: str) -> None:
    monkeypatch.setattr(bench, "_LOOK_S", 0.01)
    monkeypatch.setattr(bench, "GRACE_S", 0.1)
    assert python("c", code, monkeypatch, 0.4)["reason"] == reason


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_running_case_ends_with_the_benchmark(tmp_path: Path, number: signal.Signals) -> None:
    """The case starts a process of its own and waits."""
    path = tmp_path / "pids"
    case = (
        "import os, subprocess, sys; from warploom.tools.command.entry import run\n"
        "def case():\n"
        "    other = subprocess.Popen(['sleep', '1000'])\n"
        f"    open({str(path)!r}, 'w').write(f'{{os.getpid()}} {{other.pid}} ')\n"
        "    other.wait()\n"
        "run(case)"
    )
    driver = (
        "import sys; from warploom.tools.bench import case as bench; from warploom.tools.command.entry import run\n"
        f"bench.GRACE_S = 0.1; bench.own_command = lambda *_: [sys.executable, '-c', {case!r}]\n"
        "run(lambda: bench.run_case(bench.Case('c', (), 1000.0)))"
    )
    process = subprocess.Popen([sys.executable, "-c", driver], stderr=subprocess.DEVNULL)
    while not path.exists() or path.read_text().count(" ") < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    process.wait()
    for pid in map(int, path.read_text().split()):
        while runs(pid):
            time.sleep(0.02)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_bench_synth() -> None:
    result = CliRunner().invoke(cli, ["bench", "synth", "--case", "aos-store-crc-[23]", "--json"])
    two, three = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (two["case"], two["space"], two["unsat_in"], two["as_expected"]) == ("aos-store-crc-2", 3, [1, 2], True)
    assert (three["case"], three["space"], three["unsat_in"]) == ("aos-store-crc-3", 1, [])
    assert two["bar"] == {"accumulates": 0, "seconds": 2.0}


def test_bench_of_dataflow_programs() -> None:
    result = CliRunner().invoke(cli, ["bench", "synth", "--case", "sf/l1/trove-crc-[23]", "--json"])
    two, three = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (two["status"], two["solutions"], two["ineffectiveness"], two["as_expected"]) == ("unsat", 0, None, True)
    assert (three["solutions"], three["goal"]) == (2, "all")
    assert {*three["missed"]} <= {"seconds"}  # a busy machine stretches CPU seconds, too
    assert three["bar"]["seconds"] == 0.066
    assert set(three["phases"]) >= {"parse", "search", "replay"}


def test_bench_of_transposes() -> None:
    result = CliRunner().invoke(cli, ["bench", "synth", "--all", "--case", "wall/crc-6", "--json"])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (line["status"], line["verdict"], line["template"], line["solutions"]) == ("solved", "proved", "unsat", 1)
    assert len(line["composition"]) == 3
    assert line["missed"] == []
    assert not program_bench.judged({**line, "template": "unknown"})["as_expected"]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("sf/l3/trove-crc-9", 1.0), ("sf/l3/trove-crc-7", 0.3702), ("sf/l3/trove-rcr-2", 0.0995), ("sf/l1/trove-crc-1", 1.0)],
)
def test_seconds_asked_for(name: str, seconds: float) -> None:
    bar = program_bench.bar_of(name)
    assert bar is not None and bar.seconds == seconds


def test_what_a_dataflow_case_misses() -> None:
    fields: dict[str, Any] = {"goal": "all", "ineffectiveness": 2.5, "solutions": [{}]}
    line = solved("sf/l3/trove-rcr-2", count=271, **fields) | {"seconds": 3.0, "peak_mb": 2000.0}
    judged = program_bench.judged(line)
    assert judged["missed"] == ["solutions", "seconds", "peak_mb", "ineffectiveness"]
    assert (judged["solutions"], judged["as_expected"], judged["in_time"]) == (271, False, False)
    assert program_bench.judged(judged) == judged
    assert program_bench.judged(solved("sf/l3/trove-rcr-2", count=1, goal="first"))["as_expected"]


def test_bench_kernels() -> None:
    result = CliRunner().invoke(cli, ["bench", "kernels", "--case", "aos-store-rcr-3", "--json"])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert line["as_expected"]
    assert line["kernel"]["shuffles"] == 0
    assert line["kernel"]["matches_reference"] and line["baseline"]["matches_reference"]
    assert line["sectors_ratio"] <= 1 and line["exchange_ratio"] <= 1


@pytest.mark.parametrize(("ours", "is_allowed"), [({}, False), ({"cycles": 7.0}, False), ({"cycles": 6.0}, True)])
def test_more_exchanges_are_allowed_only_where_the_launch_takes_no_more_cycles(ours: dict[str, float], is_allowed: bool) -> None:
    kernel = find("mult32-reg").sketch.kernel
    counts: dict[str, Any] = {"cycles": ours} if ours else {}
    allowed = kernel_bench.allowed(kernel, counts, {"cycles": {"cycles": 6.0}})
    assert ("wavefronts + shuffles" in allowed) == is_allowed


def test_no_case() -> None:
    result = CliRunner().invoke(cli, ["bench", "synth", "--case", "nothing", "--json"])
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert "NO_CASE" in result.stderr and "Cases are called " in result.stderr


def test_interruption_leaves_no_case_without_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(case: Case) -> dict[str, object]:
        raise InterruptedBenchmarkError(solved(case.name, accumulates=1))

    monkeypatch.setattr(together, "run_case", stopped)
    result = CliRunner().invoke(cli, ["bench", "synth", "--case", "conv1d-*", "--json"])
    lines = lines_of(result.stdout)
    assert result.exit_code == 130
    assert [line["status"] for line in lines] == ["solved", "unknown", "unknown"]


def test_worst_case_decides_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(case: Case) -> dict[str, object]:
        return solved(case.name, accumulates=1 if case.name == "conv1d-3" else 7)

    monkeypatch.setattr(together, "run_case", run)
    result = CliRunner().invoke(cli, ["bench", "synth", "--case", "conv1d-*", "--json"])
    assert [line["as_expected"] for line in lines_of(result.stdout)] == [True, False, False]
    assert result.exit_code == 1
    assert "1 of 3 cases ended as they should" in result.stderr


def test_exit_codes() -> None:
    assert [combined_exit(codes) for codes in ([], [0, 3], [3, 1], [1, 2, 3], [130, 2])] == [0, 3, 1, 2, 130]


def test_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(case: Case) -> dict[str, object]:
        ran.append(case.name)
        if case.name == "conv1d-9":
            return plain_line(case.name, "error", Stopwatch().read(), reason="crash")
        return solved(case.name, accumulates=1)

    monkeypatch.setattr(together, "run_case", run)
    path = tmp_path / "journal"
    command = ["bench", "synth", "--case", "conv1d-*", "--json", "--journal", str(path)]
    first = CliRunner().invoke(cli, command)
    with path.open("a") as file:
        file.write('{"key": "cut sh\n')
    again = CliRunner().invoke(cli, command)
    assert ran == ["conv1d-3", "conv1d-9", "conv1d-17", "conv1d-9"]
    assert [line.get("from_journal", False) for line in lines_of(first.stdout)] == [False] * 3
    assert [line.get("from_journal", False) for line in lines_of(again.stdout)] == [True, False, True]
    assert [line["status"] for line in lines_of(again.stdout)] == ["solved", "error", "solved"]
    assert "JOURNAL_DAMAGED" in again.stderr
    CliRunner().invoke(cli, [*command, "--space", "1"])
    assert len(ran) == 7


def test_a_journal_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["bench", "synth", "--case", "conv1d-3", "--json", "--journal"]
    missing = CliRunner().invoke(cli, [*command, str(tmp_path / "missing" / "journal")])
    (line,) = lines_of(missing.stdout)
    assert (missing.exit_code, line["status"]) == (2, "error")
    assert "JOURNAL_UNUSABLE" in missing.stderr
    monkeypatch.setattr(together, "run_case", lambda case: solved(case.name, accumulates=1))
    full = CliRunner().invoke(cli, [*command, "/dev/full"])
    (line,) = lines_of(full.stdout)
    assert (full.exit_code, line["status"]) == (0, "solved")
    assert "No space left" in full.stderr


def test_selection() -> None:
    sketches = [name for name in synth_bench.select(None) if name in synth_bench.SKETCHES]
    assert all(synth_bench.bar_of(name) for name in sketches)
    programs = [name for name in synth_bench.select(None) if name not in synth_bench.SKETCHES]
    assert all(program_bench.bar_of(name) for name in programs)
    assert set(PUBLISHED) < set(programs)
    assert synth_bench.select("wall/crc-29") == ("wall/crc-29",)
    assert synth_bench.select("wall/crc-65") == ()
    assert synth_bench.select("ffm-3*") == ("ffm-32", "ffm-320", "ffm-352", "ffm-384")
    assert kernel_bench.select(None) == (*NAMES, *MORE_NAMES)
    assert all(find(name).name == name for name in MORE_NAMES)
    assert kernel_bench.peers("aos-store-crc-10-units") == {"trove": {"shuffles": 10, "selects": 50}, "cub": {"wavefronts": 20}}
    assert kernel_bench.peers("stencil2d-3") == {}
