"""The map of an array in shared memory that ends a bank conflict, from the layout engine, for all requests that a launch made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from warploom.core import UserError
from warploom.ptx import Counts, Program
from warploom.ptx.simt import Conflict, SharedRequest, shared_layout
from warploom.tools.lint.names import demangled

_MOST = 16_384
"""Elements of an array for which a map is looked for: a second at most."""
_TYPES = {1: "u8", 2: "f16", 4: "f32", 8: "f64"}
_WORD = 4


def mended(line: int, worst: Conflict, counts: Counts, program: Program, kernel: str) -> str:
    """How to index the array of the worst request, which is one of the line's; empty where no map serves all requests to it."""
    layout = shared_layout(program, program.routines[kernel])
    sizes = {v.name: v.size_bytes for v in (*program.routines[kernel].variables.values(), *program.variables.values())}
    first = max((place for r in counts.by_line[line].shared[:1] for place in r.places), default=0)
    begun = [(offset, name) for name, offset in layout.offsets.items() if offset <= first]
    start, name = max(begun, default=(0, ""))
    size = sizes.get(name.rpartition(":")[2], 0)
    requests = [r for line in counts.by_line.values() for r in line.shared if _lies(r, start, start + size)]
    width = min((r.bytes_each for r in requests), default=0)
    columns = _columns(worst, width) if width in _TYPES else 0
    elements = size // width if width else 0
    if columns < 2 or elements % columns or not columns < elements <= _MOST or any(r.bytes_each % width for r in requests):
        return ""
    return "; or ".join(
        _texts(requests, start, width, elements // columns, columns, demangled(name.rpartition(":")[2]).rpartition("::")[2])
    )


def _lies(request: SharedRequest, start: int, end: int) -> bool:
    return all(place < 0 or start <= place < end for place in request.places)


def _columns(worst: Conflict, width: int) -> int:
    """Elements of a row: the distance in which most neighbouring lanes of the request lie apart."""
    words = [word for _, word in sorted(worst.words)]
    apart = Counter(abs(b - a) for a, b in pairwise(words) if a != b)
    return apart.most_common(1)[0][0] * _WORD // width if apart else 0


def _texts(requests: Sequence[SharedRequest], start: int, width: int, rows: int, columns: int, name: str) -> Iterator[str]:
    # Brings the layout engine, which a launch without conflicts does not need.
    from warploom.layout import Access, Tile, layout

    tile = Tile(rows, columns, _TYPES[width])
    accesses: list[Access] = []
    for key in sorted({(r.bytes_each, r.is_store) for r in requests}):
        firsts = np.array([r.places for r in requests if (r.bytes_each, r.is_store) == key])
        each = np.where(firsts < 0, -1, (firsts - start) // width)[..., None] + np.arange(key[0] // width)
        each[firsts < 0] = -1
        accesses.append(Access("store" if key[1] else "load", each, is_listed=True, is_store=key[1]))
    plain = ""
    for room in (0, rows * columns):
        try:
            found = layout(tile, accesses, room)
        except UserError:
            return
        text = found.map.text
        if not found.optimal or text == plain:
            continue
        if room:
            pitch = int(found.map.table[columns]) if rows > 1 else columns
            is_padded = found.map.kind == "padding" or pitch > columns
            yield f"pad its rows to {pitch} elements" if is_padded and pitch > columns else f"index it as {text}"
        else:
            plain = text
            seen = f"none of the {len(requests)} different requests looked at has a conflict then"
            yield f"Index {name} of {rows} x {columns} as {text} (r: row, c: column): {seen}"
