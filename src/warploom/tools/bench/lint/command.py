"""`warploom bench lint`: mistakes planted by rule and what finds them, kernels without any, and every launch of both."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import click

from warploom.tools.bench.case import Case
from warploom.tools.bench.lint.cases import NAMES, case_of, is_as_expected
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.lines import Line
from warploom.tools.command.options import CASE_OPTION, JOBS_OPTION, JOURNAL_OPTION, JSON_OPTION

LIMIT_S = 600.0
_COLUMNS = (
    "bugs",
    "found",
    "other_result",
    "elsewhere",
    "missed",
    "share",
    "kernels",
    "false_errors",
    "proved",
    "refuted",
    "decided",
    "launches",
    "wrongly_proved",
)


def judged(line: Line) -> Line:
    return line | {"as_expected": is_as_expected(line)}


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    return {name: str(line[name]) for name in _COLUMNS if name in line} | {"seconds": str(line["seconds"])}


@click.command("lint")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
@JOBS_OPTION
def bench_lint(pattern: str | None, as_json: bool, journal: Path | None, jobs: int) -> None:
    """Plant mistakes by rule into kernels in CUDA, PTX and Triton; count those that `lint` finds on their line.

    `other_result` are mistakes whose accesses are all as they may be: their arrays differ from those of the kernel without the
    mistake, which `same` tells. `corpus` has no mistake: every error there is false. `every-launch` proves kernels free of races.
    """
    cases = [Case(name, case_of(name), LIMIT_S) for name in NAMES if fnmatchcase(name, pattern or "*")]
    run_chosen(cases, pattern, as_json, columns, judged, journal, NAMES, jobs)
