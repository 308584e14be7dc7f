"""Report lines: one JSON object per result, and the exit codes that go with them.

Every line has `v`, `case`, `status`, `verdict`, `seconds`, `wall_s`, `peak_mb`, and `reason` when the status is not `solved`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from warploom.core.starting import INTERRUPTED
from warploom.ir import Kernel
from warploom.synth import Report, Status
from warploom.tools.completions import hole_texts
from warploom.tools.usage import Usage

SCHEMA = 1

Line: TypeAlias = dict[str, object]

SOLVED, IMPOSSIBLE, BAD_INPUT, GAVE_UP = 0, 1, 2, 3
"""Exit codes, beside INTERRUPTED."""
EXIT_BY_STATUS: Mapping[str, int] = {
    "solved": SOLVED, "unsat": IMPOSSIBLE, "refused": IMPOSSIBLE, "error": BAD_INPUT, "unknown": GAVE_UP,
}  # fmt: skip


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


def report_line(case: str, kernel: Kernel, report: Report, usage: Usage, *, all_solutions: bool = False) -> Line:
    """The line of one completed sketch; `kernel` still has its holes."""
    fields: Line = {}
    if report.domain:
        fields["domain"] = report.domain
    if report.cases is not None:
        fields["cases"] = report.cases
    best = report.completions[0] if report.completions else None
    fields |= {
        "space": report.space,
        "accumulates": best and best.accumulates,
        "executed": best and best.executed,
        "cost": best and best.cost,
        "optimal_in": report.optimal_in,
        "unsat_in": list(report.unsat_in),
        "holes": hole_texts(kernel, best.holes) if best else {},
    }
    if report.lift:
        fields["lift"] = report.lift
    if report.proved_at:
        fields["proved_at"] = dict(report.proved_at)
    if report.untouched:
        fields["untouched"] = dict(report.untouched)
    if all_solutions:
        fields["solutions"] = [hole_texts(kernel, completion.holes) for completion in report.completions]
    return plain_line(case, report.status, usage, verdict=report.verdict or "unchecked", reason=report.reason, **fields)


def turned_into_error(line: Line, reason: str) -> None:
    """What was found counts for nothing, because the rest of what was asked for failed."""
    line |= {"status": "error", "verdict": "unchecked", "reason": reason}
    line.pop("domain", None)


def encode(line: Mapping[str, object]) -> str:
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def combined_exit(codes: Iterable[int]) -> int:
    """Of a command with several results: interrupted, bad input, impossible, given up, solved."""
    found = set(codes)
    return next((code for code in (INTERRUPTED, BAD_INPUT, IMPOSSIBLE, GAVE_UP) if code in found), SOLVED)
