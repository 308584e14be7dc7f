"""Explains a refutation, or any other change of domains: the step of a propagation and the constraint that took it.

A diagnostic: the propagation is the usual one, with records kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from warploom.solve.space.engine import LOG_NEXT, RECORD, narrow_and_propagate, propagate_all, work_with_records
from warploom.solve.space.forms import Form, FormKind
from warploom.solve.space.inputs import Things
from warploom.solve.space.instance import Candidate, Instance

MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Step:
    """A change of one variable, or the failure of a constraint that no variable is to blame for."""

    rules: tuple[str, ...]
    """Names of the constraints; of several that speak about the same variables, those that took a value. Empty: the decision."""
    choice: str
    """The choice or counter; empty for a failure."""
    things: Things
    """Objects of the choice; none of counters."""
    before: int
    """Mask; of a counter its least value after the step."""
    after: int
    """Mask, 0 at the refutation; of a counter its greatest value."""
    is_counter: bool


def last_step(candidate: Candidate, choice: str, things: Things, mask: int) -> Step | None:
    """The last of the changes that a restriction makes: the refutation if there is one. None: it changes nothing."""
    reader = _Reader(candidate.instance, candidate.domains.tolist())
    records = _records(candidate, choice, things, mask)
    for record in records[:-1]:
        reader.follow(record)
    return reader.step(records[-1]) if records else None


def removal_at_root(instance: Instance, choice: str, things: Things, mask: int) -> Step | None:
    """The step by which the root of a space lost the last of these values; None if it has one, or is too large to tell."""
    work = work_with_records(instance.work, MOST_STEPS)
    first, domains = int(instance.work.size), instance.domains.copy()
    propagate_all(instance.packed, domains, instance.members.copy(), instance.bounds.copy(), work, instance.records)
    records = work[first : int(work[LOG_NEXT])].reshape(-1, RECORD).tolist()
    return _loss(_Reader(instance, instance.domains.tolist()), records, instance.variable(choice, *things), mask)


def removal(candidate: Candidate, decision: tuple[str, Things, int], choice: str, things: Things, mask: int) -> Step | None:
    """The step by which a decision (choice, objects, mask) takes the last of these values; None if it does not."""
    own = candidate.instance
    return _loss(_Reader(own, candidate.domains.tolist()), _records(candidate, *decision), own.variable(choice, *things), mask)


def _loss(reader: _Reader, records: list[list[int]], position: int, mask: int) -> Step | None:
    mirror = int(reader.tables.mirror[position])
    for record in records:
        if record[1] in (position, mirror) and record[1] >= 0 and not mask & reader.after(record, position):
            return reader.step(record)
        reader.follow(record)
    return None


def _records(candidate: Candidate, choice: str, things: Things, mask: int) -> list[list[int]]:
    own = candidate.instance
    work = work_with_records(own.work, MOST_STEPS)
    first = int(own.work.size)
    child = candidate.copy()
    variables = np.array([own.numbering.variable(choice, things)], dtype=np.int64)
    masks = np.array([mask], dtype=np.uint64)
    narrow_and_propagate(own.packed, child.domains, child.members, child.bounds, work, own.records, variables, masks)
    return work[first : int(work[LOG_NEXT])].reshape(-1, RECORD).tolist()


class _Reader:
    def __init__(self, instance: Instance, domains: list[int]) -> None:
        self.instance = instance
        self.domains = domains
        """The domains before the next step."""
        self.tables = instance.tables

    def step(self, record: list[int]) -> Step:
        form, position, old, new, *objects = record
        own = self.instance
        variables = len(self.domains)
        rules = () if form < 0 else self._rules(own.space.forms[form], self._read(form, objects), position, old, new)
        if position < 0:
            return Step(rules, "", (), 0, 0, False)
        if position >= variables:
            named = own.space.forms[int(self.tables.instance_form[position - variables])].name
            return Step(rules, named, (), old, new, True)
        self.follow(record)
        choice, _ = own.numbering.arguments[position]
        return Step(rules, choice, own.things_of(position), old, new, False)

    def follow(self, record: list[int]) -> None:
        """Takes a step without looking at it."""
        position, new = record[1], record[3]
        if 0 <= position < len(self.domains):
            self.domains[position] = new
            mirror = int(self.tables.mirror[position])
            if mirror >= 0:
                self.domains[mirror] = self._flipped(position, new)

    def after(self, record: list[int], position: int) -> int:
        """The values of a variable that the record leaves, whichever direction it is about."""
        return record[3] if record[1] == position else self._flipped(record[1], record[3])

    def _flipped(self, position: int, mask: int) -> int:
        mirror: tuple[int, ...] = getattr(
            self.instance.space.choices[self.instance.numbering.arguments[position][0]], "mirror", ()
        )
        return sum(1 << opposite for value, opposite in enumerate(mirror) if mask >> value & 1)

    def _read(self, form: int, objects: list[int]) -> tuple[int, ...]:
        """Positions of the slots; of counters, covers and quotient sets those of all tuples of the instance."""
        t = self.tables
        found: list[int] = []
        for slot in range(int(t.slots_start[form]), int(t.slots_start[form + 1])):
            strides = t.slot_strides.reshape(-1, 4)[slot].tolist()
            ranges = [self._objects(form, k, objects) if stride else [0] for k, stride in enumerate(strides)]
            for bound in product(*ranges):
                at = int(t.slot_offset[slot]) + sum(s * o for s, o in zip(strides, bound, strict=True))
                found.append(int(t.slot_table[at]))
        return tuple(found)

    def _objects(self, form: int, k: int, objects: list[int]) -> list[int]:
        """Objects that the k-th quantified object may be, given those that are bound."""
        if objects[k] >= 0:
            return [objects[k]]
        quantified = self.instance.space.forms[form].over
        one, owner = quantified[k].set, quantified[k].owner
        numbering = self.instance.numbering
        if one.of is None or owner is None:
            return list(range(numbering.size(one)))
        position = next(n for n, q in enumerate(quantified) if q.argument.name == owner.name)
        rows = numbering.matrix(one) if not one.flag else np.ones((numbering.size(one.of), numbering.size(one)), dtype=np.bool_)
        return np.flatnonzero(rows[objects[position]]).tolist()

    def _rules(self, form: Form, read: tuple[int, ...], position: int, old: int, new: int) -> tuple[str, ...]:
        if form.kind is not FormKind.RELATION or len(form.parts) < 2 or position not in read:
            return (form.name,)
        axis = read.index(position)
        masks = [self.domains[p] for p in read]
        masks[axis] = old & ~new
        allowed = np.ix_(*([bool(m >> v & 1) for v in range(n)] for m, n in zip(masks, form.parts[0][1].shape, strict=True)))
        alone = [name for name, relation in form.parts if not relation[allowed].any()]
        some = [name for name, relation in form.parts if not relation[allowed].all()]
        return tuple(dict.fromkeys(alone[:1] or some))
