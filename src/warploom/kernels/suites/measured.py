"""The 25 kernels that `warploom bench schedule` measures at three sizes each: 15 of PolyBench, 10 of neural networks.

PolyBench's kernels are those without triangles and recurrences (Pouchet and Yuki, PolyBench/C 4.2); stencils make one step.
"""

# ruff: noqa: N803, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from warploom.core import f32
from warploom.kernels.tensors.dense import DENSE
from warploom.kernels.tensors.kernel import TensorKernel
from warploom.kernels.tensors.rows import ROWS
from warploom.kernels.tensors.stencils import STENCILS
from warploom.schedule.frontend import erf, exp, out, pad, temp, tensor


@dataclass(frozen=True, slots=True)
class SuiteKernel:
    """A kernel and the three sets of sizes to measure it at: within the caches, near their edge, beyond them."""

    kernel: TensorKernel
    sizes: Mapping[str, Mapping[str, int]]


@tensor
def gemm(alpha: f32, beta: f32, A: f32["m", "k"], B: f32["k", "n"], C: f32["m", "n"], D: out[f32["m", "n"]]):
    D[m, n] = alpha * sum(A[m, k] * B[k, n], over=k) + beta * C[m, n]


@tensor
def three_matmul(
    A: f32["n", "n"], B: f32["n", "n"], C: f32["n", "n"], D: f32["n", "n"],
    AB: temp[f32["n", "n"]], CD: temp[f32["n", "n"]], G: out[f32["n", "n"]],
):  # fmt: skip
    AB[i, j] += A[i, k] * B[k, j]
    CD[i, j] += C[i, k] * D[k, j]
    G[i, j] += AB[i, k] * CD[k, j]


