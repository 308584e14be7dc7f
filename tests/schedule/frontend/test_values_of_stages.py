"""Values that several stores read, and sums whose indices have names of their own."""

# ruff: noqa: F821 (indices and sizes are names of the language)

import numpy as np
import pytest
from tests.schedule.frontend.test_tensor import close, random, run

from warploom.core import f32, i8
from warploom.schedule.frontend import exp, inout, out, pad, sqrt, temp, tensor

SIZES = {"m": 5, "n": 6}


def names(function, sizes=SIZES):
    """The arrays that each stage stores."""
    stages = function.program({name: sizes[name] for name in function.sizes}).stages
    return [[r.name for r in stage.regions if str(r.role) == "output"] for stage in stages]


def axes(function, sizes=SIZES):
    return [[axis.name for axis in stage.axes] for stage in function.program(sizes).stages]


@tensor
def moments(X: f32["m", "n"], mean: out[f32["m"]], variance: out[f32["m"]]):
    first[i] = sum(X[i, j], over=j) / n
    mean[i] = first[i]
    variance[i] = sum((X[i, j] - first[i]) ** 2, over=j) / n


def test_stores_that_share_a_value_are_one_stage():
    X = random(5, 6)
    assert names(moments) == [["mean", "variance"]]
    got = run(moments, SIZES, {"X": X})
    close(got["mean"], X.mean(1))
    close(got["variance"], X.var(1))


def test_sums_of_rows_and_of_columns_are_stages_of_their_own():
    """Threads that share out rows would each have a part of every column."""

    @tensor
    def both(X: f32["m", "n"], rows: out[f32["m"]], columns: out[f32["n"]]):
        e[i, j] = X[i, j] * X[i, j]
        rows[i] = sum(e[i, j], over=j)
        columns[j] = sum(e[i, j], over=i)

    X = random(5, 6)
    assert names(both) == [["rows"], ["columns"]]
    got = run(both, SIZES, {"X": X})
    close(got["rows"], (X * X).sum(1))
    close(got["columns"], (X * X).sum(0))


def test_a_value_that_only_a_later_stage_reads():
    @tensor
    def adam(p: inout[f32["n"]], m: inout[f32["n"]], v: inout[f32["n"]], g: f32["n"], rate: f32):
        first[i] = 0.5 * m[i] + g[i]
        second[i] = 0.25 * v[i] + g[i] * g[i]
        m[i] = first[i]
        v[i] = second[i]
        p[i] = p[i] - rate * first[i] / sqrt(second[i])

    p, m, v, g = (random(6, seed=n) for n in range(4))
    assert names(adam) == [["p", "m", "v"]]
    got = run(adam, {"n": 6}, {"p_old": p, "m_old": m, "v_old": v, "g": g}, rate=0.5)
    first, second = 0.5 * m + g, 0.25 * v + g * g
    close(got["m"], first)
    close(got["v"], second)
    close(got["p"], p - 0.5 * first / np.sqrt(second))


def test_a_stage_that_reads_what_the_first_stores_makes_the_value_anew():
    @tensor
    def f(X: f32["m", "n"], y: out[f32["m"]], z: out[f32["m"]]):
        top[i] = max(X[i, j], over=j)
        y[i] = 2 * top[i]
        z[i] = top[i] + pad(y, 0)[i - 1]

    X = random(5, 6)
    assert names(f) == [["y"], ["z"]]
    got = run(f, SIZES, {"X": X})
    close(got["z"], X.max(1) + np.append(0, 2 * X.max(1)[:-1]))


def test_a_value_may_have_other_ranges_in_another_stage():
    @tensor
    def f(x: f32["m"], b: f32["n"], y: out[f32["m"]], z: out[f32["n"]], s: out[f32["m"]]):
        a[i] = 2 * x[i]
        y[i] = a[i] + 1
        z[i] = b[i]
        s[i] = a[i] - 1

    x, b = random(5), random(6)
    assert names(f) == [["y"], ["z"], ["s"]]
    got = run(f, SIZES, {"x": x, "b": b})
    close(got["y"], 2 * x + 1)
    close(got["z"], b)
    close(got["s"], 2 * x - 1)


