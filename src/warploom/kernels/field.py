"""Multiplication in GF(2^D), bit-sliced (see `polynomial`): schoolbook over blocks of 64 coefficients, then reduction.

The 64 x 64 tile has the holes of `polynomial.mult64_reg` under the same names, so its completions fill this kernel too.
The modulus is x^D + x^a + x^b + x^c + 1 with the smallest exponents (`binary_field.pentanomial`).
Source: Swizzle Inventor, section 7.2; Ben-Sasson et al. 2016.
"""

# ruff: noqa: N806  (capitals: compile-time constants of a sketch)
# pyright: basic, reportInvalidTypeForm=false, reportIndexIssue=false

from collections.abc import Callable
from typing import Any

from warploom.core import u32
from warploom.kernels import language as wl
from warploom.kernels.binary_field import pentanomial


def field_spec(degree: int):
    """c = a * b mod the modulus, for each of `pairs` pairs of 32 field elements in D words: Horner's rule in x."""
    D = degree
    E1, E2, E3 = pentanomial(degree)

    def spec(a, b, c, pairs):
        for p in range(pairs):
            for j in range(D):
                carry = c[D * p + D - 1]
                for i in range(D - 1):
                    c[D * p + D - 1 - i] = c[D * p + D - 2 - i]
                c[D * p] = carry
                c[D * p + E1] ^= carry
                c[D * p + E2] ^= carry
                c[D * p + E3] ^= carry
                for i in range(D):
                    c[D * p + i] ^= a[D * p + i] & b[D * p + D - 1 - j]

    return spec


def reduced(degree: int) -> Callable[..., Any]:
    """The device function that stores a product of 2 D / 32 rows, modulo the polynomial, from index `first` of `c` on."""
    ROWS = degree // 32
    E1, E2, E3 = pentanomial(degree)

    @wl.device
    def fold(product, low, e):
        """Adds x^e times the upper half of the product to `low`, which has one row more than a field element."""
        lane = wl.lane_id()
        for r in range(ROWS + 1):
            same = product[ROWS + r] if r < ROWS else wl.literal(u32, 0)
            below = product[ROWS + r - 1] if r > 0 else wl.literal(u32, 0)
            # the sender decides: its value arrives e lanes up, from lane 32 - e on in the next row
            sent = same if lane < 32 - e else below
            low[r] = low[r] ^ wl.shfl(sent, (lane - e) % 32)

    @wl.device
    def fold_top(low, top, e):
        """Adds x^e times the row that stood out; only its lanes below a <= 15 are not zero, so nothing wraps around."""
        low[0] = low[0] ^ wl.shfl(top, (wl.lane_id() - e) % 32)

    @wl.device
    def reduce(out, c, first):
        product = wl.register(u32, 2 * ROWS)
        low = wl.register(u32, ROWS + 1)
        for r in range(2 * ROWS):
            product[r] = out[r].value()
        for r in range(ROWS):
            low[r] = product[r]
        low[ROWS] = wl.literal(u32, 0)
        fold(product, low, 0)
        fold(product, low, E3)
        fold(product, low, E2)
        fold(product, low, E1)
        top = low[ROWS]
        fold_top(low, top, 0)
        fold_top(low, top, E3)
        fold_top(low, top, E2)
        fold_top(low, top, E1)
        for r in range(ROWS):
            c[first + 32 * r + wl.lane_id()] = low[r]

    return reduce


