"""Kernels in Triton, compiled without a GPU; import only where Triton is installed."""

# pyright: basic
from functools import cache

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside) + tl.load(y + offsets, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + columns, mask=columns < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + columns, powers / tl.sum(powers, axis=0), mask=columns < n)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left_mask = (rows < m)[:, None] & (start + inner < k)[None, :]
        right_mask = (start + inner < k)[:, None] & (columns < n)[None, :]
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :], mask=left_mask, other=0.0)
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :], mask=right_mask, other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16), mask=(rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def stencil_1d(u, w, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) + 1
    inside = i < n - 1
    left, middle, right = tl.load(u + i - 1, mask=inside), tl.load(u + i, mask=inside), tl.load(u + i + 1, mask=inside)
    tl.store(w + i, 0.25 * left + 0.5 * middle + 0.25 * right, mask=inside)


@triton.jit
def stencil_2d(u, w, nx, ny, X: tl.constexpr, Y: tl.constexpr):
    i = tl.program_id(0) * X + tl.arange(0, X)[None, :] + 1
    j = tl.program_id(1) * Y + tl.arange(0, Y)[:, None] + 1
    inside = (i < nx - 1) & (j < ny - 1)
    at = u + j * nx + i
    sides = tl.load(at - 1, mask=inside) + tl.load(at + 1, mask=inside)
    sides += tl.load(at - nx, mask=inside) + tl.load(at + nx, mask=inside)
    tl.store(w + j * nx + i, sides - 4.0 * tl.load(at, mask=inside), mask=inside)


@triton.jit
def scan(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.store(out + offsets, tl.cumsum(values, axis=0), mask=offsets < n)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    tl.atomic_add(bins + values, 1, mask=offsets < n)


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.sort(tl.load(x + offsets)))


@triton.jit
def halve_precision(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    tl.store(out + offsets, tl.math.erf(values).to(tl.bfloat16), mask=offsets < n)


@triton.jit
def row_sums(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + columns, mask=columns < n, other=0.0)
    tl.store(out + row, tl.sum(values, axis=0))


@triton.jit
def layer_norm(x, weight, bias, out, n, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    values = tl.load(x + row * n + columns, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / n
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + epsilon)
    scaled = (values - mean) * scale * tl.load(weight + columns, mask=inside) + tl.load(bias + columns, mask=inside)
    tl.store(out + row * n + columns, scaled, mask=inside)


@triton.jit
def matmul_f32(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left_mask = (rows < m)[:, None] & (start + inner < k)[None, :]
        right_mask = (start + inner < k)[:, None] & (columns < n)[None, :]
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :], mask=left_mask, other=0.0)
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :], mask=right_mask, other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=(rows < m)[:, None] & (columns < n)[None, :])


_F, _H, _I = "*fp32", "*fp16", "*i32"

KERNELS = {
    "vector_add": (vector_add, (_F, _F, _F, "i32"), (256,)),
    "softmax": (softmax, (_F, _F, "i32", "i32"), (1024,)),
    "matmul": (matmul, (_H, _H, _H, "i32", "i32", "i32"), (64, 64, 32)),
    "stencil_1d": (stencil_1d, (_F, _F, "i32"), (256,)),
    "stencil_2d": (stencil_2d, (_F, _F, "i32", "i32"), (64, 8)),
    "scan": (scan, (_I, _I, "i32"), (512,)),
    "histogram": (histogram, (_I, _I, "i32"), (256,)),
    "sort_rows": (sort_rows, (_I, _I), (256,)),
    "row_sums": (row_sums, (_F, _F, "i32"), (128,)),
    "small_softmax": (softmax, (_F, _F, "i32", "i32"), (128,)),
    "layer_norm": (layer_norm, (_F, _F, _F, _F, "i32", "fp32"), (128,)),
    "matmul_f32": (matmul_f32, (_F, _F, _F, "i32", "i32", "i32"), (16, 16, 16)),
    "halve_precision": (halve_precision, (_F, "*bf16", "i32"), (256,)),
}
"""Name: function, types of its arguments, values of its constants."""


@cache
def _compiled(name: str, capability: int):
    function, types, constants = KERNELS[name]
    arguments = dict(zip(function.arg_names, (*types, *("constexpr" for _ in constants)), strict=True))
    values = {(len(types) + place,): value for place, value in enumerate(constants)}
    source, target = ASTSource(function, arguments, values), GPUTarget("cuda", capability, 32)
    return triton.compile(source, target=target, options={"enable_fp_fusion": True})


def ptx_of(name: str, capability: int) -> str:
    """`capability`: 75, 80, 90, 100, 120. Two pointers to scratch memory follow the kernel's own parameters."""
    return _compiled(name, capability).asm["ptx"]


def dynamic_shared_bytes(name: str, capability: int) -> int:
    return _compiled(name, capability).metadata.shared


def block_threads(name: str, capability: int) -> int:
    return _compiled(name, capability).metadata.num_warps * 32
