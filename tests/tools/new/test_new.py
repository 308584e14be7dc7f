"""`warploom new`: each file runs as it stands."""

from __future__ import annotations

import os
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.schedule.backbone import evaluate_program
from warploom.tools.cli import cli
from warploom.tools.new.command import KINDS, TEMPLATES


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow) if k == "tensor" else k for k in KINDS])
def test_it_runs_as_it_stands(kind: str) -> None:
    (line,) = lines_of(call("new", kind, "mine", "--json").stdout)
    path = Path(line["file"])
    text = path.read_text()
    assert line["command"] in text and path.stem == "mine" and "{" + "name}" not in text
    program, *words = shlex.split(line["command"].replace("=1024", "=64").replace("--budget 5s", "--budget 500ms"))
    result = call(*words, "--json")
    assert program == "warploom" and result.exit_code == 0, result.output
    assert lines_of(result.stdout)[-1]["status"] == "solved"


def test_the_tensor_function_is_read() -> None:
    call("new", "tensor", "mine")
    mine = runpy.run_path("mine.py")["mine"]
    A, x, b = np.array([[1, 2], [3, 4]], np.float32), np.array([1, 1], np.float32), np.array([0, -9], np.float32)
    assert evaluate_program(mine.program({"m": 2, "k": 2}), {"A": A, "x": x, "b": b})["y"].tolist() == [3, 0]


def test_the_linted_kernel_races_without_its_barrier() -> None:
    call("new", "ptx-lint", "mine")
    path = Path("mine.ptx")
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "bar.sync 0" not in line))
    assert call(*shlex.split(KINDS["ptx-lint"].command.format(file="mine.ptx"))[1:]).exit_code == 1


def test_nothing_is_overwritten(folder: Path) -> None:
    Path("mine.py").write_text("my work")
    os.symlink("nowhere", "linked.py")
    for name in ("mine", "mine.py", "linked"):
        result = call("new", "sketch", name)
        assert result.exit_code == 2 and "error[FILE_EXISTS]" in result.stderr
    assert Path("mine.py").read_text() == "my work" and not (folder / "nowhere").exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "NAME"), (".", "NAME"), ("/", "NAME"), (".py", "NAME"), ("class", "NAME"), ("int", "NAME"), ("3d", "NAME"),
        ("a-b", "NAME"), ("ä", "NAME"), ("a" * 300, "NAME"), ("spec", "NAME"), ("K", "NAME"), ("nowhere/mine", "NOT_WRITTEN"),
    ],
)  # fmt: skip
def test_names_that_cannot_be(name: str, code: str) -> None:
    result = call("new", "sketch", name)
    assert result.exit_code == 2 and f"error[{code}]" in result.stderr
    assert not os.listdir()


def test_words_of_the_explanations_are_free() -> None:
    assert call("new", "sketch", "kernel").exit_code == 0


def test_each_kind_has_its_file() -> None:
    assert {path.stem for path in TEMPLATES.iterdir()} == set(KINDS)
