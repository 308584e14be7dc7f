"""The user's own function, run: for replays and tests, which share no code with what they check."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import cast

from warploom.core import Diagnostic, Span, UserError
from warploom.scan.source import Module


def user_function(module: Module, name: str) -> Callable[..., object]:
    """Runs the file's text and returns the function; raises UserError if the file cannot be run."""
    module.function(name)
    scope: dict[str, object] = {"__name__": "_warploom_scan_file", "__builtins__": builtins}
    try:
        exec(compile(module.text, module.file, "exec"), scope)
    except KeyboardInterrupt:
        raise
    # SystemExit, too: the file is the user's, and its end must not be this program's
    except BaseException as error:
        raise UserError(
            Diagnostic(
                "IMPORT_FAILED",
                f"running the file raised {type(error).__name__}: {error}",
                Span(module.file, 1, 1, 1, 1),
                "Let the file run on its own, without arguments.",
            )
        ) from error
    return cast("Callable[..., object]", scope[name])
