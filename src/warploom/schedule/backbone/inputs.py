"""Random arrays to run kernels on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, f32, integer_range, to_numpy, values_of, words_of
from warploom.schedule.backbone.nodes import Backbone, Constant, Operator, Region, Result, Role

Array: TypeAlias = NDArray[Any]


def random_inputs(regions: Iterable[Region], seed: int = 0, places: Mapping[str, int] | None = None) -> dict[str, Array]:
    """Random values of each input, by name, in its shape. `places`: arrays that are indices, as `places_of` gives them."""
    chance = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for region in regions:
        if region.role is Role.INPUT:
            most = (places or {}).get(region.name)
            found[region.name] = (
                random_array(region.dtype, region.shape, chance)
                if most is None
                else chance.integers(0, most, region.shape).astype(to_numpy(region.dtype))
            )
    return found


def places_of(stages: Iterable[Backbone]) -> dict[str, int]:
    """Arrays of integers through which other arrays are gathered, and how many places there are to choose from: those from 0 on
    below the upper limit that the gather's place is kept within."""
    found: dict[str, int] = {}
    for stage in stages:
        for gather in (i for i in stage.instructions if i.region is not None):
            work = [(operand, 1 << 62) for operand in gather.operands]
            while work:
                operand, most = work.pop()
                if not isinstance(operand, Result):
                    continue
                made = stage.instructions[operand.instruction]
                if made.access is not None:
                    region = stage.regions[made.access.region]
                    most = min(most, integer_range(region.dtype)[1] + 1)
                    found[region.name] = min(most, found.get(region.name, most))
                limits = [o.value for o in made.operands if isinstance(o, Constant)]
                if made.operator is Operator.MIN and limits:
                    most = min(most, int(limits[0]) + 1)
                work += [(o, most) for o in made.operands]
    return found


def random_array(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Floats in [-1, 1), integers in -8 .. 7 (unsigned ones 0 .. 15)."""
    if dtype is f32:
        found = chance.random(shape, np.float32)
        found *= 2
        found -= 1
        return found
    if dtype.is_held:
        return values_of(dtype, words_of(dtype, chance.uniform(-1.0, 1.0, shape)))
    if dtype.is_float:
        return chance.uniform(-1.0, 1.0, shape).astype(to_numpy(dtype))
    low = 0 if dtype.kind == "uint" else -8
    return chance.integers(low, low + 16, shape).astype(to_numpy(dtype))
