"""Networks as small text pictures, drawn as in textbooks: columns side by side, time from top to bottom.

    # Brent-Kung, 8 columns
    o-* o-* o-* o-*

    | o-+-* | o-+-*

    | | | o-+-+-+-*

    | | | o-+-* | |

    | o-* o-* o-* |

    picture := step (blank line step)*        step := row+        row := mark (filler mark)*
    mark    := `|` idle column | `o` source | `*` dot: combines the source's value into its column | `+` wire crossing a column
    filler  := space | `-` wire

A wire joins one source to one or more dots, all on one side: right of the source in a forward network, left in a backward one.
Wires that would share a column go in further rows of the same step, without a blank line; all rows of a step read before any
writes. Text after `#` is a comment; a line with only a comment is no line at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from warploom.core import Diagnostic, Span, UserError
from warploom.scan.networks.network import Dot, Network, network

_MARKS = "|o*+"


@dataclass(frozen=True, slots=True)
class _Row:
    text: str
    line: int
    file: str

    def span(self, place: int, width: int = 1) -> Span:
        return Span(self.file, self.line, place + 1, self.line, place + 1 + width, self.text)


def parse_network(text: str, file: str = "<network>") -> Network:
    """The drawn network; UserError with the places of all that is wrong."""
    problems: list[Diagnostic] = []
    steps: list[dict[int, tuple[Dot, _Row]]] = [{}]
    columns = 0
    directions: dict[bool, Span] = {}
    for row in _rows(text, file):
        if row is None:
            if steps[-1]:
                steps.append({})
            continue
        marks = row.text[::2]
        columns = columns or len(marks)
        if len(row.text) % 2 == 0 or len(marks) != columns:
            message = f"expected {columns} columns, that is {2 * columns - 1} characters as in the first row, got {len(row.text)}"
            problems.append(Diagnostic("PICTURE_WIDTH", message, row.span(0, len(row.text)), fix="Write | for an idle column."))
            continue
        for dot in _dots(row, problems):
            before = steps[-1].get(dot.destination)
            span = row.span(2 * dot.destination)
            if before is not None:
                message = f"expected one dot per column and step, got a second one in column {dot.destination}"
                note = ("the first one", before[1].span(2 * dot.destination))
                problems.append(Diagnostic("PICTURE_DOTS", message, span, "Put a blank line between two steps.", (note,)))
            steps[-1][dot.destination] = (dot, row)
            directions.setdefault(dot.source > dot.destination, span)
    if len(directions) == 2:
        message = "expected all sources on one side of their dots, got both"
        notes = (("a dot whose source is on the left", directions[False]),)
        problems.append(Diagnostic("PICTURE_DIRECTION", message, directions[True], "Draw one scan at a time.", notes))
    if not columns:
        span = Span(file, 1, 1, 1, 1)
        problems.append(Diagnostic("PICTURE_EMPTY", "expected a row such as `o-* o-*`, got none", span, "Draw a step."))
    if problems:
        raise UserError(*problems)
    dots = ([dot for dot, _ in step.values()] for step in steps)
    return network(columns, dots, is_backward=directions.keys() == {True})


def _rows(text: str, file: str) -> list[_Row | None]:
    """None between steps."""
    rows: list[_Row | None] = []
    for number, line in enumerate(text.splitlines(), 1):
        kept = line.split("#")[0].rstrip()
        if kept:
            rows.append(_Row(kept, number, file))
        elif "#" not in line:
            rows.append(None)
    return rows


def _dots(row: _Row, problems: list[Diagnostic]) -> list[Dot]:
    """Dots of one row, wire by wire."""
    dots: list[Dot] = []
    for place, sign in enumerate(row.text):
        if sign not in (_MARKS if place % 2 == 0 else " -"):
            wanted = "one of | o * +" if place % 2 == 0 else "a space or -"
            problems.append(Diagnostic("PICTURE_SIGN", f"expected {wanted}, got {sign!r}", row.span(place), "Replace it."))
            return []
    start = 0
    while start < len(row.text):
        end = start
        while end + 1 < len(row.text) and row.text[end + 1] == "-":
            end += 2
        dots += _wire(row, start, row.text[start : end + 1 : 2], problems)
        start = end + 2
    return dots


def _wire(row: _Row, start: int, marks: str, problems: list[Diagnostic]) -> list[Dot]:
    """Dots of the marks that one wire joins; `start` is the place of the first."""
    if marks == "|":
        return []
    first = start // 2
    sources = [first + n for n, mark in enumerate(marks) if mark == "o"]
    dots = [first + n for n, mark in enumerate(marks) if mark == "*"]
    span = row.span(start, 2 * len(marks) - 1)
    fix = "A wire is o, then - and + across columns, then *."
    if len(sources) != 1 or not dots:
        message = f"expected a wire from one source `o` to a dot `*`, got {len(sources)} sources and {len(dots)} dots"
    elif "|" in marks:
        message = "expected + where a wire crosses a column, got |"
    elif min(dots) < sources[0] < max(dots):
        message = "expected all dots of a wire on one side of its source, got both"
    elif "+" in (marks[0], marks[-1]):
        message = "expected a wire to end in a source or a dot, got +"
    else:
        return [Dot(dot, sources[0]) for dot in dots]
    problems.append(Diagnostic("PICTURE_WIRE", message, span, fix=fix))
    return []


def network_text(net: Network) -> str:
    """The picture that reads back as `net`."""
    return "\n\n".join("\n".join(rows) for rows in (_drawn(step, net.columns) for step in net.steps)) + "\n"


def _drawn(step: tuple[Dot, ...], columns: int) -> list[str]:
    """Rows of one step: every source's wire in the first row that has room."""
    wires: dict[int, list[int]] = {}
    for dot in step:
        wires.setdefault(dot.source, []).append(dot.destination)
    rows: list[list[str]] = []
    for source, dots in sorted(wires.items()):
        low, high = min(source, *dots), max(source, *dots)
        free = (row for row in rows if row[2 * low : 2 * high + 1 : 2] == ["|"] * (high - low + 1))
        row = next(free, None)
        if row is None:
            row = list(" ".join("|" * columns))
            rows.append(row)
        for place in range(2 * low, 2 * high + 1):
            row[place] = "-" if place % 2 else "+"
        row[2 * source] = "o"
        for dot in dots:
            row[2 * dot] = "*"
    return ["".join(row) for row in rows]
