"""Kernels of GPUs called with tensors, on a double of the driver; their nests are plain loops of one thread."""

# ruff: noqa: F821 (indices and sizes are names of the language)
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.gpu.calls.fake_driver import FakeDriver
from tests.gpu.calls.packages import Plain

import warploom as wl
from warploom import UserError, bf16, f32, i32
from warploom.schedule.calls import GpuCalls, Signature, gpu_calls
from warploom.schedule.cpu import plain_nest
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.nest import Kind, Loop, Nest


def one_thread(nest: Nest) -> Nest:
    """All loops one after the other in one thread."""

    def flat(node: Any) -> Any:
        if not isinstance(node, Loop):
            return node
        return replace(node, kind=Kind.LOOP, hardware=None, body=tuple(map(flat, node.body)))

    return replace(nest, body=tuple(map(flat, nest.body)))


def calls_of(function: Any, arch: str = "sm_80") -> GpuCalls:
    made: list[Any] = []

    def kernels_at(sizes: Any, _: str) -> Any:
        made.append(sizes)
        program = function.program(sizes)
        return program, [cuda_kernel(one_thread(plain_nest(stage)), Options(arch=arch)) for stage in program.stages]

    found = GpuCalls(Signature.of(function), kernels_at)
    found.made = made  # type: ignore[attr-defined]
    return found


@wl.tensor
def normalised(X: f32["m", "n"], by: f32, S: wl.temp[f32["m"]], Y: wl.out[f32["m", "n"]], Z: wl.out[f32["m"]]):
    S[i] += X[i, j]
    Y[i, j] = X[i, j] * S[i] + by
    Z[i] = S[i] + by


X = np.arange(6, dtype=np.float32).reshape(2, 3)
S = X.sum(axis=1)


def test_several_launches_with_what_is_between_them(driver: FakeDriver) -> None:
    calls = calls_of(normalised)
    x, y, z = Plain(driver, X, stream=4), Plain(driver, X * 0, stream=4), Plain(driver, S * 0, stream=4)
    before = set(driver.memory)
    for _ in range(2):
        assert calls((x, 0.5, y, z), {}) == (y, z)
        driver.drain(4)
        np.testing.assert_array_equal(y.host(), X * S[:, None] + 0.5)
        np.testing.assert_array_equal(z.host(), S + 0.5)
    assert {stream for *_, stream in driver.launched} == {4} and len(driver.launched) == 6
    assert set(driver.memory) == before and not driver.contexts and not driver.findings  # what was between them is gone
    assert len(driver.compiled) == 3 and len(calls.made) == 1  # type: ignore[attr-defined]


def test_outputs_left_out_named_and_by_out(driver: FakeDriver) -> None:
    calls = calls_of(normalised)
    y, z = calls((Plain(driver, X), 0.5), {})
    driver.drain(0)
    np.testing.assert_array_equal(driver.at(z.__cuda_array_interface__["data"][0])[:8].view(np.float32), S + 0.5)
    y, z = Plain(driver, X * 0), Plain(driver, S * 0)
    assert calls((), {"X": Plain(driver, X), "by": 1, "out": (y, z), "stream": 9}) == (y, z)
    assert driver.launched[-1][3] == 9
    driver.drain(9)
    np.testing.assert_array_equal(y.host(), X * S[:, None] + 1)


