"""Products and attention in Triton, whose code for sm_90 and sm_100 takes the matrix units; import only with Triton."""

# pyright: basic
import triton
import triton.language as tl


@triton.jit
def of_pointers(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TURNED: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=c.dtype.element_ty)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
        if TURNED:
            right = tl.load(b + columns[None, :] * k + (start + inner)[:, None])
        else:
            right = tl.load(b + (start + inner)[:, None] * n + columns[None, :])
        total = tl.dot(left, right, total, out_dtype=c.dtype.element_ty)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def of_descriptors(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        total = tl.dot(a.load([row, start]), b.load([start, column]), total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def of_own_descriptors(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [M, K])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [K, N])
    out = tl.make_tensor_descriptor(c, [m, n], [n, 1], [M, N])
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        total = tl.dot(left.load([row, start]), right.load([start, column]), total)
    out.store([row, column], total.to(tl.float16))


@triton.jit
def attention(q, k, v, o, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    inner = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + inner[None, :])
    total = tl.zeros((M, D), dtype=tl.float32)
    biggest = tl.full((M,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    for start in range(0, n, N):
        columns = start + tl.arange(0, N)
        scores = tl.dot(query, tl.load(k + columns[None, :] * D + inner[:, None])) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -1.0e30)
        new = tl.maximum(biggest, tl.max(scores, 1))
        powers = tl.exp2(scores - new[:, None])
        share = tl.exp2(biggest - new)
        weight = weight * share + tl.sum(powers, 1)
        values = tl.load(v + columns[:, None] * D + inner[None, :])
        total = tl.dot(powers.to(tl.float16), values, total * share[:, None])
        biggest = new
    tl.store(o + rows[:, None] * D + inner[None, :], (total / weight[:, None]).to(tl.float16))
