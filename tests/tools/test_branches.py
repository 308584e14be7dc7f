"""Branches of commands that seldom refuse: each does by itself."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from warploom.core import UserError
from warploom.tools.command import files
from warploom.tools.explore.command import order_of
from warploom.tools.ptx.arguments import symbols
from warploom.tools.scan.lift import split_target
from warploom.tools.solve import cached
from warploom.tools.solve.program import read_source


def test_a_place_that_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def stat(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_stat", stat)
    with pytest.raises(UserError, match="Input/output error"):
        files.require_place(Path("x"))
    with pytest.raises(files.RefusedPathError, match="Input/output error"):
        files.OUTPUT_FILE.convert("x", None, None)


def test_no_order_is_none() -> None:
    assert order_of(None) is None and order_of(" a,b,a") == ("a", "b")


@pytest.mark.parametrize("texts", [["x"], ["=f32:1"], [" =f32:1"], ["a=f32:1", "a =f32:2"]])
def test_symbols_of_ptx_have_one_name_each(texts: list[str]) -> None:
    with pytest.raises(UserError, match="each name once"):
        symbols(texts)


@pytest.mark.parametrize("target", ["name", "x.py:", "x.py:1", "x.py:a b"])
def test_targets_without_a_function(target: str) -> None:
    with pytest.raises(UserError, match=r"expected FILE\.py:FUNCTION"):
        split_target(target)


def test_a_program_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.swflow"
    path.write_bytes(b"\xff")
    with pytest.raises(UserError, match="byte 0 is not UTF-8"):
        read_source(str(path))


GOOD = {
    "status": "solved", "goal": "best", "complete": True, "count": 1, "distinct": 1, "cost": 3, "tables": [{}], "visited": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{"status": "unknown"}, {"goal": "all"}, {"distinct": 2}, {"tables": [{}, {}]}, {"tables": []}, {"visited": "1"},
     {"status": "unsat", "tables": []}],
)  # fmt: skip
def test_entries_that_no_program_has(changes: dict[str, Any]) -> None:
    nothing: Any = None
    assert cached.outcome_of("x", nothing, {}, {**GOOD, **changes}, ("best", False, nothing), {}, nothing) is None
