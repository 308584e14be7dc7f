"""Membership in the grammar at small sizes, against plain enumeration."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from warploom.ir.swizzle import Composition, Fan, Group, Primitive, Rot, Unit, Xor
from warploom.synth.transposes import SELF_CHECKS, random_composition, recover, tabulated


@pytest.mark.parametrize("name", list(SELF_CHECKS))
def test_self_checks(name: str) -> None:
    passed, tried = SELF_CHECKS[name]()
    assert passed == tried >= 50


def all_primitives(n: int, k_values: int) -> list[Primitive]:
    found: list[Primitive] = []
    for span in (d for d in range(1, n + 1) if n % d == 0):
        for unit in (u for u in range(1, span + 1) if span % u == 0):
            q = span // unit
            cores: list[Primitive] = [
                Rot(q, cr, dr, c) for cr in range(q) for dr in (0, *range(1, k_values)) for c in range(q)
            ]  # fmt: skip
            cores += [Fan(q, cf) for cf in range(1, q)]
            cores += [Xor(q, dr) for dr in range(1, k_values)] + [Xor(q, 0, c) for c in range(q & -q)]
            found += [Group(span, Unit(span, unit, core)) for core in cores]
    return found


@pytest.mark.parametrize(("n", "k_values"), [(2, 2), (3, 3), (4, 2), (4, 3)])
def test_exactly_the_tables_of_the_grammar(n: int, k_values: int) -> None:
    singles = {tabulated(Composition("i", (p,)), n, k_values).astype(np.int8).tobytes() for p in all_primitives(n, k_values)}
    arrays = [np.frombuffer(row, np.int8).reshape(n, k_values).astype(int) for row in singles]
    pairs = {np.take_along_axis(a, b, axis=0).astype(np.int8).tobytes() for a in arrays for b in arrays}
    permutations = list(itertools.permutations(range(n)))
    rng = random.Random(0)
    for _ in range(300):
        table = np.array([rng.choice(permutations) for _ in range(k_values)]).T
        key = table.astype(np.int8).tobytes()
        assert (recover(table, n, k_values, 1) is not None) == (key in singles)
        assert (recover(table, n, k_values, 2) is not None) == (key in pairs)


def test_shallowest_form() -> None:
    goal = tabulated(Composition("i", (Rot(8, 1), Rot(8, 2), Rot(8, 0, 0, 3))), 8, 4)
    found = recover(goal, 8, 4, 3)
    assert found is not None and found.depth == 1
    identity = recover(np.repeat(np.arange(8)[:, None], 4, axis=1), 8, 4, 3)
    assert str(identity) == "i"


def test_no_permutation_and_wrong_shape() -> None:
    assert recover(np.zeros((4, 2), np.int64), 4, 2, 3) is None
    with pytest.raises(ValueError, match="expected a table of 4 by 2"):
        recover(np.zeros((2, 4), np.int64), 4, 2, 3)


def test_random_compositions_have_the_depth_asked_for() -> None:
    assert random_composition(random.Random(0), 8, 4, 3).depth == 3
