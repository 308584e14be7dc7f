"""Competitors that are timed beside generated CPU kernels: NumPy (OpenBLAS) at its best, and plain loops left to the C
compiler."""

# pyright: basic
# ruff: noqa: N806  (arrays are called as in the kernels)

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Peer: TypeAlias = Callable[[Arrays, Mapping[str, float]], None]
"""Takes all arrays of a program in their shapes by name, and its scalars; writes the outputs."""


def _matmul(d: Arrays, p: Mapping[str, float]) -> None:
    np.matmul(d["A"], d["B"], out=d["C"])


def _strided_view(d: Arrays, p: Mapping[str, float]) -> None:
    np.matmul(d["A"][..., ::32], d["B"], out=d["C"])


def _strided_copy(d: Arrays, p: Mapping[str, float]) -> None:
    np.matmul(np.ascontiguousarray(d["A"][..., ::32]), d["B"], out=d["C"])


def _matvec(d: Arrays, p: Mapping[str, float]) -> None:
    np.matmul(d["A"], d["x"], out=d["y"])


def _gesummv(d: Arrays, p: Mapping[str, float]) -> None:
    np.matmul(d["A"], d["x"], out=d["y"])
    d["y"][...] *= np.float32(p["alpha"])
    d["y"][...] += np.float32(p["beta"]) * (d["B"] @ d["x"])


def _atax(d: Arrays, p: Mapping[str, float]) -> None:
    np.matmul(d["A"], d["x"], out=d["Ax"])
    np.matmul(d["Ax"], d["A"], out=d["y"])


def _dot(d: Arrays, p: Mapping[str, float]) -> None:
    d["total"][0] = np.dot(d["x"], d["y"])


def _axpy(d: Arrays, p: Mapping[str, float]) -> None:
    np.multiply(d["x"], np.float32(p["alpha"]), out=d["z"])
    np.add(d["z"], d["y"], out=d["z"])


def _stencil3d(d: Arrays, p: Mapping[str, float]) -> None:
    X, Y = d["X"], d["Y"]
    np.add(X[1:-1, 1:-1, :-2], X[1:-1, 1:-1, 2:], out=Y)
    for part in (X[1:-1, :-2, 1:-1], X[1:-1, 2:, 1:-1], X[:-2, 1:-1, 1:-1], X[2:, 1:-1, 1:-1]):
        np.add(Y, part, out=Y)
    np.multiply(Y, np.float32(p["side"]), out=Y)
    np.add(Y, np.float32(p["centre"]) * X[1:-1, 1:-1, 1:-1], out=Y)


def _softmax(d: Arrays, p: Mapping[str, float]) -> None:
    X, Y = d["X"], d["Y"]
    np.subtract(X, X.max(axis=1, keepdims=True), out=Y)
    np.exp(Y, out=Y)
    np.divide(Y, Y.sum(axis=1, keepdims=True), out=Y)


def _layer_norm(d: Arrays, p: Mapping[str, float]) -> None:
    X, Y = d["X"], d["Y"]
    np.subtract(X, X.mean(axis=1, keepdims=True), out=Y)
    scale = 1 / np.sqrt(np.einsum("rc,rc->r", Y, Y)[:, None] / np.float32(X.shape[1]) + np.float32(p["epsilon"]))
    np.multiply(Y, scale, out=Y)
    np.multiply(Y, d["gamma"], out=Y)
    np.add(Y, d["beta"], out=Y)


def _conv2d_products(d: Arrays, p: Mapping[str, float]) -> None:
    """One matrix product per position in the filter."""
    X, W, Y = d["X"], d["W"], d["Y"]
    o, h, w = Y.shape
    flat = Y.reshape(o, h * w)
    flat[...] = 0
    for r in range(W.shape[2]):
        for s in range(W.shape[3]):
            flat += W[:, :, r, s] @ X[:, r : r + h, s : s + w].reshape(X.shape[0], h * w)


def _conv2d_columns(d: Arrays, p: Mapping[str, float]) -> None:
    """One matrix product with a copy of all windows (im2col)."""
    X, W, Y = d["X"], d["W"], d["Y"]
    o, c, r, s = W.shape
    windows = np.lib.stride_tricks.sliding_window_view(X, (r, s), axis=(1, 2)).transpose(0, 3, 4, 1, 2)
    np.matmul(W.reshape(o, c * r * s), windows.reshape(c * r * s, -1), out=Y.reshape(o, -1))


NUMPY: dict[str, dict[str, Peer]] = {
    "matmul": {"matmul": _matmul},
    "matmul_bf16": {"matmul of f32": _matmul},
    "matmul_strided": {"matmul of a view": _strided_view, "matmul of a copy": _strided_copy},
    "matmul_batched": {"matmul": _matmul},
    "matvec": {"matmul": _matvec},
    "gesummv": {"two matmul": _gesummv},
    "atax": {"two matmul": _atax},
    "dot": {"dot": _dot},
    "axpy": {"multiply, add": _axpy},
    "stencil3d": {"slices": _stencil3d},
    "softmax": {"max, exp, sum": _softmax},
    "layer_norm": {"mean, einsum": _layer_norm},
    "conv2d": {"a matmul per position": _conv2d_products, "im2col, matmul": _conv2d_columns},
}
"""By the name of the kernel, then by what they do; the fastest counts."""
