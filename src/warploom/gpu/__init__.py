"""CUDA: printing completed kernels, reading the print back, compiling, running; machine description and cost."""

from warploom.gpu.cuda import CudaSource, cuda_source
from warploom.gpu.lower import Lowered, lower
from warploom.gpu.read_back import ReadBack, read_back
from warploom.gpu.toolchain import Compiled, assemble, compile_cuda, compile_to_ptx, disassemble, find_tool, toolchain_available

__all__ = [
    "Compiled",
    "CudaSource",
    "Lowered",
    "ReadBack",
    "assemble",
    "compile_cuda",
    "compile_to_ptx",
    "cuda_source",
    "disassemble",
    "find_tool",
    "lower",
    "read_back",
    "toolchain_available",
]
