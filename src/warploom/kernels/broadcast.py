"""Products over GF(2) in which all lanes read one factor alike, four words at once, and pass the other around by shuffles.

Each word is coefficient 32 r + lane of 32 polynomials (see `polynomial`). In step i every lane multiplies by a[32 x + i] what
lane - i holds of b; the product belongs to row x + y from lane i on, else to the next row. Four steps share the loads; then the
lanes pass their words of b on. Blocks of several warps, a pair of factors each.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from collections.abc import Callable
from typing import Any

from warploom.core import u32
from warploom.kernels import language as wl
from warploom.kernels.field import field_spec, reduced
from warploom.kernels.polynomial import mult_spec

MOST_UNROLLED = 4
"""Rows of a factor up to which all 32 steps are written out."""


@wl.device(shared_holes=True)
def turned(word, lane, i):
    """The word of another lane, `i` steps on."""
    return wl.shfl(word, wl.xform(lane, 32, i, coefficients=(0, 1, -1), constants=(0, 1, -1), name="lane"))


def multiplied(rows: int) -> Callable[..., Any]:
    """The device function that adds a * b to accumulators; `b` in registers, `a` from index `first` on in global memory."""
    R = rows
    KEPT, STEP = (32, 4) if rows <= MOST_UNROLLED else (4, 0)

    @wl.device(shared_holes=True)
    def multiply(a, first, rb, out):
        lane = wl.lane_id()
        ra = wl.register(u32, R, KEPT)
        for g in range(8):
            for x in range(R):
                for j in wl.vector(4):
                    ra[x, STEP * g + j] = a[first + 32 * x + 4 * g + j]
            for j in range(4):
                words = wl.register(u32, R)
                for y in range(R):
                    words[y] = turned(rb[y], lane, j)
                if wl.cond(lane, 4 * g + j, name="low"):
                    for y in range(R):
                        for x in range(R):
                            out[x + y].add(ra[x, STEP * g + j], words[y])
                else:
                    for y in range(R):
                        for x in range(R):
                            out[x + y + 1].add(ra[x, STEP * g + j], words[y])
            for y in range(R):
                rb[y] = turned(rb[y], lane, 4)

    return multiply


def mult_runs(rows: int, warps: int = 4) -> wl.Sketch:
    """Products of 32 `rows` coefficients, `warps` pairs per block."""
    R, N, WARPS = rows, 32 * rows, warps
    multiply = multiplied(rows)
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=mult_spec(N),
        block=32 * WARPS,
        grid=wl.ceil_div(pairs, WARPS),
        complete_at={"pairs": 1},
        algebra="xor/and",
        name=f"mult{N}_reg",
    )
    def kernel(a: wl.Global[u32, N * pairs], b: wl.Global[u32, N * pairs], c: wl.Global[u32, 2 * N * pairs]):
        pair = WARPS * wl.block_id() + wl.warp_id()
        if pair < pairs:
            rb = wl.register(u32, R)
            for r in range(R):
                rb[r] = b[N * pair + 32 * r + wl.lane_id()]
            out = wl.accumulator(u32, op="^", inner="&", shape=(2 * R,))
            multiply(a, N * pair, rb, out)
            for q in range(2 * R):
                c[2 * N * pair + 32 * q + wl.lane_id()] = out[q].value()

    return kernel


def ffm_runs(degree: int, warps: int = 4) -> wl.Sketch:
    """Multiplication in GF(2^D) as in `field.ffm_reg`, with the product of `mult_runs`; D a multiple of 32."""
    D, ROWS, WARPS = degree, degree // 32, warps
    multiply, reduce = multiplied(ROWS), reduced(degree)
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=field_spec(D),
        block=32 * WARPS,
        grid=wl.ceil_div(pairs, WARPS),
        complete_at={"pairs": 1},
        algebra="xor/and",
        name=f"ffm_{D}",
    )
    def kernel(a: wl.Global[u32, D * pairs], b: wl.Global[u32, D * pairs], c: wl.Global[u32, D * pairs]):
        pair = WARPS * wl.block_id() + wl.warp_id()
        if pair < pairs:
            rb = wl.register(u32, ROWS)
            for r in range(ROWS):
                rb[r] = b[D * pair + 32 * r + wl.lane_id()]
            out = wl.accumulator(u32, op="^", inner="&", shape=(2 * ROWS,))
            multiply(a, D * pair, rb, out)
            reduce(out, c, D * pair)

    return kernel
