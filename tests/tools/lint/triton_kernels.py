"""Triton kernels of the tests; comments `WL...` mark lines with a mistake."""

import triton
import triton.language as tl


@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def unmasked(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i)  # WL002
    tl.store(out + i, a + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def same_place(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i, mask=i < n, other=0.0) + tl.load(y + i, mask=i < n, other=0.0), 0)
    tl.store(out, tl.load(out) + total)  # WL001
