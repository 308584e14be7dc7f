"""Folders whose contents are run: nobody else may write there."""

import os
import tempfile
from pathlib import Path

import pytest

from warploom.core import private
from warploom.core.compiler import library_folder
from warploom.core.private import FRESH, is_private, private_folder


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own folder for temporary files, where pytest's may be writable by others."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(FRESH, raising=False)
    monkeypatch.setenv(FRESH, "")
    private._made_here.cache_clear()
    tmp_path.chmod(0o1777)


def usual(tmp_path: Path) -> Path:
    return tmp_path / f"warploom-{os.getuid()}"


def test_a_folder_is_made_for_the_user_alone_and_found_again(tmp_path: Path) -> None:
    found = private_folder("cpu")
    assert found == usual(tmp_path) / "cpu" == private_folder("cpu")
    assert found.stat().st_mode & 0o777 == found.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("planted", ["writable", "writable above", "link", "other owner", "file"])
def test_a_planted_folder_is_not_used(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = usual(tmp_path) / "cpu"
    folder.parent.mkdir(mode=0o700)
    match planted:
        case "writable":
            folder.mkdir()
            folder.chmod(0o777)
        case "writable above":
            folder.mkdir(mode=0o700)
            folder.parent.chmod(0o777)
        case "link":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            folder.symlink_to(tmp_path / "elsewhere")
        case "file":
            folder.touch()
        case _:
            folder.mkdir(mode=0o700)
            mine = os.getuid()
            monkeypatch.setattr(os, "getuid", lambda: mine + 1)
            monkeypatch.setattr(private, "_user", lambda: str(mine))
    found = private_folder("cpu")
    assert folder not in (found, *found.parents)
    assert found.lstat().st_mode & 0o777 == 0o700


def test_a_cache_folder_of_everybody_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("WARPLOOM_CACHE", str(shared))
    assert shared not in library_folder().parents
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "mine"))
    assert library_folder() == tmp_path / "mine" / "cpu"


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    from warploom.schedule.search import device_turn

    target = tmp_path / "target"
    (private_folder("turns") / "cpu.lock").symlink_to(target)
    with pytest.raises(OSError), device_turn("cpu"):
        pass
    assert not target.exists()


def test_where_users_have_no_numbers_temporary_files_are_in_their_own_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "getuid")
    assert is_private(tmp_path) and private_folder("cpu") == tmp_path / "warploom-user" / "cpu"
