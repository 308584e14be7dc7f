"""Kernels that sum over a size known at run time are proved for every value of it; a bug at any value is never proved."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import f32
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Backbone, Repetition, RunTimeSize, run_time_sizes
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.frontend import TensorFunction, out, pad, tensor
from warploom.schedule.nest import Buffer, Trips
from warploom.synth.compiled import Box, CompiledProof, NotAlikeError, Stores
from warploom.tools.explore import summed
from warploom.tools.explore.every_block import Blocks, prove_blocks
from warploom.tools.explore.every_length import _Lengths, prove_lengths
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def columns(x: f32["n", 4], y: out[f32[4]]):
    y[j] = sum(x[i, j], over=i)


@tensor
def products(a: f32["n", 4], b: f32["n", 4], c: out[f32[4, 4]]):
    c[i, j] = sum(a[k, i] * b[k, j], over=k)


@tensor
def squares(a: f32["n", 4], c: out[f32[4, 4]]):
    c[i, j] = sum(a[k, i] * a[k, j], over=k)


@tensor
def doubled(x: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] + x[i]


@tensor
def shifted(x: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] + sum(x[j], over=j)


@tensor
def apart(x: f32["n"], z: out[f32["n"]]):
    z[i] = pad(x, 0)[i - 1] + sum(x[j], over=j)


Made = tuple[Backbone, CudaKernel]
PLAIN = """
extern "C" __global__ void columns(const float* x, float* y, int n)
{
    const int j = threadIdx.x;
    float total = 0.0f;
    #pragma unroll 1
    for (int i = 0; i < n; ++i) {
        total += x[(long long)i * 4 + j];
    }
    y[j] = total;
}
"""
TILED = """
extern "C" __global__ void columns(const float* x, float* y, int n)
{
    const int j = threadIdx.x;
    float total = 0.0f;
    #pragma unroll 1
    for (int i0 = 0; i0 < (n + 1) / 2; ++i0) {
        const float* row = x + (long long)i0 * 8 + j;
        for (int i1 = 0; i1 < 2; ++i1) {
            if (i0 * 2 + i1 < n) total += row[i1 * 4];
        }
    }
    y[j] = total;
}
"""
BARE = """
extern "C" __global__ void columns(const float* x, float* y, int n)
{
    const int j = threadIdx.x;
    float total = 0.0f;
    #pragma unroll 1
    for (int i0 = 0; i0 < n / 2; ++i0) {
        const float* row = x + (long long)i0 * 8 + j;
        total += row[0] + row[4];
    }
    y[j] = total;
}
"""
SHARED = """
extern "C" __global__ void products(const float* a, const float* b, float* c, int n)
{
    __shared__ float held[8];
    const int t = threadIdx.x, i = t / 4, j = t % 4;
    float total = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; ++k) {
        if (t < 4) {
            held[t] = a[(long long)k * 4 + t];
            held[4 + t] = b[(long long)k * 4 + t];
        }
        __syncthreads();
        total += held[i] * held[4 + j];
        __syncthreads();
    }
    c[i * 4 + j] = total;
}
"""
SAME = """
extern "C" __global__ void squares(const float* a, float* c, int n)
{
    const int i = blockIdx.x, j = threadIdx.x;
    float total = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < n; ++k) {
        total += a[(long long)k * 4 + i] * a[(long long)k * 4 + j];
    }
    c[i * 4 + j] = total;
}
"""


def by_hand(function: TensorFunction, text: str, tile: int, multiple: int = 1, blocks: int = 1, threads: int = 4) -> Made:
    (name,) = function.tree.sizes
    program = function.at_run_time(function.program({name: 8 * multiple}), {name: multiple})
    (stage,) = program.stages
    (size,) = run_time_sizes(stage)
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role, run_time=r.run_time) for r in stage.regions)
    kernel = CudaKernel(stage.name, text, (blocks, 1, 1), (threads, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
    return stage, replace(kernel, run_time=((size, 8 * multiple),), open_loops=(Trips(size, tile),))


MADE = {
    "plain": (columns, PLAIN, 1),
    "tiled": (columns, TILED, 2),
    "multiples": (columns, BARE, 2, 2),
    "shared": (products, SHARED, 1, 1, 1, 16),
    "same": (squares, SAME, 1, 1, 4),
}


def proof(name: str, right: str = "", wrong: str = "") -> CompiledProof:
    """The proof of a kernel, or of one with another text in its last such place."""
    stage, kernel = by_hand(*MADE[name])
    assert right in kernel.text, kernel.text
    changed = replace(kernel, text=wrong.join(kernel.text.rsplit(right, 1))) if right else kernel
    return proof_of(stage, changed)


def proof_of(stage: Backbone, kernel: CudaKernel, most_steps: int = 12_000) -> CompiledProof:
    return prove_lengths(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), most_steps, (True,) * 3)


@needs_compiler
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n == "multiples" else []) for n in MADE])
def test_every_length_is_proved(name: str) -> None:
    found = proof(name)
    told = "every multiple n of 2 up to" if name == "multiples" else "every n from 1 up to"
    assert (found.verdict, found.reason) == ("proved", "") and found.domain.endswith(f"{told} 1073733632")


@needs_compiler
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("plain", "i < n", "i <= n"),
        ("plain", "i < n", "i < n - 1"),
        pytest.param("plain", "i < n", "i < 100", marks=pytest.mark.slow),
        pytest.param("plain", "i < n", "i < n && i < 100000", marks=pytest.mark.slow),  # of large sizes
        pytest.param("plain", "int i = 0", "int i = 1", marks=pytest.mark.slow),
        pytest.param("plain", "++i", "i += 2", marks=pytest.mark.slow),
        ("plain", "total = 0.0f", "total = 1.0f"),
        pytest.param("plain", "total = 0.0f", "total = n > 5 ? 1.0f : 0.0f", marks=pytest.mark.slow),
        pytest.param("plain", "total = 0.0f", "total = n == 77 ? 1.0f : 0.0f", marks=pytest.mark.slow),
        pytest.param(
            "plain",
            "total += x[(long long)i * 4 + j]",
            "total += i == 12345 ? 0.0f : x[(long long)i * 4 + j]",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "plain",
            "total += x[(long long)i * 4 + j]",
            "total += i == n - 1 ? 0.0f : x[(long long)i * 4 + j]",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "plain", "total += x[(long long)i * 4 + j]", "total += x[(long long)(n - 1) * 4 + j]", marks=pytest.mark.slow
        ),
        pytest.param("plain", "(long long)i * 4", "(unsigned)i * 8u / 2u", marks=pytest.mark.slow),  # leaves its word
        ("plain", "(long long)i * 4", "(long long)(i + 1) * 4"),
        pytest.param("plain", "(long long)i * 4", "(long long)(i % 1024) * 4", marks=pytest.mark.slow),
        pytest.param("plain", "y[j] = total", "y[j] = n > 1000 ? 0.0f : total", marks=pytest.mark.slow),
        pytest.param("plain", "y[j] = total", "if (j < 3) y[j] = total", marks=pytest.mark.slow),
        pytest.param("plain", "y[j] = total", "y[n > 1000 ? 0 : j] = total", marks=pytest.mark.slow),
        pytest.param("plain", "y[j] = total", "y[j] = total * total", marks=pytest.mark.slow),
        ("plain", "y[j] = total", "y[j] = total + x[j]"),
        pytest.param("tiled", "(n + 1) / 2", "n / 2", marks=pytest.mark.slow),
        pytest.param("tiled", "i0 * 2 + i1 < n", "true", marks=pytest.mark.slow),
        pytest.param("tiled", "i0 * 2 + i1 < n", "i0 * 2 + i1 < n - 1", marks=pytest.mark.slow),
        pytest.param("tiled", "i0 * 2 + i1 < n", "i0 * 2 + 1 < n", marks=pytest.mark.slow),
        pytest.param("multiples", "row[4]", "row[0]", marks=pytest.mark.slow),
        pytest.param("shared", "__syncthreads();", "", marks=pytest.mark.slow),
        ("shared", "held[4 + j]", "held[j]"),
        pytest.param("shared", "t < 4", "t < 4 && k < n - 1", marks=pytest.mark.slow),
        ("same", "4 + j]", "4 + i]"),
        pytest.param("same", "4 + j]", "4 + (j ^ 1)]", marks=pytest.mark.slow),
        pytest.param("same", "* a[", "+ a[", marks=pytest.mark.slow),
    ],
)
def test_planted_bugs_are_not_proved(name: str, right: str, wrong: str) -> None:
    assert proof(name, right, wrong).verdict == "unchecked"


@needs_compiler
@pytest.mark.slow
def test_a_class_of_other_sizes_is_not_proved() -> None:
    """Without a guard: of multiples of the tile only."""
    for multiple, verdict in ((2, "proved"), (4, "proved"), (1, "unchecked"), (3, "unchecked")):
        assert proof_of(*by_hand(columns, BARE, 2, multiple)).verdict == verdict


# ------------------------------------------------------------ each reason refuses alone


def lengths() -> _Lengths:
    stage, kernel = by_hand(columns, PLAIN, 1)
    return _Lengths(stage, kernel, arguments_of(stage, kernel))


def reason(stage: Backbone, kernel: CudaKernel) -> str:
    with pytest.raises(NotAlikeError) as told:
        _Lengths(stage, kernel, arguments_of(stage, kernel))
    return str(told.value)


def test_kernels_that_are_refused() -> None:
    stage, kernel = by_hand(columns, PLAIN, 1)
    (trips,) = kernel.open_loops
    assert "does not depend on n" in reason(stage, replace(kernel, open_grid=(trips, None, None)))
    assert "one loop over n, got 2" in reason(stage, replace(kernel, open_loops=(trips, replace(trips, per=2))))
    assert "something is summed over" in reason(*by_hand(doubled, PLAIN, 1))
    assert "something is summed over" in reason(*by_hand(apart, PLAIN, 1))
    assert "no output with as many rows" in reason(*by_hand(shifted, PLAIN, 1))
    region = replace(stage.regions[-1], run_time=stage.regions[0].run_time)
    assert "no output with as many rows" in reason(replace(stage, regions=(*stage.regions[:-1], region)), kernel)


def blocks(*stores: Stores) -> Blocks:
    found = lengths()
    made = Blocks(found.stage, found.kernel, found.arguments)
    made.stores["y"] += stores
    return made


def stored(elements: list[int], moves: int = 0, first: int = 0) -> Stores:
    box = Box((0, 0, 0, first), (1, 1, 1, 10), length=(1, 1))
    return Stores(box, np.array(elements, np.int64), (0, 0, 0, moves))


@pytest.mark.parametrize(
    ("stores", "told"),
    [
        ([stored([0, 1, 2, 3])], ""),
        ([stored([0, 1, 2])], "got 3 of 3"),
        ([stored([0, 1, 2, 3, 3])], "got 4 of 5"),
        ([stored([0, 1]), stored([2, 3], first=1)], "got 2 of 2"),
        ([stored([0, 1, 2, 3], moves=1)], "places that do not depend on n"),
    ],
)
def test_what_is_stored_at_one_length(stores: list[Stores], told: str) -> None:
    if not told:
        lengths()._check_stores(blocks(*stores), 0)
        return
    with pytest.raises(NotAlikeError, match=told):
        lengths()._check_stores(blocks(*stores), 0)


def test_sizes_that_are_in_no_box() -> None:
    summed, box = lengths().summed, Box((0, 0, 0, 0), (1, 1, 1, 10), length=(1, 1))
    behind = replace(box, first=(0, 0, 0, 10))
    assert summed.cuts([box], (1, 1, 9)) == [0] and summed.cuts([behind, box], (1, 1, 19)) == [0, 10]
    for boxes in ([], [box], [behind]):
        with pytest.raises(NotAlikeError, match="each n in a box"):
            summed.cuts(boxes, (1, 1, 19))


@needs_compiler
def test_work_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summed, "_MOST_RUNS", 0)
    assert "ways in which the last round may end" in proof("tiled").reason
    monkeypatch.setattr(summed, "_MOST_TIMES", 0)
    assert "rounds that repeat after 0" in proof("plain").reason


def test_a_sum_that_does_not_grow_with_its_size_is_refused() -> None:
    """The mathematics at the least size of a box is that of all only where the loop has a step more for each."""
    found = lengths()
    made = Blocks(found.stage, found.kernel, found.arguments)
    made.length = "n"
    box = Box((0, 0, 0, 0), (1, 1, 1, 10), length=(9, 1))
    own = next(n for n, axis in enumerate(found.stage.axes) if axis.run_time == RunTimeSize("n"))
    right = Repetition(own, (0,), 1, 3, is_open=True)
    assert made._check_length(box, right) == 3
    for wrong in (None, replace(right, is_open=False), replace(right, width=2), replace(right, axis=1 - own)):
        with pytest.raises(NotAlikeError, match="a loop over all of n"):
            made._check_length(box, wrong)
    known = replace(box, counts=(1, 1, 1, 1))
    assert made._check_length(known, None) is None
    with pytest.raises(NotAlikeError, match="a known number of rounds"):
        made._check_length(known, right)


# ------------------------------------------------------------ one array, loaded in several ways


@tensor
def outer(a: f32[64], c: out[f32[64, 64]]):
    c[i, j] = a[i] * a[j]


OUTER = """
extern "C" __global__ void outer(const float* a, float* c)
{
    const int i = blockIdx.y, j = blockIdx.x * 32 + threadIdx.x;
    c[i * 64 + j] = a[i] * a[j];
}
"""


@needs_compiler
@pytest.mark.parametrize(
    ("right", "wrong", "verdict", "told"),
    [
        ("a[i] * a[j]", "a[i] * a[j]", "proved", ""),
        ("a[i] * a[j]", "a[j] * a[j]", "unchecked", "elements from block to block"),
        ("a[i] * a[j]", "a[i] + a[j]", "unchecked", "accesses move in several ways"),
        ("a[i] * a[j];", "a[i] * a[j]; c[blockIdx.y] = 0.0f;", "unchecked", "to move alike from block to block"),
    ],
)
def test_loads_that_move_in_several_ways(right: str, wrong: str, verdict: str, told: str) -> None:
    (stage,) = outer.program({}).stages
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    text = OUTER.replace(right, wrong)
    kernel = CudaKernel(stage.name, text, (2, 64, 1), (32, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
    found = prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel))
    assert found.verdict == verdict and told in found.reason
