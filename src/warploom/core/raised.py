"""Where a file of the user's raised."""

from __future__ import annotations

from linecache import getline
from pathlib import Path
from traceback import extract_tb

from warploom.core.spans import Span


def raised_at(error: BaseException, file: str | Path) -> Span | None:
    """The innermost place in the file that was running, or that Python cannot read; None if it was never entered."""
    names = {str(file), str(Path(file).absolute())}
    if isinstance(error, SyntaxError) and error.filename in names:
        line, column = error.lineno or 1, error.offset or 1
        return Span(str(error.filename), line, column, line, column + 1, (error.text or "").rstrip("\n"))
    for frame in reversed(extract_tb(error.__traceback__)):
        if frame.filename in names:
            line, start = frame.lineno or 1, (frame.colno or 0) + 1
            text = getline(frame.filename, line).rstrip("\n")  # `frame.line` lacks the indentation that columns count
            return Span(str(file), line, start, line, (frame.end_colno or start) + 1, text)
    return None
