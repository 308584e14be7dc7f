"""Autocorrelation of rows: y[r, t] = sum of x[r, i] * x[r, i + t], through tiles of the row in shared memory.

A block sums one row, one lag a thread, so that the tiles come one after another. With one buffer it loads a tile, waits for it,
and uses it; with more, asynchronous copies fill the buffers ahead, and data is on its way while the block computes. What that is
worth depends on how long a tile's work is, and on how many blocks a multiprocessor holds.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from dataclasses import replace

from warploom.core import f32
from warploom.ir import fill
from warploom.kernels import language as wl
from warploom.synth import read_holes

LENGTH = 256
"""Products of a sum."""


def lags_spec(lags: int):
    """A row of x has `LENGTH + lags - 1` elements, so that every sum has as many products."""

    def spec(x, y, rows):
        for r in range(rows):
            for t in range(lags):
                for i in range(LENGTH):
                    y[r, t] += x[r, i] * x[r, i + t]

    return spec


def autocorrelation(lags: int, buffers: int = 2, tile: int = 32) -> wl.Sketch:
    """`lags` threads, tiles of so many products, and so many buffers (2 or more) that are filled ahead; with holes."""
    TILE, AHEAD, TILES, WIDTH = tile, buffers - 1, LENGTH // tile, tile + lags - 1
    rows = wl.size("rows")

    @wl.device
    def fetch(x, parts, row, step):
        t = wl.thread_id()
        for j in range((WIDTH + lags - 1) // lags):
            if lags * j + t < WIDTH:
                wl.memcpy_async(parts[step % buffers, lags * j + t], x[row, TILE * step + lags * j + t])

    @wl.sketch(spec=lags_spec(lags), block=lags, grid=rows, complete_at={"rows": 1}, name=f"autocorrelation_{lags}")
    def kernel(x: wl.Global[f32, rows, LENGTH + lags - 1], y: wl.Global[f32, rows, lags]):
        t, row = wl.thread_id(), wl.block_id()
        parts = wl.shared(f32, buffers, (WIDTH + 3) // 4 * 4)  # each at a multiple of 16 bytes: neighbours are loaded at once
        total = wl.accumulator(f32)
        for step in range(AHEAD):
            fetch(x, parts, row, step)
            wl.pipeline_commit()
        for step in range(TILES):
            if step + AHEAD < TILES:
                fetch(x, parts, row, step + AHEAD)
            wl.pipeline_commit()
            wl.pipeline_wait_prior(AHEAD)  # all but this tile's copies may go on
            wl.sync()
            for i in range(TILE):
                now = wl.choose(step % buffers, (step + 1) % buffers, name="buffer")
                total.add(parts[now, i] * parts[now, wl.choose(i, t, i + t, name="other")])
            wl.sync()  # this buffer is the next one that is filled
        y[row, t] = total.value()

    return kernel


def autocorrelation_shared(lags: int, tile: int = 32) -> wl.Sketch:
    """`autocorrelation_one` without holes."""
    sketch = autocorrelation_one(lags, tile)
    return replace(sketch, kernel=fill(sketch.kernel, read_holes(sketch, {"other": "i + t"})))


def autocorrelation_one(lags: int, tile: int = 32) -> wl.Sketch:
    """The same through one buffer, to which every thread stores what it has loaded."""
    TILE, WIDTH = tile, tile + lags - 1
    rows = wl.size("rows")

    @wl.sketch(spec=lags_spec(lags), block=lags, grid=rows, complete_at={"rows": 1}, name=f"autocorrelation_{lags}_one")
    def kernel(x: wl.Global[f32, rows, LENGTH + lags - 1], y: wl.Global[f32, rows, lags]):
        t, row = wl.thread_id(), wl.block_id()
        part = wl.shared(f32, WIDTH)
        total = wl.accumulator(f32)
        for step in range(LENGTH // TILE):
            for j in range((WIDTH + lags - 1) // lags):
                if lags * j + t < WIDTH:
                    part[lags * j + t] = x[row, TILE * step + lags * j + t]
            wl.sync()
            for i in range(TILE):
                total.add(part[i] * part[wl.choose(i, t, i + t, name="other")])
            wl.sync()
        y[row, t] = total.value()

    return kernel
