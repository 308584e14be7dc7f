"""2-D stencil and convolution of K x K: a warp keeps a tile with its halo in registers.

`stencil2d` and `conv2d` are the paper's: a warp of 8 x 4 lanes, since a row of 8 floats is one 32-byte sector. Lane (row, col)
holds `outputs[0]` input rows below one another from row `outputs[0] * row` of the tile, in every eighth column from `col`, and
computes the outputs at the same places; what a shuffle brings serves every output of its column. In `stencil2d_runs` and
`conv2d_runs` a lane has neighbouring outputs, so that a row of inputs takes K - 1 shuffles. Where rows of outputs are whole
vectors (w a multiple of them), blocks of whole tiles store vectors and check no element; other blocks compute their outputs one
by one, neighbouring lanes at neighbouring places.
Source: Swizzle Inventor, section 7.1; one partition and one transformation hole per axis.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from collections.abc import Callable
from math import gcd
from typing import Any

from warploom.core import f32
from warploom.kernels import language as wl

WARP_SHAPE = (4, 8)
"""Rows and columns of lanes; their product must be 32."""


def default_outputs(k_size: int) -> tuple[int, int]:
    """Rows and columns of outputs per lane: few, but enough for the halo to cost fewer sectors than the baseline's."""
    return (4, 4) if k_size < 5 else (4, 2)


def stencil2d_spec(k_size: int):
    """y[i, j] = mean of the K x K inputs from x[i, j]; x is K - 1 longer than y in both directions."""
    K = k_size

    def spec(x, y, h, w):
        for i in range(h):
            for j in range(w):
                for a in range(K):
                    for b in range(K):
                        y[i, j] += x[i + a, j + b]
                y[i, j] = y[i, j] / (K * K)

    return spec


