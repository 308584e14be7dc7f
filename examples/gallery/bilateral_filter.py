"""Bilateral filter of a line, from its mathematics: neighbours count less the further away they are, in place and in value."""

# ruff: noqa: F821, N803 (indices and sizes are names of the language)

import numpy as np

import warploom as wl
from warploom import f32


@wl.jit
def bilateral(X: f32["n + 4"], D: f32[5], Y: wl.out[f32["n"]]):
    total[i] = sum(exp(-((X[i + k] - X[i + 2]) ** 2) - D[k]), over=k)
    Y[i] = sum(exp(-((X[i + k] - X[i + 2]) ** 2) - D[k]) * X[i + k], over=k) / total[i]


if __name__ == "__main__":
    X = np.random.default_rng(0).random(100, np.float32)
    D = np.array([0.8, 0.2, 0, 0.2, 0.8], np.float32)
    near = np.lib.stride_tricks.sliding_window_view(X, 5)
    weights = np.exp(-((near - near[:, 2:3]) ** 2) - D)
    print("96 points as NumPy's:", np.allclose(bilateral(X, D), (weights * near).sum(1) / weights.sum(1)))
