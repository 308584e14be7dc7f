"""An oracle for small spaces: evaluates a description on full assignments, object by object, without any propagation."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, prod

from warploom.solve.space import Lowering, Space
from warploom.solve.space.nodes import (
    Applied,
    Argument,
    Compared,
    EnumChoice,
    FactLiteral,
    InValues,
    Literal,
    Number,
    ObjectSet,
    Quantified,
    Quantity,
)

Things = tuple[Hashable, ...]
Assignment = dict[tuple[str, Things], int | str]


@dataclass
class World:
    """A description with its objects; functions, facts and constants as predicates and maps of Python."""

    space: Space
    sets: dict[str, list]
    universes: dict[tuple[str, Things], tuple[int, ...]]
    functions: dict
    facts: dict
    constants: dict
    lowerings: dict[tuple[str, Things], Lowering]

    def inputs(self) -> dict:
        return {
            "sets": self.sets,
            "universes": self.universes,
            "functions": self.functions,
            "facts": self.facts,
            "constants": self.constants,
            "lowerings": self.lowerings,
        }


class Point:
    """A full assignment under way: who is a member, what each literal is."""

    def __init__(self, world: World, assignment: Assignment) -> None:
        self.world = world
        self.space = world.space
        self.assignment = dict(assignment)
        self.members: dict[str, set] = {name: set() for name in self.space.sets}
        for name, things in world.sets.items():
            for thing in things:
                self.add(name, thing)

    def add(self, name: str, thing: Hashable) -> None:
        one: ObjectSet | None = self.space.sets[name]
        self.members[name].add(thing)
        last = thing[1] if one.of is not None else thing
        while (one := one.within) is not None:
            self.members[one.name].add(last)

    def variables(self) -> list[tuple[str, Things]]:
        """Variables that take part, flags of quotient sets excepted; one of two directions."""
        flags = {s.flag for s in self.space.sets.values() if s.flag}
        keys = []
        for choice in self.space.choices.values():
            if choice.name in flags:
                continue
            for things in product(*(sorted(self.members[s.name]) for s in choice.sets)):
                if len(set(things)) < len(things) and len({s.sort for s in choice.sets}) == 1:
                    continue
                if getattr(choice, "mirror", ()) and things[0] > things[1]:
                    continue
                keys.append((choice.name, things))
        return keys

    def value(self, choice: str, things: Things) -> int | str | None:
        declared = self.space.choices[choice]
        if (choice, things) in self.assignment:
            return self.assignment[choice, things]
        if isinstance(declared, EnumChoice) and declared.mirror and (choice, things[::-1]) in self.assignment:
            name = self.assignment[choice, things[::-1]]
            return declared.values[declared.mirror[declared.values.index(name)]]
        return None

    def thing(self, argument: Argument, bound: dict) -> Hashable:
        thing = bound[argument.name]
        for function in argument.functions:
            thing = self.world.functions[function][thing]
        return thing

    def things(self, arguments: tuple[Argument, ...], bound: dict) -> Things:
        return tuple(self.thing(a, bound) for a in arguments)

    def quantity(self, quantity: Quantity, bound: dict) -> int | None:
        if isinstance(quantity, Number):
            return quantity.value
        things = self.things(quantity.arguments, bound)
        if quantity.name in self.space.constants:
            given = self.world.constants[quantity.name]
            return given(*things) if callable(given) else given
        if quantity.name in self.space.counters:
            return self.counter(quantity.name, things)
        return self.value(quantity.name, things)

    def literal(self, literal: Literal, bound: dict) -> bool | None:
        """None when a variable does not exist."""
        match literal:
            case InValues(Applied(choice, arguments), mask):
                value = self.value(choice, self.things(arguments, bound))
                return None if value is None else bool(mask >> self.space.choices[choice].values.index(value) & 1)
            case FactLiteral(name, arguments, expected):
                return bool(self.world.facts[name](*self.things(arguments, bound))) == expected
            case Compared(left, comparator, right):
                a, b = self.quantity(left, bound), self.quantity(right, bound)
                if a is None or b is None:
                    return None
                return {"==": a == b, "!=": a != b, "<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b}[comparator.value]
        raise AssertionError(literal)

    def bindings(self, over: tuple[Quantified, ...], bound: dict, sorts: dict) -> Iterator[dict]:
        if not over:
            yield bound
            return
        first, *rest = over
        for member in sorted(self.members[first.set.name]):
            thing = member
            if first.owner is not None:
                if member[0] != bound[first.owner.name]:
                    continue
                thing = member[1]
            if any(bound[n] == thing and sorts[n] == first.set.sort for n in bound):
                continue
            name = first.argument.name
            yield from self.bindings(tuple(rest), {**bound, name: thing}, {**sorts, name: first.set.sort})

    def counter(self, name: str, things: Things) -> int:
        counter = self.space.counters[name]
        bound = {q.argument.name: t for q, t in zip(counter.of, things, strict=True)}
        sorts = {q.argument.name: q.set.sort for q in counter.of}
        values = [
            self.quantity(counter.value, b)
            for b in self.bindings(counter.over, bound, sorts)
            if all(self.literal(x, b) for x in counter.when)
        ]
        values = [v for v in values if v is not None]
        start = self.quantity(counter.start, bound)
        return start * prod(values) if counter.is_product else start + sum(values)

    def set_flags(self) -> None:
        for quotient in self.space.quotients.values():
            sorts = {q.argument.name: q.set.sort for q in quotient.per}
            for bound in list(self.bindings((*quotient.per, quotient.member), {}, {})):
                is_lowest = all(self.literal(x, bound) for x in quotient.when)
                for both in self.bindings(
                    (quotient.other,), bound, {**sorts, quotient.member.argument.name: quotient.member.set.sort}
                ):
                    if both[quotient.other.argument.name] < both[quotient.member.argument.name] and all(
                        self.literal(x, both) for x in (*quotient.by, *quotient.when_other)
                    ):
                        is_lowest = False
                things = self.things(quotient.flag.arguments, bound)
                self.assignment[quotient.flag.name, things] = "TRUE" if is_lowest else "FALSE"

    def fire(self) -> bool:
        """Carries out what is due; False when nothing is, or a restriction is violated later."""
        is_new = False
        for trigger in self.space.triggers.values():
            for bound in list(self.bindings(trigger.over, {}, {})):
                things = tuple(bound[q.argument.name] for q in trigger.over)
                lowering = self.world.lowerings.get((trigger.name, things))
                if lowering is None or not all(self.literal(x, bound) for x in trigger.when):
                    continue
                for name, thing in lowering.members:
                    if thing not in self.members[name]:
                        self.add(name, thing)
                        is_new = True
        return is_new

    def restrictions_hold(self) -> bool:
        for (trigger_name, things), lowering in self.world.lowerings.items():
            trigger = self.space.triggers[trigger_name]
            bound = {q.argument.name: t for q, t in zip(trigger.over, things, strict=True)}
            if all(t in self.members[q.set.name] for q, t in zip(trigger.over, things, strict=True)) and all(
                self.literal(x, bound) for x in trigger.when
            ):
                for choice, objects, values in lowering.restrictions:
                    value = self.value(choice, objects)
                    if value is not None and value not in values:
                        return False
        return True

    def is_solution(self) -> bool:
        for requirement in self.space.requirements:
            for bound in self.bindings(requirement.over, {}, {}):
                literals = [self.literal(x, bound) for x in requirement.literals]
                if None not in literals and not any(literals):
                    return False
        for cover in self.space.covers:
            for bound in self.bindings(cover.of, {}, {}):
                sorts = {q.argument.name: q.set.sort for q in cover.of}
                tiles = [self.quantity(cover.tile, b) for b in self.bindings(cover.over, bound, sorts)]
                total = self.quantity(cover.total, bound)
                outer = self.quantity(cover.outer, bound)
                is_exact = self.literal(cover.exact, bound) if isinstance(cover.exact, FactLiteral) else cover.exact
                if outer != ceil(total / prod(tiles)) or (is_exact and total % prod(tiles)):
                    return False
        return self.restrictions_hold()


def solutions(world: World, assignment: Assignment | None = None) -> Iterator[Point]:
    """Every full assignment that satisfies the description."""
    point = Point(world, assignment or {})
    while True:
        missing = [key for key in point.variables() if key not in point.assignment]
        if missing:
            break
        point.set_flags()
        if not point.fire():
            if point.is_solution():
                yield point
            return
    domains = []
    for choice, things in missing:
        declared = world.space.choices[choice]
        domains.append(declared.values if isinstance(declared, EnumChoice) else world.universes[choice, things])
    for values in product(*domains):
        yield from solutions(world, {**point.assignment_without_flags(), **dict(zip(missing, values, strict=True))})


def assignment_without_flags(self: Point) -> Assignment:
    flags = {s.flag for s in self.space.sets.values() if s.flag}
    return {key: value for key, value in self.assignment.items() if key[0] not in flags}


Point.assignment_without_flags = assignment_without_flags
