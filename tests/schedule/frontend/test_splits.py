"""Divided indices: as NumPy has them, at sizes that the divisors divide and at others, or refused at their place."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.nest.interpreter import interpret

import warploom as wl
from warploom import f32, i32
from warploom.core import UserError
from warploom.schedule.backbone import AxisUse, Levels, evaluate_program
from warploom.schedule.calls import Calls, EvaluatedRunner, Signature, plain_runner
from warploom.schedule.choices import kernel_space, lower_candidate
from warploom.schedule.cpu import find_compiler
from warploom.schedule.frontend import TensorFunction, load_tensors
from warploom.schedule.frontend.splits import span_of, split_of
from warploom.schedule.frontend.tree import Digit
from warploom.schedule.nest import verify
from warploom.schedule.targets import TARGETS


@wl.tensor
def upsampled(X: f32["h", "w"], Y: wl.out[f32["2 * h", "2 * w"]]):
    Y[i, j] = X[i // 2, j // 2]


@wl.tensor
def between(X: f32["n"], Y: wl.out[f32["2 * n - 1"]]):
    Y[i] = (X[i // 2] + X[(i + 1) // 2]) / 2


@wl.tensor
def dequantized(A: f32["m", "k"], W: f32["k", "n"], S: f32["g", "n"], C: wl.out[f32["m", "n"]]):
    C[i, j] += A[i, l] * W[l, j] * S[l // 4, j]


@wl.tensor
def ragged(X: f32["n"], Z: f32["n"], T: f32[3], Y: wl.out[f32["n"]], M: wl.out[i32["n"]]):
    Y[i] = wl.pad(X, 7)[(i - 3) // 3] + T[i % 3] / Z[i] if i % 3 != 1 else 2 * X[i]
    M[i] = i // 6 - 2 * (i % 6)


@wl.tensor
def repeated(X: f32["k", "n"], Z: f32["n"], T: wl.out[f32["n"]], U: wl.out[f32["n"]], V: wl.out[i32["n"]]):
    l: range("4 * k")
    T[i] = sum(X[l // 4, i], over=l)
    U[i] = sum(X[l // 4, i] * Z[i], over=l)
    V[i] = sum(i32(l % 4), over=l) + i


def runners(function: TensorFunction) -> list[Calls]:
    ways = [lambda sizes: EvaluatedRunner(function.program(sizes))]
    if find_compiler() is not None:
        ways.append(lambda sizes: plain_runner(function, sizes, 1))
    return [Calls(Signature.of(function), way) for way in ways]


def ragged_of(X: Any, Z: Any, T: Any) -> Any:
    i = np.arange(len(X))
    before = np.where(i >= 3, X[(i - 3) // 3], np.float32(7))
    return np.where(i % 3 != 1, before + T[i % 3] / Z, 2 * X), i // 6 - 2 * (i % 6)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 13])
def test_as_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    X, Z, T = rng.random((n, 3)).astype("f4"), rng.random(n).astype("f4") + 1, rng.random(3).astype("f4")
    for call in runners(upsampled):
        np.testing.assert_array_equal(call((X,), {}), X.repeat(2, 0).repeat(2, 1))
    for call in runners(between):
        i = np.arange(2 * n - 1)
        np.testing.assert_array_equal(call((Z,), {}), (Z[i // 2] + Z[(i + 1) // 2]) / 2)
    for call in runners(ragged):
        for got, wanted in zip(call((X[:, 0].copy(), Z, T), {}), ragged_of(X[:, 0], Z, T), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
    A, W, S = rng.random((2, 4 * n)).astype("f4"), rng.random((4 * n, 3)).astype("f4"), rng.random((n, 3)).astype("f4")
    for call in runners(dequantized):
        np.testing.assert_allclose(call((A, W, S), {}), A @ (W * S.repeat(4, 0)), rtol=1e-5)


@pytest.mark.parametrize("k", [1, 3])
def test_sums_take_an_element_as_often_as_its_index_says(k: int) -> None:
    X, Z = np.arange(5 * k, dtype=np.float32).reshape(k, 5), np.arange(2, 7, dtype=np.float32)
    for call in runners(repeated):
        T, U, V = call((X, Z), {})
        np.testing.assert_array_equal(T, 4 * X.sum(0))
        np.testing.assert_array_equal(U, 4 * X.sum(0) * Z)
        np.testing.assert_array_equal(V, 6 * k + np.arange(5))


def tiles(use: AxisUse) -> Levels:
    return ((2, 4),) if use.size >= 4 else ()


@pytest.mark.parametrize(
    ("function", "sizes"), [(ragged, {"n": 13}), (dequantized, {"m": 2, "k": 12, "g": 3, "n": 5}), (repeated, {"k": 3, "n": 5})]
)
@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_every_schedule_computes_them(function: TensorFunction, sizes: dict[str, int], target: str) -> None:
    program = function.program(sizes, tiles)
    rng = np.random.default_rng(3)
    given = {
        r.name: rng.integers(1, 5, r.shape).astype(np.float32)
        for r in program.arguments
        if r.name not in "YMCTUV" or (function is ragged and r.name == "T")
    }
    expected = evaluate_program(program, given)
    for stage in program.stages:
        space = kernel_space(stage, TARGETS[target])
        found = [c for seed in range(3) if (c := descend(space, random.Random(seed))) is not None]
        assert found
        nest = lower_candidate(space.objects, space.target, found[0])
        assert verify(nest) == ()
        got = interpret(nest, given, {}, 1)
        for region in stage.regions:
            if region.name in expected:
                np.testing.assert_allclose(got[region.name].reshape(region.shape), expected[region.name], rtol=1e-5)


@st.composite
def digits(draw: st.DrawFn) -> Digit:
    number = st.integers(-7, 7)
    return Digit("i", draw(number.filter(bool)), draw(number), draw(st.sampled_from([2, 3, 4, 6, 8, 12])), draw(st.booleans()))


@given(st.integers(2, 40), st.lists(digits(), min_size=1, max_size=3), st.integers(-3, 3))
@settings(deadline=None, max_examples=150)
def test_parts_are_exact(size: int, wanted: list[Digit], factor: int) -> None:
    """Every value of the index is one point of the parts, where the sums say what Python does; the others are outside of it."""
    split = split_of("i", size, wanted, ["i_by_2"])
    assume(split is not None)
    assert split is not None
    points = np.indices([count for _, count in split.sizes]).reshape(len(split.sizes), -1)
    place = {name: axis for (name, _), axis in zip(split.sizes, points, strict=True)}

    def at(sum_: Any) -> Any:
        return sum_.constant + sum(c * place[n] for n, c in sum_.terms) + np.zeros(points.shape[1], int)

    index = at(split.index)
    inside = (index >= 0) & (index < size)
    assert sorted(index[inside]) == list(range(size)) and split.is_ragged == (not inside.all())
    for digit in wanted:
        assert [digit.at(int(i)) for i in index] == at(split.digits[digit]).tolist()
    values = [factor * i + sum(d.at(i) for d in wanted) for i in range(size)]
    assert span_of(factor, [(d, 1) for d in wanted], size, split.period) == (min(values), max(values))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("Y[i] = X[i // 2] + X[i // 3]", "expected divisors of 'i' each of which divides the next.*got // 2, // 3"),
        ("Y[i] = X[i // 3] + X[(i + 1) // 3]", "one place that is divided"),
        ("Y[i] = X[(i + k) // 2] * X[k]", "over a whole number above 0"),
        ("Y[i] = X[i // n]", "over a whole number above 0"),
        ("Y[i] = X[i // 0]", "over a whole number above 0"),
        ("Y[i] = X[i // -2]", "over a whole number above 0"),
        ("Y[i] = X[i // 2 // 2]", "over a whole number above 0"),
        ("Y[i] = X[(i + 6) // 2]", "expected indices from 0 to 4 on axis 0 of 'X', got 3 to 5"),
        ("Y[i] = sum(X[k] * X[k // 2], over=k) * X[i]", "expected whole groups of 2 where 'k' is reduced over"),
    ],
)
def test_refusals(body: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    head = "from warploom import f32\nfrom warploom.schedule.frontend import out, tensor\n"
    file.write_text(f'{head}@tensor\ndef f(X: f32["n"], Y: out[f32["n"]]):\n    {body}\n')
    with pytest.raises(UserError, match=told):
        load_tensors(file)[0].program({"n": 5})


def test_sizes_known_at_run_time_are_not_divided() -> None:
    program = ragged.program({"n": 8})
    with pytest.raises(UserError, match="known at run time"):
        ragged.at_run_time(program, {"n": 1})
