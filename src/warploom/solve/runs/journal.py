"""The journal of a long run: finished results by key, so that a stopped run goes on where it ended.

One JSON object per line, `{"key": ..., "value": ...}`. The caller's key covers all that the value depends on; see `problem_key`.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError
from warploom.solve.runs.jsonlines import Json, ReadLine, append_line, open_locked, read_lines

_EXCERPT_LENGTH = 100
_START = '{"key"'


class Journal:
    """Keeps results in `path`; several processes and threads may share one file, and each finds what the others add.

    UserError (`JOURNAL_UNUSABLE`) at the path where it cannot be read and written, or is a file of another kind.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Json] = {}
        self._damage: list[Diagnostic] = []
        self._offset: int = 0
        self._line: int = 1
        self._is_cut_foreign = False
        """The last line, still in the making, begins as no entry does."""
        self._mutex = threading.Lock()
        try:
            with open_locked(path):
                pass
            self._refresh()
        except OSError as error:
            raise _unusable(path, error) from None
        foreign = self._damage and not any(d.span.source.startswith(_START) for d in self._damage)
        if (foreign or self._is_cut_foreign) and not self._values:
            message = 'expected a journal, lines of `{"key": ..., "value": ...}`, got a file without any'
            span = self._damage[0].span if self._damage else Span(str(path), 1, 1, 1, 1)
            raise UserError(Diagnostic("JOURNAL_UNUSABLE", message, span, "Name a new file."))

    @property
    def path(self) -> Path:
        return self._path

    @property
    def damage(self) -> tuple[Diagnostic, ...]:
        """`JOURNAL_DAMAGED` for each line that was skipped because it is no entry; all other lines count."""
        return tuple(self._damage)

    def find(self, key: str) -> Json:
        """The last value added under `key`, by whomever; None where there is none."""
        with self._mutex:
            if key not in self._values:
                self._reread()
            return self._values.get(key)

    def add(self, key: str, value: Json) -> None:
        """Adds a value, which is on the disk on return; ValueError or TypeError if it is no JSON, UserError if it cannot be
        written."""
        with self._mutex:
            try:
                append_line(self._path, {"key": key, "value": value}, durable=True)
            except OSError as error:
                raise _unusable(self._path, error) from None
            self._values[key] = value

    def keys(self) -> tuple[str, ...]:
        """Keys in the order of their first addition."""
        with self._mutex:
            self._reread()
            return tuple(self._values)

    def __contains__(self, key: str) -> bool:
        with self._mutex:
            if key not in self._values:
                self._reread()
            return key in self._values

    def __len__(self) -> int:
        return len(self.keys())

    def _reread(self) -> None:
        try:
            self._refresh()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unusable(self._path, error) from None

    def _refresh(self) -> None:
        """Reads what was added since the last time."""
        size = os.stat(self._path).st_size
        if size == self._offset:
            return
        if size < self._offset:  # a new file under the old name
            self._offset, self._line = 0, 1
            self._damage.clear()
        for line in read_lines(self._path, self._offset, self._line):
            match line.value:
                case {"key": str(key), "value": value}:
                    self._values[key] = value
                case _ if line.whole:
                    self._damage.append(self._skipped(line))
                case _:
                    self._is_cut_foreign = not line.text.startswith(_START) and not _START.startswith(line.text)
            if line.whole:
                self._offset, self._line = line.end, line.number + 1

    def _skipped(self, line: ReadLine) -> Diagnostic:
        excerpt = line.text[:_EXCERPT_LENGTH]
        span = Span(str(self._path), line.number, 1, line.number, len(excerpt) + 1, excerpt)
        return Diagnostic("JOURNAL_DAMAGED", 'expected `{"key": ..., "value": ...}`, got another line, which is skipped', span)


def _unusable(path: Path, error: OSError) -> UserError:
    message = f"expected a file that can be read and written, got: {error.strerror or error}"
    return UserError(Diagnostic("JOURNAL_UNUSABLE", message, Span(str(path), 1, 1, 1, 1), "Name a file in a writable folder."))
