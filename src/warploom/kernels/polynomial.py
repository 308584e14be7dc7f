"""Polynomial products over GF(2), bit-sliced: every u32 word holds one coefficient of 32 polynomials, + is xor, * is and.

A pair of polynomials with n coefficients gives 2n words, the last of which is zero. One warp per pair.
Source: Swizzle Inventor, section 7.2; restrictions of the holes as in the authors' sketches.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from warploom.core import u32
from warploom.kernels import language as wl

LANES = 32


def mult_spec(coefficients: int):
    """c = a * b for each of `pairs` pairs of polynomials with `coefficients` words each."""
    N = coefficients

    def spec(a, b, c, pairs):
        for p in range(pairs):
            for i in range(N):
                for j in range(i + 1):
                    c[2 * N * p + i] ^= a[N * p + j] & b[N * p + i - j]
                for j in range(i + 1, N):
                    c[2 * N * p + N + i] ^= a[N * p + j] & b[N * p + N + i - j]

    return spec


def mult32_reg(restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """32 x 32 coefficients from registers by shuffles; `restricted`: lanes are +-lane +-i + c, c in 0, 1, -1."""
    COEFFICIENTS = CONSTANTS = (0, 1, -1) if restricted else None
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=mult_spec(32),
        block=LANES * warps,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name="mult32_reg",
    )
    def kernel(a: wl.Global[u32, 32 * pairs], b: wl.Global[u32, 32 * pairs], c: wl.Global[u32, 64 * pairs]):
        lane = wl.lane_id()
        pair = wl.global_id() // 32
        ra = wl.register(u32, 1)
        rb = wl.register(u32, 1)
        rc = wl.register(u32, 2)
        wl.global_to_register(a, ra, offset=32 * pair)
        wl.global_to_register(b, rb, offset=32 * pair)
        out = wl.accumulator(u32, op="^", inner="&", shape=(2,))
        for i in range(32):
            x = wl.shfl(ra[0], wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a_lane"))
            y = wl.shfl(rb[0], wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b_lane"))
            out[0].add(x, y, when=wl.cond(lane, i, name="low"))
            out[1].add(x, y, when=wl.cond(lane, i, name="high"))
        for q in range(2):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=64 * pair)

    return kernel


def mult32_shared(restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """32 x 32 coefficients from shared memory, a pair for each of the `warps`; holes restricted as in `mult32_reg`."""
    COEFFICIENTS = CONSTANTS = (0, 1, -1) if restricted else None
    WARPS = warps
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=mult_spec(32),
        block=LANES * warps,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name="mult32_shared",
    )
    def kernel(a: wl.Global[u32, 32 * pairs], b: wl.Global[u32, 32 * pairs], c: wl.Global[u32, 64 * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id() if WARPS == 1 else WARPS * wl.block_id() + wl.warp_id()
        at = 0 if WARPS == 1 else 32 * wl.warp_id()
        sa = wl.shared(u32, 32 * WARPS)
        sb = wl.shared(u32, 32 * WARPS)
        rc = wl.register(u32, 2)
        wl.global_to_shared(a, sa, offset=32 * WARPS * wl.block_id())
        wl.global_to_shared(b, sb, offset=32 * WARPS * wl.block_id())
        wl.sync()
        out = wl.accumulator(u32, op="^", inner="&", shape=(2,))
        for i in range(32):
            x = sa[at + wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a_index")]
            y = sb[at + wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b_index")]
            out[0].add(x, y, when=wl.cond(lane, i, name="low"))
            out[1].add(x, y, when=wl.cond(lane, i, name="high"))
        for q in range(2):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=64 * pair)

    return kernel


def mult32_baseline() -> wl.Sketch:
    """32 x 32 coefficients from shared memory, complete: lane t reads a[i] and b[t-i] (Ben-Sasson et al.)."""
    pairs = wl.size("pairs")

    @wl.sketch(spec=mult_spec(32), block=32, grid=pairs, complete_at={"pairs": 1}, algebra="xor/and", name="mult32_baseline")
    def kernel(a: wl.Global[u32, 32 * pairs], b: wl.Global[u32, 32 * pairs], c: wl.Global[u32, 64 * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id()
        sa = wl.shared(u32, 32)
        sb = wl.shared(u32, 32)
        wl.global_to_shared(a, sa, offset=32 * pair)
        wl.global_to_shared(b, sb, offset=32 * pair)
        wl.sync()
        low = wl.accumulator(u32, op="^", inner="&")
        high = wl.accumulator(u32, op="^", inner="&")
        for i in range(32):
            x = sa[i]
            y = sb[(lane - i) % 32]
            low.add(x, y, when=i <= lane)
            high.add(x, y, when=i > lane)
        c[64 * pair + lane] = low.value()
        c[64 * pair + 32 + lane] = high.value()

    return kernel


def mult64_reg(restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """64 x 64 coefficients from registers by shuffles: four operands per iteration, sixteen guarded accumulates."""
    COEFFICIENTS = CONSTANTS = (0, 1, -1) if restricted else None
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=mult_spec(64),
        block=LANES * warps,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name="mult64_reg",
    )
    def kernel(a: wl.Global[u32, 64 * pairs], b: wl.Global[u32, 64 * pairs], c: wl.Global[u32, 128 * pairs]):
        lane = wl.lane_id()
        pair = wl.global_id() // 32
        ra = wl.register(u32, 2)
        rb = wl.register(u32, 2)
        rc = wl.register(u32, 4)
        wl.global_to_register(a, ra, offset=64 * pair)
        wl.global_to_register(b, rb, offset=64 * pair)
        out = wl.accumulator(u32, op="^", inner="&", shape=(4,))
        for i in range(32):
            sent_a0 = ra[wl.part(2, lane, i, name="a0_row")]
            sent_a1 = ra[wl.part(2, lane, i, name="a1_row")]
            sent_b0 = rb[wl.part(2, lane, i, name="b0_row")]
            sent_b1 = rb[wl.part(2, lane, i, name="b1_row")]
            a0 = wl.shfl(sent_a0, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a0_lane"))
            a1 = wl.shfl(sent_a1, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a1_lane"))
            b0 = wl.shfl(sent_b0, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b0_lane"))
            b1 = wl.shfl(sent_b1, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b1_lane"))
            out[0].add(a0, b0, when=wl.cond(lane, i, name="c0_a0_b0"))
            out[0].add(a0, b1, when=wl.cond(lane, i, name="c0_a0_b1"))
            out[0].add(a1, b0, when=wl.cond(lane, i, name="c0_a1_b0"))
            out[0].add(a1, b1, when=wl.cond(lane, i, name="c0_a1_b1"))
            out[1].add(a0, b0, when=wl.cond(lane, i, name="c1_a0_b0"))
            out[1].add(a0, b1, when=wl.cond(lane, i, name="c1_a0_b1"))
            out[1].add(a1, b0, when=wl.cond(lane, i, name="c1_a1_b0"))
            out[1].add(a1, b1, when=wl.cond(lane, i, name="c1_a1_b1"))
            out[2].add(a0, b0, when=wl.cond(lane, i, name="c2_a0_b0"))
            out[2].add(a0, b1, when=wl.cond(lane, i, name="c2_a0_b1"))
            out[2].add(a1, b0, when=wl.cond(lane, i, name="c2_a1_b0"))
            out[2].add(a1, b1, when=wl.cond(lane, i, name="c2_a1_b1"))
            out[3].add(a0, b0, when=wl.cond(lane, i, name="c3_a0_b0"))
            out[3].add(a0, b1, when=wl.cond(lane, i, name="c3_a0_b1"))
            out[3].add(a1, b0, when=wl.cond(lane, i, name="c3_a1_b0"))
            out[3].add(a1, b1, when=wl.cond(lane, i, name="c3_a1_b1"))
        for q in range(4):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=128 * pair)

    return kernel


def mult64_shared(restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """64 x 64 coefficients from shared memory, a pair for each of the `warps`: four operands, sixteen guarded accumulates."""
    COEFFICIENTS, CONSTANTS = ((0, 1, -1), (0, 1, -1, 32)) if restricted else (None, None)
    WARPS = warps
    pairs = wl.size("pairs")

    @wl.sketch(
        spec=mult_spec(64),
        block=LANES * warps,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name="mult64_shared",
    )
    def kernel(a: wl.Global[u32, 64 * pairs], b: wl.Global[u32, 64 * pairs], c: wl.Global[u32, 128 * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id() if WARPS == 1 else WARPS * wl.block_id() + wl.warp_id()
        at = 0 if WARPS == 1 else 64 * wl.warp_id()
        sa = wl.shared(u32, 64 * WARPS)
        sb = wl.shared(u32, 64 * WARPS)
        rc = wl.register(u32, 4)
        wl.global_to_shared(a, sa, offset=64 * WARPS * wl.block_id())
        wl.global_to_shared(b, sb, offset=64 * WARPS * wl.block_id())
        wl.sync()
        out = wl.accumulator(u32, op="^", inner="&", shape=(4,))
        for i in range(32):
            a0 = sa[at + wl.xform(lane, 64, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a0_index")]
            a1 = sa[at + wl.xform(lane, 64, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a1_index")]
            b0 = sb[at + wl.xform(lane, 64, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b0_index")]
            b1 = sb[at + wl.xform(lane, 64, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b1_index")]
            out[0].add(a0, b0, when=wl.cond(lane, i, name="c0_a0_b0"))
            out[0].add(a0, b1, when=wl.cond(lane, i, name="c0_a0_b1"))
            out[0].add(a1, b0, when=wl.cond(lane, i, name="c0_a1_b0"))
            out[0].add(a1, b1, when=wl.cond(lane, i, name="c0_a1_b1"))
            out[1].add(a0, b0, when=wl.cond(lane, i, name="c1_a0_b0"))
            out[1].add(a0, b1, when=wl.cond(lane, i, name="c1_a0_b1"))
            out[1].add(a1, b0, when=wl.cond(lane, i, name="c1_a1_b0"))
            out[1].add(a1, b1, when=wl.cond(lane, i, name="c1_a1_b1"))
            out[2].add(a0, b0, when=wl.cond(lane, i, name="c2_a0_b0"))
            out[2].add(a0, b1, when=wl.cond(lane, i, name="c2_a0_b1"))
            out[2].add(a1, b0, when=wl.cond(lane, i, name="c2_a1_b0"))
            out[2].add(a1, b1, when=wl.cond(lane, i, name="c2_a1_b1"))
            out[3].add(a0, b0, when=wl.cond(lane, i, name="c3_a0_b0"))
            out[3].add(a0, b1, when=wl.cond(lane, i, name="c3_a0_b1"))
            out[3].add(a1, b0, when=wl.cond(lane, i, name="c3_a1_b0"))
            out[3].add(a1, b1, when=wl.cond(lane, i, name="c3_a1_b1"))
        for q in range(4):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=128 * pair)

    return kernel


def mult64_baseline() -> wl.Sketch:
    """64 x 64 coefficients from shared memory, complete, with eight accumulates (Ben-Sasson et al.)."""
    pairs = wl.size("pairs")

    @wl.sketch(spec=mult_spec(64), block=32, grid=pairs, complete_at={"pairs": 1}, algebra="xor/and", name="mult64_baseline")
    def kernel(a: wl.Global[u32, 64 * pairs], b: wl.Global[u32, 64 * pairs], c: wl.Global[u32, 128 * pairs]):
        lane = wl.lane_id()
        pair = wl.block_id()
        sa = wl.shared(u32, 64)
        sb = wl.shared(u32, 64)
        rc = wl.register(u32, 4)
        wl.global_to_shared(a, sa, offset=64 * pair)
        wl.global_to_shared(b, sb, offset=64 * pair)
        wl.sync()
        out = wl.accumulator(u32, op="^", inner="&", shape=(4,))
        for i in range(32):
            a0, a1 = sa[i], sa[32 + i]
            b0, b1 = sb[(lane - i) % 32], sb[32 + (lane - i) % 32]
            out[0].add(a0, b0, when=i <= lane)
            out[1].add(a0, b1, when=i <= lane)
            out[1].add(a1, b0, when=i <= lane)
            out[1].add(a0, b0, when=i > lane)
            out[2].add(a1, b1, when=i <= lane)
            out[2].add(a0, b1, when=i > lane)
            out[2].add(a1, b0, when=i > lane)
            out[3].add(a1, b1, when=i > lane)
        for q in range(4):
            rc[q] = out[q].value()
        wl.register_to_global(rc, c, offset=128 * pair)

    return kernel
