"""Loops that keep a maximum and rescale their sums are proved at full size by few of their rounds, and not with mistakes."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.schedule.online.test_rewrite import attention
from tests.tools.explore.test_every_block import by_hand, row_sum

from warploom.core import f32
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Parameter
from warploom.schedule.frontend import exp, log, out, tensor
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")

ROUNDS = 20
ATTENTION = """
extern "C" __global__ void attention(const float* Q, const float* K, const float* V, float* Y, float scale)
{
    __shared__ float k[8], v[8];
    const int i = blockIdx.x * 8 + threadIdx.x;
    const float q0 = Q[i * 2], q1 = Q[i * 2 + 1];
    float top = -3.4028235e+38f, total = 0.0f, y0 = 0.0f, y1 = 0.0f;
    #pragma unroll 1
    for (int j0 = 0; j0 < 20; ++j0) {
        __syncthreads();
        k[threadIdx.x] = K[j0 * 8 + threadIdx.x];
        v[threadIdx.x] = V[j0 * 8 + threadIdx.x];
        __syncthreads();
        float s[4], best = -3.4028235e+38f, sum = 0.0f, w0 = 0.0f, w1 = 0.0f;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            s[j] = scale * (q0 * k[j * 2] + q1 * k[j * 2 + 1]);
            best = fmaxf(best, s[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float e = expf(s[j] - best);
            sum += e;
            w0 += e * v[j * 2];
            w1 += e * v[j * 2 + 1];
        }
        const float before = top;
        top = fmaxf(top, best);
        const float rescaling = expf(before - top), own = expf(best - top);
        total = total * rescaling + sum * own;
        y0 = y0 * rescaling + w0 * own;
        y1 = y1 * rescaling + w1 * own;
    }
    Y[i * 2] = y0 / total;
    Y[i * 2 + 1] = y1 / total;
}
"""


@tensor
def log_sum_exp(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = top[i] + log(sum(exp(X[i, j] - top[i]), over=j))


def judged(right: str = "", wrong: str = "") -> CompiledProof:
    assert right in ATTENTION
    text = ATTENTION.replace(right, wrong) if right else ATTENTION
    stage, kernel = by_hand(attention, {"n": 16, "m": 4 * ROUNDS, "d": 2}, text, (2, 1, 1), (8, 1, 1))
    kernel = replace(kernel, parameters=(Parameter("scale", f32),))
    return prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel))


def test_attention_is_proved_by_few_of_its_rounds() -> None:
    found = judged()
    assert (found.verdict, found.reason) == ("proved", "")
    assert "exp(a + b) = exp(a) * exp(b)" in found.domain and "no value below the least float" in found.domain
    assert found.thread_steps < 2500


MISTAKES = {
    "sums that are not rescaled": ("total = total * rescaling", "total = total"),
    "values that are not rescaled": ("y1 = y1 * rescaling", "y1 = y1"),
    "rescaling turned round": ("expf(before - top)", "expf(top - before)"),
    "a tile that is not rescaled": ("w1 * own", "w1"),
    "a tile's maximum kept": ("top = fmaxf(top, best);", "top = best;"),
    "a maximum without a key": ("best = fmaxf(best, s[j]);", "best = j == 2 ? best : fmaxf(best, s[j]);"),
    "a maximum that begins at 0": ("top = -3.4028235e+38f, total", "top = 0.0f, total"),
    "a tile's maximum that begins at 1": ("best = -3.4028235e+38f, sum", "best = 1.0f, sum"),
    "a sum that begins at 1": ("total = 0.0f", "total = 1.0f"),
    "the last tile left out": ("j0 < 20", "j0 < 19"),
    "the first tile left out": ("int j0 = 0", "int j0 = 1"),
    "a tile in the middle left out": ("const float before", "if (j0 == 12) { continue; }\n        const float before"),
    "a tile taken twice": ("K[j0 * 8", "K[(j0 == 13 ? 12 : j0) * 8"),
    "tiles of keys and values in another order": ("V[j0 * 8", "V[(19 - j0) * 8"),
    "a tile beyond the last": ("j0 < 20", "j0 < 21"),
    "no rescaling in one round": ("y0 = y0 * rescaling", "y0 = y0 * (j0 == 14 ? 1.0f : rescaling)"),
    "another factor from some round on": ("s[j] = scale", "s[j] = (j0 > 15 ? 2.0f : 1.0f) * scale"),
    "a part of the keys' score": ("q0 * k[j * 2] + q1", "q1"),
    "a forgotten value": ("w0 += e * v[j * 2]", "w0 += e"),
    "a missing barrier": ("        __syncthreads();\n        float s", "        float s"),
    "another power": ("expf(before - top)", "exp2f(before - top)"),
    "half the sum each round": ("total * rescaling", "0.5f * total * rescaling"),
    "a quotient by the last tile's sum": ("total = total * rescaling + sum * own", "total = sum * own"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_at_the_size_asked_for_are_not_proved(mistake: str) -> None:
    found = judged(*MISTAKES[mistake])
    assert found.verdict != "proved", mistake


TWO_PASSES = """
extern "C" __global__ void log_sum_exp(const float* X, float* y)
{
    const int i = blockIdx.x * 8 + threadIdx.x;
    float top = -3.4028235e+38f, total = 0.0f;
    #pragma unroll 1
    for (int j = 0; j < 48; ++j) {
        top = fmaxf(top, X[i * 48 + j]);
    }
    #pragma unroll 1
    for (int j = 0; j < 48; ++j) {
        total += expf(X[i * 48 + j] - top);
    }
    y[i] = top + logf(total);
}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "verdict"),
    [
        ("", "", "proved"),
        ("top = fmaxf(top, X[i * 48 + j]);", "top = fmaxf(top, X[i * 48 + (j == 30 ? 29 : j)]);", "unchecked"),
        ("total += expf(X[i * 48 + j] - top)", "total += expf(X[i * 48 + j] - 0.5f * top)", "unchecked"),
        ("top + logf", "2.0f * top + logf", "unchecked"),
        ("total += expf", "total += j == 47 ? 0.0f : expf", "unchecked"),
    ],
    ids=["as it is", "an element twice", "another maximum", "the maximum twice", "an element less"],
)  # fmt: skip
def test_a_maximum_and_a_sum_in_two_loops(right: str, wrong: str, verdict: str) -> None:
    assert right in TWO_PASSES
    text = TWO_PASSES.replace(right, wrong, 1) if right else TWO_PASSES
    stage, kernel = by_hand(log_sum_exp, {"n": 16, "m": 48}, text, (2, 1, 1), (8, 1, 1))
    found = prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel))
    assert found.verdict == verdict, found.reason
    if verdict == "proved":
        assert found.thread_steps < 16 * 48


