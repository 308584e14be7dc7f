"""Partitions listed level by level against every ordered list of conditions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from warploom.ir.swizzle import PartitionSet, condition_set

POINTS = np.array(list(product(range(3), range(2))))


def _tables(members: PartitionSet) -> set[tuple[int, ...]]:
    """The table of every expression."""
    truth = members.conditions.functions.tables.astype(np.bool_)
    found: set[tuple[int, ...]] = set()
    for chosen in product(range(len(truth)), repeat=members.parts - 1):
        table = np.full(members.points, members.parts - 1)
        for value in range(members.parts - 2, -1, -1):
            table[truth[chosen[value]]] = value
        found.add(tuple(table.tolist()))
    return found


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_what_fits_allowed_values(parts: int, seed: int) -> None:
    members = PartitionSet(condition_set(POINTS, "constant-free", ()), parts)
    rng = np.random.default_rng(seed)
    allowed = rng.random((len(POINTS), parts)) < 0.8
    fitting = {t for t in _tables(members) if allowed[np.arange(len(t)), t].all()}
    found = members.matching(allowed)
    assert found is not None
    assert {tuple(t) for t in found.tables.tolist()} == fitting
    assert len(found) == len(fitting)
    some = rng.random(len(POINTS)) < 0.5
    where = members.matching_at(some, allowed | ~some[:, None])
    assert where is not None
    wanted = {tuple(np.array(t)[some]) for t in _tables(members) if allowed[np.arange(len(t)), t][some].all()}
    assert {tuple(t) for t in where.tables[:, some].tolist()} == wanted
    assert len(where) == len(wanted)
    assert {tuple(t) for t in where.tables.tolist()} <= _tables(members)
