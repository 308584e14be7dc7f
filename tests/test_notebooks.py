"""The notebooks of examples/notebooks, run in a Jupyter kernel: every cell gives what is stored with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples/notebooks").glob("*.ipynb"))
QUICK = "sketch_with_holes"
"""In the default tests; the others are slow ones."""
_CHANGING = ((re.compile(r"<p><small>[^<]*</small></p>"), "<p><small>...</small></p>"), (re.compile(r"\b\d+\.py\b"), "cell.py"))
"""Seconds and megabytes of a result, and the names that Jupyter gives to cells."""


def rerun(path: Path) -> str:
    """The notebook with the outputs that its cells have now."""
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=None, kernel_name="python3").execute()
    for cell in book.cells:
        cell.metadata = {}
    book.metadata = {k: v for k, v in book.metadata.items() if k == "kernelspec"}
    return json.dumps(_settled(book), indent=1, ensure_ascii=False) + "\n"


def _settled(value: object) -> object:
    match value:
        case dict():
            return {name: _settled(inner) for name, inner in value.items()}
        case list():
            return [_settled(inner) for inner in value]
        case str():
            for found, settled in _CHANGING:
                value = found.sub(settled, value)
            return value.splitlines(True) if "\n" in value else value
        case _:
            return value


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem != QUICK)) for p in NOTEBOOKS])
def test_cells_give_what_is_stored_with_them(path: Path, golden: Callable[[Path, str], None]) -> None:
    golden(path, rerun(path))


def test_an_output_that_changed_is_seen(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("1 + 1", id="a", outputs=[nbformat.v4.new_output("stream", text="3")])
    path = tmp_path / "wrong.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    stored = json.loads(rerun(path))["cells"][0]["outputs"]
    assert [o["data"] for o in stored] == [{"text/plain": "2"}]
