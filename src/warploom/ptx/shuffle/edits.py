"""Changes of a text by offsets into it; what is not changed stays as it is, byte for byte."""

from __future__ import annotations

from typing import NamedTuple


class _Edit(NamedTuple):
    start: int
    order: int
    end: int
    text: str


class Edits:
    """Insertions and replacements, collected in any order and applied at once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edits: list[_Edit] = []

    def insert(self, offset: int, text: str) -> None:
        """Inserts before the character at `offset`; several insertions at one place keep the order in which they came."""
        self._edits.append(_Edit(offset, len(self._edits), offset, text))

    def replace(self, start: int, end: int, text: str) -> None:
        """Instead of [start, end)."""
        self._edits.append(_Edit(start, len(self._edits), end, text))

    def apply(self) -> str:
        """ValueError when two replacements overlap."""
        pieces: list[str] = []
        cursor = 0
        for edit in sorted(self._edits):
            if edit.start < cursor:
                raise ValueError(f"two changes of the text at offset {edit.start}")
            pieces += (self.text[cursor : edit.start], edit.text)
            cursor = edit.end
        pieces.append(self.text[cursor:])
        return "".join(pieces)
