"""Pages of layouts: tables and pictures that show the banks of the line's own map."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warploom as wl
from warploom.tools.cli import cli
from warploom.tools.pages.layouts import BANKS, bank_of, grids, svg, wavefront_rows


def test_the_picture_of_a_map_has_its_banks() -> None:
    found = wl.layout("32x32:f32", ["rows", "columns"])
    (grid,) = grids(found.line)
    r, c = np.indices((32, 32))
    banks = [[cell[1] for cell in row if cell] for row in grid.cells]
    assert banks == ((r * 32 + (c ^ r)) % BANKS).tolist()
    assert svg(grid).count("<rect x=") == 1024 and "ring" not in re.sub("<style>.*?</style>", "", svg(grid))


def test_elements_that_meet_are_ringed() -> None:
    found = wl.check_layout("r * 32 + c", "32x32:f32", ["columns"])
    (grid,) = grids(found.line)
    assert grid.ringed == {(0, 0), (1, 0)} and svg(grid).count('class="ring"') == 2
    assert list(wavefront_rows(found.line))[1] == ("columns", 1024, 32, 32, "-")


def test_an_exchange_is_drawn_before_and_after() -> None:
    found = wl.exchange("striped", "blocked", regs=8)
    before, after = grids(found.line)
    assert after.cells[1][0] == ("8", bank_of(found.line["places"][8], 32))
    assert before.cells[1][1] == ("33", bank_of(found.line["places"][33], 32))
    # A quarter of the lanes loads four words each from all banks.
    for quarter in range(0, 32, 8):
        banks = [cell[1] for row in after.cells[quarter : quarter + 8] for cell in row[:4] if cell]
        assert sorted(banks) == list(range(BANKS))
    titles = [row[0] for row in wavefront_rows(found.line)]
    assert titles == ["via", "shuffle", "shared"]


def test_empty_places_and_large_tables() -> None:
    table = np.arange(64).reshape(32, 2)
    table[3, 1] = -1
    _, after = grids(wl.exchange(np.arange(64).reshape(32, 2), table).line)
    assert after.cells[3][1] is None and svg(after).count("<rect x=") == 63
    (grid,) = grids(wl.layout("128x80:f32", ["rows"]).line)
    assert (len(grid.cells), len(grid.cells[0])) == (64, 64) and "the first 64 of 128" in grid.title
    assert "number" in next(grids(wl.exchange("striped", "blocked", regs=2, bits=64).line)).title


def test_what_is_told_and_shown_in_notebooks() -> None:
    found = wl.layout("8x8:f32", ["rows", "columns"])
    assert "columns  2           2         1     4" in found.explain() and "  28 29 30 31 24 25 26 27" in found.explain()
    assert "<svg" in found._repr_html_() and "certificate" not in found._repr_html_()
    refused = wl.check_layout("c * 0", "8x8:f32")
    assert refused.explain() == refused.reason and "<svg" not in refused._repr_html_()
    assert "before: element of each lane" in wl.exchange("striped", "blocked", regs=2).explain()


@pytest.mark.parametrize(
    "arguments",
    [
        ("layout", "8x8:f32", "--access", "rows"),
        ("check-layout", "r * 8 + c", "--tile", "8x8:f32", "--access", "rows"),
        ("exchange", "--from", "striped", "--to", "blocked", "--regs", "2"),
    ],
)
def test_commands_write_pages(arguments: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    result = CliRunner().invoke(cli, [*arguments, "--html", str(path)])
    assert result.exit_code == 0 and f"wrote {path}" in result.output
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<svg" in text and ('aria-label="code"' in text) == (arguments[0] == "exchange")
