"""The page of one completed kernel: its data movement step by step, its sketch, its CUDA source and the report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from string import Template

from warploom.core import NOWHERE, Span
from warploom.gpu import ListedLine, Listings
from warploom.ir import IndexExpr, Kernel, kernel_text
from warploom.tools.html.asked import asked_picture
from warploom.tools.html.scene import hole_legend, scene
from warploom.tools.html.shell import listing, scrolled
from warploom.tools.pages.accesses import Asked
from warploom.tools.pages.movement import Movement
from warploom.tools.pages.wanted import Wanted, sentence_of, wanted_in
from warploom.tools.synth.report import hole_texts


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that one page shows."""

    title: str
    kernel: Kernel
    """Still with its holes."""
    completions: Mapping[str, IndexExpr]
    movement: Movement | None
    """None: no completion was found, whose movement could be shown."""
    facts: Sequence[tuple[str, str]]
    """The report: name and value, in the order shown."""
    summary: str
    """One sentence under the title."""
    source: str = ""
    """The text of the file that the sketch comes from; empty shows the kernel's own text."""
    listings: Listings = field(default_factory=lambda: Listings(()))
    """CUDA, PTX and machine code; what is empty is not shown."""
    asked: Sequence[Asked] = ()
    """Accesses to shared and global memory, each with its dearest request."""
    search: Sequence[Sequence[str]] = ()
    """The search as it happened: a head, then a row for each search space in its order."""


def render(page: Page) -> str:
    """The page as one HTML text that needs no other file and no network."""
    holes = list(hole_legend(hole_texts(page.kernel, page.completions)))
    return Template(_asset("page.html")).substitute(
        title=escape(page.title),
        summary=escape(page.summary),
        css=_asset("page.css") + _asset("asked.css"),
        movement=_movement(page.movement),
        source=listing(_source(page, holes), "the sketch and its completions", "source"),
        listings=_listings(page.listings),
        holes=_holes(page, holes),
        asked=_asked(page.asked),
        search=_search(page.search),
        facts=_table((escape(name), escape(value)) for name, value in page.facts),
        script=_script(page),
    )


def _movement(movement: Movement | None) -> str:
    if movement is None:
        return ""
    omitted = movement.omitted
    limit = f"The first {len(movement.steps)} steps; {omitted} more are not shown. " if omitted else ""
    return Template(_asset("movement.html")).substitute(limit=limit)


def _script(page: Page) -> str:
    if page.movement is None:
        return ""
    shown = _json(scene(page.kernel, page.completions, page.movement))
    return f"""<div id="tip" class="tip" hidden></div>
<script type="application/json" id="movement">{shown}</script>
<script>{_asset("page.js")}</script>
"""


