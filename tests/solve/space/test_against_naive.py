"""Random small spaces: what the engine accepts is what the description says, whatever the order of decisions."""

from __future__ import annotations

import pickle
from math import prod
from random import Random

import pytest

from warploom.solve.space import Candidate, CompiledSpace, Instance

from .naive import Point, World, solutions
from .worlds import random_world

SEEDS = range(110)
LARGEST = 1500
"""Full assignments that the oracle looks at, without those behind triggers."""


def assignments(world: World) -> int:
    sizes = [
        len(getattr(world.space.choices[c], "values", ())) or len(world.universes[c, t]) for c, t in Point(world, {}).variables()
    ]
    return prod(sizes)


def small() -> tuple[list[int], list[int]]:
    """Seeds of worlds without and with lowerings."""
    found: tuple[list[int], list[int]] = [], []
    for seed in SEEDS:
        world = random_world(seed)
        if assignments(world) <= (LARGEST // 10 if world.lowerings else LARGEST):
            found[bool(world.lowerings)].append(seed)
    return found[0][:28], found[1][:28]


SMALL, LOWERED = small()


def decided(instance: Instance, candidate: Candidate | None, random: Random) -> list[Candidate]:
    """Every full candidate behind this one, branching on variables in random order."""
    if candidate is None:
        return []
    options = [(choice, things) for choice in instance.space.choices for things in candidate.open(choice)]
    if not options:
        return [candidate]
    choice, things = random.choice(options)
    found = []
    for value in candidate.values(choice, *things):
        found += decided(instance, candidate.restrict(choice, things, (value,)), random)
    return found


def same_as(candidate: Candidate, point: Point) -> None:
    """Members and counters are those of the oracle's point."""
    for name, one in point.space.sets.items():
        if not one.flag:
            for thing in {m for p in (point.members[name],) for m in p}:
                assert candidate.is_member(name, *(thing if one.of else (thing,)))
    for counter in point.space.counters.values():
        for bound in point.bindings(counter.of, {}, {}):
            things = tuple(bound[q.argument.name] for q in counter.of)
            value = point.counter(counter.name, things)
            assert candidate.interval(counter.name, *things) == (value, value), counter.name


@pytest.mark.parametrize("seed", SMALL + LOWERED)
def test_accepts_what_the_description_says(seed: int) -> None:
    world: World = random_world(seed)
    instance = Instance(CompiledSpace(world.space), **world.inputs())
    expected = {tuple(sorted((k, (v,)) for k, v in p.assignment.items())): p for p in solutions(world)}
    found = {}
    for candidate in decided(instance, instance.root(), Random(seed)):
        keys = [
            (choice, instance.things_of(int(v)))
            for choice in instance.space.choices
            for v in active_variables(instance, candidate, choice)
        ]
        key = tuple(sorted((k, candidate.values(k[0], *k[1])) for k in keys))
        assert key not in found
        found[key] = candidate
    assert set(found) == set(expected)
    for key, candidate in found.items():
        same_as(candidate, expected[key])


def active_variables(instance: Instance, candidate: Candidate, choice: str) -> list[int]:
    """One of two directions."""
    table = instance.variables(choice)
    done = []
    for v in table[table >= 0].tolist():
        things = instance.things_of(v)
        sets = instance.space.choices[choice].sets
        mirror = getattr(instance.space.choices[choice], "mirror", ())
        if all(candidate.is_member(s.name, t) for s, t in zip(sets, things, strict=True)) and (
            not mirror or things[0] < things[1]
        ):
            done.append(v)
    return done


@pytest.mark.parametrize("seed", SEEDS)
def test_decisions_commute(seed: int) -> None:
    random = Random(seed)
    world = random_world(seed)
    instance = Instance(CompiledSpace(world.space), **world.inputs())
    root = instance.root()
    if root is None:
        return
    before = root.key()
    for _ in range(5):
        decisions = []
        variables = range(root.domains.size)
        for v in random.sample(variables, min(len(variables), random.randint(2, 6))):
            choice = instance.numbering.arguments[v][0]
            mask = random.randrange(1, 1 << instance.domains[v].item().bit_length())
            decisions.append((choice, instance.things_of(v), mask))
        ends = set()
        for _ in range(4):
            random.shuffle(decisions)
            candidate: Candidate | None = root
            for decision in decisions:
                candidate = candidate.restrict(*decision) if candidate is not None else None
            ends.add(None if candidate is None else candidate.key())
        together = root.restrict_many(decisions)
        ends.add(None if together is None else together.key())
        assert len(ends) == 1
    assert root.key() == before
    assert pickle.loads(pickle.dumps(root)).key() == before
