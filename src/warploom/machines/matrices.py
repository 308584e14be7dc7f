"""Instructions with which warps multiply matrices (`mma.sync`), as data: one row for each type of factors.

Four warps together, a group, multiply factors of the same types and as deep that both lie in shared memory (`wgmma`).

A row of A, or a column of B, goes along the summed index through four lanes of a warp, each of which has `together` elements in
one register; further registers are four times as many elements on. Rates are in the rows of `machines.gpu`.

To add an instruction, add its row to `_ROWS`, and its rate where its kind of factors is new.
Source: PTX ISA 9.0, sections 9.7.14 (mma) and 9.7.15 (wgmma); which machine code an architecture has for it: `ptxas` and
`nvdisasm` 13.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

RateKind: TypeAlias = Literal["f16", "tf32", "bytes", "f64", "f8"]
"""Kinds of factors that an architecture multiplies at one rate."""
LANES_OF_A_ROW = 4
COLUMNS = 8
"""Columns of the result of one instruction."""
_PIECE_BYTES = 16
GROUP_WARPS, GROUP_ROWS, MOST_GROUP_COLUMNS = 4, 64, 256
"""Warps that multiply together (`wgmma`), rows of their result, and its columns at most: a multiple of 8, of bytes one of 16
from 32 on."""
ATOM_ROWS, ATOM_LINE_BYTES = 8, 128
"""Factors of `wgmma` lie in atoms of 8 lines of 128 bytes, whose pieces of 16 bytes are permuted (`Swizzle<3, 4, 3>`)."""


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """One `mma.sync`: D = A B + C, A of `rows` by `deep` elements, B of `deep` by 8."""

    factor: str
    """Type of A and B, as the tensor language calls it."""
    total: str
    """Type of C and D."""
    rows: int
    deep: int
    factor_bytes: int
    kind: RateKind
    ptx: str
    """Types of A and of D in PTX, as `s8 s32`."""
    since: int = 80
    """The oldest architecture that has it."""

    @property
    def shape(self) -> str:
        """`m16n8k16`."""
        return f"m{self.rows}n{COLUMNS}k{self.deep}"

    @property
    def together(self) -> int:
        """Elements of a factor in one register."""
        return max(1, 4 // self.factor_bytes)

    @property
    def group(self) -> int:
        """Summed indices that one register of each of four lanes holds."""
        return LANES_OF_A_ROW * self.together

    @property
    def groups(self) -> int:
        """Registers of a thread along the summed index."""
        return self.deep // self.group

    @property
    def halves(self) -> int:
        """Registers of a thread along the rows, 8 rows apart."""
        return self.rows // 8

    @property
    def has_pieces(self) -> bool:
        """`ldmatrix` loads factors that lie along the summed index: a register of four lanes is 16 bytes."""
        return self.group * self.factor_bytes == _PIECE_BYTES

    @property
    def has_transposed_pieces(self) -> bool:
        """And those that lie along rows or columns (`ldmatrix.trans`, of 16-bit elements)."""
        return self.factor_bytes == 2

    @property
    def piece(self) -> int:
        """Elements of 16 bytes."""
        return _PIECE_BYTES // self.factor_bytes

    @property
    def products(self) -> int:
        """Multiply-adds of one instruction."""
        return self.rows * COLUMNS * self.deep

    @property
    def has_groups(self) -> bool:
        """Whether groups of warps multiply such factors as warps do: those of tf32 would not be rounded, f64 are not there."""
        return self.factor_bytes <= 2 and self.kind != "f8"

    @property
    def atom_line(self) -> int:
        """Elements of a line of an atom."""
        return ATOM_LINE_BYTES // self.factor_bytes

    def has_group_columns(self, columns: int) -> bool:
        """Whether a group makes as many columns at once."""
        step = 2 * COLUMNS if self.factor_bytes == 1 and columns > 4 * COLUMNS else COLUMNS
        return 0 < columns <= MOST_GROUP_COLUMNS and columns % step == 0


_ROWS = (
    MatrixInstruction("f16", "f32", 16, 16, 2, "f16", "f16 f32"),
    MatrixInstruction("bf16", "f32", 16, 16, 2, "f16", "bf16 f32"),
    MatrixInstruction("tf32", "f32", 16, 8, 4, "tf32", "tf32 f32"),
    MatrixInstruction("i8", "i32", 16, 32, 1, "bytes", "s8 s32"),
    MatrixInstruction("u8", "i32", 16, 32, 1, "bytes", "u8 s32"),
    MatrixInstruction("e4m3", "f32", 16, 32, 1, "f8", "e4m3 f32", 89),
    MatrixInstruction("e5m2", "f32", 16, 32, 1, "f8", "e5m2 f32", 89),
    MatrixInstruction("f64", "f64", 8, 4, 8, "f64", "f64 f64"),
)

MATRIX_INSTRUCTIONS: dict[str, MatrixInstruction] = {row.factor: row for row in _ROWS}
"""By the type of the factors."""


def matrix_instruction(factor: str, total: str) -> MatrixInstruction | None:
    """The instruction that adds products of two such factors up; None where there is none."""
    found = MATRIX_INSTRUCTIONS.get(factor)
    return found if found is not None and found.total == total else None


def by_groups(factor: str) -> str:
    """The name for products of such factors by groups of warps, where they are counted."""
    return f"{factor} by groups"
