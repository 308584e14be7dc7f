"""Bytes that pass between the levels of memory, against the places that loops visit, one by one."""

from __future__ import annotations

from itertools import product

import pytest

from warploom.core.linear import Linear, variable
from warploom.schedule.cost.traffic import distinct
from warploom.schedule.nest import Affine, Kind, Loop


def visited(around: list[tuple[int, int]], constants: set[int]) -> int:
    """Bytes of the sectors that hold elements of 4 bytes at these strides and sizes."""
    places = (
        c + sum(s * n for (s, _), n in zip(around, at, strict=True))
        for c in constants
        for at in product(*(range(n) for _, n in around))
    )
    return 32 * len({4 * place // 32 for place in places})


@pytest.mark.parametrize(
    ("around", "constants", "most"),
    [
        pytest.param([(448, 4), (2, 64)], {0, 1, 224, 225}, 1.25, id="two rows for each result, with a gap between them"),
        pytest.param([(512, 8), (1, 128)], {0, 1, 2}, 1.01, id="neighbours of a row"),
        pytest.param([(1024, 8), (1, 64)], {0, 512}, 1.13, id="halves of rows"),
        pytest.param([(64, 16), (1, 64)], {0, 64, 128}, 1.01, id="rows one below the other"),
    ],
)
def test_places_of_several_constants_count_once(around: list[tuple[int, int]], constants: set[int], most: float) -> None:
    """Never less than are visited; what lies between runs that are apart does not count."""
    offset: Affine = Linear()
    loops: list[Loop] = []
    for number, (stride, size) in enumerate(around):
        offset = offset.plus(variable(number), stride)
        loops.append(Loop(number, f"i{number}", Kind.UNROLL, size, ()))
    found, wanted = distinct(offset, loops, 4, constants), visited(around, constants)
    assert wanted <= found <= most * wanted
