# ruff: noqa: F821, UP037
"""Plain loops of backbones against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from warploom.core import UserError, f32
from warploom.schedule.cpu import c_source, find_compiler, plain_loop, plain_nest
from warploom.schedule.frontend import TensorFunction, exp, out, pad, tensor

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


@tensor
def matmul(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@tensor
def gesummv(A: f32["m", "n"], B: f32["m", "n"], x: f32["n"], alpha: f32, beta: f32, y: out[f32["m"]]):
    y[m] = alpha * sum(A[m, n] * x[n], over=n) + beta * sum(B[m, n] * x[n], over=n)


@tensor
def softmax(A: f32["m", "n"], B: out[f32["m", "n"]]):
    top[m] = max(A[m, n], over=n)
    power[m, n] = exp(A[m, n] - top[m])
    B[m, n] = power[m, n] / sum(power[m, n], over=n)


@tensor
def smooth(A: f32["n", "n"], B: out[f32["n", "n"]]):
    B[i, j] = 0.5 * A[i, j] + 0.25 * (pad(A, 1.5)[i - 1, j] + pad(A, 1.5)[i, j + 1])


@tensor
def shifts(u: f32["k"], v: f32["p"], w: f32["j"], Y: out[f32["k", "j"]]):
    Y[k, j] = sum(sum(u[l] + v[p], over=l) * w[j], over=p) + u[k]


@tensor
def shares(A: f32["k", "p"], w: f32["j"], Y: out[f32["k", "j"]]):
    r = sum(A[k, p], over=p)
    Y[k, j] = r + sum(r * w[j], over=k)


def shifted(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    return (u[:, None] + v).sum() * w + u[:, None]


def smoothed(a: np.ndarray) -> np.ndarray:
    wide = np.pad(a, 1, constant_values=1.5)
    return 0.5 * a + 0.25 * (wide[:-2, 1:-1] + wide[1:-1, 2:])


def powers(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


CASES: list[tuple[TensorFunction, dict[str, int], Callable[..., np.ndarray]]] = [
    (matmul, {"m": 5, "n": 7, "k": 6}, lambda a, b: a @ b),
    (gesummv, {"m": 5, "n": 9}, lambda a, b, x: 0.75 * (a @ x) + 0.75 * (b @ x)),
    (softmax, {"m": 3, "n": 11}, powers),
    (smooth, {"n": 6}, smoothed),
    (shifts, {"k": 5, "p": 3, "j": 4}, shifted),
]


@pytest.mark.parametrize(("function", "sizes", "reference"), CASES, ids=[c[0].name for c in CASES])
def test_computes_the_kernel(function: TensorFunction, sizes: dict[str, int], reference: Callable[..., np.ndarray]) -> None:
    (backbone,) = function.program(sizes).stages
    compiled = plain_loop(backbone)
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(r.shape).astype(np.float32) for r in backbone.regions]
    compiled.run(arrays, dict.fromkeys(compiled.parameters, 0.75), threads=2)
    np.testing.assert_allclose(arrays[-1], reference(*arrays[:-1]), rtol=1e-5, atol=1e-5)


def test_reductions_over_the_same_axes_share_a_loop() -> None:
    (backbone,) = gesummv.program({"m": 5, "n": 9}).stages
    source = c_source(plain_nest(backbone))
    assert source.text.count("for (") == 2
    assert source.units == 5


def test_a_sum_of_totals_is_not_beside_one_of_them() -> None:
    (backbone,) = shares.program({"k": 5, "p": 3, "j": 4}).stages
    with pytest.raises(UserError, match="expected no sum of a value at all k beside the value at one of them"):
        plain_nest(backbone.plain)
