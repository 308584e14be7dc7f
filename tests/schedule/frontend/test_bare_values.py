"""Values named without indices, names of padded arrays, and names that are a size and an index."""

# ruff: noqa: F821 (indices and sizes are names of the language)

import numpy as np
import pytest
from tests.schedule.frontend.test_tensor import close, random, run

from warploom.core import UserError, f32
from warploom.schedule.frontend import exp, out, pad, sqrt, temp, tensor, where

SIZES = {"m": 5, "n": 6}


def test_a_value_without_indices_has_those_of_its_elements():
    @tensor
    def f(X: f32["m", "n"], w: f32["n"], Y: out[f32["m", "n"]], mean: out[f32["m"]]):
        scaled = w[j] * X[i, j]
        total = sum(scaled, over=j)
        Y[i, j] = scaled - total / n
        mean[i] = total / n

    X, w = random(5, 6), random(6)
    got = run(f, SIZES, {"X": X, "w": w})
    close(got["mean"], (w * X).mean(1))
    close(got["Y"], w * X - (w * X).mean(1)[:, None])
    scaled = f.tree.stages[0].definitions[0]
    assert scaled.indices == ("i", "j"), "the order of the widest element, not of the text"


def test_it_may_be_read_with_its_indices_and_one_with_indices_without():
    @tensor
    def f(X: f32["m", "n"], Y: out[f32["m", "n"]]):
        a = X[i, j] + 1
        b[i, j] = a[i, j] * 2
        Y[i, j] = b

    X = random(5, 6)
    close(run(f, SIZES, {"X": X})["Y"], 2 * X + 2)


def test_sums_over_pairs():
    @tensor
    def f(x: f32["n"], y: f32["n"], w: f32["n"], F: out[f32["n"]], G: out[f32["n"]]):
        dx = x[k] - x[i]
        dy = y[k] - y[i]
        inv = 1 / sqrt(dx * dx + dy * dy + 0.01)
        force = w[k] * inv * inv * inv
        F[i] = sum(dx * force, over=k)
        G[i] = sum(dy * force, over=k)

    x, y, w = random(6), random(6), random(6)
    got = run(f, {"n": 6}, {"x": x, "y": y, "w": w})
    dx, dy = x[None] - x[:, None], y[None] - y[:, None]
    force = w[None] * (dx * dx + dy * dy + 0.01) ** -1.5
    close(got["F"], (dx * force).sum(1))
    close(got["G"], (dy * force).sum(1))


def test_a_padded_array_has_a_name():
    @tensor
    def f(X: f32["m", "n"], T: temp[f32["m", "n"]], Y: out[f32["m", "n"]]):
        P = pad(X, 2)
        T[i, j] = P[i - 1, j] - P[i + 1, j]
        Q = pad(T, 0)
        Y[i, j] = Q[i, j - 1] + P[i, j + 1]

    X = random(5, 6)
    P = np.pad(X, 1, constant_values=2)
    Q = np.pad(P[:-2, 1:-1] - P[2:, 1:-1], 1)
    close(run(f, SIZES, {"X": X})["Y"], Q[1:-1, :-2] + P[1:-1, 2:])


def test_a_size_where_no_index_has_its_name():
    @tensor
    def f(X: f32["m", "n"], Y: out[f32["m", "n"]]):
        mean[m] = sum(X[m, n], over=n) / n
        Y[m, n] = X[m, n] - mean[m]

    X = random(5, 6)
    close(run(f, SIZES, {"X": X})["Y"], X - X.mean(1, keepdims=True))


def test_an_index_is_divided_though_a_size_has_its_name():
    @tensor
    def f(X: f32["c", "h"], Y: out[f32["r", "k"]]):
        Y[r, k] = X[2 * (r % 2) + k % 2, k // 2]

    X = random(4, 3)
    got = run(f, {"c": 4, "h": 3, "r": 5, "k": 6}, {"X": X})
    close(got["Y"], X[2 * (np.arange(5)[:, None] % 2) + np.arange(6) % 2, np.arange(6) // 2])


def read(body):
    scope = {"f32": f32, "out": out, "pad": pad, "temp": temp, "exp": exp, "where": where, "tensor": tensor}
    head = 'def f(X: f32["m", "n"], N: f32["n"], T: temp[f32["n"]], y: out[f32["m"]], Y: out[f32["m", "n"]]):\n'
    source = head + "".join(f"    {line}\n" for line in body.split("; "))
    return source, scope


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("y[i] = sum(X[i, n] / n, over=n)", "AMBIGUOUS.*'n' is a size and an index"),
        ("y[m] += X[m, n] / n", "AMBIGUOUS.*'n' is a size and an index"),
        ("a = X[m, n] / n; y[m] = sum(a, over=n)", "AMBIGUOUS.*'n' is a size and an index"),
        ("y[m] = m * X[m, 0]", "AMBIGUOUS.*'m' is a size and an index"),
        ("Y[m, n] = X[m, n] * ((n + 1) // 2)", "AMBIGUOUS.*'n' is a size and an index"),
        ("Y[i, n] = X[i, n] * ((i + n) // 2)", "AMBIGUOUS.*'n' is a size and an index"),
        ("y[i] = argmax(X[i, n] / n, over=n)", "AMBIGUOUS.*'n' is a size and an index"),
        ("y[i] = X[i, j]", "REDUCTION_AXIS.*got j on the right"),
        ("a = X[i, j]; y[i] = a", "REDUCTION_AXIS.*got j on the right"),
        ("a = X[i, j]; y[i] = sum(a, over=k)", "REDUCTION_AXIS.*expected an index of the reduced value"),
        ("a = X[i, j]; Y[i, j] = a[j, i]", "POINT_TO_POINT"),
        ("P = pad(T, 0); T[j] = N[j]; y[i] = P[i - 1]", "NOT_AN_ARRAY.*expected an input in pad, or an array that is stored"),
        ("P = pad(X[0], 0); y[i] = P[i, 0]", "NOT_AN_ARRAY.*expected an input in pad"),
        ("X = pad(N, 0); y[i] = X[i, 0]", "NAME_TAKEN.*expected a new name, got 'X'"),
        ("P = pad(N, 0); P = X[i, 0]; y[i] = P", "NAME_TAKEN.*got 'P'"),
        ("P = pad(N, 0); y[i] = X[i, 0]", "UNUSED.*'P' is read nowhere"),
        ("P = pad(N, 0); y[i] = X[i, 0] + pad(P, 1)[i]", "unknown name 'P'|NOT_AN_ARRAY"),
    ],
)
def test_refused(body, told, tmp_path):
    source, scope = read(body)
    path = tmp_path / "refused.py"
    path.write_text("from warploom.core import f32\nfrom warploom.schedule.frontend import *\n@tensor\n" + source)
    code = compile(path.read_text(), str(path), "exec")
    with pytest.raises(UserError, match=f"(?s){told}"):
        exec(code, scope)
        scope["f"].program({"m": 4, "n": 4})
