"""Autocorrelation: how many buffers are filled ahead by asynchronous copies, and products of a tile."""

from __future__ import annotations

from warploom.kernels import lags as kernels
from warploom.schedule.sketches import Tuning
from warploom.sketch import Sketch

ROW_SIZES = {"rows": 256}
BUFFERS = (1, 2, 3, 4)
"""One of them is filled and used in turns, by plain loads."""
TILES = (16, 32, 64)


def of_lags(_: int) -> dict[str, tuple[Tuning, ...]]:
    return {"buffers": BUFFERS, "tile": TILES}


def autocorrelation(lags: int, buffers: int, tile: int) -> Sketch:
    return kernels.autocorrelation_one(lags, tile) if buffers == 1 else kernels.autocorrelation(lags, buffers, tile)
