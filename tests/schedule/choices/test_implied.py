"""Constraints that follow from others only refute earlier: what is decided without them is an implementation with them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.schedule.choices import hand

from warploom.schedule.choices import KernelSpace, kernel_space
from warploom.schedule.choices.description import limits, memory, values, whole
from warploom.schedule.choices.description.vocabulary import Vocabulary
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

IMPLIED = (
    (limits, "_bytes_if_staged"),
    (limits, "_threads_of_instructions"),
    (limits, "_sizes_of_threads"),
    (limits, "_registers_of_operands"),
    (memory, "_faster_pairs_are_dimensions"),
    (values, "_values_stay_on_their_level"),
)
SMALL = hand.matmul(8, 8, 8, (((1, 2, 4), (2,)), ((1, 2, 4), (2,)), ((1, 2, 4),)))
TIGHT = {"max_threads": 16, "shared_bytes": 128, "registers": 12, "reserved_registers": 2}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Descriptions without the implied constraints."""

    def nothing(words: Vocabulary, *more: object) -> None:
        del words, more

    whole.description.cache_clear()
    for part, name in IMPLIED:
        monkeypatch.setattr(part, name, nothing)
    yield
    whole.description.cache_clear()


def leaf(space: KernelSpace, seed: int) -> Candidate | None:
    draw, candidate = random.Random(seed), space.root()
    while (decision := space.decisions(candidate)) is not None:
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        if not children:
            return None
        candidate = draw.choice(children)
    return candidate


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", ["sm_80", "cpu"])
def test_no_implementation_is_lost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = replace(target(name), **TIGHT)
    loose = kernel_space(SMALL, machine)
    leaves = [found for seed in range(8) if (found := leaf(loose, seed)) is not None]
    monkeypatch.undo()
    whole.description.cache_clear()
    tight = kernel_space(SMALL, machine)
    assert len(tight.instance.space.counters) > len(loose.instance.space.counters)
    assert len(leaves) > 2
    for found in leaves:
        decided = [
            (choice, arguments, set(found.values(choice, *arguments)))
            for choice in ("size", "dim_kind", "thread_mapping", "order", "layout", "stages", "partials")
            if choice in tight.instance.space.choices
            for arguments in variables(loose, found, choice)
        ]
        candidate: Candidate | None = tight.root()
        for choice, arguments, kept in decided:
            assert candidate is not None
            candidate = candidate.restrict(
                choice, arguments, [v for v in candidate.instance.universe(choice, *arguments) if v in kept]
            )
            assert candidate is not None, tight.names.text(choice, arguments)


def variables(space: KernelSpace, candidate: Candidate, choice: str) -> list[tuple[int, ...]]:
    """Arguments of what takes part and is in one direction."""
    table = space.instance.variables(choice)
    numbers = sorted(int(n) for n in table[table >= 0])
    tables = space.instance.tables
    kept = [n for n in numbers if tables.mirror[n] < 0 or n < tables.mirror[n]]
    members = tables.argument_members.reshape(-1, 2)
    return [
        tuple(int(str(t)) for t in space.instance.things_of(n))
        for n in kept
        if all(m < 0 or candidate.members[m] == 2 for m in members[n].tolist())
    ]
