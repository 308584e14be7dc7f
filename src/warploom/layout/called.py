"""Functions of users: what they give, or where they raised."""

from __future__ import annotations

from collections.abc import Callable

from warploom.core import NOWHERE, Diagnostic, Span, UserError, raised_at


def called(function: Callable[..., object], given: tuple[object, ...], expected: str) -> object:
    """The value of `function(*given)`; UserError (FUNCTION_FAILED) with the line that raised."""
    try:
        return function(*given)
    except Exception as error:
        text = f"expected {expected} for {given}, got {type(error).__name__}: {error}"
        raise UserError(Diagnostic("FUNCTION_FAILED", text, _raised(error, function))) from error


def _raised(error: Exception, function: Callable[..., object]) -> Span:
    """The last line of the function's file that was running; where it begins if it was never entered."""
    code = getattr(function, "__code__", None)
    if code is None:
        return NOWHERE
    return raised_at(error, code.co_filename) or Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 2)
