"""Errors that a user can act on: a stable code, where, what was expected and found, and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.core.spans import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One located problem in a user's sketch, spec or input file."""

    code: str
    """Stable code for scripts: `HOLE_UNREACHED`, `SHAPE_MISMATCH`, `RACE`, ..."""
    message: str
    """Expected X, got Y: in the user's words."""
    span: Span = NOWHERE
    fix: str = ""
    """An imperative sentence."""
    notes: tuple[tuple[str, Span], ...] = ()
    """Further places, for example the second of two racing accesses."""

    def render(self) -> str:
        """`file:line:col: error[CODE]: message`, the source line with carets, the notes and the fix; from `error[CODE]` on
        where there is no place."""
        place = "" if self.span == NOWHERE else f"{self.span}: "
        lines = [f"{place}error[{self.code}]: {self.message}"]
        lines += _excerpt(self.span)
        for text, span in self.notes:
            lines.append(f"{span}: note: {text}")
            lines += _excerpt(span)
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


def _excerpt(span: Span) -> list[str]:
    if not span.source:
        return []
    text = span.source.splitlines()[0]
    width = span.end_column - span.column if span.end_line == span.line else len(text) - span.column + 1
    return [f"  {text}", "  " + " " * (span.column - 1) + "^" * max(1, width)]


class WarploomError(Exception):
    """Base of every error this package raises on purpose."""


class UserError(WarploomError):
    """The request is wrong; carries one or more diagnostics (checkers collect, then raise once)."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(d.render() for d in diagnostics))
        self.diagnostics = diagnostics


def placed(error: UserError, span: Span) -> UserError:
    """`error` with `span` as the place of those diagnostics that have none."""
    found = tuple(d if d.span != NOWHERE else replace(d, span=span) for d in error.diagnostics)
    return type(error)(*found)


class UnsupportedError(UserError):
    """The request is meaningful, but this version cannot serve it; says what would work instead."""
