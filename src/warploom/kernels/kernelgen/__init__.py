"""The stencils that PTXASW was measured on, and larger ones.

Takes the definition of a stencil, once. Gives CUDA C++ and a NumPy reference made from it. Open `stencil.py` first, then
`source.py`.
"""

from warploom.kernels.kernelgen.application import APPLICATIONS
from warploom.kernels.kernelgen.convolution import CONVOLUTIONS
from warploom.kernels.kernelgen.dense import DENSE
from warploom.kernels.kernelgen.paper import (
    APPLICATION_SHUFFLES,
    GPUS,
    LATENCIES,
    OUTCOMES,
    STALL_CHANGES,
    STALLS,
    SUMMARIES,
    SYNTHESIS,
)
from warploom.kernels.kernelgen.plane import PLANE
from warploom.kernels.kernelgen.source import Shape, cuda_source, launch
from warploom.kernels.kernelgen.stencil import Field, Grid, Parameter, Real, Stencil, parameters, reference
from warploom.kernels.kernelgen.volume import VOLUME

KERNELGEN: dict[str, Stencil] = {s.name: s for s in sorted((*VOLUME, *PLANE, *DENSE), key=lambda s: s.name)}
"""Sixteen kernels. Source: PTXASW (2023), Table 2."""

__all__ = [
    "APPLICATIONS", "APPLICATION_SHUFFLES", "CONVOLUTIONS", "GPUS", "KERNELGEN", "LATENCIES", "OUTCOMES", "STALLS",
    "STALL_CHANGES", "SUMMARIES", "SYNTHESIS", "Field", "Grid", "Parameter", "Real", "Shape", "Stencil", "cuda_source", "launch",
    "parameters", "reference",
]  # fmt: skip
