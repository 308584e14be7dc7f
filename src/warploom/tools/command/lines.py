"""Report lines: one JSON object per result, and the exit codes that go with them.

Every line has `v`, `case`, `status`, `verdict`, `seconds`, `wall_s`, `peak_mb`, and `reason` when the status is not `solved`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast, get_args

from warploom.core import Status, Verdict
from warploom.core.starting import INTERRUPTED
from warploom.tools.command.usage import Usage

SCHEMA = 1

Line: TypeAlias = dict[str, object]

SOLVED, IMPOSSIBLE, BAD_INPUT, GAVE_UP = 0, 1, 2, 3
"""Exit codes, beside INTERRUPTED."""
EXIT_BY_STATUS: Mapping[str, int] = {
    "solved": SOLVED, "unsat": IMPOSSIBLE, "refused": IMPOSSIBLE, "error": BAD_INPUT, "unknown": GAVE_UP,
}  # fmt: skip


REGISTERS = "access_registers"
"""Field of registers by access; `registers` are those of a thread."""
COUNTS = ("global_sectors", "shared_wavefronts", "wavefronts", "shuffles")
"""Fields that count what a kernel executes: a line that has one says where its counts come from."""
COUNTED = ("sass", "interpreter", "model")


def broken_rules(line: Mapping[str, object]) -> list[str]:
    """Statements of a line that the contract forbids, and fields that it lacks; none for a line that keeps the contract."""
    found = [f"no `{name}`" for name in ("v", "case", "status", "verdict", "seconds", "wall_s", "peak_mb") if name not in line]
    status, verdict = line.get("status"), line.get("verdict")
    rules = {
        f"status {status!r}": status not in get_args(Status),
        f"verdict {verdict!r}": verdict not in get_args(Verdict),
        "not solved, and no `reason`": status != "solved" and not line.get("reason"),
        "proved, and no `domain`": verdict == "proved" and not line.get("domain"),
        "tested, and no `cases`": verdict == "tested" and not line.get("cases"),
        "an error that is proved": status == "error" and verdict == "proved",
        f"refused and {verdict}": status == "refused" and verdict not in ("refuted", "unchecked"),
        "optimal, and no `objective`": line.get("optimal_in") is not None and not line.get("objective"),
        "counts, and not what was `counted`": not _is_counted(line),
        "a number that is not finite": not _is_finite(line),
    }
    return found + [text for text, is_broken in rules.items() if is_broken]


def _is_counted(line: Mapping[str, object]) -> bool:
    """Whether all counts of the line, and of objects one level down, say where they come from, or the line says it for them."""
    inner = [cast("Mapping[str, object]", value) for value in line.values() if isinstance(value, dict)]
    said = line.get("counted")
    return all(fields.get("counted", said) in COUNTED for fields in (line, *inner) if any(name in fields for name in COUNTS))


def _is_finite(value: object) -> bool:
    match value:
        case float():
            return math.isfinite(value)
        case dict():
            return all(map(_is_finite, cast("dict[str, object]", value).values()))
        case list() | tuple():
            return all(map(_is_finite, cast("list[object]", value)))
        case _:
            return True


def plain_line(
    case: str, status: Status, usage: Usage, *, verdict: str = "unchecked", reason: str = "", **fields: object
) -> Line:
    """The fields that every line has, then `fields`."""
    if status == "error" and verdict == "proved":
        raise ValueError(f"expected no proof in a line that tells of an error, got one of {case}")
    line: Line = {"v": SCHEMA, "case": case, "status": status, "verdict": verdict}
    line |= {"seconds": usage.seconds, "wall_s": usage.wall_s, "peak_mb": usage.peak_mb}
    if reason:
        line["reason"] = reason
    return line | fields


def turned_into_error(line: Line, reason: str) -> None:
    """Turns the line into an error: the answer counts for nothing, because the rest of what was asked for failed."""
    line |= {"status": "error", "verdict": "unchecked", "reason": reason}
    line.pop("domain", None)


def encode(line: Mapping[str, object], encoding: str = "utf-8") -> str:
    """One line of JSON; what the encoding cannot say (of names of files: anything) is escaped."""
    text = json.dumps(line, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return json.dumps(line, allow_nan=False)
    return text


def combined_exit(codes: Iterable[int]) -> int:
    """Exit code of a command with several results: interrupted, bad input, impossible, given up, solved."""
    found = set(codes)
    return next((code for code in (INTERRUPTED, BAD_INPUT, IMPOSSIBLE, GAVE_UP) if code in found), SOLVED)