def stencil2d(
    k_size: int, outputs: tuple[int, int] | None = None, warp_shape: tuple[int, int] = WARP_SHAPE, warps: int = 1
) -> wl.Sketch:
    """Box mean with holes; the `warps` of a block work on tiles side by side."""
    K, WARPS = k_size, warps
    (OY, OX), (ROWS, COLS) = outputs or default_outputs(K), warp_shape
    HEIGHT, WIDTH = ROWS * OY, COLS * OX
    DOWN, ACROSS = 1 + -(-(K - 1) // HEIGHT), 1 + -(-(K - 1) // COLS)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=stencil2d_spec(K),
        block=32 * WARPS,
        grid=(wl.ceil_div(w, WIDTH * WARPS), wl.ceil_div(h, HEIGHT)),
        complete_at={"h": HEIGHT, "w": WIDTH * WARPS},
        name=f"stencil2d_{K}",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], y: wl.Global[f32, h, w]):
        row, col = wl.lane_grid(ROWS, COLS)
        top = HEIGHT * wl.block_id("y")
        left = WIDTH * (WARPS * wl.block_id("x") + wl.warp_id())
        tile = wl.register(f32, DOWN * OY, OX + ACROSS - 1)
        needed = (min(top + HEIGHT, h) + K - 1, min(left + WIDTH, w) + K - 1)
        wl.global_to_register(x, tile, offset=(top, left), slice=(OY, 1), warp_shape=(ROWS, COLS), size=needed)
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K), shape=(OY, OX))
        for r in range(OY + K - 1):  # rows below the lane's first; OY of them are in one lane
            for kx in range(K):
                sender = COLS * wl.xform(row, ROWS, r // OY, name="lane_row") + wl.xform(col, COLS, kx, name="lane_col")
                for o in range(OX):
                    sent = tile[
                        OY * wl.part(DOWN, row, r // OY, name="tile_row") + r % OY, o + wl.part(ACROSS, col, kx, name="tile_col")
                    ]
                    got = wl.shfl(sent, sender)
                    for ky in range(max(0, r - OY + 1), min(K, r + 1)):
                        out[r - ky, o].add(got)
        for r in range(OY):
            for o in range(OX):
                if top + OY * row + r < h and left + COLS * o + col < w:
                    y[top + OY * row + r, left + COLS * o + col] = out[r, o].value()

    return kernel


def row_loader(k_size: int, outputs: int) -> Callable[..., Any]:
    """The device function that loads a row for neighbouring outputs: a lane's own inputs, then what the last lanes need beside.

    They are those of the tile whose first column is `left`, `r` rows below `top`; the lane's first column is `first`.
    """
    K, OX, WIDTH = k_size, outputs, 32 * outputs
    TOGETHER = gcd(OX, K - 1)  # a row of inputs is K - 1 longer than one of outputs

    @wl.device
    def singly(x, inp, top, r, first):
        for i in range(OX):
            inp[i] = x[top + r, first + i]

    @wl.device
    def by_vectors(x, inp, top, r, first):
        for q in range(OX // TOGETHER):
            for i in wl.vector(TOGETHER):
                inp[TOGETHER * q + i] = x[top + r, first + TOGETHER * q + i]

    own = singly if TOGETHER == 1 else by_vectors

    @wl.device
    def load(x, inp, top, r, left, first, lane):
        own(x, inp, top, r, first)
        for e in range(min(OX, K - 1)):
            if K - 1 <= OX:
                inp[OX + e] = x[top + r, left + WIDTH + e]
            elif OX * lane + e < K - 1:
                inp[OX + e] = x[top + r, first + WIDTH + e]

    return load


def stencil2d_runs(k_size: int, outputs: tuple[int, int] = (4, 4), warps: int = 4) -> wl.Sketch:
    """Box mean with holes; a lane has neighbouring outputs (2 or 4 in x), the `warps` of a block lie stacked."""
    K, WARPS = k_size, warps
    OY, OX = outputs
    HEIGHT, WIDTH = OY * WARPS, 32 * OX
    load = row_loader(K, OX)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=stencil2d_spec(K),
        block=32 * WARPS,
        grid=(wl.ceil_div(w, WIDTH), wl.ceil_div(h, HEIGHT)),
        complete_at={"h": HEIGHT, "w": WIDTH},
        name=f"stencil2d_{K}",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], y: wl.Global[f32, h, w]):
        lane = wl.lane_id()
        above, left = HEIGHT * wl.block_id("y"), WIDTH * wl.block_id()
        if w % OX == 0 and left + WIDTH <= w and above + HEIGHT <= h:
            top, first = above + OY * wl.warp_id(), left + OX * lane
            out = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K), shape=(OY, OX))
            for r in range(OY + K - 1):
                inp = wl.register(f32, 2 * OX)
                load(x, inp, top, r, left, first, lane)
                for j in range(OX + K - 1):  # the j-th input from the lane's first: its own, then those of the next lanes
                    sent = inp[j % OX + OX * wl.part(2, lane, j // OX, name="row")]
                    got = wl.shfl(sent, wl.xform(lane, 32, j // OX, name="lane"))
                    for a in range(max(0, r - OY + 1), min(K, r + 1)):
                        for b in range(max(0, j - OX + 1), min(K, j + 1)):
                            out[r - a, j - b].add(got)
            for r in range(OY):
                for o in wl.vector(OX):
                    y[top + r, first + o] = out[r, o].value()
        else:
            for p in range(OY * OX):
                row, col = above + wl.warp_id() + WARPS * (p // OX), left + lane + 32 * (p % OX)
                if row < h and col < w:
                    mean = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K))
                    for a in range(K):
                        for b in range(K):
                            mean.add(x[row + a, col + b])
                    y[row, col] = mean.value()

    return kernel


def stencil2d_shared(k_size: int) -> wl.Sketch:
    """Box mean through a tile in shared memory, 8 x 16 outputs per block, one per thread."""
    K = k_size
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=stencil2d_spec(K),
        block=(16, 8),
        grid=(wl.ceil_div(w, 16), wl.ceil_div(h, 8)),
        complete_at={"h": 8, "w": 16},
        name=f"stencil2d_{K}_shared",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], y: wl.Global[f32, h, w]):
        top, left = 8 * wl.block_id("y"), 16 * wl.block_id("x")
        row, col = wl.thread_id("y"), wl.thread_id("x")
        tile = wl.shared(f32, 8 + K - 1, 16 + K - 1)
        wl.global_to_shared(x, tile, offset=(top, left))
        wl.sync()
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / (K * K))
        for ky in range(K):
            for kx in range(K):
                out.add(tile[row + ky, col + kx])
        if top + row < h and left + col < w:
            y[top + row, left + col] = out.value()

    return kernel


def conv2d_spec(k_size: int):
    """y[i, j] = sum of f[a, b] * x[i+a, j+b], a, b < K; x is K - 1 longer than y in both directions."""
    K = k_size

    def spec(x, f, y, h, w):
        for i in range(h):
            for j in range(w):
                for a in range(K):
                    for b in range(K):
                        y[i, j] += f[a, b] * x[i + a, j + b]

    return spec


