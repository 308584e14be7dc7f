"""Places in a user's source text: what an error points at and what a hole is named after."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of one source file; lines and columns count from 1, as editors show them."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    source: str = ""
    """The text of the source line(s) the span starts on; empty when the source is not at hand."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


NOWHERE = Span("<generated>", 0, 0, 0, 0)
"""The span of nodes that no user wrote (tests, generated kernels)."""
