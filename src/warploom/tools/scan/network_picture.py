"""A scan network as textbooks draw it, as SVG: columns side by side, steps from top to bottom, bank conflicts marked."""

from __future__ import annotations

from collections import defaultdict
from html import escape

from warploom.scan.layouts import Access, Barrier, Trace, trace
from warploom.scan.networks import Network

COLUMN_WIDTH, STEP_HEIGHT = 26, 46
LEFT, RIGHT, TOP, BOTTOM = 24, 190, 46, 34
_STYLE = (
    "text{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:11px;fill:#111;text-anchor:middle}"
    ".side{text-anchor:start}.soft{fill:#5d6878}.bad{fill:#c0392b}.wire{stroke:#b9c2cc}.edge{stroke:#33475b;stroke-width:1.3}"
    ".dot{fill:#111}.clash{fill:#fff;stroke:#c0392b;stroke-width:2.2}.read{fill:none;stroke:#c0392b;stroke-width:1.6}"
)


def network_picture(net: Network, title: str, banks: int) -> str:
    """SVG text. A dot drawn as a red ring is written, or a red square is read, together with another address of the same bank.

    The lanes with a dot in a step are packed into warps of `banks` lanes.
    """
    marks = [_clashes(step, banks) for step in _steps(trace(net, banks))]
    width = LEFT + (net.columns - 1) * COLUMN_WIDTH + RIGHT
    height = TOP + net.depth * STEP_HEIGHT + BOTTOM
    end = TOP + net.depth * STEP_HEIGHT
    shapes = [f'<text class="side" x="8" y="16">{escape(title)}</text>']
    for column in range(net.columns):
        x = _x(column)
        shapes.append(f'<text class="soft" x="{x}" y="{TOP - 8}">{column}</text>')
        shapes.append(f'<line class="wire" x1="{x}" y1="{TOP}" x2="{x}" y2="{end}"/>')
    total = 0
    for number, (step, (reads, writes, conflicts)) in enumerate(zip(net.steps, marks, strict=True)):
        y, below = TOP + number * STEP_HEIGHT, TOP + (number + 1) * STEP_HEIGHT - 10
        total += conflicts
        shapes += (f'<line class="edge" x1="{_x(dot.source)}" y1="{y}" x2="{_x(dot.destination)}" y2="{below}"/>' for dot in step)
        shapes += (_square(source, y) for source in sorted({dot.source for dot in step} & reads))
        for dot in step:
            kind = "clash" if dot.destination in writes else "dot"
            shapes.append(f'<circle class="{kind}" cx="{_x(dot.destination)}" cy="{below}" r="4.5"/>')
        side = _x(net.columns - 1) + 22
        shapes.append(f'<text class="side soft" x="{side}" y="{below}">step {number + 1}: {len(step)} ops</text>')
        if conflicts:
            plural = "" if conflicts == 1 else "s"
            shapes.append(f'<text class="side bad" x="{side}" y="{below - 13}">{conflicts} conflict{plural}</text>')
    summary = f"size {net.size}, depth {net.depth}, fan-out {net.fan_out}; {total} conflicts in {banks} banks"
    shapes.append(f'<text class="side" x="8" y="{height - 10}">{escape(summary)}</text>')
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<style>{_STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _steps(whole: Trace) -> list[list[Access]]:
    steps: list[list[Access]] = [[]]
    for event in whole.events:
        if isinstance(event, Barrier):
            steps.append([])
        elif isinstance(event, Access):
            steps[-1].append(event)
    return steps


def _clashes(accesses: list[Access], banks: int) -> tuple[set[int], set[int], int]:
    """Columns that share a bank when read as sources, when written, and the conflicts of the step."""
    reads: set[int] = set()
    writes: set[int] = set()
    # Each warp reads the sources, reads the destinations, and writes these.
    for place, access in enumerate(accesses):
        found: defaultdict[int, set[int]] = defaultdict(set)
        for address in access.addresses.tolist():
            found[address % banks].add(address)
        shared = {address for together in found.values() if len(together) > 1 for address in together}
        if place % 3 == 0:
            reads |= shared
        elif access.is_write:
            writes |= shared
    return reads, writes, Trace(tuple(accesses)).conflicts(banks)


def _square(column: int, y: int) -> str:
    return f'<rect class="read" x="{_x(column) - 5}" y="{y - 5}" width="10" height="10"/>'


def _x(column: int) -> int:
    return LEFT + column * COLUMN_WIDTH
