"""The CUDA pipeline: without a device every launch is unfit, with the reason; with one it measures and checks."""

from __future__ import annotations

import pytest

from warploom.gpu import device_arch, device_available, toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cuda_tiles
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.search import CudaEvaluator, Options, Recipe, Timed, Unfit, explore, explore_kernel, strategy_named
from warploom.schedule.targets import target
from warploom.solve import process_executor

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA compiler wheels")


def axpy(size: int):
    kernel = tensor_kernel("axpy")
    sizes = dict.fromkeys(kernel.sizes, size)
    return kernel, sizes, kernel.program(sizes, cuda_tiles)


@needs_compiler
@pytest.mark.skipif(device_available(), reason="there is a device")
def test_without_a_device_nothing_fits() -> None:
    kernel, sizes, program = axpy(256)
    (stage,) = program.stages
    model = Recipe(stage, target("sm_80"))()
    best = explore_kernel(model, "axpy", None, Options(strategy=strategy_named("best-first"), nodes=150)).best
    assert best is not None
    with process_executor(1) as executor:
        judge = CudaEvaluator(stage, CudaOptions(), arrays=kernel.arrays(sizes), scalars=kernel.parameters, executor=executor)
        with judge.open():
            ((_, measurement),) = judge.measure([best.nest], None)
    assert isinstance(measurement, Unfit) and "CUDA device" in measurement.reason


@pytest.mark.gpu
@needs_compiler  # which kernels are compiled depends on the times of others
@pytest.mark.skipif(not device_available(), reason="needs a CUDA device")
def test_axpy_on_a_device() -> None:
    kernel, sizes, program = axpy(1 << 20)
    arrays = kernel.arrays(sizes)
    arch = device_arch()

    def evaluator(stage):
        return CudaEvaluator(
            stage, CudaOptions(arch), arrays=arrays, scalars=kernel.parameters, reference=kernel.reference(arrays)
        )

    found = explore(program, target(arch), options=Options(evaluations=16), evaluators=evaluator)
    assert found.time_ms is not None and found.stages[0].best is not None
    assert Timed(found.time_ms).time_ms > 0
