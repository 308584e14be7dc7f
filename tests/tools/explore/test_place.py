"""Bad output paths and bad input files are told before a search, with exit code 2."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.core import UserError
from warploom.schedule.search import Record
from warploom.tools.cli import cli
from warploom.tools.explore.place import check_place
from warploom.tools.explore.recorded import read_decisions


def test_a_file_in_a_folder_that_exists_is_fine(tmp_path: Path) -> None:
    check_place(None)
    check_place(tmp_path / "new.c")
    (tmp_path / "old.c").touch()
    check_place(tmp_path / "old.c")
    assert [p.name for p in tmp_path.iterdir()] == ["old.c"]


def test_no_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected a place to write .*, got no folder .*missing"):
        check_place(tmp_path / "missing" / "new.c")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="got a folder of that name"):
        check_place(tmp_path)


def test_a_place_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(UserError, match="got no permission"):
        check_place(tmp_path / "new.c")


@pytest.mark.parametrize("option", ["--code", "--html"])
def test_the_command_looks_first(option: str, tmp_path: Path) -> None:
    asked = ["explore", "axpy", "--target", "sm_90", "--json", option, str(tmp_path / "missing" / "a")]
    result = CliRunner().invoke(cli, asked)
    line = json.loads(result.stdout)
    assert result.exit_code == 2 and line["status"] == "error" and "NOT_WRITTEN" in line["reason"]


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, "{}" * 2, '{"decisions": 3}', '{"decisions": {"a": 1}}', "9" * 6000, '{"decisions": [["a", "b"]]}'],
)
def test_replay_files_of_another_shape(text: str, tmp_path: Path) -> None:
    file = tmp_path / "line.json"
    file.write_text(text)
    with pytest.raises(UserError, match="REPLAY"):
        read_decisions(file)


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_ms": math.nan},
        {"time_ms": math.inf},
        {"time_ms": -1.0},
        {"time_ms": "1"},
        {"bound_ms": math.nan},
        {"decisions": []},
    ],
)
def test_journal_records_of_another_shape_are_misses(wrong: dict[str, object]) -> None:
    right = {"time_ms": 1.0, "bound_ms": 0.5, "decisions": {"size(n0)": "1"}}
    assert Record.from_json(right) is not None
    assert Record.from_json(right | wrong) is None
