"""The table of what tensor functions accept: every example does what its row says, and docs/schedule.md shows the table."""

from __future__ import annotations

import linecache
from pathlib import Path
from textwrap import indent

import pytest

from warploom.core import UserError
from warploom.schedule.frontend import tensor
from warploom.schedule.frontend.subset import ROWS, Row, table

HEAD = "from __future__ import annotations\nimport numpy as np\n"
HEAD += 'def f(X: f32["n"], A: f32["n", "n + 2"], N: i32["n"], {out}[{dtype}["n"]]):\n'


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.construct)
def test_row(row: Row) -> None:
    out, dtype = ("m: out", "i32") if row.example.startswith("m[") else ("y: out", "f32")
    source = HEAD.format(out=out, dtype=dtype) + indent(row.example, "    ") + "\n"
    file = "<tensor subset>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    variables: dict[str, object] = {}
    exec(compile(source, file, "exec"), variables)
    try:
        tensor(variables["f"]).program({"n": 3})
    except UserError as error:
        assert not row.is_accepted, error
        assert all(d.span.line > 0 and d.fix for d in error.diagnostics)
    else:
        assert row.is_accepted


def test_docs_show_the_table() -> None:
    assert table() in (Path(__file__).parents[3] / "docs" / "schedule.md").read_text()
