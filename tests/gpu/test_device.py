"""Device code: absent devices are reported, present ones compute what the interpreter does (marker `gpu`)."""

import numpy as np
import pytest
from tests.gpu.kernels import DEVICE_TYPES, on_devices

from warploom.core import Diagnostic, UserError, i32
from warploom.gpu import Compiled, compile_cuda, cuda_source, device_arch, device_available, launch, run_kernel, time_on_device
from warploom.gpu.device import _array_problem
from warploom.ir import fill, run


class Interface:
    """Looks like a device array."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        self.__cuda_array_interface__ = {"shape": shape, "strides": strides, "typestr": "<f4", "data": (4096, False)}


def test_asking_for_a_device_never_raises() -> None:
    assert device_available() in (True, False)


@pytest.mark.skipif(device_available(), reason="there is a device")
def test_without_a_device_a_launch_says_what_is_missing() -> None:
    nothing = Compiled("sm_90", "", b"", 0, 0, 0, 0, "")
    with pytest.raises(UserError, match="NO_DEVICE"):
        launch(nothing, "k", (1, 1, 1), (32, 1, 1), [np.zeros(3, np.float32)])
    with pytest.raises(UserError, match="NO_DEVICE"):
        device_arch()


def test_arrays_must_be_dense() -> None:
    assert _array_problem(np.zeros((3, 4))) is None
    assert _array_problem(Interface((3, 4), None)) is None
    assert _array_problem(Interface((3, 4), (16, 4))) is None
    for wrong in (np.zeros((3, 4)).T, [1, 2], Interface((3, 4), (4, 12))):
        assert isinstance(_array_problem(wrong), Diagnostic)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DEVICE_TYPES)
def test_the_device_agrees_with_the_interpreter(dtype) -> None:
    arch = device_arch()
    for kernel, completions in on_devices(dtype):
        source = cuda_source(kernel, completions)
        compiled = compile_cuda(source.text, arch)
        sizes = {"n": 1000} if kernel.sizes else {}
        rng = np.random.default_rng(1)
        made = np.int32 if dtype == i32 else np.float32
        shapes = {"x": 1008, "w": 9, "y": 1000} if kernel.sizes else {p.name: p.shape[0].value for p in kernel.params}
        arrays = {name: rng.integers(-4, 5, extent).astype(made) for name, extent in shapes.items()}
        expected = run(fill(kernel, completions), {n: a for n, a in arrays.items() if n != "y"}, sizes)
        run_kernel(kernel, source, compiled, arrays, sizes)
        np.testing.assert_array_equal(arrays["y"], expected.arrays["y"])
        assert time_on_device(kernel, source, compiled, arrays, sizes, repeats=3).best_ms > 0
