"""Numbers for the objects, set members and variables of an instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import cast

import numpy as np
from numpy.typing import NDArray

from warploom.solve.space.compiled import CompiledSpace
from warploom.solve.space.engine import MEMBER, POSSIBLE, Bytes, Ints
from warploom.solve.space.inputs import Inputs, Lowering, Thing, Things
from warploom.solve.space.nodes import MAX_VALUES, EnumChoice, ObjectSet, wrong


class Numbering:
    """Objects are numbered within their outermost set: integers 0 to n - 1 as they are, others in the order given, reserved ones
    after the rest."""

    def __init__(self, space: CompiledSpace, inputs: Inputs) -> None:
        self.space = space
        given: dict[str, list[Thing]] = {name: list(things) for name, things in inputs.get("sets", {}).items()}
        for name in given:
            if name not in space.sets or space.sets[name].flag:
                raise wrong(f"expected a declared set, got unknown set {name}")
        lowerings: Mapping[tuple[str, Things], Lowering] = inputs.get("lowerings", {})
        reserved = _reserved(space, lowerings)
        self.sets = [s for s in space.sets.values() if not s.flag]
        self.set_ids = {s.name: n for n, s in enumerate(self.sets)}
        self.objects: dict[str, list[Thing]] = {}
        for one in self.sets:
            if one.within is None and one.of is None:
                self.objects[one.name] = []
        for source in (given, reserved):
            for name, things in source.items():
                one = space.sets[name]
                known = self.objects.setdefault(one.sort, [])
                known += [_last(one, t) for t in things]
        for name, known in self.objects.items():
            unique: list[Thing] = list(dict.fromkeys(known))
            if set(unique) == set(range(len(unique))):
                unique = list(range(len(unique)))
            self.objects[name] = unique
        self.index = {name: {thing: n for n, thing in enumerate(things)} for name, things in self.objects.items()}
        sizes = [self.size(s) * (self.size(s.of) if s.of else 1) for s in self.sets]
        self.offsets: Ints = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        """By set: its first member."""
        self.members: Bytes = np.zeros(int(self.offsets[-1]), dtype=np.uint8)
        for source, state in ((reserved, POSSIBLE), (given, MEMBER)):
            for name, things in source.items():
                for thing in things:
                    for member in self.with_outer_sets(space.sets[name], thing):
                        self.members[member] = max(self.members[member], state)
        self._check_disjoint()
        self.tables: dict[str, NDArray[np.int32]] = {}
        """By choice: variables by objects, -1."""
        self.arguments: list[tuple[str, tuple[int, ...]]] = []
        """By variable: its choice and objects."""
        for choice in space.choices.values():
            table = np.full([self.size(s) for s in choice.sets], -1, dtype=np.int32)
            is_variable = np.zeros(table.shape, dtype=np.bool_)
            is_variable[np.ix_(*(self.possible(s) for s in choice.sets))] = True
            if len(choice.sets) == 2 and choice.sets[0].sort == choice.sets[1].sort:
                np.fill_diagonal(is_variable, val=False)
            found = np.argwhere(is_variable)
            table[is_variable] = np.arange(len(self.arguments), len(self.arguments) + len(found))
            self.arguments += [(choice.name, tuple(objects)) for objects in found.tolist()]
            self.tables[choice.name] = table
        self.universes = self._universes(inputs.get("universes", {}))

    def size(self, one: ObjectSet) -> int:
        """Objects of the set's sort."""
        return len(self.objects.get(one.sort, ()))

    def possible(self, one: ObjectSet) -> NDArray[np.bool_]:
        """Objects that are, or may become, members of a plain set."""
        n = self.set_ids[one.name]
        return self.members[self.offsets[n] : self.offsets[n + 1]] > 0

    def matrix(self, one: ObjectSet) -> NDArray[np.bool_]:
        """[owners, objects] that are, or may become, members of a parametric set."""
        assert one.of is not None
        return self.possible(one).reshape(self.size(one.of), self.size(one))

    def eligible(self, one: ObjectSet) -> list[bool]:
        """By object: it is, or may become, a member, for parametric sets with some owner."""
        if one.of is None:
            return self.possible(one).tolist()
        columns = set(np.nonzero(self.matrix(one))[1].tolist())
        return [o in columns for o in range(self.size(one))]

    def number(self, one: ObjectSet, thing: Thing) -> int:
        known = self.index.get(one.sort, {})
        if thing not in known:
            raise wrong(f"expected an object of {one.name}, got {thing!r}")
        return known[thing]

    def member(self, one: ObjectSet, thing: Thing) -> int:
        offset = int(self.offsets[self.set_ids[one.name]])
        if one.of is None:
            return offset + self.number(one, thing)
        owner, last = _pair(one, thing)
        return offset + self.number(one.of, owner) * self.size(one) + self.number(one, last)

    def with_outer_sets(self, one: ObjectSet, thing: Thing) -> list[int]:
        """Members of this set and of those that it is within."""
        members = [self.member(one, thing)]
        outer = one.within
        while outer is not None:
            members.append(self.member(outer, _last(one, thing)))
            outer = outer.within
        return members

    def variable(self, choice: str, things: Things) -> int:
        declared = self.space.choices.get(choice)
        if declared is None:
            raise wrong(f"expected a choice ({', '.join(self.space.choices)}), got {choice!r}")
        if len(things) != len(declared.sets):
            raise wrong(f"expected {len(declared.sets)} object(s) for choice {choice}, got {len(things)}")
        objects = tuple(self.number(s, t) for s, t in zip(declared.sets, things, strict=True))
        variable = int(self.tables[choice][objects])
        if variable < 0:
            names = ", ".join(s.name for s in declared.sets)
            raise wrong(f"expected distinct objects of ({names}) for choice {choice}, got {things!r}")
        return variable

    def _universes(self, given: Mapping[tuple[str, Things], Sequence[int]]) -> list[tuple[int, ...]]:
        """Universes by variable; empty for enum choices."""
        universes: list[tuple[int, ...]] = [()] * len(self.arguments)
        for (choice, things), values in given.items():
            variable = self.variable(choice, things)
            if isinstance(self.space.choices[choice], EnumChoice):
                raise wrong(f"expected an integer choice in the universes, got enum choice {choice}")
            listed = tuple(int(v) for v in values)
            if not listed or len(listed) > MAX_VALUES or list(listed) != sorted(set(listed)):
                raise wrong(f"expected 1 to {MAX_VALUES} ascending integers as universe of {choice}{things}, got {len(listed)}")
            universes[variable] = listed
        for variable, (choice, objects) in enumerate(self.arguments):
            if not universes[variable] and not isinstance(self.space.choices[choice], EnumChoice):
                sets = self.space.choices[choice].sets
                things = tuple(self.objects[s.sort][o] for s, o in zip(sets, objects, strict=True))
                raise wrong(
                    f"expected a universe for {choice}{things!r}, got nothing", "give universes={(choice, objects): values}"
                )
        return universes

    def _check_disjoint(self) -> None:
        for one in self.sets:
            for other in one.disjoint_from:
                if one.of is None and one.sort == other.sort:
                    both = np.flatnonzero(self.possible(one) & self.possible(other))
                    if both.size:
                        thing = self.objects[one.sort][int(both[0])]
                        raise wrong(f"expected {one.name} and {other.name} to be disjoint, got {thing!r} in both")


