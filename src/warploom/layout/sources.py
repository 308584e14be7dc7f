"""Maps and accesses as they are given: expressions, CuTe's text, Triton's bases, functions of Python."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.layout import cute, expressions
from warploom.layout.accesses import Access, wrong
from warploom.layout.called import called
from warploom.layout.maps import Map, from_text, recognized
from warploom.layout.search import is_bijection
from warploom.layout.tiles import Tile

MOST_REQUESTS = 4096


def map_of_text(text: str, tile: Tile) -> Map:
    """The map of an expression in r and c, of CuTe's text, of Triton's bases, or of a name (`SW128`, `tma:SWIZZLE_128B`,
    `scale:128x4` and so on); UserError.

    An expression gives a place. One that stays within a row, and gives no place of its own to each element, gives a column.
    """
    if cute.is_cute(text):
        return cute.read(text, tile)
    named = cute.canonical(text.strip(), tile)
    if named is not None:
        return cute.read(named, tile)
    if text.lstrip().startswith("{"):
        return cute.from_bases(text, tile)
    if text.strip() == "scale:128x4":
        return from_text(_scales(tile), tile, "given", 0)
    node = expressions.parse(text)
    table = expressions.places(node, tile)
    if not is_bijection(table) and table.min() >= 0 and table.max() < tile.columns and tile.rows > 1:
        node = expressions.parse(f"r * {tile.columns} + ({text.strip()})")
        table = expressions.places(node, tile)
    return Map("given", node, table, 0)


def _scales(tile: Tile) -> str:
    """Scale factors of block-scaled products: blocks of 128 rows and 4 columns, 512 places each, rows 32 apart side by side.

    Blocks at the edges are whole, with places that no element has. Source: cuBLAS, layout of scaling factors of 1D blocks.
    """
    return f"(r // 128 * {-(-tile.columns // 4)} + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4"


def map_of_function(function: Callable[..., Any], tile: Tile) -> Map:
    """The map that `function(r, c)` gives; UserError (MAP)."""
    table = np.empty(tile.elements, dtype=np.int64)
    for element in range(tile.elements):
        row, column = divmod(element, tile.columns)
        place = called(function, (row, column), "a value")
        number = called(index, (cast(SupportsIndex, place),), "a value") if hasattr(place, "__index__") else None
        if not isinstance(number, int) or abs(number) >= expressions.LARGEST:
            raise UserError(Diagnostic("MAP", f"expected an integer place for r = {row}, c = {column}, got {_shown(place)}"))
        table[element] = number
    return recognized(tile, table)


def map_of_array(places: NDArray[np.integer[Any]], tile: Tile) -> Map:
    """The map whose places are listed [rows, columns]; UserError (MAP)."""
    if places.shape != (tile.rows, tile.columns) or not np.issubdtype(places.dtype, np.integer):
        raise UserError(
            Diagnostic("MAP", f"expected integers [{tile.rows}, {tile.columns}], got {places.dtype} {list(places.shape)}")
        )
    if int(places.max()) >= expressions.LARGEST or int(places.min()) <= -expressions.LARGEST:
        raise UserError(Diagnostic("MAP", "expected places below 2^40, got one beyond"))
    return recognized(tile, places.astype(np.int64).ravel())


def access_of_function(name: str, function: Callable[..., Any], tile: Tile) -> Access:
    """The access that `function(warp, lane, step)` says: (row, column) of that lane, a list of them, or None.

    Steps, and then warps, are asked for from 0 on until no lane takes part or the first request comes again. UserError (ACCESS).
    """
    requests: list[list[list[int]]] = []
    for warp in range(MOST_REQUESTS):
        first_of_warp = len(requests)
        for step in range(MOST_REQUESTS):
            request = [_taken(called(function, (warp, lane, step), "a value"), tile, name) for lane in range(tile.memory.lanes)]
            if not any(request) or (len(requests) > first_of_warp and request == requests[first_of_warp]):
                break
            requests.append(request)
            if len(requests) > MOST_REQUESTS:
                raise wrong(f"expected at most {MOST_REQUESTS} requests", name, "Return None after the last step.")
        added = requests[first_of_warp:]
        if not added or (warp and added == requests[: len(added)]):
            del requests[first_of_warp:]
            break
    widths = {len(lane) for request in requests for lane in request if lane}
    if not widths:
        raise wrong("expected lanes that take elements", f"None at warp 0, step 0 of {name}")
    if len(widths) != 1:
        raise wrong(f"expected lanes that take equally many elements, got {sorted(widths)}", name)
    (width,) = widths
    if width * tile.bits > 128:
        raise wrong(f"expected at most 128 bits a lane, got {width * tile.bits}", name)
    if width & (width - 1):
        raise wrong(f"expected lanes that take 1, 2, 4, 8, 16 or 32 elements, got {width}", name)
    tile.memory.groups(max(1, width * tile.bits // 8))
    empty = [-1] * width
    return Access(name, np.array([[lane or empty for lane in request] for request in requests], dtype=np.int64), is_listed=True)


def _shown(value: object) -> str:
    """The text of a value of the user; its type where it has none, as integers of thousands of digits."""
    try:
        return repr(value)[:200]
    except Exception:
        return f"a value of the type {type(value).__name__}"


def _taken(value: object, tile: Tile, name: str) -> list[int]:
    if value is None:
        return []
    if isinstance(value, list):
        return [_element(place, tile, name) for place in cast("list[object]", value)]
    if isinstance(value, tuple) or hasattr(value, "__index__"):
        return [_element(cast(object, value), tile, name)]
    raise wrong(f"expected (row, column), a list of them or None of {name}", _shown(value))


def _element(place: object, tile: Tile, name: str) -> int:
    parts = cast("tuple[object, ...]", place) if isinstance(place, tuple) else (place,)
    match [index(cast(SupportsIndex, part)) for part in parts if hasattr(part, "__index__")]:
        case [row, column] if len(parts) == 2 and 0 <= row < tile.rows and 0 <= column < tile.columns:
            return row * tile.columns + column
        case [element] if len(parts) == 1 and not isinstance(place, tuple) and 0 <= element < tile.elements:
            return element
        case _:
            raise wrong(f"expected elements of the tile {tile} from {name}", _shown(cast(object, place)))
