"""wmma: matrices of a whole warp whose fragments PTX leaves open.

PTX does not say which element a lane holds, only that fragments of one kind, shape and type agree, and how many registers there
are. Here element i of lane l is element (E l + i) mod (rows columns) of the matrix, row by row, for E elements in a lane; where
lanes have room for more elements than the matrix has, some are held twice, as on hardware.

Source: PTX ISA 9.0, section 9.7.14.4 (wmma).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.numerics.scalars import Bits, join, scalar_type, split, unsupported

_SHAPES = {
    "m16n16k16": ("f16", "bf16", "s8", "u8"), "m8n32k16": ("f16", "bf16", "s8", "u8"), "m32n8k16": ("f16", "bf16", "s8", "u8"),
    "m16n16k8": ("tf32",), "m8n8k4": ("f64",),
}  # fmt: skip
_SUMS = {
    "f16": ("f16", "f32"), "bf16": ("f32",), "s8": ("s32",), "u8": ("s32",), "tf32": ("f32",), "f64": ("f64",),
}  # fmt: skip
_HALVES_OF_F16 = 16
"""Elements of A and of B in each lane, for every shape: some are held several times."""


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """One matrix of a warp."""

    shape: tuple[int, int]
    registers: int
    per_register: int
    element_bytes: int
    places: NDArray[np.int64]
    """[32, elements of a lane], the place in the matrix, counted row by row."""

    def gather(self, registers: Bits) -> Bits:
        """Registers [warps, 32, registers] as the matrix [warps, rows, columns] of raw elements."""
        elements = registers if self.per_register == 1 else split(registers, self.per_register)
        elements = elements.reshape(len(registers), self.places.size)
        return elements[:, : self.shape[0] * self.shape[1]].reshape(-1, *self.shape)

    def scatter(self, matrix: Bits) -> Bits:
        """The matrix as registers."""
        elements = matrix.reshape(len(matrix), -1)[:, self.places]
        if self.per_register == 1:
            return elements
        return join(elements.reshape(len(matrix), 32, self.registers, self.per_register))


@cache
def whole(matrix: str, shape: str, type_name: str) -> Whole:
    """Matrix a, b, c or d; UnsupportedError (PTX_ARITHMETIC) for what wmma does not have, and for s4, u4 and b1."""
    found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape)
    multiplied = _SHAPES.get(shape, ())
    known = multiplied if matrix in ("a", "b") else {sum_type for one in multiplied for sum_type in _SUMS[one]}
    if found is None or type_name not in known:
        raise unsupported(f"wmma matrix {matrix} .{shape} of .{type_name}")
    m, n, k = map(int, found.groups())
    rows, columns = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
    bits = scalar_type(type_name).bits
    each = _HALVES_OF_F16 if type_name == "f16" and matrix in ("a", "b") else rows * columns // 32
    per_register = max(32, bits) // bits
    places = np.arange(32 * each).reshape(32, each) % (rows * columns)
    return Whole((rows, columns), each // per_register, per_register, bits // 8, places)


def whole_types(shape: str, types: tuple[str, ...]) -> tuple[str, str, str, str]:
    """Types of D, A, B, C from those that an instruction names: two of f16's sums, else all four."""
    if len(types) == 2:
        d_type, c_type = types
        types = d_type, "f16", "f16", c_type
    match types:
        case (d_type, a_type, b_type, c_type) if (
            a_type == b_type and a_type in _SHAPES.get(shape, ()) and d_type in _SUMS[a_type] and c_type in _SUMS[a_type]
        ):
            return d_type, a_type, b_type, c_type
        case _:
            raise unsupported(f"wmma.mma.{shape}.{'.'.join(types)}")
