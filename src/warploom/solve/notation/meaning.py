"""The meaning of a description's words for a full assignment: an oracle that shares nothing with `Space` and its engine."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from warploom.solve.notation.tree import (
    Applied,
    Code,
    Compared,
    Condition,
    Constant,
    Counter,
    Description,
    Enum,
    Holds,
    Is,
    Kernel,
    Name,
    Number,
    Over,
    Quantity,
    Quotient,
)

_SIGNS = {
    "==": operator.eq, "!=": operator.ne, "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
_Values = Mapping[tuple[str, tuple[str, ...]], str | int]
_Objects = Mapping[str, str]


def broken(description: Description, kernel: Kernel, values: _Values) -> str:
    """A statement of the description or kernel that the assignment does not meet; empty: it meets all."""
    return _Meaning(description, kernel, values).broken()


class _Meaning:
    def __init__(self, description: Description, kernel: Kernel, values: _Values) -> None:
        self._values = values
        self._sets = {s.name.text: s for s in description.sets}
        self._enums = {c.name.text: c for c in description.choices if isinstance(c, Enum) and c.values}
        self._counters = {c.name.text: c for c in description.counters}
        self._quotients = {q.name.text: q for q in description.quotients}
        self._description = description
        self._kernel = kernel
        self._given = {g.code.of({}): g.values for g in kernel.given}
        order = [o.text for m in kernel.members for o in m.objects]
        self._order = {name: n for n, name in enumerate(dict.fromkeys(order))}

    def broken(self) -> str:
        for decision in self._kernel.decided:
            if not self._holds(decision, {o.text: o.text for o in decision.objects or ()}):
                return f"what kernel {self._kernel.name} decides of {decision.choice}"
        for quotient in self._quotients.values():
            owners = self._members(quotient.owner.set.text, None) if quotient.owner else [""]
            for owner in owners:
                objects = {quotient.owner.name.text: owner} if quotient.owner else {}
                for member in self._others(quotient, owner):
                    said = self._value(quotient.flag.text, (*((owner,) if owner else ()), member))
                    if (said == "TRUE") != self._represents(quotient, objects, member):
                        return f"{quotient.flag}({owner}{', ' * bool(owner)}{member})"
        for requirement in self._description.requirements:
            for objects in self._tuples(requirement.over, {}):
                if not any(self._holds(c, objects) for c in requirement.conditions):
                    return f"{requirement.title} for {', '.join(objects.values())}"
        return ""

    def _represents(self, quotient: Quotient, objects: _Objects, member: str) -> bool:
        """Whether it is the first of its class."""
        if not self._is_in(quotient, objects, member):
            return False
        by = quotient.by
        owner = objects[quotient.owner.name.text] if quotient.owner else ""
        for other in self._others(quotient, owner):
            if self._order[other] < self._order[member] and self._is_in(quotient, objects, other):
                values = self._names(by.choice.text, by.values)
                if (self._value(by.choice.text, (member, other)) in values) == by.expected:
                    return False
        return True

    def _is_in(self, quotient: Quotient, objects: _Objects, member: str) -> bool:
        known = {**objects, quotient.of.name.text: member}
        return all(self._holds(c, known) for c in quotient.when)

    def _others(self, quotient: Quotient, owner: str) -> list[str]:
        """The objects that may be members: a choice is about distinct ones."""
        is_same = quotient.owner is not None and self._sort(quotient.owner.set.text) == self._sort(quotient.of.set.text)
        return [m for m in self._members(quotient.of.set.text, None) if not (is_same and m == owner)]

    def _sort(self, name: str) -> str:
        if name in self._quotients:
            return self._sort(self._quotients[name].of.set.text)
        within = self._sets[name].within
        return name if within is None else self._sort(within.text)

    def _members(self, name: str, owner: str | None) -> list[str]:
        """Objects of a set, those of sets within it included."""
        if name in self._quotients:
            quotient = self._quotients[name]
            objects = {quotient.owner.name.text: owner} if quotient.owner and owner else {}
            return [m for m in self._others(quotient, owner or "") if self._represents(quotient, objects, m)]
        own = {m for m in self._sets if m == name or self._is_within(m, name)}
        found = [
            o.text
            for m in self._kernel.members
            if m.set.text in own and (m.set.text != name or owner is None or (m.owner is not None and m.owner.text == owner))
            for o in m.objects
        ]
        return sorted(dict.fromkeys(found), key=lambda o: self._order[o])

    def _is_within(self, name: str, outer: str) -> bool:
        within = self._sets[name].within
        return within is not None and (within.text == outer or self._is_within(within.text, outer))

    def _tuples(self, over: Sequence[Over], known: _Objects, of: Sequence[Over] = ()) -> Iterator[dict[str, str]]:
        """Distinct objects for the names, `known` ones for those of `of`."""
        if not over:
            yield dict(known)
            return
        first = over[0]
        sort = self._sort(first.set.text)
        taken = {known[o.name.text] for o in of if self._sort(o.set.text) == sort}
        owner = None if first.owner is None else known[first.owner.text]
        for member in self._members(first.set.text, owner):
            if member not in taken:
                yield from self._tuples(over[1:], {**known, first.name.text: member}, (*of, first))

    def _names(self, choice: str, values: Sequence[Name]) -> set[str]:
        aliases: Mapping[str, tuple[Name, ...]] = self._enums[choice].aliases if choice in self._enums else {}
        found: set[str] = set()
        for value in values:
            found |= {v.text for v in aliases[value.text]} if value.text in aliases else {value.text}
        return found

    def _value(self, choice: str, objects: tuple[str, ...]) -> str | int:
        if (choice, objects) in self._values:
            return self._values[choice, objects]
        other = self._values[choice, objects[::-1]]
        mirror = self._enums[choice].mirror or {}
        flipped = {**mirror, **{b: a for a, b in mirror.items()}}
        return flipped.get(str(other), other)

    def _holds(self, condition: Condition, objects: _Objects) -> bool:
        match condition:
            case Constant(value):
                return value
            case Is(choice, named, values, expected):
                found = self._value(choice.text, tuple(objects[o.text] for o in named or ()))
                return (found in self._names(choice.text, values)) == expected
            case Holds(code, expected):
                return (self._given.get(code.of(objects), False) is True) == expected
            case Compared(left, sign, right):
                return bool(_SIGNS[sign](self._quantity(left, objects), self._quantity(right, objects)))

    def _quantity(self, quantity: Quantity, objects: _Objects) -> int | str:
        match quantity:
            case Number(value):
                return value
            case Code():
                found = self._given[quantity.of(objects)]
                assert isinstance(found, tuple)
                return found[0]
            case Applied(name, named):
                things = tuple(objects[o.text] for o in named)
                counter = self._counters.get(name.text)
                return self._value(name.text, things) if counter is None else self._counted(counter, things)

    def _counted(self, counter: Counter, things: tuple[str, ...]) -> int:
        known = {o.name.text: t for o, t in zip(counter.of, things, strict=True)}
        values = [
            int(self._quantity(counter.value, objects))
            for objects in self._tuples(counter.over, known, counter.of)
            if all(self._holds(c, objects) for c in counter.when)
        ]
        return sum(values) if counter.kind == "sum" else prod(values)
