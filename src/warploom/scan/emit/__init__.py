"""Kernels out of lifted loops: CUDA, CUB, Triton, Numba, NumPy; their tests, and the proof of their data movement.

Takes a lifted loop, a network and a variant. Gives source code for one target (`cuda_scan`), and the comparison of a run of it
with the loop. Open `cuda.py` first, then `printer.py`, which prints expressions for every target.
"""

from warploom.scan.emit.body import Slot
from warploom.scan.emit.c_module import c_body, c_source
from warploom.scan.emit.cuda import (
    KERNELS,
    SHARED_KERNELS,
    SIZES,
    Choices,
    CudaScan,
    Kernel,
    calling_source,
    cuda_scan,
    warp_program,
)
from warploom.scan.emit.dialect import IntType, RealType, Scalar, Types
from warploom.scan.emit.movement import SEPARATE, Movement, movement, opaque_scan
from warploom.scan.emit.numpy_module import function_name, whole_bound
from warploom.scan.emit.peers import imported
from warploom.scan.emit.program import PLAIN, TARGETS, Asked, Emitted, Target, emit, source_of
from warploom.scan.emit.running import ARCH, Comparison, compare, compiled_program, executed, run_kernel
from warploom.scan.emit.shared import PLACES, Cells, printable, shared_scan

__all__ = [
    "ARCH", "KERNELS", "PLACES", "PLAIN", "SEPARATE", "SHARED_KERNELS", "SIZES", "TARGETS", "Asked", "Cells", "Choices",
    "Comparison", "CudaScan", "Emitted", "IntType", "Kernel", "Movement", "RealType", "Scalar", "Slot", "Target", "Types",
    "c_body", "c_source", "calling_source", "compare", "compiled_program", "cuda_scan", "emit", "executed", "function_name",
    "imported", "movement", "opaque_scan", "printable", "run_kernel", "shared_scan", "source_of", "warp_program", "whole_bound",
]  # fmt: skip
