"""Findings that are known: by a comment on their line, or by a file of those that were there before."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from warploom.core import Diagnostic, Span, UserError, read_text_file
from warploom.tools.command.files import write_text
from warploom.tools.lint.findings import Found
from warploom.tools.lint.sources import text_of

_COMMENT = re.compile(r"(?://|/\*|#)\s*warploom:\s*ignore(?:\[([^\]]*)\])?")
FORMAT = "warploom lint baseline"


def is_ignored(found: Found) -> bool:
    """Whether a comment `// warploom: ignore` or `ignore[data-race, WL102]` stands on its line or alone on the line above; on the
    line of a call it holds for what is inlined there."""
    for place in found.places:
        lines = text_of(place.file)
        own = lines[place.line - 1] if place.line <= len(lines) else ""
        above = lines[place.line - 2].strip() if 2 <= place.line <= len(lines) else ""
        for text in (own, above if above.startswith(("//", "/*", "#")) else ""):
            match = _COMMENT.search(text)
            if match is None:
                continue
            rules = match[1]
            if rules is None or {found.rule.id, found.rule.name} & {r.strip() for r in rules.split(",")}:
                return True
    return False


def read_baseline(path: Path) -> Counter[str]:
    """How often each finding was there, by its mark; UserError (BASELINE) for a file that `--write-baseline` did not write."""
    text = read_text_file(path, "a baseline")
    try:
        given = json.loads(text)
        marks = dict(given["findings"]) if given["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError, RecursionError):
        marks = None
    if marks is None or not all(type(count) is int for count in marks.values()):
        where = Span(str(path), 1, 1, 1, 1)
        fix = "Write one: --write-baseline FILE."
        raise UserError(Diagnostic("BASELINE", "expected a file that --write-baseline wrote, got another text", where, fix))
    return Counter(cast("dict[str, int]", marks))


def write_baseline(path: Path, found: Iterable[Found]) -> None:
    """UserError (NOT_WRITTEN)."""
    marks = Counter(one.mark for one in found)
    write_text(path, json.dumps({"format": FORMAT, "v": 1, "findings": dict(sorted(marks.items()))}, indent=1) + "\n")


def split(found: Iterable[Found], known: Counter[str]) -> tuple[list[Found], list[Found]]:
    """The findings that count, and those that are silenced: each mark of the baseline as often as it was there."""
    left, counting, silenced = Counter(known), list[Found](), list[Found]()
    for one in found:
        if is_ignored(one):
            silenced.append(one)
        elif left[one.mark] > 0:
            left[one.mark] -= 1
            silenced.append(one)
        else:
            counting.append(one)
    return counting, silenced
