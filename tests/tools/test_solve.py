"""`warploom solve`: lines, exit codes, bad input."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.ir.dataflow import parse_program, program_text
from warploom.kernels import find_program
from warploom.solve import Event, EventLog, Journal, ResultCache, read_events
from warploom.synth.dataflow import solve_in_parts
from warploom.tools.cli import cli
from warploom.tools.solve import program as solve_command

SMALL = """
x: [4, 1] = range(0, 4)
turned: [4, 1] = ?col_rots(x)
both: [4, 1, 2] = stack(x, turned)
sums: [4, 1] = fold(+) both
goal: [4, 1] = fold(+) [[[0, 2]], [[1, 3]], [[2, 0]], [[3, 1]]]
"""


UNSAT = SMALL.replace("[[3, 1]]]", "[[3, 2]]]")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["solve", *map(str, arguments)])


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARPLOOM_CACHE", raising=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.swflow"
    path.write_text(SMALL)
    return path


def test_best() -> None:
    result = call("sf/trove-8x3", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (0, "solved", "proved")
    assert (line["goal"], line["complete"]) == ("best", True)
    assert list(line["holes"]) == ["s1", "s2", "s3", "s4", "s5", "s6"]
    assert line["visited"] > 0 and line["ineffectiveness"] >= 1
    assert "solutions" not in line


def test_the_kernel_of_the_best_solution(small: Path, tmp_path: Path) -> None:
    written = tmp_path / "small.cu"
    result = call(small, "--cuda", written, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["kernel"]["verdict"]) == (0, "solved", "proved")
    assert line["kernel"]["domain"] == "real sums reordered"
    assert line["kernel"]["shuffles"] == 1
    assert "__shfl_sync" in written.read_text()
    assert "1 shuffle, " in call(small, "--cuda", written).stdout


def test_a_kernel_that_one_warp_does_not_hold_is_refused_at_its_place(small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL.replace("fold(+) both", "fold both").replace("fold(+) [[", "fold [["))
    result = call(small, "--cuda", tmp_path / "small.cu", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (2, "error", "unchecked")
    assert "small.swflow:5:1: error[NOT_PRINTED]: expected folds by +" in result.stderr
    assert not (tmp_path / "small.cu").exists()


def test_without_a_solution_the_line_says_what_was_tried_and_what_to_change(small: Path) -> None:
    small.write_text("x: [24] = range(0, 24)\nloaded: [8, 3] = load_rep(x)\ns1: [8, 3] = ?row(loaded)\ngoal: [8, 3] trove\n")
    (line,) = lines_of(call(small, "--json").stdout)
    assert line["status"] == "unsat" and line["tried"][0].startswith("0 members tested, 0 nodes")
    assert line["advice"] == ["s1: row_compose{space=3} has unit, xor and cm2linear in compositions of up to five"]
    small.write_text(find_program("sf/trove-8x3"))
    (line,) = lines_of(call(small, "--nodes", 0, "--json").stdout)
    assert line["status"] == "unknown" and "members of the holes: s1 (up to " in line["tried"][0]
    assert line["advice"][0] == "more than --nodes 0" and "a smaller set than" in line["advice"][1]
    assert "  advice: more than --nodes 0" in call(small, "--nodes", 0).stdout


def test_all(small: Path) -> None:
    (line,) = lines_of(call(small, "--all", "--json").stdout)
    assert line["count"] == len(line["solutions"]) == 1
    assert line["solutions"][0] == line["holes"] == {"turned": "col_rots(g=4, shift=2)"}


def test_first() -> None:
    (line,) = lines_of(call("sf/l3/trove-rcr-2", "--first", "--json").stdout)
    assert (line["status"], line["verdict"], line["count"]) == ("solved", "proved", 1)


def test_unsat(small: Path) -> None:
    small.write_text(UNSAT)
    result = call(small, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["count"], line["ineffectiveness"]) == (1, "unsat", 0, None)
    assert line["holes"] == {}


def test_for_people(small: Path) -> None:
    result = call("sf/trove-8x3", "--all")
    assert result.exit_code == 0
    assert "sf/trove-8x3: solved, proved over multisets of symbols" in result.stdout
    assert "  2 solutions; " in result.stdout
    assert "  solution 2 of 2\n" in result.stdout
    assert "none is cheaper" in call(small).stdout


def test_long_lists_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_command, "LISTED", 3)
    (line,) = lines_of(call("sf/useless-var-test", "--all", "--json").stdout)
    assert (line["count"], len(line["solutions"]), line["verdict"]) == (8, 3, "proved")
    assert "  ... and 5 more" in call("sf/useless-var-test", "--all").stdout


def test_what_is_not_replayed_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve_command, "REPLAYED", 5)
    (line,) = lines_of(call("sf/useless-var-test", "--all", "--json").stdout)
    assert (line["verdict"], line["cases"], line["count"]) == ("tested", 5, 8)


def test_a_wrong_answer_is_refuted(monkeypatch: pytest.MonkeyPatch, small: Path) -> None:
    monkeypatch.setattr(solve_command, "replays", lambda program, members: np.zeros(len(members), np.bool_))
    result = call(small, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (1, "error", "refuted")
    assert "solution 1" in line["reason"]


def test_budget() -> None:
    result = call("sf/l3/trove-rcr-2", "--all", "--nodes", 1, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["complete"]) == (3, "unknown", False)
    assert line["reason"] == "budget: nodes"


def test_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Path) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    (solved,) = lines_of(call(small, "--all", "--json").stdout)
    assert "cached" not in solved
    small.write_text("# the same problem\n" + SMALL)
    (kept,) = lines_of(call(small, "--all", "--json").stdout)
    of_the_run = {"seconds", "wall_s", "peak_mb", "phases"}
    assert {k: v for k, v in kept.items() if k not in of_the_run} == {
        **{k: v for k, v in solved.items() if k not in of_the_run},
        "cached": True,
    }
    assert "members tested when it was solved" in call(small, "--all").stdout
    assert "cached" not in json.loads(call(small, "--first", "--json").stdout)
    assert "cached" not in json.loads(call(small, "--all", "--no-cache", "--json").stdout)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrites the one entry of a cache, as whoever can write the file can."""
    with sqlite3.connect(path / "results.sqlite") as connection:
        ((key, value),) = connection.execute("SELECT key, value FROM results").fetchall()
    connection.close()
    entry = json.loads(value)
    new = change(entry)
    with ResultCache(path / "results.sqlite") as cache:
        cache.add(key, entry if new is None else new)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e["tables"][0].update(dict.fromkeys(e["tables"][0], [0] * 99)),
        lambda e: e["tables"][0].update({name: [n + 1000 for n in t] for name, t in e["tables"][0].items()}),
        lambda e: e["tables"][0].update({name: [str(n) for n in t] for name, t in e["tables"][0].items()}),
        lambda e: e["tables"][0].update({name: t[1:] + t[:1] for name, t in e["tables"][0].items()}),
        lambda e: e["tables"][0].update(other=[0]),
        lambda e: e["tables"].append(e["tables"][0]) or e.update(count=9),
        lambda e: e["tables"].clear(),
        lambda e: e.update(tables=[3]),
        lambda e: e.update(tables="all"),
        lambda e: e.update(cost=0),
        lambda e: e.update(count=0),
        lambda e: e.update(goal="best"),
        lambda e: e.update(complete=1),
        lambda e: e.update(visited="many"),
        lambda e: e.update(status="unsat"),
        lambda e: e.update(status="refused"),
        lambda e: ["solved", "proved"],
        lambda e: {"status": "solved", "verdict": "proved", "domain": "everything"},
    ],
)
def test_an_entry_that_was_changed_is_a_miss(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    (solved,) = lines_of(call(small, "--all", "--json").stdout)
    changed(tmp_path, change)
    (again,) = lines_of(call(small, "--all", "--json").stdout)
    assert "cached" not in again and without_run(again) == without_run(solved)


def test_of_solutions_that_are_not_all_there_nothing_is_proved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Path
) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    call(small, "--all", "--json")
    changed(tmp_path, lambda entry: entry.update(count=7))
    (line,) = lines_of(call(small, "--all", "--json").stdout)
    assert line["cached"] and (line["verdict"], line["cases"]) == ("tested", len(line["solutions"]))


