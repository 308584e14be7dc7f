"""Numbers of a paper's text about all rows of a table or figure: a median, a share. They run nothing of their own."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warploom.ir.dataflow import Gathered, named_statements, parse_program
from warploom.kernels import find_program
from warploom.synth.dataflow import size_of
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.usage import Usage
from warploom.tools.papers.judge import answer, asked, is_expected
from warploom.tools.papers.rows import Row, Summary

_HALF = 0.05
"""An ineffectiveness below 1.05 prints as 1.0."""


def paths_of(program: str) -> int:
    """Ways to fill the holes of a dataflow program, with whatever functions."""
    count = 1
    for _, statement in named_statements(parse_program(find_program(program), program)):
        value = statement.value
        if isinstance(value, Gathered):
            count *= size_of(value.choices.members)
    return count


def _avoided(lines: Sequence[Mapping[str, Any]]) -> float:
    """Mean share of the paths that the search did not try, in percent."""
    shares = [1.0 - min(1.0, line["visited"] / paths_of(str(line["ran"]))) for line in lines]
    return round(100 * statistics.mean(shares), 2)


def _like_an_oracle(lines: Sequence[Mapping[str, Any]]) -> float:
    return round(100 * sum(line["ours"] < 1.0 + _HALF for line in lines) / len(lines), 1)


_OF: Mapping[Summary, Callable[[Sequence[Mapping[str, Any]]], float]] = {
    "median": lambda lines: round(statistics.median(line["ours"] for line in lines), 3),
    "greatest": lambda lines: max(line["ours"] for line in lines),
    "like an oracle": _like_an_oracle,
    "avoided": _avoided,
}


def summarised(row: Row, rows: Sequence[Row], lines: Sequence[Mapping[str, object]]) -> Line:
    """The line of a row about others, from theirs; without a number where one of them has none. `rows`: all of the paper."""
    assert row.summary is not None
    by_label = {str(line["case"]): line for line in lines}
    wanted = [r for r in rows if r.item == row.item and r.run is not None and r.name.endswith(row.of)]
    found = [by_label[r.label] for r in wanted if r.label in by_label and by_label[r.label].get("ours") is not None]
    usage = Usage(0.0, 0.0, 0.0)
    if not wanted or len(found) < len(wanted):
        reason = f"{row.reason}; {len(found)} of {len(wanted)} have a number"
        return plain_line(row.label, "unknown", usage, reason=reason) | asked(row) | answer(row, None, None)
    line = plain_line(row.label, "solved", usage, verdict="unchecked") | {"ran": f"{len(found)} rows of {row.item}"}
    line |= asked(row) | answer(row, _OF[row.summary](found), None)
    return line | {"as_expected": is_expected(line)}
