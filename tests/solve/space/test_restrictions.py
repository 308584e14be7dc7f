"""Which restrictions are possible is the same whether each is propagated by itself or most are shown by others."""

from __future__ import annotations

import numpy as np
import pytest
from tests.solve.space.worlds import random_world

from warploom.solve.space import IS_POSSIBLE, IS_REFUTED, IS_UNKNOWN, Candidate, CompiledSpace, Instance, find_possible


def root_of(seed: int) -> Candidate | None:
    world = random_world(seed)
    return Instance(CompiledSpace(world.space), **world.inputs()).root()


def asked(root: Candidate) -> list[tuple[int, int]]:
    """Each value of each variable, all values but the lowest one, and none that is left."""
    found: list[tuple[int, int]] = []
    for variable, domain in enumerate(root.domains.tolist()):
        found += [(variable, 1 << n) for n in range(domain.bit_length() + 1)]
        found.append((variable, domain & (domain - 1)))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_restrictions_are_possible_as_if_each_were_propagated(seed: int) -> None:
    root = root_of(seed)
    if root is None:
        return
    variables, masks = (np.array(row) for row in zip(*asked(root), strict=True))
    masks = masks.astype(np.uint64)
    states = np.full(variables.size, IS_UNKNOWN, dtype=np.uint8)
    tried: list[int] = []
    find_possible(root, variables, masks, states, lambda so_far: bool(tried.append(so_far)))
    each = [root.narrowed(variables[n : n + 1], masks[n : n + 1]) for n in range(variables.size)]
    assert states.tolist() == [IS_REFUTED if one is None else IS_POSSIBLE for one in each]
    assert max(tried) <= 3 * variables.size


def test_what_is_left_at_the_end_is_unknown() -> None:
    root = next(root for seed in range(60) if (root := root_of(seed)) is not None and len(asked(root)) > 30)
    variables, masks = (np.array(row) for row in zip(*asked(root), strict=True))
    states = np.full(variables.size, IS_UNKNOWN, dtype=np.uint8)
    find_possible(root, variables, masks.astype(np.uint64), states, lambda tried: True)
    assert (states == IS_UNKNOWN).any() and not (states == IS_POSSIBLE).any()
    find_possible(root, variables, masks.astype(np.uint64), states, lambda tried: tried == 1)
    assert (states == IS_UNKNOWN).any() and (states == IS_POSSIBLE).any()
