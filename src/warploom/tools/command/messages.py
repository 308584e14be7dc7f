"""Diagnostics as messages of a command."""

from __future__ import annotations

from collections.abc import Iterable

from warploom.core import NOWHERE, Diagnostic


def rendered(diagnostics: Iterable[Diagnostic]) -> tuple[str, ...]:
    """Each with its place, or from `error[CODE]` on when it has none."""
    return tuple(d.render() for d in diagnostics)


def one_line(diagnostic: Diagnostic) -> str:
    """`file:line:col: CODE: message`, for a report's reason."""
    place = "" if diagnostic.span == NOWHERE else f"{diagnostic.span}: "
    return f"{place}{diagnostic.code}: {diagnostic.message}"
