"""Indices as numbers, and the places of extremes: as NumPy has them, in every schedule, or refused at their place."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.nest.interpreter import interpret

import warploom as wl
from warploom import f32, f64, i8, i32, i64, u8
from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import (
    AxisUse,
    Levels,
    NoWindowError,
    backbone_text,
    evaluate_program,
    evaluate_terms,
    evaluate_window,
    parse_backbone,
)
from warploom.schedule.calls import Calls, EvaluatedRunner, Signature, plain_runner
from warploom.schedule.choices import kernel_space, lower_candidate
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.cuda import Options, cuda_kernel, interpret_all
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.nest import verify
from warploom.schedule.targets import TARGETS
from warploom.terms import constant


@wl.tensor
def extremes(A: f32["m", "k"], N: i32["m", "k"], p: wl.out[i64["m"]], q: wl.out[i32["m"]], r: wl.out[u8["m"]]):
    p[i], q[i] = argmax(A[i, j], over=j), wl.argmin(A[i, j], over=j)
    r[i] = np.argmax(N[i, j], over=j)


@wl.tensor
def numbers(A: f32["n", "n"], Y: wl.out[f32["n", "n"]], W: wl.out[i64["n"]], S: wl.out[f64["n"]]):
    Y[i, j] = A[i, j] * (i + 1) if j <= i else -j
    W[i] = n - 1 - 2 * i
    k: range("n")
    S[i] = sum(f64(f32(i) * k) + f64(k if k != i else 0), over=k)


def numbers_of(A: Any) -> list[Any]:
    i, j = np.indices(A.shape)
    n = len(A)
    total = [sum(i * k + (k if k != i else 0) for k in range(n)) for i in range(n)]
    return [np.where(j <= i, A * (i + 1).astype(np.float32), -j).astype(np.float32), n - 1 - 2 * np.arange(n), total]


def runners(function: TensorFunction) -> list[Calls]:
    ways = [lambda sizes: EvaluatedRunner(function.program(sizes))]
    if find_compiler() is not None:
        ways.append(lambda sizes: plain_runner(function, sizes, 1))
    return [Calls(Signature.of(function), way) for way in ways]


few = st.sampled_from([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])


@settings(deadline=None, max_examples=12)
@given(arrays(np.float32, (4, 5), elements=few), arrays(np.int32, (4, 5), elements=st.integers(-(2**31), 2**31 - 1)))
def test_places_are_numpys(A: Any, N: Any) -> None:
    for call in runners(extremes):
        p, q, r = call((A, N), {})
        np.testing.assert_array_equal(p, A.argmax(1))
        np.testing.assert_array_equal(q, A.argmin(1))
        np.testing.assert_array_equal(r, N.argmax(1))


@pytest.mark.parametrize("n", [1, 2, 9])
def test_numbers_are_numpys(n: int) -> None:
    A = np.random.default_rng(n).random((n, n), np.float32)
    for call in runners(numbers):
        for got, wanted in zip(call((A,), {}), numbers_of(A), strict=True):
            np.testing.assert_array_equal(got, wanted)


def tiles(use: AxisUse) -> Levels:
    return ((2, 4), (4,)) if use.size >= 8 else ((2, 4),)


def inputs(function: TensorFunction) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(5)
    program = function.program(dict.fromkeys(function.sizes, 9), tiles)
    whole = [r for r in program.arguments if r.name in ("A", "N")]
    return program, {r.name: rng.integers(-3, 3, r.shape).astype(np.float32 if r.dtype is f32 else np.int32) for r in whole}


@pytest.mark.parametrize("function", [extremes, numbers], ids=lambda f: f.name)
@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_every_schedule_computes_them(function: TensorFunction, target: str) -> None:
    program, given = inputs(function)
    expected = evaluate_program(program, given)
    for stage in program.stages:
        space = kernel_space(stage, TARGETS[target])
        found = [c for seed in range(3) if (c := descend(space, random.Random(seed))) is not None]
        assert found
        for candidate in found[:1]:
            nest = lower_candidate(space.objects, space.target, candidate)
            assert verify(nest) == ()
            got = interpret(nest, given, {}, 1)
            flat = {
                b.name: np.asarray(given.get(b.name, expected.get(b.name))).reshape(-1).copy()
                for b in nest.buffers[: len(stage.regions)]
            }
            if target == "cpu":
                kernel = compile_nest(nest)
                kernel.run([flat[b.name] for b in kernel.buffers])
            elif toolchain_available():
                flat = {**interpret_all([cuda_kernel(nest, Options(arch="sm_80"))], flat).arrays}
            for region in stage.regions:
                if region.name in expected:
                    np.testing.assert_array_equal(got[region.name].reshape(region.shape), expected[region.name])
                    np.testing.assert_array_equal(flat[region.name].reshape(region.shape), expected[region.name])


def test_text_and_terms() -> None:
    (stage, *_) = numbers.program({"n": 4}).stages
    assert "at(i + 1)" in backbone_text(stage) and parse_backbone(backbone_text(stage)).instructions[0].name
    line = numbers.program({"n": 4}).stages[1]
    assert [*evaluate_terms(line)["W"].terms] == [constant(n) for n in (3, 1, -1, -3)]
    with pytest.raises(NoWindowError, match="no index as a number"):
        evaluate_window(line, [range(2)])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("Y[i] = argmax(A[i, k], over=(i, k))", "with one index"),
        ("Y[i] = argmax(A[i, k])", "Write argmax\\(value, over=k\\)"),
        ("j: range(3)\n    Y[i] = sum(j, over=j)", "got none(.|\n)*Convert them: sum\\(f32\\(k\\), over=k\\)"),
        ("Y[i] = i / 2", "Convert the index: f32\\(i\\)"),
        ("Y[i] = A[i, 0] * f16(i)", "f16\\(f32\\(i\\)\\)"),
        ("M[i] = 300 + i", "a number that i8 holds, got 300"),
        ("Y[i] = argsort(A[i, k], over=k)", "places of several elements"),
    ],
)
def test_refusals(body: str, told: str, tmp_path: Any) -> None:
    outputs = "".join(f', {n}: out[{t}["m"]]' for n, t in (("Y", "f32"), ("M", "i8")) if f"{n}[i]" in body)
    file = tmp_path / "f.py"
    head = "from warploom import f16, f32, i8\nfrom warploom.schedule.frontend import argmax, out, tensor\n"
    file.write_text(f'{head}@tensor\ndef f(A: f32["m", "k"]{outputs}):\n    {body}\n')
    from warploom.schedule.frontend import load_tensors

    with pytest.raises(UserError, match=told):
        load_tensors(file)[0].program({"m": 4, "k": 3})


def test_places_must_fit_their_type() -> None:
    @wl.tensor
    def narrow(A: f32["m", "k"], y: wl.out[i8["m"]]):
        y[i] = argmax(A[i, j], over=j)

    narrow.program({"m": 2, "k": 128})
    with pytest.raises(UserError, match="a number that i8 holds, got 128"):
        narrow.program({"m": 2, "k": 129})


def test_sizes_known_at_run_time_are_no_numbers() -> None:
    @wl.tensor
    def numbered(A: f32["m"], y: wl.out[f32["m"]]):
        y[i] = A[i] * i

    with pytest.raises(UserError, match="an index over it as a number"):
        numbered.at_run_time(numbered.program({"m": 8}), {"m": 1})
