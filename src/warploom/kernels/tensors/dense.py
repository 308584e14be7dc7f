"""Dense linear algebra: vectors, matrices times vectors, matrix products (BLAS and PolyBench names)."""

# ruff: noqa: N803, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from warploom.core import bf16, e4m3, e5m2, f16, f32, f64, i8, i32, tf32, u8, values_of
from warploom.kernels.tensors.kernel import TensorKernel
from warploom.schedule.frontend import out, temp, tensor


@tensor
def axpy(alpha: f32, x: f32["n"], y: f32["n"], z: out[f32["n"]]):
    z[n] = alpha * x[n] + y[n]


@tensor
def dot(x: f32["n"], y: f32["n"], total: out[f32[1]]):
    total[one] += x[n] * y[n]


@tensor
def total(x: f32["n"], y: out[f32[1]]):
    y[one] = sum(x[i], over=i)


@tensor
def greatest(x: f32["n"], y: out[f32[1]]):
    y[one] = max(x[i], over=i)


@tensor
def outer(a: f32["m"], b: f32["n"], C: out[f32["m", "n"]]):
    C[m, n] = a[m] * b[n]


@tensor
def matvec(A: f32["m", "n"], x: f32["n"], y: out[f32["m"]]):
    y[m] += A[m, n] * x[n]


@tensor
def matvec_t(A: f32["m", "n"], x: f32["m"], y: out[f32["n"]]):
    y[n] += A[m, n] * x[m]


@tensor
def gesummv(alpha: f32, beta: f32, A: f32["n", "n"], B: f32["n", "n"], x: f32["n"], y: out[f32["n"]]):
    y[i] = alpha * sum(A[i, j] * x[j], over=j) + beta * sum(B[i, j] * x[j], over=j)


