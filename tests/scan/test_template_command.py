"""`warploom scan template`: lines, texts and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.tools.scan.template import template_command

FILE = """
def g(x):
    return x * ??

def main(x):
    assert {} * x == g(x)

def spec(x):
    return x + x

def choice(x):
    return choose(x + x, 2 * x)

def open_(x, y):
    return y * ??

def bits(x, y):
    return (x | y) - x
"""


@pytest.mark.parametrize(
    ("factor", "arguments", "status", "code"),
    [
        (2, ["main"], "solved", 0),
        (2, ["g", "--spec", "spec"], "solved", 0),
        (2000, ["main"], "unsat", 1),
        (2, ["open_", "--spec", "bits"], "unknown", 3),
        (2, ["spec"], "error", 2),
        (2, ["g", "--spec", "gone"], "error", 2),
    ],
)
def test_lines_and_exit_codes(tmp_path: Path, factor: int, arguments: list[str], status: str, code: int) -> None:
    path = tmp_path / "t.py"
    path.write_text(FILE.format(factor))
    done = CliRunner().invoke(template_command, [f"{path}:{arguments[0]}", *arguments[1:], "--json"])
    [line] = lines_of(done.stdout)
    assert (line["status"], done.exit_code) == (status, code)
    assert line["verdict"] == ("proved" if code in (0, 1) else "unchecked")
    if status == "solved":
        assert (
            line["completed"] == "def g(x):\n    return x * 2" and line["holes"] == {"3:16": 2} and line["domain"] == "integers"
        )


def test_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.py"
    path.write_text(FILE.format(2))

    def said(*arguments: str) -> list[str]:
        return CliRunner().invoke(template_command, [f"{path}:{arguments[0]}", *arguments[1:]]).stdout.splitlines()[1:]

    assert said("main") == ["    def g(x):", "        return x * 2"]
    assert said("main", "--unique")[0] == "  no other completion"
    assert said("choice", "--spec", "spec", "--unique")[0] == "  another completion exists"
