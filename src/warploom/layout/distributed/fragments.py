"""Fragments of the matrix instructions as data: which element of a matrix each lane's items are.

A row lists digits (extent, rows, columns) of the item's number, of the lane and of the warp, the lowest first: a digit d moves
the element by d times that many rows and columns. Items fill registers in their order. Source: PTX ISA 9.0, 9.7.14 (mma), 9.7.15
(wgmma), 9.7.16 (tcgen05); CuTe's copy atoms of sm_100 (matrices of bytes); cuBLAS, layout of scaling factors of 1D blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from warploom.layout.distributed.held import WORD_BITS, Distributed, from_items, wrong
from warploom.layout.tiles import BITS

_BITS = BITS | {f"s{bits}": bits for bits in (4, 8, 16, 32, 64)}
"""The bits of each type, PTX's names of signed integers included."""
Digit: TypeAlias = tuple[int, int, int]
"""Extent, rows and columns for each step."""

FORMS = "mma:m16n8k16:A:f16, wgmma:m64n64:D:f32, tcgen05:m128n64:D:f32, ldmatrix, ldmatrix.trans, stmatrix.trans.b8, scale:128x4"
_GROUPS: tuple[Digit, ...] = ((8, 1, 0),)
"""Lanes 4 i to 4 i + 3 have row i."""
_A: dict[tuple[str, int], tuple[Digit, ...]] = {
    ("m8n8k4", 64): (),
    ("m8n8k16", 8): ((4, 0, 1),),
    ("m8n8k32", 4): ((8, 0, 1),),
    ("m16n8k4", 32): ((2, 8, 0),),
    ("m16n8k4", 64): ((2, 8, 0),),
    ("m16n8k8", 16): ((2, 0, 1), (2, 8, 0)),
    ("m16n8k8", 32): ((2, 8, 0), (2, 0, 4)),
    ("m16n8k8", 64): ((2, 8, 0), (2, 0, 4)),
    ("m16n8k16", 8): ((4, 0, 1), (2, 8, 0)),
    ("m16n8k16", 16): ((2, 0, 1), (2, 8, 0), (2, 0, 8)),
    ("m16n8k16", 64): ((2, 8, 0), (4, 0, 4)),
    ("m16n8k32", 4): ((8, 0, 1), (2, 8, 0)),
    ("m16n8k32", 8): ((4, 0, 1), (2, 8, 0), (2, 0, 16)),
    ("m16n8k64", 4): ((8, 0, 1), (2, 8, 0), (2, 0, 32)),
}
"""Items of operand A by shape and bits of an element. Its four lanes of a row stand one register's elements apart."""
SHAPES = tuple(dict.fromkeys(shape for shape, _ in _A))


def fragment(text: str) -> Distributed | None:
    """The layout of that name; None for a name of another kind; UserError (REGISTERS) for a shape that does not exist."""
    kind, _, rest = text.strip().partition(":")
    match kind:
        case "mma":
            return _mma(text, rest)
        case "wgmma" | "tcgen05":
            return _accumulator(text, kind, rest)
        case "ldmatrix" | "stmatrix" | "ldmatrix.trans" | "stmatrix.trans":
            return _matrices(text, rest, is_transposed=kind.endswith(".trans"))
        case "ldmatrix.trans.b8" | "stmatrix.trans.b8":
            return _matrices_of_bytes(text, rest, is_load=kind.startswith("ld"))
        case "scale":
            return _scales(text, rest)
        case _:
            return None


