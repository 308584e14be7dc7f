"""Small functions that show each part of the subset."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from warploom.solve.jit import compiled, entry

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
STEP, LIMIT = 3, 1.5
LEAST, BELOW, UNKNOWN = -(2**63), -0.25, float("nan")


class Table(NamedTuple):
    rows: Floats
    """[row, column]"""
    kinds: Bytes
    scale: float
    shift: int
    is_signed: bool


@compiled
def divided(a: int, b: int) -> tuple[int, int]:
    if b == 0:
        return 0, -1
    return a // b, a % b


@compiled
def row_sum(row: Floats, extra: Ints) -> float:
    total = 0.0
    for n in range(row.shape[0]):
        total += row[n]
    extra[0] += 1
    return total


@compiled
def raised(words: Words, n: int) -> bool:
    words[n] = words[n] << np.uint64(1)
    return words[n] != 0


@entry
def mixture(table: Table, numbers: Ints, words: Words, chosen: int, factor: float) -> float:
    """Some of everything."""
    first, second = numbers[0], numbers[1]
    first, second = second, first
    quotient, rest = divided(first, second)
    numbers[2] = quotient
    numbers[3] = rest
    word = ~words[0] & (words[1] - np.uint64(1))
    while word != np.uint64(0):
        numbers[4] += np.int64(word & np.uint64(1))
        word >>= np.uint64(1)
    rows = table.rows
    total = row_sum(rows[chosen], numbers)
    for n in range(table.kinds.shape[0] - 1, 0, -1):
        table.kinds[n] = ~table.kinds[n - 1] & 7
    for n in range(0, 7, STEP):
        if n == 6:
            break
        if n == 0:
            continue
        total += n
    for weight, column in ((0.5, 0), (factor, 1)):
        total += weight * rows[chosen, column] ** 4
    most = max(1.0, min(total, LIMIT), abs(rows[0, 0])) if table.is_signed and chosen in (0, 1) else -1.0
    if 0 <= quotient < 4 or not raised(words, 2):
        numbers[6] = int(total / 3) + abs(first)
    total += -(-total // LIMIT) + rows[0, 1] % LIMIT + table.scale * table.shift
    power = int(np.ceil(np.log2(max(1.0, abs(total)))))
    if first > LEAST and UNKNOWN != UNKNOWN and first - (second - rest) != LEAST:
        total -= -BELOW * (total - (most - BELOW)) / (2.0 - BELOW)
    rows[:] = 0.25
    return total + most + power + float(log2(8.0)) + (np.inf if table.shift > 99 else 0.0) + rows[1, 1] ** 0.5
