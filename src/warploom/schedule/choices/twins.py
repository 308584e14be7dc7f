"""Tiles that may hold the same elements of an array: a factor that two products of a kernel share.

Each product has its tiles. Where the outermost loops of both sums are one loop, tiles of the shared factor hold the same in each
of its rounds, and one copy of them serves both (`lower_twins`).
"""

from __future__ import annotations

from itertools import combinations

from warploom.schedule.backbone import Operator
from warploom.schedule.choices.decided import Temporary, Twins
from warploom.schedule.choices.objects import Objects


def twins_of(objects: Objects) -> tuple[Twins, ...]:
    """Each temporary is the second of one pair at most, and the first of none then."""
    found: list[Twins] = []
    seconds: set[int] = set()
    for one, other in combinations(objects.temporaries, 2):
        if one.region in seconds or other.region in seconds or one.consumer == other.consumer:
            continue
        rounds = _rounds(objects, one.consumer), _rounds(objects, other.consumer)
        if _load_alike(objects, one, other) and rounds[0] is not None and rounds[1] is not None:
            found.append(Twins(one, other, (rounds[0], rounds[1])))
            seconds.add(other.region)
    return tuple(found)


def _load_alike(objects: Objects, one: Temporary, other: Temporary) -> bool:
    """Both hold the same elements of an array, loaded over the same axes."""
    instructions = objects.backbone.instructions
    first, second = instructions[one.producer], instructions[other.producer]
    return (
        one.producer != other.producer
        and first.operator is second.operator is Operator.LOAD
        and (first.access, first.axes) == (second.access, second.axes)
    )


def _rounds(objects: Objects, instruction: int) -> int | None:
    """The outermost loop of a sum over what it sums; None of another instruction, or a sum over several axes."""
    total = next((o for o in objects.sums if o.instruction == instruction), None)
    loops = {x.statement: x for x in objects.loops}
    own = [loops[s] for s in total.loops if loops[s].is_reduction] if total is not None else []
    outermost = [x.statement for x in own if x.level == 0]
    return outermost[0] if len(outermost) == 1 else None