SHUFFLED = """
extern "C" __global__ void row_sum(const float* x, float* y)
{
    const int row = blockIdx.x * 4 + threadIdx.y;
    float total = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        total += x[row * 32 + k * 8 + threadIdx.x];
    }
    total += __shfl_xor_sync(0xffffffffu, total, 4);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    if (threadIdx.x == 0) {
        y[row] = total;
    }
}
"""


@pytest.mark.parametrize(
    ("right", "wrong"), [("", ""), ("total, 2)", "total, 8)"), ("total, 4)", "total, 12)"), ("k * 8", "k * 8 % 24")]
)
def test_threads_that_shuffle_alike_are_proved_by_those_of_a_row(right: str, wrong: str) -> None:
    text = SHUFFLED.replace(right, wrong) if right else SHUFFLED
    stage, kernel = by_hand(row_sum, {"rows": 16, "columns": 32}, text, (4, 1, 1), (8, 4, 1))
    axes = (False, True, True)
    found = prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), alike=axes)
    assert (found.verdict == "proved") == (not right), found.reason


HELD = """
extern "C" __global__ void row_sum(const float* x, float* y)
{
    __shared__ float held[8];
    const int row = blockIdx.x * 8 + threadIdx.x;
    float total = 0.0f;
    held[threadIdx.x] = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < 48; ++k) {
        __syncthreads();
        total += 0.5f * held[threadIdx.x];
        __syncthreads();
        held[threadIdx.x] = 2.0f * x[row * 48 + k];
    }
    __syncthreads();
    y[row] = total + 0.5f * held[threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("", ""),
        ("0.5f * held[threadIdx.x];\n        __s", "0.5f * held[threadIdx.x ^ 1];\n        __s"),
        ("= 2.0f * x", "= 3.0f * x"),
        ("total + 0.5f * held[threadIdx.x]", "total"),
        ("= 2.0f * x[row * 48 + k]", "= 2.0f * x[row * 48 + (k == 30 ? 29 : k)]"),
    ],
    ids=["as it is", "of another thread", "another factor", "the last one left out", "an element twice"],
)
def test_rounds_that_hand_on_computed_values_in_shared_memory(right: str, wrong: str) -> None:
    """Such values are taken for dead at first, and known when the step is tried again."""
    assert right in HELD
    text = HELD.replace(right, wrong) if right else HELD
    stage, kernel = by_hand(row_sum, {"rows": 16, "columns": 48}, text, (2, 1, 1), (8, 1, 1))
    axes = (False, False, False)
    found = prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), alike=axes)
    assert (found.verdict == "proved") == (not right), found.reason
    if not right:
        assert found.thread_steps < 8 * 48 * 6


BY_TWO_LANES = (
    ("blockIdx.x * 8 + threadIdx.x", "blockIdx.x * 4 + threadIdx.y"),
    (
        "const float q0 = Q[i * 2], q1 = Q[i * 2 + 1];",
        "const int lane = threadIdx.y * 2 + threadIdx.x;\n    const float q0 = Q[i * 2 + threadIdx.x];",
    ),
    ("k[threadIdx.x] = K[j0 * 8 + threadIdx.x];", "k[lane] = K[j0 * 8 + lane];"),
    ("v[threadIdx.x] = V[j0 * 8 + threadIdx.x];", "v[lane] = V[j0 * 8 + lane];"),
    (
        "s[j] = scale * (q0 * k[j * 2] + q1 * k[j * 2 + 1]);",
        "const float part = q0 * k[j * 2 + threadIdx.x];\n            s[j] = scale * (part + __shfl_xor_sync(0xffu, part, 1));",
    ),
    ("w0 += e * v[j * 2];", "w0 += e * v[j * 2 + threadIdx.x];"),
    ("            w1 += e * v[j * 2 + 1];\n", ""),
    ("Y[i * 2] = y0 / total;", "Y[i * 2 + threadIdx.x] = y0 / total;"),
    ("    Y[i * 2 + 1] = y1 / total;\n", ""),
)


@pytest.mark.parametrize("is_alike", [True, False])
@pytest.mark.parametrize(("right", "wrong"), [("", ""), ("part, 1)", "part, 2)"), ("y0 * rescaling", "y0")])
def test_lanes_that_share_a_row(right: str, wrong: str, is_alike: bool) -> None:
    text = ATTENTION
    for old, new in (*BY_TWO_LANES, *([(right, wrong)] if right else [])):
        assert old in text
        text = text.replace(old, new)
    stage, kernel = by_hand(attention, {"n": 16, "m": 4 * ROUNDS, "d": 2}, text, (4, 1, 1), (2, 4, 1))
    kernel = replace(kernel, parameters=(Parameter("scale", f32),))
    axes = (False, is_alike, is_alike)
    found = prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), alike=axes)
    assert (found.verdict == "proved") == (not right), found.reason
