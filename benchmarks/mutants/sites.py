"""Places in the source where one edit plants a bug.

Edits are made to the text, so the rest of a file keeps its bytes. A site's key holds no line numbers: it survives edits elsewhere
in the file, and so does the choice of a sample.

A bug is planted in one of two ways: *for good*, in a file of its own run (`edit`), or behind a switch (`switched`), where many
bugs live in one copy of the source and a process turns one of them on.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

SOURCE = Path("src") / "warploom"
_UNSWITCHED = ("kernels/", "scan/tasks/")
"""Folders whose functions are read as text by Warploom's own front ends: a switch in them would be read as well."""

COMPILED = b"warploom.solve.jit"
"""In the text of modules whose functions are translated to C: with switches in them they are no C any more, and run as Python."""

Form = Literal["expression", "statement", "condition"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` of a file become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Site:
    """One bug that can be planted in one place."""

    path: str
    """Relative to the root of the repository, with slashes."""
    scope: str
    """Qualified name of the innermost function or class; empty at the top of a module."""
    rule: str
    line: int
    edit: Edit
    before: str
    """The text that goes."""
    form: Form
    """The text that the edit replaces. A condition becomes False, statements become `pass`."""
    is_inside: bool
    """Whether the place runs in a function, that is, not while its module is imported."""
    ordinal: int = 0
    """Counts sites that agree in everything above but the line."""

    @property
    def key(self) -> str:
        return f"{self.path}:{self.scope}:{self.rule}:{_short(self.before)} -> {_short(self.edit.text)}:{self.ordinal}"

    @property
    def package(self) -> str:
        parts = Path(self.path).relative_to(SOURCE).parts
        return parts[0] if len(parts) > 1 else "warploom"

    def rank(self, seed: int) -> str:
        """Position in the random order of a seed."""
        return hashlib.sha256(f"{seed}:{self.key}".encode()).hexdigest()

    def can_switch(self, data: bytes) -> bool:
        """Whether the bug can stand behind a switch in this file."""
        below = Path(self.path).relative_to(SOURCE).as_posix()
        if not self.is_inside or below.startswith(_UNSWITCHED):
            return False
        return self.form != "statement" or '"""' not in self.before

    def switched(self, data: bytes, number: int) -> Edit:
        """The same bug, there only while switch `number` is on."""
        on = f'__import__("warploom_switch").on({number})'
        match self.form:
            case "condition" if self.rule == "check":  # what the condition does besides is gone, too, as with the edit
                return Edit(self.edit.start, self.edit.end, f"(not {on} and ({self.before}))")
            case "condition":
                return Edit(self.edit.start, self.edit.end, f"(({self.before}) and not {on})")
            case "expression":
                return Edit(self.edit.start, self.edit.end, f"(({self.edit.text}) if {on} else ({self.before}))")
            case "statement":
                head = data[data.rfind(b"\n", 0, self.edit.start) + 1 : self.edit.start].decode()
                if head.strip():  # on the line of its `case ...:` or `else:`
                    head = " " * 120
                    return Edit(self.edit.start, self.edit.end, f"\n{head}if {on}: {self.edit.text}\n{head}else: {self.before}")
                inner = self.before.replace("\n", "\n    ")
                return Edit(self.edit.start, self.edit.end, f"if {on}: {self.edit.text}\n{head}else:\n{head}    {inner}")


def _short(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= 70 else f"{one[:50]}..{hashlib.sha256(one.encode()).hexdigest()[:8]}"


class Text:
    """A source file with byte offsets of its nodes."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.tree = ast.parse(data)
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def range_of(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def source(self, start: int, end: int) -> str:
        return self.data[start:end].decode()

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.source(*self.range_of(node))


def numbered(sites: Iterable[Site]) -> Iterator[Site]:
    """The sites with ordinals, so that no two keys agree."""
    seen: Counter[str] = Counter()
    for site in sites:
        yield replace(site, ordinal=seen[site.key])
        seen[site.key] += 1


def applied(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The file after edits that do not overlap."""
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


def apart(sites: Iterable[Site]) -> list[Site]:
    """The sites that overlap none before them in the same file."""
    taken: dict[str, list[Edit]] = {}
    found: list[Site] = []
    for site in sites:
        edit, others = site.edit, taken.setdefault(site.path, [])
        if all(edit.end <= o.start or edit.start >= o.end for o in others):
            others.append(edit)
            found.append(site)
    return found


def source_files(root: Path) -> list[str]:
    """All modules of the package, relative to the root, in order."""
    return sorted(p.relative_to(root).as_posix() for p in (root / SOURCE).rglob("*.py"))


def read(root: Path, path: str) -> Text:
    return Text(path, (root / path).read_bytes())
