"""A filter of three weights on other machines than HVX: what moves where, with the machine's own shuffles."""

from __future__ import annotations


def avx2_filter() -> str:
    """Eight outputs per 256-bit register of 32-bit elements; two unaligned registers must come out of two loaded ones."""
    return """\
x: [10] = range(0, 10)
weights: [3] = range(10, 13)
loaded: [2, 8] = gather(\\r, i. 8 * r + i if 8 * r + i < 10 else _)(x)
r2: [3, 8] = ?avx2{fresh}(loaded)
r3: [4, 8] = ?avx2{fresh}(r2)
r4: [5, 8] = ?avx2{fresh}(r3)
window: [8, 3] = gather(\\i, k. [0 if k == 0 else k + 2, i])(r4)
weight: [8, 3] = broadcast(weights)
products: [8, 3, 2] = fold(*) stack(window, weight)
out: [8, 3] = fold(+) reshape(products)
goal: [8] weight_conv{k=3}
"""


def amd_filter() -> str:
    """One output per lane of a wavefront of 64; data move by DPP, one lane at a time."""
    return """\
x: [66] = range(0, 66)
weights: [3] = range(66, 69)
loaded: [64, 2] = load_trunc(x)
first: [64, 1] = gather(\\t, k. [t, 0])(loaded)
send_1: [64, 1] = ?reg_select(loaded)
second: [64, 1] = ?amd_dpp(send_1)
send_2: [64, 1] = ?reg_select(loaded)
hop: [64, 1] = ?amd_dpp(send_2)
third: [64, 1] = ?amd_dpp(hop)
window: [64, 3] = gather(\\t, k. (k, [t, 0]))(first, second, third)
weight: [64, 3] = broadcast(weights)
products: [64, 3, 2] = fold(*) stack(window, weight)
out: [64, 3] = fold(+) reshape(products)
goal: [64] weight_conv{k=3}
"""
