"""Options that many commands have in common."""

from __future__ import annotations

from pathlib import Path

import click

CASE_OPTION = click.option("--case", "pattern", metavar="GLOB", help="Run only the cases that match.")
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON lines on stdout and all else on stderr.")
JOURNAL_OPTION = click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record finished cases in this file, and skip those that it has.",
)
JOBS_OPTION = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Cases that run at the same time, in processes of their own.",
)
DEBUG_OPTION = click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
