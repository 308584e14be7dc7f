"""CUDA that NVRTC compiles: right kernels are proved, and the same with one planted mistake is not."""

from collections.abc import Callable
from typing import Any

import pytest

from warploom.core import UnsupportedError, f32, i32, i64, u8, u32
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, prove_launch, run_plain_spec


def row_sums(y, x):
    for r in range(2):
        y[r] = sum(x[r, j] for j in range(64))


def transposed(y, x):
    for i in range(10):
        for j in range(6):
            y[i, j] = x[j, i]


def product(c, a, b):
    for i in range(4):
        for j in range(4):
            c[i, j] = sum(a[i, k] * b[k, j] for k in range(8))


def running_sum(y, x):
    total = 0
    for i in range(32):
        total = total + x[i]
        y[i] = total


def saturated(y, x, z):
    for i in range(32):
        y[i] = min(x[i] + z[i], 255)


def mean(y, x, z):
    for i in range(32):
        y[i] = (x[i] + z[i] + 1) >> 1


def total(y, x):
    y[0] = sum(x[i] for i in range(64))


def squares(y, x):
    for i in range(32):
        y[i] = (x[i] // 7) + x[i] % 7


def looked_up(y, x, idx):
    for i in range(32):
        y[i] = x[idx[i]] * 2


REDUCE = """k(float* y, const float* x) { __shared__ float s[64]; int t = threadIdx.x, b = blockIdx.x; s[t] = x[b * 64 + t];
__syncthreads(); for (int d = 32; d; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); } if (t == 0) y[b] = s[0]; }"""
TRANSPOSE = """k(float* y, const float* x) { __shared__ float s[4][5]; int X = threadIdx.x, Y = threadIdx.y;
int i = blockIdx.y * 4 + Y, j = blockIdx.x * 4 + X; if (i < 6 && j < 10) s[Y][X] = x[i * 10 + j]; __syncthreads();
int p = blockIdx.x * 4 + Y, q = blockIdx.y * 4 + X; if (p < 10 && q < 6) y[p * 6 + q] = s[X][Y]; }"""
TILES = """k(float* c, const float* a, const float* b) { __shared__ float A[2][4][2], B[2][2][4];
int X = threadIdx.x, Y = threadIdx.y;
if (X < 2) A[0][Y][X] = a[Y * 8 + X]; if (Y < 2) B[0][Y][X] = b[Y * 4 + X]; __syncthreads(); float t = 0;
for (int k = 0; k < 4; k++) { int p = k & 1, q = p ^ 1; if (k < 3) { if (X < 2) A[q][Y][X] = a[Y * 8 + (k + 1) * 2 + X];
if (Y < 2) B[q][Y][X] = b[((k + 1) * 2 + Y) * 4 + X]; } for (int l = 0; l < 2; l++) t += A[p][Y][l] * B[p][l][X]; __syncthreads();
} c[Y * 4 + X] = t; }"""
SCAN = """k(int* y, const int* x) { int t = threadIdx.x, v = x[t]; for (int d = 1; d < 32; d *= 2) {
int o = __shfl_up_sync(~0u, v, d); if (t >= d) v += o; } y[t] = v; }"""
SATURATE = """k(unsigned char* y, const unsigned char* x, const unsigned char* z) { int i = threadIdx.x; int v = x[i] + z[i];
y[i] = v > 255 ? 255 : v; }"""
MEAN = (
    "k(unsigned char* y, const unsigned char* x, const unsigned char* z) { int i = threadIdx.x; y[i] = (x[i] + z[i] + 1) >> 1; }"
)
ATOMIC = """k(float* y, const float* x) { float v = x[blockIdx.x * 32 + threadIdx.x];
for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d); if (threadIdx.x == 0) atomicAdd(y, v); }"""
DIVIDE = "k(unsigned* y, const unsigned* x) { int i = threadIdx.x; y[i] = x[i] / 7 + x[i] % 7; }"
LOOK_UP = "k(float* y, const float* x, const long long* idx) { int i = threadIdx.x; y[i] = x[idx[i]] * 2; }"

Case = tuple[str, Callable[..., None], tuple[Any, ...], tuple[int, int], tuple[int, int], tuple[tuple[str, str], ...]]
CASES: list[Case] = [
    (REDUCE, row_sums, ((f32, 2), (f32, 2, 64)), (2, 1), (64, 1),
     (("s[t + d]; __syncthreads();", "s[t + d];"), ("t < d", "t <= d"),
      ("s[t] = x[b * 64 + t]", "if (t < 63) s[t] = x[b * 64 + t]"))),
    (TRANSPOSE, transposed, ((f32, 10, 6), (f32, 6, 10)), (3, 2), (4, 4),
     (("__syncthreads();", ""), ("j < 10", "j < 11"), ("q < 6", "q < 5"), ("s[X][Y]", "s[Y][X]"),
      ("i < 6 &&", "i < 5 &&"))),
    (TILES, product, ((f32, 4, 4), (f32, 4, 8), (f32, 8, 4)), (1, 1), (4, 4),
     (("q = p ^ 1", "q = p"), ("B[p][l][X]; __syncthreads();", "B[p][l][X];"), ("k < 3", "k < 2"), ("B[p][l]", "B[q][l]"))),
    (SCAN, running_sum, ((i32, 32), (i32, 32)), (1, 1), (32, 1), (("t >= d", "t > d"), ("d < 32", "d < 16"))),
    (SATURATE, saturated, ((u8, 32),) * 3, (1, 1), (32, 1), (("int v", "unsigned char v"), ("? 255", "? 254"))),
    (MEAN, mean, ((u8, 32),) * 3, (1, 1), (32, 1), (("+ 1)", ")"), ("(x[i]", "(unsigned char)(x[i]"))),
    (ATOMIC, total, ((f32, 1), (f32, 64)), (2, 1), (32, 1), (("atomicAdd(", "atomicAdd_block("), ("~0u", "0xffffu"))),
    (DIVIDE, squares, ((u32, 32),) * 2, (1, 1), (32, 1),
     (("% 7", "% 6"), ("unsigned* y, const unsigned*", "int* y, const int*"))),
    (LOOK_UP, looked_up, ((f32, 32), (f32, 50), (i64, 32)), (1, 1), (32, 1),
     (("idx[i]]", "idx[i] + 1]"), ("idx[i]]", "idx[i ^ 1]]"))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "spec", "kinds", "grid", "block", "wrong"), CASES, ids=[c[1].__name__ for c in CASES])
def test_one_mistake_is_seen(text: str, spec, kinds, grid: tuple[int, int], block: tuple[int, int], wrong) -> None:
    if not toolchain_available():
        pytest.skip("the extra `cuda` (NVRTC) is not installed")
    arguments = tuple(ArrayArgument(n, k[0], k[1:]) for n, k in zip(spec.__code__.co_varnames, kinds, strict=False))
    if spec is total:
        arguments = (ArrayArgument("y", f32, (1,), "zeros"), *arguments[1:])

    def verdict(cuda: str) -> str:
        program = lower(parse(compile_to_ptx('extern "C" __global__ void ' + cuda)))
        try:
            return prove_launch(program, None, arguments, (*grid, 1), (*block, 1), run_plain_spec(spec, arguments)).verdict
        except UnsupportedError:
            return "not followed"

    assert verdict(text) == "proved"
    for old, new in wrong:
        assert old in text
        assert verdict(text.replace(old, new)) != "proved", (old, new)
