"""Functions that mean something inside a sketch only, where the front end recognises them by identity."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from warploom.core.diagnostics import Diagnostic, UserError

P = ParamSpec("P")
R = TypeVar("R")


def inside_sketches(function: Callable[P, R]) -> Callable[P, R]:
    """`function` as a word of the language: it keeps signature and docstring, and a call from plain Python raises UserError."""
    name = function.__name__

    @functools.wraps(function)
    def outside(*args: P.args, **kwargs: P.kwargs) -> R:
        raise UserError(
            Diagnostic(
                "OUTSIDE_SKETCH",
                f"wl.{name} was called outside of a sketch",
                fix=f"Use wl.{name} in the body of a function decorated with @wl.sketch(...) or @wl.device.",
            )
        )

    return typing.cast("Callable[P, R]", outside)
