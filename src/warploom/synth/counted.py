"""What each access of a completed kernel costs at one size, counted by the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warploom.core import to_numpy
from warploom.ir import AccessCounts, Kernel, run, shared_arrays
from warploom.synth.proof.specs import array_shapes


def blank_arrays(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Zeros for every parameter."""
    return {
        p.name: np.zeros((*shape, *((p.dtype.lanes,) if p.dtype.lanes > 1 else ())), to_numpy(p.dtype))
        for p, shape in zip(kernel.params, array_shapes(kernel, sizes), strict=True)
    }


def counted_accesses(kernel: Kernel, sizes: Mapping[str, int]) -> tuple[AccessCounts, ...]:
    """Of a kernel that uses shared memory; empty for others. What the data is has no influence on where it lies."""
    if not shared_arrays(kernel):
        return ()
    arrays = blank_arrays(kernel, sizes)
    return run(kernel, arrays, sizes, check_races=False, count_accesses=True).accesses
