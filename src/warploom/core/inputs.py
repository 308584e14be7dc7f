"""Files that a user names to be read."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

from warploom.core.diagnostics import Diagnostic, UserError
from warploom.core.spans import Span

LARGEST_BYTES = 1 << 28
"""Size of the largest file that is read whole: devices such as /dev/zero have no end."""


def read_text(path: str | Path) -> str:
    """The text of a file in UTF-8, ends of lines as Python has them; OSError, also for a file that is too large, or
    UnicodeDecodeError."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path)), encoding="utf-8").read()


def read_text_file(path: str | Path, what: str) -> str:
    """The text of a file that the user named. UserError (FILE_NOT_FOUND, NOT_READ) at the path where that cannot be."""
    require_file(path, what)
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"byte {error.start} is not UTF-8"
        where = Span(str(path), 1, 1, 1, 1)
        message = f"expected {what}, as text in UTF-8, at {path}, got: {why}"
        raise UserError(Diagnostic("NOT_READ", message, where, "Save it as UTF-8 text.")) from None


def read_bytes(path: str | Path) -> bytes:
    """All of a file; OSError, also for one that is too large."""
    with open(path, "rb") as file:
        data = file.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"more than {LARGEST_BYTES >> 20} MiB", str(path))
    return data


def require_file(path: str | Path, what: str = "a Python file") -> None:
    """UserError (FILE_NOT_FOUND, NOT_READ) at the path where there is none, a folder, or a file that cannot be read.

    Pipes and devices are files.
    """
    where = Span(str(path), 1, 1, 1, 1)
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        message = f"expected {what}, found none at {path}"
        raise UserError(Diagnostic("FILE_NOT_FOUND", message, where, "Check the path.")) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(Diagnostic("NOT_READ", f"expected {what} at {path}, got: {why}", where, "Check the path.")) from None
    if stat.S_ISDIR(mode):
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected {what}, got the folder {path}", where, "Name a file in it."))
    if not os.access(path, os.R_OK):
        message = f"expected {what} at {path}, got one that may not be read"
        raise UserError(Diagnostic("NOT_READ", message, where, "Change its permissions."))
