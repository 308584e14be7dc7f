"""Stencils and convolutions."""

# ruff: noqa: N803, N806, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from warploom.core import f32
from warploom.kernels.tensors.kernel import TensorKernel
from warploom.schedule.frontend import TensorFunction, out, pad, tensor


@tensor
def conv2d(X: f32["c", "h + r - 1", "w + s - 1"], W: f32["o", "c", "r", "s"], Y: out[f32["o", "h", "w"]]):
    Y[o, h, w] += X[c, h + r, w + s] * W[o, c, r, s]


def conv2d_same(width: int) -> TensorFunction:
    """Outputs as large as the image, which is 0 outside; filters of odd `width` and height."""
    CENTRE = width // 2

    @tensor
    def conv2d_same(X: f32["c", "h", "w"], W: f32["o", "c", width, width], Y: out[f32["o", "h", "w"]]):
        Y[o, h, w] += pad(X, 0)[c, h + r - CENTRE, w + s - CENTRE] * W[o, c, r, s]

    return conv2d_same


@tensor
def stencil3d(centre: f32, side: f32, X: f32["d + 2", "h + 2", "w + 2"], Y: out[f32["d", "h", "w"]]):
    across[d, h, w] = X[d + 1, h + 1, w] + X[d + 1, h + 1, w + 2]
    along[d, h, w] = X[d + 1, h, w + 1] + X[d + 1, h + 2, w + 1]
    through[d, h, w] = X[d, h + 1, w + 1] + X[d + 2, h + 1, w + 1]
    Y[d, h, w] = centre * X[d + 1, h + 1, w + 1] + side * (across[d, h, w] + along[d, h, w] + through[d, h, w])


@tensor
def jacobi2d(X: f32["h + 2", "w + 2"], Y: out[f32["h", "w"]]):
    Y[h, w] = 0.2 * (X[h + 1, w + 1] + X[h + 1, w] + X[h + 1, w + 2] + X[h, w + 1] + X[h + 2, w + 1])


def _windows(X, r, s):
    return np.lib.stride_tricks.sliding_window_view(X, (r, s), axis=(1, 2))


def _conv2d(X, W):
    return (np.einsum("chwrs,ocrs->ohw", _windows(X, *W.shape[2:]), W, optimize=True),)


def _conv2d_same(X, W):
    p = W.shape[2] // 2
    return _conv2d(np.pad(X, ((0, 0), (p, p), (p, p))), W)


def _stencil3d(X, centre, side):
    across = X[1:-1, 1:-1, :-2] + X[1:-1, 1:-1, 2:]
    along = X[1:-1, :-2, 1:-1] + X[1:-1, 2:, 1:-1]
    through = X[:-2, 1:-1, 1:-1] + X[2:, 1:-1, 1:-1]
    return (centre * X[1:-1, 1:-1, 1:-1] + side * (across + along + through),)


def _jacobi2d(X):
    return (np.float32(0.2) * (X[1:-1, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:] + X[:-2, 1:-1] + X[2:, 1:-1]),)


_IMAGE = {"c": 64, "o": 64, "h": 56, "w": 56}

STENCILS = (
    TensorKernel("conv2d", conv2d, {**_IMAGE, "r": 3, "s": 3}, _conv2d),
    TensorKernel("conv2d_7x7", conv2d, {**_IMAGE, "r": 7, "s": 7}, _conv2d),
    TensorKernel("conv2d_same", conv2d_same(3), _IMAGE, _conv2d_same),
    TensorKernel("conv2d_same_7x7", conv2d_same(7), _IMAGE, _conv2d_same),
    TensorKernel("filter2d", conv2d, {"c": 1, "o": 1, "h": 4096, "w": 4096, "r": 3, "s": 3}, _conv2d),
    TensorKernel("filter2d_7x7", conv2d, {"c": 1, "o": 1, "h": 4096, "w": 4096, "r": 7, "s": 7}, _conv2d),
    TensorKernel("stencil3d", stencil3d, {"d": 256, "h": 256, "w": 256}, _stencil3d, {"centre": 0.5, "side": 0.0625}),
    TensorKernel("jacobi2d", jacobi2d, {"h": 4096, "w": 4096}, _jacobi2d),
)
