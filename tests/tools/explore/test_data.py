"""The data that a search runs on is made only where the budget has time for it."""

from contextlib import nullcontext
from typing import NoReturn

import pytest
from tests.tools.explore.test_command import explored

from warploom.kernels.tensors import TENSOR_KERNELS, TensorKernel, tensor_kernel
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.targets import TARGETS
from warploom.tools.explore import data as explore_data
from warploom.tools.explore.data import EVALUATED_PER_S, HANDLED_PER_S, TooManyElementsError, data_for, reference_data
from warploom.tools.explore.options import KernelOptions, points_of, program_of


def _refuse(*_: object) -> NoReturn:
    raise AssertionError("an array was made")


@pytest.fixture
def no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore_data, "inputs_of", _refuse)
    monkeypatch.setattr(TensorKernel, "reference", _refuse)
    monkeypatch.setattr(explore_data, "evaluate_program", _refuse)


@pytest.mark.usefixtures("no_arrays")
def test_no_array_is_made_that_the_budget_has_no_time_for() -> None:
    result, line = explored("axpy", "--size", f"n={HANDLED_PER_S}", "--budget", "2s")
    assert (result.exit_code, line["status"]) == (3, "unknown")
    assert str(line["reason"]).startswith("budget: arrays of 1.8e+08 elements take about 3 s")


@pytest.mark.usefixtures("no_arrays")
def test_no_array_is_made_for_a_target_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.tools.explore.options.device_available", lambda: False)
    kernel = tensor_kernel("axpy")
    options = KernelOptions(target=TARGETS["sm_90"], sizes={"n": 10**12})
    data = reference_data(kernel, program_of(kernel, options), options, print, 1e-9)
    assert not data.inputs and not data.outputs


def test_the_limit_counts_all_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tensor_kernel("axpy")
    options = KernelOptions(target=TARGETS["sm_90"], sizes={"n": 100})
    monkeypatch.setattr("warploom.tools.explore.options.device_available", lambda: True)
    monkeypatch.setattr(explore_data, "within", nullcontext)  # a machine may be too busy for microseconds
    program = program_of(kernel, options)
    assert reference_data(kernel, program, options, print, 301 / HANDLED_PER_S).reference == "NumPy"
    with pytest.raises(TooManyElementsError):
        reference_data(kernel, program, options, print, 299 / HANDLED_PER_S)


def test_a_reference_that_takes_too_long_is_left_out() -> None:
    kernel = tensor_kernel("matmul")
    program = kernel.program({"m": 64, "n": 64, "k": 64}, cpu_tiles)
    points = points_of(program)
    assert data_for(program, kernel, 0, 1e-3).outputs
    assert not data_for(program, kernel, 0, 1e-6).outputs
    assert data_for(program, None, 0, (points + 1) / EVALUATED_PER_S).reference == "evaluation"
    late = data_for(program, None, 0, (points - 1) / EVALUATED_PER_S)
    assert (late.reference, dict(late.outputs)) == ("", {})
    assert late.inputs


def test_five_seconds_are_enough_for_the_arrays_of_each_kernel_at_its_own_size() -> None:
    for name in TENSOR_KERNELS:
        assert sum(r.elements for r in tensor_kernel(name).program().arguments) <= 5 * HANDLED_PER_S, name
