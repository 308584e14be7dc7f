"""Bytes of an array that stores of several widths leave."""

from __future__ import annotations

import random

import pytest

from warploom.synth.compiled.data import Data
from warploom.synth.compiled.memory import Region

SIZE = 32


def region(width: int) -> Region:
    """Cells of so many bytes at the start; byte n holds n + 1."""

    def initial(offset: int) -> tuple[int, int, int]:
        start = offset - offset % width
        return start, width, int.from_bytes(bytes(range(start + 1, start + 1 + width)), "little")

    return Region("x", 1 << 40, SIZE, initial)


@pytest.mark.parametrize(
    ("width", "stores"),
    [
        (1, [(4, 4), (8, 4)]),
        (4, [(1, 2)]),
        (4, [(2, 4)]),
        (4, [(4, 2)]),
        (4, [(6, 2)]),
        (4, [(0, 8), (4, 4)]),
        (4, [(0, 4), (0, 8)]),
        (4, [(4, 4), (0, 8)]),
        (1, [(1, 8), (8, 2)]),
        (8, [(0, 4)]),
        (8, [(4, 4)]),
    ],
)
def test_what_a_store_does_not_write_stays(width: int, stores: list[tuple[int, int]]) -> None:
    data, found, bytes_of = Data(), region(width), bytearray(range(1, SIZE + 1))
    for number, (offset, size) in enumerate(stores, 1):
        written = bytes(range(100 * number, 100 * number + size))
        found.store(offset, size, int.from_bytes(written, "little"), number, data)
        bytes_of[offset : offset + size] = written
    for n in range(0, SIZE, 4):
        assert found.load(n, 4, data) == int.from_bytes(bytes_of[n : n + 4], "little"), n


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_stores_anywhere_leave_what_bytes_do(width: int) -> None:
    draw = random.Random(width)
    for _ in range(50):
        data, found, bytes_of = Data(), region(width), bytearray(range(1, SIZE + 1))
        for number in range(12):
            size = draw.choice((1, 2, 4, 8))
            offset = draw.randrange(SIZE - size + 1)
            written = draw.randbytes(size)
            found.store(offset, size, int.from_bytes(written, "little"), number, data)
            bytes_of[offset : offset + size] = written
        assert [found.load(n, 1, data) for n in range(SIZE)] == list(bytes_of)
