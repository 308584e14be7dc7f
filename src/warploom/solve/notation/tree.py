"""The parts of a description as they are written.

    condition := choice(objects) is [not] VALUE | ... | quantity == quantity | "code" | true | false
    quantity  := choice(objects) | counter(objects) | number | "code"

Code is text of the host language about the objects ("$dim.size()"): kernels say what it is for theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.core import Span


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it is used."""

    text: str
    span: Span

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Code:
    """Host code about objects."""

    text: str
    span: Span

    @property
    def objects(self) -> tuple[str, ...]:
        """Its objects, with their `$`, in the order in which they come first."""
        return tuple(dict.fromkeys(re.findall(r"\$\w+", self.text)))

    @property
    def pattern(self) -> str:
        """The text with numbers for its objects."""
        numbers = {name: f"{{{n}}}" for n, name in enumerate(self.objects)}
        return normal(re.sub(r"\$\w+", lambda found: numbers[found[0]], self.text))

    def of(self, objects: Mapping[str, str]) -> str:
        """The text about these objects, as kernels write it."""
        return normal(re.sub(r"\$\w+", lambda found: objects[found[0]], self.text))


def normal(code: str) -> str:
    """Code without blanks and without the empty brackets of a call at its end."""
    return re.sub(r"\s+", "", code).removesuffix("()")


@dataclass(frozen=True, slots=True)
class Applied:
    """A choice or counter for some objects."""

    name: Name
    objects: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span


Quantity: TypeAlias = Applied | Number | Code


@dataclass(frozen=True, slots=True)
class Is:
    """The choice has one of the values, or none of them; without objects: a property of whatever is asked."""

    choice: Name
    objects: tuple[Name, ...] | None
    values: tuple[Name, ...]
    expected: bool


@dataclass(frozen=True, slots=True)
class Compared:
    left: Quantity
    sign: str
    right: Quantity
    span: Span


@dataclass(frozen=True, slots=True)
class Holds:
    """Host code that is true or false."""

    code: Code
    expected: bool


@dataclass(frozen=True, slots=True)
class Constant:
    value: bool


Condition: TypeAlias = Is | Compared | Holds | Constant


@dataclass(frozen=True, slots=True)
class Over:
    """`$name in Set` or `$name in Set($owner)`."""

    name: Name
    set: Name
    owner: Name | None = None


@dataclass(frozen=True, slots=True)
class SetOf:
    """`set NAME($owner in Set) subsetof Set`."""

    name: Name
    owner: Over | None
    within: Name | None
    disjoint: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Enum:
    name: Name
    over: tuple[Over, ...]
    values: tuple[Name, ...]
    aliases: Mapping[str, tuple[Name, ...]]
    mirror: Mapping[str, str] | None
    is_symmetric: bool


@dataclass(frozen=True, slots=True)
class Integer:
    """The values of an integer choice are host code."""

    name: Name
    over: tuple[Over, ...]
    values: Code


@dataclass(frozen=True, slots=True)
class Counter:
    name: Name
    of: tuple[Over, ...]
    over: tuple[Over, ...]
    kind: Literal["sum", "mul"]
    value: Quantity
    when: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """`quotient NAME($owner in Set) of $name in Set: FLAG = when / by`."""

    name: Name
    owner: Over | None
    of: Over
    flag: Name
    when: tuple[Condition, ...]
    by: Is


@dataclass(frozen=True, slots=True)
class Require:
    """Demands that one of the conditions holds for all distinct objects of `over`."""

    over: tuple[Over, ...]
    conditions: tuple[Condition, ...]
    span: Span

    @property
    def title(self) -> str:
        return f"the requirement in line {self.span.line}"


@dataclass(frozen=True, slots=True)
class Member:
    """`SET = objects` or `SET(owner) = objects`."""

    set: Name
    owner: Name | None
    objects: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """`code = values`: numbers, or a truth value."""

    code: Code
    values: tuple[int, ...] | bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """The objects of one kernel, what host code is for them, and what is decided from the start."""

    name: Name
    members: tuple[Member, ...]
    given: tuple[Given, ...]
    decided: tuple[Is, ...]


@dataclass(frozen=True, slots=True)
class Description:
    sets: tuple[SetOf, ...]
    choices: tuple[Enum | Integer, ...]
    quotients: tuple[Quotient, ...]
    counters: tuple[Counter, ...]
    requirements: tuple[Require, ...]
    kernels: tuple[Kernel, ...]
