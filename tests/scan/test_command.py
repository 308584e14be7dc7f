"""`lift` and `check` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.tools.scan.lift import check_command, lift_command

MSS = """
def mss(xs):
    here = best = 0
    for x in xs:
        here = max(here + x, 0)
        best = max(best, here)
    return best


def decay(a: float, b: float):
    return a * 0.5 + b


def add(a, b):
    return a + b


def squares(xs):
    a = 1
    for x in xs:
        a = a * a + x
    return a
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "loops.py"
    path.write_text(MSS)
    return path


def test_lift_prints_an_operator(file: Path) -> None:
    result = CliRunner().invoke(lift_command, [f"{file}:mss"])
    assert result.exit_code == 0
    assert "solved, proved over integers" in result.stdout
    assert "def operator(a, b):" in result.stdout


def test_lift_as_json(file: Path) -> None:
    result = CliRunner().invoke(lift_command, [f"{file}:mss", "--json"])
    line = json.loads(result.stdout)
    assert (line["v"], line["status"], line["verdict"], line["domain"]) == (1, "solved", "proved", "integers")
    assert {"operator", "lift", "identity", "projection", "auxiliaries"} <= line.keys()
    scope: dict[str, object] = {"inf": float("inf")}
    exec(f"{line['lift']}\n\n{line['operator']}\n\nidentity = {line['identity']}\n\n{line['projection']}", scope)


def test_exit_codes(file: Path) -> None:
    run = CliRunner().invoke
    assert run(check_command, [f"{file}:add"]).exit_code == 0
    refused = run(check_command, [f"{file}:decay", "--json"])
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["counterexample"].keys() == {"a", "b", "c", "left", "right"}
    assert run(lift_command, [f"{file}:squares"]).exit_code == 3
    wrong = run(lift_command, [f"{file}:nothing"])
    assert wrong.exit_code == 2
    assert "error[UNKNOWN_FUNCTION]" in wrong.stderr
    assert run(lift_command, [str(file)]).exit_code == 2
