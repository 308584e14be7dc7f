"""The page of a lint: findings, races as two threads side by side, the source with what its lines cost, accesses by banks.

It is one HTML text without scripts, for any width and both colour schemes; all of it can be reached by the keyboard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, cast

from warploom.machines import BANKS
from warploom.ptx import Counts, Place
from warploom.tools.html.asked import asked_picture
from warploom.tools.lint.findings import Found
from warploom.tools.lint.launched import Linted
from warploom.tools.lint.sources import Source, line_text, text_of
from warploom.tools.lint.told import said

_AROUND = 4
"""Lines that are shown before and after one with a cost or a finding."""
_FACTS = (
    "status", "verdict", "reason", "domain", "proves", "replay", "race_free_if", "in_bounds_if", "launch", "global_sectors",
    "shared_wavefronts", "instructions",
)  # fmt: skip
_OTHER = re.compile(r"\bby ((?:block [\d,]+, )?thread [\d,]+)")
"""The second thread of a race, in its message."""
_Heat = dict[tuple[str, int], "_Cost"]


@dataclass(slots=True)
class _Cost:
    """Cost of one line of a source: for each kind the text shown, and how hot it is from 0 to 1."""

    sectors: tuple[str, float] = ("", 0.0)
    wavefronts: tuple[str, float] = ("", 0.0)
    divergent: tuple[str, float] = ("", 0.0)


@dataclass(frozen=True, slots=True)
class _Excerpt:
    file: str
    lines: tuple[int, ...]


def lint_page(linted: Linted) -> str:
    """The page as one HTML text that needs no other file and no network."""
    line, found = linted.outcome.line, linted.found
    heat = _of_launch(linted.source, linted.counts) if linted.source and linted.counts else _of_every_launch(line)
    hits = {(one.place.file, one.place.line) for one in found}
    hits |= {(places[0].file, places[0].line) for one in found for _, places in one.others}
    domain = f" over {line['domain']}" if line.get("domain") else ""
    return Template(_asset("lint.html")).substitute(
        title=escape(linted.case),
        summary=escape(f"{line['status']}, {line['verdict']}{domain}" + (f": {line['reason']}" if line.get("reason") else "")),
        css=_asset("page.css") + _asset("lint.css") + _asset("asked.css"),
        findings=_findings(found),
        sources="".join(_source(one, heat, hits) for one in _excerpts({*heat, *hits})),
        banks=_banks(linted.source, linted.counts) if linted.source and linted.counts else "",
        facts="".join(_row(name, line[name]) for name in _FACTS if line.get(name) not in (None, "", [])),
    )


def _asset(name: str) -> str:
    return files("warploom.tools.html").joinpath(name).read_text(encoding="utf-8")


def _row(name: str, value: object) -> str:
    text = ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)
    return f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{escape(text)}</td></tr>"


def _findings(found: Iterable[Found]) -> str:
    parts = "".join(map(_finding, found)) or "<p>None.</p>"
    return f'<section class="wide"><h2>Findings</h2>{parts}</section>\n'


def _finding(one: Found) -> str:
    other = _OTHER.search(one.message)
    by = f"{other[1]}: " if other else ""
    sides = [(_who(one), one.place), *((by + what, places[0]) for what, places in one.others)]
    shown = "".join(
        f'<div><b>{escape(who)}</b> {_link(at)}<pre tabindex="0">{escape(line_text(at))}</pre></div>' for who, at in sides
    )
    return (
        f'<div class="finding {one.level}"><p><b>{one.level} {one.rule.id} {one.rule.name}</b></p>'
        f'<p>{escape(said(one))}</p><div class="sides">{shown}</div><p class="fix">{escape(one.fix)}</p></div>'
    )


def _who(one: Found) -> str:
    named = [f"block {','.join(map(str, block))}, thread {','.join(map(str, thread))}" for block, thread in one.threads]
    return "; ".join(named) or "here"


def _link(place: Place) -> str:
    return f'<a href="#{_anchor(place.file, place.line)}">{escape(f"{place.file}:{place.line}")}</a>'


def _anchor(file: str, line: int) -> str:
    return escape("".join(c if c.isalnum() else "-" for c in file) + f"-{line}", quote=True)


def _of_launch(source: Source, counts: Counts) -> _Heat:
    """Costs of the source's lines in the launch."""
    sums: dict[tuple[str, int], list[int]] = {}
    for number, counted in counts.by_line.items():
        place = source.places(number)[0]
        values = sums.setdefault((place.file, place.line), [0, 0, 0])
        for n, value in enumerate((counted.sectors, counted.wavefronts, counted.divergent)):
            values[n] += value
    costly = {at: values for at, values in sums.items() if any(values)}
    most = [max((values[n] for values in costly.values()), default=0) or 1 for n in range(3)]
    return {
        at: _Cost(*((f"{value:,}" if value else "", value / top) for value, top in zip(values, most, strict=True)))
        for at, values in costly.items()
    }


