"""`wl.layout` and `wl.check_layout`: maps of tiles in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.api.result import Result, worked
from warploom.core import Diagnostic, UserError
from warploom.tools.layout.answers import answered, checked
from warploom.tools.pages.layouts import banks_as_text, layout_page, layout_part, table_as_text

Taken: TypeAlias = str | Callable[[int, int, int], Any]
"""An access: its name, or what a lane takes as a function of (warp, lane, step)."""
Given: TypeAlias = str | Callable[[int, int], int] | NDArray[np.integer[Any]]
"""A map: an expression in r and c, CuTe's text, Triton's bases, a function of (r, c), or places [rows, columns]."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Laid(Result):
    """A map of a tile, and what its accesses cost."""

    @property
    def map(self) -> str:
        """The place of an element as an expression in r and c; empty without an answer."""
        return str(self.line.get("map", ""))

    @property
    def wavefronts(self) -> dict[str, int]:
        """The wavefronts of each access."""
        return cast("dict[str, int]", self.line.get("wavefronts", {}))

    @property
    def least(self) -> dict[str, int]:
        """The fewest wavefronts that any map needs, for each access."""
        return cast("dict[str, int]", self.line.get("least", {}))

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no map has fewer wavefronts."""
        return self.line.get("optimal") is True

    @property
    def code(self) -> str:
        """The map in the language that was asked for; empty without one."""
        return str(self.line.get("code", ""))

    @property
    def better(self) -> str:
        """For a checked map: another one with fewer wavefronts, or one that works; empty without one."""
        found = cast("dict[str, Any]", self.line.get("better", {}))
        return str(found.get("map", ""))

    def explain(self) -> str:
        """The table of wavefronts, and the bank of each element."""
        if self.status != "solved":
            return self.reason
        said = "a place for each element" if isinstance(self.line.get("map"), list) else self.map
        return "\n".join([f"{self.case}: {said}", *table_as_text(self.line), *banks_as_text(self.line)]) + "\n"

    def _page(self) -> str:
        return layout_page(self.line)

    def _repr_html_(self) -> str:
        """The table of wavefronts, and a picture of the tile, coloured by bank."""
        return layout_part(self.line)


def layout(
    tile: str,
    accesses: Sequence[Taken],
    *,
    room: int | Literal["any"] = 0,
    emit: Literal["cuda", "cute", "triton", "numba", "tilelang", "python"] | None = None,
    arch: str = "sm_90",
    table: bool = False,
) -> Laid:
    """Finds the cheapest map of a tile in shared memory for all accesses at once. `warploom layout`.

    tile: rows, columns and type, such as `32x32:f32`. accesses: names such as `columns` and `blocks:4x8`, or functions of (warp,
    lane, step). room: words that may stay unused. emit: the language of `code`. table: where no class has a map without conflict,
    any map, by a table, or the proof that there is none (`no_map`; needs python-sat). Raises UserError for a tile, an access, a
    room or a language that is none.
    """
    if room != "any" and (type(room) is not int or room < 0):
        raise UserError(Diagnostic("OPTION", f'expected a number of words or "any" as room, got {room!r}'))
    return Laid(line=worked(tile, lambda watch: answered(tile, accesses, room, emit, arch, watch, table=table), None).line)


def check_layout(
    map: Given, tile: str, accesses: Sequence[Taken] = (), *, equal: Given | None = None, arch: str = "sm_90"
) -> Laid:
    """Says whether a map is right and as good as any, and whether it equals another. `warploom check-layout`.

    map, equal: an expression in r and c, CuTe's `Shape:Stride` with `Swizzle<B,M,S>`, Triton's bases, a function of (r, c), or an
    array of places. Raises UserError for what is no map.
    """
    return Laid(line=worked(tile, lambda watch: checked(tile, map, accesses, equal, arch, watch), None).line)
