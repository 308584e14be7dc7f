"""Machine code is kept somewhere, but never where others can write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warploom.tools import explore_cache


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(explore_cache.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(explore_cache, "_can_write", lambda path: False)
    monkeypatch.setenv(explore_cache.VARIABLE, "")
    monkeypatch.delenv(explore_cache.VARIABLE)
    return tmp_path / f"warploom-numba-{os.getuid()}"


def test_a_folder_among_the_temporary_files(folder: Path) -> None:
    explore_cache.keep_machine_code()
    assert os.environ[explore_cache.VARIABLE] == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_not_one_that_others_can_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    explore_cache.keep_machine_code()
    assert explore_cache.VARIABLE not in os.environ


def test_not_one_behind_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    explore_cache.keep_machine_code()
    assert explore_cache.VARIABLE not in os.environ


def test_what_the_user_says_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(explore_cache.VARIABLE, "/somewhere")
    explore_cache.keep_machine_code()
    assert os.environ[explore_cache.VARIABLE] == "/somewhere" and not folder.exists()


def test_nothing_where_the_usual_folders_can_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore_cache, "_can_write", lambda path: True)
    explore_cache.keep_machine_code()
    assert explore_cache.VARIABLE not in os.environ and not folder.exists()
