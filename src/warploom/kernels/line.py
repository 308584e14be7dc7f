"""1-D stencil and convolution: a warp keeps its inputs in registers and passes them around by shuffles.

`stencil1d` and `conv1d` are the paper's: the outputs of a lane lie 32 apart. In `stencil1d_runs` and `conv1d_runs` they are
neighbours, so that four outputs take K - 1 shuffles, and one load and one store of 16 bytes; blocks of whole tiles check no
element, and those behind them compute one output per thread.
Source: Swizzle Inventor, section 2, Listing 3, section 7.1 (each lane computes a tunable number of outputs).
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from collections.abc import Callable
from typing import Any

from warploom.core import f32
from warploom.kernels import language as wl

LANES = 32


def stencil1d_spec(k_size: int):
    """y[i] = mean of x[i .. i+K-1]; x has n + K - 1 elements, so that no output lies at an edge."""
    K = k_size

    def spec(x, y, n):
        for i in range(n):
            for k in range(K):
                y[i] += x[i + k]
            y[i] = y[i] / K

    return spec


def stencil1d(k_size: int, outputs: int = 1, warps: int = 4) -> wl.Sketch:
    """Moving average of K inputs with holes; `outputs` per lane, 32 apart, `warps` per block."""
    K, OUT = k_size, outputs
    ROWS = 1 + -(-(K - 1) // LANES)
    n = wl.size("n")

    @wl.sketch(
        spec=stencil1d_spec(K),
        block=LANES * warps,
        grid=wl.ceil_div(n, LANES * warps * OUT),
        complete_at={"n": LANES * warps * OUT},
        name=f"stencil1d_{K}",
    )
    def kernel(x: wl.Global[f32, n + K - 1], y: wl.Global[f32, n]):
        lane = wl.lane_id()
        first = OUT * (wl.global_id() - lane)  # the warp's first output
        inp = wl.register(f32, OUT + ROWS - 1)
        wl.global_to_register(x, inp, offset=first, size=min(first + 32 * OUT + K - 1, n + K - 1))
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / K, shape=(OUT,))
        for k in range(K):
            for o in range(OUT):
                sent = inp[o + wl.part(ROWS, lane, k, name="row")]
                got = wl.shfl(sent, wl.xform(lane, 32, k, name="lane"))
                out[o].add(got, when=wl.cond(lane, k, name="use"))
        for o in range(OUT):
            if first + 32 * o + lane < n:
                y[first + 32 * o + lane] = out[o].value()

    return kernel


def run_loader(k_size: int, outputs: int) -> Callable[..., Any]:
    """The device function that loads what neighbouring outputs need: a lane's own inputs, then those behind the warp's tile."""
    OUT, EDGE = outputs, k_size - 1

    @wl.device
    def load(x, inp, first, lane):
        for i in wl.vector(OUT):
            inp[i] = x[first + OUT * lane + i]
        if EDGE > OUT and EDGE % OUT == 0:
            if lane < EDGE // OUT:
                for i in wl.vector(OUT):
                    inp[OUT + i] = x[first + LANES * OUT + OUT * lane + i]
        else:
            for i in range(min(OUT, EDGE)):
                if EDGE <= OUT:
                    inp[OUT + i] = x[first + LANES * OUT + i]
                elif OUT * lane + i < EDGE:
                    inp[OUT + i] = x[first + LANES * OUT + OUT * lane + i]

    return load


def stencil1d_runs(k_size: int, outputs: int = 4, warps: int = 4) -> wl.Sketch:
    """Moving average of K inputs with holes; `outputs` (2 or 4) side by side per lane, `warps` per block."""
    K, OUT, THREADS = k_size, outputs, LANES * warps
    TILE, load = THREADS * OUT, run_loader(K, OUT)
    n = wl.size("n")

    @wl.sketch(
        spec=stencil1d_spec(K),
        block=THREADS,
        grid=n // TILE + wl.ceil_div(n % TILE, THREADS),
        complete_at={"n": TILE},
        name=f"stencil1d_{K}",
    )
    def kernel(x: wl.Global[f32, n + K - 1], y: wl.Global[f32, n]):
        lane, block, whole = wl.lane_id(), wl.block_id(), n // TILE
        if block < whole:
            first = OUT * (wl.global_id() - lane)  # the warp's first output
            inp = wl.register(f32, 2 * OUT)
            load(x, inp, first, lane)
            out = wl.accumulator(f32, op="+", finalize=lambda total: total / K, shape=(OUT,))
            for j in range(OUT + K - 1):  # the j-th input from the lane's first: its own, then those of the next lanes
                sent = inp[j % OUT + OUT * wl.part(2, lane, j // OUT, name="row")]
                got = wl.shfl(sent, wl.xform(lane, 32, j // OUT, name="lane"))
                for k in range(max(0, j - OUT + 1), min(K, j + 1)):
                    out[j - k].add(got)
            for o in wl.vector(OUT):
                y[first + OUT * lane + o] = out[o].value()
        else:
            at = wl.global_id() + (TILE - THREADS) * whole
            if at < n:
                mean = wl.accumulator(f32, op="+", finalize=lambda total: total / K)
                for k in range(K):
                    mean.add(x[at + k])
                y[at] = mean.value()

    return kernel


def stencil1d_shared(k_size: int, warps: int = 4) -> wl.Sketch:
    """Moving average through a tile in shared memory, one output per thread."""
    K, THREADS = k_size, LANES * warps
    n = wl.size("n")

    @wl.sketch(
        spec=stencil1d_spec(K),
        block=THREADS,
        grid=wl.ceil_div(n, THREADS),
        complete_at={"n": THREADS},
        name=f"stencil1d_{K}_shared",
    )
    def kernel(x: wl.Global[f32, n + K - 1], y: wl.Global[f32, n]):
        t = wl.thread_id()
        tile = wl.shared(f32, THREADS + K - 1)
        wl.global_to_shared(x, tile, offset=THREADS * wl.block_id())
        wl.sync()
        out = wl.accumulator(f32, op="+", finalize=lambda total: total / K)
        for k in range(K):
            out.add(tile[t + k])
        if wl.global_id() < n:
            y[wl.global_id()] = out.value()

    return kernel


def conv1d_spec(k_size: int):
    """y[i] = sum of w[k] * x[i+k], k < K; x has n + K - 1 elements."""
    K = k_size

    def spec(x, w, y, n):
        for i in range(n):
            for k in range(K):
                y[i] += w[k] * x[i + k]

    return spec


def conv1d(k_size: int, outputs: int = 1, warps: int = 4) -> wl.Sketch:
    """Convolution with K weights with holes; `outputs` per lane, 32 apart, `warps` per block."""
    K, OUT = k_size, outputs
    ROWS = 1 + -(-(K - 1) // LANES)
    n = wl.size("n")

    @wl.sketch(
        spec=conv1d_spec(K),
        block=LANES * warps,
        grid=wl.ceil_div(n, LANES * warps * OUT),
        complete_at={"n": LANES * warps * OUT},
        name=f"conv1d_{K}",
    )
    def kernel(x: wl.Global[f32, n + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, n]):
        lane = wl.lane_id()
        first = OUT * (wl.global_id() - lane)  # the warp's first output
        inp = wl.register(f32, OUT + ROWS - 1)
        wl.global_to_register(x, inp, offset=first, size=min(first + 32 * OUT + K - 1, n + K - 1))
        out = wl.accumulator(f32, op="+", inner="*", shape=(OUT,))
        for k in range(K):
            for o in range(OUT):
                sent = inp[o + wl.part(ROWS, lane, k, name="row")]
                got = wl.shfl(sent, wl.xform(lane, 32, k, name="lane"))
                out[o].add(w[wl.xform(k, K, lane, name="weight")], got)
        for o in range(OUT):
            if first + 32 * o + lane < n:
                y[first + 32 * o + lane] = out[o].value()

    return kernel


def conv1d_runs(k_size: int, outputs: int = 4, warps: int = 4) -> wl.Sketch:
    """Convolution with K weights with holes; `outputs` (2 or 4) side by side per lane, `warps` per block."""
    K, OUT, THREADS = k_size, outputs, LANES * warps
    TILE, load = THREADS * OUT, run_loader(K, OUT)
    n = wl.size("n")

    @wl.sketch(
        spec=conv1d_spec(K),
        block=THREADS,
        grid=n // TILE + wl.ceil_div(n % TILE, THREADS),
        complete_at={"n": TILE},
        name=f"conv1d_{K}",
    )
    def kernel(x: wl.Global[f32, n + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, n]):
        lane, block, whole = wl.lane_id(), wl.block_id(), n // TILE
        weight = wl.register(f32, K)
        for k in range(K):
            weight[k] = w[k]
        if block < whole:
            first = OUT * (wl.global_id() - lane)  # the warp's first output
            inp = wl.register(f32, 2 * OUT)
            load(x, inp, first, lane)
            out = wl.accumulator(f32, op="+", inner="*", shape=(OUT,))
            for j in range(OUT + K - 1):  # the j-th input from the lane's first: its own, then those of the next lanes
                sent = inp[j % OUT + OUT * wl.part(2, lane, j // OUT, name="row")]
                got = wl.shfl(sent, wl.xform(lane, 32, j // OUT, name="lane"))
                for k in range(max(0, j - OUT + 1), min(K, j + 1)):
                    out[j - k].add(weight[k], got)
            for o in wl.vector(OUT):
                y[first + OUT * lane + o] = out[o].value()
        else:
            at = wl.global_id() + (TILE - THREADS) * whole
            if at < n:
                total = wl.accumulator(f32, op="+", inner="*")
                for k in range(K):
                    total.add(weight[k], x[at + k])
                y[at] = total.value()

    return kernel


def conv1d_shared(k_size: int, warps: int = 4) -> wl.Sketch:
    """Convolution through a tile in shared memory, one output per thread."""
    K, THREADS = k_size, LANES * warps
    n = wl.size("n")

    @wl.sketch(
        spec=conv1d_spec(K),
        block=THREADS,
        grid=wl.ceil_div(n, THREADS),
        complete_at={"n": THREADS},
        name=f"conv1d_{K}_shared",
    )
    def kernel(x: wl.Global[f32, n + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, n]):
        t = wl.thread_id()
        tile = wl.shared(f32, THREADS + K - 1)
        wl.global_to_shared(x, tile, offset=THREADS * wl.block_id())
        wl.sync()
        out = wl.accumulator(f32, op="+", inner="*")
        for k in range(K):
            out.add(w[k], tile[t + k])
        if wl.global_id() < n:
            y[wl.global_id()] = out.value()

    return kernel
