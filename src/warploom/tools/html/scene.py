"""Places every cell of a movement on the drawing and turns the steps into numbers for the page's script.

From top to bottom: lane numbers, input arrays, swizzle values of the step, shared arrays, registers, output arrays. One column
per lane; arrays wrap so that the elements of one coalesced round lie above the lanes that take them (figure 8 of the paper).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warploom.ir import IndexExpr, Kernel
from warploom.tools.html.colours import HOLE_COLOURS, element_colours, stripes
from warploom.tools.pages.movement import Cell, MemoryCell, Movement, RegisterCell, Step, Value, element_name, short
from warploom.tools.pages.wanted import Wanted, wanted_in
from warploom.tools.synth.report import hole_texts

LABEL_WIDTH = 150
"""At least; longer names make room for themselves."""
_LETTER_WIDTH = 7.3
CELL_HEIGHT = 23
STRIP_HEIGHT = 21
GAP = 16
_TITLES = {
    "load": "load from memory into registers",
    "choose": "choose a register",
    "shuffle": "shuffle between lanes",
    "accumulate": "accumulate",
    "store": "store",
    "compute": "compute",
}


@dataclass(slots=True)
class _Board:
    """Drawn shapes and their places; grows from top to bottom."""

    cell_width: float
    label_width: float
    y: float = 34
    places: dict[Cell, int] = field(default_factory=dict[Cell, int])
    cells: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    labels: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    def put(self, cell: Cell, column: int, height: float, width: float) -> None:
        self.places[cell] = len(self.cells)
        name = f"lane {cell.lane}, {cell.row}" if isinstance(cell, RegisterCell) else element_name(cell)
        x, lane = self.label_width + column * width, cell.lane if isinstance(cell, RegisterCell) else -1
        place: dict[str, object] = {"x": round(x, 2), "y": round(self.y, 2), "w": round(width - 3, 2), "h": height - 3}
        self.cells.append(place | {"name": name, "lane": lane})

    def title(self, text: str, note: str, height: float) -> None:
        self.labels.append({"y": round(self.y + height / 2, 2), "text": text, "note": note})


def scene(kernel: Kernel, completions: Mapping[str, IndexExpr], movement: Movement) -> dict[str, object]:
    """JSON-ready drawing of `movement`: cells with places, values with colours, steps that refer to both by number."""
    params = {param.name: param for param in kernel.params}
    elements = _elements(movement)
    inputs = {array: cells for array, cells in elements.items() if array in params and params[array].is_input}
    shared = {array: cells for array, cells in elements.items() if array not in params}
    outputs = {array: cells for array, cells in elements.items() if array in params and array not in inputs}
    lanes = movement.lanes
    board = _Board(cell_width=max(30.0, 480 / max(1, lanes)), label_width=_label_width(kernel, movement, elements))

    for array, cells in inputs.items():
        _strip(board, array, params[array].space, cells, lanes)
    wanted = wanted_in(movement)
    strips = max((len(step.holes) + (n in wanted) + _rewrites(step) for n, step in enumerate(movement.steps)), default=0)
    holes_y = board.y
    board.y += strips * STRIP_HEIGHT + (GAP if strips else 0)
    for array, cells in shared.items():
        _strip(board, array, "shared", cells, lanes)
    row_height = _row_height(len(movement.rows))
    for row in movement.rows:
        board.title(row, "", CELL_HEIGHT + 3)
        for lane in range(lanes):
            board.put(RegisterCell(lane, row), lane, CELL_HEIGHT + 3, board.cell_width)
        board.y += row_height
    board.y += GAP if movement.rows else 0
    for array, cells in outputs.items():
        _strip(board, array, params[array].space, cells, lanes)

    constants = frozenset(param.name for param in kernel.params if param.space == "constant")
    names = {array: [element_name(cell) for cell in cells] for array, cells in inputs.items()}
    values = _Values(element_colours(names, constants), frozenset(n for array in constants for n in names.get(array, ())))
    start = [
        [board.places[cell], values.number(Value(element_name(cell), (element_name(cell),)))]
        for cells in inputs.values()
        for cell in cells
    ]
    texts = hole_texts(kernel, completions)
    hole_colours = {name: HOLE_COLOURS[place % len(HOLE_COLOURS)] for place, name in enumerate(texts)}
    steps = [_step(step, board, values, texts, hole_colours, wanted.get(n)) for n, step in enumerate(movement.steps)]
    return {
        "lanes": lanes,
        "cellWidth": board.cell_width,
        "labelWidth": board.label_width,
        "width": board.label_width + lanes * board.cell_width + 8,
        "height": board.y,
        "holesY": holes_y,
        "stripHeight": STRIP_HEIGHT,
        "cells": board.cells,
        "labels": board.labels,
        "values": values.table,
        "start": start,
        "steps": steps,
        "omitted": movement.omitted,
    }


class _Values:
    """Numbers values, so that a page says each expression once."""

    def __init__(self, colours: Mapping[str, str], greys: frozenset[str]) -> None:
        self._colours, self._greys = colours, greys
        self._numbers: dict[Value, int] = {}
        self.table: list[dict[str, object]] = []

    def number(self, value: Value) -> int:
        if value not in self._numbers:
            self._numbers[value] = len(self.table)
            fills = stripes(value.atoms, self._colours, self._greys)
            self.table.append({"short": short(value), "text": value.text, "fills": fills})
        return self._numbers[value]


def _label_width(kernel: Kernel, movement: Movement, elements: Mapping[str, object]) -> float:
    """Room for the longest name beside the drawing, so that none is cut."""
    notes = ["before  " if any(map(_rewrites, movement.steps)) else "", "constant  ", "hole  "]
    shown = (movement.rows, elements, [hole.name for hole in kernel.holes])
    names = [note + name for note, named in zip(notes, shown, strict=True) for name in named]
    return max(LABEL_WIDTH, 24 + _LETTER_WIDTH * max(map(len, names), default=0))


def _rewrites(step: Step) -> bool:
    """Whether it moves values between lanes of one row, of which the drawing then shows the state before, too."""
    return any(
        isinstance(write.cell, RegisterCell) and isinstance(cell, RegisterCell)
        and cell.row == write.cell.row and cell.lane != write.cell.lane
        for write in step.writes
        for cell in write.origins
    )  # fmt: skip


def _step(
    step: Step, board: _Board, values: _Values, texts: Mapping[str, str], hole_colours: Mapping[str, str], wanted: Wanted | None
) -> dict[str, object]:
    writes = [
        [board.places[write.cell], values.number(write.value), [board.places[origin] for origin in write.origins], write.lane]
        for write in step.writes
    ]
    holes = [
        {
            "name": found.hole,
            "text": texts[found.hole],
            "colour": hole_colours[found.hole],
            "values": [None if value is None else str(value)[:4] for value in found.values],
        }
        for found in step.holes
    ]
    targets = dict.fromkeys(write.cell.row if isinstance(write.cell, RegisterCell) else write.cell.array for write in step.writes)
    return {
        "kind": step.kind,
        "title": f"{_TITLES[step.kind]}: {', '.join(targets)}",
        "loops": [f"{name} = {value}" for name, value in step.loops],
        "line": step.span.line,
        "file": step.span.file,
        "writes": writes,
        "holes": holes,
        "wanted": [None if value is None else values.number(value) for value in wanted.values] if wanted is not None else None,
        "why": wanted.sentence if wanted is not None else "",
        "rewrites": _rewrites(step),
    }


def _elements(movement: Movement) -> dict[str, list[MemoryCell]]:
    """Memory cells that the warp touches, by array, in index order."""
    touched: dict[str, set[MemoryCell]] = {}
    for step in movement.steps:
        for write in step.writes:
            for cell in (write.cell, *write.origins):
                if isinstance(cell, MemoryCell):
                    touched.setdefault(cell.array, set()).add(cell)
    return {array: sorted(cells, key=lambda cell: cell.index) for array, cells in touched.items()}


def _row_height(rows: int) -> int:
    """Register rows leave room for the arrows between them, less when they are many."""
    return 44 if rows <= 12 else 34 if rows <= 24 else 28


def _strip(board: _Board, array: str, space: str, cells: Sequence[MemoryCell], lanes: int) -> None:
    lines = _lines(cells, lanes)
    columns = max(lanes, 1 + max(column for line in lines for column, _ in line))
    for place, line in enumerate(lines):
        if place == 0:
            board.title(array, space, STRIP_HEIGHT)
        for column, cell in line:
            board.put(cell, column, STRIP_HEIGHT, board.cell_width * lanes / columns)
        board.y += STRIP_HEIGHT
    board.y += GAP


def _lines(cells: Sequence[MemoryCell], lanes: int) -> list[list[tuple[int, MemoryCell]]]:
    """Elements with their columns, line by line: by the leading indices where rows hardly exceed the lanes, else wrapped."""
    first = min(cell.index[-1] for cell in cells) if cells[0].index else 0
    by_row: dict[tuple[int, ...], list[tuple[int, MemoryCell]]] = {}
    for place, cell in enumerate(cells):
        if len(cell.index) > 1:
            by_row.setdefault(cell.index[:-1], []).append((cell.index[-1] - first, cell))
        else:
            offset = cell.index[-1] - first if cell.index else place
            by_row.setdefault((offset // lanes,), []).append((offset % lanes, cell))
    lines = list(by_row.values())
    if all(2 * column < 3 * lanes for line in lines for column, _ in line):
        return lines
    return [list(enumerate(cells[at : at + lanes])) for at in range(0, len(cells), lanes)]


def hole_legend(texts: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Name, completion and colour of each hole."""
    for place, (name, text) in enumerate(texts.items()):
        yield name, text, HOLE_COLOURS[place % len(HOLE_COLOURS)]
