"""Clauses over enum choices joined into relations: one for each set of variables that some tuple of objects has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from warploom.solve.space.forms import Form, FormKind, Relation, Wake, facts_of, flipped, renamed, upright
from warploom.solve.space.nodes import Applied, Argument, Choice, EnumChoice, FactLiteral, InValues, Quantified, Requirement

MAX_SLOTS = 3


@dataclass(slots=True, eq=False)
class _Group:
    name: str
    over: tuple[Quantified, ...]
    """The objects are named "0", "1", ..."""
    guards: frozenset[FactLiteral]
    slots: tuple[Applied, ...]
    relation: Relation
    parts: tuple[tuple[str, Relation], ...] = ()
    """The constraints that it is joined from."""


def is_relational(requirement: Requirement, choices: Mapping[str, Choice]) -> bool:
    literals = [literal for literal in requirement.literals if not isinstance(literal, FactLiteral)]
    if not literals or not all(isinstance(literal, InValues) for literal in literals):
        return False
    return (
        len({upright(literal.choice, choices[literal.choice.name])[0] for literal in literals if isinstance(literal, InValues)})
        <= MAX_SLOTS
    )


def relation_forms(requirements: Sequence[Requirement], choices: Mapping[str, Choice]) -> list[Form]:
    """Forms that hold together exactly when all of the relational requirements do."""
    groups: list[_Group] = []
    for requirement in requirements:
        clause = _clause(requirement, choices)
        if clause is not None:
            groups.append(clause)
    originals = [replace(group) for group in groups]
    for group in groups:
        for clause in originals:
            for names in _embeddings(clause, group, choices):
                _conjoin(clause, group, names, choices)
    kept: list[_Group] = []
    for n, group in enumerate(groups):
        others = (g for m, g in enumerate(groups) if m != n and (g in kept or m > n))
        if not any(_replaces(other, group, choices) for other in others):
            kept.append(group)
    return [_form(group, choices) for group in kept]


def _clause(requirement: Requirement, choices: Mapping[str, Choice]) -> _Group | None:
    """None when it always holds."""
    names = {q.argument.name: str(n) for n, q in enumerate(requirement.over)}
    over = tuple(
        Quantified(Argument(names[q.argument.name]), q.set, None if q.owner is None else Argument(names[q.owner.name]))
        for q in requirement.over
    )
    masks: dict[Applied, int] = {}
    for literal in requirement.literals:
        if isinstance(literal, InValues):
            choice = choices[literal.choice.name]
            assert isinstance(choice, EnumChoice)
            applied, is_turned = upright(renamed(literal.choice, names), choice)
            mask = flipped(literal.mask, choice.mirror) if is_turned else literal.mask
            masks[applied] = masks.get(applied, 0) | mask
    slots = tuple(sorted(masks, key=str))
    relation = np.zeros([_values(slot, choices) for slot in slots], dtype=np.bool_)
    for axis, slot in enumerate(slots):
        allowed = [bool(masks[slot] >> value & 1) for value in range(relation.shape[axis])]
        relation |= np.array(allowed).reshape([-1 if n == axis else 1 for n in range(relation.ndim)])
    guards = frozenset(
        FactLiteral(f.name, tuple(Argument(names[a.name]) for a in f.arguments), not f.expected)
        for f in facts_of(requirement.literals)
    )
    if relation.all() or any(~guard in guards for guard in guards):
        return None
    return _Group(requirement.name, over, guards, slots, relation)


def _values(slot: Applied, choices: Mapping[str, Choice]) -> int:
    choice = choices[slot.name]
    assert isinstance(choice, EnumChoice)
    return len(choice.values)


def _embeddings(clause: _Group, group: _Group, choices: Mapping[str, Choice]) -> Iterator[dict[str, str]]:
    """Names for the clause's objects under which it is about each tuple of the group, and about its variables only."""
    if len(clause.over) != len(group.over) or not {s.name for s in clause.slots} <= {s.name for s in group.slots}:
        return
    for order in permutations(range(len(group.over))):
        names = {str(n): str(m) for n, m in enumerate(order)}
        if all(_covers(c, group.over[m], names) for c, m in zip(clause.over, order, strict=True)):
            guards = {_renamed_fact(g, names) for g in clause.guards}
            slots = {upright(renamed(s, names), choices[s.name])[0] for s in clause.slots}
            if guards <= group.guards and slots <= set(group.slots):
                yield names


