"""Tensor functions: what they read as, and what they compute."""

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)

from __future__ import annotations

import math

import numpy as np
import pytest

from warploom.core import f16, f32, f64, i32
from warploom.schedule.backbone import Result, Scope, backbone_text, evaluate_program, verify
from warploom.schedule.frontend import exp, log, out, pad, prod, sqrt, tanh, temp, tensor

STEP = 2
SHIFT = 3
half = 0.5


def run(function, sizes, arrays, **parameters):
    program = function.program(sizes)
    for stage in program.stages:
        verify(stage)
    return evaluate_program(program, arrays, parameters)


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def random(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)


def test_text_of_matmul():
    @tensor
    def matmul(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
        C[m, n] += A[m, k] * B[k, n]

    (stage,) = matmul.program({"m": 8, "n": 6, "k": 5}, {"m": [[2, 4]], "k": [(1, 2, 3)]}).stages
    assert (
        backbone_text(stage)
        == """\
backbone matmul
axis m 8: 2 4 | 2 4
axis n 6: 6
axis k 5: 2 3 5 | 1 2 3
input A f32 [8, 5] strides [5, 1]
input B f32 [5, 6] strides [6, 1]
output C f32 [8, 6] strides [6, 1]
load_A[m, k] = load f32 A[m, k]
load_B[n, k] = load f32 B[k, n]
init[m, n] = move f32 0.0
mad[m, n, k] = fma f32 load_A[m, k], load_B[n, k], carry(init; k)
store_C[m, n] = store f32 mad[m, n]@thread to C[m, n]
"""
    )
    assert [(d.is_parallel, d.is_reduction) for d in stage.dims if d.instruction == 3] == [(True, False)] * 3 + [(True, True)] * 2
    (ordered,) = matmul.program({"m": 8, "n": 6, "k": 5}, can_reorder=False).stages
    assert [d.is_parallel for d in ordered.dims if d.is_reduction] == [False]


def test_element_wise_operations_and_folded_numbers():
    @tensor
    def f(x: f32["n"], alpha: f32, y: out[f32["n"]]):
        a[i] = max(min(-x[i], 2 * half), -abs(x[i]), math.pi - 10)
        b[i] = exp(x[i]) - log(x[i]) / sqrt(x[i]) + tanh(x[i])
        y[i] = (a[i] + b[i]) ** 3 * (alpha / n)

    # the index and the size are different names: n here is the number of elements
    x = random(7)
    got = run(f, {"n": 7}, {"x": x}, alpha=3)["y"]
    a = np.maximum(np.maximum(np.minimum(-x, 1), -abs(x)), np.pi - 10)
    b = np.exp(x) - np.log(x) / np.sqrt(x) + np.tanh(x)
    close(got, (a + b) ** 3 * (3 / 7))
    text = backbone_text(f.program({"n": 7}).stages[0])
    assert text.count(" load f32 x[i]") == 2  # one per statement
    assert "b[i] = add" in text


def test_reductions():
    @tensor
    def f(X: f32["a", "b", "c"], top: out[f32["a"]], low: out[f32["b", "c"]], product: out[f32["c"]], norm: out[f32["1"]]):
        top[i] = max(X[i, j, k], over=(j, k))
        low[j, k] = min(X[i, j, k], over=i)
        product[k] = prod(sum(X[i, j, k], over=i), over=j)
        norm[one] = sqrt(sum(X[i, j, k] ** 2, over=(i, j, k)))

    X = random(3, 4, 5)
    got = run(f, {"a": 3, "b": 4, "c": 5}, {"X": X})
    close(got["top"], X.max(axis=(1, 2)))
    close(got["low"], X.min(axis=0))
    close(got["product"], X.sum(axis=0).prod(axis=0))
    close(got["norm"], [np.linalg.norm(X)])
    assert len(f.program({"a": 3, "b": 4, "c": 5}).stages) == 4


def test_integers_wrap_and_start_from_their_bounds():
    @tensor
    def f(x: i32["n"], y: out[i32[1]], z: out[i32[1]]):
        y[o] += x[i] * x[i]
        z[o] = max(x[i], over=i)

    program = f.program({"n": 3})
    assert "mul i32" in backbone_text(program.stages[0])
    assert "fma" not in backbone_text(program.stages[0])
    got = evaluate_program(program, {"x": np.array([-7, -5, -6])})
    assert (got["y"].tolist(), got["z"].tolist()) == ([110], [-5])


def test_declared_ranges_strides_and_reversal():
    @tensor
    def f(X: f32["2*n + 4", "3"], W: f32[4], Y: out[f32["n"]], Z: out[f32["n"]]):
        r: range(4)
        Y[i] = X[STEP * i + SHIFT, 0] - X[2 * (i + 1), 2]
        Z[i] += X[2 * i + r, 1] * W[3 - r]

    X, W = random(14, 3), random(4)
    got = run(f, {"n": 5}, {"X": X, "W": W})
    close(got["Y"], X[3:13:2, 0] - X[2:12:2, 2])
    close(got["Z"], [X[2 * i : 2 * i + 4, 1] @ W[::-1] for i in range(5)])


def test_padding():
    @tensor
    def f(X: f32["n"], Y: out[f32["n"]]):
        r: range(3)
        Y[i] = max(pad(X, -1)[i + r - 1], over=r)

    X = random(6)
    close(run(f, {"n": 6}, {"X": X})["Y"], np.max([np.pad(X, 1, constant_values=-1)[r : r + 6] for r in range(3)], axis=0))


def test_padding_that_is_never_reached_is_left_out():
    @tensor
    def f(X: f32["n"], Y: out[f32["n"]]):
        Y[i] = pad(X, 0)[i]

    assert " else " not in backbone_text(f.program({"n": 6}).stages[0])


def test_several_stages_and_temporaries():
    @tensor
    def f(A: f32["n", "n"], x: f32["n"], t: temp[f32["n"]], y: out[f32["n"]]):
        t[i] += A[i, j] * x[j]
        y[i] = t[i] + sum(A[j, i] * t[j], over=j)

    A, x = random(5, 5), random(5)
    program = f.program({"n": 5})
    assert [(s.name, [str(r.role) for r in s.regions]) for s in program.stages] == [
        ("f_t", ["input", "input", "output"]),
        ("f_y", ["input", "input", "output"]),
    ]
    assert [str(r.role) for r in program.arguments] == ["input", "input", "temporary", "output"]
    close(run(f, {"n": 5}, {"A": A, "x": x})["y"], A @ x + A.T @ (A @ x))


def test_several_results_of_one_stage_share_loads():
    @tensor
    def f(A: f32["m", "n"], p: f32["n"], r: f32["m"], s: out[f32["n"]], q: out[f32["m"]]):
        s[j], q[i] = sum(A[i, j] * r[i], over=i), sum(A[i, j] * p[j], over=j)

    A, p, r = random(4, 5), random(5), random(4)
    (stage,) = f.program({"m": 4, "n": 5}).stages
    assert backbone_text(stage).count(" load f32 A") == 1
    got = run(f, {"m": 4, "n": 5}, {"A": A, "p": p, "r": r})
    close(got["s"], A.T @ r)
    close(got["q"], A @ p)


def test_named_values_share_a_load():
    @tensor
    def f(X: f32["r", "c"], Y: out[f32["r", "c"]]):
        x[i, j] = X[i, j]
        top[i] = max(x[i, j], over=j)
        Y[i, j] = x[i, j] / top[i]

    (stage,) = f.program({"r": 3, "c": 4}).stages
    assert [i.name for i in stage.instructions] == ["x", "top_init", "top", "div", "store_Y"]


def test_casts():
    @tensor
    def f(A: f16["n"], B: f16["n"], y: out[f32[1]], z: out[f64["n"]]):
        y[o] += f32(A[i]) * f32(B[i])
        z[i] = f64(A[i])

    A, B = random(5).astype(np.float16), random(5).astype(np.float16)
    got = run(f, {"n": 5}, {"A": A, "B": B})
    close(got["y"], [A.astype(np.float32) @ B.astype(np.float32)])
    assert got["z"].dtype == np.float64
    close(got["z"], A)


def test_an_axis_of_one_iteration_is_left_out():
    @tensor
    def matvec(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
        C[m, n] += A[m, k] * B[k, n]

    (stage,) = matvec.program({"m": 4, "n": 1, "k": 3}).stages
    assert [a.name for a in stage.axes] == ["m", "k"]
    A, B = random(4, 1), random(1, 3)
    close(run(matvec, {"m": 4, "n": 3, "k": 1}, {"A": A, "B": B})["C"], A @ B)
    close(run(matvec, {"m": 1, "n": 1, "k": 1}, {"A": A[:1], "B": B[:, :1]})["C"], A[:1] @ B[:, :1])


def test_broadcast_and_plain_numbers():
    @tensor
    def f(b: f32["n"], Y: out[f32["m", "n"]], Z: out[f32["m"]]):
        Y[i, j] = b[j]
        Z[i] = 2.5

    got = run(f, {"m": 2, "n": 3}, {"b": random(3)})
    close(got["Y"], np.broadcast_to(random(3), (2, 3)))
    close(got["Z"], [2.5, 2.5])


def test_an_index_may_run_over_a_part_of_a_longer_axis():
    @tensor
    def f(X: f32["n + 2"], W: f32["k"], V: f32["k + 1"], Y: out[f32["n"]], z: out[f32[1]]):
        Y[i] = X[i] + X[i + 2]
        j: range(k)
        z[o] += V[j] * W[j]

    X, W, V = random(6), random(3), random(4)
    got = run(f, {"n": 4, "k": 3}, {"X": X, "W": W, "V": V})
    close(got["Y"], X[:4] + X[2:])
    close(got["z"], [V[:3] @ W])


def test_products_inside_of_sums_become_fma():
    @tensor
    def f(a: f32["n"], b: f32["n"], c: f32["n"], y: out[f32["n"]]):
        y[i] = a[i] * b[i] + c[i] * c[i] + 1

    operators = [str(i.operator) for i in f.program({"n": 4}).stages[0].instructions]
    assert operators == ["load", "load", "load", "mul", "fma", "add", "store"]


def test_bare_names_as_sizes_and_integers_of_the_module():
    @tensor
    def f(x: f32[n, STEP], y: out[f32[n, STEP]]):
        y[i, j] = x[i, j]

    assert f.sizes == ("n",)
    assert f.program({"n": 3}).region("x").shape == (3, 2)


def test_tiles_by_stage_and_by_policy():
    @tensor
    def f(x: f32["n"], t: temp[f32["n"]], y: out[f32["n"]]):
        t[i] = 2 * x[i]
        y[i] = t[i] + 1

    first, second = f.program({"n": 8}, {"i": [[2]], "f_y.i": [[4]]}).stages
    assert (first.axes[0].tiles, second.axes[0].tiles) == (((2,),), ((4,),))
    seen = []
    f.program({"n": 8}, lambda use: seen.append(use) or ())
    assert [(u.kernel, u.name, u.size, u.is_reduced, u.is_stored, u.is_contiguous) for u in seen] == [
        ("f_t", "i", 8, False, True, True),
        ("f_y", "i", 8, False, True, True),
    ]


def test_policies_are_told_what_an_axis_is_for():
    @tensor
    def f(A: f32["m", "k"], B: f32["n", "k"], C: out[f32["m", "n"]]):
        C[m, n] += A[m, k] * B[n, k]

    seen = {}
    f.program({"m": 8, "n": 8, "k": 8}, lambda use: seen.update({use.name: use}) or ())
    assert [(n, u.is_reduced, u.is_stored, u.is_contiguous, u.is_streamed) for n, u in seen.items()] == [
        ("m", False, True, False, False),
        ("n", False, True, True, False),
        ("k", True, False, True, True),
    ]


def test_values_that_may_be_staged():
    @tensor
    def softmax(X: f32["rows", "columns"], Y: out[f32["rows", "columns"]]):
        x[r, c] = X[r, c]
        top[r] = max(x[r, c], over=c)
        d[r, c] = x[r, c] - top[r]
        e[r, c] = exp(d[r, c])
        total[r] = sum(e[r, c], over=c)
        Y[r, c] = e[r, c] / total[r]

    def scopes(**options):
        (stage,) = softmax.program({"rows": 4, "columns": 8}, **options).stages
        return {
            (stage.instructions[o.instruction].name, i.name): str(o.scope)
            for i in stage.instructions
            for o in i.operands
            if isinstance(o, Result)
        }

    assert scopes() == {
        ("x", "top"): "block",  # loaded
        ("x", "d"): "block",
        ("top", "d"): "block",  # over more axes
        ("d", "e"): "thread",
        ("e", "total"): "thread",
        ("e", "div"): "block",  # waits for the total over c
        ("total", "div"): "block",
        ("div", "store_Y"): "thread",
    }
    assert scopes(pointwise=Scope.LOCAL)["div", "store_Y"] == "local"
    assert set(scopes(pointwise=Scope.BLOCK).values()) == {"block"}


@pytest.mark.parametrize("is_exact", [True, False])
def test_exact_quotients(is_exact):
    @tensor
    def f(x: f32["n"], y: out[f32["n"]]):
        y[n] = 2 * x[n]

    (stage,) = f.program({"n": 12}, {"n": [[2, 5, 6]]}, divisors_only=is_exact).stages
    assert stage.extents[0].sizes == ((2, 6) if is_exact else (2, 3, 6))


def test_documented_words_are_not_run():
    for word in (exp, log, sqrt, tanh, lambda x: pad(x, 0), lambda x: prod(x, 0)):
        with pytest.raises(Exception, match="read from their source"):
            word(1)
