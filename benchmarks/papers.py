"""Rows of the papers out of recorded benchmarks: what `bench` has recorded need not be run again.

`python -m benchmarks.papers RECORD ... > benchmarks/results/papers-DATE.jsonl`; the record of each row is under `recorded_in`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from warploom.tools.papers.judge import judged
from warploom.tools.papers.rows import PAPERS
from warploom.tools.papers.sources import rows_of


def lines(paths: Sequence[Path]) -> Iterator[dict[str, object]]:
    """A line for each row whose case is in one of the records; the last record counts."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path in paths:
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            found[str(line["case"]), str(line.get("configuration", ""))] = line | {"recorded_in": path.name}
    for row in (row for paper in PAPERS for row in rows_of(paper)):
        if row.run is None or "--max-delta" in row.run.case.arguments:
            continue  # the records have all distances
        line = found.get((row.run.case.name, str(row.run.case.labels.get("configuration", ""))))
        if line is not None:
            yield judged(row, line)


if __name__ == "__main__":
    for record in lines([Path(argument) for argument in sys.argv[1:]]):
        print(json.dumps(record, ensure_ascii=False))
