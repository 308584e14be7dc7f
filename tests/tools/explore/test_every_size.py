"""Kernels are proved for every value of a size that is known at run time; a bug at any value is never proved."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.core import f32
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Backbone, run_time_sizes
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.frontend import TensorFunction, out, tensor
from warploom.schedule.nest import Buffer, Trips
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_size import prove_sizes
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def doubled(x: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] + x[i]


@tensor
def row_sum(x: f32["rows", 12], y: out[f32["rows"]]):
    y[r] = sum(x[r, c], over=c)


@tensor
def wide(x: f32["rows", 65536], y: out[f32["rows", 65536]]):
    y[r, c] = x[r, c] + x[r, c]


@tensor
def all_of(x: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] + sum(x[j], over=j)


@tensor
def smoothed(x: f32["n + 2"], z: out[f32["n"]]):
    z[i] = x[i] + x[i + 1] + x[i + 2]


@tensor
def shorter(x: f32["n"], z: out[f32["n - 1"]]):
    z[i] = x[i] + x[i + 1]


@tensor
def averaged(x: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] / n


Made = tuple[Backbone, CudaKernel]
STENCIL = """
extern "C" __global__ void smoothed(const float* x, float* z, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) z[i] = x[i] + x[i + 1] + x[i + 2];
}
"""
BODY = """
extern "C" __global__ void doubled(const float* x, float* z, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) {
        z[i] = x[i] + x[i];
    }
}
"""
TWO = """
extern "C" __global__ void doubled(const float* x, float* z, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x * 2;
    if (i < n) z[i] = x[i] + x[i];
    if (i + 1 < n) z[i + 1] = x[i + 1] + x[i + 1];
}
"""
SHARED = """
extern "C" __global__ void doubled(const float* x, float* z, int n)
{
    __shared__ float held[4];
    const int i = blockIdx.x * 4 + threadIdx.x;
    held[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    const int k = 3 - threadIdx.x;
    if (blockIdx.x * 4 + k < n) {
        z[blockIdx.x * 4 + k] = held[k] + held[k];
    }
}
"""
SUM = """
extern "C" __global__ void row_sum(const float* x, float* y, int rows)
{
    const int r = blockIdx.x * 8 + threadIdx.x;
    if (r >= rows) return;
    float total = 0.0f;
    for (int c = 0; c < 12; ++c) total += x[(long long)r * 12 + c];
    y[r] = total;
}
"""
WIDE = """
extern "C" __global__ void wide(const float* x, float* y, int rows)
{
    const long long i = (long long)blockIdx.y * 65536 + blockIdx.x * 256 + threadIdx.x;
    y[i] = x[i] + x[i];
}
"""
ALL = """
extern "C" __global__ void all_of(const float* x, float* z, int n)
{
    const int i = blockIdx.x * 4 + threadIdx.x;
    if (i >= n) return;
    float total = x[i];
    for (int j = 0; j < n; ++j) total += x[j];
    z[i] = total;
}
"""
BARE = BODY.replace("i < n", "true")


def by_hand(function: TensorFunction, text: str, tile: int, threads: int, multiple: int = 1, columns: int = 0) -> Made:
    """columns: blocks along x, where those along y share out the size."""
    (name,) = function.tree.sizes
    program = function.at_run_time(function.program({name: 2 * tile * multiple}), {name: multiple})
    (stage,) = program.stages
    (size,) = run_time_sizes(stage)
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role, run_time=r.run_time) for r in stage.regions)
    grid = (columns, 2 * multiple, 1) if columns else (2 * multiple, 1, 1)
    open_grid = tuple(Trips(size, tile) if n == (columns > 0) else None for n in range(3))
    kernel = CudaKernel(stage.name, text, grid, (threads, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
    return stage, replace(kernel, run_time=((size, 2 * tile * multiple),), open_grid=open_grid)


MADE = {
    "guarded": (doubled, BODY, 32, 32),
    "two a thread": (doubled, TWO, 32, 16),
    "shared": (doubled, SHARED, 4, 4),
    "rows": (row_sum, SUM, 8, 8),
    "multiples": (doubled, BARE, 32, 32, 64),
    "half a tile": (doubled, BODY, 32, 32, 16),
    "wide": (wide, WIDE, 1, 256, 1, 256),
    "stencil": (smoothed, STENCIL, 32, 32),
}


def proof(name: str, right: str = "", wrong: str = "") -> CompiledProof:
    """The proof of a kernel, or of one with another text in its last such place."""
    stage, kernel = by_hand(*MADE[name])
    assert right in kernel.text, kernel.text
    return proof_of(stage, replace(kernel, text=wrong.join(kernel.text.rsplit(right, 1))) if right else kernel)


def proof_of(stage: Backbone, kernel: CudaKernel) -> CompiledProof:
    axes = (True, True, True)
    return prove_sizes(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), 100_000, axes)


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("guarded", "every n from 1 up to 1073733632"),
        ("two a thread", "every n from 1 up to 1073733632"),
        ("shared", "every n from 1 up to 1073733632"),
        ("rows", "every rows from 1 up to 1073733632"),
        ("multiples", "every multiple n of 64 up to 1073733632"),
        ("half a tile", "every multiple n of 16 up to 1073733632"),
        ("wide", "every rows from 1 up to 65535"),
        ("stencil", "every n from 1 up to 1073733632"),
    ],
)
def test_every_size_is_proved(name: str, domain: str) -> None:
    found = proof(name)
    assert (found.verdict, found.reason) == ("proved", "") and found.domain.endswith(domain)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("guarded", "i < n", "i <= n"),
        ("guarded", "i < n", "i < n - 1"),
        ("guarded", "i < n", "true"),
        ("guarded", "i < n", "i < n && i < 1000"),  # of one size
        ("guarded", "i < n", "i < n && (blockIdx.x + 1) * 32 <= n"),  # the last block does nothing
        ("guarded", "i < n", "i < n && blockIdx.x + 1 < gridDim.x"),
        ("guarded", "x[i] + x[i]", "n == 77 ? 0.0f : x[i] + x[i]"),
        ("guarded", "x[i] + x[i]", "n > 100000 ? 0.0f : x[i] + x[i]"),
        ("guarded", "x[i] + x[i]", "blockIdx.x == 12345 ? 0.0f : x[i] + x[i]"),
        ("guarded", "x[i] + x[i]", "i + 1 < n ? x[i] + x[i] : x[i]"),  # the last element
        ("guarded", "x[i] + x[i]", "x[i] + x[n - 1 - i]"),
        ("guarded", "x[i] + x[i]", "x[i] + x[i + 1]"),
        ("guarded", "z[i] =", "z[i % 1048576] ="),
        ("guarded", "z[i] =", "if (i < 0) z[i] ="),
        ("guarded", "z[i] = x", "z[(n - 1) - i] = x"),
        ("guarded", "blockIdx.x * 32", "blockIdx.x * 33"),
        ("guarded", "blockIdx.x * 32", "blockIdx.x * 31"),
        ("two a thread", "i + 1 < n", "i < n"),
        ("two a thread", "i + 1 < n", "i + 2 < n"),
        ("shared", "i < n ?", "i < n - 1 ?"),
        ("shared", "+ k < n", "+ threadIdx.x < n"),
        ("shared", "__syncthreads();", ""),
        ("rows", "r >= rows", "r > rows"),
        ("rows", "(long long)r * 12", "r * 12"),  # leaves its word
        ("rows", "float total = 0.0f", "float total = r ? 0.0f : 1.0f"),
        ("rows", "c < 12", "c < rows"),
        ("multiples", "true", "i < n - 32"),
        ("half a tile", "i < n", "true"),
        ("half a tile", "i < n", "i / 32 * 32 + 32 <= n"),
        ("wide", "(long long)blockIdx.y * 65536", "blockIdx.y * 131072u / 2"),  # leaves its word
        ("stencil", "x[i + 2]", "x[i + 3]"),
        ("stencil", "x[i + 2]", "x[i + 1]"),
        ("stencil", "x[i + 2]", "(i + 2 < n ? x[i + 2] : 0.0f)"),  # the last two elements
        ("stencil", "i < n", "i < n + 1"),
        ("stencil", "i < n", "i < n - 1"),
    ],
)
def test_planted_bugs_are_not_proved(name: str, right: str, wrong: str) -> None:
    assert proof(name, right, wrong).verdict == "unchecked"


def test_an_array_that_is_longer_than_its_axis_is_as_long_as_it_is() -> None:
    """The same kernel over an array of n + 1 elements, the last of which it reads behind the end."""
    stage, kernel = by_hand(smoothed, STENCIL, 32, 32)
    x, z = stage.regions
    assert x.run_time is not None and x.run_time.more == 2
    short = replace(stage, regions=(replace(x, run_time=replace(x.run_time, more=1), shape=(x.shape[0] - 1,)), z))
    assert proof_of(short, kernel).verdict == "unchecked"


def test_axes_of_other_lengths_and_sizes_as_numbers_are_not_proved() -> None:
    stage, kernel = by_hand(shorter, BODY.replace("i < n", "i + 1 < n").replace("x[i] + x[i]", "x[i] + x[i + 1]"), 32, 32)
    assert "expected as many iterations of i as its size, got n - 1" in proof_of(stage, kernel).reason
    stage, kernel = by_hand(averaged, BODY.replace("x[i] + x[i]", "x[i] / n"), 32, 32)
    assert "expected no size as a number, got n" in proof_of(stage, kernel).reason


def test_a_class_of_other_sizes_is_not_proved() -> None:
    """Without a guard: of multiples of 32 and 64, not of 16 or 48."""
    for multiple, verdict in ((64, "proved"), (32, "proved"), (48, "unchecked"), (16, "unchecked"), (1, "unchecked")):
        stage, kernel = by_hand(doubled, BARE, 32, 32, multiple)
        assert proof_of(stage, kernel).verdict == verdict


def test_sums_over_the_size_are_not_proved() -> None:
    """As many rounds as the size has are not followed, even where they are right, or where a fixed number is."""
    stage, kernel = by_hand(all_of, ALL, 4, 4)
    assert "computed by itself" in proof_of(stage, kernel).reason
    assert proof_of(stage, replace(kernel, text=ALL.replace("j < n", "j < 2"))).verdict == "unchecked"


def test_loops_over_the_size_are_not_proved() -> None:
    stage, kernel = by_hand(doubled, BODY, 32, 32)
    found = proof_of(stage, replace(kernel, open_grid=(None, None, None)))
    assert found.verdict == "unchecked" and "got a loop over it" in found.reason
    ((size, value),) = kernel.run_time
    found = proof_of(stage, replace(kernel, run_time=((size, value), (replace(size, name="k"), value))))
    assert found.verdict == "unchecked" and "one axis of length k, that something is summed over" in found.reason
