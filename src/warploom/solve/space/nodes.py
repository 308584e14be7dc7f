"""Parts of a description of choices and constraints: sets, choices, terms over quantified objects, literals.

    argument := object | function(argument)
    literal  := choice(arguments) in {values} | integer term (== != <= < >= >) integer term | fact(arguments) | ~fact(arguments)
    term     := integer choice(arguments) | counter(arguments) | constant | number

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, sections 3.1 to 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, TypeAlias

from warploom.core import Diagnostic, UserError

MAX_VALUES = 64
"""Most values of one choice: domains are words of 64 bits."""


def wrong(message: str, fix: str = "") -> UserError:
    return UserError(Diagnostic("SPACE", message, fix=fix))


class Comparator(StrEnum):
    EQ = "=="
    NE = "!="
    LE = "<="
    LT = "<"
    GE = ">="
    GT = ">"

    @property
    def swapped(self) -> Comparator:
        """The comparator of the two sides exchanged."""
        return {"<=": Comparator.GE, "<": Comparator.GT, ">=": Comparator.LE, ">": Comparator.LT}.get(self, self)


@dataclass(frozen=True, slots=True)
class Argument:
    """A quantified object, or a host function of one."""

    name: str
    functions: tuple[str, ...] = ()
    """Applied to the object, first one first."""

    def __str__(self) -> str:
        text = self.name
        for function in self.functions:
            text = f"{function}({text})"
        return text


@dataclass(frozen=True, slots=True)
class Applied:
    """A choice, counter, or constant for some objects."""

    name: str
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Number:
    value: int


Quantity: TypeAlias = Applied | Number
"""An integer choice, a counter or a constant; the space knows which, by name."""


@dataclass(frozen=True, slots=True)
class InValues:
    """The value of an enum choice is one of those whose bit is set."""

    choice: Applied
    mask: int

    def __bool__(self) -> NoReturn:
        raise _no_truth()


@dataclass(frozen=True, slots=True)
class Compared:
    left: Quantity
    comparator: Comparator
    right: Quantity

    def __bool__(self) -> NoReturn:
        raise _no_truth()


@dataclass(frozen=True, slots=True)
class FactLiteral:
    name: str
    arguments: tuple[Argument, ...]
    expected: bool = True

    def __invert__(self) -> FactLiteral:
        return FactLiteral(self.name, self.arguments, not self.expected)

    def __bool__(self) -> NoReturn:
        raise _no_truth()


Literal: TypeAlias = InValues | Compared | FactLiteral


def _no_truth() -> UserError:
    return wrong(
        "expected literals in a list, got one used as a truth value (`and`, `or`, `not`, or a chained comparison)",
        "write the literals one after the other in the list",
    )


@dataclass(frozen=True, slots=True)
class EnumTerm:
    """An enum choice for some objects."""

    applied: Applied
    values: tuple[str, ...]

    def is_(self, *names: str) -> InValues:
        return InValues(self.applied, mask_of(self.applied.name, self.values, names))

    def is_not(self, *names: str) -> InValues:
        full = (1 << len(self.values)) - 1
        return InValues(self.applied, full ^ mask_of(self.applied.name, self.values, names))


@dataclass(frozen=True, slots=True, eq=False)
class IntegerTerm:
    """An integer choice, counter or constant for some objects; comparisons build literals."""

    quantity: Quantity

    def __eq__(self, other: IntegerTerm | int) -> Compared:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compared(Comparator.EQ, other)

    def __ne__(self, other: IntegerTerm | int) -> Compared:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compared(Comparator.NE, other)

    def __le__(self, other: IntegerTerm | int) -> Compared:
        return self._compared(Comparator.LE, other)

    def __lt__(self, other: IntegerTerm | int) -> Compared:
        return self._compared(Comparator.LT, other)

    def __ge__(self, other: IntegerTerm | int) -> Compared:
        return self._compared(Comparator.GE, other)

    def __gt__(self, other: IntegerTerm | int) -> Compared:
        return self._compared(Comparator.GT, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _compared(self, comparator: Comparator, other: IntegerTerm | int) -> Compared:
        return Compared(self.quantity, comparator, quantity_of(other))


def quantity_of(value: IntegerTerm | int) -> Quantity:
    return Number(value) if isinstance(value, int) else value.quantity


def mask_of(choice: str, values: Sequence[str], names: Sequence[str]) -> int:
    """Bits of the named values."""
    mask = 0
    for name in names:
        if name not in values:
            raise wrong(f"expected a value of choice {choice} ({', '.join(values)}), got {name!r}")
        mask |= 1 << values.index(name)
    return mask


@dataclass(frozen=True, slots=True)
class Property:
    """An enum choice restricted to some values, not yet said of which objects."""

    choice: str
    mask: int


@dataclass(frozen=True, slots=True)
class ObjectSet:
    """A property of objects; with `of`, of pairs (owner, object)."""

    name: str
    within: ObjectSet | None = None
    of: ObjectSet | None = None
    disjoint_from: tuple[ObjectSet, ...] = ()
    flag: str = ""
    """For quotient sets, the enum choice (FALSE, TRUE) that says who is a member."""

    @property
    def sort(self) -> str:
        """The outermost set: its objects are numbered together."""
        return self.name if self.within is None else self.within.sort

    def is_within(self, other: ObjectSet) -> bool:
        return self.name == other.name or (self.within is not None and self.within.is_within(other))

    def __call__(self, owner: Argument) -> SetOf:
        if self.of is None:
            raise wrong(f"expected a parametric set, got {self.name}, which was declared without `of`")
        return SetOf(self, owner)


@dataclass(frozen=True, slots=True)
class SetOf:
    """The objects that a parametric set holds for one owner."""

    set: ObjectSet
    owner: Argument


Quantifiers: TypeAlias = dict[Argument, "ObjectSet | SetOf"]


@dataclass(frozen=True, slots=True)
class EnumChoice:
    name: str
    sets: tuple[ObjectSet, ...]
    values: tuple[str, ...]
    mirror: tuple[int, ...] = ()
    """By value: the value for the arguments exchanged; empty: the two directions are unrelated."""

    def __call__(self, *arguments: Argument) -> EnumTerm:
        return EnumTerm(Applied(self.name, arguments_of(self.name, arguments, len(self.sets))), self.values)

    def is_(self, *names: str) -> Property:
        return Property(self.name, mask_of(self.name, self.values, names))

    def is_not(self, *names: str) -> Property:
        return Property(self.name, ((1 << len(self.values)) - 1) ^ mask_of(self.name, self.values, names))


@dataclass(frozen=True, slots=True)
class IntegerChoice:
    name: str
    sets: tuple[ObjectSet, ...]

    def __call__(self, *arguments: Argument) -> IntegerTerm:
        return IntegerTerm(Applied(self.name, arguments_of(self.name, arguments, len(self.sets))))


Choice: TypeAlias = EnumChoice | IntegerChoice


@dataclass(frozen=True, slots=True)
class Function:
    """A host map from objects to objects, given with the instance."""

    name: str

    def __call__(self, argument: Argument) -> Argument:
        (checked,) = arguments_of(self.name, (argument,), 1)
        return Argument(checked.name, (*checked.functions, self.name))


@dataclass(frozen=True, slots=True)
class Fact:
    """A host relation, given with the instance."""

    name: str
    arity: int

    def __call__(self, *arguments: Argument) -> FactLiteral:
        return FactLiteral(self.name, arguments_of(self.name, arguments, self.arity))


@dataclass(frozen=True, slots=True)
class ConstantFunction:
    """A host number for each tuple of objects, given with the instance."""

    name: str
    arity: int

    def __call__(self, *arguments: Argument) -> IntegerTerm:
        return IntegerTerm(Applied(self.name, arguments_of(self.name, arguments, self.arity)))


@dataclass(frozen=True, slots=True)
class Quantified:
    """One quantified object."""

    argument: Argument
    set: ObjectSet
    owner: Argument | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """For all distinct objects, one of the literals holds."""

    name: str
    over: tuple[Quantified, ...]
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """`start` plus the sum, or times the product, of `value` over the tuples for which all of `when` hold."""

    name: str
    of: tuple[Quantified, ...]
    over: tuple[Quantified, ...]
    is_product: bool
    value: Quantity
    when: tuple[Literal, ...]
    start: Quantity

    def __call__(self, *arguments: Argument) -> IntegerTerm:
        return IntegerTerm(Applied(self.name, arguments_of(self.name, arguments, len(self.of))))


@dataclass(frozen=True, slots=True)
class Cover:
    """outer == ceil(total / product of tiles); with `exact`, outer * product == total."""

    name: str
    of: tuple[Quantified, ...]
    over: tuple[Quantified, ...]
    total: Quantity
    outer: Applied
    tile: Applied
    exact: FactLiteral | bool


@dataclass(frozen=True, slots=True)
class Quotient:
    """flag(per, member) is TRUE for the lowest object of each class: those for which `when` holds and `by` relates them."""

    name: str
    per: tuple[Quantified, ...]
    member: Quantified
    other: Quantified
    when: tuple[Literal, ...]
    """Conditions of `member`."""
    when_other: tuple[Literal, ...]
    by: tuple[Literal, ...]
    flag: Applied


@dataclass(frozen=True, slots=True)
class Trigger:
    """Once all of `when` are certain, the lowering of these objects is carried out."""

    name: str
    over: tuple[Quantified, ...]
    when: tuple[Literal, ...]
    activates: tuple[ObjectSet, ...]


def arguments_of(name: str, arguments: Sequence[Argument], arity: int) -> tuple[Argument, ...]:
    if len(arguments) != arity:
        raise wrong(f"expected {arity} object(s) for {name}, got {len(arguments)}")
    for argument in arguments:
        if not isinstance(argument, Argument):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise wrong(
                f"expected an object of the description for {name}, got {argument!r}", 'declare it: a = space.objects("a")'
            )
    return tuple(arguments)
