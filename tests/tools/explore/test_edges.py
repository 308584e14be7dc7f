"""Blocks at the edges of an array, where threads compute in several ways: each way has a representative, which tells its own
threads only. A bug in any thread of any block is not proved."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest
from tests.tools.explore.test_every_block import Made, by_hand, proof

from warploom.core import f32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cuda_tiles
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.frontend import out, sharing_passes, tensor
from warploom.schedule.nest import Buffer
from warploom.synth.compiled import run_boxes
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")

CONVOLUTION = """
extern "C" __global__ void conv2d_same(const float* X, const float* W, float* Y)
{
    __shared__ float box[100], weights[9];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 8 + tx, bx = blockIdx.x, by = blockIdx.y;
    float y[2] = {};
    #pragma unroll 1
    for (int c = 0; c < 2; ++c) {
        for (int part = t; part < 100; part += 32) {
            const int h = by * 8 + part / 10 - 1, w = bx * 8 + part % 10 - 1;
            box[part] = h >= 0 && h < 24 && w >= 0 && w < 24 ? X[(c * 24 + h) * 24 + w] : 0.0f;
        }
        if (t < 9) {
            weights[t] = W[(blockIdx.z * 2 + c) * 9 + t];
        }
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < 3; ++r) {
            #pragma unroll
            for (int s = 0; s < 3; ++s) {
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    y[u] += box[(ty * 2 + u + r) * 10 + tx + s] * weights[r * 3 + s];
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        Y[((blockIdx.z * 24) + by * 8 + ty * 2 + u) * 24 + bx * 8 + tx] = y[u];
    }
}
"""
STORED, TERM = "= y[u];", "* weights[r * 3 + s];"
BUGS = {
    "another value in one thread at a corner": (STORED, "= bx == 0 && by == 0 && t == 0 ? 0.0f : y[u];"),
    "another value in one inner thread of a corner block": (STORED, "= bx == 2 && by == 2 && t == 9 ? 0.0f : y[u];"),
    "another value in the first column of an edge": (STORED, "= bx == 0 && by == 1 && tx == 0 ? 0.0f : y[u];"),
    "another value beside the first column of an edge": (STORED, "= bx == 0 && by == 1 && tx == 1 ? 0.0f : y[u];"),
    "right only where a representative of the left edge is": (STORED, "= bx == 0 && tx != 4 && tx != 0 ? 0.5f * y[u] : y[u];"),
    "one thread of the edge that stores nothing": (STORED, "= y[u]; if (bx == 2 && t == 31) return;"),
    "elements of the neighbour at the right edge": ("bx * 8 + tx] =", "bx * 8 + (bx == 2 ? tx ^ 1 : tx)] ="),
    "padding that is one on the left": (": 0.0f;", ": w < 0 ? 1.0f : 0.0f;"),
    "padding that is one at a corner": (": 0.0f;", ": w < 0 && h < 0 ? 1.0f : 0.0f;"),
    "a row too few is read": ("h < 24", "h < 23"),
    "a column too few is read": ("w >= 0", "w >= 1"),
    "a row of the channel before": ("h >= 0", "h >= -(c > 0)"),
    "weights of another place in the first column": (TERM, "* weights[r * 3 + (bx == 0 && tx == 0 ? 2 - s : s)];"),
    "weights of another place in one thread of the top": (TERM, "* weights[r * 3 + (by == 0 && t == 3 ? 2 - s : s)];"),
    "a term left out where it is padding elsewhere": (TERM, "* (bx == 1 && tx == 0 && s == 0 ? 0.0f : weights[r * 3 + s]);"),
    "the row below in the threads of the last row": ("ty * 2 + u + r)", "ty * 2 + u + r - (by == 2 && ty == 3 && u == 1))"),
    "no barrier in the blocks of one edge": ("        __syncthreads();\n    }", "        if (bx) __syncthreads();\n    }"),
}  # fmt: skip


def convolution() -> Made:
    function = tensor_kernel("conv2d_same").function
    return by_hand(function, {"c": 2, "o": 2, "h": 24, "w": 24}, CONVOLUTION, (3, 3, 2), (8, 4, 1))


def test_edge_blocks_are_proved_by_one_thread_of_each_kind() -> None:
    """One, two or four threads of a block store their results; what the others store is implied."""
    stage, kernel = convolution()
    ptx, arguments = compiled_for_proof(stage, kernel), arguments_of(stage, kernel)
    found = prove_blocks(stage, kernel, ptx, arguments)
    assert found.verdict == "proved", found.reason
    kinds: dict[tuple[int, ...], int] = {}
    for box, run in run_boxes(ptx, kernel.name, arguments, kernel.grid, kernel.block, alike=(True, True, True)):
        assert run.implied is not None and len(run.implied.elements_of("Y")) + len(run.written(arguments[2])) == 64
        kinds[box.first[:2]] = len(run.written(arguments[2])) // 2
    assert kinds == {(x, y): 1 if x == y == 1 else 2 if 1 in (x, y) else 4 for x in range(3) for y in range(3)}


@pytest.mark.parametrize("name", list(BUGS))
def test_bugs_at_edges_are_not_proved(name: str) -> None:
    assert proof(convolution(), *BUGS[name]).verdict != "proved"


@tensor
def both(X: f32[4, "n"], A: out[f32["n"]], B: out[f32["n"]]):
    A[j] = sum(X[i, j], over=i)
    B[j] = sum(X[i, j] * X[i, j], over=i)


BOTH = """
extern "C" __global__ void both(const float* X, float* A, float* B)
{
    __shared__ float squares[32];
    const int t = threadIdx.x, j = blockIdx.x * 32 + t;
    float a = 0.0f, b = 0.0f;
    for (int i = 0; i < 4; ++i) {
        a += X[i * 128 + j];
        b += X[i * 128 + j] * X[i * 128 + j];
    }
    A[j] = a;
    squares[t] = b;
    __syncthreads();
    if (t == 0) {
        for (int k = 0; k < 32; ++k) {
            B[j + k] = squares[k];
        }
    }
}
"""


def both_by_hand() -> Made:
    (stage,) = sharing_passes(both.program({"n": 128}), cuda_tiles).stages
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    return stage, CudaKernel(stage.name, BOTH, (4, 1, 1), (32, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))


def test_an_output_that_one_thread_stores_asks_nothing_of_the_others() -> None:
    assert proof(both_by_hand()).verdict == "proved"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("= squares[k]", "= squares[k ^ 1]"),
        ("= squares[k]", "= k == 9 ? 0.0f : squares[k]"),
        ("squares[t] = b", "squares[t] = t == 9 ? a : b"),
        ("A[j] = a", "A[j] = t == 9 ? b : a"),
        ("A[j] = a", "A[j] = t == 9 && blockIdx.x == 2 ? 0.0f : a"),
        ("a += X[i * 128 + j]", "a += X[i * 128 + (t == 9 ? j - 1 : j)]"),
        ("    __syncthreads();\n", ""),
        ("k < 32", "k < 31"),
    ],
)
def test_bugs_in_one_of_two_outputs_are_not_proved(right: str, wrong: str) -> None:
    assert proof(both_by_hand(), right, wrong).verdict != "proved"
