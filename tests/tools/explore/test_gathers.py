"""Kernels that read elements at places in index arrays are proved for indices inside; a bug in a place never is."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.core import f32, i32, i64
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Backbone
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.frontend import TensorFunction, out, pad, tensor
from warploom.schedule.nest import Buffer
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof, prove_kernel

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")

SIZES = {"v": 1000, "d": 16, "n": 24}


@tensor
def rows(W: f32["v", "d"], t: i32["n"], Y: out[f32["n", "d"]]):
    Y[n, d] = W[t[n], d]


@tensor
def wide_rows(W: f32["v", "d"], t: i64["n"], Y: out[f32["n", "d"]]):
    Y[n, d] = W[t[n], d]


@tensor
def scaled_rows(W: f32["v", "d"], V: f32["n", "d"], t: i32["n"], Y: out[f32["n", "d"]]):
    Y[n, d] = W[t[n], d] * V[n, d] + V[n, d]


@tensor
def picked(W: f32["n", "v"], t: i32["n"], Y: out[f32["n"]]):
    Y[n] = sum(W[n, v], over=v) - W[n, t[n]]


@tensor
def summed_rows(W: f32["v", "d"], t: i32["n", "k"], Y: out[f32["n", "d"]]):
    Y[n, d] = sum(W[t[n, k], d], over=k)


@tensor
def paired(W: f32["v", "v"], t: i32["n"], V: i32["n"], Y: out[f32["n"]]):
    Y[n] = W[t[n], V[n]]


@tensor
def padded(W: f32["v"], t: i32["n"], Y: out[f32["n"]]):
    Y[n] = pad(W, 0)[t[n]]


Made = tuple[Backbone, CudaKernel]
Triple = tuple[int, int, int]


def made(function: TensorFunction, body: str, grid: Triple, block: Triple, sizes: dict[str, int]) -> Made:
    stage = function.program(sizes).stages[0].plain
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    types = {"f32": "float", "i32": "int", "i64": "long long"}
    const = {r.name: "" if r.name == "Y" else "const " for r in stage.regions}
    parameters = ", ".join(f"{const[b.name]}{types[b.dtype.name]}* __restrict__ {b.name}" for b in buffers)
    text = f'extern "C" __global__ void {stage.name}({parameters})\n{{{body}}}\n'
    return stage, CudaKernel(stage.name, text, grid, block, buffers, (), (), 0, 0, Options(arch="sm_90"))


def proof(kernel: Made) -> CompiledProof:
    stage, printed = kernel
    return prove_blocks(stage, printed, compiled_for_proof(stage, printed), arguments_of(stage, printed))


ROW = """
    const int i = blockIdx.x * 4 + threadIdx.y, j = threadIdx.x * 2;
    int place = min(max(t[i], 0), 999) * 16;
    for (int c = 0; c < 2; ++c)
        Y[i * 16 + j + c] = W[min(max(place + (j + c), 0), 15999)];
"""
NO_LIMITS = """
    const int i = blockIdx.x * 4 + threadIdx.y, j = threadIdx.x * 2;
    *(float2*)(Y + i * 16 + j) = *(const float2*)(W + (size_t)t[i] * 16 + j);
"""
STAGED = """
    __shared__ int places[4];
    const int i = blockIdx.x * 4 + threadIdx.y, j = threadIdx.x;
    if (j == 0) places[threadIdx.y] = min(max(t[i], 0), 999) * 16;
    __syncthreads();
    Y[i * 16 + j] = W[places[threadIdx.y] + j];
    Y[i * 16 + j + 8] = W[places[threadIdx.y] + j + 8];
"""
COLUMNS = """
    const int i = threadIdx.y + 4 * blockIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    if (i < 22 && j < 13)
        Y[i * 13 + j] = W[min(max(min(max(t[i], 0), 999) * 13 + j, 0), 12999)];
"""
WIDE = """
    const int i = blockIdx.x * 4 + threadIdx.y, j = threadIdx.x * 2;
    const int row = (int)min(max(t[i], 0ll), 999ll);
    for (int c = 0; c < 2; ++c)
        Y[i * 16 + j + c] = W[row * 16 + (j + c)];
