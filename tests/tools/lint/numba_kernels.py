"""Numba kernels of the tests; comments `WL...` mark lines with a mistake."""

from numba import cuda, float32


@cuda.jit
def scale(out, x, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 2 * x[i]


@cuda.jit
def unguarded(out, x, n):
    i = cuda.grid(1)
    out[i] = 2 * x[i]  # WL002


@cuda.jit
def turned(out, x):
    tile = cuda.shared.array((64,), float32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    out[i] = tile[63 - i]  # WL001


@cuda.jit
def wrong(out, x):
    out[0] = x.nothing