@tensor
def matmul(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@tensor
def matmul_split(A: f32["m", "parts", "k"], B: f32["parts", "k", "n"], P: temp[f32["parts", "m", "n"]], C: out[f32["m", "n"]]):
    """The sum in parts, for products of few tiles; in memory A is m by parts * k, B parts * k by n."""
    P[p, m, n] += A[m, p, k] * B[p, k, n]
    C[m, n] += P[p, m, n]


@tensor
def matmul_tn(A: f32["k", "m"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += A[k, m] * B[k, n]


@tensor
def matmul_nt(A: f32["m", "k"], B: f32["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[n, k]


@tensor
def matmul_tt(A: f32["k", "m"], B: f32["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += A[k, m] * B[n, k]


@tensor
def matmul_f16(A: f16["m", "k"], B: f16["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[k, n])


@tensor
def matmul_bf16(A: bf16["m", "k"], B: bf16["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[k, n])


@tensor
def matmul_i8(A: i8["m", "k"], B: i8["n", "k"], C: out[i32["m", "n"]]):
    C[m, n] += i32(A[m, k]) * i32(B[n, k])


@tensor
def matmul_u8(A: u8["m", "k"], B: u8["n", "k"], C: out[i32["m", "n"]]):
    C[m, n] += i32(A[m, k]) * i32(B[n, k])


@tensor
def matmul_tf32(A: tf32["m", "k"], B: tf32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[k, n])


@tensor
def matmul_e4m3(A: e4m3["m", "k"], B: e4m3["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[n, k])


@tensor
def matmul_e5m2(A: e5m2["m", "k"], B: e5m2["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += f32(A[m, k]) * f32(B[n, k])


@tensor
def matmul_f64(A: f64["m", "k"], B: f64["k", "n"], C: out[f64["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@tensor
def linear_relu_f16(X: f16["m", "k"], W: f16["n", "k"], bias: f32["n"], Y: out[f16["m", "n"]]):
    Y[m, n] = f16(max(sum(f32(X[m, k]) * f32(W[n, k]), over=k) + bias[n], 0))


@tensor
def matmul_strided(A: f32["m", "32*k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += A[m, 32 * k] * B[k, n]


@tensor
def matmul_batched(A: f32["b", "m", "k"], B: f32["b", "k", "n"], C: out[f32["b", "m", "n"]]):
    C[b, m, n] += A[b, m, k] * B[b, k, n]


@tensor
def matmul_batched_strided(A: f32["b", "m", "32*k"], B: f32["b", "k", "n"], C: out[f32["b", "m", "n"]]):
    C[b, m, n] += A[b, m, 32 * k] * B[b, k, n]


@tensor
def two_matmul(
    alpha: f32, beta: f32, A: f32["m", "k"], B: f32["k", "n"], C: f32["n", "p"], D: f32["m", "p"],
    AB: temp[f32["m", "n"]], E: out[f32["m", "p"]],
):  # fmt: skip
    AB[m, n] = alpha * sum(A[m, k] * B[k, n], over=k)
    E[m, p] = sum(AB[m, n] * C[n, p], over=n) + beta * D[m, p]


@tensor
def atax(A: f32["m", "n"], x: f32["n"], Ax: temp[f32["m"]], y: out[f32["n"]]):
    Ax[m] += A[m, n] * x[n]
    y[n] += A[m, n] * Ax[m]


@tensor
def bicg(A: f32["m", "n"], p: f32["n"], r: f32["m"], s: out[f32["n"]], q: out[f32["m"]]):
    s[n] += A[m, n] * r[m]
    q[m] += A[m, n] * p[n]


@tensor
def mvt(A: f32["n", "n"], x1: f32["n"], x2: f32["n"], y1: f32["n"], y2: f32["n"], z1: out[f32["n"]], z2: out[f32["n"]]):
    z1[i] = x1[i] + sum(A[i, j] * y1[j], over=j)
    z2[i] = x2[i] + sum(A[j, i] * y2[j], over=j)


@tensor
def syrk(alpha: f32, beta: f32, A: f32["n", "k"], C: f32["n", "n"], D: out[f32["n", "n"]]):
    D[i, j] = alpha * sum(A[i, k] * A[j, k], over=k) + beta * C[i, j]


def _gesummv(A, B, x, alpha, beta):
    return (alpha * (A @ x) + beta * (B @ x),)


def _two_matmul(A, B, C, D, alpha, beta):
    return (alpha * (A @ B) @ C + beta * D,)


def _wide(A, B):
    return (A.astype(np.float32) @ B.astype(np.float32),)


def _integers(A, B):
    return (A.astype(np.int32) @ B.T.astype(np.int32),)


def _linear_relu(X, W, bias):
    return (np.maximum(X.astype(np.float32) @ W.T.astype(np.float32) + bias, 0).astype(np.float16),)


def _bicg(A, p, r):
    return A.T @ r, A @ p


def _mvt(A, x1, x2, y1, y2):
    return x1 + A @ y1, x2 + A.T @ y2


def _syrk(A, C, alpha, beta):
    return (alpha * (A @ A.T) + beta * C,)


_SCALARS = {"alpha": 1.5, "beta": 1.25}
_SQUARE = {"m": 1024, "n": 1024, "k": 1024}
_SPLIT = {"m": 1024, "n": 1024, "parts": 4, "k": 256}
_BATCHED = {"b": 512, "m": 32, "n": 32, "k": 32}

DENSE = (
    TensorKernel("axpy", axpy, {"n": 1 << 26}, lambda x, y, alpha: (alpha * x + y,), {"alpha": 1.5}),
    TensorKernel("dot", dot, {"n": 1 << 24}, lambda x, y: (np.dot(x, y).reshape(1),)),
    TensorKernel("sum", total, {"n": 1 << 26}, lambda x: (x.sum().reshape(1),)),
    TensorKernel("max", greatest, {"n": 1 << 26}, lambda x: (x.max().reshape(1),)),
    TensorKernel("outer", outer, {"m": 4096, "n": 4096}, lambda a, b: (np.outer(a, b),)),
    TensorKernel("matvec", matvec, {"m": 4096, "n": 4096}, lambda A, x: (A @ x,)),
    TensorKernel("matvec_t", matvec_t, {"m": 4096, "n": 4096}, lambda A, x: (A.T @ x,)),
    TensorKernel("gesummv", gesummv, {"n": 4096}, _gesummv, _SCALARS),
    TensorKernel("matmul", matmul, _SQUARE, lambda A, B: (A @ B,)),
    TensorKernel("matmul_split", matmul_split, _SPLIT, lambda A, B: (np.tensordot(A, B, 2),)),
    TensorKernel("matmul_tn", matmul_tn, _SQUARE, lambda A, B: (A.T @ B,)),
    TensorKernel("matmul_nt", matmul_nt, _SQUARE, lambda A, B: (A @ B.T,)),
    TensorKernel("matmul_tt", matmul_tt, _SQUARE, lambda A, B: (A.T @ B.T,)),
    TensorKernel("matmul_f16", matmul_f16, _SQUARE, _wide),
    TensorKernel("matmul_bf16", matmul_bf16, _SQUARE, _wide),
    TensorKernel("matmul_i8", matmul_i8, _SQUARE, _integers),
    TensorKernel("matmul_u8", matmul_u8, _SQUARE, _integers),
    TensorKernel("matmul_tf32", matmul_tf32, _SQUARE, lambda A, B: (values_of(tf32, A) @ values_of(tf32, B),)),
    TensorKernel("matmul_e4m3", matmul_e4m3, _SQUARE, lambda A, B: (A @ B.T,)),
    TensorKernel("matmul_e5m2", matmul_e5m2, _SQUARE, lambda A, B: (A @ B.T,)),
    TensorKernel("matmul_f64", matmul_f64, _SQUARE, lambda A, B: (A @ B,)),
    TensorKernel("linear_relu_f16", linear_relu_f16, _SQUARE, _linear_relu),
    TensorKernel("matmul_strided", matmul_strided, _SQUARE, lambda A, B: (A[:, ::32] @ B,)),
    TensorKernel("matmul_batched", matmul_batched, _BATCHED, lambda A, B: (A @ B,)),
    TensorKernel("matmul_batched_strided", matmul_batched_strided, _BATCHED, lambda A, B: (A[:, :, ::32] @ B,)),
    TensorKernel("2mm", two_matmul, {"m": 1024, "n": 1024, "k": 1024, "p": 1024}, _two_matmul, _SCALARS),
    TensorKernel("atax", atax, {"m": 4096, "n": 4096}, lambda A, x: (A.T @ (A @ x),)),
    TensorKernel("bicg", bicg, {"m": 4096, "n": 4096}, _bicg),
    TensorKernel("mvt", mvt, {"n": 4096}, _mvt),
    TensorKernel("syrk", syrk, {"n": 1024, "k": 1024}, _syrk, _SCALARS),
)
