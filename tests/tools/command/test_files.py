"""Files that commands write: whole or not at all, and no folders that nobody asked for."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import IO

import pytest

from warploom.core import UserError
from warploom.tools.command.files import (
    OUTPUT_FILE,
    RefusedPathError,
    make_folder,
    require_place,
    write_bytes,
    write_file,
    write_text,
)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_new_file_and_a_changed_one(tmp_path: Path) -> None:
    path = tmp_path / "a b\n\udcff-é.cu"
    write_text(path, "×\udcff")
    assert path.read_bytes() == "×".encode() + b"\xff"
    path.chmod(0o640)
    write_bytes(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    write_bytes(path, b"run", mode=0o755)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert len(names(tmp_path)) == 1


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_is_cut_short_leaves_the_old_file(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def cut(file: IO[bytes]) -> None:
        file.write(b"new")
        raise fault

    with pytest.raises((UserError, KeyboardInterrupt)):
        write_file(path, cut)
    assert path.read_text() == "old" and names(tmp_path) == {"a"}


def test_until_all_is_written_the_old_file_stands(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    write_file(path, lambda file: (file.write(b"new"), file.flush(), path.read_text() == "old" or pytest.fail("gone")))
    assert path.read_text() == "new"


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder / "real")
    for text in ("one", "two"):
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink() and (folder / "real").read_text() == text
    assert names(folder) == {"real"}


def test_a_pipe_that_has_no_name_of_its_own() -> None:
    """As /dev/stdout, which leads to a pipe."""
    reading, writing = os.pipe()
    try:
        write_text(Path(f"/dev/fd/{writing}"), "text")
        assert os.read(reading, 10) == b"text"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_pipe_is_written_itself(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    require_place(pipe)
    write_bytes(pipe, b"through")
    reader.join()
    assert got == [b"through"] and stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing/a", "there is no folder"), ("file/a", "file"), (".", "that is a folder"), ("a" * 300, "File name too long"),
        ("loop", "Too many levels"),
    ],
)  # fmt: skip
def test_places_that_are_none(tmp_path: Path, path: str, why: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for refused in (require_place, lambda path: write_text(path, "text")):
        with pytest.raises(UserError, match=r"error\[NOT_WRITTEN\]: expected a place to write") as raised:
            refused(tmp_path / path)
        assert refused is not require_place or why in str(raised.value)
    assert names(tmp_path) == {"file", "loop"}


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    require_place(tmp_path, is_folder=True)
    require_place(tmp_path / "new", is_folder=True)
    assert not (tmp_path / "new").exists()
    make_folder(tmp_path / "new")
    make_folder(tmp_path / "new")
    for path, why in (("file", "that is no folder"), ("other/new", "there is no folder")):
        with pytest.raises(UserError, match=why):
            require_place(tmp_path / path, is_folder=True)
        with pytest.raises(UserError, match="NOT_WRITTEN"):
            make_folder(tmp_path / path)


def test_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    require_place(tmp_path / "file")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / "file")
    with pytest.raises(UserError, match="it cannot be written"):
        require_place(tmp_path / "file")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(UserError, match=r"the folder .* cannot be written"):
        require_place(tmp_path / "new")


def test_a_dash_is_no_name() -> None:
    with pytest.raises(RefusedPathError) as error:
        OUTPUT_FILE.convert("-", None, None)
    assert "expected the name of a file, got -" in error.value.message
