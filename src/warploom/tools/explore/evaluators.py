"""Judges of the implementations that `warploom explore` finds: this CPU, this GPU, or the model."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from warploom.gpu import device_arch
from warploom.schedule.backbone import Backbone, Program, Role
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.search import CpuEvaluator, CpuPrograms, CudaEvaluator, Evaluator, ModelEvaluator, Programs
from warploom.tools.explore.data import Data, stage_arrays
from warploom.tools.explore.options import KernelOptions


def evaluators(options: KernelOptions, data: Data, executor: Executor | None) -> Callable[[Backbone], Evaluator | None]:
    def make(stage: Backbone) -> Evaluator | None:
        arrays = stage_arrays(stage, data)
        written = {r.name for r in stage.regions if r.role is not Role.INPUT}
        outputs = {n: a for n, a in data.outputs.items() if n in written} if arrays is not None else None
        if options.target.kind == "cpu":
            return CpuEvaluator(
                stage, threads=options.threads, executor=executor, reference=outputs, tolerance=data.tolerance,
                allowed=data.allowed, arrays=arrays, scalars=data.scalars,
            )  # fmt: skip
        if not options.is_measured:
            return ModelEvaluator(options.target)
        printed = CudaOptions(arch=device_arch())
        return CudaEvaluator(stage, printed, executor=executor, reference=outputs, arrays=arrays, scalars=data.scalars)

    return make


def programs(options: KernelOptions, data: Data) -> Callable[[Program], Programs | None]:
    def make(program: Program) -> Programs | None:
        if options.target.kind != "cpu":
            return None
        return CpuPrograms(program, threads=options.threads, arrays=data.inputs, scalars=data.scalars)

    return make
