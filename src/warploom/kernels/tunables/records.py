"""Arrays of structures: in which order registers and lanes are permuted, how many words move as one, warps per block."""

from __future__ import annotations

from collections.abc import Callable

from warploom.core import BY_NAME, DType, i32
from warploom.kernels import structs
from warploom.kernels.registry import moved_units
from warploom.kernels.tunables.windows import WARPS
from warploom.schedule.sketches import Tuning
from warploom.sketch import Sketch

TILE_SIZES = {"tiles": 1 << 18}


def of_records(words: int, orders: tuple[str, ...], units: Callable[[int], tuple[int, ...]]) -> dict[str, tuple[Tuning, ...]]:
    return {"order": orders, "unit": units(words), "warps": WARPS}


def good_units(words: int) -> tuple[int, ...]:
    """Words that may move as one: as wide as a vector, a divisor of the structure, and as many of them as the holes can permute.

    For six, ten, ... units there is no permutation by columns and rows in the spaces of the holes (it is searched to its end).
    """
    widths = [unit for unit in (1, 2, 4) if words % unit == 0]
    good = [unit for unit in widths if (count := words // unit) % 2 or count & (count - 1) == 0]
    return tuple(good or widths)


def one_unit(words: int, layout: str | None) -> tuple[int, ...]:
    """That of the example with this name: arrays of other units are other arrays."""
    return (words // moved_units(words, layout)[0],)


def store(words: int, order: str, unit: int, warps: int) -> Sketch:
    """Structures of `words` to arrays of them."""
    count, dtype = _moved(words, unit)
    match order:
        case "crc":
            return structs.store_crc(count, dtype, warps)
        case "rcr":
            return structs.store_rcr(count, dtype, warps)
        case _:
            return structs.store_shared(count, dtype, warps)


def total(words: int, order: str, unit: int, warps: int) -> Sketch:
    """The sum of each structure of `words`."""
    count, dtype = _moved(words, unit)
    return (structs.sum_crc if order == "crc" else structs.sum_shared)(count, dtype, warps)


def _moved(words: int, unit: int) -> tuple[int, DType]:
    return words // unit, i32 if unit == 1 else BY_NAME[f"int{unit}"]
