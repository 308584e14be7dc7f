"""Softmax of rows as mathematics, called with NumPy arrays of any sizes."""

# ruff: noqa: F821, N803 (indices and sizes are names of the language)

import numpy as np

import warploom as wl
from warploom import f32


@wl.jit
def softmax(X: f32["rows", "columns"], Y: wl.out[f32["rows", "columns"]]):
    top[r] = max(X[r, k], over=k)
    total[r] = sum(wl.exp(X[r, k] - top[r]), over=k)
    Y[r, c] = wl.exp(X[r, c] - top[r]) / total[r]


def expected(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    print(softmax)
    chance = np.random.default_rng(0)
    for rows, columns in ((4, 1000), (37, 5)):
        X = chance.normal(size=(rows, columns)).astype(np.float32)
        print(f"{rows} x {columns}:", softmax.kind(X), np.allclose(softmax(X), expected(X), atol=1e-6))

    Y = np.empty((5, 37), np.float32)
    print("written in place:", softmax(X.T, Y) is Y, np.allclose(Y, expected(X.T), atol=1e-6))
    try:
        softmax(X.astype(np.float64))
    except wl.UserError as error:
        print(error.diagnostics[0].message)
    # softmax.tune(X, budget_s=60) searches a faster kernel for these sizes; later calls and programs run it.
