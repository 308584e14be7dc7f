"""docs/papers.md, out of the rows and the recorded lines of `warploom paper --json`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from warploom.tools.papers.judge import case_of
from warploom.tools.papers.page import number
from warploom.tools.papers.rows import PAPERS, Row, drawings, items, title
from warploom.tools.papers.sources import rows_of
from warploom.tools.papers.summaries import summarised

_HEAD = """# The five papers, row by row

What each paper claims, where Warploom is, what differs and why. `warploom paper PAPER ITEM` runs the rows of a table or figure;
`warploom paper` lists them, `--all` runs all, `--quick` a few of each, `--html FILE` draws them. `--budget 5m --journal FILE`
runs as many as five CPU-minutes allow, and the same command again goes on there. `make golden` writes this page out of the
rows and the records in [benchmarks/results](../benchmarks/results/README.md); a test compares it with them.

- **paper**: the number in the paper's text, from its machine; `> 1800` where the paper's tool gave up.
- **tool**: the authors' published tool on two virtual cores without a GPU, in CPU seconds.
- **ours**: CPU seconds with proof and check, or the count that the unit says, on a machine like the tool's. *sass*, *interpreter*
  and *model* say how it was counted.
- **ratio**: ours over the paper's number, or over the tool's where the paper has none.
- **stands**: *better*, *equal*, *worse*, or *no bar* where neither number is the better one. Times of which both are below a
  tenth of a second are equal, so are times that round to the whole seconds that Swizzle Inventor's tables print, and shares of
  dead ends that the walks made here do not tell apart.
- **verdict**: what is known of our answer: proved, tested, unchecked; *unsat* is a space searched to its end, as in the paper.
"""


def recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """Lines of the files `papers-*.jsonl` by case; a later line stands for an earlier one."""
    lines = [
        json.loads(text)
        for path in sorted(folder.glob("papers-*.jsonl"))
        for text in path.read_text(encoding="utf-8").splitlines()
    ]
    return {str(line["case"]): line for line in lines}


def document(records: Mapping[str, Mapping[str, Any]]) -> str:
    """The page. Every row has a number of ours or a reason."""
    parts = [_HEAD, _summary(records)]
    for paper in PAPERS:
        parts.append(f"\n## `{paper}`\n\n{title(paper)}. {drawings(paper)}\n")
        for item in items():
            if item.paper != paper:
                continue
            parts.append(f"\n### {item.name}: {item.title}\n\nThe paper: {item.claim}\n\nHere: {item.differs}\n")
            parts.append(_table([row for row in rows_of(paper) if row.item == item.name], records))
    return "\n".join(part.rstrip("\n") if part.startswith("|") else part for part in "\n".join(parts).split("\n")).rstrip() + "\n"


def _summary(records: Mapping[str, Mapping[str, Any]]) -> str:
    rows = ["| paper | rows | better | equal | worse | no bar | not run |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for paper in PAPERS:
        found = [_line(row, records) for row in rows_of(paper)]
        ran = Counter(str(line["compared"]) for line in found if "ran" in line)
        counts = [len(found), ran["better"], ran["equal"], ran["worse"], ran["no bar"], len(found) - ran.total()]
        rows.append(f"| [{paper}](#{paper}) | {' | '.join(map(str, counts))} |")
    return "\n".join(rows)


def _line(row: Row, records: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The recorded line, as the row of today asks; else one that says why there is none."""
    known = case_of(row)
    line = records.get(row.label)
    if line is None and row.summary is not None:
        line = summarised(row, rows_of(row.paper), list(records.values()))
    if line is None or (isinstance(known, dict) and row.summary is None):
        empty = {"status": "unknown", "verdict": "unchecked", "theirs": row.theirs, "authors_tool": row.authors_tool}
        reason = row.reason or "not run yet"
        return empty | {"at_least": row.is_limit, "ours": None, "counted": None, "compared": "no bar", "reason": reason}
    return line


def _table(rows: Sequence[Row], records: Mapping[str, Mapping[str, Any]]) -> str:
    head = "| row | paper | tool | ours | unit | ratio | stands | verdict | remarks |\n"
    return head + "| --- | ---: | ---: | ---: | --- | ---: | --- | --- | --- |\n" + "\n".join(_cells(rows, records))


def _cells(rows: Sequence[Row], records: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        line = _line(row, records)
        ran = "ran" in line
        remarks = [str(line[key]) for key in ("reason", "note") if line.get(key) and not _is_said(line, key)]
        if line.get("on_gpu"):
            remarks.append(f"on a GPU {line['on_gpu']} times as fast")
        cells = (
            row.name, number(line, "theirs"), number(line, "authors_tool"), number(line, "ours"),
            row.unit + (f" ({line['counted']})" if line["counted"] else ""), number(line, "ratio"),
            str(line["compared"]) if ran else "-", _verdict(line) if ran else "-", "; ".join(remarks),
        )  # fmt: skip
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _verdict(line: Mapping[str, Any]) -> str:
    return str(line["verdict"] if line["status"] == "solved" else line["status"])


def _is_said(line: Mapping[str, Any], key: str) -> bool:
    """An exhausted space is what the row's verdict says."""
    return key == "reason" and line["status"] == "unsat"
