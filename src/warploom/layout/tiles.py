"""Tiles: how many rows and columns of what elements, and how many bits an element has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warploom.core import BY_NAME, Diagnostic, UserError
from warploom.machines import NVIDIA, SharedMemory

BITS: dict[str, int] = {
    **{name: dtype.bits for name, dtype in BY_NAME.items() if dtype.lanes == 1},
    **{f"b{bits}": bits for bits in (4, 8, 16, 32, 64, 128)},
    "u4": 4, "i4": 4, "e2m1": 4, "e4m3": 8, "e5m2": 8, "e8m0": 8, "tf32": 32,
}  # fmt: skip
"""Bits of an element by the name of its type."""
MOST = 1 << 16
"""Elements of a tile: 256 KiB of f32, more than a block has of shared memory."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows and columns of elements in shared memory."""

    rows: int
    columns: int
    type: str
    memory: SharedMemory = NVIDIA

    @property
    def bits(self) -> int:
        return BITS[self.type]

    @property
    def elements(self) -> int:
        return self.rows * self.columns

    def __str__(self) -> str:
        return f"{self.rows}x{self.columns}:{self.type}"


def tile(text: str, memory: SharedMemory = NVIDIA) -> Tile:
    """`32x32:f32`; UserError (TILE)."""
    match = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5}):(\w+)", text.strip(), re.ASCII)
    if match is None or match[3] not in BITS:
        raise UserError(
            Diagnostic(
                "TILE", f"expected ROWSxCOLUMNS:TYPE with a type among {', '.join(BITS)}, got {text!r}", fix="Write 32x32:f32."
            )
        )
    found = Tile(int(match[1]), int(match[2]), match[3], memory)
    if found.elements > MOST:
        raise UserError(Diagnostic("TILE", f"expected at most {MOST} elements, got {found.elements} in {text!r}"))
    return found
