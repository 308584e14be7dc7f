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


def multiply(lanes: int):
    """Carry-less product of two polynomials with one coefficient per lane: two accumulators, one guard each."""

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
            p = wl.shfl(mine, wl.xform(lane, lanes, i, name="a_lane"), lanes)
            q = wl.shfl(yours, wl.xform(lane, lanes, i, name="b_lane"), lanes)
            out[0].add(p, q, when=wl.cond(lane, i, name="low"))
            out[1].add(p, q, when=wl.cond(lane, i, name="high"))
        c[lane] = out[0].value()
        c[lane + lanes] = out[1].value()

    return mult
