"""Accesses: which elements of a tile the lanes of a warp read or write in one instruction.

A lane takes one or more elements that lie side by side in a row. Names of accesses are those of the command line:
`rows`, `columns`, `blocks:4x8`, `diagonals`, `stride:3`, `ldmatrix`, `ldmatrix.trans`, `stmatrix`, then `:128bit` for the
width of a lane, `:store` where stores go otherwise than loads, and `@any` for any origin instead of the aligned ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.layout.tiles import Tile
from warploom.machines import NVIDIA

Ints: TypeAlias = NDArray[np.int64]
Places: TypeAlias = list[tuple[int, int]]

WIDEST_BITS = 128
FORMS = (
    "rows, columns, blocks:HxW, diagonals, stride:S, ldmatrix, ldmatrix.trans or stmatrix, then [:64bit|:128bit] [:store] [@any]"
)
_MATRIX_ROWS = 8
_MATRICES = ("ldmatrix", "ldmatrix.trans", "stmatrix", "stmatrix.trans")
NAMES = ("rows", "columns", "blocks", "diagonals", "stride", *_MATRICES)


@dataclass(frozen=True, slots=True)
class Access:
    """Requests of warps for elements of one tile."""

    name: str
    elements: Ints
    """[requests, lanes, elements of a lane], as row * columns + column; -1 where a lane takes no part."""
    is_listed: bool = False
    """True for a function of the user: its name does not say which elements it takes."""
    is_store: bool = False

    @property
    def per_lane(self) -> int:
        return self.elements.shape[2]


def access(text: str, tile: Tile) -> Access:
    """The access of this name on `tile`; UserError (ACCESS)."""
    match = re.fullmatch(
        r"([a-z.]+)(?::(\d{1,9})(?:x(\d{1,9}))?(?!\d*bit))?(?::(\d{1,9})bit)?(:store)?(@any)?", text.strip(), re.ASCII
    )
    if match is None:
        raise wrong(f"expected {FORMS}, or FILE.py:function", text)
    name, first, second, width, store, any_origin = match.groups()
    sizes = [int(n) for n in (first, second) if n is not None]
    if name not in NAMES:
        raise wrong(f"expected {FORMS}, or FILE.py:function", text)
    if len(sizes) != {"blocks": 2, "stride": 1}.get(name, 0) or any(n < 1 for n in sizes):
        raise wrong(f"expected {FORMS}, sizes at least 1", text)
    per_lane = _per_lane(text, tile, int(width) if width else None, is_matrix=name in _MATRICES)
    places = list(_requests(name, tile, sizes, per_lane, bool(any_origin), text))
    if not any(places):
        raise wrong("expected an access that fits into the tile", text)
    firsts = [[row * tile.columns + unit * per_lane for row, unit in request] for request in places]
    is_store = bool(store) or name.startswith("stmatrix")
    tile.memory.groups(max(1, tile.bits * per_lane // 8), is_store=is_store)
    return Access(text.strip(), together(firsts, per_lane, tile.memory.lanes), is_store=is_store)


def has_name(text: str) -> bool:
    """Whether the text begins as the name of an access does, not as that of a function."""
    return re.split("[:@]", text.strip(), maxsplit=1)[0] in NAMES


def together(firsts: Sequence[Sequence[int]], per_lane: int, lanes: int) -> Ints:
    """Elements of requests from the first one of each lane; further lanes take no part."""
    table = np.full((len(firsts), lanes), -1, dtype=np.int64)
    for row, request in enumerate(firsts):
        table[row, : len(request)] = request
    each: Ints = table[..., None] + np.arange(per_lane)
    each[table < 0] = -1
    return each


def distinct(values: Ints) -> Ints:
    """In order, as np.unique does, which loads arrays with masks first."""
    found: Ints = np.sort(values, axis=None)
    return found[np.append([True], found[1:] != found[:-1])] if found.size else found


def wrong(expected: str, got: str, fix: str = "") -> UserError:
    return UserError(Diagnostic("ACCESS", f"{expected}, got {got!r}", fix=fix))


def _per_lane(text: str, tile: Tile, width: int | None, *, is_matrix: bool) -> int:
    if is_matrix:
        if tile.memory is not NVIDIA:
            raise wrong("expected an access that the architecture has; ldmatrix and stmatrix are NVIDIA's", text)
        if width not in (None, WIDEST_BITS):
            raise wrong("expected rows of 128 bits, which is all that ldmatrix and stmatrix take", text)
        width = WIDEST_BITS
    if width is None:
        return 1
    if width not in (8, 16, 32, 64, 128) or width % tile.bits:
        raise wrong(f"expected 8, 16, 32, 64 or 128 bits a lane, a multiple of {tile.bits}", text)
    per_lane = width // tile.bits
    if tile.columns % per_lane:
        raise wrong(f"expected columns that are a multiple of {per_lane} elements, got {tile.columns} for the access", text)
    return per_lane


def _requests(name: str, tile: Tile, sizes: Sequence[int], width: int, any_origin: bool, text: str) -> Iterator[Places]:
    """By request the row of each lane, and the column in units of the `width` elements that a lane takes."""
    units, lanes = tile.columns // width, tile.memory.lanes
    shape: tuple[int, int]
    match name:
        case "rows":
            shape = _folded(units, tile.rows, lanes) if not any_origin else (1, min(lanes, units))
        case "columns":
            wide, high = _folded(tile.rows, units, lanes)
            shape = (min(lanes, tile.rows), 1) if any_origin else (high, wide)
        case "blocks":
            shape = (sizes[0], sizes[1])
            if not 1 < sizes[0] * sizes[1] <= lanes:
                raise wrong(f"expected blocks of 2 to {lanes} lanes", text)
        case "diagonals":
            return _diagonals(tile, any_origin, units)
        case "stride":
            return _strided(tile, sizes[0], any_origin, width)
        case _:
            return _matrices(name, tile, units, any_origin, text)
    return _windows(tile.rows, units, shape, any_origin, by_column=name == "columns")


def _folded(along: int, others: int, lanes: int) -> tuple[int, int]:
    """How many lines and how far along each a warp goes: whole lines where they fill a warp evenly."""
    lines = lanes // along if along < lanes and lanes % along == 0 else 1
    return min(lines, others), min(lanes, along)


def _windows(rows: int, columns: int, shape: tuple[int, int], any_origin: bool, *, by_column: bool) -> Iterator[Places]:
    """Boxes of that shape; aligned ones are cut at the edge of the tile, those at any origin lie within it."""
    high, wide = shape
    if any_origin:
        high, wide = min(high, rows), min(wide, columns)
    row_starts = range(rows - high + 1) if any_origin else range(0, rows, high)
    column_starts = range(columns - wide + 1) if any_origin else range(0, columns, wide)
    for top in row_starts:
        for left in column_starts:
            if by_column:
                yield [(top + i, left + j) for j in range(wide) for i in range(high) if top + i < rows and left + j < columns]
            else:
                yield [(top + i, left + j) for i in range(high) for j in range(wide) if top + i < rows and left + j < columns]


def _diagonals(tile: Tile, any_origin: bool, units: int) -> Iterator[Places]:
    high = min(tile.memory.lanes, tile.rows)
    for top in range(tile.rows - high + 1) if any_origin else range(0, tile.rows, high):
        for left in range(units):
            yield [(top + i, (left + i) % units) for i in range(min(high, tile.rows - top))]


def _strided(tile: Tile, stride: int, any_origin: bool, width: int) -> Iterator[Places]:
    units = tile.columns // width
    total = tile.rows * units
    lanes = tile.memory.lanes
    step = lanes * stride
    starts: Iterable[int] = (
        range(total) if any_origin else (start + k for start in range(0, total, step) for k in range(min(stride, total - start)))
    )
    for start in starts:
        places = [start + lane * stride for lane in range(lanes)]
        if start < total and (not any_origin or places[-1] < total):
            yield [divmod(n, units) for n in places if n < total]


def _matrices(name: str, tile: Tile, units: int, any_origin: bool, text: str) -> Iterator[Places]:
    """Four 8x8 matrices of 16 bits (or as many as the tile has): lanes 8k to 8k + 7 name the rows of matrix k."""
    if tile.rows % _MATRIX_ROWS:
        raise wrong("expected rows in groups of 8", text)
    high, wide = (2 if tile.rows >= 16 else 1), (2 if units >= 2 else 1)
    order = [(i, j) for j in range(wide) for i in range(high)]
    if name.endswith(".trans"):
        order = [(i, j) for i in range(high) for j in range(wide)]
    row_step, column_step = (1, 1) if any_origin else (high * _MATRIX_ROWS, wide)
    for top in range(0, tile.rows, row_step):
        for left in range(0, units, column_step):
            places = [(top + i * _MATRIX_ROWS + k, left + j) for i, j in order for k in range(_MATRIX_ROWS)]
            inside = [(r, c) for r, c in places if r < tile.rows and c < units]
            if not any_origin or len(inside) == len(places):
                yield inside
