"""Decides what `explore` refuses before any work: sizes beyond the limit, files that cannot be written."""

from __future__ import annotations

import os
from pathlib import Path

from warploom.core import Diagnostic, UserError

LARGEST = 1 << 40
"""Size of an axis: counts of a kernel's work stay below the largest integers of the search."""


def check_place(path: Path | None, *, is_folder: bool = False) -> None:
    """UserError (NOT_WRITTEN) unless a file can be written there: into a folder that exists, over a file that may be changed.
    Or, if a folder is wanted, unless it can be made or written into."""
    if path is None or (is_folder and path.is_dir() and os.access(path, os.W_OK)):
        return
    if not path.parent.is_dir():
        got, fix = f"no folder {path.parent}", "Make the folder, or name another."
    elif is_folder and path.exists() and not path.is_dir():
        got, fix = "a file of that name", "Name a folder."
    elif path.is_dir() and not is_folder:
        got, fix = "a folder of that name", "Name a file in it."
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        got, fix = "no permission to write there", "Name a place that you may write to."
    else:
        return
    raise UserError(Diagnostic("NOT_WRITTEN", f"expected a place to write {path}, got {got}", fix=fix))