"""
SCALED = """
    __shared__ float held[4][9];
    const int i = blockIdx.x * 4 + threadIdx.y, j = threadIdx.x;
    for (int c = 0; c < 16; c += 8) {
        const float v = V[i * 16 + j + c];
        held[threadIdx.y][j] = W[min(max(t[i], 0), 999) * 16 + j + c] * v + v;
        __syncthreads();
        Y[i * 16 + j + c] = held[threadIdx.y][j];
        __syncthreads();
    }
"""
PICKED = """
    const int i = blockIdx.x * 32 + threadIdx.x;
    float total = 0.0f;
    for (int k = 0; k < 40; ++k)
        total += W[i * 40 + k];
    Y[i] = total - W[min(max(min(max(t[i], 0), 39) + i * 40, 0), 3839)];
"""
MANY = """
    const int i = blockIdx.x, j = threadIdx.x;
    float total = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 64; ++k)
        total += W[min(max(min(max(t[i * 64 + k], 0), 999) * 16 + j, 0), 15999)];
    Y[i * 16 + j] = total;
"""
PAIRED = """
    const int i = blockIdx.x * 32 + threadIdx.x;
    Y[i] = W[min(max(t[i], 0), 999) * 1000 + min(max(V[i], 0), 999)];
"""
Case = tuple[TensorFunction, str, Triple, Triple, dict[str, int]]
IN_ROWS = (6, 1, 1), (8, 4, 1)
OF_MANY = {"v": 1000, "d": 16, "n": 4, "k": 64}
RIGHT: dict[str, Case] = {
    "row": (rows, ROW, *IN_ROWS, SIZES),
    "no limits": (rows, NO_LIMITS, *IN_ROWS, SIZES),
    "staged": (rows, STAGED, *IN_ROWS, SIZES),
    "columns": (rows, COLUMNS, (2, 6, 1), (8, 4, 1), {"v": 1000, "d": 13, "n": 22}),
    "wide": (wide_rows, WIDE, *IN_ROWS, SIZES),
    "scaled": (scaled_rows, SCALED, *IN_ROWS, SIZES),
    "picked": (picked, PICKED, (3, 1, 1), (32, 1, 1), {"v": 40, "n": 96}),
    "many": (summed_rows, MANY, (4, 1, 1), (16, 1, 1), OF_MANY),
    "paired": (paired, PAIRED, (3, 1, 1), (32, 1, 1), {"v": 1000, "n": 96}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_places_inside_are_proved(name: str) -> None:
    function, *others = RIGHT[name]
    found = proof(made(function, *others))
    assert (found.verdict, found.reason) == ("proved", "")
    assert f"indices in t from 0 to {39 if name == 'picked' else 999}" in found.domain


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("row", "* 16;", "* 15;"),
        ("row", "t[i]", "t[i ^ 1]"),
        ("row", "t[i]", "t[threadIdx.y]"),
        ("row", "t[i]", "(t[i] | 1)"),
        ("row", "t[i]", "(t[i] & 511)"),
        ("row", "t[i]", "(t[i] ^ 512)"),
        ("row", "t[i]", "(short)t[i] - 1"),
        ("row", "t[i]", "(signed char)t[i]"),
        ("row", "t[i]", "__float_as_int(W[i])"),
        ("row", ", 999) * 16", ", 998) * 16"),
        ("row", ", 0), 999)", ", 1), 999)"),
        ("row", "15999", "15998"),
        ("row", "(j + c), 0)", "(j + c), 1)"),
        ("row", "place + (j + c)", "place + (j + c) + 1"),
        ("row", "place + (j + c)", "(place | (j + 2 * c))"),
        ("row", "place + (j + c)", "j + c"),
        ("row", "W[min", "W[16 + min"),
        ("row", "Y[i * 16", "if (t[0] > 3) Y[i * 16"),
        ("row", "blockIdx.x * 4", "min(blockIdx.x, 4) * 8"),
        ("no limits", "(size_t)t[i] * 16", "(size_t)(t[i] + 1) * 16"),
        ("no limits", "(size_t)t[i] * 16", "(size_t)t[i] * 18"),
        ("no limits", "(size_t)t[i] * 16", "(size_t)t[i] * 16 + blockIdx.x"),
        ("no limits", "(size_t)t[i] * 16", "(size_t)(t[i] * 0x4000010) / 0x400001"),
        ("no limits", "(size_t)t[i] * 16", "(size_t)(unsigned char)t[i] * 16"),
        ("staged", "__syncthreads();", ""),
        ("staged", "places[threadIdx.y] =", "places[3 - threadIdx.y] ="),
        ("staged", "+ j + 8];\n", "+ j + 7];\n"),
        ("staged", "if (j == 0)", "if (j == 0 && i != 23)"),
        ("columns", "j < 13", "j < 14"),
        ("columns", "i < 22", "i < 21"),
        ("columns", "* 13 + j, 0)", "* 12 + j, 0)"),
        ("columns", "t[i]", "t[min(i, 20)]"),
        ("columns", "blockIdx.x * 8", "blockIdx.x * 7"),
        ("wide", "t[i]", "t[i] + 1"),
        ("wide", "row * 16", "row * 0x2000010"),
        ("scaled", "* v + v", "* v - v"),
        ("scaled", "t[i]", "t[i - (j == 7)]"),
        ("scaled", "* 16 + j + c] * v", "* 16 + j] * v"),
        ("picked", "total - W", "total + W"),
        ("picked", "+ i * 40, 0)", "+ i * 39, 0)"),
        ("picked", "+ i * 40, 0)", "+ 40, 0)"),
        ("picked", "), 39)", "), 38)"),
        ("many", "k < 64; ++k", "k < 63; ++k"),
        ("many", "* 16 + j", "* 16 + (j ^ 1)"),
        ("many", "t[i * 64 + k]", "t[i * 64 + 63]"),
        ("many", "total += W", "total = W"),
        ("paired", "min(max(V[i], 0), 999)", "min(max(t[i], 0), 999)"),
        ("paired", "* 1000 + min", "* 999 + min"),
    ],
)  # fmt: skip
def test_planted_mistakes_are_not(name: str, right: str, wrong: str) -> None:
    function, body, *others = RIGHT[name]
    assert right in body
    assert proof(made(function, wrong.join(body.rsplit(right, 1)), *others)).verdict != "proved"


def test_arrays_that_are_read_so_are_not_written() -> None:
    function, body, *others = RIGHT["row"]
    for array in ("W", "t"):
        stage, kernel = made(function, body + f"    {array}[0] = 0;\n", *others)
        assert proof((stage, plain(kernel, array))).verdict != "proved"


def plain(kernel: CudaKernel, array: str) -> CudaKernel:
    """The kernel with an array that may be written."""
    kind = "int" if array == "t" else "float"
    return replace(kernel, text=kernel.text.replace(f"const {kind}* __restrict__ {array}", f"{kind}* {array}"))


def test_small_launches_are_proved_whole() -> None:
    sizes = {"v": 10, "d": 16, "n": 4}
    body = ROW.replace("999)", "9)").replace("15999", "159")
    stage, kernel = made(rows, body, (1, 1, 1), (8, 4, 1), sizes)
    found = prove_kernel(stage, kernel)
    assert (found.verdict, found.reason) == ("proved", "")
    assert "indices in t from 0 to 9" in found.domain
    for right, wrong in (("* 16;", "* 15;"), ("t[i]", "t[i ^ 1]"), ("9)", "8)"), ("Y[i * 16", "if (j) Y[i * 16")):
        stage, kernel = made(rows, wrong.join(body.rsplit(right, 1)), (1, 1, 1), (8, 4, 1), sizes)
        assert prove_kernel(stage, kernel).verdict != "proved"


def test_padded_gathers_are_not_followed() -> None:
    body = "    const int i = threadIdx.x;\n    Y[i] = t[i] < 0 || t[i] > 999 ? 0.0f : W[t[i]];\n"
    found = proof(made(padded, body, (3, 1, 1), (32, 1, 1), {"v": 1000, "n": 96}))
    assert found.verdict == "unchecked"
