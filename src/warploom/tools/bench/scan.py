"""`warploom bench scan`: loops to lift, operators to accept and refuse, networks, and the rows of the paper's Table 1."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

import click

from warploom.core import Status
from warploom.scan.tasks import TASK_NAMES, run_task
from warploom.tools.bench.case import Case
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.guard import report
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import CASE_OPTION, DEBUG_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.scan.executed import MOST, run_executed_case
from warploom.tools.scan.network import network_cases, run_network_case, run_table1_case, table1_cases

LIMIT_S = 60.0
"""Limit for one case; the bar of the issue for a loop."""

_TABLE1_TASKS = tuple(name for name in TASK_NAMES if name.startswith("table1/"))
NAMES: tuple[str, ...] = (
    *_TABLE1_TASKS,
    *(f"table1/{name}" for name in table1_cases() if name != "segmented-operator"),
    *(name for name in TASK_NAMES if not name.startswith("table1/")),
    *(f"network/{name}" for name in network_cases()),
    *(f"executed/{name}" for name in MOST),
)
_OVERLAPPING = "idempotent associative operators"
"""The value of `operators` for Knowles' networks as published."""


def select(pattern: str | None) -> tuple[str, ...]:
    return tuple(name for name in NAMES if pattern is None or fnmatchcase(name, pattern))


def scan_case(name: str) -> Case:
    return Case(name, ("bench-scan", name), LIMIT_S)


def measure(name: str) -> Line:
    """The line of one case; UserError for an unknown name."""
    if name in TASK_NAMES:
        return _task(name)
    group, _, called = name.partition("/")
    if group == "executed":
        return run_executed_case(called)
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
    """Columns of the table for people."""
    found = {"seconds": str(line["seconds"])}
    if line.get("auxiliaries") is not None:
        found["invented"] = str(len(cast("list[str]", line["auxiliaries"])))
    for field, heading in (
        ("candidates", "candidates"),
        ("solutions", "solutions"),
        ("size", "size"),
        ("conflicts", "conflicts"),
        ("instructions_per_warp", "per 32 elements"),
    ):
        if field in line:
            value = line[field]
            found[heading] = str(len(cast("list[object]", value)) if isinstance(value, list) else value)
    return found | ({} if line.get("as_expected", True) else {"NOT": "as it should"})


@click.command("scan")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
def bench_scan(pattern: str | None, as_json: bool, journal: Path | None) -> None:
    """Lift loops, complete networks and layouts, refuse and accept operators: the tasks of the paper and of its successors."""
    cases = [scan_case(name) for name in select(pattern)]
    run_chosen(cases, pattern, as_json, columns, lambda line: line, journal, NAMES)


@click.command("bench-scan", hidden=True)
@click.argument("name")
@DEBUG_OPTION
def bench_scan_case(name: str, debug: bool) -> None:
    """One case of `bench scan`, in this process, as one JSON line."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        line = measure(name)
        return Outcome(line, EXIT_BY_STATUS[cast(Status, line["status"])])

    report(name, work, as_json=True, debug=debug)
