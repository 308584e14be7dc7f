"""Small completed kernels and their specs, as text and Python, shared by the tests of proof, check and lift."""

from __future__ import annotations

from warploom.ir import Kernel, parse_kernel
from warploom.sketch import Sketch


def conv3(x, w, y, n):
    for i in range(n):
        for k in range(3):
            y[i] += w[k] * x[i + k]


CONV3 = """
@kernel(block=(64, 1, 1), grid=((n + 63) // 64, 1, 1), warp_size=32)
def conv3(x: Global[f32, n + 2], w: Constant[f32, 3], y: Global[f32, n] | out, n: size):
    lane = thread_id % 32
    first = block_id * 64 + thread_id - lane
    inp = register(f32, 2)
    for r in range(2):
        at = first + (r * 32 + lane)
        inp[r] = x[at] if at < min(first + 34, n + 2) else f32(0.0)
    out = accumulator(f32, op='+', init=0.0, finalize=__state)
    for k in range(3):
        sent: f32 = inp[0 if lane >= k else 1]
        got: f32 = shfl(sent, (lane + k) % 32, 32)
        out.add(w[k] * got)
    if first + lane < n:
        y[first + lane] = out.value()
"""


def reverse(x, y):
    for i in range(len(x)):
        y[i] = x[len(x) - 1 - i]


REVERSE = """
@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=4)
def reverse(x: Global[i32, 8], y: Global[i32, 8] | out):
    tile = shared(i32, 8)
    tile[thread_id] = x[thread_id]
    sync()
    y[thread_id] = tile[7 - thread_id]
"""


def carryless(a, b, c):
    for i in range(4):
        for j in range(i + 1):
            c[i] ^= a[j] & b[i - j]


CARRYLESS = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def carryless(a: Global[u32, 4], b: Global[u32, 4], c: Global[u32, 4] | out):
    mine: u32 = a[thread_id]
    yours: u32 = b[thread_id]
    out = accumulator(u32, op='^', init=0, finalize=__state)
    for j in range(4):
        p: u32 = shfl(mine, j, 4)
        q: u32 = shfl(yours, (thread_id - j) % 4, 4)
        out.add(p & q, when=j <= thread_id)
    c[thread_id] = out.value()
"""


def parse(text: str, *changes: tuple[str, str]) -> Kernel:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return parse_kernel(text.strip() + "\n")


def sketch_of(kernel: Kernel, spec, complete_at: dict[str, int] | None = None, algebra: str | None = None) -> Sketch:
    return Sketch(kernel, spec, complete_at or {}, algebra)
