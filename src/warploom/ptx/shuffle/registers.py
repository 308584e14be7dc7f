"""Fresh registers of one kernel."""

from __future__ import annotations

from itertools import count

_LETTERS = {"pred": "p", "b16": "h", "b32": "r", "b64": "d"}


def written(name: str) -> str:
    """A unique name as it stands in the text of its scope (`lower` marks renamed ones with an apostrophe)."""
    return name.partition("'")[0]


def free_prefix(text: str) -> str:
    """A start of register names that occurs nowhere in the text."""
    return next(p for n in count() if (p := f"%wl{n or ''}_") not in text)


class FreshRegisters:
    """Hands out names by type and declares them."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._used: dict[str, int] = {}

    def new(self, kind: str) -> str:
        """`kind`: pred, b16, b32 or b64."""
        number = self._used.get(kind, 0)
        self._used[kind] = number + 1
        return f"{self._prefix}{_LETTERS[kind]}{number}"

    def declarations(self) -> list[str]:
        """`.reg` directives for all names handed out."""
        return [f".reg .{kind} {self._prefix}{_LETTERS[kind]}<{n}>;" for kind, n in self._used.items()]
