"""Findings as text, JSON lines, SARIF 2.1.0 (OASIS) and annotations of GitHub's workflow commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import warploom
from warploom.ptx import Place
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.usage import Usage
from warploom.tools.lint.findings import Found
from warploom.tools.lint.names import demangled
from warploom.tools.lint.rules import RULES
from warploom.tools.lint.sources import line_text


def _coordinates(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def sentence(found: Found) -> str:
    """The message with who met it, and where the other accesses are."""
    return said(found) + "".join(f"; {what} at {_at(places[0])}" for what, places in found.others)


def said(found: Found) -> str:
    who = "".join(f"block {_coordinates(b)}, thread {_coordinates(t)}: " for b, t in found.threads)
    more = f" ({found.count:,} in all)" if found.count > 1 and found.level == "error" else ""
    return f"{who}{found.message}{more}"


def _at(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"


def text(found: Found) -> str:
    """Some lines for people: place, rule, message, the source, the calls, how to mend it."""
    lines = [f"{_at(found.place)}: {found.level}[{found.rule.id} {found.rule.name}]: {said(found)}"]
    lines += _excerpt(found.place)
    for inner, outer in pairwise(found.places):
        lines.append(f"{_at(outer)}: note: {inner.function or 'a function'} is inlined here")
        lines += _excerpt(outer)
    for what, places in found.others:
        lines.append(f"{_at(places[0])}: note: {what}")
        lines += _excerpt(places[0])
    return "\n".join([*lines, f"  fix: {found.fix}"])


def _excerpt(place: Place) -> list[str]:
    source = line_text(place)
    if not source.strip():
        return []
    before = "".join("\t" if c == "\t" else " " for c in source[: place.column - 1])
    return [f"  {source}", f"  {before}^"]


def _place(place: Place) -> Line:
    found: Line = {"file": place.file, "line": place.line, "column": place.column}
    return found | ({"function": place.function} if place.function else {})


def line(case: str, found: Found, usage: Usage, *, is_wrong: bool) -> Line:
    """The JSON line of a finding; `is_wrong`: it refutes the launch."""
    fields: dict[str, object] = {
        "rule": found.rule.name, "id": found.rule.id, "level": found.level, **_place(found.place),
        "kernel": demangled(found.kernel), "message": sentence(found), "fix": found.fix,
        "threads": [{"block": list(block), "thread": list(thread)} for block, thread in found.threads],
        "text": line_text(found.place), "inlined_at": [_place(p) for p in found.places[1:]],
        "others": [{"message": what, **_place(places[0])} for what, places in found.others],
        "count": found.count, "ptx_line": found.ptx_line, "mark": found.mark,
    }  # fmt: skip
    made = plain_line(case, "solved", usage)
    if is_wrong:
        made = plain_line(case, "refused", usage, verdict="refuted", reason=sentence(found))
    return made | fields


def github(found: Found) -> str:
    """`::error file=...::...`; percent signs and ends of lines are escaped as GitHub asks."""

    def escaped(value: str) -> str:
        return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def property_(value: str) -> str:
        return escaped(value).replace(":", "%3A").replace(",", "%2C")

    level = "notice" if found.level == "note" else found.level
    title = f"{found.rule.id} {found.rule.name}"
    place = f"file={property_(found.place.file)},line={found.place.line},col={found.place.column},title={property_(title)}"
    return f"::{level} {place}::{escaped(sentence(found) + chr(10) + 'fix: ' + found.fix)}"


def sarif(found: Sequence[Found]) -> str:
    """One log with one run."""
    numbers = {rule.id: number for number, rule in enumerate(RULES)}
    rules = [
        {
            "id": rule.id, "name": "".join(w.capitalize() for w in rule.name.split("-")),
            "shortDescription": {"text": rule.title}, "help": {"text": rule.fix},
            "defaultConfiguration": {"level": rule.level},
        }
        for rule in RULES
    ]  # fmt: skip
    results = [
        {
            "ruleId": one.rule.id, "ruleIndex": numbers[one.rule.id], "level": one.level,
            "message": {"text": f"{sentence(one)}\n{one.fix}"},
            "locations": [_location(one.place)],
            "relatedLocations": [
                *(_location(p, f"{i.function or 'a function'} is inlined here") for i, p in pairwise(one.places)),
                *(_location(places[0], what) for what, places in one.others),
            ],
            "partialFingerprints": {"warploom/v1": one.mark},
        }
        for one in found
    ]  # fmt: skip
    driver = {"name": "warploom", "version": warploom.__version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }  # fmt: skip
    return json.dumps(log, indent=1)


def _location(place: Place, message: str = "") -> Mapping[str, object]:
    path = Path(place.file)
    region = {"startLine": place.line, "startColumn": place.column}
    physical = {"artifactLocation": {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}, "region": region}
    return {"physicalLocation": physical} | ({"message": {"text": message}} if message else {})
