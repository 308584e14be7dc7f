"""CUDA C++ of loop nests: printed, compiled, run on the PTX interpreter or on a device."""

from warploom.schedule.cuda.kernel import CudaKernel, cuda_kernel, cuda_program
from warploom.schedule.cuda.options import Options
from warploom.schedule.cuda.run import (
    KernelFacts,
    Outcome,
    compile_kernel,
    facts_of,
    interpret,
    interpret_all,
    ptx_of,
    run,
    time,
    with_outputs,
)
from warploom.schedule.cuda.scalars import c_type

__all__ = [
    "CudaKernel", "KernelFacts", "Options", "Outcome", "c_type", "compile_kernel", "cuda_kernel", "cuda_program", "facts_of",
    "interpret", "interpret_all", "ptx_of", "run", "time", "with_outputs",
]  # fmt: skip
