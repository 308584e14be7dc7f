"""Sketches on warps of 4 and 8 lanes, small enough for every engine and for brute force."""

from __future__ import annotations

import warploom as wl
from warploom.core import f32, i32, u32


def conv1d(lanes: int, K: int, outputs_guard: bool = False):
    def spec(x, w, y):
        for i in range(lanes):
            for k in range(K):
                y[i] += w[k] * x[i + k]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes)
    def conv(x: wl.Global[f32, lanes + K - 1], w: wl.Constant[f32, K], y: wl.Global[f32, lanes]):
        lane = wl.lane_id()
        inp = wl.register(f32, 2)
        wl.global_to_register(x, inp)
        out = wl.accumulator(f32, op="+", inner="*")
        for k in range(K):
            sent = inp[wl.part(2, lane, k, name="register")]
            got = wl.shfl(sent, wl.xform(lane, lanes, k, name="lane"), lanes)
            out.add(w[wl.xform(k, K, lane, name="weight")], got)
        y[lane] = out.value()

    return conv


def stencil2d(rows: int, cols: int):
    """Sums of 2 x 2 neighbours, one output per lane of a rows x cols warp, on a torus."""
    lanes = rows * cols

    def spec(x, y):
        for r in range(rows):
            for c in range(cols):
                for dr in range(2):
                    for dc in range(2):
                        y[r, c] += x[(r + dr) % rows, (c + dc) % cols]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes)
    def stencil(x: wl.Global[f32, rows, cols], y: wl.Global[f32, rows, cols]):
        row, col = wl.lane_grid(rows, cols)
        mine = x[row, col]
        out = wl.accumulator(f32, op="+")
        for dr in range(2):
            for dc in range(2):
                from_row = wl.xform(row, rows, dr, name="row")
                from_col = wl.xform(col, cols, dc, name="col")
                out.add(wl.shfl(mine, from_row * cols + from_col, lanes), when=wl.cond(dr, dc, name="use"))
        y[row, col] = out.value()

    return stencil


def transpose_crc(lanes: int, S: int):
    def spec(src, dst):
        for i in range(lanes):
            for j in range(S):
                dst[lanes * j + i] = src[S * i + j]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes)
    def crc(src: wl.Global[i32, lanes * S], dst: wl.Global[i32, lanes * S]):
        lane = wl.lane_id()
        loaded = wl.register(i32, S)
        columns = wl.register(i32, S)
        rows = wl.register(i32, S)
        out = wl.register(i32, S)
        wl.global_to_register(src, loaded)
        for i in range(S):
            columns[i] = loaded[wl.xform(i, S, lane, name="column")]
        for i in range(S):
            rows[i] = wl.shfl(columns[i], wl.xform(lane, lanes, i, name="row"), lanes)
        for i in range(S):
            out[i] = rows[wl.xform(i, S, lane, name="column_after")]
        wl.register_to_global(out, dst)

    return crc


def transpose_rcr(lanes: int, S: int):
    def spec(src, dst):
        for i in range(lanes):
            for j in range(S):
                dst[lanes * j + i] = src[S * i + j]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes)
    def rcr(src: wl.Global[i32, lanes * S], dst: wl.Global[i32, lanes * S]):
        lane = wl.lane_id()
        loaded = wl.register(i32, S)
        out = wl.register(i32, S)
        wl.global_to_register(src, loaded, shuffle=lambda lane, round: wl.xform(lane, lanes, round, name="load"))
        for i in range(S):
            out[i] = loaded[wl.xform(i, S, lane, name="column")]
        wl.register_to_global(out, dst, shuffle=lambda lane, round: wl.xform(lane, lanes, round, name="store"))

    return rcr


def sum_crc(lanes: int, S: int):
    def spec(src, total):
        for t in range(lanes):
            for j in range(S):
                total[t] += src[S * t + j]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes)
    def sums(src: wl.Global[i32, lanes * S], total: wl.Global[i32, lanes]):
        lane = wl.lane_id()
        loaded = wl.register(i32, S)
        columns = wl.register(i32, S)
        wl.global_to_register(src, loaded)
        for i in range(S):
            columns[i] = loaded[wl.xform(i, S, lane, name="column")]
        out = wl.accumulator(i32, op="+")
        for i in range(S):
            out.add(wl.shfl(columns[i], wl.xform(lane, lanes, i, name="row"), lanes))
        total[lane] = out.value()

    return sums


def multiply(lanes: int, constants: tuple[int, ...] | None = None):
    """Carry-less product of two polynomials with one coefficient per lane: two accumulators, one guard each."""
    CONSTANTS = constants

    def spec(a, b, c):
        for i in range(lanes):
            for j in range(i + 1):
                c[i] ^= a[j] & b[i - j]
            for j in range(i + 1, lanes):
                c[lanes + i] ^= a[j] & b[lanes + i - j]

    @wl.sketch(spec=spec, block=lanes, warp_size=lanes, algebra="xor/and")
    def mult(a: wl.Global[u32, lanes], b: wl.Global[u32, lanes], c: wl.Global[u32, 2 * lanes]):
        lane = wl.lane_id()
        mine = a[lane]
        yours = b[lane]
        out = wl.accumulator(u32, op="^", inner="&", shape=(2,))
        for i in range(lanes):
            p = wl.shfl(mine, wl.xform(lane, lanes, i, coefficients=CONSTANTS, constants=CONSTANTS, name="a_lane"), lanes)
            q = wl.shfl(yours, wl.xform(lane, lanes, i, coefficients=CONSTANTS, constants=CONSTANTS, name="b_lane"), lanes)
            out[0].add(p, q, when=wl.cond(lane, i, name="low"))
            out[1].add(p, q, when=wl.cond(lane, i, name="high"))
        c[lane] = out[0].value()
        c[lane + lanes] = out[1].value()

    return mult


