"""Files that a user names: what is read of them, and what has no end."""

from __future__ import annotations

from pathlib import Path

import pytest

from warploom.core import inputs, read_bytes, read_text


def test_ends_of_lines_are_those_of_python(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\r\nb\rc\n\xc3\xa9")
    assert read_text(path) == "a\nb\nc\n\u00e9" and read_bytes(path).startswith(b"a\r\n")
    path.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        read_text(path)


def test_a_device_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inputs, "LARGEST_BYTES", 1 << 20)
    with pytest.raises(OSError, match="more than 1 MiB"):
        read_bytes("/dev/zero")
    path = tmp_path / "x"
    path.write_bytes(b"x" * (1 << 20))
    assert len(read_bytes(path)) == 1 << 20
