"""Declarations of a space, and checks that what is said about it means something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from warploom.solve.space.nodes import (
    Applied,
    Argument,
    Choice,
    Comparator,
    Compared,
    Counter,
    Cover,
    EnumChoice,
    Fact,
    FactLiteral,
    Function,
    InValues,
    Literal,
    Number,
    ObjectSet,
    Property,
    Quantified,
    Quantifiers,
    Quantity,
    Quotient,
    Requirement,
    SetOf,
    Trigger,
    wrong,
)

Condition = Literal | Property | Sequence[Literal]
MAX_QUANTIFIED = 4
TRUE = 0b10
"""The value TRUE of a flag (FALSE, TRUE)."""


class Declarations:
    """Sets, choices and constraints by name, in their order. Every check raises UserError."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sets: dict[str, ObjectSet] = {}
        self.choices: dict[str, Choice] = {}
        self.functions: dict[str, Function] = {}
        self.facts: dict[str, Fact] = {}
        self.constants: dict[str, int] = {}
        """Number of objects by name."""
        self.counters: dict[str, Counter] = {}
        self.requirements: list[Requirement] = []
        self.covers: list[Cover] = []
        self.quotients: dict[str, Quotient] = {}
        self.triggers: dict[str, Trigger] = {}

    def _is_new(self, name: str) -> None:
        known = (self.sets, self.choices, self.functions, self.facts, self.constants, self.counters, self.triggers)
        if any(name in names for names in known):
            raise wrong(f"expected a new name in space {self.name}, got {name}, which is declared already")

    def _is_plain(self, other: ObjectSet | None) -> None:
        if other is None:
            return
        if self.sets.get(other.name) != other:
            raise wrong(f"expected a set of space {self.name}, got unknown set {other.name}")
        if other.of is not None or other.flag:
            raise wrong(f"expected a plain set, got {other.name}, which is {'a quotient' if other.flag else 'parametric'}")

    def _choice_sets(self, name: str, sets: Sequence[ObjectSet]) -> tuple[ObjectSet, ...]:
        if len(sets) > 2:
            raise wrong(f"expected at most 2 objects for choice {name}, got {len(sets)}")
        for one in sets:
            self._is_plain(one)
        return tuple(sets)

    def _count(self, name: str, quantified: Sequence[Quantified]) -> None:
        if len(quantified) > MAX_QUANTIFIED:
            raise wrong(f"expected at most {MAX_QUANTIFIED} quantified objects in {name!r}, got {len(quantified)}")

    def _quantified(
        self, name: str, over: Quantifiers, outside: Mapping[str, ObjectSet] | None = None
    ) -> tuple[tuple[Quantified, ...], list[InValues]]:
        """Quotient sets become what they are quotients of, with their flag among the conditions."""
        quantified: list[Quantified] = []
        flags: list[InValues] = []
        scope = dict(outside or {})
        for argument, given in over.items():
            one, owner = (given.set, given.owner) if isinstance(given, SetOf) else (given, None)
            if self.sets.get(one.name) != one:
                raise wrong(f"expected a set of space {self.name} for {argument} in {name!r}, got unknown set {one.name}")
            if (one.of is None) != (owner is None):
                raise wrong(f"expected {one.name}{'(owner)' if one.of else ''} for {argument} in {name!r}")
            if argument.functions or argument.name in scope:
                raise wrong(f"expected a new object in {name!r}, got {argument} again")
            if owner is not None:
                if owner.functions or owner.name not in scope:
                    raise wrong(f"expected {owner} to be quantified before {argument} in {name!r}")
                if one.of is not None and not scope[owner.name].is_within(one.of):
                    raise wrong(f"expected an object of {one.of.name} as owner of {one.name} in {name!r}, got {owner}")
            scope[argument.name] = one
            if one.flag:
                assert one.within is not None
                flags.append(InValues(Applied(one.flag, (*((owner,) if owner else ()), argument)), TRUE))
                quantified.append(Quantified(argument, one.within))
            else:
                quantified.append(Quantified(argument, one, owner))
        self._count(name, quantified)
        return tuple(quantified), flags

    def _literals(self, name: str, condition: Condition, objects: tuple[Argument, ...]) -> list[Literal]:
        if isinstance(condition, Property):
            if not objects:
                raise wrong(f"expected literals about named objects in {name!r}, got a property of {condition.choice}")
            return [InValues(Applied(condition.choice, objects), condition.mask)]
        if isinstance(condition, (InValues, Compared, FactLiteral)):
            return [condition]
        return list(condition)

    def _checked(self, name: str, literals: Iterable[Literal], scope: Mapping[str, ObjectSet]) -> list[Literal]:
        checked: list[Literal] = []
        for literal in literals:
            match literal:
                case InValues(choice, _):
                    if not isinstance(self.choices.get(choice.name), EnumChoice):
                        raise wrong(f"expected an enum choice in {name!r}, got {choice}")
                    self._checked_quantity(name, choice, scope, is_enum=True)
                    checked.append(literal)
                case FactLiteral(fact, arguments, _):
                    if fact not in self.facts:
                        raise wrong(f"expected a declared fact in {name!r}, got {fact}")
                    self._in_scope(name, arguments, scope)
                    if any(a.functions for a in arguments):
                        raise wrong(f"expected quantified objects for fact {fact} in {name!r}, got a function of one")
                    checked.append(literal)
                case Compared():
                    checked.append(self._checked_comparison(name, literal, scope))
                case _:  # pyright: ignore[reportUnnecessaryComparison]
                    raise wrong(
                        f"expected literals in {name!r}, got {literal!r}", "write choice(a).is_(...), a comparison, or fact(a)"
                    )
        return checked

    def _checked_comparison(self, name: str, literal: Compared, scope: Mapping[str, ObjectSet]) -> Compared:
        left = self._checked_quantity(name, literal.left, scope)
        right = self._checked_quantity(name, literal.right, scope)
        comparator = literal.comparator
        if self.is_constant(left) or (not self.is_constant(right) and isinstance(right, Applied) and right.name in self.counters):
            left, right, comparator = right, left, comparator.swapped
        if self.is_constant(left):
            raise wrong(f"expected a choice or counter in a comparison of {name!r}, got constants on both sides")
        assert isinstance(left, Applied)
        if left.name in self.counters:
            if not self.is_constant(right):
                raise wrong(f"expected a constant beside counter {left} in {name!r}, got {right}")
            if comparator is Comparator.NE:
                raise wrong(f"expected <=, <, ==, >= or > beside counter {left} in {name!r}, got !=")
        elif not self.is_constant(right) and comparator in (Comparator.GE, Comparator.GT):
            left, right, comparator = right, left, comparator.swapped
        return Compared(left, comparator, right)

    def is_constant(self, quantity: Quantity) -> bool:
        return isinstance(quantity, Number) or quantity.name in self.constants

    def _checked_quantity(
        self, name: str, quantity: Quantity, scope: Mapping[str, ObjectSet], *, is_enum: bool = False
    ) -> Quantity:
        if isinstance(quantity, Number):
            return quantity
        self._in_scope(name, quantity.arguments, scope)
        sets: Sequence[ObjectSet]
        if quantity.name in self.constants:
            if any(a.functions for a in quantity.arguments):
                raise wrong(f"expected quantified objects for constant {quantity.name} in {name!r}, got a function of one")
            return quantity
        if (choice := self.choices.get(quantity.name)) is not None:
            if isinstance(choice, EnumChoice) != is_enum:
                raise wrong(f"expected an integer choice, counter or constant in a comparison of {name!r}, got {quantity}")
            sets = choice.sets
        elif (counter := self.counters.get(quantity.name)) is not None:
            sets = [q.set for q in counter.of]
        else:
            raise wrong(f"expected a declared choice, counter or constant in {name!r}, got {quantity}")
        if len(sets) != len(quantity.arguments):
            raise wrong(f"expected {len(sets)} object(s) for {quantity.name} in {name!r}, got {len(quantity.arguments)}")
        for argument, wanted in zip(quantity.arguments, sets, strict=True):
            if not argument.functions and not scope[argument.name].is_within(wanted):
                raise wrong(
                    f"expected an object of {wanted.name} in {quantity} of {name!r}, "
                    f"got {argument}, an object of {scope[argument.name].name}"
                )
        return quantity

    def _in_scope(self, name: str, arguments: Sequence[Argument], scope: Mapping[str, ObjectSet]) -> None:
        for argument in arguments:
            if argument.name not in scope:
                raise wrong(f"expected a quantified object in {name!r}, got {argument.name}", "quantify it")
            for function in argument.functions:
                if function not in self.functions:
                    raise wrong(f"expected a declared function in {name!r}, got {function}")