def _mma(text: str, rest: str) -> Distributed:
    match = re.fullmatch(r"(m(8|16)n8k(\d+)):([ABCD]):(\w+)", rest)
    if match is None or match[5] not in _BITS:
        raise wrong("expected mma:SHAPE:A|B|C|D:TYPE such as mma:m16n8k16:A:f16", repr(text))
    shape, rows, deep, operand, bits = match[1], int(match[2]), int(match[3]), match[4], _BITS[match[5]]
    if operand in "AB":
        if (shape, bits) not in _A:
            known = ", ".join(f"{s} ({b} bits)" for s, b in _A)
            raise wrong(f"expected a shape of mma: {known}", repr(text))
        each = max(1, WORD_BITS // bits)
        if operand == "A":
            return _built(text, bits, (rows, deep), ("m", "k"), _A[shape, bits], ((4, 0, each), *_GROUPS))
        turned = tuple((n, c, r) for n, r, c in _A[shape, bits] if not r)
        return _built(text, bits, (deep, 8), ("k", "n"), turned, ((4, each, 0), (8, 0, 1)))
    if shape not in SHAPES:
        raise wrong(f"expected a shape of mma: {', '.join(SHAPES)}", repr(text))
    tiles = max(1, deep // 8) if operand == "C" else 1
    items: tuple[Digit, ...] = ((2, 0, 1), (rows // 8, 8, 0), (tiles, 0, 8))
    axes = ("m", "k") if operand == "C" else ("m", "n")
    return _built(text, bits, (rows, 8 * tiles), axes, items, ((4, 0, 2), *_GROUPS))


def _accumulator(text: str, kind: str, rest: str) -> Distributed:
    """Accumulators of four warps: wgmma's lie as those of mma, 16 rows for each warp; tcgen05.ld gives each lane a row."""
    match = re.fullmatch(r"m(64|128)n(\d{1,3})(?:k\d+)?:([CD]):(\w+)", rest)
    rows = 64 if kind == "wgmma" else 128
    if match is None or match[4] not in _BITS or int(match[1]) != rows:
        raise wrong(f"expected {kind}:m{rows}n64:D:f32", repr(text))
    wide, bits = int(match[2]), _BITS[match[4]]
    if wide % 8 or not 8 <= wide <= 256:
        raise wrong("expected n to be a multiple of 8, from 8 to 256", repr(text))
    axes = ("m", "k") if match[3] == "C" else ("m", "n")
    if kind == "tcgen05":
        return _built(text, bits, (rows, wide), axes, ((wide, 0, 1),), ((32, 1, 0),), ((4, 32, 0),))
    items = ((2, 0, 1), (2, 8, 0), (wide // 8, 0, 8))
    return _built(text, bits, (rows, wide), axes, items, ((4, 0, 2), *_GROUPS), ((4, 16, 0),))


def _matrices(text: str, rest: str, *, is_transposed: bool) -> Distributed:
    """The fragment of ldmatrix.x1, .x2 or .x4: matrix j, of 8 x 8 elements of 16 bits, stands below matrix j - 1 and goes to
    register j."""
    if rest not in ("", "x1", "x2", "x4"):
        raise wrong("expected ldmatrix:x1, :x2 or :x4", repr(text))
    count = int(rest[1:]) if rest else 4
    items, lanes = ((2, 0, 1), (count, 8, 0)), ((4, 0, 2), *_GROUPS)
    if is_transposed:
        items, lanes = ((2, 1, 0), (count, 8, 0)), ((4, 2, 0), (8, 0, 1))
    return _built(text, 16, (8 * count, 8), ("r", "c"), items, lanes)


def _matrices_of_bytes(text: str, rest: str, *, is_load: bool) -> Distributed:
    """The fragment of stmatrix.m16n8.trans.b8: register j is from rows 8 j to 8 j + 7 of 16 bytes in shared memory, which are
    its columns. ldmatrix.m16n16.trans.b8 takes two such registers for each matrix."""
    numbers = ("x1", "x2") if is_load else ("x1", "x2", "x4")
    if rest not in ("", *numbers):
        raise wrong(f"expected {'ld' if is_load else 'st'}matrix.trans.b8:{', :'.join(numbers)}", repr(text))
    registers = int((rest or numbers[-1])[1:]) * (2 if is_load else 1)
    items, lanes = ((2, 1, 0), (2, 0, 8), (registers, 8, 0)), ((4, 2, 0), (8, 0, 1))
    return _built(text, 8, (8 * registers, 16), ("r", "c"), items, lanes)


def _scales(text: str, rest: str) -> Distributed:
    """Scale factors of 128 rows and 4 blocks along k: what a lane holds that stores 16 bytes of their 512 as one."""
    if rest != "128x4":
        raise wrong("expected scale:128x4", repr(text))
    return _built(text, 8, (128, 4), ("m", "k"), ((4, 0, 1), (4, 32, 0)), ((32, 1, 0),))


def _built(
    name: str,
    bits: int,
    shape: tuple[int, int],
    axes: tuple[str, str],
    items: Sequence[Digit],
    lanes: Sequence[Digit],
    warps: Sequence[Digit] = (),
) -> Distributed:
    parts = [_places(digits, shape[1]) for digits in (warps, lanes, items)]
    elements = parts[0][:, None, None] + parts[1][None, :, None] + parts[2][None, None, :]
    return from_items(name, elements, bits, shape, axes)


def _places(digits: Sequence[Digit], columns: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """By the number that the digits make up: what it adds to the element."""
    places = np.zeros(1, dtype=np.int64)
    for extent, rows, across in digits:
        places = (np.arange(extent)[:, None] * (rows * columns + across) + places).ravel()
    return places
