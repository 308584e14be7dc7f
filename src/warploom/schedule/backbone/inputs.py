"""Random arrays to run kernels on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, bf16_values, bf16_words, f32, to_numpy
from warploom.schedule.backbone.nodes import Region, Role

Array: TypeAlias = NDArray[Any]


def random_inputs(regions: Iterable[Region], seed: int = 0) -> dict[str, Array]:
    """Random values of each input, by name, in its shape."""
    chance = np.random.default_rng(seed)
    return {r.name: random_array(r.dtype, r.shape, chance) for r in regions if r.role is Role.INPUT}


def random_array(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Floats in [-1, 1), integers in -8 .. 7 (unsigned ones 0 .. 15)."""
    if dtype is f32:
        found = chance.random(shape, np.float32)
        found *= 2
        found -= 1
        return found
    if dtype.name == "bf16":
        return bf16_values(bf16_words(chance.uniform(-1.0, 1.0, shape)))
    if dtype.is_float:
        return chance.uniform(-1.0, 1.0, shape).astype(to_numpy(dtype))
    low = 0 if dtype.kind == "uint" else -8
    return chance.integers(low, low + 16, shape).astype(to_numpy(dtype))
