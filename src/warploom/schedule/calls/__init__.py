"""Tensor functions called with arrays.

Takes a tensor function and the arguments of a call. Gives a `Binding` (sizes, arrays in the form that kernels want, outputs made)
and runners: compiled kernels, or the evaluation where no compiler works. Open `functions.py` first, then `arguments.py`.
"""

from warploom.schedule.calls.arguments import Binding, Signature
from warploom.schedule.calls.classes import (
    Class,
    GpuClass,
    GpuKernels,
    ShapeClass,
    all_open,
    in_class,
    narrowest,
    plain_class,
    plain_runner,
)
from warploom.schedule.calls.functions import Calls
from warploom.schedule.calls.gpu_calls import GpuCalls, KernelsAt
from warploom.schedule.calls.packed import pack, pack_signature, unpack, unpack_signature
from warploom.schedule.calls.packed_cuda import pack_cuda, unpack_cuda
from warploom.schedule.calls.rest import RestRunner, rest_runner
from warploom.schedule.calls.runners import CompiledRunner, EvaluatedRunner, Runner
from warploom.schedule.calls.spread import spread_nest

__all__ = [
    "Binding", "Calls", "Class", "CompiledRunner", "EvaluatedRunner", "GpuCalls", "GpuClass", "GpuKernels", "KernelsAt",
    "RestRunner", "Runner", "ShapeClass", "Signature", "all_open", "in_class", "narrowest",
    "pack", "pack_cuda", "pack_signature", "plain_class", "plain_runner", "rest_runner", "spread_nest", "unpack",
    "unpack_cuda", "unpack_signature",
]  # fmt: skip
