"""Kernels whose blocks share out one size, and whose loop sums over another, are proved for every pair of values, bugs never."""

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
from warploom.schedule.frontend import out, tensor
from warploom.schedule.nest import Buffer, Trips
from warploom.synth.compiled import CompiledProof, NotAlikeError
from warploom.tools.explore.every_size import _Sizes, prove_sizes
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def pairs(x: f32["m"], y: f32["n"], c: out[f32["m"]]):
    c[i] = sum(x[i] * y[j], over=j)


@tensor
def rows(x: f32["m", 2], y: f32["n", 2], c: out[f32["m"]]):
    c[i] = sum(x[i, 0] * y[j, 0] + x[i, 1] * y[j, 1], over=j)


PLAIN = """
extern "C" __global__ void pairs(const float* x, const float* y, float* c, int m, int n)
{
    const int i = blockIdx.x * 4 + threadIdx.x;
    if (i >= m) return;
    float total = 0.0f;
    #pragma unroll 1
    for (int j = 0; j < n; ++j) total += x[i] * y[j];
    c[i] = total;
}
"""
SHARED = """
extern "C" __global__ void pairs(const float* x, const float* y, float* c, int m, int n)
{
    __shared__ float held[2];
    const int t = threadIdx.x, i = blockIdx.x * 2 + t;
    const float own = i < m ? x[i] : 0.0f;
    float total = 0.0f;
    #pragma unroll 1
    for (int j = 0; j < (n + 1) / 2; ++j) {
        held[t] = j * 2 + t < n ? y[j * 2 + t] : 0.0f;
        __syncthreads();
        total += own * held[0];
        total += own * held[1];
        __syncthreads();
    }
    if (i < m) c[i] = total;
}
"""
Made = tuple[Backbone, CudaKernel]


def by_hand(text: str, tile: int, rounds: int, threads: int, multiples: tuple[int, int] = (1, 1)) -> Made:
    """tile: points of m in a block. rounds: points of n in a round of the loop."""
    m, n = multiples
    program = pairs.at_run_time(pairs.program({"m": 2 * tile * m, "n": 8 * n}), {"m": m, "n": n})
    (stage,) = program.stages
    sizes = {size.name: size for size in run_time_sizes(stage)}
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role, run_time=r.run_time) for r in stage.regions)
    kernel = CudaKernel(stage.name, text, (2 * m, 1, 1), (threads, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
    run_time = ((sizes["m"], 2 * tile * m), (sizes["n"], 8 * n))
    open_grid = (Trips(sizes["m"], tile), None, None)
    return stage, replace(kernel, run_time=run_time, open_grid=open_grid, open_loops=(Trips(sizes["n"], rounds),))


MADE = {"plain": (PLAIN, 4, 1, 4), "shared": (SHARED, 2, 2, 2)}


def proof_of(stage: Backbone, kernel: CudaKernel) -> CompiledProof:
    return prove_sizes(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), 12_000, (True,) * 3)


def proof(name: str, right: str = "", wrong: str = "") -> CompiledProof:
    """The proof of a kernel, or of one with another text in its last such place."""
    stage, kernel = by_hand(*MADE[name])
    assert right in kernel.text, kernel.text
    return proof_of(stage, replace(kernel, text=wrong.join(kernel.text.rsplit(right, 1))) if right else kernel)


@needs_compiler
@pytest.mark.parametrize("name", MADE)
def test_every_pair_of_sizes_is_proved(name: str) -> None:
    found = proof(name)
    assert (found.verdict, found.reason) == ("proved", "")
    assert "every m from 1 up to 1073733632" in found.domain and "every n from 1 up to 1073733632" in found.domain


BUGS = [
    ("plain", "j < n", "j <= n"),
    ("plain", "j < n", "j < n - 1"),
    ("plain", "j < n", "j < m"),
    ("plain", "i >= m", "i > m"),
    ("plain", "i >= m", "i >= n"),
    ("plain", "i >= m", "i + 1 >= m"),
    ("plain", "i >= m", "i >= m || (m > 1000 && n == 7)"),
    ("plain", "i >= m", "i >= m || (i == 77 && n == 1234567)"),
    ("plain", "x[i] * y[j]", "x[i] * y[j == m ? 0 : j]"),
    ("plain", "x[i] * y[j]", "x[j] * y[j]"),
    ("plain", "x[i] * y[j]", "x[i] * y[i]"),
    ("plain", "x[i] * y[j]", "(n == m ? 0.0f : x[i]) * y[j]"),
    ("plain", "x[i] * y[j]", "x[i] * y[j ^ 1]"),
    ("plain", "x[i] * y[j]", "x[i] * (i == j ? 0.0f : y[j])"),
    ("plain", "total = 0.0f", "total = m == n ? 1.0f : 0.0f"),
    ("plain", "total = 0.0f", "total = n > 100000 && m > 100000 ? 1.0f : 0.0f"),
    ("plain", "c[i] = total", "c[m - 1 - i] = total"),
    ("plain", "c[i] = total", "c[n > m ? 0 : i] = total"),
    ("plain", "c[i] = total", "c[i] = n == 3 ? 0.0f : total"),
    ("plain", "c[i] = total", "if (i + n != 500) c[i] = total"),
    ("shared", "(n + 1) / 2", "n / 2"),
    ("shared", "(n + 1) / 2", "(m + 1) / 2"),
    ("shared", "j * 2 + t < n", "j * 2 + t < m"),
    ("shared", "j * 2 + t < n", "true"),
    ("shared", "__syncthreads();", ""),
    ("shared", "held[1]", "held[0]"),
    ("shared", "if (i < m)", "if (i < m && i != n)"),
    ("shared", "i < m ? x[i]", "i < n ? x[i]"),
]
DEFAULT = {3, 22}
"""Places of those that are cheap and differ most: the others are slow tests."""


@needs_compiler
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [pytest.param(*bug, marks=[] if n in DEFAULT else [pytest.mark.slow]) for n, bug in enumerate(BUGS)],
)
def test_planted_bugs_are_not_proved(name: str, right: str, wrong: str) -> None:
    assert proof(name, right, wrong).verdict == "unchecked"


