"""Work of products by whole warps: counted, and never less than the bound says."""

from __future__ import annotations

import pytest
from tests.schedule.choices.matrices import SIZES, architecture_of, decided, nest_of

from warploom.schedule.bound import Bound
from warploom.schedule.cost import modelled, work_of
from warploom.schedule.targets import target

NAMES = {"by rows": 120, "by columns": 32, "summed outside": 32, "bytes": 32, "doubles": 32, "rounded": 32, "small floats": 32}


@pytest.mark.parametrize("name", NAMES)
def test_products_are_those_of_a_block(name: str) -> None:
    _, n, k = SIZES[name]
    rows = 64 if name == "by rows" else 32
    work = work_of(nest_of(name, NAMES[name]))
    assert sum(count for _, count in work.products) == rows * n * k
    least = 1.0 if name in ("rounded", "doubles") else 4.0  # where words are loaded one by one
    assert all(least <= r.lines <= 4.0 for r in work.requests if r.sectors == 0.0)
    assert (work.floats > 0) == (name == "summed outside")


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_below_the_model(name: str) -> None:
    space, candidate = decided(name, NAMES[name])
    assert Bound(space).of(candidate) <= modelled(nest_of(name, NAMES[name]), target(architecture_of(name))).time_ms
