"""Attention whose weights are rounded for products by whole warps, causal attention, and roundings that stay in two passes."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from math import inf

import numpy as np

from warploom.core import f16, f32, i32
from warploom.schedule.backbone import Backbone, matrix_tiles, no_tiles, read_once, widened
from warploom.schedule.frontend import TensorFunction, exp, out, tensor, where

Arrays = dict[str, np.ndarray]


@tensor
def attention_f16(scale: f32, Q: f16["h", "n", "d"], K: f16["h", "m", "d"], V: f16["h", "m", "d"], Y: out[f32["h", "n", "d"]]):
    s[g, i, j] = scale * sum(f32(Q[g, i, k]) * f32(K[g, j, k]), over=k)
    top[g, i] = max(s[g, i, j], over=j)
    e[g, i, j] = exp(s[g, i, j] - top[g, i])
    total[g, i] = sum(e[g, i, j], over=j)
    weighted[g, i, c] = sum(f32(f16(e[g, i, j])) * f32(V[g, j, c]), over=j)
    Y[g, i, c] = weighted[g, i, c] / total[g, i]


@tensor
def causal(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = where(j <= i, scale * sum(Q[i, k] * K[j, k], over=k), -inf)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(e[i, j] * V[j, c], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def causal_f16(scale: f32, Q: f16["h", "n", "d"], K: f16["h", "m", "d"], V: f16["h", "m", "d"], Y: out[f32["h", "n", "d"]]):
    s[g, i, j] = where(j <= i, scale * sum(f32(Q[g, i, k]) * f32(K[g, j, k]), over=k), -inf)
    top[g, i] = max(s[g, i, j], over=j)
    e[g, i, j] = exp(s[g, i, j] - top[g, i])
    total[g, i] = sum(e[g, i, j], over=j)
    weighted[g, i, c] = sum(f32(f16(e[g, i, j])) * f32(V[g, j, c]), over=j)
    Y[g, i, c] = weighted[g, i, c] / total[g, i]


@tensor
def rounded_products(X: f32["n", "m"], w: f32["m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(f32(f16(exp(X[i, j] - top[i]) * w[j])), over=j)


@tensor
def rounded_powers(X: f32["n", "m"], w: f32["m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(f32(f16(exp(X[i, j] + w[j] - top[i]))), over=j)


@tensor
def whole_numbers(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(f32(i32(exp(X[i, j] - top[i]))), over=j)


@tensor
def rounded_weights(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(f32(f16(exp(X[i, j] - top[i]))), over=j)


def for_matrices(function: TensorFunction, sizes: dict[str, int]) -> Backbone:
    """The stage as `explore` has it for a GPU with instructions for matrices of f16 and bf16."""
    return widened(read_once(function.program(sizes, matrix_tiles(("f16", "bf16"))).stages[0]), ("f16", "bf16"))


def plain(function: TensorFunction, sizes: dict[str, int]) -> Backbone:
    return read_once(function.program(sizes, no_tiles).stages[0])


def by_numpy(data: Arrays, scale: float, *, is_causal: bool) -> np.ndarray:
    """Softmax(scale Q K^T) V in double precision; NaN in rows without a finite score."""
    queries, keys, values = (data[name].astype(np.float64) for name in "QKV")
    scores = scale * queries @ np.swapaxes(keys, -1, -2)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ values / weights.sum(axis=-1, keepdims=True)


def random_arrays(stage: Backbone, seed: int = 7) -> Arrays:
    rng = np.random.default_rng(seed)
    dtype = {"f16": np.float16, "f32": np.float32}
    return {r.name: rng.normal(size=r.shape).astype(dtype[r.dtype.name]) for r in stage.regions if r.name in "QKV"}
