"""The cost of each access of a completed kernel at one size, counted by the reference interpreter."""

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


def counted_accesses(kernel: Kernel, sizes: Mapping[str, int], *, with_registers: bool) -> tuple[AccessCounts, ...]:
    """Accesses to memory of a kernel that uses shared memory, and those to arrays of registers, if asked for.

    What the data is has no influence on where it lies.
    """
    with_memory = bool(shared_arrays(kernel))
    if not with_memory and not with_registers:
        return ()
    arrays = blank_arrays(kernel, sizes)
    found = run(kernel, arrays, sizes, check_races=False, count_accesses=True).accesses
    return tuple(a for a in found if (with_registers if a.unit == "registers" else with_memory))
