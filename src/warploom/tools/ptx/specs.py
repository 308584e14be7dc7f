"""Python functions that the user names as `FILE.py:FUNC`."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from warploom.core import Diagnostic, Span, UserError
from warploom.core.limits import TerminatedError

_numbers = itertools.count(1)


def load_spec(text: str) -> Callable[..., Any]:
    """The function FUNC of `FILE.py:FUNC`; UserError: SPEC_NOT_FOUND, SPEC_FAILED."""
    path, colon, name = text.rpartition(":")
    file = Path(path)
    if not colon or not name.isidentifier():
        raise UserError(
            Diagnostic("SPEC_NOT_FOUND", f"expected FILE.py:FUNC, got {text!r}", fix="Name the function after a colon.")
        )
    if not file.is_file():
        raise UserError(Diagnostic("SPEC_NOT_FOUND", f"expected a Python file, found none at {path}", fix="Check the path."))
    made = importlib.util.spec_from_file_location(f"_warploom_spec_{next(_numbers)}", file)
    if made is None or made.loader is None:
        raise UserError(Diagnostic("SPEC_NOT_FOUND", f"expected a Python file (.py), got {path}"))
    module = importlib.util.module_from_spec(made)
    sys.path.insert(0, str(file.parent))
    try:
        made.loader.exec_module(module)
    except (UserError, TerminatedError):
        raise
    except (Exception, SystemExit) as error:
        message = f"expected a file that Python can run, got {type(error).__name__}: {str(error).strip()}"
        line = _line(error, made.origin or path)
        fix = "Correct that line: the file is run as ordinary Python, here without a GPU."
        raise UserError(Diagnostic("SPEC_FAILED", message, Span(path, line, 1, line, 1), fix)) from error
    finally:
        sys.path.remove(str(file.parent))
    found = getattr(module, name, None)
    if not callable(found):
        own = (n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", None) == made.name)
        names = ", ".join(own) or "none"
        message = f"expected a function {name} in {path}, which has: {names}"
        raise UserError(Diagnostic("SPEC_NOT_FOUND", message, Span(path, 1, 1, 1, 1), "Use one of them."))
    return cast("Callable[..., Any]", found)


def _line(error: BaseException, file: str) -> int:
    """The line of the file at which it failed, or at which Python cannot read it."""
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno or 1)
    return lines[-1] if lines else 1
