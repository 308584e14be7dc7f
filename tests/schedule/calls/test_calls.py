"""Calls of tensor functions: what arrays are taken, in what form, and what is refused; results as NumPy's."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import warploom as wl
from warploom import f32, f64, i32
from warploom.core import UserError
from warploom.schedule.calls import Calls, CompiledRunner, EvaluatedRunner, Signature, plain_runner
from warploom.schedule.calls import classes as classes_module
from warploom.schedule.cpu import find_compiler
from warploom.schedule.frontend import TensorFunction


@wl.tensor
def product(A: f32["m", "k"], B: f32["k", "n"], C: wl.out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@wl.tensor
def both(low: wl.out[f64["n"]], X: f64["n + 1"], by: f64, high: wl.out[f64["n"]]):
    low[i], high[i] = min(X[i], X[i + 1]) * by, max(X[i], X[i + 1]) * by


@wl.tensor
def centred(X: f32["m", "n"], mean: wl.temp[f32["m"]], Y: wl.out[f32["m", "n"]]):
    mean[i] = sum(X[i, k], over=k) / n
    Y[i, j] = X[i, j] - mean[i]


@wl.tensor
def squares(X: i32["n"], by: i32, Y: wl.out[i32["n"]]):
    Y[i] = X[i] * X[i] + by


def calls(function: TensorFunction) -> Any:
    made = Calls(Signature.of(function), lambda sizes: plain_runner(function, sizes, 2))
    return lambda *given, **named: made(given, named)


def random(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(1).random(shape).astype(dtype)


def test_outputs_left_out_are_made_and_given_ones_are_written() -> None:
    call = calls(product)
    A, B = random(5, 7), random(7, 3)
    for _ in range(3):  # the second call goes the short way
        made, C = call(A, B), np.zeros((5, 3), np.float32)
        assert call(A, B, C) is C and call(A, B, C=C) is C and call(B=B, A=A, C=C) is C
        np.testing.assert_allclose(made, A @ B, rtol=1e-5)
        np.testing.assert_array_equal(C, made)


def test_outputs_between_inputs_and_scalars() -> None:
    call, X = calls(both), random(9, dtype="f8")
    low, high = call(X, 2.0)
    np.testing.assert_array_equal(low, 2 * np.minimum(X[:-1], X[1:]))
    mine = np.zeros(8)
    given = call(X, 2, high=mine)
    assert given[1] is mine
    np.testing.assert_array_equal(mine, high)
    other = np.zeros(8)
    assert call(other, X, np.float32(2), mine)[0] is other
    np.testing.assert_array_equal(other, low)


def test_stages_with_an_array_between_them() -> None:
    X = random(4, 6)
    np.testing.assert_allclose(calls(centred)(X), X - X.mean(axis=1, keepdims=True), atol=1e-6)


def unaligned(array: np.ndarray) -> np.ndarray:
    room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    room[...] = array
    return room


def read_only(array: np.ndarray) -> np.ndarray:
    found = array.copy()
    found.flags.writeable = False
    return found


@pytest.mark.parametrize(
    "form",
    [
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: a[::-1].copy()[::-1],
        lambda a: a.T.copy().T,
        unaligned,
        read_only,
        lambda a: a.view(np.matrix),
    ],
)
def test_views_strides_and_alignment(form: Any) -> None:
    call, A, B = calls(product), random(6, 5), random(5, 4)
    call(A, B)
    np.testing.assert_allclose(call(form(A), form(B)), A @ B, rtol=1e-5)
    C = form(np.zeros((6, 4), np.float32))
    if C.flags.writeable:
        assert call(A, B, C) is C
        np.testing.assert_allclose(np.asarray(C), A @ B, rtol=1e-5)


def test_what_is_written_may_lie_on_what_is_read() -> None:
    call, A = calls(product), random(4, 4)
    for _ in range(2):
        square, apart = A.copy(), np.zeros((4, 4), np.float32)
        call(square, square, apart)
        call(square, square, square)
        np.testing.assert_array_equal(square, apart)
    both_of = random(2, 8)
    shifted = both_of.reshape(-1)
    X, Y = shifted[:9].reshape(3, 3), shifted[3:12].reshape(3, 3)
    wanted = X.copy() @ X.copy()
    call(X, X, Y)
    np.testing.assert_allclose(Y, wanted, rtol=1e-5)


def test_interleaved_outputs() -> None:
    room, X = np.zeros(8), random(5, dtype="f8")
    calls(both)(room[::2], X, 1.0, room[1::2])
    np.testing.assert_array_equal(room[::2], np.minimum(X[:-1], X[1:]))
    np.testing.assert_array_equal(room[1::2], np.maximum(X[:-1], X[1:]))


def test_no_elements() -> None:
    call = calls(product)
    assert call(np.zeros((0, 3), "f4"), np.zeros((3, 2), "f4")).shape == (0, 2)
    with pytest.raises(UserError, match=r"CALL_SHAPE.*expected arrays with elements"):
        call(np.zeros((2, 0), "f4"), np.zeros((0, 2), "f4"))


class Tensor:
    """A tensor of another package."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **more: Any) -> Any:
        return self.array.__dlpack__(**more)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def from_dlpack(array: np.ndarray) -> Tensor:
    return Tensor(array)


