"""Accesses of each element since the last barrier: races between threads and between blocks.

Two accesses of one element by different threads, one of them a write, race unless a barrier of their block lies between them;
accesses from different blocks always race. Threads of a warp are not assumed to run in lockstep.

An asynchronous copy is a write where it begins and another one where its thread waits for it. Until then nobody may touch the
element, whatever barriers lie between.
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


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy that goes on."""

    thread: int
    group: int
    """Number of the group that its thread's next commit makes, or made."""
    span: Span


class Accesses:
    """Access history of one array. `shared` ones live for one block; global ones are also checked between blocks."""

    def __init__(self, name: str, shape: tuple[int, ...], space: str, findings: Findings) -> None:
        self.name = name
        self.shape = shape
        self.space = space
        self.findings = findings
        self._past: dict[int, _Past] = {}
        self._recent: list[_Past] = []
        self._copies: dict[int, _Copy] = {}

    def barrier(self) -> None:
        """All threads of the block have synchronised."""
        for past in self._recent:
            past.writer = past.reader = -1
        self._recent.clear()

    def begin(self, element: int, thread: int, block: int, span: Span, group: int) -> None:
        """A thread begins a copy of its group with that number."""
        self.write(element, thread, block, span)
        self._copies[element] = _Copy(thread, group, span)

    def complete(self, below: int, block: int) -> None:
        """All threads have waited for their groups with numbers below that."""
        for element, copy in [(e, c) for e, c in self._copies.items() if c.group < below]:
            del self._copies[element]
            self.write(element, copy.thread, block, copy.span)

    def read(self, element: int, thread: int, block: int, span: Span) -> None:
        past = self._touch(element)
        self._check_copy(element, thread, span, "read")
        if past.writer not in (-1, thread) or past.writer_block not in (-1, block):
            self._race(element, past, past.writer, past.writer_block, thread, block, past.write_span, span, "write", "read")
        past.reader = thread if past.reader in (-1, thread) else _SEVERAL
        past.reader_block = block if past.reader_block in (-1, block) else _SEVERAL
        past.read_span = span

    def write(self, element: int, thread: int, block: int, span: Span, *, beside_copy: bool = False) -> None:
        """beside_copy: no copy to the element was begun where this is done."""
        past = self._touch(element)
        if not beside_copy:
            self._check_copy(element, thread, span, "write")
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

    def _check_copy(self, element: int, thread: int, span: Span, access: str) -> None:
        copy = self._copies.get(element)
        if copy is not None:
            place = self._place(element)
            message = f"expected thread {copy.thread} to wait for its copy to {place} before the {access} by thread {thread}"
            fix = "Commit the copy and wait for it with wl.pipeline_wait_prior(n) before."
            notes = ((f"the copy to {place}", copy.span),)
            self.findings.add("COPY_PENDING", message, span, fix, notes, key=f"{self.name} {access} {copy.span}")

    def _place(self, element: int) -> str:
        index: list[int] = []
        for extent in reversed(self.shape):
            element, position = divmod(element, extent)
            index.insert(0, position)
        return element_text(self.name, tuple(index))

    def _race(
        self, element: int, past: _Past, other: int, other_block: int, thread: int, block: int,
        before: Span | None, span: Span, earlier: str, later: str,
    ) -> None:  # fmt: skip
        place = self._place(element)
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
