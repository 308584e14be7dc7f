"""Calls at sizes of zero, beside NumPy."""

# ruff: noqa: F821 (indices and sizes are names of the language)

from typing import Any

import numpy as np
import pytest
from tests.gpu.calls.fake_driver import FakeDriver
from tests.gpu.calls.packages import Plain

import warploom as wl
from warploom import f32, f64, i32
from warploom.core import UserError
from warploom.schedule.calls import Calls, EvaluatedRunner, GpuCalls, Signature, rest_runner
from warploom.schedule.frontend import TensorFunction
from warploom.tools.kernels.on_gpu import rest_kernels


def refused(_: object) -> Any:
    raise AssertionError("a call that lacks elements asks for no other runner")


def calls(function: TensorFunction) -> Any:
    made = Calls(Signature.of(function), refused, rest=lambda sizes: rest_runner(function, sizes, 2))
    return lambda *given, **named: made(given, named)


def zeros(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.zeros(shape, dtype)


@wl.tensor
def product(A: f32["m", "k"], B: f32["k", "n"], C: wl.out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


def test_sums_over_nothing() -> None:
    call = calls(product)
    for m, k, n in ((3, 0, 4), (0, 3, 4), (3, 4, 0), (0, 0, 0)):
        A, B = zeros(m, k), zeros(k, n)
        for _ in range(2):
            np.testing.assert_array_equal(call(A, B), A @ B, strict=True)
    room = np.ones((4, 6), np.float32)
    given = room.T[::2]
    assert call(zeros(3, 0), zeros(0, 4), out=given) is given
    np.testing.assert_array_equal(room, np.tile(np.float32([[0, 1]]), (4, 3)))


@wl.tensor
def layer(A: f64["m", "k"], W: f64["k", "n"], b: f64["n"], by: f64, t: wl.temp[f64["m", "n"]], Y: wl.out[f64["m", "n"]]):
    t[i, j] += A[i, k] * W[k, j]
    Y[i, j] = max(t[i, j] + b[j], 0) * by


def test_what_is_left_is_computed() -> None:
    b = np.array([1.0, -1.0, 3.0])
    wanted = np.maximum(np.zeros((2, 0)) @ np.zeros((0, 3)) + b, 0) * 2.0
    np.testing.assert_array_equal(calls(layer)(zeros(2, 0, dtype="f8"), zeros(0, 3, dtype="f8"), b, 2.0), wanted)


@wl.tensor
def folds(A: i32["m", "n"], S: wl.out[i32["m"]], P: wl.out[i32["m"]], C: wl.out[i32["n"]]):
    t[i] = sum(A[i, k], over=k)
    S[i], P[i] = t[i] + 1, prod(A[i, k], over=k)
    C[k] += A[i, k]


@pytest.mark.parametrize("shape", [(3, 0), (0, 3)])
def test_sums_and_products_of_whole_numbers(shape: tuple[int, int]) -> None:
    A = zeros(*shape, dtype="i4")
    for got, wanted in zip(calls(folds)(A), (A.sum(1) + 1, A.prod(1), A.sum(0)), strict=True):
        np.testing.assert_array_equal(got, wanted)


@wl.tensor
def highest(A: f32["m", "n"], Y: wl.out[f32["m"]]):
    Y[i] = max(A[i, k], over=k)


def test_a_maximum_over_nothing_is_refused_as_numpy_does() -> None:
    assert calls(highest)(zeros(0, 4)).shape == zeros(0, 4).max(1).shape
    with pytest.raises(ValueError, match="no identity"):
        zeros(3, 0).max(1)
    with pytest.raises(UserError, match=r"CALL_SHAPE.*expected elements to take the max of, got none: k has no values"):
        calls(highest)(zeros(3, 0))


@wl.tensor
def where_highest(A: f32["m", "n"], Y: wl.out[i32["m"]]):
    Y[i] = wl.argmax(A[i, k], over=k)


@wl.tensor
def where_lowest(A: i32["m", "n"], Y: wl.out[i32["m"]]):
    Y[i] = wl.argmin(A[i, k], over=k)


@pytest.mark.parametrize(("function", "word", "dtype"), [(where_highest, "argmax", "f4"), (where_lowest, "argmin", "i4")])
def test_a_place_of_nothing_is_refused_by_the_name_that_was_written(function: TensorFunction, word: str, dtype: str) -> None:
    with pytest.raises(UserError, match=rf"CALL_SHAPE.*expected elements to take the {word} of, got none: k has no values"):
        calls(function)(zeros(3, 0, dtype=dtype))


@wl.tensor
def first(X: f32["n"], s: wl.out[f32[1]]):
    s[0] = X[0]


def test_an_element_that_there_is_not_is_refused() -> None:
    with pytest.raises(UserError, match=r"CALL_SHAPE.*expected elements of 'X' to read, got shape \(0,\)"):
        calls(first)(zeros(0))


@wl.tensor
def moved(X: f32["n + 1"], y: wl.inout[f32["n"]], s: wl.out[f32[1]]):
    y[i] += X[i + 1]
    s[0] = sum(X[i], over=i)


@wl.tensor
def added(A: f32["m", "k"], y: wl.inout[f32["m"]]):
    y[i] += A[i, k]


def test_arrays_that_are_read_and_written() -> None:
    _, s = calls(moved)(zeros(1) + 3, zeros(0))
    assert s == 3
    y = np.arange(3, dtype=np.float32)
    assert calls(added)(zeros(3, 0), y) is y
    np.testing.assert_array_equal(y, [0, 1, 2])


@wl.tensor
def taken(X: f32["n", "c"], N: i32["m"], Y: wl.out[f32["m"]], s: wl.out[f32[1]]):
    Y[i] = pad(X, 3)[N[i], 0]
    s[0] += X[j, k]


@wl.tensor
def beside(X: f32["n"], Y: wl.out[f32["n + 2"]]):
    Y[i] = pad(X, 7)[i - 1]


def test_elements_outside_of_an_array_without_any() -> None:
    Y, s = calls(taken)(zeros(0, 2), zeros(2, dtype="i4"))
    np.testing.assert_array_equal([*Y, *s], [3, 3, 0])
    with pytest.raises(UserError, match=r"CALL_SHAPE.*expected elements of 'X' to read, got shape \(2, 0\)"):
        calls(taken)(zeros(2, 0), zeros(2, dtype="i4"))
    np.testing.assert_array_equal(calls(beside)(zeros(0)), [7, 7])


@wl.tensor
def ranged(X: f32["n"], Y: wl.out[f32["n"]]):
    k: range("n - 2")
    Y[i] = sum(X[i] * X[k], over=k)


def test_an_index_without_values() -> None:
    np.testing.assert_array_equal(calls(ranged)(zeros(2) + 1), [0, 0])
    with pytest.raises(UserError, match=r"SIZES.*expected 1 or more values of the index 'k', got n - 2 = 0"):
        ranged.program({"n": 2})


def test_who_serves_no_rest_refuses() -> None:
    made = Calls(Signature.of(product), lambda sizes: EvaluatedRunner(product.program(sizes)))
    with pytest.raises(UserError, match=r"CALL_SHAPE.*expected arrays with elements where 'product' has something to write"):
        made((zeros(2, 0), zeros(0, 2)), {})


def test_on_a_gpu(driver: FakeDriver) -> None:
    """Tensors there, arrays that are copied there, and arrays for the interpreter: what is left is one launch."""
    made = GpuCalls(Signature.of(layer), refused, rest=lambda sizes, _: rest_kernels(layer, sizes, "sm_90"))
    A, W, b = zeros(2, 0, dtype="f8"), zeros(0, 3, dtype="f8"), np.array([1.0, -1.0, 3.0])
    wanted = np.tile([2.0, 0.0, 6.0], (2, 1))
    given = [Plain(driver, array) for array in (A, W, b, wanted * 0)]
    made((*given[:3], 2.0, given[3]), {})
    driver.drain(0)
    np.testing.assert_array_equal(given[3].host(), wanted)
    np.testing.assert_array_equal(made((A, W, b, 2.0), {"device": 0}), wanted)
    assert len(driver.launched) == 4 and not driver.findings
    np.testing.assert_array_equal(made((A, W, b, 2.0), {}), wanted)


def test_jit() -> None:
    """Between calls that go the short way."""
    call = wl.jit(threads=1)(product)
    A, B, C = zeros(3, 2) + 1, zeros(2, 4) + 1, zeros(3, 4)
    for _ in range(3):
        assert call(A, B, C) is C
        np.testing.assert_array_equal(C, zeros(3, 4) + 2)
        assert call(zeros(3, 0), zeros(0, 4), C) is C
        np.testing.assert_array_equal(C, zeros(3, 4))
    np.testing.assert_array_equal(call(zeros(3, 0), zeros(0, 4)), zeros(3, 4))
    assert call.kind(zeros(3, 0), zeros(0, 4)) in ("plain", "evaluated")
