"""Attention with masks in several words, and what no mask may be read of."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from math import inf

import numpy as np
from tests.schedule.online.attention_forms import causal

from warploom.core import bf16, f16, f32
from warploom.schedule.frontend import exp, out, tensor, where

WIDTH, WIDE = 3, 8


@tensor
def ahead(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(j < i + 4, scale * sum(Q[i, k] * K[j, k], over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(e[i, j] * V[j, c], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def window(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(j <= i and i - 3 < j, scale * sum(Q[i, k] * K[j, k], over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(e[i, j] * V[j, c], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def window_f16(scale: f32, Q: f16["n", "d"], K: f16["m", "d"], V: f16["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(j <= i and i - 8 < j, scale * sum(f32(Q[i, k]) * f32(K[j, k]), over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(f32(f16(e[i, j])) * f32(V[j, c]), over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def window_bf16(scale: f32, Q: bf16["n", "d"], K: bf16["m", "d"], V: bf16["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(j <= i and i - 8 < j, scale * sum(f32(Q[i, k]) * f32(K[j, k]), over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(f32(bf16(e[i, j])) * f32(V[j, c]), over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def causal_bf16(scale: f32, Q: bf16["n", "d"], K: bf16["m", "d"], V: bf16["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(j <= i, scale * sum(f32(Q[i, k]) * f32(K[j, k]), over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(f32(bf16(e[i, j])) * f32(V[j, c]), over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def turned(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    """The same window in other words, and one more condition that is always true."""
    s[i, j] = where(j > i or not (i - 3 < j), -inf, where(i + 5 >= j, scale * sum(Q[i, k] * K[j, k], over=k), -inf))
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(V[j, c] * e[i, j], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def diagonal(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(i == j, scale * sum(Q[i, k] * K[j, k], over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(e[i, j] * V[j, c], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def strict(X: f32["n", "m"], y: out[f32["n"]]):
    """Row 0 has no element."""
    s[i, j] = where(j < i, X[i, j], -inf)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]), over=j)


@tensor
def whole_rows(X: f32["n", "m"], y: out[f32["n"]]):
    """Rows from 5 on have no element."""
    s[i, j] = where(j <= i and i < 5, X[i, j], -inf)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]), over=j)


@tensor
def small_rather_than_none(X: f32["n", "m"], y: out[f32["n"]]):
    """Weights of masked elements are small, and not 0."""
    s[i, j] = where(j <= i, X[i, j], -100.0)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]), over=j)


@tensor
def of_data(X: f32["n", "m"], y: out[f32["n"]]):
    s[i, j] = where(X[i, j] > 0, X[i, j], -inf)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]), over=j)


@tensor
def either(X: f32["n", "m"], y: out[f32["n"]]):
    """Neither condition is needed."""
    s[i, j] = where(j <= i or X[i, j] > 0, X[i, j], -inf)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]), over=j)


@tensor
def scores_as_weights(X: f32["n", "m"], y: out[f32["n"]]):
    """0 times -inf is no number, so an element that is ruled out does not add nothing."""
    s[i, j] = where(j <= i, X[i, j], -inf)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]) * s[i, j], over=j)


@tensor
def masked_twice(X: f32["n", "m"], y: out[f32["n"]]):
    """The maximum is of twice the masked score."""
    s[i, j] = where(j <= i, X[i, j], -inf)
    t[i, j] = s[i, j] * 2
    top[i] = max(t[i, j], over=j)
    y[i] = sum(exp(t[i, j] - top[i]), over=j)


@tensor
def always(X: f32["n", "m"], y: out[f32["n"]]):
    s[i, j] = where(j < i + 100, X[i, j], -inf)
    top[i] = max(s[i, j], over=j)
    y[i] = sum(exp(s[i, j] - top[i]), over=j)


MASKS = {
    causal: lambda i, j: j <= i,
    ahead: lambda i, j: j < i + 4,
    causal_bf16: lambda i, j: j <= i,
    window: lambda i, j: (j <= i) & (i - WIDTH < j),
    window_f16: lambda i, j: (j <= i) & (i - WIDE < j),
    window_bf16: lambda i, j: (j <= i) & (i - WIDE < j),
    turned: lambda i, j: (j <= i) & (i - WIDTH < j),
    diagonal: lambda i, j: i == j,
}
"""By function, whether element j of row i counts."""


def masked_by_numpy(function, data: dict[str, np.ndarray], scale: float) -> np.ndarray:
    """Softmax(masked scale Q K^T) V in double precision."""
    queries, keys, values = (data[name].astype(np.float64) for name in "QKV")
    scores = scale * queries @ keys.T
    scores = np.where(MASKS[function](*np.indices(scores.shape)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ values / weights.sum(axis=-1, keepdims=True)
