"""What propagation lists once is what it would enumerate: the same fixed points both ways."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from warploom.solve.space import Candidate, CompiledSpace, EnumChoice, Instance, listing
from warploom.solve.space.engine import narrow_and_propagate, work_with_records
from warploom.solve.space.forms import Form, FormKind
from warploom.solve.space.nodes import Applied, Argument
from warploom.solve.space.signatures import signature_of

from .worlds import random_world


def narrowed(instance: Instance, candidate: Candidate, variable: int, mask: int, *, listed: bool) -> Candidate | None:
    child = candidate.copy()
    work = instance.work if listed else work_with_records(instance.work, 1)
    arrays = (child.domains, child.members, child.bounds)
    changed = np.array([variable], dtype=np.int64), np.array([mask], dtype=np.uint64)
    return child if narrow_and_propagate(instance.packed, *arrays, work, instance.records, *changed) else None


@pytest.mark.parametrize("seed", range(200))
def test_listed_tuples_are_those_enumerated(seed: int) -> None:
    random = Random(seed)
    world = random_world(seed)
    instance = Instance(CompiledSpace(world.space), **world.inputs())
    candidate = instance.root()
    while candidate is not None:
        variables = [int(v) for choice in instance.space.choices for v in candidate.open_variables(choice)]
        if not variables:
            return
        variable = random.choice(variables)
        domain = int(candidate.domains[variable])
        mask = 1 << random.choice([n for n in range(64) if domain >> n & 1])
        child = narrowed(instance, candidate, variable, mask, listed=True)
        other = narrowed(instance, candidate, variable, mask, listed=False)
        assert (child is None) == (other is None)
        if child is not None and other is not None:
            assert child.key() == other.key()
        candidate = child


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("total", [0, 60])
def test_what_exceeds_the_total_is_enumerated(seed: int, total: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    world = random_world(seed)
    whole = Instance(CompiledSpace(world.space), **world.inputs())
    monkeypatch.setattr(listing, "MAX_TOTAL", total)
    part = Instance(CompiledSpace(world.space), **world.inputs())
    assert part.records.size <= whole.records.size
    candidate, other = whole.root(), part.root()
    while candidate is not None:
        assert other is not None
        assert candidate.key() == other.key()
        variables = [int(v) for choice in whole.space.choices for v in candidate.open_variables(choice)]
        if not variables:
            return
        variable = random.choice(variables)
        domain = int(candidate.domains[variable])
        changed = np.array([variable]), np.array([1 << random.choice([n for n in range(64) if domain >> n & 1])], dtype=np.uint64)
        candidate, other = candidate.narrowed(*changed), other.narrowed(*changed)
    assert other is None


def test_a_signature_changes_where_support_can() -> None:
    relation = np.array([[True, True, True], [True, False, True], [False, True, True]])
    slots = (Applied("x", (Argument("0"),)), Applied("y", (Argument("1"),)))
    choice = EnumChoice("x", (), ("A", "B", "C"))
    form = Form("f", FormKind.RELATION, (), slots, (), relation=relation)
    signature = signature_of(form, 0, choice)
    assert signature is not None
    for before in range(1, 8):
        for now in range(1, 8):
            seen = [relation[[n for n in range(3) if d >> n & 1]].any(axis=0).tolist() for d in (before, now)]
            assert (signature[before] == signature[now]) == (seen[0] == seen[1])
    assert signature[0] not in signature[1:]
