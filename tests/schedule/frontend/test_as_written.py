"""Programs as people write them first, beside NumPy; and the words for those that are not in the language."""

# ruff: noqa: F821 (indices and sizes are names of the language)
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.schedule.frontend.test_places import runners

import warploom as wl
from warploom import UserError, f32, f64, i32, i64, where

X = np.array([[1.5, -2, 0.25], [4, -0.5, 9]], np.float32)
N = np.array([7, 60, 51, 2], np.int32)


def one_result(X: f32["n", "d"], s: wl.out[f64[1]]):
    s[0] = sum(f64(X[i, j]), over=(i, j))


def one_row(X: f32["n", "d"], s: wl.out[f32[1, "d"]]):
    s[0, j] += X[i, j]


def added_to_one(X: f32["n", "d"], s: wl.inout[f32[1]]):
    s[0] = s[0] * 2 + sum(X[only, j], over=(only, j))


def no_axes(X: f32["n", "d"], s: wl.out[f32[()]]):
    s[()] += X[i, j]


def count(N: i32["n"], c: wl.out[i32[1]]):
    c[0] += where(N[i] > 50, 1, 0)


def exact_count(X: f32["n", "d"], c: wl.out[i64["n"]]):
    c[i] = sum(where(X[i, j] > 0, 1, 0), over=j)


def lower(X: f32["n", "d"], y: wl.out[f32["n", "d"]]):
    y[i, j] = (1.0 if j <= i else 0.0) * X[i, j] + where(i == j, 0.5, where(j > i, 1, -1))


def kinds(X: f32["n", "d"], y: wl.out[f64["n", "d"]]):
    y[i, j] = where(X[i, j] > 0, where(X[i, j] > 1, 2, 1), f64(X[i, j]))


def joined(X: f32["n", "d"], y: wl.out[f32["n", "d"]]):
    y[i, j] = where((X[i, j] > 0) & (X[i, j] < 2) | ~(X[i, j] > -1), X[i, j], 0)


def powers(X: f32["n", "d"], y: wl.out[f32["n", "d"]]):
    y[i, j] = abs(X[i, j]) ** 0.5 + X[i, j] ** -1 - X[i, j] ** -2


def larger(X: f32["n", "d"], y: wl.out[f32["n", "d"]]):
    y[i, j] = np.maximum(X[i, j], np.minimum(X[0, j], 1))


@pytest.mark.parametrize(
    ("function", "given", "expected"),
    [
        (one_result, [X], [X.astype(np.float64).sum()]),
        (one_row, [X], X.sum(0, keepdims=True)),
        (added_to_one, [X, np.array([3], np.float32)], [6 + X.sum()]),
        (no_axes, [X], X.sum()),
        (count, [N], [2]),
        (exact_count, [X], (X > 0).sum(1)),
        (lower, [X], np.tril(X) + np.where(np.eye(2, 3) > 0, 0.5, np.where(np.arange(3) > np.arange(2)[:, None], 1, -1))),
        (kinds, [X], np.where(X > 0, np.where(X > 1, 2, 1), X)),
        (joined, [X], np.where(((X > 0) & (X < 2)) | ~(X > -1), X, 0)),
        (powers, [X], np.abs(X) ** 0.5 + X**-1.0 - X**-2.0),
        (larger, [X], np.maximum(X, np.minimum(X[0], 1))),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_as_numpy(function: Callable[..., object], given: list[np.ndarray], expected: Any) -> None:
    for call in runners(wl.tensor(function)):
        np.testing.assert_allclose(call(tuple(a.copy() for a in given), {}), expected, rtol=1e-6)
    by_class = wl.JitFunction(wl.tensor(function), threads=1)  # sizes as arguments where they can be
    np.testing.assert_allclose(by_class(*(a.copy() for a in given)), expected, rtol=1e-6)


def told(body: str, outputs: str = 'y: wl.out[f32["n"]]') -> str:
    text = f"@wl.tensor\ndef f(X: f32['n'], N: i32['n'], A: f32['n', 'm'], {outputs}):\n"
    lines = {"wl": wl, "f32": f32, "i32": i32, "np": np, "where": where}
    source = text + "".join(f"    {line}\n" for line in body.splitlines())
    with pytest.raises(UserError) as caught:
        exec(compile_of(source), lines)
    return str(caught.value)


def compile_of(source: str) -> Any:
    """Code whose source is found again."""
    import linecache

    name = f"<written {abs(hash(source))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return compile(source, name, "exec")


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ("y[i] = X[i] > 0", "Write where(X[i] > 0, 1, 0)."),
        ("y[i] = where(X[i], 1, 0)", "Compare: X[i] > 0"),
        ("y[i] = (X[i] > 0) & (X[i] < 1)", "Join comparisons in a condition"),
        ("y[i] = f32(N[i] // 3)", "write i32(f32(N[i]) / 3), cut off towards 0."),
        ("y[i] = f32(N[i] % 3)", "and N[i] less that many times 3 for the rest"),
        ("y[i] = A @ X", "Write a sum of products"),
        ("y[i] = np.sum(A[i, k], axis=1)", "Write sum(value, over=k)"),
        ("y[i] = np.sign(X[i])", "where(x > 0, 1, where(x < 0, -1, 0))"),
        ("y[i] = np.floor(X[i])", "f32(i32(value))"),
        ("y[i] = np.maximum(X[i], 0, 1)", "Write maximum(a, b)."),
        ("y[0] = X[0]", "for one result f32[1]"),
        ("y[:] = X[:] + 1", "Write an index for each axis: Y[i] = X[i] + 1."),
        ("y[N[i]] += X[i]", "sum(where(N[i] == k, X[i], 0), over=i)"),
        ("y[i + 1] = X[i]", "Shift the indices on the right side instead."),
        ("y[i] = max(y[i], X[i])", "Declare it as inout[...]"),
        ("t[i, j] = A[i, j] + 1\ny[i] = sum(t[i, k], over=k)", "Write t[i, j], reduced over the same names"),
        ("y[i] = X[i] ** 1.5", "Multiply, or use sqrt, exp and log."),
        ("y[i] = where(X[i] > 0, 0.5, 0) * N[i]", "Convert one of them"),
        ("y[i] = where(N[i] > 0, 0.5, 0)", ""),
    ],
)
def test_what_is_told(body: str, fix: str) -> None:
    if not fix:
        assert "f32" in told("m[i] = where(N[i] > 0, 0.5, 0)\ny[i] = X[i]", 'm: wl.out[i32["n"]], y: wl.out[f32["n"]]')
        return
    assert fix in told(body)
