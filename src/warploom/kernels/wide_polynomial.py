"""Products of polynomials with several coefficients per lane: the sketch of 64 x 64 widened to any power of two of registers.

With r coefficients of each input per lane, a lane fetches r words of each in every iteration, multiplies all r * r pairs, and
any pair may go to any of the 2r accumulators: 2r^3 guarded accumulates. Layout and algebra are those of `polynomial`.
Source: Swizzle Inventor, section 7.2 (r = 2).
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from warploom.core import u32
from warploom.kernels import language as wl
from warploom.kernels.polynomial import mult_spec

ROWS = (2, 4, 8)
"""Registers per input and lane."""


@wl.device
def to_four(out, first, a, b, lane, i):
    """Adds a * b to any of four accumulators from `first`."""
    out[first].add(a, b, when=wl.cond(lane, i, name="c0"))
    out[first + 1].add(a, b, when=wl.cond(lane, i, name="c1"))
    out[first + 2].add(a, b, when=wl.cond(lane, i, name="c2"))
    out[first + 3].add(a, b, when=wl.cond(lane, i, name="c3"))


@wl.device
def to_eight(out, a, b, lane, i):
    """Adds a * b to any of eight accumulators."""
    to_four(out, 0, a, b, lane, i)
    to_four(out, 4, a, b, lane, i)


@wl.device
def to_sixteen(out, a, b, lane, i):
    """Adds a * b to any of sixteen accumulators."""
    to_eight(out, a, b, lane, i)
    to_four(out, 8, a, b, lane, i)
    to_four(out, 12, a, b, lane, i)


@wl.device
def times_four(out, a, b0, b1, b2, b3, lane, i):
    to_eight(out, a, b0, lane, i)
    to_eight(out, a, b1, lane, i)
    to_eight(out, a, b2, lane, i)
    to_eight(out, a, b3, lane, i)


@wl.device
def times_eight(out, a, b0, b1, b2, b3, b4, b5, b6, b7, lane, i):
    to_sixteen(out, a, b0, lane, i)
    to_sixteen(out, a, b1, lane, i)
    to_sixteen(out, a, b2, lane, i)
    to_sixteen(out, a, b3, lane, i)
    to_sixteen(out, a, b4, lane, i)
    to_sixteen(out, a, b5, lane, i)
    to_sixteen(out, a, b6, lane, i)
    to_sixteen(out, a, b7, lane, i)


def mult_reg(rows: int, lanes: int = 32, restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """`rows * lanes` coefficients per input from registers by shuffles; holes as in `polynomial.mult64_reg`."""
    R, W, N, WARPS = rows, lanes, rows * lanes, warps
    COEFFICIENTS = CONSTANTS = (0, 1, -1) if restricted else None
    pairs = wl.size("pairs")

    @wl.device
    def fetch(words, lane, i):
        sent = words[wl.part(R, lane, i, name="row")]
        return wl.shfl(sent, wl.xform(lane, W, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="lane"), W)

    step = _step(rows, fetch)

    @wl.sketch(
        spec=mult_spec(N),
        block=W * warps,
        warp_size=W,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name=f"mult{N}_reg",
    )
    def kernel(a: wl.Global[u32, N * pairs], b: wl.Global[u32, N * pairs], c: wl.Global[u32, 2 * N * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id() if WARPS == 1 else WARPS * wl.block_id() + wl.warp_id()
        ra = wl.register(u32, R)
        rb = wl.register(u32, R)
        rc = wl.register(u32, 2 * R)
        wl.global_to_register(a, ra, offset=N * pair)
        wl.global_to_register(b, rb, offset=N * pair)
        out = wl.accumulator(u32, op="^", inner="&", shape=(2 * R,))
        for i in range(W):
            step(out, ra, rb, lane, i)
        for q in range(2 * R):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=2 * N * pair)

    return kernel


def mult_shared(rows: int, lanes: int = 32, restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """`rows * lanes` coefficients per input from shared memory; holes as in `polynomial.mult64_shared`."""
    R, W, N, WARPS = rows, lanes, rows * lanes, warps
    COEFFICIENTS, CONSTANTS = ((0, 1, -1), (0, 1, -1, *range(W, N, W))) if restricted else (None, None)
    pairs = wl.size("pairs")

    @wl.device
    def fetch(words, lane, i):
        return words[
            N * (wl.warp_id() % WARPS) + wl.xform(lane, N, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="index")
        ]

    step = _step(rows, fetch)

    @wl.sketch(
        spec=mult_spec(N),
        block=W * warps,
        warp_size=W,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name=f"mult{N}_shared",
    )
    def kernel(a: wl.Global[u32, N * pairs], b: wl.Global[u32, N * pairs], c: wl.Global[u32, 2 * N * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id() if WARPS == 1 else WARPS * wl.block_id() + wl.warp_id()
        sa = wl.shared(u32, N * WARPS)
        sb = wl.shared(u32, N * WARPS)
        rc = wl.register(u32, 2 * R)
        wl.global_to_shared(a, sa, offset=N * WARPS * wl.block_id())
        wl.global_to_shared(b, sb, offset=N * WARPS * wl.block_id())
        wl.sync()
        out = wl.accumulator(u32, op="^", inner="&", shape=(2 * R,))
        for i in range(W):
            step(out, sa, sb, lane, i)
        for q in range(2 * R):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=2 * N * pair)

    return kernel


def mult_baseline(rows: int, lanes: int = 32) -> wl.Sketch:
    """Baseline from shared memory, complete: lane t multiplies a[i] by b[t-i] in 2 * rows * rows guarded accumulates."""
    R, W, N = rows, lanes, rows * lanes
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=mult_spec(N),
        block=W,
        warp_size=W,
        grid=pairs,
        complete_at={"pairs": 1},
        algebra="xor/and",
        name=f"mult{N}_baseline",
    )
    def kernel(a: wl.Global[u32, N * pairs], b: wl.Global[u32, N * pairs], c: wl.Global[u32, 2 * N * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id()
        sa = wl.shared(u32, N)
        sb = wl.shared(u32, N)
        rc = wl.register(u32, 2 * R)
        wl.global_to_shared(a, sa, offset=N * pair)
        wl.global_to_shared(b, sb, offset=N * pair)
        wl.sync()
        out = wl.accumulator(u32, op="^", inner="&", shape=(2 * R,))
        for i in range(W):
            for x in range(R):
                for y in range(R):
                    out[x + y].add(sa[W * x + i], sb[W * y + (lane - i) % W], when=i <= lane)
                    out[x + y + 1].add(sa[W * x + i], sb[W * y + (lane - i) % W], when=i > lane)
        for q in range(2 * R):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=2 * N * pair)

    return kernel


def _step(rows: int, fetch):
    """One iteration: fetches `rows` words of each input and offers every product to every accumulator."""
    assert rows in ROWS

    @wl.device
    def by_two(out, a, b, lane, i):
        a0 = fetch(a, lane, i)
        a1 = fetch(a, lane, i)
        b0 = fetch(b, lane, i)
        b1 = fetch(b, lane, i)
        to_four(out, 0, a0, b0, lane, i)
        to_four(out, 0, a0, b1, lane, i)
        to_four(out, 0, a1, b0, lane, i)
        to_four(out, 0, a1, b1, lane, i)

    @wl.device
    def by_four(out, a, b, lane, i):
        a0 = fetch(a, lane, i)
        a1 = fetch(a, lane, i)
        a2 = fetch(a, lane, i)
        a3 = fetch(a, lane, i)
        b0 = fetch(b, lane, i)
        b1 = fetch(b, lane, i)
        b2 = fetch(b, lane, i)
        b3 = fetch(b, lane, i)
        times_four(out, a0, b0, b1, b2, b3, lane, i)
        times_four(out, a1, b0, b1, b2, b3, lane, i)
        times_four(out, a2, b0, b1, b2, b3, lane, i)
        times_four(out, a3, b0, b1, b2, b3, lane, i)

    @wl.device
    def by_eight(out, a, b, lane, i):
        a0 = fetch(a, lane, i)
        a1 = fetch(a, lane, i)
        a2 = fetch(a, lane, i)
        a3 = fetch(a, lane, i)
        a4 = fetch(a, lane, i)
        a5 = fetch(a, lane, i)
        a6 = fetch(a, lane, i)
        a7 = fetch(a, lane, i)
        b0 = fetch(b, lane, i)
        b1 = fetch(b, lane, i)
        b2 = fetch(b, lane, i)
        b3 = fetch(b, lane, i)
        b4 = fetch(b, lane, i)
        b5 = fetch(b, lane, i)
        b6 = fetch(b, lane, i)
        b7 = fetch(b, lane, i)
        times_eight(out, a0, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a1, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a2, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a3, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a4, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a5, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a6, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)
        times_eight(out, a7, b0, b1, b2, b3, b4, b5, b6, b7, lane, i)

    return {2: by_two, 4: by_four, 8: by_eight}[rows]