def _reserved(space: CompiledSpace, lowerings: Mapping[tuple[str, Things], Lowering]) -> dict[str, list[Thing]]:
    reserved: dict[str, list[Thing]] = {}
    for (trigger, things), lowering in lowerings.items():
        if trigger not in space.triggers:
            raise wrong(f"expected a trigger ({', '.join(space.triggers)}), got {trigger!r}")
        allowed = space.triggers[trigger].activates
        for name, thing in lowering.members:
            if name not in space.sets or not any(space.sets[name].is_within(a) for a in allowed):
                names = ", ".join(a.name for a in allowed)
                raise wrong(f"expected trigger {trigger} to extend only {names}, got {name} for {things!r}")
            reserved.setdefault(name, []).append(thing)
    return reserved


def _pair(one: ObjectSet, thing: Thing) -> tuple[Thing, Thing]:
    pair = cast("tuple[Thing, ...]", thing) if isinstance(thing, tuple) else ()
    if len(pair) != 2:
        raise wrong(f"expected a pair (object of {one.of.name if one.of else ''}, object) in {one.name}, got {thing!r}")
    return pair


def _last(one: ObjectSet, thing: Thing) -> Thing:
    return thing if one.of is None else _pair(one, thing)[1]


def concatenated(rows: Iterable[Sequence[int]]) -> tuple[Ints, Ints]:
    """Rows one after the other: where each begins, and all of their elements."""
    listed = list(rows)
    start = np.fromiter(accumulate(map(len, listed), initial=0), np.int64, len(listed) + 1)
    return start, np.fromiter(chain.from_iterable(listed), np.int64, int(start[-1]))