def test_an_index_that_has_another_range_in_each_stage():
    @tensor
    def f(X: f32["m", "n"], Z: f32["m", "n - 1"], b: f32["m"], y: out[f32["m"]], z: out[f32["m"]]):
        a[i] = 2 * b[i]
        y[i] = a[i] + sum(X[i, j], over=j)
        z[i] = a[i] + sum(Z[i, j], over=j)

    X, Z, b = random(5, 6), random(5, 5), random(5)
    assert names(f) == [["y"], ["z"]]
    got = run(f, SIZES, {"X": X, "Z": Z, "b": b})
    close(got["y"], 2 * b + X.sum(1))
    close(got["z"], 2 * b + Z.sum(1))


def test_an_index_that_two_stores_take_along_other_axes():
    @tensor
    def f(x: f32["m"], b: f32["n"], y: out[f32["m"]], z: out[f32["n"]]):
        total = sum(x[k], over=k)
        y[i] = x[i] / total
        z[i] = b[i] / total

    x, b = random(5), random(6)
    assert names(f) == [["y"], ["z"]]
    got = run(f, SIZES, {"x": x, "b": b})
    close(got["y"], x / x.sum())
    close(got["z"], b / x.sum())


def test_a_name_that_is_a_size_for_one_store_and_an_index_of_the_other():
    @tensor
    def f(X: f32["m", "n"], b: f32["m"], y: out[f32["m"]], Z: out[f32["m", "n"]]):
        a[i] = 2 * b[i]
        y[i] = a[i] / n
        Z[i, n] = a[i] * X[i, n]

    X, b = random(5, 6), random(5)
    assert names(f) == [["y", "Z"]]
    got = run(f, SIZES, {"X": X, "b": b})
    close(got["y"], b / 3)
    close(got["Z"], 2 * b[:, None] * X)


def test_a_name_that_means_another_value_later():
    @tensor
    def f(x: f32["m"], y: out[f32["m"]], z: out[f32["m"]]):
        a[i] = 2 * x[i]
        b[i] = a[i] + 1
        y[i] = b[i]
        a[i] = 3 * x[i]
        b[i] = a[i] - 1
        z[i] = a[i] + b[i]

    x = random(5)
    assert names(f) == [["y"], ["z"]]
    got = run(f, {"m": 5}, {"x": x})
    close(got["y"], 2 * x + 1)
    close(got["z"], 6 * x - 1)