def nothing(x, y):
    """The tests below plant what these sketches must compute."""


def two_statements(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def two(x: wl.Global[i32, lanes], y: wl.Global[i32, lanes]):
        lane = wl.lane_id()
        mine = x[lane]
        out = wl.accumulator(i32, op="+")
        for j in range(2):
            got = wl.shfl(mine, wl.xform(lane, lanes, j, grammar="rotation", coefficients=(0, 1), constants=(0, 1)), lanes)
            out.add(got, when=wl.cond(lane, j, grammar="constant-free"))
            out.add(got, when=wl.cond(j, grammar="constant-free", constants=(0,)))
        y[lane] = out.value()

    return two


def exclusive_or(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes, algebra="xor/and")
    def cancelling(x: wl.Global[u32, lanes], y: wl.Global[u32, lanes]):
        lane = wl.lane_id()
        out = wl.accumulator(u32, op="^")
        for j in range(3):
            got = wl.shfl(x[lane], wl.xform(lane, lanes, j, grammar="rotation", coefficients=(0, 1, 2)), lanes)
            out.add(got, when=wl.cond(lane, j, grammar="constant-free"))
        y[lane] = out.value()

    return cancelling


def largest(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def maxima(x: wl.Global[i32, lanes], y: wl.Global[i32, lanes]):
        lane = wl.lane_id()
        out = wl.accumulator(i32, op="max", init=-2147483648)
        for j in range(2):
            out.add(wl.shfl(x[lane], wl.xform(lane, lanes, j, grammar="rotation"), lanes))
        y[lane] = out.value()

    return maxima


def products(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def squares(x: wl.Global[f32, lanes], y: wl.Global[f32, lanes]):
        lane = wl.lane_id()
        out = wl.accumulator(f32, op="+", inner="*", finalize=lambda s: s / 2)
        for j in range(2):
            left = x[wl.xform(lane, lanes, j, coefficients=(0, 1), constants=(0, 1))]
            out.add(left, x[wl.xform(lane, lanes, j, coefficients=(1, 3), constants=(0, 2))])
        y[lane] = out.value()

    return squares


def scatter(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def scattered(x: wl.Global[i32, 2 * lanes], y: wl.Global[i32, 2 * lanes]):
        lane = wl.lane_id()
        mine = wl.register(i32, 2)
        wl.global_to_register(x, mine)
        for j in range(2):
            half = wl.xform(j, 2, lane)
            y[half * lanes + wl.xform(lane, lanes, j, grammar="ungrouped", coefficients=(1, 3))] = mine[j]

    return scattered


def gather(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def gathered(x: wl.Global[i32, 2 * lanes], y: wl.Global[i32, 2 * lanes]):
        lane = wl.lane_id()
        mine = wl.register(i32, 2)
        wl.global_to_register(x, mine)
        for j in range(2):
            sent = mine[wl.part(2, lane, j)]
            y[j * lanes + lane] = wl.shfl(sent, wl.xform(lane, lanes, j, coefficients=(1, -1)), lanes)

    return gathered


def selected(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def modular(x: wl.Global[i32, 2 * lanes], y: wl.Global[i32, 2 * lanes]):
        lane = wl.lane_id()
        mine = wl.register(i32, 2)
        wl.global_to_register(x, mine)
        for j in range(2):
            turned = wl.shfl(mine[1 - j], wl.choose(3 - lane, (lane + 1) % lanes), lanes)
            other = wl.choose(turned, wl.shfl_xor(mine[j], wl.const(1, 2), lanes))
            y[j * lanes + lane] = mine[j] if wl.cond(lane, j, grammar="modular", modulus=2) else other

    return modular


def elements_of_accumulators(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def placed_sums(x: wl.Global[i32, lanes], y: wl.Global[i32, 2 * lanes]):
        lane = wl.lane_id()
        out = wl.accumulator(i32, op="+", shape=(2,))
        for j in range(2):
            got = wl.shfl(x[lane], wl.xform(lane, lanes, j, grammar="rotation", coefficients=(0, 1)), lanes)
            out[wl.xform(j, 2, lane)].add(got)
        y[lane] = out[0].value()
        y[lane + lanes] = out[1].value()

    return placed_sums


def overwritten(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def registers(x: wl.Global[i32, 2 * lanes], y: wl.Global[i32, 2 * lanes]):
        lane = wl.lane_id()
        mine = wl.register(i32, 2)
        kept = wl.register(i32, 3)
        wl.global_to_register(x, mine)
        for j in range(2):
            kept[wl.part(3, lane, j)] = mine[j]
        for j in range(2):
            y[j * lanes + lane] = kept[j]

    return registers


def shuffle_in_a_branch(lanes: int = 4):
    @wl.sketch(spec=nothing, block=lanes, warp_size=lanes)
    def branching(x: wl.Global[i32, lanes], y: wl.Global[i32, lanes]):
        lane = wl.lane_id()
        value = x[lane]
        if wl.cond(lane):
            value = wl.shfl(x[lane], 2, lanes)
        y[lane] = wl.shfl(value, wl.xform(lane, lanes, 0), lanes)

    return branching