def test_cache_holds_what_is_impossible_and_nothing_that_was_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Path
) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    small.write_text(UNSAT)
    first, second = (call(small, "--json") for _ in range(2))
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert json.loads(second.stdout)["cached"]
    for _ in range(2):
        (line,) = lines_of(call("sf/l3/trove-rcr-2", "--all", "--nodes", 1, "--json").stdout)
        assert line["status"] == "unknown"


def test_a_cache_that_cannot_be_used_is_a_warning(monkeypatch: pytest.MonkeyPatch, small: Path) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(small))
    result = call(small, "--json")
    assert result.exit_code == 0
    assert "warning: cache unusable" in result.stderr


def test_distinct() -> None:
    (every,) = lines_of(call("sf/useless-var-test", "--all", "--json").stdout)
    (line,) = lines_of(call("sf/useless-var-test", "--all", "--distinct", "--json").stdout)
    assert (every["count"], every["distinct"], every["listed"], len(every["solutions"])) == (8, 2, "all", 8)
    assert (line["count"], line["distinct"], line["listed"], len(line["solutions"])) == (8, 2, "distinct", 2)
    assert (line["verdict"], line["holes"]) == ("proved", every["holes"])
    assert all(solution in every["solutions"] for solution in line["solutions"])
    assert "  8 solutions, 2 of them distinct; " in call("sf/useless-var-test", "--all", "--distinct").stdout


