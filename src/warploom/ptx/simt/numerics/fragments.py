"""Matrix element that each lane's register holds: mma.sync fragments, ldmatrix, stmatrix, movmatrix.

With group = lane / 4 and place = lane mod 4, and e elements in a 32-bit register (one in a 64-bit one):
  A: element i of register r at row group + 8 (r mod 2) (only group for m8), column e place + i + 4 e (r / 2) (r for m8)
  B: element i of register r at row e place + i + 4 e r, column group
  C, D: element i at row group + 8 (i / 2), column 2 place + i mod 2
which is every layout that the manual draws for .row.col, from m8n8k4 to m16n8k32.

Source: PTX ISA 9.0, section 9.7.14 (mma fragments, ldmatrix, stmatrix, movmatrix).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.numerics.scalars import UNSIGNED, Bits, join, scalar_type, split, unsupported

Matrix = Literal["a", "b", "c", "d"]
_LANES = np.arange(32)


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """One matrix operand of mma.sync.

    rows, columns: [32, elements], the matrix element in each lane's element; element i is in register i / per_register,
    lowest bits first. Every matrix element occurs exactly once.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    shape: tuple[int, int]
    registers: int
    per_register: int
    register_bits: int


@cache
def fragment(matrix: Matrix, shape: str, element_type: str) -> Fragment:
    """The layout of A (row), B (col), C or D of an mma shape such as "m16n8k16"; registers of 32 bits, of 64 for f64."""
    m, n, k = mma_shape(shape)
    bits = scalar_type(element_type).bits
    register_bits = max(32, bits)
    per_register = register_bits // bits
    group, place = (_LANES // 4)[:, None], (_LANES % 4)[:, None]
    if matrix in ("c", "d"):
        index = np.arange(m * n // 32)
        rows, columns = group + 8 * (index // 2), 2 * place + index % 2
        return Fragment(rows, columns, (m, n), len(index) // per_register, per_register, register_bits)
    # Byte and half-word operands come four and two to a register; others one.
    size = (m * k if matrix == "a" else k * n) // 32
    index = np.arange(size)
    register, inside = index // per_register, index % per_register
    depth = per_register * place + inside
    if matrix == "b":
        rows, columns = depth + 4 * per_register * register, np.broadcast_to(group, (32, size))
        return Fragment(rows, columns, (k, n), size // per_register, per_register, register_bits)
    halves = m // 8
    rows = np.broadcast_to(group + 8 * (register % halves), (32, size))
    columns = depth + 4 * per_register * (register // halves)
    return Fragment(rows, columns, (m, k), size // per_register, per_register, register_bits)


@cache
def accumulator(columns: int, element_type: str) -> Fragment:
    """The 16 rows that a warp has of C or D of a wgmma of that many columns: fragments of m16n8 beside each other.

    Source: PTX ISA 9.0, section 9.7.15.5.1.
    """
    bits = scalar_type(element_type).bits
    index = np.arange(columns // 2)
    group, place = (_LANES // 4)[:, None], (_LANES % 4)[:, None]
    rows = group + 8 * (index // 2 % 2)
    places = 2 * place + index % 2 + 8 * (index // 4)
    return Fragment(rows, places, (16, columns), len(index) * bits // 32, 32 // bits, 32)


def mma_shape(shape: str) -> tuple[int, int, int]:
    """(m, n, k) of "m16n8k16"."""
    found = re.fullmatch(r"m(8|16)n8k(\d+)", shape)
    if found is None:
        raise unsupported(f"mma shape .{shape}")
    return int(found[1]), 8, int(found[2])


def gather(layout: Fragment, registers: Bits) -> Bits:
    """Registers [warps, 32, registers] as the matrix [warps, rows, columns] of raw elements."""
    if registers.shape[-1] != layout.registers:
        raise unsupported(f"a fragment of {registers.shape[-1]} registers where the shape has {layout.registers}")
    elements = registers if layout.per_register == 1 else split(registers, layout.per_register)
    elements = elements.reshape(*registers.shape[:-1], -1)
    matrix = np.empty((*registers.shape[:-2], *layout.shape), elements.dtype)
    matrix[..., layout.rows, layout.columns] = elements
    return matrix


def scatter(layout: Fragment, matrix: Bits) -> Bits:
    """The matrix [warps, rows, columns] of raw elements as registers [warps, 32, registers]."""
    elements = np.ascontiguousarray(matrix[..., layout.rows, layout.columns])
    if layout.per_register == 1:
        return elements
    return join(elements.reshape(*elements.shape[:-1], layout.registers, layout.per_register))


@dataclass(frozen=True, slots=True, eq=False)
class MatrixAccess:
    """Addresses in shared memory of each half register of ldmatrix or stmatrix; both [count, 32, 2].

    Half h (0: low 16 bits) of register j in lane l is the 16-bit word at the address that lane `address_lane[j, l, h]`
    gave, plus `offset_bytes[j, l, h]`. Only the lanes below 8 * count give addresses, each of a 16-byte aligned row.
    """

    address_lane: NDArray[np.int64]
    offset_bytes: NDArray[np.int64]


@cache
def matrix_access(count: Literal[1, 2, 4], transposed: bool) -> MatrixAccess:
    """ldmatrix and stmatrix .m8n8.x1, .x2, .x4 of .b16, with or without .trans."""
    if count not in (1, 2, 4):
        raise unsupported(f"ldmatrix or stmatrix .x{count}")
    lane, half = _LANES[:, None], np.arange(2)
    row, column = np.broadcast_arrays(lane // 4, 2 * (lane % 4) + half)
    if transposed:
        row, column = column, row
    address_lane = 8 * np.arange(count)[:, None, None] + row
    return MatrixAccess(address_lane, np.broadcast_to(2 * column, address_lane.shape))


def movmatrix(a: Bits) -> Bits:
    """movmatrix.sync.aligned.m8n8.trans.b16: the transposed 8 x 8 matrix of 16-bit elements; a [warps, 32]."""
    layout = matrix_access(1, False)
    rows, columns = layout.address_lane[0], layout.offset_bytes[0] // 2
    halves = split(a, 2)
    matrix = np.empty((*a.shape[:-1], 8, 8), UNSIGNED[16])
    matrix[..., rows, columns] = halves
    return join(matrix[..., columns, rows])
