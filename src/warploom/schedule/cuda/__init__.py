"""The CUDA target: nests as CUDA C++, compiled, run on the PTX interpreter or on a device.

Takes a loop nest. Gives CUDA C++ of its kernels (`cuda_kernel`, `cuda_program`) and the results of a run. Open `kernel.py`
first, then `body.py`.
"""

from warploom.schedule.cuda.facts import loops_of
from warploom.schedule.cuda.kernel import CudaKernel, cuda_kernel, cuda_program
from warploom.schedule.cuda.options import Options
from warploom.schedule.cuda.run import (
    KernelFacts,
    Outcome,
    compile_kernel,
    facts_of,
    interpret,
    interpret_all,
    launch_numbers,
    ptx_of,
    run,
    text_options,
    time,
    with_outputs,
)

__all__ = [
    "CudaKernel", "KernelFacts", "Options", "Outcome", "compile_kernel", "cuda_kernel", "cuda_program", "facts_of",
    "interpret", "interpret_all", "launch_numbers", "loops_of", "ptx_of", "run", "text_options", "time", "with_outputs",
]  # fmt: skip
