"""Arrays of structures: in which order registers and lanes are permuted, how many words move as one, warps per block."""

from __future__ import annotations

from warploom.core import BY_NAME, Diagnostic, DType, UserError, i32
from warploom.kernels import structs
from warploom.sketch import Sketch

TILE_SIZES = {"tiles": 1 << 18}


def units(words: int) -> tuple[int, ...]:
    """Words that may move as one: as wide as a vector, a divisor of the structure, and as many of them as the holes can permute.

    For six, ten, ... units there is no permutation by columns and rows in the spaces of the holes (it is searched to its end).
    """
    widths = [unit for unit in (1, 2, 4) if words % unit == 0]
    good = [unit for unit in widths if (count := words // unit) % 2 or count & (count - 1) == 0]
    return tuple(good or widths)


def store(words: int, order: str, unit: int, warps: int) -> Sketch:
    """Structures of `words` to arrays of them."""
    count, dtype = _moved(words, unit)
    match order:
        case "crc":
            return structs.store_crc(count, dtype, warps)
        case "rcr":
            return structs.store_rcr(count, dtype, warps)
        case _:
            one_warp(order, warps)
            return structs.store_shared(count, dtype)


def total(words: int, order: str, unit: int, warps: int) -> Sketch:
    """The sum of each structure of `words`."""
    count, dtype = _moved(words, unit)
    if order == "crc":
        return structs.sum_crc(count, dtype, warps)
    one_warp(order, warps)
    return structs.sum_shared(count, dtype)


def one_warp(what: str, warps: int) -> None:
    """UserError (TUNABLE) where a kernel that is written for one warp should have more."""
    if warps != 1:
        message = f"expected one warp per block with {what!r}, got {warps}"
        raise UserError(Diagnostic("TUNABLE", message, fix="Shared memory is that of one warp there: use warps=1."))


def _moved(words: int, unit: int) -> tuple[int, DType]:
    return words // unit, i32 if unit == 1 else BY_NAME[f"int{unit}"]
