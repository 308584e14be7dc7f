"""Instructions with which a core multiplies matrices in tile registers (AMX), as data: one row for each pair of factors.

A tile has 16 rows of 64 bytes, and a core has 8 tiles. A row of the first factor holds 16 words along the summed index, of four
bytes or two bf16; a row of the second holds one of these words of 16 columns. One instruction adds all their products to a tile
of 16 by 16 totals.

To add an instruction, add its row to `_ROWS`.
Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 and volume 2 (TDPBSSD and others);
Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter 20 (throughput).
"""

from __future__ import annotations

from dataclasses import dataclass

TILES = 8
MOST_TOTALS = TILES - 2
"""Tiles of totals that are held at once, beside one of each factor."""
TILE_ROWS = 16
TILE_ROW_BYTES = 64
TILE_WORDS = TILE_ROW_BYTES // 4
"""Words of a row."""
TILE_CYCLES = 16.0
"""From one instruction to the next: one for each row of the first factor."""
TILE_LOAD_CYCLES = 8.0
"""From one load of a tile to the next: two rows a clock."""


@dataclass(frozen=True, slots=True)
class TileInstruction:
    """C += A B of tiles, in words of several elements."""

    rows: str
    """Type of the words of A, as `i8x4`."""
    columns: str
    total: str
    intrinsic: str
    """The function of C."""
    macro: str
    """Defined where the compiler has it."""
    flag: str
    """Name under which Linux lists it."""


_ROWS = (
    TileInstruction("i8x4", "i8x4", "i32", "_tile_dpbssd", "__AMX_INT8__", "amx_int8"),
    TileInstruction("i8x4", "u8x4", "i32", "_tile_dpbsud", "__AMX_INT8__", "amx_int8"),
    TileInstruction("u8x4", "i8x4", "i32", "_tile_dpbusd", "__AMX_INT8__", "amx_int8"),
    TileInstruction("u8x4", "u8x4", "i32", "_tile_dpbuud", "__AMX_INT8__", "amx_int8"),
    TileInstruction("bf16x2", "bf16x2", "f32", "_tile_dpbf16ps", "__AMX_BF16__", "amx_bf16"),
)

TILE_INSTRUCTIONS: dict[tuple[str, str], TileInstruction] = {(row.rows, row.columns): row for row in _ROWS}
"""By the types of the words of both factors."""


def tile_instruction(rows: str, columns: str, total: str) -> TileInstruction | None:
    """The instruction that adds products of two such words up; None where there is none."""
    found = TILE_INSTRUCTIONS.get((rows, columns))
    return found if found is not None and found.total == total else None