def ffm_reg(degree: int, restricted: bool = True, warps: int = 1) -> wl.Sketch:
    """One of the `warps` per pair of blocks of 32 field elements, everything in registers; D a multiple of 32."""
    D, ROWS, WARPS = degree, degree // 32, warps
    BLOCKS = (ROWS + 1) // 2
    reduce = reduced(degree)
    COEFFICIENTS = CONSTANTS = (0, 1, -1) if restricted else None
    pairs = wl.size("pairs")

    @wl.device(shared_holes=True)
    def mult64(ra, rb, x, y, out):
        """Adds the product of 64-blocks x of a and y of b to rows 2(x+y) .. 2(x+y) + 3 of the product."""
        lane = wl.lane_id()
        q = 2 * (x + y)
        for i in range(32):
            sent_a0 = ra[2 * x + wl.part(2, lane, i, name="a0_row")]
            sent_a1 = ra[2 * x + wl.part(2, lane, i, name="a1_row")]
            sent_b0 = rb[2 * y + wl.part(2, lane, i, name="b0_row")]
            sent_b1 = rb[2 * y + wl.part(2, lane, i, name="b1_row")]
            a0 = wl.shfl(sent_a0, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a0_lane"))
            a1 = wl.shfl(sent_a1, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="a1_lane"))
            b0 = wl.shfl(sent_b0, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b0_lane"))
            b1 = wl.shfl(sent_b1, wl.xform(lane, 32, i, coefficients=COEFFICIENTS, constants=CONSTANTS, name="b1_lane"))
            out[q].add(a0, b0, when=wl.cond(lane, i, name="c0_a0_b0"))
            out[q].add(a0, b1, when=wl.cond(lane, i, name="c0_a0_b1"))
            out[q].add(a1, b0, when=wl.cond(lane, i, name="c0_a1_b0"))
            out[q].add(a1, b1, when=wl.cond(lane, i, name="c0_a1_b1"))
            out[q + 1].add(a0, b0, when=wl.cond(lane, i, name="c1_a0_b0"))
            out[q + 1].add(a0, b1, when=wl.cond(lane, i, name="c1_a0_b1"))
            out[q + 1].add(a1, b0, when=wl.cond(lane, i, name="c1_a1_b0"))
            out[q + 1].add(a1, b1, when=wl.cond(lane, i, name="c1_a1_b1"))
            out[q + 2].add(a0, b0, when=wl.cond(lane, i, name="c2_a0_b0"))
            out[q + 2].add(a0, b1, when=wl.cond(lane, i, name="c2_a0_b1"))
            out[q + 2].add(a1, b0, when=wl.cond(lane, i, name="c2_a1_b0"))
            out[q + 2].add(a1, b1, when=wl.cond(lane, i, name="c2_a1_b1"))
            out[q + 3].add(a0, b0, when=wl.cond(lane, i, name="c3_a0_b0"))
            out[q + 3].add(a0, b1, when=wl.cond(lane, i, name="c3_a0_b1"))
            out[q + 3].add(a1, b0, when=wl.cond(lane, i, name="c3_a1_b0"))
            out[q + 3].add(a1, b1, when=wl.cond(lane, i, name="c3_a1_b1"))

    @wl.sketch(
        spec=field_spec(D),
        block=32 * warps,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name=f"ffm_{D}",
    )
    def kernel(a: wl.Global[u32, D * pairs], b: wl.Global[u32, D * pairs], c: wl.Global[u32, D * pairs]):
        pair = wl.block_id() if WARPS == 1 else WARPS * wl.block_id() + wl.warp_id()
        first = D * pair
        ra = wl.register(u32, 2 * BLOCKS)
        rb = wl.register(u32, 2 * BLOCKS)
        last = first + D if WARPS == 1 else min(first + D, D * pairs)
        wl.global_to_register(a, ra, offset=first, size=last)
        wl.global_to_register(b, rb, offset=first, size=last)
        out = wl.accumulator(u32, op="^", inner="&", shape=(4 * BLOCKS,))
        for x in range(BLOCKS):
            for y in range(BLOCKS):
                mult64(ra, rb, x, y, out)
        if WARPS == 1 or pair < pairs:
            reduce(out, c, first)

    return kernel


def ffm_shared(degree: int, warps: int = 1) -> wl.Sketch:
    """The same through shared memory, complete: eight accumulates per 64 x 64 step, reduction from shared memory."""
    D, ROWS, WARPS = degree, degree // 32, warps
    BLOCKS = (ROWS + 1) // 2
    E1, E2, E3 = pentanomial(degree)
    pairs = wl.size("pairs")

    @wl.device
    def fold(product, first, sums, r, e):
        at = 32 * r + wl.lane_id() - e
        sums[r].add(product[first + D + at], when=at >= 0 and at < D)

    @wl.device
    def fold_top(top, first, result, e):
        lane = wl.lane_id()
        result.add(top[first + lane - e], when=lane >= e)

    @wl.device
    def put(c, first, product, of_warp, result, sums):
        lane = wl.lane_id()
        c[first + lane] = result.value()
        for r in range(1, ROWS):
            c[first + 32 * r + lane] = product[of_warp + 32 * r + lane] ^ sums[r].value()

    @wl.sketch(
        spec=field_spec(D),
        block=32 * warps,
        grid=wl.ceil_div(pairs, warps),
        complete_at={"pairs": warps},
        algebra="xor/and",
        name=f"ffm_{D}_shared",
    )
    def kernel(a: wl.Global[u32, D * pairs], b: wl.Global[u32, D * pairs], c: wl.Global[u32, D * pairs]):
        lane = wl.lane_id()
        warp = 0 if WARPS == 1 else wl.warp_id()
        pair = wl.block_id() if WARPS == 1 else WARPS * wl.block_id() + warp
        first = D * pair
        sa = wl.shared(u32, 64 * BLOCKS * WARPS)
        sb = wl.shared(u32, 64 * BLOCKS * WARPS)
        product = wl.shared(u32, 2 * D * WARPS)
        top = wl.shared(u32, 32 * WARPS)
        if WARPS == 1:
            wl.global_to_shared(a, sa, offset=first, size=first + D)
            wl.global_to_shared(b, sb, offset=first, size=first + D)
        else:
            ra = wl.register(u32, 2 * BLOCKS)
            rb = wl.register(u32, 2 * BLOCKS)
            last = min(first + D, D * pairs)
            wl.global_to_register(a, ra, offset=first, size=last)
            wl.global_to_register(b, rb, offset=first, size=last)
            wl.register_to_shared(ra, sa, offset=64 * BLOCKS * warp)
            wl.register_to_shared(rb, sb, offset=64 * BLOCKS * warp)
        wl.sync()
        own = 64 * BLOCKS * warp
        of_warp = 2 * D * warp
        out = wl.accumulator(u32, op="^", inner="&", shape=(4 * BLOCKS,))
        for x in range(BLOCKS):
            for y in range(BLOCKS):
                q = 2 * (x + y)
                for i in range(32):
                    a0 = sa[own + 64 * x + i]
                    a1 = sa[own + 64 * x + 32 + i]
                    b0 = sb[own + 64 * y + (lane - i) % 32]
                    b1 = sb[own + 64 * y + 32 + (lane - i) % 32]
                    out[q].add(a0, b0, when=i <= lane)
                    out[q + 1].add(a0, b1, when=i <= lane)
                    out[q + 1].add(a1, b0, when=i <= lane)
                    out[q + 1].add(a0, b0, when=i > lane)
                    out[q + 2].add(a1, b1, when=i <= lane)
                    out[q + 2].add(a0, b1, when=i > lane)
                    out[q + 2].add(a1, b0, when=i > lane)
                    out[q + 3].add(a1, b1, when=i > lane)
        for r in range(2 * ROWS):
            product[of_warp + 32 * r + lane] = out[r].value()
        wl.sync()
        sums = wl.accumulator(u32, op="^", inner="&", shape=(ROWS + 1,))
        for r in range(ROWS + 1):
            fold(product, of_warp, sums, r, 0)
            fold(product, of_warp, sums, r, E3)
            fold(product, of_warp, sums, r, E2)
            fold(product, of_warp, sums, r, E1)
        top[32 * warp + lane] = sums[ROWS].value()
        wl.sync()
        result = wl.accumulator(u32, op="^", inner="&")
        result.add(sums[0].value())
        result.add(product[of_warp + lane])
        fold_top(top, 32 * warp, result, 0)
        fold_top(top, 32 * warp, result, E3)
        fold_top(top, 32 * warp, result, E2)
        fold_top(top, 32 * warp, result, E1)
        if WARPS == 1 or pair < pairs:
            put(c, first, product, of_warp, result, sums)

    return kernel
