"""Sums of products of words that a core may make in tile registers."""

from __future__ import annotations

from collections.abc import Collection

from warploom.machines import tile_instruction
from warploom.schedule.backbone.following import factors_apart
from warploom.schedule.backbone.nodes import Backbone


def tiled_sums(stage: Backbone, flags: Collection[str]) -> frozenset[int]:
    """Numbers of the instructions. flags: names under which Linux lists what tile registers multiply on the machine."""
    found: set[int] = set()
    for number, total in enumerate(stage.instructions):
        factors = factors_apart(stage.instructions, total) if flags and total.carry is not None else None
        if factors is not None:
            on = tile_instruction(factors[0].dtype.name, factors[1].dtype.name, total.dtype.name)
            if on is not None and on.flag in flags:
                found.add(number)
    return frozenset(found)
