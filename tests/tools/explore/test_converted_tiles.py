"""Products whose factors are converted on the way to shared memory are proved by one thread for all; planted mistakes never."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest

from warploom.core import f32, i8, i16
from warploom.gpu import toolchain_available
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.frontend import out, tensor
from warploom.schedule.nest import Buffer
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")

SIZES = {"m": 16, "n": 32, "k": 24}
KERNEL = """extern "C" __global__ void mixed(const short* __restrict__ X, const signed char* __restrict__ W,
                                 const float* __restrict__ s, float* __restrict__ Y)
{
    __shared__ float xs[16][9], ws[16][9];
    const int x = threadIdx.x, y = threadIdx.y, m0 = blockIdx.y * 16, n0 = blockIdx.x * 16;
    float total[2][2] = {};
    for (int k0 = 0; k0 < 24; k0 += 8) {
        for (int r = 0; r < 2; ++r) {
            xs[y * 2 + r][x] = (float)X[(m0 + y * 2 + r) * 24 + k0 + x];
            ws[y * 2 + r][x] = (float)W[(n0 + y * 2 + r) * 24 + k0 + x] * s[k0 + x];
        }
        __syncthreads();
        for (int k = 0; k < 8; ++k)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j)
                    total[i][j] += xs[y * 2 + i][k] * ws[x * 2 + j][k];
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            Y[(m0 + y * 2 + i) * 32 + n0 + x * 2 + j] = total[i][j];
}
"""


@tensor
def mixed(X: i16["m", "k"], W: i8["n", "k"], s: f32["k"], Y: out[f32["m", "n"]]):
    Y[m, n] = sum(f32(X[m, k]) * (f32(W[n, k]) * s[k]), over=k)


def proof(text: str, most_steps: int = 20_000) -> CompiledProof:
    stage = mixed.program(SIZES).stages[0].plain
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    kernel = CudaKernel("mixed", text, (2, 1, 1), (8, 8, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
    return prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), most_steps)


def test_one_thread_stands_for_all() -> None:
    """Threads copy along one axis and multiply along another; by each thread for itself it takes more steps."""
    found = proof(KERNEL)
    assert found.verdict == "proved", found.reason


MISTAKES = {
    "a sign": ("(float)W[", "(float)(unsigned char)W["),
    "one thread's element": ("* s[k0 + x]", "* s[k0 + x] + (x == 3 && y == 2)"),
    "one round's scale": ("* s[k0 + x]", "* s[(k0 == 8 ? 0 : k0) + x]"),
    "a scale of another column": ("* s[k0 + x]", "* s[k0 + y]"),
    "rows of one block": ("W[(n0 + y * 2 + r)", "W[(y * 2 + r)"),
    "a column of another thread": ("ws[x * 2 + j][k]", "ws[x * 2 + 1 - j][k]"),
    "copies turned": ("xs[y * 2 + r][x] =", "xs[x * 2 + r][y] ="),
    "reads turned": ("xs[y * 2 + i][k]", "xs[x * 2 + i][k]"),
    "one warp does not wait": ("        __syncthreads();\n        for", "        if (y < 4) __syncthreads();\n        for"),
    "no wait before the sums": ("        __syncthreads();\n        for", "        for"),
    "no wait behind the sums": ("        __syncthreads();\n    }", "    }"),
    "the last round": ("k0 < 24", "k0 < 16"),
    "one thread's result": ("= total[i][j]", "= x == 5 && y == 6 ? total[j][i] : total[i][j]"),
}


@pytest.mark.parametrize(("right", "wrong"), MISTAKES.values(), ids=MISTAKES)
def test_planted_mistakes_are_not_proved(right: str, wrong: str) -> None:
    assert KERNEL.count(right) == 1
    assert proof(KERNEL.replace(right, wrong), 1_000_000).verdict != "proved"
