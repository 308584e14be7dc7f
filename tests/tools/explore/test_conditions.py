"""Kernels that choose by a comparison of floats are proved; a bug in the comparison or in what is chosen never is."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest

from warploom.core import f32, i32
from warploom.gpu import toolchain_available
from warploom.schedule.cuda import CudaKernel, Options
from warploom.schedule.frontend import TensorFunction, out, tensor, where
from warploom.schedule.nest import Buffer
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof, prove_kernel

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def leaky(x: f32["n"], w: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] if x[i] > 0 else w[i] * x[i]


@tensor
def larger(x: f32["n"], w: f32["n"], z: out[f32["n"]]):
    z[i] = where(x[i] >= w[i], x[i], w[i])


@tensor
def of_words(x: i32["n"], w: i32["n"], z: out[i32["n"]]):
    z[i] = x[i] if x[i] < w[i] else w[i] + w[i]


@tensor
def below(x: f32["n", "n"], w: f32["n", "n"], z: out[f32["n", "n"]]):
    z[i, j] = where(j <= i, x[i, j], w[i, j])


TEXT = """
extern "C" __global__ void NAME(const TYPE* x, const TYPE* w, TYPE* z)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    const TYPE a = __ldg(x + i), b = __ldg(w + i);
    z[i] = VALUE;
}
"""


def proof(function: TensorFunction, value: str, dtype: str = "float") -> CompiledProof:
    stage = function.program({"n": 128}).stages[0]
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    text = TEXT.replace("NAME", stage.name).replace("VALUE", value).replace("TYPE", dtype)
    kernel = CudaKernel(stage.name, text, (4, 1, 1), (32, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
    return prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel))


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (leaky, "a > 0.0f ? a : b * a"),
        (leaky, "!(0.0f < a) ? b * a : a"),
        (larger, "a >= b ? a : b"),
        (larger, "fmaxf(a, b)"),
    ],
)
def test_choices_are_proved(function: TensorFunction, value: str) -> None:
    found = proof(function, value)
    assert (found.verdict, found.reason) == ("proved", "")
    assert ("data are finite numbers" if function is leaky else "min and max of ordered values") in found.domain


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (leaky, "a < 0.0f ? a : b * a"),
        (leaky, "a >= 0.0f ? a : b * a"),
        (leaky, "a > 1.0f ? a : b * a"),
        (leaky, "a > 0.0f ? b * a : a"),
        (leaky, "b > 0.0f ? a : b * a"),
        (leaky, "a > b ? a : b * a"),
        (leaky, "a > 0.0f ? a : b + a"),
        (leaky, "a != 0.0f ? a : b * a"),
        (leaky, "__ldg(x + (i ^ 1)) > 0.0f ? a : b * a"),
        (leaky, "a > (float)(blockIdx.x == 3) ? a : b * a"),
        (larger, "a >= b ? b : a"),
        (larger, "fminf(a, b)"),
    ],
)
def test_a_planted_bug_is_never_proved(function: TensorFunction, value: str) -> None:
    assert proof(function, value).verdict != "proved"


def test_choices_by_words_are_tested_only() -> None:
    """A compiler may compare them as signed or unsigned numbers."""
    found = proof(of_words, "a < b ? a : b + b", "int")
    assert found.verdict == "unchecked" and "less of data of type i32" in found.reason


def test_comparisons_of_indices_are_numbers() -> None:
    stage = below.program({"n": 16}).stages[0]
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    text = TEXT.replace("NAME", "below").replace("TYPE", "float").replace("blockIdx.x * 32", "blockIdx.x * 16")

    def judged(value: str) -> str:
        changed = text.replace("VALUE", value)
        kernel = CudaKernel("below", changed, (16, 1, 1), (16, 1, 1), buffers, (), (), 0, 0, Options(arch="sm_90"))
        return prove_kernel(stage, kernel).verdict

    assert judged("threadIdx.x <= blockIdx.x ? a : b") == "proved"
    assert judged("threadIdx.x < blockIdx.x ? a : b") == "refuted"
