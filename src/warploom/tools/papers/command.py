"""`warploom paper`: what of the five papers can be reproduced, and the rows of a table or figure beside ours."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import click

from warploom.core import Diagnostic, UserError
from warploom.tools.bench.run import run_bench
from warploom.tools.command.files import OUTPUT_FILE, write_text
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.options import CASE_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import failed
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.papers.judge import case_of, columns, judged
from warploom.tools.papers.page import page
from warploom.tools.papers.rows import PAPERS, Row, items, title

_LISTED = 12
"""So many names are all shown."""


def select(paper: str | None, item: str | None, pattern: str | None, *, is_quick: bool) -> tuple[Row, ...]:
    """Rows of all papers, of one, or of one item; UserError where there are none."""
    if paper is not None and paper not in PAPERS:
        raise _unknown("a paper", paper, PAPERS)
    names = [found.name for found in items() if found.paper == paper]
    if item is not None and item not in names:
        raise _unknown(f"an item of {paper}", item, names)
    from warploom.tools.papers.sources import rows_of  # takes a second, which the list of items does not need

    rows = [row for name in ([paper] if paper else PAPERS) for row in rows_of(name) if item in (None, row.item)]
    found = [row for row in rows if pattern is None or fnmatchcase(row.label, pattern) or fnmatchcase(row.name, pattern)]
    if is_quick and any(row.is_quick for row in found):
        found = [row for row in found if row.is_quick or (row.run is None and row.summary is None)]
    if not found:
        raise _unknown("a pattern that some row matches", pattern or "", [row.label for row in rows])
    return tuple(found)


def _unknown(expected: str, got: str, known: Sequence[str]) -> UserError:
    if len(known) <= _LISTED:
        some = [*known]
    else:
        some = get_close_matches(got, known, 3, 0.5) or [*known[:: max(1, len(known) // 6)]][:6]
    return UserError(Diagnostic("NO_CASE", f"expected {expected}, got {got!r}", fix=f"There are {', '.join(some)}."))


@click.command("paper")
@click.argument("paper", required=False)
@click.argument("item", required=False)
@click.option("--all", "is_all", is_flag=True, help="Run every row of the five papers, or of the paper.")
@click.option("--quick", "is_quick", is_flag=True, help="Run a few rows of each item.")
@click.option("--html", "html", type=OUTPUT_FILE, help="Write a page with the figures redrawn, ours beside theirs.")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
@limited
def paper_command(
    paper: str | None,
    item: str | None,
    is_all: bool,
    is_quick: bool,
    html: Path | None,
    pattern: str | None,
    as_json: bool,
    journal: Path | None,
) -> None:
    """List the tables and figures of the five papers, or run one and print its rows beside ours.

    PAPER alone runs all of its items. Rows are printed as they are ready; stderr says which one runs. Where the paper's text
    has no number or the row needs what is not here, the row says so.
    """
    output, stopwatch = Output(as_json), Stopwatch()
    try:
        if paper is None and not (is_all or is_quick or pattern):
            _list(output)
            return
        rows = select(paper, item, pattern, is_quick=is_quick)
    except UserError as error:
        sys.exit(output.outcome(failed("/".join(part for part in (paper, item) if part) or "papers", error, stopwatch)))
    by_label = {row.label: row for row in rows}
    seen: list[Line] = []
    cases = [case_of(row) for row in rows if row.summary is None]
    code = run_bench(cases, output, columns, lambda line: judged(by_label[str(line["case"])], line), journal, seen, is_told=True)
    _summarise([row for row in rows if row.summary is not None], output, seen)
    if html is not None:
        try:
            write_text(html, page(seen))
        except UserError as error:
            code = max(code, output.outcome(failed(str(html), error, stopwatch)))
        else:
            output.say(f"wrote {html}")
    sys.exit(code)


def _summarise(rows: Sequence[Row], output: Output, seen: list[Line]) -> None:
    """Adds the lines of rows that are about others."""
    if not rows:
        return
    from warploom.tools.papers.sources import rows_of
    from warploom.tools.papers.summaries import summarised

    for row in rows:
        line = summarised(row, rows_of(row.paper), seen)
        output.row(line, columns(line))
        seen.append(line)


def _list(output: Output) -> None:
    usage = Stopwatch().read()
    for paper in PAPERS:
        output.say(f"\n{title(paper)}")
        for item in items():
            if item.paper != paper:
                continue
            fields = {"paper": paper, "item": item.name, "title": item.title, "claim": item.claim}
            text = f"  warploom paper {paper} {item.name:<12} {item.title}"
            output.listed(plain_line(f"{paper}/{item.name}", "solved", usage, **fields), text)
