"""Parts of a matrix program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import Span


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    sign: str
    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    sign: str
    left: Expr
    right: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Select:
    """`test ? then : other`."""

    test: Expr
    then: Expr
    other: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Element:
    """`matrix[index][index]`."""

    matrix: Name
    indices: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Hole:
    """`?name(arguments)`."""

    name: str
    arguments: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    name: Name
    arguments: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b]` or `{a, b}`."""

    parts: tuple[Expr, ...]
    span: Span


Expr: TypeAlias = Name | Number | Unary | Binary | Select | Element | Hole | Call | Items


@dataclass(frozen=True, slots=True)
class Declared:
    """`type name[extent]... = value`; of parameters an extent may be empty."""

    type: str
    name: Name
    extents: tuple[Expr | None, ...]
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assign:
    target: Expr
    sign: str
    """`=`, `+=`, ..."""
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class For:
    """A loop from `start` to below `stop`; parallel: all iterations at once."""

    index: Name
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Statement, ...]
    is_parallel: bool
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    body: tuple[Statement, ...]
    other: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Accumulate:
    """`accumulate(o, [a, b], condition)`."""

    target: Expr
    operands: tuple[Expr, ...]
    when: Expr | None
    span: Span


Statement: TypeAlias = Declared | Assign | For | If | Return | Accumulate


@dataclass(frozen=True, slots=True)
class Function:
    type: str
    name: Name
    parameters: tuple[Declared, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Asserted:
    """`assert(spec(...) == sketch(...))`."""

    left: Expr
    right: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Program:
    declared: tuple[Declared, ...]
    functions: tuple[Function, ...]
    asserted: Asserted
    loops: tuple[Statement, ...] = ()
    """Loops that no function surrounds."""
    notes: tuple[str, ...] = ()
    """Notes on parts of the text that are not read."""
