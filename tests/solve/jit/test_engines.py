"""Propagation and the bound as C, and as they stand."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from tests.solve.space.worlds import random_world

from warploom.solve.jit.entries import _Plain
from warploom.solve.space import Candidate, CompiledSpace, Instance
from warploom.solve.space.engine import count_levels, propagate_all


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


@pytest.mark.parametrize("seed", [3, 5, 9, 10])
def test_widths(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = random_world(seed)
    instance = Instance(CompiledSpace(world.space), **world.inputs())
    root = instance.root()
    assert root is not None
    turns = np.array([v for choice in instance.space.choices for v in instance.one_way(choice)], dtype=np.int64)
    groups = np.zeros(turns.size, dtype=np.uint64)
    found = instance.widths(root, turns, groups, 2)
    monkeypatch.setattr(import_module("warploom.solve.space.instance"), "count_levels", _Plain(count_levels.function))
    assert instance.widths(root, turns, groups, 2) == found
