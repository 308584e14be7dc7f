"""Sketches of a Python file."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import walk_tb

from warploom.core import Diagnostic, Span, UserError, raised_at, read_bytes, read_text_file, require_file
from warploom.core.limits import TerminatedError
from warploom.core.python_files import module_of_file
from warploom.sketch.matrix import parse, python
from warploom.sketch.sketches import Broken, Sketch, collecting_broken

MATRIX = ".matrix"
"""Ending of the files that hold matrix programs."""
_OWN_CALLS = 100
"""Calls inside one another of a file's functions, beyond which it is these that recurse."""
_numbers = itertools.count(1)

_NO_SKETCH = (
    "Decorate a function with @wl.sketch(...). Tensor functions are for `warploom explore`, loops for `warploom scan lift`."
)


def load(path: str | Path, name: str | None = None) -> list[Sketch]:
    """Run the file `path` and return its sketches in source order, or only the one called `name` (its own or its variable's).

    Raises UserError if the file cannot be run, holds no sketch, or none called `name`, and the errors of the sketches asked
    for: a wrong sketch does not stand in the way of the others.
    """
    file = Path(path)
    require_file(file)
    found, broken = _sketches(file)
    where = Span(str(path), 1, 1, 1, 1)
    if not found and not broken:
        raise UserError(Diagnostic("NO_SKETCH", f"{path} defines no sketch", where, _NO_SKETCH))
    if name is None:
        if broken:
            raise _together(broken)
        return list(dict.fromkeys(s for _, s in found if isinstance(s, Sketch)))
    named = [s for variable, s in found if name in (s.name, variable)] or [b for b in broken if b.name == name]
    if not named:
        known = ", ".join(dict.fromkeys(s.name for s in (*(s for _, s in found), *broken)))
        raise UserError(
            Diagnostic("UNKNOWN_SKETCH", f"{path} has no sketch {name!r}; it has: {known}", where, "Use one of them.")
        )
    match named[0]:
        case Broken(error=error):
            raise error
        case Sketch() as asked:
            return [asked]


def _together(broken: list[Broken], *more: Diagnostic) -> UserError:
    return UserError(*dict.fromkeys((*(d for b in broken for d in b.error.diagnostics), *more)))


def load_variables(path: str | Path) -> dict[str, object]:
    """Run the file `path` and return its variables, in order of definition; UserError as `load`, sketches with errors too."""
    file = Path(path)
    require_file(file)
    variables, broken = _variables(file)
    if broken:
        raise _together(broken)
    return variables


def _sketches(file: Path) -> tuple[list[tuple[str, Sketch | Broken]], list[Broken]]:
    """Variables of the module that hold sketches, in order of definition, and every sketch with errors."""
    variables, broken = _variables(file)
    return [(name, value) for name, value in variables.items() if isinstance(value, Sketch | Broken)], broken


def _variables(file: Path) -> tuple[dict[str, object], list[Broken]]:
    if file.suffix == MATRIX:
        return _matrix_variables(file)
    module_name = f"_warploom_file_{next(_numbers)}_{file.stem}"
    spec = module_of_file(module_name, file)
    if spec is None or spec.loader is None:
        raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected a Python file (.py), got {file}", fix="Rename it to end in .py."))
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    run = partial(spec.loader.exec_module, module) if file.is_file() else partial(_run_once, file, vars(module))
    sys.path.insert(0, str(file.parent))
    with collecting_broken() as broken:
        try:
            run()
        except (KeyboardInterrupt, TerminatedError):
            raise
        # SystemExit, too: the file is the user's, and its end must not be this program's
        except BaseException as error:
            # what stopped the file may come from a sketch that has errors
            raise _together(broken, *_problems(error, file)) from error
        finally:
            sys.path.remove(str(file.parent))
    return dict(vars(module)), broken


def _matrix_variables(file: Path) -> tuple[dict[str, object], list[Broken]]:
    """Variables of the sketch that a matrix program is; its Python is kept where the reader of sketches looks for sources."""
    program = parse(read_text_file(file, "a matrix program"), str(file))
    made, name = python(program), f"{file} as a sketch"
    linecache.cache[name] = len(made), None, made.splitlines(keepends=True), name
    variables: dict[str, object] = {"__name__": f"_warploom_matrix_{next(_numbers)}"}
    with collecting_broken() as broken:
        try:
            exec(compile(made, name, "exec"), variables)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # what the specification does with its symbols
            raise _together(broken, *_problems(error, Path(name))) from error
    read = {n: replace(v, notes=program.notes) if isinstance(v, Sketch) else v for n, v in variables.items()}
    return read, broken


def _run_once(file: Path, variables: dict[str, object]) -> None:
    """Runs the text of a pipe, which can be read only once: it is kept where Python, and the reader of sketches, look for
    sources."""
    text = read_bytes(file).decode("utf-8")
    linecache.cache[str(file)] = len(text), None, text.splitlines(keepends=True), str(file)
    exec(compile(text, str(file), "exec"), variables)


def _recurses(error: RecursionError, file: Path) -> bool:
    """Whether functions of the file call themselves, rather than that its text is read."""
    names = {str(file), str(file.absolute())}
    return sum(frame.f_code.co_filename in names for frame, _ in walk_tb(error.__traceback__)) > _OWN_CALLS


def _problems(error: BaseException, file: Path) -> tuple[Diagnostic, ...]:
    """Diagnostics of an exception of the file, with what the user can do about it."""
    match error:
        case UserError():
            return error.diagnostics
        case SyntaxError():
            line, column = error.lineno or 1, error.offset or 1
            where = Span(str(error.filename or file), line, column, line, column + 1, (error.text or "").rstrip("\n"))
            return (Diagnostic("SYNTAX", f"invalid Python: {error.msg}", where, "Correct the syntax."),)
        case RecursionError() if not _recurses(error, file):
            message = "expected expressions nested less deeply, got one beyond what is read, such as a sum of thousands of terms"
            where = raised_at(error, file) or Span(str(file), 1, 1, 1, 1)
            return (Diagnostic("NESTED_TOO_DEEPLY", message, where, "Write a loop or sum(..., over=k), or several statements."),)
        case _:
            message = f"running the file raised {type(error).__name__}" + (f": {error}" if str(error) else "")
            where = raised_at(error, file) or Span(str(file), 1, 1, 1, 1)
            return (Diagnostic("IMPORT_FAILED", message, where, "Correct this line."),)
