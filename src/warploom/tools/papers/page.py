"""The page of `warploom paper --html`: each item as bars and as a table, the paper's numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from warploom.tools.command.lines import Line
from warploom.tools.papers.rows import items, title

_WIDTH, _LEFT, _RIGHT, _BAR = 900, 300, 90, 9
_SERIES = (
    ("theirs", "the paper", "#8c959f"),
    ("authors_tool", "the authors' tool here", "#bf8700"),
    ("ours", "Warploom", "#0969da"),
)
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px}td,th{padding:2px 10px;text-align:left;border-bottom:1px solid #d0d7de}
td.number{text-align:right;font-variant-numeric:tabular-nums}.worse{color:#cf222e}.note{color:#57606a}svg{font-size:11px;width:100%}"""


def page(lines: Sequence[Line]) -> str:
    """One HTML text that needs no other file and no network; `lines` as `judge.judged` makes them."""
    parts = [
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>The papers beside Warploom</title><style>{_STYLE}</style>"
    ]
    parts.append("<h1>The papers beside Warploom</h1>")
    known = {(item.paper, item.name): item for item in items()}
    for paper, of_paper in groupby((line for line in lines if "item" in line), lambda line: str(line["paper"])):
        parts.append(f"<h2>{escape(title(paper))}</h2>")
        for name, group in groupby(of_paper, lambda line: str(line["item"])):
            rows, item = list(group), known[paper, name]
            parts.append(f"<h3>{escape(name)}: {escape(item.title)}</h3>")
            parts.append(f"<p>{escape(item.claim)}</p><p class='note'>{escape(item.differs)}</p>")
            parts += [bars(list(of_unit), unit) for unit, of_unit in groupby(_by_unit(rows), lambda line: str(line["unit"]))]
            parts.append(_table(rows))
    return "\n".join(parts) + "\n</html>\n"


def _by_unit(rows: Sequence[Line]) -> list[Line]:
    """One unit after the other, in the order of their first row."""
    units = list(dict.fromkeys(str(line["unit"]) for line in rows))
    return sorted(rows, key=lambda line: units.index(str(line["unit"])))


def bars(rows: Sequence[Mapping[str, object]], unit: str) -> str:
    """SVG of horizontal bars on a scale of powers of ten, empty where no row has a number above 0."""
    values = [float(v) for line in rows for key, *_ in _SERIES if isinstance(v := line.get(key), int | float) and v > 0]
    if not values:
        return ""
    low, high = min(values) / 1.5, max(values) * 1.2
    height = len(rows) * (3 * _BAR + 8) + 40
    parts = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(unit, quote=True)} of each row">']
    for place, (_, called, colour) in enumerate(_SERIES):
        x = _LEFT + 170 * place
        parts.append(
            f'<rect x="{x}" y="4" width="10" height="10" fill="{colour}"/><text x="{x + 15}" y="13">{escape(called)}</text>'
        )
    parts.append(f'<text x="{_LEFT - 8}" y="13" text-anchor="end">{escape(unit)}</text>')
    y = 24
    for line in rows:
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 2 * _BAR}" text-anchor="end">{escape(str(line["row"]))}</text>')
        for place, (key, _, colour) in enumerate(_SERIES):
            value = line.get(key)
            if not isinstance(value, int | float) or value <= 0:
                continue
            wide = (_WIDTH - _LEFT - _RIGHT) * math.log(value / low) / math.log(high / low)
            top = y + place * _BAR
            more = "&gt; " if key == "theirs" and line.get("at_least") else ""
            parts.append(f'<rect x="{_LEFT}" y="{top}" width="{wide:.1f}" height="{_BAR - 1}" fill="{colour}"/>')
            parts.append(f'<text x="{_LEFT + wide + 4:.1f}" y="{top + 8}">{more}{value:.4g}</text>')
        y += 3 * _BAR + 8
    return "".join([*parts, "</svg>"])


def _table(rows: Sequence[Line]) -> str:
    head = "".join(
        f"<th>{name}</th>"
        for name in ("row", "paper", "authors' tool", "ours", "ratio", "unit", "counted", "verdict", "against theirs", "")
    )
    return f"<table><tr>{head}</tr>{''.join(map(_row, rows))}</table>"


def _row(line: Line) -> str:
    numbers = "".join(f"<td class='number'>{number(line, key)}</td>" for key in ("theirs", "authors_tool", "ours", "ratio"))
    texts = (line["unit"], line["counted"] or "", f"{line['status']}, {line['verdict']}")
    standing = str(line["compared"])
    why = "; ".join(str(line[key]) for key in ("reason", "note") if line.get(key))
    cells = "".join(f"<td>{escape(str(text))}</td>" for text in texts)
    return (
        f"<tr><td>{escape(str(line['row']))}</td>{numbers}{cells}"
        f"<td class='{escape(standing)}'>{escape(standing)}</td><td class='note'>{escape(why)}</td></tr>"
    )


def number(line: Mapping[str, object], key: str) -> str:
    """A number in few digits, `-` for none; the limit at which theirs gave up as `> 1800`."""
    value = line.get(key)
    if not isinstance(value, int | float):
        return "-"
    text = f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3g}"
    return f"> {text}" if key == "theirs" and line.get("at_least") else text
