"""A few inputs of every front end through the commands, and that the fuzzer of front ends can fail."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import z3  # noqa: F401  # before a budget may end in the midst of it
from benchmarks.fuzz import __main__ as tool
from benchmarks.fuzz import fronts, isolated
from benchmarks.fuzz.fronts import FRONTS
from benchmarks.fuzz.inputs import Given

from warploom.core.limits import Limits
from warploom.layout import access, certificate, layout, recheck, tile
from warploom.solve import Journal
from warploom.tools.solve import program as solve_command

CHEAP = ("pictures", "dataflow", "ptx-commands", "operators", "layouts", "maps", "certificates", "templates")


@pytest.mark.parametrize("kind", CHEAP)
def test_changed_inputs_end_well(kind: str, tmp_path: Path) -> None:
    for case in range(4):
        folder = tmp_path / str(case)
        folder.mkdir()
        ending = isolated.run(kind, fronts.given(kind, case), folder)
        assert not ending.failure or ending.word == "late", f"{kind}:{case}: {ending.failure}"


@pytest.mark.parametrize("kind", FRONTS)
def test_a_case_is_the_same_in_every_run(kind: str) -> None:
    assert fronts.given(kind, 7) == fronts.given(kind, 7)


GOOD = Given({"given.swflow": "a: [4] = range(0, 4)\ngoal: [4] id\n"}, ["solve", "given.swflow", "--json", "--budget", "5s"])


def test_a_good_input_is_solved(tmp_path: Path) -> None:
    assert isolated.run("dataflow", GOOD, tmp_path).word == "solved, proved"


@pytest.mark.parametrize(
    ("error", "word"),
    [(ZeroDivisionError("planted"), "internal"), (MemoryError(), "unknown: memory"), (SystemError(), "internal")],
)
def test_a_fault_is_found(error: Exception, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise error

    monkeypatch.setattr(solve_command, "parse_program", broken)
    ending = isolated.run("dataflow", GOOD, tmp_path)
    assert ending.word == word
    assert bool(ending.failure) == (word == "internal")


def test_a_late_command_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((0.0, 1000.0))
    monkeypatch.setattr(isolated, "_cpu_s", lambda: next(times))
    ending = isolated.run("dataflow", GOOD, tmp_path)
    assert (ending.word, ending.failure) == ("late", f"1000.0 CPU s with a budget of {GOOD.budget_s} s: solved, proved")


def test_a_line_that_breaks_the_contract_is_found() -> None:
    line = {"v": 1, "case": "x", "status": "solved", "verdict": "unchecked", "seconds": 0.1, "wall_s": 0.1, "peak_mb": 1.0}
    assert isolated._judged(json.dumps(line) + "\n", "", 0).failure == ""
    assert isolated._judged(json.dumps(line) + "\n", "", 1).failure == "exit 1 with status solved"
    assert isolated._judged(json.dumps(line) + "\n", "0 of 1 cases ended as they should", 1).failure == ""
    del line["peak_mb"]
    assert isolated._judged(json.dumps(line) + "\n", "", 0).failure == "no peak_mb"


def test_a_finished_piece_comes_back_from_the_journal(tmp_path: Path) -> None:
    part = tool.Outcome("pictures", Counter({"user error": 2}), Counter(), [(7, "internal: x")], 1.5, 0.5, 7)
    chunk = ("pictures", 0, 3)
    Journal(tmp_path / "journal").add(tool._key(chunk), tool._json(part))
    assert tool._outcome("pictures", Journal(tmp_path / "journal").find(tool._key(chunk))) == part


def test_a_budget_of_nothing_is_kept() -> None:
    with Limits(0.0) as limits:
        assert limits.left_s() == 0


def test_the_shares_are_of_all_kinds() -> None:
    assert tool.SHARES.keys() == FRONTS.keys() and sum(tool.SHARES.values()) == pytest.approx(1)


def test_an_ended_process_is_found_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(kind: str, what: Given, folder: Path) -> isolated.Ending:
        if what.files["n"] == "1":
            os._exit(7)
        return isolated.Ending("fine")

    monkeypatch.setattr(isolated, "run", run)
    monkeypatch.setattr(isolated, "given", lambda kind, case: Given({"n": str(case)}, []))
    found = [ending for _, ending in isolated.endings("maps", 0, 3)]
    assert [ending.word for ending in found] == ["fine", "ended", "fine"] and "exit 7" in found[1].failure


def test_a_certificate_that_the_search_denies_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tile("8x8:f32")
    found = layout(asked, [access("rows", asked)])
    document = certificate(asked, found.accesses, found.map, found.prices)
    given = Given({"given.json": json.dumps(document)}, ["verify-certificate", "given.json", "--json"])
    assert isolated.run("certificates", given, tmp_path).word == "solved, proved"
    document["accesses"][0]["wavefronts"] = 3
    monkeypatch.setattr(recheck, "check_layout", lambda said: None)
    denied = Given({"given.json": json.dumps(document)}, given.argv)
    assert isolated.run("certificates", denied, tmp_path).word == "differs"
