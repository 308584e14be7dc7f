"""Pages of layouts: a table of wavefronts, and pictures whose colours are banks of shared memory.

A map of a tile is drawn row by row; an exchange as what lanes hold before and after, lanes by registers. All is read from the
report line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, cast

from warploom.machines import BANKS
from warploom.tools.html.shell import listing, scrolled, section, whole
from warploom.tools.pages.line_table import line_table

_MOST = 64
"""Rows and columns that are drawn."""
_WORD_BITS = 32
_WIDTH, _HEIGHT, _LEFT, _TOP = 26, 17, 34, 36
_LONG = ("certificate", "code", "places", "worst", "pareto", "differs")
_STYLE = (
    "text{font:10px ui-monospace,'DejaVu Sans Mono',monospace;fill:#111;text-anchor:middle;dominant-baseline:central}"
    ".soft{fill:#5d6878}.title{text-anchor:start;font-size:12px}.ring{fill:none;stroke:#c0392b;stroke-width:2}"
)


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells with a text and the bank that colours them; None is empty."""

    title: str
    rows: str
    """Meaning of a row."""
    columns: str
    cells: Sequence[Sequence[tuple[str, int] | None]]
    ringed: frozenset[tuple[int, int]] = frozenset()


def layout_page(line: Mapping[str, Any]) -> str:
    """A page that needs no other file."""
    code = section(listing(escape(str(line["code"])), "code"), "Code") if line.get("code") else ""
    table = section(scrolled(_wavefront_table(line), "wavefronts"), "Wavefronts") if any(wavefront_rows(line)) else ""
    pictures = "\n".join(section(scrolled(svg(grid), grid.title)) for grid in grids(line))
    report = section(line_table(_short(line)), "Report")
    return whole(str(line["case"]), "\n".join((table, pictures, code, report)))


def layout_part(line: Mapping[str, Any]) -> str:
    """The table of the line, that of wavefronts and the pictures, for notebooks."""
    pictures = "\n".join(f"<p>{svg(grid)}</p>" for grid in grids(line))
    return f"{line_table(_short(line))}\n{_wavefront_table(line)}\n{pictures}"


def _short(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in _LONG}


def _wavefront_table(line: Mapping[str, Any]) -> str:
    rows = [[str(cell) for cell in row] for row in wavefront_rows(line)]
    table = "".join(
        "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row) + "</tr>"
        for row, kind in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    )
    return f"<table>{table}</table>"


def wavefront_rows(line: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    """A head and a row for each access of a map, or each program of an exchange; nothing without an answer."""
    if isinstance(line.get("pareto"), list):
        names = ("via", "program", "shuffles", "selects", "permutes", "logic", "wavefronts", "registers", "cycles")
        yield names
        for program in cast("list[dict[str, Any]]", line["pareto"]):
            yield [program.get(name, "-") for name in names]
    elif isinstance(line.get("least"), dict):
        yield "access", "wavefronts", "at least", "ways", "row-major"
        before = cast("dict[str, int]", line.get("before", {}))
        for name, count in cast("dict[str, int]", line["wavefronts"]).items():
            yield name, count, line["least"][name], line["ways"][name], before.get(name, "-")


def grids(line: Mapping[str, Any]) -> Iterator[Grid]:
    """Grids that are drawn for the line; none without a certificate."""
    document = cast("dict[str, Any]", line.get("certificate") or {})
    if "held" in document:
        yield from _registers(line, document)
    elif "tile" in document:
        yield _map(line, document)


def _map(line: Mapping[str, Any], document: Mapping[str, Any]) -> Grid:
    rows, columns, bits = (int(document["tile"][name]) for name in ("rows", "columns", "bits"))
    places, banks = cast("list[int]", document["places"]), int(document["banks"])
    cells = [
        [(str(bank := bank_of(places[r * columns + c], bits, banks)), bank) for c in range(min(columns, _MOST))]
        for r in range(min(rows, _MOST))
    ]
    worst = cast("dict[str, list[list[int]]]", line.get("worst", {}))
    ringed = frozenset((r, c) for places in worst.values() for r, c in places)
    return Grid("bank of each element" + _cut(rows, columns), "row", "column", cells, ringed)


def _registers(line: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Grid]:
    bits = min(int(line.get("bits", _WORD_BITS)), _WORD_BITS)  # wider elements stand in the certificate word by word
    places = cast("list[int] | None", line.get("places"))
    if line.get("bits") != bits:
        places = None
    said = "place in shared memory" if places else "number"
    for name, title in (("held", "before"), ("wanted", "after")):
        table = cast("list[list[list[int]]]", document[name])
        flat = [[element for word in lane for element in word] for lane in table]
        cells = [
            [None if e < 0 else (str(e), bank_of(places[e] if places else e, bits)) for e in lane[:_MOST]]
            for lane in flat[: 2 * _MOST]
        ]
        text = (
            f"{title}: element of each lane and register, coloured by the bank of its {said}{_cut(len(flat) // 2, len(flat[0]))}"
        )
        yield Grid(text, "lane", "register" if bits == _WORD_BITS else "slot", cells)


def bank_of(place: int, bits: int, banks: int = BANKS) -> int:
    return place * bits // _WORD_BITS % banks


def _cut(rows: int, columns: int) -> str:
    return f" (the first {_MOST} of {max(rows, columns)})" if max(rows, columns) > _MOST else ""


def svg(grid: Grid) -> str:
    """The grid as SVG."""
    count = max(map(len, grid.cells))
    width, height = _LEFT + max(count * _WIDTH, 7 * len(grid.title)) + 4, _TOP + len(grid.cells) * _HEIGHT + 4
    parts = [f'<text class="title" x="4" y="10">{escape(grid.title)}</text>']
    parts += (f'<text class="soft" x="{_x(c) + _WIDTH / 2:g}" y="{_TOP - 9}">{c}</text>' for c in range(count))
    for r, row in enumerate(grid.cells):
        y = _TOP + r * _HEIGHT
        parts.append(f'<text class="soft" x="{_LEFT / 2:g}" y="{y + _HEIGHT / 2:g}">{r}</text>')
        for c, cell in enumerate(row):
            if cell is not None:
                text, bank = cell
                where = f'x="{_x(c)}" y="{y}" width="{_WIDTH - 1}" height="{_HEIGHT - 1}"'
                note = f"<title>{grid.rows} {r}, {grid.columns} {c}: bank {bank}</title>"
                parts.append(f'<rect {where} fill="{colour(bank)}">{note}</rect>')
                parts.append(f'<text x="{_x(c) + _WIDTH / 2:g}" y="{y + _HEIGHT / 2:g}">{escape(text)}</text>')
                if (r, c) in grid.ringed:
                    parts.append(f'<rect class="ring" {where}/>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label="{escape(grid.title, quote=True)}">\n'
        f'<style>{_STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>'
    )


def colour(bank: int) -> str:
    """Neighbouring banks look alike; light and dark ones take turns."""
    return f"hsl({bank * 360 // BANKS} 70% {82 if bank % 2 else 72}%)"


def _x(column: int) -> int:
    return _LEFT + column * _WIDTH


def table_as_text(line: Mapping[str, Any]) -> Iterator[str]:
    """The table of wavefronts in columns, for people at a terminal."""
    rows = [[str(cell) for cell in row] for row in wavefront_rows(line)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def banks_as_text(line: Mapping[str, Any]) -> Iterator[str]:
    """The banks as numbers."""
    for grid in grids(line):
        yield f"  {grid.title}"
        for row in grid.cells[:BANKS]:
            yield "  " + " ".join("--" if cell is None else f"{cell[1]:2}" for cell in row[:BANKS])