@needs_compiler
@pytest.mark.slow
def test_classes_of_multiples() -> None:
    """Without a guard on n: of multiples of the tile only; without one on m, too."""
    bare = SHARED.replace("j * 2 + t < n ? y[j * 2 + t] : 0.0f", "y[j * 2 + t]")
    none = bare.replace("i < m ? x[i] : 0.0f", "x[i]").replace("if (i < m) ", "")
    for text, multiples, verdict in (
        (bare, (1, 2), "proved"), (bare, (1, 1), "unchecked"), (bare, (1, 3), "unchecked"), (bare, (2, 1), "unchecked"),
        (none, (2, 2), "proved"), (none, (1, 2), "unchecked"), (none, (4, 4), "proved"),
    ):  # fmt: skip
        assert proof_of(*by_hand(text, 2, 2, 2, multiples)).verdict == verdict, (text, multiples)


# ------------------------------------------------------------ each reason refuses alone


def reason(kernel: CudaKernel, stage: Backbone) -> str:
    with pytest.raises(NotAlikeError) as told:
        _Sizes(stage, kernel, arguments_of(stage, kernel))
    return str(told.value)


def test_kernels_that_are_refused() -> None:
    stage, kernel = by_hand(PLAIN, 4, 1, 4)
    _Sizes(stage, kernel, arguments_of(stage, kernel))
    (m, _), (n, _) = kernel.run_time
    both = (kernel.open_grid[0], Trips(n, 1), None)
    assert "a grid that depends on one size, got one that depends on m, n" in reason(replace(kernel, open_grid=both), stage)
    third = (*kernel.run_time, (replace(n, name="k"), 8))
    assert "one size known at run time beside m, got 2" in reason(replace(kernel, run_time=third), stage)
    assert "one of m, n, got a loop over it" in reason(replace(kernel, open_grid=(None, None, None)), stage)
    loops = (Trips(m, 1),)
    assert "one loop over n, got 1 over m" in reason(replace(kernel, open_loops=loops), stage)
    assert "one loop over n, got none" in reason(replace(kernel, open_loops=()), stage)
