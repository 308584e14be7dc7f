"""Accesses of each element since the last barrier: races between threads and between blocks.

Two accesses of one element by different threads, one of them a write, race unless a barrier of their block lies between them;
accesses from different blocks always race. Threads of a warp are not assumed to run in lockstep.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.core import Span
from warploom.synth.proof.lanes import Findings
from warploom.terms import element_text

_SEVERAL = -2


@dataclass(slots=True)
class _Past:
    """Accesses of one element: in this block since the barrier, and by blocks."""

    writer: int = -1
    reader: int = -1
    writer_block: int = -1
    reader_block: int = -1
    write_span: Span | None = None
    read_span: Span | None = None


class Accesses:
    """Access history of one array. `shared` ones live for one block; global ones are also checked between blocks."""

    def __init__(self, name: str, shape: tuple[int, ...], space: str, findings: Findings) -> None:
        self.name = name
        self.shape = shape
        self.space = space
        self.findings = findings
        self._past: dict[int, _Past] = {}
        self._recent: list[_Past] = []

    def barrier(self) -> None:
        """All threads of the block have synchronised."""
        for past in self._recent:
            past.writer = past.reader = -1
        self._recent.clear()

    def read(self, element: int, thread: int, block: int, span: Span) -> None:
        past = self._touch(element)
        if past.writer not in (-1, thread) or past.writer_block not in (-1, block):
            self._race(element, past, past.writer, past.writer_block, thread, block, past.write_span, span, "write", "read")
        past.reader = thread if past.reader in (-1, thread) else _SEVERAL
        past.reader_block = block if past.reader_block in (-1, block) else _SEVERAL
        past.read_span = span

    def write(self, element: int, thread: int, block: int, span: Span) -> None:
        past = self._touch(element)
        if past.writer not in (-1, thread) or past.writer_block not in (-1, block):
            self._race(element, past, past.writer, past.writer_block, thread, block, past.write_span, span, "write", "write")
        elif past.reader not in (-1, thread) or past.reader_block not in (-1, block):
            self._race(element, past, past.reader, past.reader_block, thread, block, past.read_span, span, "read", "write")
        past.writer = thread
        past.writer_block = block
        past.write_span = span

    def _touch(self, element: int) -> _Past:
        past = self._past.get(element)
        if past is None:
            past = self._past[element] = _Past()
        if past.writer == -1 and past.reader == -1:
            self._recent.append(past)
        return past

    def _race(
        self, element: int, past: _Past, other: int, other_block: int, thread: int, block: int,
        before: Span | None, span: Span, earlier: str, later: str,
    ) -> None:  # fmt: skip
        index: list[int] = []
        for extent in reversed(self.shape):
            element, position = divmod(element, extent)
            index.insert(0, position)
        place = element_text(self.name, tuple(index))
        between_blocks = other_block not in (-1, block)
        if between_blocks:
            who = "another block" if other_block == _SEVERAL else f"block {other_block}"
            message = f"expected {place} to be used by one block, got a {earlier} by {who} and a {later} by block {block}"
            code = "WRITTEN_TWICE" if earlier == later == "write" else "RACE"
            fix = "Let each block write its own elements; blocks cannot wait for each other."
        else:
            who = "other threads" if other == _SEVERAL else f"thread {other}"
            message = f"expected a barrier between the {earlier} of {place} by {who} and its {later} by thread {thread}, got none"
            both = earlier == later == "write"
            code = "WRITTEN_TWICE" if both and self.space == "global" else "RACE"
            fix = "Let one thread write each element." if both else "Put wl.sync() between the two accesses."
        notes = ((f"the {earlier} of {place}", before),) if before is not None else ()
        self.findings.add(code, message, span, fix, notes, key=f"{self.name} {earlier} {before}")
