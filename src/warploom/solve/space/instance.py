"""A compiled space for given objects, and its candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from warploom.solve.space.compiled import CompiledSpace
from warploom.solve.space.engine import (
    MEMBER,
    PENDING,
    SATURATED,
    Bytes,
    Ints,
    Masks,
    Records,
    count_levels,
    narrow_and_propagate,
    propagate_all,
    work_lists,
)
from warploom.solve.space.inputs import Inputs, Thing, Things
from warploom.solve.space.listing import listed_tuples
from warploom.solve.space.nodes import Choice, EnumChoice, wrong
from warploom.solve.space.numbering import Numbering
from warploom.solve.space.tables import TableBuilder, mask_of_values


class Instance:
    """The variables and tables of a space for given objects.

    Tables and work lists are shared by all candidates; propagation is one step to other threads of the process.
    """

    def __init__(self, space: CompiledSpace, **inputs: Unpack[Inputs]) -> None:
        self.space = space
        self.numbering = Numbering(space, inputs)
        builder = TableBuilder(self.numbering, inputs)
        tables = builder.build()
        self.packed = tables.packed()
        self.tables = tables.within(self.packed)
        del tables
        self.counter_first = {name: builder.firsts[n] for name, n in builder.form_numbers.items()}
        del builder
        lowerings = len(inputs.get("lowerings", {}))
        self.members: Bytes = np.concatenate([self.numbering.members, np.full(lowerings, PENDING, dtype=np.uint8)])
        """Before any decision: by member of each set, then by lowering."""
        sizes = [len(u) for u in self.numbering.universes]
        for n, (choice, _) in enumerate(self.numbering.arguments):
            declared = space.choices[choice]
            if isinstance(declared, EnumChoice):
                sizes[n] = len(declared.values)
        self.domains: Masks = np.array([(1 << size) - 1 for size in sizes], dtype=np.uint64)
        """All values."""
        count = int(self.tables.instance_form.size)
        self.bounds: Ints = np.stack([np.full(count, -SATURATED), np.full(count, SATURATED)]).astype(np.int64)
        longest = max(self.tables.set_size.tolist(), default=0)
        positions = self.domains.size + count
        self.work = work_lists(positions, count, self.members.size, 3 * longest + 4)
        self._one_way: dict[str, Ints] = {}
        self._things: dict[int, Things] = {}
        state = (self.domains, self.members, self.bounds, self.work)
        self.records: Records = listed_tuples(self.tables, self.packed, *state)

    def root(self) -> Candidate | None:
        """The candidate before any decision, propagated, once; None when the constraints refute it."""
        return self._root

    @cached_property
    def _root(self) -> Candidate | None:
        candidate = Candidate(self, self.domains.copy(), self.members.copy(), self.bounds.copy())
        state = candidate.domains, candidate.members, candidate.bounds
        return candidate if propagate_all(self.packed, *state, self.work, self.records) else None

    def widths(self, candidate: Candidate, turns: Ints, groups: Masks, levels: int) -> tuple[int, ...]:
        """How many candidates each of the next levels has. `turns`: positions in `domains` in the order in which variables are
        decided; `groups`: for each the values that are one alternative while all of them are possible, 0 for none."""
        rows = levels + 1
        domains = np.repeat(candidate.domains[np.newaxis], rows, axis=0)
        members = np.repeat(candidate.members[np.newaxis], rows, axis=0)
        bounds = np.repeat(candidate.bounds[np.newaxis], rows, axis=0)
        left, places, found = np.zeros(rows, dtype=np.uint64), np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        count_levels(self.packed, domains, members, bounds, self.work, self.records, turns, groups, left, places, found)
        return tuple(found[1:].tolist())

    def variables(self, choice: str) -> NDArray[np.int32]:
        """Positions in `Candidate.domains` by objects ([objects] or [objects, objects], numbered as in `number`), -1: none."""
        self._choice(choice)
        return self.numbering.tables[choice]

    def one_way(self, choice: str) -> Ints:
        """Positions of all variables of a choice, ascending; one of two directions."""
        found = self._one_way.get(choice)
        if found is None:
            table = self.variables(choice)
            positions = table[table >= 0].astype(np.int64)
            mirror = self.tables.mirror[positions]
            found = self._one_way[choice] = positions[(mirror < 0) | (positions < mirror)]
        return found

    def member_positions(self, set_name: str) -> NDArray[np.int32]:
        """Positions in `Candidate.members` by object, or [owners, objects] for a parametric set; their states are `NEVER`,
        `POSSIBLE`, `MEMBER`. Quotient sets have none: see their flag."""
        if set_name not in self.numbering.set_ids:
            raise wrong(f"expected a set that is no quotient ({', '.join(self.numbering.set_ids)}), got {set_name!r}")
        one = self.space.sets[set_name]
        offset = int(self.numbering.offsets[self.numbering.set_ids[set_name]])
        shape = (self.numbering.size(one),) if one.of is None else (self.numbering.size(one.of), self.numbering.size(one))
        return np.arange(offset, offset + int(np.prod(shape)), dtype=np.int32).reshape(shape)

    def counter_positions(self, counter: str) -> NDArray[np.int32]:
        """Columns of `Candidate.bounds` by objects of the counter."""
        sets = [q.set for q in self.space.counters[counter].of]
        shape = [self.numbering.size(s) for s in sets]
        first = self.counter_first[counter]
        return np.arange(first, first + int(np.prod(shape, dtype=np.int64)), dtype=np.int32).reshape(shape)

    def number(self, set_name: str, thing: Thing) -> int:
        """Number of an object within its outermost set."""
        if set_name not in self.space.sets:
            raise wrong(f"expected a set ({', '.join(self.space.sets)}), got {set_name!r}")
        return self.numbering.number(self.space.sets[set_name], thing)

    def variable(self, choice: str, *things: Thing) -> int:
        """Position in `Candidate.domains`."""
        return self.numbering.variable(choice, things)

    def mask(self, choice: str, things: Things, values: Iterable[str | int]) -> int:
        return mask_of_values(self.numbering, self.numbering.variable(choice, things), tuple(values))

    def universe(self, choice: str, *things: Thing) -> tuple[str, ...] | tuple[int, ...]:
        """The value of each bit."""
        declared = self._choice(choice)
        return declared.values if isinstance(declared, EnumChoice) else self.numbering.universes[self.variable(choice, *things)]

    def candidate(self, domains: Masks, members: Bytes, bounds: Ints) -> Candidate:
        """A candidate of the arrays of another of this instance, for example from another process."""
        return Candidate(self, domains, members, bounds)

    def things_of(self, variable: int) -> Things:
        """The objects of a variable."""
        found = self._things.get(variable)
        if found is None:
            choice, objects = self.numbering.arguments[variable]
            sets = self.space.choices[choice].sets
            found = tuple(self.numbering.objects[s.sort][o] for s, o in zip(sets, objects, strict=True))
            self._things[variable] = found
        return found

    def _choice(self, choice: str) -> Choice:
        if choice not in self.space.choices:
            raise wrong(f"expected a choice ({', '.join(self.space.choices)}), got {choice!r}")
        return self.space.choices[choice]


class Candidate:
    """A partially specified solution: one domain for each variable, propagated. Never changed once made."""

    __slots__ = ("bounds", "domains", "instance", "members")

    def __init__(self, instance: Instance, domains: Masks, members: Bytes, bounds: Ints) -> None:
        self.instance = instance
        self.domains = domains
        """By variable: bit n is set while value n is possible."""
        self.members = members
        """By member of each set: `NEVER`, `POSSIBLE`, `MEMBER`; then by lowering."""
        self.bounds = bounds
        """[2, counters]: least and greatest value."""

    def __getstate__(self) -> tuple[Instance, Masks, Bytes, Ints]:
        return self.instance, self.domains, self.members, self.bounds

    def __setstate__(self, state: tuple[Instance, Masks, Bytes, Ints]) -> None:
        self.instance, self.domains, self.members, self.bounds = state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> tuple[bytes, bytes, bytes]:
        """Equal for equal candidates of one instance."""
        return self.domains.tobytes(), self.members.tobytes(), self.bounds.tobytes()

    def copy(self) -> Candidate:
        return Candidate(self.instance, self.domains.copy(), self.members.copy(), self.bounds.copy())

    def domain(self, choice: str, *things: Thing) -> int:
        """Bit n: value n of the universe is possible."""
        return int(self.domains[self.instance.variable(choice, *things)])

    def values(self, choice: str, *things: Thing) -> tuple[str, ...] | tuple[int, ...]:
        """Values that are still possible."""
        mask = self.domain(choice, *things)
        universe = self.instance.universe(choice, *things)
        return tuple(v for n, v in enumerate(universe) if mask >> n & 1)  # pyright: ignore[reportReturnType]

    def restrict(self, choice: str, things: Things, values: int | Sequence[str | int]) -> Candidate | None:
        """The candidate with fewer values (a mask, or what may stay), propagated; None when refuted."""
        return self.restrict_many([(choice, things, values)])

    def restrict_many(self, decisions: Iterable[tuple[str, Things, int | Sequence[str | int]]]) -> Candidate | None:
        variables: list[int] = []
        masks: list[int] = []
        for choice, things, values in decisions:
            variable = self.instance.numbering.variable(choice, things)
            variables.append(variable)
            if not isinstance(values, int):
                values = mask_of_values(self.instance.numbering, variable, (values,) if isinstance(values, str) else values)
            masks.append(values & 0xFFFF_FFFF_FFFF_FFFF)
        return self.narrowed(np.array(variables, dtype=np.int64), np.array(masks, dtype=np.uint64))

    def narrowed(self, variables: Ints, masks: Masks) -> Candidate | None:
        """Like `restrict_many`, by position in `domains`."""
        child = self.copy()
        own = self.instance
        is_possible = narrow_and_propagate(
            own.packed, child.domains, child.members, child.bounds, own.work, own.records, variables, masks
        )
        return child if is_possible else None

    def is_member(self, set_name: str, *things: Thing) -> bool:
        """Certainly an object of the set; of a parametric set, (owner, object)."""
        one = self.instance.space.sets.get(set_name)
        if one is None:
            raise wrong(f"expected a set ({', '.join(self.instance.space.sets)}), got {set_name!r}")
        if one.flag:
            return self.domain(one.flag, *things) == 0b10
        thing = things[0] if one.of is None else things
        return bool(self.members[self.instance.numbering.member(one, thing)] == MEMBER)

    def interval(self, counter: str, *things: Thing) -> tuple[int, int]:
        """Least and greatest value that the counter can have."""
        declared = self.instance.space.counters.get(counter)
        if declared is None:
            raise wrong(f"expected a counter ({', '.join(self.instance.space.counters)}), got {counter!r}")
        if len(things) != len(declared.of):
            raise wrong(f"expected {len(declared.of)} object(s) for counter {counter}, got {len(things)}")
        column = self.instance.counter_first[counter]
        stride = 1
        for q, thing in reversed(list(zip(declared.of, things, strict=True))):
            column += stride * self.instance.numbering.number(q.set, thing)
            stride *= self.instance.numbering.size(q.set)
        return int(self.bounds[0, column]), int(self.bounds[1, column])

    def open(self, choice: str) -> list[Things]:
        """Objects of the variables with more than one value, ascending; one of two directions; only what takes part."""
        return [self.instance.things_of(v) for v in self.open_variables(choice).tolist()]

    def open_variables(self, choice: str) -> Ints:
        """Positions in `domains`, as `open`."""
        positions = self.instance.one_way(choice)
        domains = self.domains[positions]
        found = positions[domains & (domains - np.uint64(1)) != 0]
        if found.size:
            needed = self.instance.tables.argument_members[found]
            found = found[((needed < 0) | (self.members[needed] == MEMBER)).all(axis=1)]
        return found
