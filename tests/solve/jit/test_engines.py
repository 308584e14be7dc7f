"""Propagation and the bound as C, and as they stand."""

from __future__ import annotations

import pytest
from tests.solve.space.worlds import random_world

from warploom.solve.jit.entries import _Plain
from warploom.solve.space import Candidate, CompiledSpace, Instance
from warploom.solve.space.engine import propagate_all


@pytest.mark.parametrize("seed", range(4))
def test_propagation(seed: int) -> None:
    world = random_world(seed)
    instance = Instance(CompiledSpace(world.space), **world.inputs())
    root = instance.root()
    other = Candidate(instance, instance.domains.copy(), instance.members.copy(), instance.bounds.copy())
    run = _Plain(propagate_all.function)
    is_possible = run(instance.packed, other.domains, other.members, other.bounds, instance.work, instance.records)
    assert is_possible == (root is not None)
    if root is not None:
        assert root.key() == other.key()
