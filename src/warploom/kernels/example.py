"""A ready kernel: sketch, shared-memory baseline, NumPy reference and the sizes to try it at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warploom.core import to_numpy
from warploom.ir import IndexBinary, IndexConst, IndexExpr, Kernel, SizeVar
from warploom.kernels.reference import Array, Reference
from warploom.sketch import Sketch


@dataclass(frozen=True, slots=True)
class Example:
    """Two kernels of the same specification, one with holes, and what both must compute."""

    name: str
    """Name as the benchmarks call it: `conv1d-9`, `aos-store-crc-6-direct`."""
    sketch: Sketch
    baseline: Sketch
    """Baseline through shared memory, without holes; same parameters as the sketch."""
    reference: Reference
    sizes: tuple[Mapping[str, int], ...]
    """Run-time sizes to try, small ones that do not divide among them."""
    notes: str = ""
    tile: Sketch | None = None
    """A smaller sketch with the same holes, to complete in place of `sketch` (`complete_example`)."""

    def arrays(self, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
        """Random contents for every array parameter; outputs are zero. Vectors have their components as a last axis."""
        return random_arrays(self.sketch.kernel, sizes, seed)


def random_arrays(kernel: Kernel, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Array]:
    """Random inputs and zero outputs for `kernel`: floats in [-1, 1), integers over 16 bits, unsigned ones over their range."""
    rng = np.random.default_rng(seed)
    arrays: dict[str, Array] = {}
    for param in kernel.params:
        dtype = to_numpy(param.dtype)
        shape = tuple(_extent(e, sizes) for e in param.shape) + ((param.dtype.lanes,) if param.dtype.lanes > 1 else ())
        if not param.is_input:
            arrays[param.name] = np.zeros(shape, dtype)
        elif param.dtype.is_float:
            arrays[param.name] = rng.uniform(-1.0, 1.0, shape).astype(dtype)
        else:
            low = max(int(np.iinfo(dtype).min), -(2**15))
            high = int(np.iinfo(dtype).max) if param.dtype.kind == "uint" else min(int(np.iinfo(dtype).max), 2**15)
            arrays[param.name] = rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    return arrays


def _extent(expr: IndexExpr, sizes: Mapping[str, int]) -> int:
    match expr:
        case IndexConst(value):
            return int(value)
        case SizeVar(name):
            return sizes[name]
        case IndexBinary(op, lhs, rhs):
            a, b = _extent(lhs, sizes), _extent(rhs, sizes)
            return {"+": a + b, "-": a - b, "*": a * b, "//": a // b if b else 0}[op]
        case _:
            raise TypeError(f"not an array extent: {expr}")
