"""Files that a command is asked to write."""

from __future__ import annotations

from pathlib import Path

from warploom.core import Diagnostic, UserError


def write_text(path: Path, text: str) -> None:
    """With the folder that it is to stand in; UserError (NOT_WRITTEN)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Into a folder that is there; UserError (NOT_WRITTEN)."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> UserError:
    message = f"expected a place to write {path}, got: {error.strerror}"
    return UserError(Diagnostic("NOT_WRITTEN", message, fix="Check the path and its permissions."))
