"""Facts about the sums whose totals may be kept in an array while the sum goes on."""

from __future__ import annotations

from warploom.schedule.backbone import Backbone, Result, named_by, serial_axes
from warploom.schedule.choices.objects import Objects, Pair


def keeping_sums(backbone: Backbone) -> frozenset[int]:
    """Sums whose start nothing else reads, and whose totals are read one by one, by no other sum as its start."""
    serial = serial_axes(backbone.instructions)
    found: set[int] = set()
    for number, instruction in enumerate(backbone.instructions):
        carry = instruction.carry
        if carry is None or not instruction.kept_axes or serial.intersection(carry.reduced):
            continue
        starts = [o for i in backbone.instructions for o in i.operands if named_by(o) == carry.init]
        users = [o for i in backbone.instructions for o in i.operands if named_by(o) == number]
        is_plain = backbone.instructions[carry.init].carry is None and starts == [carry]
        if is_plain and all(isinstance(o, Result) and set(o.mapped) == set(instruction.kept_axes) for o in users):
            found.add(number)
    return frozenset(found)


def facts_of_kept_totals(objects: Objects) -> dict[str, frozenset[int] | frozenset[tuple[int, int]]]:
    """The facts that `description.kept_totals` asks for, by name."""
    sums = keeping_sums(objects.backbone)
    owner = {x.statement: x.owner for x in objects.loops}
    reduced = {s: [x for x in objects.loops if x.owner == s and x.is_reduction] for s in sums}
    first = {s: next(x.axis for x in reduced[s]) for s in sums}
    of = {n: s for n, p in enumerate(objects.pairs) if (s := sum_of(objects, sums, owner, p)) is not None}
    return {
        "can_keep": frozenset(of),
        "adds_up": frozenset((x.statement, n) for n, s in of.items() for x in reduced[s]),
        "goes_on_around": frozenset(
            (x.statement, n) for n, s in of.items() for x in reduced[s] if x.axis == first[s] and x.level == 0
        ),
    }


def totals_of(objects: Objects) -> list[tuple[int, int]]:
    """(sum, pair) for each pair between a sum's start and the sum."""
    sums = keeping_sums(objects.backbone)
    owner = {x.statement: x.owner for x in objects.loops}
    pairs = list(enumerate(objects.pairs))
    return [(owner[p.target], n) for n, p in pairs if owner[p.target] == sum_of(objects, sums, owner, p)]


def results_of(objects: Objects) -> dict[int, int]:
    """By pair, the end that is the sum's own loop; of other pairs the source."""
    sums = keeping_sums(objects.backbone)
    owner = {x.statement: x.owner for x in objects.loops}
    found: dict[int, int] = {}
    for number, pair in enumerate(objects.pairs):
        is_start = owner[pair.target] == sum_of(objects, sums, owner, pair)
        found[number] = pair.target if is_start else pair.source
    return found


def sum_of(objects: Objects, sums: frozenset[int], owner: dict[int, int], pair: Pair) -> int | None:
    """The sum whose totals, or their start, travel along the pair."""
    if pair.is_reserved:
        return None
    if owner[pair.source] in sums:
        return owner[pair.source]
    carry = objects.backbone.instructions[owner[pair.target]].carry if owner[pair.target] in sums else None
    return owner[pair.target] if carry is not None and carry.init == owner[pair.source] else None
