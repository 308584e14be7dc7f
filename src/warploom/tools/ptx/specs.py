"""Python functions that the user names as `FILE.py:FUNC`."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from warploom.core import Diagnostic, Span, UserError, raised_at
from warploom.core.limits import TerminatedError
from warploom.core.python_files import module_of_file

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
    made = module_of_file(f"_warploom_spec_{next(_numbers)}", file)
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
        where = raised_at(error, file) or Span(path, 1, 1, 1, 1)
        fix = "Correct that line: the file is run as ordinary Python, here without a GPU."
        raise UserError(Diagnostic("SPEC_FAILED", message, where, fix)) from error
    finally:
        sys.path.remove(str(file.parent))
    found = getattr(module, name, None)
    if not callable(found):
        own = (n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", None) == made.name)
        names = ", ".join(own) or "none"
        message = f"expected a function {name} in {path}, which has: {names}"
        raise UserError(Diagnostic("SPEC_NOT_FOUND", message, Span(path, 1, 1, 1, 1), "Use one of them."))
    return cast("Callable[..., Any]", found)
