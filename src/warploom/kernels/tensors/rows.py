"""Functions of the rows of a matrix: softmax and normalizations."""

# ruff: noqa: N803, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from warploom.core import f32
from warploom.kernels.tensors.kernel import TensorKernel
from warploom.schedule.frontend import exp, out, sqrt, tensor


@tensor
def softmax(X: f32["rows", "columns"], Y: out[f32["rows", "columns"]]):
    top[r] = max(X[r, c], over=c)
    e[r, c] = exp(X[r, c] - top[r])
    total[r] = sum(e[r, c], over=c)
    Y[r, c] = e[r, c] / total[r]


@tensor
def layer_norm(
    epsilon: f32, X: f32["rows", "columns"], gamma: f32["columns"], beta: f32["columns"], Y: out[f32["rows", "columns"]]
):
    mean[r] = sum(X[r, c], over=c) / columns
    d[r, c] = X[r, c] - mean[r]
    variance[r] = sum(d[r, c] * d[r, c], over=c) / columns
    scale[r] = 1 / sqrt(variance[r] + epsilon)
    Y[r, c] = d[r, c] * scale[r] * gamma[c] + beta[c]


@tensor
def rms_norm(epsilon: f32, X: f32["rows", "columns"], gamma: f32["columns"], Y: out[f32["rows", "columns"]]):
    x[r, c] = X[r, c]
    scale[r] = 1 / sqrt(sum(x[r, c] ** 2, over=c) / columns + epsilon)
    Y[r, c] = x[r, c] * scale[r] * gamma[c]


def _softmax(X):
    e = np.exp(X - X.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True),)


def _layer_norm(X, gamma, beta, epsilon):
    d = X - X.mean(axis=1, keepdims=True)
    return (d / np.sqrt((d * d).mean(axis=1, keepdims=True) + epsilon) * gamma + beta,)


def _rms_norm(X, gamma, epsilon):
    return (X / np.sqrt((X * X).mean(axis=1, keepdims=True) + epsilon) * gamma,)


_ROWS = {"rows": 4096, "columns": 1024}
_EPSILON = {"epsilon": 1e-5}

ROWS = (
    TensorKernel("softmax", softmax, _ROWS, _softmax),
    TensorKernel("layer_norm", layer_norm, _ROWS, _layer_norm, _EPSILON),
    TensorKernel("rms_norm", rms_norm, _ROWS, _rms_norm, _EPSILON),
)
