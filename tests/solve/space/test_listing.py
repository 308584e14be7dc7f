"""Propagation by lists reaches the same fixed points as enumeration."""

from __future__ import annotations

from importlib import import_module
from itertools import permutations, product
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.solve.space import Candidate, CompiledSpace, EnumChoice, Instance, Space, listing
from warploom.solve.space.engine import narrow_and_propagate, work_with_records
from warploom.solve.space.forms import Form, FormKind, FormLiteral, LiteralKind
from warploom.solve.space.nodes import Applied, Argument
from warploom.solve.space.signatures import signature_of

from .worlds import random_world

instance_module = import_module("warploom.solve.space.instance")


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


@pytest.mark.parametrize("listed", [True, False])
def test_two_of_three_choices_leave_one_value_to_the_third(listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever are decided first, also where objects of two sorts have one number."""
    if not listed:
        monkeypatch.setattr(listing, "MAX_TOTAL", 0)
    space = Space("three")
    rows, columns = space.set("Rows"), space.set("Columns")
    p, q, r = (space.enum(name, (of,), ("X", "Y")) for name, of in (("p", rows), ("q", columns), ("r", rows)))
    a, b, c = space.objects("a b c")
    space.require("either", {a: rows, b: columns}, [p(a).is_("X"), q(b).is_("X"), r(a).is_("X")])
    space.require("three", {a: rows, b: columns, c: rows}, [p(a).is_("Y"), q(b).is_("Y"), r(c).is_("Y")])
    instance = Instance(CompiledSpace(space), sets={"Rows": ["a0", "a1"], "Columns": ["b0", "b1"]})
    for one, two, other in product(("a0", "a1"), ("b0", "b1"), ("a0", "a1")):
        refused, forced = ("Y", "X") if one == other else ("X", "Y")
        for first, second, third in permutations((("p", one), ("q", two), ("r", other))):
            candidate = instance.root()
            for name, thing in (first, second):
                assert candidate is not None
                candidate = candidate.restrict(name, (thing,), (refused,))
            assert candidate is not None and candidate.values(third[0], third[1]) == (forced,)


def test_a_literal_that_is_no_mask_has_no_signature() -> None:
    """Also beside one that is."""
    masks, others = LiteralKind.IN_MASK, next(k for k in LiteralKind if k is not LiteralKind.IN_MASK)
    slots = (Applied("x", (Argument("0"),)), Applied("y", (Argument("1"),)))
    choice = EnumChoice("x", (), ("A", "B"))
    literals = {kind: FormLiteral(kind, slot=0, mask=1) for kind in (masks, others)}
    for kinds, is_tabulated in (((masks,), True), ((masks, others), False)):
        form = Form("f", FormKind.CLAUSE, (), slots, (), literals=tuple(literals[k] for k in kinds))
        assert (signature_of(form, 0, choice) is not None) == is_tabulated


def test_facts_are_asked_of_objects_that_can_be_members() -> None:
    asked: list[tuple[str, str]] = []

    def fact(x: str, y: str) -> bool:
        asked.append((x, y))
        return True

    space = Space("facts")
    rows = space.set("Rows")
    some = space.set("Some", within=rows)
    kind = space.enum("kind", (rows,), ("A", "B"))
    a, b = space.objects("a b")
    space.require("held", {a: some, b: rows}, [~space.fact("fact", 2)(a, b), kind(a).is_("A"), kind(b).is_("A")])
    Instance(CompiledSpace(space), sets={"Rows": ["r0", "r1"], "Some": ["r1"]}, facts={"fact": fact})
    assert asked and {x for x, _ in asked} == {"r1"} and {y for _, y in asked} == {"r0", "r1"}


def test_the_work_lists_have_room_for_the_largest_set(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[int] = []
    whole = instance_module.work_lists
    monkeypatch.setattr(instance_module, "work_lists", lambda *sizes: rooms.append(sizes[-1]) or whole(*sizes))
    space = Space("sizes")
    space.enum("kind", (space.set("Few"),), ("A", "B"))
    space.enum("other", (space.set("Many"),), ("A", "B"))
    Instance(CompiledSpace(space), sets={"Few": [0], "Many": [0, 1, 2, 3, 4]})
    assert rooms == [3 * 5 + 4]


@pytest.mark.parametrize(("count", "expected", "listed"), [(1, [7], 1), (0, [], 1), (-1, [], 0), (9, [], 0)])
def test_relations_are_listed_where_their_tuples_fit(
    count: int, expected: list[int], listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count below 0 says that there are too many."""

    def activated(*given: Any) -> int:
        records = given[-1]
        if len(records):
            records.reshape(-1, listing.ACTIVATED)[:] = -1
            records.reshape(-1, listing.ACTIVATED)[:, 1] = 7
        return count * listing.ACTIVATED

    monkeypatch.setattr(listing, "list_activated", activated)
    tables: Any = SimpleNamespace(
        wake_form=np.array([5]), wake_is_triangle=np.array([1]), kind=np.array([FormKind.RELATION]), set_size=np.array([3]),
        over_set=np.array([[0]]), quantified=np.array([1]),
    )  # fmt: skip
    packed = np.zeros(99, np.int64)
    packed[listing.LISTED] = 50
    nothing: Any = None
    of, _ = listing._waiting(tables, packed, nothing, nothing, nothing, nothing, 2 * listing.ACTIVATED)
    assert of.tolist() == expected and packed[50] == listed