def conv2d(
    k_size: int, outputs: tuple[int, int] | None = None, warp_shape: tuple[int, int] = WARP_SHAPE, warps: int = 1
) -> wl.Sketch:
    """Convolution with holes; the `warps` of a block work on tiles side by side."""
    K, WARPS = k_size, warps
    (OY, OX), (ROWS, COLS) = outputs or default_outputs(K), warp_shape
    HEIGHT, WIDTH = ROWS * OY, COLS * OX
    DOWN, ACROSS = 1 + -(-(K - 1) // HEIGHT), 1 + -(-(K - 1) // COLS)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=conv2d_spec(K),
        block=32 * WARPS,
        grid=(wl.ceil_div(w, WIDTH * WARPS), wl.ceil_div(h, HEIGHT)),
        complete_at={"h": HEIGHT, "w": WIDTH * WARPS},
        name=f"conv2d_{K}",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], f: wl.Constant[f32, K, K], y: wl.Global[f32, h, w]):
        row, col = wl.lane_grid(ROWS, COLS)
        top = HEIGHT * wl.block_id("y")
        left = WIDTH * (WARPS * wl.block_id("x") + wl.warp_id())
        tile = wl.register(f32, DOWN * OY, OX + ACROSS - 1)
        needed = (min(top + HEIGHT, h) + K - 1, min(left + WIDTH, w) + K - 1)
        wl.global_to_register(x, tile, offset=(top, left), slice=(OY, 1), warp_shape=(ROWS, COLS), size=needed)
        out = wl.accumulator(f32, op="+", inner="*", shape=(OY, OX))
        for r in range(OY + K - 1):  # rows below the lane's first; OY of them are in one lane
            for kx in range(K):
                sender = COLS * wl.xform(row, ROWS, r // OY, name="lane_row") + wl.xform(col, COLS, kx, name="lane_col")
                for o in range(OX):
                    sent = tile[
                        OY * wl.part(DOWN, row, r // OY, name="tile_row") + r % OY, o + wl.part(ACROSS, col, kx, name="tile_col")
                    ]
                    got = wl.shfl(sent, sender)
                    for ky in range(max(0, r - OY + 1), min(K, r + 1)):
                        out[r - ky, o].add(f[ky, kx], got)
        for r in range(OY):
            for o in range(OX):
                if top + OY * row + r < h and left + COLS * o + col < w:
                    y[top + OY * row + r, left + COLS * o + col] = out[r, o].value()

    return kernel


def conv2d_runs(k_size: int, outputs: tuple[int, int] = (4, 4), warps: int = 4) -> wl.Sketch:
    """Convolution with holes; a lane has neighbouring outputs (2 or 4 in x), the `warps` of a block lie stacked."""
    K, WARPS = k_size, warps
    OY, OX = outputs
    HEIGHT, WIDTH = OY * WARPS, 32 * OX
    load = row_loader(K, OX)
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=conv2d_spec(K),
        block=32 * WARPS,
        grid=(wl.ceil_div(w, WIDTH), wl.ceil_div(h, HEIGHT)),
        complete_at={"h": HEIGHT, "w": WIDTH},
        name=f"conv2d_{K}",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], f: wl.Constant[f32, K, K], y: wl.Global[f32, h, w]):
        lane = wl.lane_id()
        above, left = HEIGHT * wl.block_id("y"), WIDTH * wl.block_id()
        weight = wl.register(f32, K, K)
        for a in range(K):
            for b in range(K):
                weight[a, b] = f[a, b]
        if w % OX == 0 and left + WIDTH <= w and above + HEIGHT <= h:
            top, first = above + OY * wl.warp_id(), left + OX * lane
            out = wl.accumulator(f32, op="+", inner="*", shape=(OY, OX))
            for r in range(OY + K - 1):
                inp = wl.register(f32, 2 * OX)
                load(x, inp, top, r, left, first, lane)
                for j in range(OX + K - 1):  # the j-th input from the lane's first: its own, then those of the next lanes
                    sent = inp[j % OX + OX * wl.part(2, lane, j // OX, name="row")]
                    got = wl.shfl(sent, wl.xform(lane, 32, j // OX, name="lane"))
                    for a in range(max(0, r - OY + 1), min(K, r + 1)):
                        for b in range(max(0, j - OX + 1), min(K, j + 1)):
                            out[r - a, j - b].add(weight[a, b], got)
            for r in range(OY):
                for o in wl.vector(OX):
                    y[top + r, first + o] = out[r, o].value()
        else:
            for p in range(OY * OX):
                row, col = above + wl.warp_id() + WARPS * (p // OX), left + lane + 32 * (p % OX)
                if row < h and col < w:
                    total = wl.accumulator(f32, op="+", inner="*")
                    for a in range(K):
                        for b in range(K):
                            total.add(weight[a, b], x[row + a, col + b])
                    y[row, col] = total.value()

    return kernel


def conv2d_shared(k_size: int) -> wl.Sketch:
    """Convolution through a tile in shared memory, 8 x 16 outputs per block, one per thread."""
    K = k_size
    h, w = wl.size("h"), wl.size("w")

    @wl.sketch(
        spec=conv2d_spec(K),
        block=(16, 8),
        grid=(wl.ceil_div(w, 16), wl.ceil_div(h, 8)),
        complete_at={"h": 8, "w": 16},
        name=f"conv2d_{K}_shared",
    )
    def kernel(x: wl.Global[f32, h + K - 1, w + K - 1], f: wl.Constant[f32, K, K], y: wl.Global[f32, h, w]):
        top, left = 8 * wl.block_id("y"), 16 * wl.block_id("x")
        row, col = wl.thread_id("y"), wl.thread_id("x")
        tile = wl.shared(f32, 8 + K - 1, 16 + K - 1)
        wl.global_to_shared(x, tile, offset=(top, left))
        wl.sync()
        out = wl.accumulator(f32, op="+", inner="*")
        for ky in range(K):
            for kx in range(K):
                out.add(f[ky, kx], tile[row + ky, col + kx])
        if top + row < h and left + col < w:
            y[top + row, left + col] = out.value()

    return kernel
