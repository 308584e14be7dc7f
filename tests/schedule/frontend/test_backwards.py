"""Sizes inside of indices: reading backwards."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import numpy as np
import pytest

import warploom as wl
from warploom import f32
from warploom.core import UserError
from warploom.schedule.backbone import evaluate_program
from warploom.schedule.calls import Calls, Signature, plain_runner


@wl.tensor
def flipped(A: f32["m", "n"], B: wl.out[f32["m", "n"]], C: wl.out[f32["m", "n"]]):
    B[i, j] = A[m - 1 - i, n - 1 - j]
    C[i, j] = pad(A, 7)[2 * n - m - 2 * i - n, -1 + j] + A[i, n - 1]


@wl.tensor
def palindromes(X: f32["2*n + 1"], Y: wl.out[f32["n"]]):
    Y[i] = X[i] - X[2 * n - i]


@pytest.mark.parametrize(("m", "n"), [(3, 5), (5, 3), (1, 4), (6, 1)])
def test_as_numpy(m: int, n: int) -> None:
    A = np.arange(m * n, dtype=np.float32).reshape(m, n)
    rows, columns = np.indices((m, n))
    rows, columns = n - m - 2 * rows, columns - 1
    inside = (rows >= 0) & (rows < m) & (columns >= 0)
    shifted = np.where(inside, A[np.clip(rows, 0, m - 1), np.clip(columns, 0, n - 1)], 7) + A[:, -1:]
    made = evaluate_program(flipped.program({"m": m, "n": n}), {"A": A})
    plain = Calls(Signature.of(flipped), lambda sizes: plain_runner(flipped, sizes, 1))((A,), {})
    for B, C in ((made["B"], made["C"]), plain):
        np.testing.assert_array_equal(B, A[::-1, ::-1])
        np.testing.assert_array_equal(C, shifted)


def test_sums_of_sizes_and_sizes_at_run_time() -> None:
    X = np.random.default_rng(0).random(9).astype(np.float32)
    made = evaluate_program(palindromes.program({"n": 4}), {"X": X})
    np.testing.assert_array_equal(made["Y"], X[:4] - X[:4:-1])
    with pytest.raises(UserError, match=r"RUN_TIME_SIZE.*m, which is known at run time, in no index"):
        flipped.at_run_time(flipped.program({"m": 3, "n": 2}), {"m": 1})
