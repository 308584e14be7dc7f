"""The double has the functions of cuda-bindings, with their parameters."""

import inspect

import pytest
from tests.gpu.calls.fake_driver import NAMES, FakeDriver


@pytest.mark.parametrize("name", NAMES)
def test_a_function_takes_what_the_drivers_takes(name: str) -> None:
    real = pytest.importorskip("cuda.bindings.driver")
    theirs = list(inspect.signature(getattr(real, name)).parameters)
    assert list(inspect.signature(getattr(FakeDriver, name)).parameters)[1:] == theirs


def test_attributes_have_the_drivers_numbers() -> None:
    real = pytest.importorskip("cuda.bindings.driver")
    for kind in ("CUdevice_attribute", "CUpointer_attribute", "CUfunction_attribute"):
        for name, number in vars(getattr(FakeDriver, kind)).items():
            assert int(getattr(getattr(real, kind), name)) == number
