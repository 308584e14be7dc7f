"""A benchmark's journal: finished lines by what they depend on, so that a stopped run goes on where it ended.

One JSON object per line, `{"key": ..., "line": ...}`. The key covers the case, its arguments and the source of this package, so
a journal never answers for code that has changed.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import cast

from warploom.tools.bench import Case
from warploom.tools.lines import Line


class Journal:
    """Appends to `path`; a last line cut short by a crash is ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, Line] = {}
        if path.exists():
            for text in path.read_text().splitlines():
                try:
                    entry = cast("dict[str, Line | str]", json.loads(text))
                except ValueError:
                    continue
                self._lines[cast(str, entry["key"])] = cast(Line, entry["line"])

    def find(self, case: Case) -> Line | None:
        line = self._lines.get(_key(case))
        return None if line is None else {**line, "from_journal": True}

    def add(self, case: Case, line: Line) -> None:
        key = _key(case)
        self._lines[key] = line
        whole = not self._path.exists() or self._path.read_bytes()[-1:] in (b"", b"\n")
        with self._path.open("a") as file:
            file.write(("" if whole else "\n") + json.dumps({"key": key, "line": line}) + "\n")


def _key(case: Case) -> str:
    text = json.dumps([case.name, case.arguments, case.limit_s, _source_digest()])
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _source_digest() -> str:
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