OF_THE_RUN = {"seconds", "wall_s", "peak_mb", "phases"}


def without_run(line: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in line.items() if k not in OF_THE_RUN}


def test_workers(tmp_path: Path) -> None:
    case, journal, events = "sf/l1/trove-rcr-4", tmp_path / "journal", tmp_path / "events"
    (one,) = lines_of(call(case, "--all", "--json").stdout)
    asked = (case, "--all", "--json", "--workers", 2, "--parts", 3, "--journal", journal, "--events", events)
    (several,) = lines_of(call(*asked).stdout)
    assert without_run(several) == {**without_run(one), "parts": 3, "resumed": 0}
    assert several["phases"]["parts"] > 0
    assert {event.kind for event in read_events(events)} == {"started", "finished"}
    (again,) = lines_of(call(*asked).stdout)
    assert without_run(again) == {**without_run(one), "parts": 3, "resumed": 3}


@pytest.mark.parametrize(
    "change",
    [
        lambda part: part["tables"].update({name: [[n + 1 for n in t] for t in ts] for name, ts in part["tables"].items()}),
        lambda part: part["tables"].clear(),
        lambda part: part["answers"].append([0, 99, 99, 99]),
        lambda part: part["answers"].append("all"),
        lambda part: part.update(answers=[[-1, *row[1:]] for row in part["answers"]] or [3]),
        lambda part: part.update(alternatives=77),
        lambda part: part.update(complete="yes"),
        lambda part: part["statistics"].update(nodes="many"),
        lambda part: part["statistics"].update(other=1),
        lambda part: "solved",
    ],
)
def test_a_part_of_a_journal_that_was_changed_is_done_again(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    case, path = "sf/l1/trove-rcr-4", tmp_path / "journal"
    program, journal = parse_program(find_program(case)), Journal(path)
    with ThreadPoolExecutor(1) as executor:
        whole = solve_in_parts(program, lambda: executor, parts=2, journal=journal)
    (key, value), *others = [(key, cast("dict[str, Any]", journal.find(key))) for key in journal.keys()]  # noqa: SIM118
    new = change(value)
    path.write_text("")
    for entry, kept in ((key, value if new is None or isinstance(new, list) else new), *others):
        Journal(path).add(entry, kept)
    with ThreadPoolExecutor(1) as executor:
        again = solve_in_parts(program, lambda: executor, parts=2, journal=Journal(path))
    assert (again.resumed, again.result.solutions.count, again.result.complete) == (1, whole.result.solutions.count, True)


def test_an_interruption_between_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting(EventLog):
        def write(self, event: Event) -> None:
            super().write(event)
            if event.kind == "finished":
                os.kill(os.getpid(), signal.SIGINT)

    journal = tmp_path / "journal"
    asked = ("sf/l3/trove-rcr-2", "--all", "--json", "--parts", 40, "--journal", journal)
    with monkeypatch.context() as patch:
        patch.setattr(solve_command, "EventLog", Interrupting)
        result = call(*asked, "--workers", 1, "--events", tmp_path / "events")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["reason"]) == (130, "unknown", "interrupted")
    assert 0 < line["count"] == len(line["solutions"]) < 272 and line["verdict"] == "proved"
    kept = len(Journal(journal))
    (line,) = lines_of(call(*asked, "--workers", 1).stdout)
    assert (line["status"], line["count"], line["parts"]) == ("solved", 272, 40)
    assert line["resumed"] >= kept > 0