def test_divided_indices_keep_stages_apart():
    @tensor
    def f(x: f32["m"], y: out[f32["2 * m"]], z: out[f32["2 * m"]]):
        a[i] = x[i // 2]
        y[i] = a[i]
        z[i] = a[i] + x[i % 2]

    x = random(5)
    assert names(f) == [["y"], ["z"]]
    got = run(f, {"m": 5}, {"x": x})
    close(got["z"], np.repeat(x, 2) + np.tile(x[:2], 5))


def test_results_of_different_axes():
    @tensor
    def quantized(X: f32["m", "n"], Q: out[i8["m", "n"]], s: out[f32["m"]]):
        top[i] = max(abs(X[i, k]), over=k)
        s[i] = top[i] / 127
        Q[i, j] = i8(X[i, j] * 127 / top[i])

    X = random(5, 6)
    assert names(quantized) == [["Q", "s"]]
    assert axes(quantized) == [["i", "j"]]
    got = run(quantized, SIZES, {"X": X})
    close(got["s"], X.max(1) / 127)
    assert np.abs(got["Q"] - X * 127 / X.max(1, keepdims=True)).max() <= 1


@tensor
def softmax(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    top[i] = max(X[i, k], over=k)
    total[i] = sum(exp(X[i, l] - top[i]), over=l)
    Y[i, j] = exp(X[i, j] - top[i]) / total[i]


def test_sums_that_read_the_same_run_along_one_axis():
    X = random(5, 6)
    assert axes(softmax) == [["i", "j"]]
    close(run(softmax, SIZES, {"X": X})["Y"], np.exp(X) / np.exp(X).sum(1, keepdims=True))


@tensor
def values_of_the_sum(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    doubled[i, k] = 2 * X[i, k]
    Y[i, j] = X[i, j] + sum(doubled[i, k], over=k)


@tensor
def sum_inside_of_a_sum(X: f32["m", "n"], y: out[f32["m"]]):
    y[i] = sum(X[i, j] * sum(X[i, k], over=k), over=j)


@tensor
def index_as_a_number(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    Y[i, j] = X[i, j] * j + sum(X[i, k] * k, over=k)


ONE_AXIS = {
    values_of_the_sum: lambda X: X + 2 * X.sum(1, keepdims=True),
    sum_inside_of_a_sum: lambda X: X.sum(1) ** 2,
    index_as_a_number: lambda X: X * np.arange(6) + (X * np.arange(6)).sum(1, keepdims=True),
}


@pytest.mark.parametrize("function", ONE_AXIS, ids=lambda f: f.name)
def test_indices_that_become_one(function):
    X = random(5, 6)
    assert axes(function) == [["i", "j"]]
    (got,) = run(function, SIZES, {"X": X}).values()
    close(got, ONE_AXIS[function](X))


@tensor
def product_with_itself(X: f32["m", "n"], C: out[f32["m", "m"]]):
    C[i, j] = sum(X[i, k] * X[j, k], over=k)


@tensor
def both_in_one_sum(X: f32["m", "n"], y: out[f32["m"]]):
    y[i] = sum(X[i, j] * X[i, k], over=(j, k))


@tensor
def met_in_a_value(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    both[i, j, k] = X[i, j] * X[i, k]
    Y[i, j] = sum(both[i, j, k], over=k)


@tensor
def shifted_against_itself(X: f32["m", "n"], y: out[f32["m"]]):
    y[i] = sum(X[i, j] * sum(pad(X, 0)[i, k + j] + 0 * X[i, k], over=k), over=j)


@tensor
def another_range(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    k: range(3)
    Y[i, j] = X[i, j] - sum(X[i, k], over=k)


@tensor
def divided(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    Y[i, j] = X[i, j] - sum(X[i, k] * X[i, k // 2], over=k)


@tensor
def stored_along_both(X: f32["m", "n"], Y: out[f32["m", "n"]], Z: temp[f32["m", "n"]]):
    Z[i, k] = X[i, k]
    Y[i, j] = X[i, j] + Z[i, j]


def shifted(X):
    padded = np.pad(X, ((0, 0), (0, 6)))
    return (X * np.stack([padded[:, j : j + 6].sum(1) for j in range(6)], 1)).sum(1)


APART = {
    product_with_itself: (["i", "j", "k"], lambda X: X @ X.T),
    both_in_one_sum: (["i", "j", "k"], lambda X: X.sum(1) ** 2),
    met_in_a_value: (["i", "j", "k"], lambda X: X * X.sum(1, keepdims=True)),
    shifted_against_itself: (["i", "j", "k"], shifted),
    another_range: (["i", "j", "k"], lambda X: X - X[:, :3].sum(1, keepdims=True)),
    divided: (["i", "j", "k", "k_by_1"], lambda X: X - (X * X[:, np.arange(6) // 2]).sum(1, keepdims=True)),
    stored_along_both: (["i", "k", "i", "j"], lambda X: 2 * X),
}


@pytest.mark.parametrize("function", APART, ids=lambda f: f.name)
def test_indices_that_stay_apart(function):
    wanted, value = APART[function]
    X = random(5, 6)
    assert [name for stage in axes(function) for name in stage] == wanted
    got = run(function, SIZES, {"X": X})
    close(got.pop("Y" if "Y" in got else "y" if "y" in got else "C"), value(X))