def test_tensors_by_dlpack() -> None:
    call, A, B, C = calls(product), random(3, 4), random(4, 5), np.zeros((3, 5), np.float32)
    given = Tensor(C)
    assert call(Tensor(A), Tensor(B), given) is given
    np.testing.assert_allclose(C, A @ B, rtol=1e-5)
    made = call(A, Tensor(B))
    assert isinstance(made, np.ndarray)
    with pytest.raises(UserError, match="not in the memory of the CPU"):
        call(Tensor(A, device=2), B)


WRONG = {
    "too few": ((random(2, 2),), "CALL_ARGUMENTS.*no value of B"),
    "too many": ((random(2, 2),) * 4, "CALL_ARGUMENTS.*got 4"),
    "type": ((random(2, 2, dtype="f8"), random(2, 2)), "CALL_DTYPE.*array of float32 for 'A', got float64"),
    "byte order": ((random(2, 2).astype(">f4"), random(2, 2)), "CALL_DTYPE.*byte order"),
    "axes": ((random(2), random(2, 2)), r"CALL_SHAPE.*expected 2 axes \(m, k\)"),
    "shape": ((random(2, 3), random(2, 2)), "CALL_SHAPE.*got 2 on axis 0: k is 3"),
    "output's shape": ((random(2, 3), random(3, 2), random(2, 3)), "CALL_SHAPE.*'C'.*got 3 on axis 1"),
    "list": (([[1.0]], random(1, 1)), "CALL_ARRAY.*got a list"),
    "none": ((None, random(1, 1)), "CALL_ARRAY.*got nothing"),
    "masked": ((np.ma.masked_array(random(2, 2)), random(2, 2), random(2, 2)), "CALL_ARRAY.*mask"),
    "read-only": ((random(2, 2), random(2, 2), read_only(random(2, 2))), "CALL_MEMORY.*read-only"),
    "one place": ((random(2, 2), random(2, 2), np.lib.stride_tricks.as_strided(random(4), (2, 2), (0, 4))), "CALL_MEMORY"),
    "windows": ((random(2, 2), random(2, 2), np.lib.stride_tricks.as_strided(random(4), (2, 2), (4, 4))), "CALL_MEMORY"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls(case: str) -> None:
    given, told = WRONG[case]
    call = calls(product)
    call(random(2, 2), random(2, 2), random(2, 2))  # wrong arrays of a form that is known take the long way
    with pytest.raises(UserError, match=f"(?s){told}"):
        call(*given)


def test_wrong_names_scalars_and_outputs() -> None:
    X, call = random(5, dtype="f8"), calls(both)
    for given, named, told in (
        ((X, 1.0), {"hihg": X}, "got 'hihg'"),
        ((X, 1.0), {"X": X}, "expected one value of 'X'|got 3 arguments|no value"),
        ((X, True), {}, "expected a number for 'by', got a bool"),
        ((X, "1"), {}, "expected a number for 'by', got a str"),
        ((X, 1j), {}, "expected a number"),
        ((X, 10**400), {}, "f64 holds for 'by'"),
    ):
        with pytest.raises(UserError, match=told):
            call(*given, **named)
    same = np.zeros(4)
    with pytest.raises(UserError, match="share no memory"):
        call(same, X, 1.0, same)
    for by, told in ((1.5, "i32 holds"), (2**31, "i32 holds")):
        with pytest.raises(UserError, match=told):
            calls(squares)(np.zeros(2, np.int32), by)


def test_integers_wrap_as_numpys() -> None:
    X = np.array([46341, -(2**31), 2**31 - 1, 65536], np.int32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(calls(squares)(X, -1), X * X + np.int32(-1))


def test_nan_and_infinities_stay() -> None:
    X = np.array([np.nan, 1.0, np.inf, -np.inf, 0.0])
    low, high = calls(both)(X, 1.0)
    np.testing.assert_array_equal(low, np.minimum(X[:-1], X[1:]))
    np.testing.assert_array_equal(high, np.maximum(X[:-1], X[1:]))
    A = np.array([[np.inf, 1], [np.nan, 2]], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(calls(product)(A, A), A @ A)
        np.testing.assert_array_equal(calls(centred)(A), A - A.mean(axis=1, keepdims=True))


def test_without_a_compiler_the_mathematics_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes_module, "find_compiler", lambda: None)
    assert isinstance(plain_runner(product, {"m": 2, "k": 2, "n": 2}, 1), EvaluatedRunner)
    X, A = random(5, dtype="f8"), random(3, 4)
    np.testing.assert_allclose(calls(both)(X, 3.0)[0], 3 * np.minimum(X[:-1], X[1:]))
    C = np.zeros((3, 3), np.float32)
    assert calls(product)(A, A.T, C) is C
    np.testing.assert_allclose(C, A @ A.T, rtol=1e-5)


def test_threads_of_python_may_call_at_once() -> None:
    call, A = calls(centred), random(300, 400)
    wanted = A - A.mean(axis=1, keepdims=True)
    wrong: list[float] = []

    def work() -> None:
        wrong.extend(1.0 for _ in range(5) if not np.allclose(call(A), wanted, atol=1e-5))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_small_kernels_run_on_one_thread() -> None:
    small, large = (plain_runner(product, {"m": m, "k": 64, "n": 64}, 2) for m in (2, 256))
    assert isinstance(small, CompiledRunner) and isinstance(large, CompiledRunner)
    assert (small.threads, large.threads) == (1, 2)


def test_sizes_that_can_be_arguments_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[object] = []
    real = classes_module.compile_nest
    monkeypatch.setattr(classes_module, "compile_nest", lambda nest, **more: built.append(real(nest, **more)) or built[-1])
    for m in (2, 3, 70):
        X = random(m, 6)
        np.testing.assert_allclose(calls(centred)(X), X - X.mean(axis=1, keepdims=True), atol=1e-6)
    assert len({kernel.library for kernel in built}) == 2  # type: ignore[attr-defined]


@wl.tensor
def idle(X: f32["n"], unused: f32["n"], Y: wl.out[f32["n"]]):
    Y[i] = X[i] + 1


class Copied(Tensor):
    """A tensor of a package that copies what DLPack hands over."""

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=lambda array: Copied(array.copy()))


def test_results_go_to_the_package_once_they_are_computed() -> None:
    A, B = random(3, 4), random(4, 5)
    made = calls(product)(Copied(A), B)
    assert isinstance(made, Copied)
    np.testing.assert_allclose(made.array, A @ B, rtol=1e-5)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_the_shortest_way_is_c(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Calls(Signature.of(product), lambda sizes: plain_runner(product, sizes, 1))
    A, B, C = random(3, 4), random(4, 5), np.zeros((3, 5), np.float32)
    made((A, B, C), {})
    with monkeypatch.context() as patch:
        patch.setattr(Signature, "bind", None)
        patch.setattr(CompiledRunner, "run_at", None)
        C[...] = 0
        assert made((A, B, C), {}) is C
        np.testing.assert_allclose(C, A @ B, rtol=1e-5)
    for other in (np.asfortranarray(C), unaligned(C), C[::-1]):
        assert made((A, B, other), {}) is other
        np.testing.assert_allclose(other, A @ B, rtol=1e-5)
    square = made((random(4, 4), random(4, 4), random(4, 4)), {})
    wanted = square @ square
    assert made((square, square, square), {}) is square
    np.testing.assert_allclose(square, wanted, rtol=1e-5)
    with pytest.raises(UserError, match="read-only"):
        made((A, B, read_only(C)), {})


def test_scalars_and_names_go_the_short_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made, X = Calls(Signature.of(both), lambda sizes: plain_runner(both, sizes, 1)), random(5, dtype="f8")
    low, high = np.zeros(4), np.zeros(4)
    made((low, X, 1.0, high), {})
    made((X, 1.0), {})
    monkeypatch.setattr(Signature, "bind", None)
    assert made((low,), {"high": high, "by": 3, "X": X})[1] is high
    np.testing.assert_array_equal(high, 3 * np.maximum(X[:-1], X[1:]))
    np.testing.assert_array_equal(made((), {"by": np.float32(2), "X": X})[0], 2 * np.minimum(X[:-1], X[1:]))


def test_arrays_that_nothing_reads() -> None:
    call, X, Y = calls(idle), random(4), np.zeros(4, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(call(X, X, Y), X + 1)


@wl.tensor
def valid(X: f32["n"], W: f32["m"], Y: wl.out[f32["n - m + 1"]]):
    Y[i] = sum(X[i + j] * W[j], over=j)


def test_an_output_of_less_than_no_elements_is_refused() -> None:
    call, X = calls(valid), random(3)
    np.testing.assert_allclose(call(X, random(2)).shape, (2,))
    assert call(X, random(4)).shape == (0,)
    with pytest.raises(UserError, match=r"expected sizes that leave room for 'Y', got 'Y' of shape \(-1,\)"):
        call(X, random(5))


@wl.tensor
def moved(X: f32["n + 1"], y: wl.inout[f32["n"]], s: wl.out[f32[1]]):
    y[i] += X[i + 1]
    s[0] = sum(X[i], over=i)


def test_an_array_without_elements_is_told_by_its_own_name() -> None:
    with pytest.raises(UserError, match=r"expected arrays with elements where 'moved' has something to write, got 'y' of shape"):
        calls(moved)(random(1), random(1)[:0], np.zeros(1, np.float32))


class Longer(np.ndarray):
    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (1 << 40,)


class Broken:
    def __init__(self, device: object) -> None:
        self._device = device

    def __dlpack__(self, **_: object) -> object:
        raise RuntimeError("no memory")

    def __dlpack_device__(self) -> object:
        if isinstance(self._device, Exception):
            raise self._device
        return self._device


def test_what_an_array_or_a_tensor_says_of_itself_is_not_believed() -> None:
    call, X = calls(valid), random(3)
    W = random(2)
    np.testing.assert_array_equal(call(X.view(Longer), W), call(X, W))
    out = np.zeros(2, np.float32).view(Longer)
    assert call(X, W, out) is out
    np.testing.assert_array_equal(np.asarray(out), call(X, W))
    for wrong in (Broken(None), Broken(BufferError("none")), Broken((1, 0)), Broken, np.ndarray):
        with pytest.raises(UserError, match="expected an array for 'X', got a t"):
            call(wrong, W)
