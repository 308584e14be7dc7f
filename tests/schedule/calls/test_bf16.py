"""Calls with arrays of bf16: float32 that is rounded, words, and types of packages that NumPy's views hand over."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.schedule.frontend.test_places import runners

import warploom as wl
from warploom import bf16, f32
from warploom.core import UserError


@wl.tensor
def products(A: bf16["m", "k"], B: bf16["k", "n"], C: wl.out[bf16["m", "n"]]):
    C[m, n] = bf16(sum(f32(A[m, k]) * f32(B[k, n]), over=k))


@wl.tensor
def narrowed(x: f32["n"], y: wl.out[bf16["n"]]):
    y[i] = bf16(x[i])


A = np.array([[1, 2, 3], [4, 5, 6.25]], np.float32)
B = np.array([[1, -1], [0.5, 2], [3, 4]], np.float32)
WANTED = np.array([[11, 15], [25.25, 31]], np.float32)


def words(values: np.ndarray) -> np.ndarray:
    """Upper halves of numbers that bf16 holds."""
    bits = np.ascontiguousarray(values, "<f4").view("<u2").reshape(*values.shape, 2)
    assert not bits[..., 0].any()
    return bits[..., 1].copy()


class Tensor:
    """Stand-in for a tensor of bf16 of PyTorch, or of its words."""

    def __init__(self, held: np.ndarray, dtype: str) -> None:
        self.held, self.dtype, self.shape, self.requires_grad = held, dtype, held.shape, False

    def view(self, dtype: str) -> Any:
        return Tensor(self.held, dtype)

    def is_neg(self) -> bool:
        return False

    def numpy(self) -> np.ndarray:
        raise TypeError("Got unsupported ScalarType BFloat16")

    def __dlpack__(self, **more: Any) -> Any:
        assert self.dtype == "torch.int16"
        return self.held.__dlpack__(**more)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.fixture
def tensor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a tensor of bf16 of a stand-in of PyTorch."""
    package: Any = ModuleType("torch")
    package.Tensor, package.int16, package.bfloat16 = Tensor, "torch.int16", "torch.bfloat16"
    package.from_dlpack = lambda array: Tensor(np.from_dlpack(array), "torch.int16")
    package.is_grad_enabled = lambda: True
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setattr(Tensor, "__module__", "torch")
    return lambda values: Tensor(words(values).view(np.int16), "torch.bfloat16")


def test_numpy_has_values_or_words() -> None:
    for call in runners(products):
        for _ in range(2):  # the second one goes the short way, if there is one
            made = call((A, B), {})
            assert made.dtype == np.float32
            np.testing.assert_array_equal(made, WANTED)
            made = call((words(A), words(B)), {})
            assert made.dtype == np.uint16
            np.testing.assert_array_equal(made, words(WANTED))
        for own in (np.zeros((2, 2), np.float32), np.zeros((2, 2), np.uint16), np.zeros((2, 4), np.float32)[:, ::2]):
            assert call((A, words(B)), {"out": own}) is own
            np.testing.assert_array_equal(own, WANTED if own.dtype == np.float32 else words(WANTED))
        np.testing.assert_array_equal(call((A.T.copy().T, words(B)[:, ::-1]), {}), WANTED[:, ::-1])


def test_values_are_rounded_to_nearest() -> None:
    x = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, -(1 + 2.0**-9), np.inf, 3.4e38], np.float32)
    wanted = np.array([1, 1 + 2.0**-6, 1 + 2.0**-7, -1, np.inf, np.inf], np.float32)
    for call in runners(narrowed):
        for _ in range(2):
            np.testing.assert_array_equal(call((x,), {}), wanted)


def test_tensors_of_torch_are_taken_as_words_and_returned(tensor: Any) -> None:
    for call in runners(products):
        for _ in range(2):
            made = call((tensor(A), tensor(B)), {})
            assert (type(made), made.dtype) == (Tensor, "torch.bfloat16")
            np.testing.assert_array_equal(made.held, words(WANTED).view(np.int16))
        own = tensor(np.zeros((2, 2), np.float32))
        assert call((tensor(A), tensor(B), own), {}) is own
        np.testing.assert_array_equal(own.held, words(WANTED).view(np.int16))


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.float16, np.dtype(">f4")])
def test_other_types_are_refused(dtype: Any) -> None:
    for call in runners(products):
        with pytest.raises(UserError, match=r"CALL_DTYPE.*expected bf16 for 'B', or float32 to round"):
            call((A, B.astype(dtype)), {})


def test_the_type_of_ml_dtypes_is_taken_and_returned() -> None:
    own = pytest.importorskip("ml_dtypes").bfloat16
    for call in runners(products):
        for _ in range(2):
            made = call((A.astype(own), B.astype(own)), {})
            assert made.dtype == own
            np.testing.assert_array_equal(made.astype(np.float32), WANTED)
        given = np.zeros((2, 2), own)
        assert call((A, B.astype(own), given), {}) is given
        np.testing.assert_array_equal(given.astype(np.float32), WANTED)