@tensor
def gemver(
    alpha: f32, beta: f32, A: f32["n", "n"], u1: f32["n"], v1: f32["n"], u2: f32["n"], v2: f32["n"], y: f32["n"], z: f32["n"],
    B: out[f32["n", "n"]], x: out[f32["n"]], w: out[f32["n"]],
):  # fmt: skip
    B[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    x[i] = beta * sum(B[j, i] * y[j], over=j) + z[i]
    w[i] = alpha * sum(B[i, j] * x[j], over=j)


@tensor
def syr2k(alpha: f32, beta: f32, A: f32["n", "k"], B: f32["n", "k"], C: f32["n", "n"], D: out[f32["n", "n"]]):
    D[i, j] = alpha * sum(A[i, k] * B[j, k] + B[i, k] * A[j, k], over=k) + beta * C[i, j]


@tensor
def doitgen(A: f32["r", "q", "p"], C: f32["p", "p"], B: out[f32["r", "q", "p"]]):
    B[r, q, i] += A[r, q, s] * C[s, i]


@tensor
def jacobi1d(X: f32["n + 2"], Y: out[f32["n"]]):
    Y[i] = 0.33333 * (X[i] + X[i + 1] + X[i + 2])


@tensor
def heat3d(X: f32["d + 2", "h + 2", "w + 2"], Y: out[f32["d", "h", "w"]]):
    centre[d, h, w] = X[d + 1, h + 1, w + 1]
    through[d, h, w] = X[d, h + 1, w + 1] - 2 * centre[d, h, w] + X[d + 2, h + 1, w + 1]
    along[d, h, w] = X[d + 1, h, w + 1] - 2 * centre[d, h, w] + X[d + 1, h + 2, w + 1]
    across[d, h, w] = X[d + 1, h + 1, w] - 2 * centre[d, h, w] + X[d + 1, h + 1, w + 2]
    Y[d, h, w] = centre[d, h, w] + 0.125 * (through[d, h, w] + along[d, h, w] + across[d, h, w])


@tensor
def covariance(X: f32["n", "m"], mean: temp[f32["m"]], D: temp[f32["n", "m"]], C: out[f32["m", "m"]]):
    mean[j] = sum(X[i, j], over=i) / n
    D[i, j] = X[i, j] - mean[j]
    C[i, j] = sum(D[k, i] * D[k, j], over=k) / (n - 1)


@tensor
def linear_relu(X: f32["m", "k"], W: f32["n", "k"], bias: f32["n"], Y: out[f32["m", "n"]]):
    Y[m, n] = max(sum(X[m, k] * W[n, k], over=k) + bias[n], 0)


@tensor
def gelu(X: f32["m", "n"], bias: f32["n"], Y: out[f32["m", "n"]]):
    x[m, n] = X[m, n] + bias[n]
    Y[m, n] = 0.5 * x[m, n] * (1 + erf(0.70710678 * x[m, n]))


@tensor
def depthwise(X: f32["c", "h", "w"], W: f32["c", 3, 3], Y: out[f32["c", "h", "w"]]):
    Y[c, h, w] += pad(X, 0)[c, h + r - 1, w + s - 1] * W[c, r, s]


@tensor
def conv2d_strided(X: f32["c", "2*h + 1", "2*w + 1"], W: f32["o", "c", 3, 3], Y: out[f32["o", "h", "w"]]):
    Y[o, h, w] += X[c, 2 * h + r, 2 * w + s] * W[o, c, r, s]


@tensor
def max_pool(X: f32["c", "2*h", "2*w"], Y: out[f32["c", "h", "w"]]):
    top[c, h, w] = max(X[c, 2 * h, 2 * w], X[c, 2 * h, 2 * w + 1])
    Y[c, h, w] = max(top[c, h, w], max(X[c, 2 * h + 1, 2 * w], X[c, 2 * h + 1, 2 * w + 1]))


@tensor
def attention(
    scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"],
    S: temp[f32["n", "m"]], P: temp[f32["n", "m"]], Y: out[f32["n", "d"]],
):  # fmt: skip
    S[i, j] = scale * sum(Q[i, k] * K[j, k], over=k)
    top[i] = max(S[i, j], over=j)
    e[i, j] = exp(S[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    P[i, j] = e[i, j] / total[i]
    Y[i, k] += P[i, j] * V[j, k]


def _gemver(A, u1, v1, u2, v2, y, z, alpha, beta):
    changed = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (changed.T @ y) + z
    return changed, x, alpha * (changed @ x)


def _heat3d(X):
    centre = X[1:-1, 1:-1, 1:-1]
    sides = X[:-2, 1:-1, 1:-1] + X[2:, 1:-1, 1:-1] + X[1:-1, :-2, 1:-1] + X[1:-1, 2:, 1:-1]
    return (centre + np.float32(0.125) * (sides + X[1:-1, 1:-1, :-2] + X[1:-1, 1:-1, 2:] - 6 * centre),)


def _covariance(X):
    d = X - X.mean(axis=0)
    return (d.T @ d / np.float32(len(X) - 1),)


def _gelu(X, bias):
    x = X + bias
    values = np.asarray(np.frompyfunc(math.erf, 1, 1)(np.float32(0.70710678) * x), np.float32)
    return (np.float32(0.5) * x * (1 + values),)


def _depthwise(X, W):
    h, w = X.shape[1:]
    around = np.pad(X, ((0, 0), (1, 1), (1, 1)))
    return (sum(around[:, r : r + h, s : s + w] * W[:, r, s, None, None] for r in range(3) for s in range(3)),)


def _conv2d_strided(X, W):
    windows = np.lib.stride_tricks.sliding_window_view(X, (3, 3), axis=(1, 2))[:, ::2, ::2]
    return (np.einsum("chwrs,ocrs->ohw", windows, W, optimize=True),)


def _max_pool(X):
    return (np.maximum(np.maximum(X[:, ::2, ::2], X[:, ::2, 1::2]), np.maximum(X[:, 1::2, ::2], X[:, 1::2, 1::2])),)


def _attention(Q, K, V, scale):
    s = scale * (Q @ K.T)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True) @ V,)


def _suite(kernel: TensorKernel, *sizes: Mapping[str, int]) -> SuiteKernel:
    named = dict(zip(("small", "medium", "large"), sizes, strict=True))
    return SuiteKernel(replace(kernel, sizes=named["medium"]), named)


def _same(names: str, *sizes: int) -> list[dict[str, int]]:
    return [dict.fromkeys(names.split(), size) for size in sizes]


_SCALARS = {"alpha": 1.5, "beta": 1.25}
_IMAGES = [{"h": 28, "w": 28}, {"h": 56, "w": 56}, {"h": 112, "w": 112}]
_KNOWN = {k.name: k for k in (*DENSE, *ROWS, *STENCILS)}
_TABLES = [{"rows": r, "columns": c} for r, c in ((256, 256), (1024, 1024), (8192, 1024))]

POLYBENCH: dict[str, SuiteKernel] = {
    "gemm": _suite(
        TensorKernel("gemm", gemm, {}, lambda A, B, C, alpha, beta: (alpha * (A @ B) + beta * C,), _SCALARS),
        *_same("m n k", 128, 512, 1024),
    ),
    "2mm": _suite(_KNOWN["2mm"], *_same("m n k p", 128, 384, 768)),
    "3mm": _suite(TensorKernel("3mm", three_matmul, {}, lambda A, B, C, D: ((A @ B) @ (C @ D),)), *_same("n", 128, 384, 768)),
    "atax": _suite(_KNOWN["atax"], *_same("m n", 256, 1024, 4096)),
    "bicg": _suite(_KNOWN["bicg"], *_same("m n", 256, 1024, 4096)),
    "mvt": _suite(_KNOWN["mvt"], *_same("n", 256, 1024, 4096)),
    "gemver": _suite(TensorKernel("gemver", gemver, {}, _gemver, _SCALARS), *_same("n", 256, 1024, 3072)),
    "gesummv": _suite(_KNOWN["gesummv"], *_same("n", 256, 1024, 4096)),
    "syrk": _suite(_KNOWN["syrk"], *_same("n k", 128, 512, 1024)),
    "syr2k": _suite(
        TensorKernel("syr2k", syr2k, {}, lambda A, B, C, alpha, beta: (alpha * (A @ B.T + B @ A.T) + beta * C,), _SCALARS),
        *_same("n k", 128, 384, 768),
    ),
    "doitgen": _suite(TensorKernel("doitgen", doitgen, {}, lambda A, C: (A @ C,)), *_same("r q p", 32, 64, 128)),
    "jacobi1d": _suite(
        TensorKernel("jacobi1d", jacobi1d, {}, lambda X: (np.float32(0.33333) * (X[:-2] + X[1:-1] + X[2:]),)),
        *_same("n", 1 << 12, 1 << 18, 1 << 24),
    ),
    "jacobi2d": _suite(_KNOWN["jacobi2d"], *_same("h w", 256, 1024, 4096)),
    "heat3d": _suite(TensorKernel("heat3d", heat3d, {}, _heat3d), *_same("d h w", 32, 96, 256)),
    "covariance": _suite(TensorKernel("covariance", covariance, {}, _covariance), *_same("n m", 128, 384, 768)),
}
NETWORKS: dict[str, SuiteKernel] = {
    "linear_relu": _suite(
        TensorKernel("linear_relu", linear_relu, {}, lambda X, W, bias: (np.maximum(X @ W.T + bias, 0),)),
        *({"m": m, "n": 512, "k": 512} for m in (16, 256, 1024)),
    ),
    "gelu": _suite(TensorKernel("gelu", gelu, {}, _gelu), *_same("m n", 128, 512, 2048)),
    "softmax": _suite(_KNOWN["softmax"], *_TABLES),
    "layer_norm": _suite(_KNOWN["layer_norm"], *_TABLES),
    "rms_norm": _suite(_KNOWN["rms_norm"], *_TABLES),
    "conv2d": _suite(_KNOWN["conv2d_same"], *({"c": 32, "o": 32, **image} for image in _IMAGES)),
    "depthwise": _suite(TensorKernel("depthwise", depthwise, {}, _depthwise), *({"c": 64, **image} for image in _IMAGES)),
    "conv2d_strided": _suite(
        TensorKernel("conv2d_strided", conv2d_strided, {}, _conv2d_strided), *({"c": 32, "o": 32, **image} for image in _IMAGES)
    ),
    "max_pool": _suite(TensorKernel("max_pool", max_pool, {}, _max_pool), *({"c": 64, **image} for image in _IMAGES)),
    "attention": _suite(
        TensorKernel("attention", attention, {}, _attention, {"scale": 0.125}),
        *({"n": n, "m": n, "d": 64} for n in (64, 256, 1024)),
    ),
}
