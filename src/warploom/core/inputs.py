"""Files that a user names to be read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from warploom.core.diagnostics import Diagnostic, UserError
from warploom.core.spans import Span


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
