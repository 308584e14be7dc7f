"""Benchmark cases `wall/crc-M`, `wall/rcr-M`, `wall/sum-M`: transposes of M registers by 32 lanes, any M up to 64."""

from __future__ import annotations

import re
from functools import partial
from typing import cast

import click

from warploom.synth import transposes
from warploom.tools.bench.case import Case
from warploom.tools.command.guard import report
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

LANES = 32
_NAME = re.compile(r"wall/(crc|rcr|sum)-(\d+)")


def is_wall_transpose(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def transpose_case(name: str, limit_s: float) -> Case:
    return Case(name, ("bench-transpose", name), limit_s)


def measure(name: str, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """The first answer in the grown grammar, then whether equations 5 to 7 suffice; `seconds` are those of the first answer."""
    match = _NAME.fullmatch(name)
    assert match is not None
    kind, m = cast(transposes.Kind, match[1]), int(match[2])
    progress("grown grammar")
    found = transposes.solve_transpose(kind, m, LANES, "grown")
    usage = stopwatch.read()
    fields: Line = {
        "goal": "first", "m": m, "n": LANES, "kind": kind, "composition": list(found.composition), "cost": found.cost,
        "optimal": found.optimal, "objective": ["cost"],
        "count": len(found.composition) and 1, "visited": found.pivots, "ineffectiveness": None,
    }  # fmt: skip
    if found.status == "solved":
        fields["domain"] = transposes.DOMAIN
    progress("equations 5 to 7")
    try:
        fields["template"] = transposes.solve_transpose(kind, m, LANES, "template").status
    except KeyboardInterrupt:
        fields["template"] = "unknown"
    fields["phases"] = {"grown": usage.seconds, "template": round(stopwatch.read().seconds - usage.seconds, 3)}
    verdict = "proved" if found.status == "solved" else "unchecked"
    line = plain_line(name, found.status, usage, verdict=verdict, reason=found.reason, **fields)
    return Outcome(line, EXIT_BY_STATUS[found.status])


@click.command("bench-transpose", hidden=True)
@click.argument("name")
@DEBUG_OPTION
def bench_transpose(name: str, debug: bool) -> None:
    """One transpose of `bench synth`, in this process, as one JSON line."""
    report(name, partial(measure, name), as_json=True, debug=debug)