def _covers(wide: Quantified, narrow: Quantified, names: dict[str, str]) -> bool:
    if wide.owner is not None:
        return wide.set == narrow.set and narrow.owner is not None and narrow.owner.name == names[wide.owner.name]
    return narrow.set.is_within(wide.set)


def _renamed_fact(fact: FactLiteral, names: dict[str, str]) -> FactLiteral:
    return FactLiteral(fact.name, tuple(Argument(names[a.name]) for a in fact.arguments), fact.expected)


def _placed(slot: Applied, group: _Group, names: dict[str, str], choices: Mapping[str, Choice]) -> tuple[int, bool]:
    """The group's slot for a renamed one, and whether it is read the other way."""
    applied, is_turned = upright(renamed(slot, names), choices[slot.name])
    return group.slots.index(applied), is_turned


def _conjoin(clause: _Group, group: _Group, names: dict[str, str], choices: Mapping[str, Choice]) -> None:
    relation = clause.relation
    axes: list[int] = []
    for axis, slot in enumerate(clause.slots):
        position, is_turned = _placed(slot, group, names, choices)
        axes.append(position)
        if is_turned:
            choice = choices[slot.name]
            assert isinstance(choice, EnumChoice)
            relation = np.take(relation, choice.mirror, axis=axis)
    missing = [n for n in range(len(group.slots)) if n not in axes]
    spread = relation.reshape(relation.shape + (1,) * len(missing))
    placed = np.moveaxis(spread, range(spread.ndim), [*axes, *missing])
    group.parts = (*group.parts, (clause.name, np.broadcast_to(placed, group.relation.shape)))
    group.relation = group.relation & placed


def _replaces(other: _Group, group: _Group, choices: Mapping[str, Choice]) -> bool:
    """`other` is about every tuple of `group`, and about its variables, whose clauses it then contains."""
    for names in _embeddings(group, other, choices):
        back = {m: n for n, m in names.items()}
        is_as_wide = all(_covers(o, group.over[int(back[str(n)])], back) for n, o in enumerate(other.over))
        guards = frozenset(_renamed_fact(g, names) for g in group.guards)
        mine = {_placed(s, other, names, choices)[0] for s in group.slots}
        added = [s for n, s in enumerate(other.slots) if n not in mine]
        exist = all(not a.functions for slot in added for a in slot.arguments)
        if is_as_wide and guards == other.guards and exist:
            return True
    return False


def _form(group: _Group, choices: Mapping[str, Choice]) -> Form:
    slots = group.slots
    mirrored = [bool(getattr(choices[slot.name], "mirror", ())) for slot in slots]
    symmetries = list(_embeddings(group, group, choices))
    wakes: list[Wake] = []
    seen: set[tuple[int, bool]] = set()
    for n in range(len(slots)):
        for turned in (False, True) if mirrored[n] else (False,):
            if (n, turned) in seen:
                continue
            placed = [_placed(slots[n], group, names, choices) for names in symmetries]
            seen |= {(m, turned != is_turned) for m, is_turned in placed}
            is_indirect = any(a.functions for a in slots[n].arguments)
            idle = 0 if is_indirect else _idle_mask(group.relation, n)
            twin = next((k for k, w in enumerate(wakes) if w.slot == n), None)
            if twin is None:
                wakes.append(Wake(n, False, idle))
            else:
                wakes[twin] = Wake(n, True, idle)
    return Form(
        group.name,
        FormKind.RELATION,
        group.over,
        slots,
        tuple(wakes),
        tuple(sorted(group.guards, key=str)),
        relation=group.relation,
        parts=group.parts,
        is_triangle=_is_triangle(group, len(symmetries)),
    )


def _idle_mask(relation: Relation, axis: int) -> int:
    """Values of a slot that allow everything of the others."""
    if relation.ndim == 1:
        return 0
    free = np.moveaxis(relation, axis, 0).reshape(relation.shape[axis], -1).all(axis=1)
    return sum(1 << int(value) for value in np.flatnonzero(free))


def _is_triangle(group: _Group, symmetries: int) -> bool:
    names = [tuple(str(a) for a in slot.arguments) for slot in group.slots]
    return (
        symmetries == 6
        and not group.guards
        and len({slot.name for slot in group.slots}) == 1
        and names == [("0", "1"), ("0", "2"), ("1", "2")]
    )
