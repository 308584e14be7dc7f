"""`warploom bench scan`: loops to lift, operators to accept and refuse, networks, and the rows of the paper's Table 1."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import cast

from warploom.scan.tasks import TASK_NAMES, run_task
from warploom.synth import Status
from warploom.tools.bench import Case
from warploom.tools.lines import Line, plain_line
from warploom.tools.scan_network import network_cases, run_network_case, run_table1_case, table1_cases
from warploom.tools.usage import Stopwatch

LIMIT_S = 60.0
"""For one case; the bar of the issue for a loop."""

_TABLE1_TASKS = tuple(name for name in TASK_NAMES if name.startswith("table1/"))
NAMES: tuple[str, ...] = (
    *_TABLE1_TASKS,
    *(f"table1/{name}" for name in table1_cases() if name != "segmented-operator"),
    *(name for name in TASK_NAMES if not name.startswith("table1/")),
    *(f"network/{name}" for name in network_cases()),
)
_OVERLAPPING = "idempotent associative operators"
"""What `operators` says of Knowles' networks as published."""


def select(pattern: str | None) -> tuple[str, ...]:
    return tuple(name for name in NAMES if pattern is None or fnmatchcase(name, pattern))


def scan_case(name: str) -> Case:
    return Case(name, ("bench-scan", name), LIMIT_S)


def measure(name: str) -> Line:
    """The line of one case; UserError for an unknown name."""
    if name in TASK_NAMES:
        return _task(name)
    group, _, called = name.partition("/")
    if group == "network":
        line = run_network_case(called)
        is_expected = line["status"] == "solved" and line["verdict"] == "proved"
        overlaps = line.get("operators") == _OVERLAPPING
        return line | {"as_expected": is_expected and overlaps == called.startswith("knowles")}
    line = run_table1_case(called)
    return line | {"as_expected": line["status"] == "solved" and line["verdict"] in ("proved", "tested")}


def _task(name: str) -> Line:
    stopwatch = Stopwatch()
    record = run_task(name)
    fields: Line = {}
    if record.verdict in ("proved", "refuted") and record.domain:
        fields["domain"] = record.domain
    if record.verdict == "tested":
        fields["cases"] = record.cases
    fields |= dict(record.fields)
    status: Status = record.status
    reason = record.reason or ("" if status == "solved" else "not found")
    line = plain_line(name, status, stopwatch.read(), verdict=record.verdict, reason=reason if status != "solved" else "")
    return line | fields | {"as_expected": record.is_expected}


def columns(line: Line) -> dict[str, str]:
    """For people."""
    found = {"seconds": str(line["seconds"])}
    if line.get("auxiliaries") is not None:
        found["invented"] = str(len(cast("list[str]", line["auxiliaries"])))
    for field, heading in (
        ("candidates", "candidates"),
        ("solutions", "solutions"),
        ("size", "size"),
        ("conflicts", "conflicts"),
    ):
        if field in line:
            value = line[field]
            found[heading] = str(len(cast("list[object]", value)) if isinstance(value, list) else value)
    return found | ({} if line.get("as_expected", True) else {"NOT": "as it should"})