def test_arrays_of_numpy_are_interpreted_or_copied(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((9, 0), (8, 0))
    calls = calls_of(normalised)
    expected = X * S[:, None] + 2
    y, z = calls((X, 2), {})
    np.testing.assert_array_equal(y, expected)
    assert not driver.launched
    wide = np.zeros((4, 3), np.float32)
    assert calls((X, 2, wide[::2], z), {"device": "cuda:1"})[1] is z
    np.testing.assert_array_equal(wide[::2], expected)
    assert not wide[1::2].any() and not driver.memory and [arch for _, arch, _ in driver.compiled] == ["sm_80"] * 3


@wl.tensor
def moved(I: i32["n"], X: f32["k"], Y: wl.inout[f32["n"]]):
    Y[i] = Y[i] * 2 + X[I[i]]


def test_arrays_that_are_read_and_written_and_places(driver: FakeDriver) -> None:
    calls = calls_of(moved)
    places, x, y = np.array([2, 0, 1, 2], np.int32), np.array([1, 2, 4], np.float32), np.array([8, 16, 32, 64], np.float32)
    given = Plain(driver, places, stream=3), Plain(driver, x, stream=3), Plain(driver, y, stream=3)
    given[0].late(places, 3)
    assert calls(given, {}) is given[2]
    driver.drain(3)
    np.testing.assert_array_equal(given[2].host(), y * 2 + x[places])
    given[0].late(places + 1, 3)  # of the stream, when the call comes
    with pytest.raises(UserError, match=r"CALL_INDEX.*got I\[0\] = 3"):
        calls(given, {})
    assert len(driver.launched) == 1


def test_what_is_refused(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((8, 0))
    calls, x = calls_of(normalised), Plain(driver, X)
    view = Plain(driver, X, offset=4)
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((x, 0.5, X, S), {}, "CALL_DEVICE.*for 'Y'.*got a ndarray"),
        ((X, 0.5), {"out": (x, x)}, "CALL_DEVICE.*for 'X'.*got a ndarray"),
        ((x, 0.5), {"device": 0}, "OPTION.*device beside NumPy's arrays only"),
        ((X, 0.5), {"stream": 1}, "CALL_STREAM.*NumPy's arrays alone"),
        ((x, "a"), {}, "CALL_ARRAY.*expected a number for 'by'"),
        ((Plain(driver, X.astype(np.int32)), 0.5), {}, "CALL_DTYPE.*expected a tensor of float32 for 'X', got i32"),
        ((x, 0.5, Plain(driver, X.T.copy()), Plain(driver, S)), {}, "CALL_SHAPE"),
        ((view, 0.5), {}, "CALL_MEMORY.*'X' to begin at a multiple of 16 bytes"),
        ((x, 0.5, x, Plain(driver, S)), {}, "CALL_MEMORY.*output 'Y' that shares no memory with 'X'"),
        ((Plain(driver, X[:, :0]), 0.5), {}, "CALL_SHAPE.*expected arrays with elements"),
    ]
    for given, named, text in cases:
        with pytest.raises(UserError, match=text):
            calls(given, named)
    with pytest.raises(UserError, match=r"CALL_DEVICE.*expected a GPU of sm_90 or newer, for which .* explored, got sm_80"):
        calls_of(normalised, "sm_90")((x, 0.5), {})
    assert not driver.launched and not driver.contexts


def test_kernels_of_one_architecture_are_compiled_for_it_and_refused_elsewhere(driver: FakeDriver) -> None:
    """The double is a GPU of sm_90."""
    calls = calls_of(normalised)
    made = calls._make

    def with_groups(arch: str) -> Any:
        def kernels_at(sizes: Any, on: str) -> Any:
            program, kernels = made(sizes, on)
            return program, [replace(k, options=Options(arch=arch), has_groups=True) for k in kernels]

        return GpuCalls(Signature.of(normalised), kernels_at)

    x = Plain(driver, X)
    with pytest.raises(UserError, match=r"CALL_DEVICE.*expected a GPU of sm_75a, whose instructions .* no other has, got sm_90"):
        with_groups("sm_75")((x, 0.5), {})
    assert not driver.launched
    with_groups("sm_90")((x, 0.5), {})
    assert {arch for _, arch, _ in driver.compiled} == {"sm_90a"}


def test_nothing_to_do(driver: FakeDriver) -> None:
    y, z = calls_of(normalised)((Plain(driver, X[:0]), 0.5), {})
    assert y.shape == (0, 3) and z.shape == (0,) and not driver.launched


def test_types_that_numpy_lacks(driver: FakeDriver) -> None:
    @wl.tensor
    def copied(X: bf16["n"], Y: wl.out[bf16["n"]]):
        Y[i] = X[i]

    words = np.array([0x3F80, 0x4000, 0xC040, 0x3F00], np.uint16)  # 1, 2, -3, 0.5
    x, y = Plain(driver, words), Plain(driver, words * 0)
    x.dtype = y.dtype = "torch.bfloat16"
    calls_of(copied)((x, y), {})
    driver.drain(0)
    assert y.host().tolist() == words.tolist()


def test_parameters_may_be_called_as_the_words_of_a_call(driver: FakeDriver) -> None:
    @wl.tensor
    def scaled(stream: f32["n"], device: f32, Y: wl.out[f32["n"]]):
        Y[i] = stream[i] * device

    row = np.arange(4, dtype=np.float32)
    y = Plain(driver, row)
    calls_of(scaled)((), {"stream": Plain(driver, row), "device": 2, "Y": y})
    driver.drain(0)
    np.testing.assert_array_equal(y.host(), row * 2)


def test_faults_that_the_interpreter_finds_are_raised(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly = gpu_calls.interpret_all
    monkeypatch.setattr(gpu_calls, "interpret_all", lambda *given: replace(plainly(*given), findings=("a race",)))
    with pytest.raises(UserError, match=r"LAUNCH_FAILED.*expected normalised to run without faults, got: a race"):
        calls_of(normalised)((X, 2), {})
