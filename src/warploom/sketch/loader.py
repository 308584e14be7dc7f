"""Sketches of a Python file."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import traceback
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError
from warploom.sketch.sketches import Sketch

_numbers = itertools.count(1)


def load(path: str | Path, name: str | None = None) -> list[Sketch]:
    """Run the file `path` and return its sketches in source order, or only the one called `name` (its own or its variable's).

    Raises UserError if the file cannot be run, holds no sketch, or none called `name`.
    """
    file = Path(path)
    if not file.is_file():
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected a Python file, found none at {path}", fix="Check the path."))
    found = _sketches(file)
    where = Span(str(path), 1, 1, 1, 1)
    if not found:
        raise UserError(Diagnostic("NO_SKETCH", f"{path} defines no sketch", where, "Decorate a function with @wl.sketch(...)."))
    if name is None:
        return list(dict.fromkeys(s for _, s in found))
    named = [s for variable, s in found if name in (s.name, variable)]
    if not named:
        known = ", ".join(dict.fromkeys(s.name for _, s in found))
        raise UserError(
            Diagnostic("UNKNOWN_SKETCH", f"{path} has no sketch {name!r}; it has: {known}", where, "Use one of them.")
        )
    return named[:1]


def _sketches(file: Path) -> list[tuple[str, Sketch]]:
    """Variables of the module that hold sketches, in order of definition."""
    module_name = f"_warploom_file_{next(_numbers)}_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected a Python file (.py), got {file}", fix="Rename it to end in .py."))
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        where = Span(str(error.filename or file), line, column, line, column + 1, (error.text or "").rstrip("\n"))
        raise UserError(Diagnostic("SYNTAX", f"invalid Python: {error.msg}", where, "Correct the syntax.")) from error
    except Exception as error:
        message = f"running the file raised {type(error).__name__}: {error}"
        raise UserError(Diagnostic("IMPORT_FAILED", message, _failing_line(error, file), "Correct this line.")) from error
    finally:
        sys.path.remove(str(file.parent))
    return [(name, value) for name, value in vars(module).items() if isinstance(value, Sketch)]


def _failing_line(error: Exception, file: Path) -> Span:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename) == file.absolute() or Path(frame.filename) == file:
            line = frame.lineno or 1
            start = (frame.colno or 0) + 1
            return Span(frame.filename, line, start, line, (frame.end_colno or start) + 1, frame.line or "")
    return Span(str(file), 1, 1, 1, 1)
