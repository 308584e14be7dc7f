"""A still picture of a movement, as SVG: time runs from top to bottom, lanes stand side by side (the paper's figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from warploom.ir import IndexExpr, Kernel
from warploom.tools.html.colours import HOLE_COLOURS, element_colours, stripes
from warploom.tools.pages.movement import OTHER_WARP, Cell, MemoryCell, Movement, RegisterCell, Step, element_name, short
from warploom.tools.synth.report import hole_texts

LABEL_WIDTH = 210
CELL_WIDTH, CELL_HEIGHT = 62, 24
PILL_HEIGHT = 17
ARROW_ROOM = 22
_STYLE = (
    "text{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:12px;fill:#111;"
    "text-anchor:middle;dominant-baseline:central}"
    ".label{text-anchor:end}.soft{fill:#5d6878;font-size:11px}"
    ".cell{stroke:#7b8794}.arrow{fill:none;stroke:#5d6878;stroke-width:1.3}"
)


def picture(kernel: Kernel, completions: Mapping[str, IndexExpr], movement: Movement) -> str:
    """SVG text; every step is a band of the cells it writes, with what its holes gave above and arrows from where values came."""
    return _Picture(kernel, completions, movement).text()


class _Picture:
    def __init__(self, kernel: Kernel, completions: Mapping[str, IndexExpr], movement: Movement) -> None:
        self._movement = movement
        self._texts = hole_texts(kernel, completions)
        self._hole_colours = {name: HOLE_COLOURS[n % len(HOLE_COLOURS)] for n, name in enumerate(self._texts)}
        self._constants = frozenset(param.name for param in kernel.params if param.space == "constant")
        inputs = {param.name: _touched(movement, param.name) for param in kernel.params if param.is_input}
        names = {array: [element_name(cell) for cell in cells] for array, cells in inputs.items() if cells}
        self._colours = element_colours(names, self._constants)
        self._greys = frozenset(name for array in self._constants for name in names.get(array, ()))
        self._bottoms: dict[Cell, tuple[float, float]] = {}
        self._arrows: list[str] = []
        self._shapes: list[str] = []
        self._y = 14.0

    def text(self) -> str:
        for lane in range(self._movement.lanes):
            self._shapes.append(f'<text class="soft" x="{self._x(lane)}" y="{self._y:g}">{lane}</text>')
        self._label("lane", self._y, "label soft")
        self._y += 14
        for step in self._movement.steps:
            self._band(step)
        width, height = LABEL_WIDTH + self._movement.lanes * CELL_WIDTH + 8, self._y + 4
        body = "\n".join([*self._arrows, *self._shapes])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">\n'
            f"<style>{_STYLE}</style>\n"
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#5d6878"/></marker></defs>\n'
            f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
        )

    def _band(self, step: Step) -> None:
        loops = ", ".join(f"{name} = {value}" for name, value in step.loops)
        moves = any((write.origins and write.cell in self._bottoms) or self._sources(write.origins) for write in step.writes)
        self._y += ARROW_ROOM if moves else 8
        for found in step.holes:
            colour = self._hole_colours[found.hole]
            self._label(f"{found.hole} = {self._texts[found.hole]}", self._y + PILL_HEIGHT / 2, "label soft")
            for lane, value in enumerate(found.values):
                if value is not None:
                    x = self._x(lane) - 15
                    self._shapes.append(
                        f'<rect x="{x:g}" y="{self._y:g}" width="30" height="{PILL_HEIGHT - 2}" rx="7" fill="{colour}"/>'
                    )
                    self._shapes.append(f'<text x="{self._x(lane):g}" y="{self._y + 7.5:g}">{value}</text>')
            self._y += PILL_HEIGHT
        rows = dict.fromkeys(_row_of(write.cell) for write in step.writes)
        self._label(f"{', '.join(rows)}{f'  ({loops})' if loops else ''}", self._y + CELL_HEIGHT / 2, "label")
        top, fresh = self._y, dict[Cell, tuple[float, float]]()
        for write in step.writes:
            if write.lane == OTHER_WARP:
                continue
            x = self._x(write.lane)
            for origin in self._sources(write.origins):
                from_x, from_y = self._bottoms[origin]
                bend = max(8.0, (top - from_y) * 0.45)
                path = f"M{from_x:g} {from_y:g}C{from_x:g} {from_y + bend:g} {x:g} {top - bend:g} {x:g} {top:g}"
                self._arrows.append(f'<path class="arrow" d="{path}" marker-end="url(#head)"/>')
            self._cell(x, top, stripes(write.value.atoms, self._colours, self._greys), short(write.value), write.value.text)
            fresh[write.cell] = (x, top + CELL_HEIGHT)
        self._bottoms |= fresh
        self._y = top + CELL_HEIGHT + (4 if step.holes else 0)

    def _sources(self, origins: Sequence[Cell]) -> list[Cell]:
        return [origin for origin in origins if origin in self._bottoms]

    def _cell(self, x: float, y: float, fills: Sequence[str], text: str, full: str) -> None:
        left, width = x - CELL_WIDTH / 2 + 2, CELL_WIDTH - 4
        parts = [f"<g><title>{escape(full)}</title>"]
        for place, fill in enumerate(fills or ["#fff"]):
            step = width / max(1, len(fills))
            parts.append(f'<rect x="{left + place * step:g}" y="{y:g}" width="{step:g}" height="{CELL_HEIGHT}" fill="{fill}"/>')
        parts.append(f'<rect class="cell" x="{left:g}" y="{y:g}" width="{width:g}" height="{CELL_HEIGHT}" rx="3" fill="none"/>')
        parts.append(f'<text x="{x:g}" y="{y + CELL_HEIGHT / 2:g}">{escape(text)}</text></g>')
        self._shapes.append("".join(parts))

    def _label(self, text: str, y: float, kind: str) -> None:
        self._shapes.append(f'<text class="{kind}" x="{LABEL_WIDTH - 8}" y="{y:g}">{escape(text)}</text>')

    def _x(self, lane: int) -> float:
        return LABEL_WIDTH + (lane + 0.5) * CELL_WIDTH


def _touched(movement: Movement, array: str) -> list[MemoryCell]:
    cells = {
        cell
        for step in movement.steps
        for write in step.writes
        for cell in write.origins
        if isinstance(cell, MemoryCell) and cell.array == array
    }
    return sorted(cells, key=lambda cell: cell.index)


def _row_of(cell: Cell) -> str:
    return cell.row if isinstance(cell, RegisterCell) else cell.array