def _asset(name: str) -> str:
    return files("warploom.tools.html").joinpath(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<tr><th scope='row'>{name}</th><td>{value}</td></tr>" for name, value in rows)


def _swatch(colour: str, name: str) -> str:
    return f'<mark style="background:{colour}">{escape(name)}</mark>'


def _listings(listings: Listings) -> str:
    arch = f" of {listings.arch}" if listings.arch else ""
    parts = (("CUDA C++", listings.cuda), (f"PTX{arch}", listings.ptx), (f"Machine code{arch}", listings.sass))
    texts = {title: "".join(_listed(number, line) for number, line in enumerate(lines, 1)) for title, lines in parts}
    return "".join(f"<section><h2>{escape(t)}</h2>{listing(html, t)}</section>" for t, html in texts.items() if html)


def _listed(number: int, line: ListedLine) -> str:
    return _row(number, line.span.file, escape(line.text), line.span.line)


def _holes(page: Page, holes: Sequence[tuple[str, str, str]]) -> str:
    """A table of the completions; beside each what it is for, in one lane."""
    if not holes:
        return ""
    wanted: Mapping[int, Wanted] = wanted_in(page.movement) if page.movement is not None else {}
    rows = [
        (_swatch(colour, name), f"<code>{escape(text)}</code>", escape(_why(name, page.movement, wanted)))
        for name, text, colour in holes
    ]
    body = "".join(f'<tr><th scope="row">{name}</th><td>{text}</td><td>{why}</td></tr>' for name, text, why in rows)
    head = '<tr><th scope="col">hole</th><th scope="col">completion</th><th scope="col">what it is for, in one lane</th></tr>'
    return f"<section class='wide'><h2>Completed holes</h2><table><thead>{head}</thead><tbody>{body}</tbody></table></section>"


def _why(hole: str, movement: Movement | None, wanted: Mapping[int, Wanted]) -> str:
    return sentence_of(hole, movement, wanted) if movement is not None else ""


def _asked(accesses: Sequence[Asked]) -> str:
    """A picture for each access: its lanes by the banks, or sectors, that they ask."""
    parts: list[str] = []
    for one in accesses:
        unit = "wavefront" if one.is_shared else "sector"
        many = f"; {one.total} in the {one.requests} requests of this warp" if one.requests > 1 else ""
        head = f"{one.text}: {one.units} {unit}{'s' * (one.units != 1)}{many}"
        words = [column for _, column, _ in dict.fromkeys((0, column, word) for _, column, word in one.cells)]
        fullest = max(set(words), key=words.count) if one.is_shared and one.units > 1 else None
        picture = scrolled(asked_picture(one.cells, one.columns, "bank" if one.is_shared else "sector", fullest), head)
        parts.append(f"<details><summary>{escape(head)}</summary>{picture}</details>")
    if not parts:
        return ""
    said = (
        "A row for each lane; a column for each bank of shared memory, or each sector of 32 bytes of global memory. Equal words "
    )
    said += "have one colour. Of each access the request is shown that takes the most."
    return f"<section class='wide'><h2>Banks and sectors</h2><p>{said}</p>{''.join(parts)}</section>"


def _search(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<section><h2>The search as it happened</h2>{scrolled(table, 'the search')}</section>"


def _source(page: Page, holes: Sequence[tuple[str, str, str]]) -> str:
    """The sketch line by line, its holes marked in their colours, each completion below the line of its hole."""
    span = page.kernel.span
    if not page.source or span == NOWHERE:
        return "".join(
            _row(number, "", escape(text), number) for number, text in enumerate(kernel_text(page.kernel).splitlines(), 1)
        )
    lines = page.source.splitlines()
    spans = {hole.name: hole.span for hole in page.kernel.holes}
    out: list[str] = []
    for number in range(span.line, min(span.end_line, len(lines)) + 1):
        here = [(spans[name], name, text, colour) for name, text, colour in holes if _is_on(spans[name], span.file, number)]
        out.append(_row(number, span.file, _marked(lines[number - 1], here), number))
        for _, name, text, colour in here:
            out.append(f'<span class="found">{_swatch(colour, name)} = {escape(text)}</span>')
    return "".join(out)


def _row(number: int, file: str, html: str, line: int) -> str:
    """A line of a listing; `line` is that of the sketch that it belongs to, 0 for none."""
    place = f' data-line="{line}" data-file="{escape(file)}"' if line else ""
    return f'<span class="row"{place}><span class="number" aria-hidden="true">{number}</span>{html}</span>'


def _is_on(span: Span, file: str, line: int) -> bool:
    return span.file == file and span.line == line


def _marked(text: str, here: Iterable[tuple[Span, str, str, str]]) -> str:
    """`text` escaped, with a mark around each hole that lies in it; a hole inside another one keeps the outer mark only."""
    out, at = "", 0
    for span, name, found, colour in sorted(here, key=lambda item: item[0].column):
        first = span.column - 1
        last = span.end_column - 1 if span.end_line == span.line else len(text)
        if first >= at:
            title = escape(f"{name} = {found}", quote=True)
            out += f'{escape(text[at:first])}<mark style="background:{colour}" title="{title}">{escape(text[first:last])}</mark>'
            at = last
    return out + escape(text[at:])
