"""Whole kernels by name, to explore on any target.

Takes a name and sizes. Gives a `TensorKernel`: the tensor function, its inputs and its NumPy reference. Open `kernel.py` first.
"""

import difflib

from warploom.core import Diagnostic, UserError
from warploom.kernels.tensors.dense import DENSE
from warploom.kernels.tensors.kernel import TensorKernel
from warploom.kernels.tensors.paper import PAPER_SPACES, PaperSpace
from warploom.kernels.tensors.rows import ROWS
from warploom.kernels.tensors.stencils import STENCILS

TENSOR_KERNELS: dict[str, TensorKernel] = {k.name: k for k in (*DENSE, *STENCILS, *ROWS)}


def tensor_kernel(name: str) -> TensorKernel:
    """Raises UserError if there is none."""
    if name in TENSOR_KERNELS:
        return TENSOR_KERNELS[name]
    close = difflib.get_close_matches(name, TENSOR_KERNELS, 1)
    fix = f"Write {close[0]}." if close else f"Use one of {', '.join(TENSOR_KERNELS)}."
    raise UserError(Diagnostic("UNKNOWN_KERNEL", f"expected the name of a kernel, got {name!r}", fix=fix))


__all__ = ["PAPER_SPACES", "TENSOR_KERNELS", "PaperSpace", "TensorKernel", "tensor_kernel"]
