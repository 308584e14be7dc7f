"""Kernels of a description: instances of its space, and their decisions as a model for searches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TypeAlias, cast

from warploom.core import Diagnostic, Span, UserError
from warploom.core.diagnostics import placed
from warploom.solve.model import Alternative, Cost
from warploom.solve.notation.declare import Described, expanded
from warploom.solve.notation.tree import Code, Is, Kernel
from warploom.solve.space import Candidate, CompiledSpace, EnumChoice, Instance
from warploom.solve.space.inputs import HostConstant, HostFact, Inputs, Thing, Things

Key: TypeAlias = tuple[str, tuple[str, ...]]
Assignment: TypeAlias = Mapping[Key, str | int]
"""The value of each choice for its objects; of a choice that is the same read both ways, one of the two directions."""
Restriction: TypeAlias = tuple[str, Things, tuple[str | int, ...]]
"""A choice, its objects, and the values that may stay."""


class Decisions:
    """The decisions of one kernel as a `Model`: each answer is one full assignment; all cost nothing."""

    def __init__(self, instance: Instance, choices: Sequence[Key], decided: Sequence[Restriction]) -> None:
        self.instance = instance
        self.choices = choices
        self.decided = decided

    def root(self) -> Candidate | None:
        found = self.instance.root()
        return None if found is None else found.restrict_many(self.decided)

    def open_choices(self, candidate: Candidate) -> Sequence[tuple[int, int]]:
        sizes = [len(candidate.values(choice, *objects)) for choice, objects in self.choices]
        return [(n, size) for n, size in enumerate(sizes) if size > 1]

    def alternatives(self, candidate: Candidate, choice: int) -> Iterator[Alternative[Candidate]]:
        name, objects = self.choices[choice]
        for value in candidate.values(name, *objects):
            yield Alternative((0,), partial(candidate.restrict, name, objects, (value,)), value)

    def bound(self, candidate: Candidate) -> Cost:
        return (0,)

    def answer(self, candidate: Candidate) -> tuple[Cost, Assignment]:
        return (0,), {(name, objects): candidate.values(name, *objects)[0] for name, objects in self.choices}


def decisions_of(described: Described, kernel: Kernel) -> Decisions:
    """Raises UserError at what the kernel lacks, or what the description does not know."""
    try:
        inputs = _Kernel(described, kernel).inputs()
        instance = Instance(CompiledSpace(described.space), **inputs)
        flags = {q.flag.name for q in described.space.quotients.values()}
        # flags last: everything else decides them
        ordered = sorted(described.space.choices, key=lambda c: c in flags)
        choices = [(c, tuple(map(str, instance.things_of(int(v))))) for c in ordered for v in instance.one_way(c)]
        return Decisions(instance, choices, [_decided(described, d, kernel, instance) for d in kernel.decided])
    except UserError as error:
        raise placed(error, kernel.name.span) from None


def _decided(described: Described, decision: Is, kernel: Kernel, instance: Instance) -> Restriction:
    name, objects = decision.choice.text, tuple(o.text for o in decision.objects or ())
    choice = described.space.choices.get(name)
    if not isinstance(choice, EnumChoice):
        raise _error(
            f"expected an enum choice to decide in kernel {kernel.name}, got {name}", decision.choice.span, "Correct it."
        )
    values = expanded(described.description, name, decision.values)
    for value in values:
        if value not in choice.values:
            known = ", ".join(choice.values)
            raise _error(f"expected a value of choice {name} ({known}), got {value}", decision.choice.span, "Correct it.")
    try:
        instance.variable(name, *objects)
    except UserError as error:
        raise placed(error, decision.choice.span) from None
    return name, objects, tuple(v for v in choice.values if (v in values) == decision.expected)


class _Kernel:
    def __init__(self, described: Described, kernel: Kernel) -> None:
        self._described = described
        self._kernel = kernel
        self._given: dict[str, tuple[int, ...] | bool] = {}

    def inputs(self) -> Inputs:
        space, described = self._described.space, self._described
        members: dict[str, list[Thing]] = {}
        for member in self._kernel.members:
            one = space.sets.get(member.set.text)
            if one is None or one.flag:
                known = ", ".join(s.name for s in space.sets.values() if not s.flag)
                raise _error(f"expected a set ({known}), got {member.set}", member.set.span, "Name a set of the description.")
            if (one.of is None) != (member.owner is None):
                wanted = f"{one.name}(owner)" if one.of else one.name
                raise _error(f"expected {wanted}, got {member.set}", member.set.span, f"Write: {wanted} = objects")
            listed = members.setdefault(one.name, [])
            listed += [o.text if member.owner is None else (member.owner.text, o.text) for o in member.objects]
        self._note_given()
        objects = self._objects(members)
        universes: dict[tuple[str, Things], tuple[int, ...]] = {
            (name, things): self._universe(choice.values, dict(zip((o.name.text for o in choice.over), things, strict=True)))
            for name, choice in described.integers.items()
            for things in product(*(objects[o.set.text] for o in choice.over))
            if len(set(things)) == len(things)
        }
        return Inputs(
            sets=members,
            universes=universes,
            facts={name: self._fact(code) for name, code in described.facts.items()},
            constants={name: self._constant(code) for name, code in described.constants.items()},
        )

    def _objects(self, members: Mapping[str, Sequence[Thing]]) -> dict[str, list[str]]:
        """Objects of plain sets, those of sets within them included."""
        found: dict[str, list[str]] = {name: [] for name in self._described.space.sets}
        for name, things in members.items():
            outer = self._described.space.sets.get(name)
            while outer is not None:
                found[outer.name] += [str(cast("Things", t)[-1]) if isinstance(t, tuple) else str(t) for t in things]
                outer = outer.within
        return {name: list(dict.fromkeys(things)) for name, things in found.items()}

    def _note_given(self) -> None:
        codes = [*self._described.facts.values(), *self._described.constants.values()]
        codes += [c.values for c in self._described.integers.values()]
        for given in self._kernel.given:
            if open_objects := given.code.objects:
                raise _error(f"expected code about objects of the kernel, got {open_objects[0]}", given.code.span, "Name one.")
            text = given.code.of({})
            if not any(_is_of(code, text) for code in codes):
                known = ", ".join(dict.fromkeys(f'"{c.text}"' for c in codes)) or "none"
                raise _error(f"expected code of the description ({known}), got {text!r}", given.code.span, "Correct it.")
            if text in self._given:
                raise _error(f"expected one value of {text!r}, got a second one", given.code.span, "Remove one.")
            self._given[text] = given.values

    def _is_given(self, code: Code) -> bool:
        return any(_is_of(code, text) for text in self._given)

    def _missing(self, code: Code, text: str) -> UserError:
        return _error(
            f"expected kernel {self._kernel.name} to say what {text!r} is, got nothing",
            self._kernel.name.span,
            f"Write: {text} = ...",
        )

    def _value(self, code: Code, text: str) -> tuple[int, ...] | bool:
        if text not in self._given:
            raise self._missing(code, text)
        return self._given[text]

    def _universe(self, code: Code, objects: Mapping[str, str]) -> tuple[int, ...]:
        text = code.of(objects)
        found = self._value(code, text)
        if isinstance(found, bool):
            raise _error(f"expected numbers for {text!r}, got a truth value", self._kernel.name.span, f"Write: {text} = 2, 4")
        return tuple(sorted(set(found)))

    def _fact(self, code: Code) -> HostFact:
        """Facts that the text leaves out are false, but it must state some."""

        def holds(*things: Thing) -> bool:
            text = code.of(dict(zip(code.objects, map(str, things), strict=True)))
            found = self._given.get(text, False)
            if not isinstance(found, bool):
                raise _error(
                    f"expected true or false for {text!r}, got a number", self._kernel.name.span, f"Write: {text} = true"
                )
            return found

        if not self._is_given(code):
            raise self._missing(code, code.text)
        return holds if code.objects else holds()

    def _constant(self, code: Code) -> HostConstant:
        def number(*things: Thing) -> int:
            text = code.of(dict(zip(code.objects, map(str, things), strict=True)))
            found = self._value(code, text)
            if isinstance(found, bool) or len(found) != 1:
                raise _error(
                    f"expected one number for {text!r}, got something else", self._kernel.name.span, f"Write: {text} = 4"
                )
            return found[0]

        return number if code.objects else number()


def _is_of(code: Code, text: str) -> bool:
    """Whether the text is the code about some objects."""
    pattern = re.sub(r"\\{(\d+)\\}", r"\\w+", re.escape(code.pattern))
    return re.fullmatch(pattern, text) is not None


def _error(message: str, span: Span, fix: str) -> UserError:
    return UserError(Diagnostic("SPACE", message, span, fix))
