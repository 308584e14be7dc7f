"""The table of the accepted subset: every example does what its row says, and docs/language.md shows the table."""

from __future__ import annotations

import linecache
from pathlib import Path
from textwrap import indent

import pytest

import warploom as wl
from warploom.core import UserError
from warploom.sketch import parse_spec
from warploom.sketch.subset import ROWS, Row, table
from warploom.synth.proof.symbolic import run_spec

DOCS = Path(__file__).parents[2] / "docs" / "language.md"


@wl.sketch(block=8)
def arrays(x: wl.Global[wl.i32, 8], y: wl.Global[wl.i32, 8]):
    i = wl.thread_id()
    y[i] = y[i] + x[i]


def _function(source: str, name: str):
    file = f"<subset {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    variables = {"wl": wl}
    exec(compile(source, file, "exec"), variables)
    return variables[name]


def _accepts(read) -> bool:
    try:
        read()
    except UserError as error:
        assert all(d.span.line > 0 and d.fix for d in error.diagnostics)
        return False
    return True


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.construct)
def test_row(row: Row) -> None:
    head = "def k(x: wl.Global[wl.i32, 8], y: wl.Global[wl.i32, 8]):\n    i = wl.thread_id()\n"
    kernel = _function(head + indent(row.example, "    ") + "\n", "k")
    assert _accepts(lambda: wl.sketch(block=8)(kernel)) == (row.sketch == "yes")
    spec = _function("def spec(x, y):\n    for i in range(8):\n" + indent(row.example, "        ") + "\n", "spec")
    is_run = _accepts(lambda: wl.sketch(block=8, spec=spec)(arrays_body) and run_spec(spec, arrays.kernel, {}))
    is_read = is_run and _accepts(lambda: parse_spec(spec, arrays.kernel))
    assert ("yes" if is_read else "one size" if is_run else "no") == row.spec


def arrays_body(x: wl.Global[wl.i32, 8], y: wl.Global[wl.i32, 8]):
    i = wl.thread_id()
    y[i] = y[i] + x[i]


def test_docs_show_the_table() -> None:
    assert table() in DOCS.read_text()
