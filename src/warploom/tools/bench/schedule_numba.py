"""The kernels of `polybench/*` and `nn/*` as loops for Numba (`parallel`, `fastmath`), the outermost loop shared among threads;
imported only where Numba is installed.

The loops are written as one writes them for it: in the order in which memory lies, sums in f32, nothing tiled by hand. Each takes
the kernel's arrays and scalars by name.
"""

# pyright: basic
# ruff: noqa: N803  (arrays and scalars are called as in the kernels)

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import prange

_looped = numba.njit(parallel=True, fastmath=True, cache=False)
_ZERO = np.float32(0)


@_looped
def _multiplied(A, B, alpha, beta, C, D):
    for i in prange(A.shape[0]):
        for j in range(B.shape[1]):
            D[i, j] = beta * C[i, j]
        for k in range(A.shape[1]):
            a = alpha * A[i, k]
            for j in range(B.shape[1]):
                D[i, j] += a * B[k, j]


@_looped
def _matmul(A, B, C):
    for i in prange(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = _ZERO
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@_looped
def _matvec(A, x, alpha, y):
    for i in prange(A.shape[0]):
        total = _ZERO
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        y[i] += alpha * total


@_looped
def _vecmat(A, x, alpha, y):
    width = 256
    for block in prange((A.shape[1] + width - 1) // width):
        last = min(A.shape[1], (block + 1) * width)
        for i in range(A.shape[0]):
            a = alpha * x[i]
            for j in range(block * width, last):
                y[j] += a * A[i, j]


@_looped
def _changed(A, u1, v1, u2, v2, B):
    for i in prange(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]


@_looped
def _gesummv(alpha, beta, A, B, x, y):
    for i in prange(A.shape[0]):
        a, b = _ZERO, _ZERO
        for j in range(A.shape[1]):
            a += A[i, j] * x[j]
            b += B[i, j] * x[j]
        y[i] = alpha * a + beta * b


@_looped
def _syrk(alpha, beta, A, C, D):
    for i in prange(A.shape[0]):
        for j in range(A.shape[0]):
            total = _ZERO
            for k in range(A.shape[1]):
                total += A[i, k] * A[j, k]
            D[i, j] = alpha * total + beta * C[i, j]


@_looped
def _syr2k(alpha, beta, A, B, C, D):
    for i in prange(A.shape[0]):
        for j in range(A.shape[0]):
            total = _ZERO
            for k in range(A.shape[1]):
                total += A[i, k] * B[j, k] + B[i, k] * A[j, k]
            D[i, j] = alpha * total + beta * C[i, j]


@_looped
def _doitgen(A, C, B):
    for r in prange(A.shape[0]):
        for q in range(A.shape[1]):
            for i in range(C.shape[1]):
                B[r, q, i] = _ZERO
            for s in range(A.shape[2]):
                for i in range(C.shape[1]):
                    B[r, q, i] += A[r, q, s] * C[s, i]


@_looped
def _jacobi1d(X, Y):
    for i in prange(Y.shape[0]):
        Y[i] = np.float32(0.33333) * (X[i] + X[i + 1] + X[i + 2])


@_looped
def _jacobi2d(X, Y):
    for h in prange(Y.shape[0]):
        for w in range(Y.shape[1]):
            Y[h, w] = np.float32(0.2) * (X[h + 1, w + 1] + X[h + 1, w] + X[h + 1, w + 2] + X[h, w + 1] + X[h + 2, w + 1])


@_looped
def _heat3d(X, Y):
    for d in prange(Y.shape[0]):
        for h in range(Y.shape[1]):
            for w in range(Y.shape[2]):
                sides = X[d, h + 1, w + 1] + X[d + 2, h + 1, w + 1] + X[d + 1, h, w + 1] + X[d + 1, h + 2, w + 1]
                sides += X[d + 1, h + 1, w] + X[d + 1, h + 1, w + 2]
                Y[d, h, w] = np.float32(0.25) * X[d + 1, h + 1, w + 1] + np.float32(0.125) * sides


@_looped
def _covariance(X, mean, D, C):
    mean[:] = _ZERO
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            mean[j] += X[i, j]
    for i in prange(X.shape[0]):
        for j in range(X.shape[1]):
            D[i, j] = X[i, j] - mean[j] / np.float32(X.shape[0])
    scale = np.float32(1) / np.float32(X.shape[0] - 1)
    for i in prange(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = _ZERO
        for k in range(X.shape[0]):
            d = D[k, i] * scale
            for j in range(C.shape[1]):
                C[i, j] += d * D[k, j]


@_looped
def _linear_relu(X, W, bias, Y):
    for m in prange(X.shape[0]):
        for n in range(W.shape[0]):
            total = bias[n]
            for k in range(X.shape[1]):
                total += X[m, k] * W[n, k]
            Y[m, n] = max(total, _ZERO)


@_looped
def _gelu(X, bias, Y):
    for m in prange(X.shape[0]):
        for n in range(X.shape[1]):
            x = X[m, n] + bias[n]
            Y[m, n] = np.float32(0.5) * x * (np.float32(1) + math.erf(np.float32(0.70710678) * x))


@_looped
def _softmax(X, Y):
    for r in prange(X.shape[0]):
        top = X[r, 0]
        for c in range(X.shape[1]):
            top = max(top, X[r, c])
        total = _ZERO
        for c in range(X.shape[1]):
            Y[r, c] = math.exp(X[r, c] - top)
            total += Y[r, c]
        scale = np.float32(1) / total
        for c in range(X.shape[1]):
            Y[r, c] *= scale


@_looped
def _layer_norm(epsilon, X, gamma, beta, Y):
    count = np.float32(X.shape[1])
    for r in prange(X.shape[0]):
        total = _ZERO
        for c in range(X.shape[1]):
            total += X[r, c]
        mean = total / count
        squares = _ZERO
        for c in range(X.shape[1]):
            squares += (X[r, c] - mean) * (X[r, c] - mean)
        scale = np.float32(1) / math.sqrt(squares / count + epsilon)
        for c in range(X.shape[1]):
            Y[r, c] = (X[r, c] - mean) * scale * gamma[c] + beta[c]


@_looped
def _rms_norm(epsilon, X, gamma, Y):
    for r in prange(X.shape[0]):
        squares = _ZERO
        for c in range(X.shape[1]):
            squares += X[r, c] * X[r, c]
        scale = np.float32(1) / math.sqrt(squares / np.float32(X.shape[1]) + epsilon)
        for c in range(X.shape[1]):
            Y[r, c] = X[r, c] * scale * gamma[c]


@_looped
def _conv2d(X, W, Y, stride, pad):
    for o in prange(Y.shape[0]):
        Y[o] = _ZERO
        for c in range(X.shape[0]):
            for r in range(W.shape[2]):
                for s in range(W.shape[3]):
                    first, last = max(0, pad - s), min(Y.shape[2], X.shape[2] + pad - s)
                    for h in range(max(0, pad - r), min(Y.shape[1], X.shape[1] + pad - r)):
                        for w in range(first, last):
                            Y[o, h, w] += X[c, stride * h + r - pad, stride * w + s - pad] * W[o, c, r, s]


@_looped
def _depthwise(X, W, Y):
    for c in prange(Y.shape[0]):
        Y[c] = _ZERO
        for r in range(3):
            for s in range(3):
                for h in range(max(0, 1 - r), min(Y.shape[1], X.shape[1] + 1 - r)):
                    for w in range(max(0, 1 - s), min(Y.shape[2], X.shape[2] + 1 - s)):
                        Y[c, h, w] += X[c, h + r - 1, w + s - 1] * W[c, r, s]


@_looped
def _max_pool(X, Y):
    for c in prange(Y.shape[0]):
        for h in range(Y.shape[1]):
            for w in range(Y.shape[2]):
                top = max(X[c, 2 * h, 2 * w], X[c, 2 * h, 2 * w + 1])
                Y[c, h, w] = max(top, max(X[c, 2 * h + 1, 2 * w], X[c, 2 * h + 1, 2 * w + 1]))


@_looped
def _attention(scale, Q, K, V, S, Y):
    for i in prange(Q.shape[0]):
        top = np.float32(-np.inf)
        for j in range(K.shape[0]):
            score = _ZERO
            for k in range(Q.shape[1]):
                score += Q[i, k] * K[j, k]
            S[i, j] = scale * score
            top = max(top, S[i, j])
        total = _ZERO
        for k in range(V.shape[1]):
            Y[i, k] = _ZERO
        for j in range(K.shape[0]):
            weight = math.exp(S[i, j] - top)
            total += weight
            for k in range(V.shape[1]):
                Y[i, k] += weight * V[j, k]
        for k in range(V.shape[1]):
            Y[i, k] /= total


def _two_matmul(d, p):
    _matmul(d["A"], d["B"], d["AB"])
    _multiplied(d["AB"], d["C"], p["alpha"], p["beta"], d["D"], d["E"])


def _three_matmul(d, p):
    _matmul(d["A"], d["B"], d["AB"])
    _matmul(d["C"], d["D"], d["CD"])
    _matmul(d["AB"], d["CD"], d["G"])


def _added(multiply, A, x, alpha, start, y):
    y[...] = start
    multiply(A, x, np.float32(alpha), y)


def _atax(d, p):
    _added(_matvec, d["A"], d["x"], 1, 0, d["Ax"])
    _added(_vecmat, d["A"], d["Ax"], 1, 0, d["y"])


def _bicg(d, p):
    _added(_vecmat, d["A"], d["r"], 1, 0, d["s"])
    _added(_matvec, d["A"], d["p"], 1, 0, d["q"])


def _mvt(d, p):
    _added(_matvec, d["A"], d["y1"], 1, d["x1"], d["z1"])
    _added(_vecmat, d["A"], d["y2"], 1, d["x2"], d["z2"])


def _gemver(d, p):
    _changed(d["A"], d["u1"], d["v1"], d["u2"], d["v2"], d["B"])
    _added(_vecmat, d["B"], d["y"], p["beta"], d["z"], d["x"])
    _added(_matvec, d["B"], d["x"], p["alpha"], 0, d["w"])


NUMBA: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], object]] = {
    "gemm": lambda d, p: _multiplied(d["A"], d["B"], p["alpha"], p["beta"], d["C"], d["D"]),
    "2mm": _two_matmul,
    "3mm": _three_matmul,
    "atax": _atax,
    "bicg": _bicg,
    "mvt": _mvt,
    "gemver": _gemver,
    "gesummv": lambda d, p: _gesummv(p["alpha"], p["beta"], d["A"], d["B"], d["x"], d["y"]),
    "syrk": lambda d, p: _syrk(p["alpha"], p["beta"], d["A"], d["C"], d["D"]),
    "syr2k": lambda d, p: _syr2k(p["alpha"], p["beta"], d["A"], d["B"], d["C"], d["D"]),
    "doitgen": lambda d, p: _doitgen(d["A"], d["C"], d["B"]),
    "jacobi1d": lambda d, p: _jacobi1d(d["X"], d["Y"]),
    "jacobi2d": lambda d, p: _jacobi2d(d["X"], d["Y"]),
    "heat3d": lambda d, p: _heat3d(d["X"], d["Y"]),
    "covariance": lambda d, p: _covariance(d["X"], d["mean"], d["D"], d["C"]),
    "linear_relu": lambda d, p: _linear_relu(d["X"], d["W"], d["bias"], d["Y"]),
    "gelu": lambda d, p: _gelu(d["X"], d["bias"], d["Y"]),
    "softmax": lambda d, p: _softmax(d["X"], d["Y"]),
    "layer_norm": lambda d, p: _layer_norm(p["epsilon"], d["X"], d["gamma"], d["beta"], d["Y"]),
    "rms_norm": lambda d, p: _rms_norm(p["epsilon"], d["X"], d["gamma"], d["Y"]),
    "conv2d": lambda d, p: _conv2d(d["X"], d["W"], d["Y"], 1, 1),
    "depthwise": lambda d, p: _depthwise(d["X"], d["W"], d["Y"]),
    "conv2d_strided": lambda d, p: _conv2d(d["X"], d["W"], d["Y"], 2, 0),
    "max_pool": lambda d, p: _max_pool(d["X"], d["Y"]),
    "attention": lambda d, p: _attention(p["scale"], d["Q"], d["K"], d["V"], d["S"], d["Y"]),
}
"""By the name of the kernel in its suite; each writes the outputs of the kernel."""


def in_numba(name: str, arrays: Mapping[str, Any], scalars: Mapping[str, Any], threads: int) -> tuple[str, Callable[[], object]]:
    """A title, and what runs the kernel once on as many threads; outputs are written in place."""
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    return f"numba {numba.__version__}", partial(NUMBA[name], arrays, scalars)