def _of_every_launch(line: Mapping[str, Any]) -> _Heat:
    """Cost of a request of a whole warp, by line, where it is known for every launch."""
    found: _Heat = {}
    for row in cast("list[dict[str, Any]]", line.get("accesses") or []):
        cost = found.setdefault((str(row["file"]), int(row["line"])), _Cost())
        told = f"{row['least']}" if row["least"] == row["most"] else f"{row['least']} to {row['most']}"
        told += f" for {row['needed']}"
        wasted = 1 - int(row["needed"]) / max(1, int(row["most"]))
        before, share = cost.wavefronts if row["unit"] == "wavefronts" else cost.sectors
        setattr(cost, str(row["unit"]), (f"{before}; {told}" if before else told, max(share, wasted)))
    return found


def _excerpts(places: Iterable[tuple[str, int]]) -> Iterator[_Excerpt]:
    """By file the lines around those that are to be shown."""
    by_file: dict[str, set[int]] = {}
    for file, line in sorted(places):
        by_file.setdefault(file, set()).update(range(max(1, line - _AROUND), line + _AROUND + 1))
    for file, lines in by_file.items():
        last = len(text_of(file))
        yield _Excerpt(file, tuple(sorted(n for n in lines if n <= last or not last)))


def _source(excerpt: _Excerpt, heat: _Heat, hits: set[tuple[str, int]]) -> str:
    rows: list[str] = []
    before = 0
    for number in excerpt.lines:
        if before and number > before + 1:
            rows.append('<tr><td colspan="3"></td><th>⋮</th><td></td></tr>')
        before = number
        cost = heat.get((excerpt.file, number), _Cost())
        counts = "".join(_count(*one) for one in (cost.sectors, cost.wavefronts, cost.divergent))
        hit = ' class="hit"' if (excerpt.file, number) in hits else ""
        text = escape(line_text(Place(excerpt.file, number, 1)))
        rows.append(f'<tr id="{_anchor(excerpt.file, number)}"{hit}>{counts}<th>{number}</th><td>{text}</td></tr>')
    head = "<tr><th>sectors</th><th>wavefronts</th><th>divergent</th><th></th><th></th></tr>"
    return (
        f'<section class="wide"><h2>{escape(excerpt.file)}</h2><div class="stage" tabindex="0"><table class="source">'
        f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div></section>\n"
    )


def _count(text: str, share: float) -> str:
    colour = f' style="background:rgba(214,90,30,{0.1 + 0.6 * share:.2f})"' if text else ""
    return f'<td class="count"{colour}>{text}</td>'


def _banks(source: Source, counts: Counts) -> str:
    """For each line with bank conflicts its worst request: a row for each lane, a column for each bank."""
    parts: list[str] = []
    for number, counted in counts.by_line.items():
        worst = counted.worst
        if worst is None:
            continue
        place = source.places(number)[0]
        head = f"{worst.wavefronts} wavefronts: lanes by banks; equal words have one colour, bank {worst.bank} is the fullest"
        cells = [
            (lane, (word + n) % BANKS, word + n) for lane, word in worst.words for n in range(worst.words_each)
        ]  # fmt: skip
        parts.append(
            f"<h2>{escape(place.file)}:{place.line}, PTX line {number}</h2><p>{escape(head)}</p>"
            f'<div class="stage" tabindex="0">{asked_picture(cells, BANKS, "bank", worst.bank)}</div>'
        )
    return f'<section class="wide">{"".join(parts)}</section>\n' if parts else ""
