"""Members of sets as plain Python lists, and checks that hold for every set."""

from __future__ import annotations

import random
from math import prod

import numpy as np

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.condition_lists import ConditionLists
from warploom.ir.swizzle import Supporting

Gather = tuple[int, ...]


def everything(choices: GatherSet) -> np.ndarray:
    return np.ones((choices.members.points, choices.members.values), np.bool_)


def gathers(choices: GatherSet) -> dict[Gather, str]:
    """Every member's sources with its text."""
    functions = choices.members.matching(everything(choices))
    assert functions is not None
    found = {
        tuple(choices.gather(functions.tables[n].astype(np.int64)).tolist()): choices.text(functions.expr(n))
        for n in range(len(functions))
    }
    assert len(found) == len(functions) <= choices.members.size_bound, "two members with one effect"
    assert (np.diff(functions.costs) >= 0).all()
    return found


def check(choices: GatherSet, seed: int = 0) -> dict[Gather, str]:
    """Checks what every set promises: shapes, sources in range, texts that tell members apart, exact filters, sound supports."""
    elements, members = prod(choices.out), choices.members
    assert choices.point.shape == (elements,) and choices.source.shape == (elements, members.values)
    assert choices.point.min() >= 0 and choices.point.max() < members.points
    assert choices.source.min() >= -2 and choices.source.max() < choices.argument_elements
    found = gathers(choices)
    assert len(set(found.values())) == len(found), "two members with one text"
    everyone = members.matching(everything(choices)).tables
    rng = random.Random(seed)
    for share in (0.95, 0.8, 0.5):
        allowed = np.array([[rng.random() < share for _ in range(members.values)] for _ in range(members.points)])
        # Some member at least should pass.
        lucky = everyone[rng.randrange(len(everyone))]
        allowed[np.arange(members.points), lucky] = True
        wanted = {tuple(row) for row in everyone.tolist() if all(allowed[p, v] for p, v in enumerate(row))}
        kept = members.matching(allowed)
        assert {tuple(row) for row in kept.tables.tolist()} == wanted and len(kept) == len(wanted)
        if isinstance(members, Supporting):
            exact = kept.supported(members.values)
            offered = members.supported(allowed)
            assert (offered | ~exact).all() and (allowed | ~offered).all()
            assert isinstance(members, ConditionLists) or (offered == exact).all()
    return found
