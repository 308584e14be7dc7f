"""Calls with PyTorch's tensors, by a stand-in of the package that says what the tensors say: nothing is computed from a view that
is not in memory as it reads, and refusals name PyTorch's words."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.schedule.frontend.test_places import runners

import warploom as wl
from warploom import f32
from warploom.core import UserError


@wl.tensor
def scaled(a: f32, X: f32["n"], y: wl.out[f32["n"]]):
    y[i] = a * X[i]


class Tensor:
    def __init__(self, array: np.ndarray, dtype: str = "torch.float32", *, negated: bool = False, grad: bool = False) -> None:
        self.array, self.dtype, self.negated, self.requires_grad = array, dtype, negated, grad
        self.shape = array.shape

    def __dlpack__(self, **more: Any) -> Any:
        assert not self.requires_grad
        return self.array.__dlpack__(**more)  # as PyTorch: the sign of a negated view is lost

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def is_neg(self) -> bool:
        return self.negated

    def resolve_neg(self) -> Any:
        return Tensor(-self.array)

    def detach(self) -> Any:
        return Tensor(self.array, self.dtype, negated=self.negated)

    def numpy(self) -> np.ndarray:
        if self.requires_grad or self.negated:
            raise RuntimeError
        if self.dtype == "torch.bfloat16":
            raise TypeError
        return self.array

    def item(self) -> float:
        return self.array.item()


class Own(Tensor):
    """A class of the user's."""


class FakeTensor(Tensor):
    pass


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    package: Any = ModuleType("torch")
    package.Tensor, package.from_dlpack, package.enabled = Tensor, lambda array: Tensor(np.asarray(array)), True
    package.from_numpy = package.from_dlpack
    package.is_grad_enabled = lambda: package.enabled
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setattr(Tensor, "__module__", "torch")
    return package


X = np.arange(3, dtype=np.float32)


def test_negated_views_are_what_they_read_as(torch: Any) -> None:
    for call in runners(scaled):
        np.testing.assert_array_equal(call((2.0, Tensor(X, negated=True)), {}).array, -2 * X)
        torch.enabled = False
        np.testing.assert_array_equal(call((2.0, Tensor(X, negated=True, grad=True)), {}).array, -2 * X)
        torch.enabled = True
        made = call((Tensor(np.array(3.0)), Own(X)), {})
        assert type(made) is Tensor
        np.testing.assert_array_equal(made.array, 3 * X)


@pytest.mark.parametrize(
    ("given", "more", "text"),
    [
        (Tensor(X, grad=True), {}, r"CALL_ARRAY.*records gradients.*X\.detach\(\)"),
        (Tensor(X, "torch.bfloat16"), {}, r"CALL_ARRAY.*bfloat16.*X\.to\(torch\.float32\)"),
        (Tensor(X.astype("f8"), "torch.float64"), {}, r"CALL_DTYPE.*float64.*X\.to\(torch\.float32\)"),
        (FakeTensor(X), {}, "CALL_ARRAY.*fake tensor.*--code"),
        (Tensor(X), {"y": Tensor(X.copy(), negated=True)}, "CALL_ARRAY.*negated view"),
        (Tensor(X), {"out": (Tensor(X.copy()),) * 2}, "CALL_ARGUMENTS.*expected out= to be y .*got 2"),
        (Tensor(X), {"out": Tensor(X.copy()), "y": Tensor(X.copy())}, "CALL_ARGUMENTS.*expected out="),
    ],
    ids=["gradients", "bf16", "f64", "fake", "negated output", "two outputs", "twice"],
)
def test_refused(given: Tensor, more: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError, match=f"(?s){text}"):
        runners(scaled)[0]((2.0, given), more)


def test_outputs_by_the_name_of_numpy_and_torch() -> None:
    for call in runners(scaled):
        for own in (np.zeros(3, np.float32), Tensor(np.zeros(3, np.float32))):
            assert call((2.0, X), {"out": own}) is own
            np.testing.assert_array_equal(getattr(own, "array", own), 2 * X)


def test_tensors_go_the_short_way_and_come_back_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    call = wl.JitFunction(scaled, threads=1)._calls
    y = Tensor(np.zeros(3, np.float32))
    assert call((2.0, Tensor(X), y), {}) is y and type(call((2.0, Tensor(X)), {})) is Tensor
    monkeypatch.setattr(call.signature, "bind", None)  # nothing is looked at again
    for by, x in ((3.0, Tensor(X + 1)), (4.0, X)):
        assert call((by, x, y), {}) is y
        np.testing.assert_array_equal(y.array, by * (X + 1 if x is not X else X))
        made = call((by, x), {})
        assert type(made) is type(x)
        np.testing.assert_array_equal(getattr(made, "array", made), y.array)
