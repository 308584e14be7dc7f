"""The widths of the next levels are those of the candidates that decisions, one by one, make."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from warploom.solve.space import Candidate, CompiledSpace, Instance

from .worlds import random_world

LEVELS = 3


def counted(candidate: Candidate, turns: list[int], groups: list[int], levels: int) -> list[int]:
    """By making every candidate."""
    found = [0] * levels
    if levels == 0:
        return found
    is_open = {int(v) for choice in candidate.instance.space.choices for v in candidate.open_variables(choice)}
    for variable, group in zip(turns, groups, strict=True):
        domain = int(candidate.domains[variable])
        masks = [1 << n for n in range(64) if domain >> n & 1]
        if group and domain & group == group:
            masks = [group, *(mask for mask in masks if not mask & group)]
        if variable not in is_open or len(masks) < 2:
            continue
        for mask in masks:
            child = candidate.narrowed(np.array([variable]), np.array([mask], dtype=np.uint64))
            if child is not None:
                below = counted(child, turns, groups, levels - 1)
                found = [a + b for a, b in zip(found, [1, *below], strict=True)]
        break
    return found


@pytest.mark.parametrize("seed", range(60))
def test_widths_are_those_of_the_candidates(seed: int) -> None:
    random = Random(seed)
    world = random_world(seed)
    instance = Instance(CompiledSpace(world.space), **world.inputs())
    root = instance.root()
    if root is None:
        return
    turns = [int(v) for choice in instance.space.choices for v in instance.one_way(choice)]
    random.shuffle(turns)
    groups = [random.choice((0, 0b11, 0b110)) for _ in turns]
    arrays = np.array(turns, dtype=np.int64), np.array(groups, dtype=np.uint64)
    before = root.key()
    for levels in range(LEVELS + 1):
        assert list(instance.widths(root, *arrays, levels)) == counted(root, turns, groups, levels)
    assert root.key() == before
