"""RMS norm from its mathematics, called with arrays of any sizes. `rms_norm.tune(X, W)` searches for a faster kernel."""

# ruff: noqa: F821, N803 (indices and sizes are names of the language)

import numpy as np

import warploom as wl
from warploom import f32


@wl.jit
def rms_norm(X: f32["rows", "n"], W: f32["n"], Y: wl.out[f32["rows", "n"]]):
    square[r] = sum(X[r, k] * X[r, k], over=k) / n
    Y[r, i] = X[r, i] / sqrt(square[r] + 0.00001) * W[i]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, W = rng.random((6, 96), np.float32), rng.random(96, np.float32)
    wanted = X / np.sqrt((X**2).mean(1, keepdims=True) + 1e-5) * W
    print("6 x 96 as NumPy's:", np.allclose(rms_norm(X, W), wanted))
