"""Maps in the languages that kernels are written in."""

from __future__ import annotations

import json
from typing import Literal, TypeAlias, get_args

from warploom.core import Diagnostic, UserError
from warploom.layout import cute, expressions
from warploom.layout.maps import Map
from warploom.layout.tiles import Tile

Target: TypeAlias = Literal["cuda", "cute", "triton", "numba", "tilelang", "python"]
TARGETS: tuple[Target, ...] = get_args(Target)

_CONSTANT_BYTES = 1 << 16
"""Size of constant memory."""


def emit(found: Map, tile: Tile, target: Target) -> str:
    """A function from row and column to place, or the layout's text; UserError (EMIT) where the language has none, or there is no
    such language."""
    if target not in TARGETS:
        raise UserError(Diagnostic("EMIT", f"expected one of {', '.join(TARGETS)} to emit, got {target!r}"))
    if target == "cute":
        return cute.write(found, tile)
    if target == "triton":
        return json.dumps({"offset": cute.bases(found, tile)})
    if found.kind == "table" and target != "tilelang":
        return _by_table(found, tile, target)
    if found.expression is None or found.text is None:
        raise UserError(Diagnostic("EMIT", "expected a map that is an expression, got one that is only given place by place"))
    match target:
        case "cuda":
            body = expressions.as_text(found.expression, "cuda")
            return f"__host__ __device__ __forceinline__ int place(int r, int c) {{ return {body}; }}\n".replace(
                "__host__ __device__" if "__brev" in body else "\0", "__device__"
            )
        case "numba":
            return f"from numba import cuda\n\n\n@cuda.jit(device=True)\ndef place(r, c):\n    return {found.text}\n"
        case "tilelang":
            body = expressions.as_text(found.expression, "tilelang")
            return f"T.Layout(({tile.rows}, {tile.columns}), lambda r, c: {body})\n"
        case "python":
            body = expressions.as_text(found.expression, "numpy")
            head = "import numpy as np\n\n\n" if "np." in body else ""
            return f"{head}def place(r, c):\n    return {body}\n"


def _by_table(found: Map, tile: Tile, target: Literal["cuda", "numba", "python"]) -> str:
    places = ", ".join(map(str, found.table.tolist()))
    index = f"r * {tile.columns} + c"
    match target:
        case "cuda":
            size = 2 if int(found.table.max()) < 1 << 16 else 4
            memory = "__constant__" if size * tile.elements <= _CONSTANT_BYTES else "__device__ const"
            head = f"{memory} unsigned {'short' if size == 2 else 'int'} places[{tile.elements}] = {{{places}}};\n"
            return f"{head}__device__ __forceinline__ int place(int r, int c) {{ return places[{index}]; }}\n"
        case "numba":
            made = f"import numpy as np\nfrom numba import cuda\n\nplaces = np.array([{places}], np.int32)\n\n\n"
            return f"{made}@cuda.jit(device=True)\ndef place(r, c):\n    return cuda.const.array_like(places)[{index}]\n"
        case "python":
            return f"import numpy as np\n\nplaces = np.array([{places}])\n\n\ndef place(r, c):\n    return places[{index}]\n"