def test_a_driver_that_is_killed(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    asked = ["sf/l3/trove-rcr-2", "--all", "--json", "--workers", "1", "--parts", "40", "--journal", str(journal)]
    process = subprocess.Popen([sys.executable, "-m", "warploom", "solve", *asked], stdout=subprocess.DEVNULL)
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = len(Journal(journal))
    (line,) = lines_of(call(*asked).stdout)
    assert (line["status"], line["count"], line["parts"]) == ("solved", 272, 40)
    assert line["resumed"] >= kept > 0


def test_a_cluster_that_is_not_there() -> None:
    result = call("sf/trove-8x3", "--cluster", "nonsense", "--json")
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (2, "error")
    assert "CLUSTER_UNREACHABLE" in result.stderr
    assert call("sf/trove-8x3", "--cluster", "nonsense", "--workers", 2).exit_code == 2


def test_show() -> None:
    assert call("sf/trove-8x3", "--show").stdout == find_program("sf/trove-8x3")
    assert call("sf/nothing", "--show").exit_code == 2


EXAMPLES = sorted(Path("examples/dataflow").glob("*.swflow"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    (line,) = lines_of(call(path, "--json").stdout)
    assert (line["status"], line["verdict"], line["complete"]) == ("solved", "proved", True)


@pytest.mark.parametrize(
    ("example", "case"),
    [("avx2_filter", "wall/avx2-filter"), ("amd_filter", "wall/amd-filter")],
)
def test_examples_are_the_cases_of_the_library(example: str, case: str) -> None:
    text = Path(f"examples/dataflow/{example}.swflow").read_text(encoding="utf-8")
    assert program_text(parse_program(text)) == program_text(parse_program(find_program(case)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: [4] = range(0, 4)\n", "error[GOAL_MISSING]"),
        ("x: [4] = range(0, 5)\ngoal: [4] = [0, 1, 2, 3]\n", "bad.swflow:1:"),
        ("\xff", "error[NOT_READ]"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.swflow"
    path.write_bytes(text.encode("latin-1"))
    result = call(path, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("target", "code"), [("nowhere.swflow", "FILE_NOT_FOUND"), ("sf/l3/trove-crc-77", "UNKNOWN_PROGRAM")])
def test_bad_targets(target: str, code: str) -> None:
    result = call(target, "--json")
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (2, "error")
    assert code in result.stderr


def test_one_goal_is_asked_for() -> None:
    result = CliRunner().invoke(cli, ["solve", "conv1d", "--all", "--first"])
    assert result.exit_code == 2
    assert "expected one of --all, --first and --best, got --all and --first" in result.output


def test_a_python_file_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "sketch.py"
    path.write_text('"""A sketch."""\n')
    done = CliRunner().invoke(cli, ["solve", str(path)])
    assert done.exit_code == 2 and "expected a dataflow file (.swflow) or a case" in done.stderr
    assert "Sketches are for `warploom synth`" in done.stderr
