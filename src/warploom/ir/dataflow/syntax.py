"""Syntax of the dataflow language: what was written, before names, shapes and sets are looked up.

    program    := { annotation* (define | goal | statement) }           "#" starts a comment
    annotation := "@" ("prune" | "noprune")
    statement  := NAME ":" type "=" (literal | block | call)
    type       := "[" INT { "," INT } [","] "]"
    literal    := fold* ("range" "(" INT "," INT ")" | array of element)        a goal's last list may be followed by "..."
    element    := INT | "x" INT | "_" | "zero" | fold "{" element { "," element } "}" | "..." between two integers
    block      := "{" { annotation* (define | statement) } "}"
    call       := [fold] ["("] ["?"] NAME [options] ["(" lambda ")"] ["(" NAME { "," NAME } ")"] [")"]
    fold       := "fold" ["(" OPERATOR ")"] | "+" | "*"
    options    := "{" NAME ["=" (INT | "[" INT, ... "]")] { "," ... } "}"
    define     := "define" NAME "(" type { "," type } ")" "->" type "=" (gathers | "{" (NAME | STRING) "=" gathers, ... "}")
    gathers    := lambda | array of ( INT | "((" INT, ... "))" | "(" INT "," INT ")" | "(" INT "," "(" INT, ... ")" ")" )
    goal       := "goal" (":" type (["="] builtin | "=" literal) | NAME "==" (builtin | literal))
    builtin    := NAME [options]
    lambda     := "\" NAME { "," NAME } "." expression                  expressions: `lambda_syntax.py`
    array of e := "[" (e | array of e) { "," ... } [","] "]"            rectangular

Source: Swizzleflow, figure 3 and listings 2, 4, 6, 8; the grammar that its authors' tool reads is a part of this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from warploom.core import Span
from warploom.ir.dataflow.gather_set import Shape
from warploom.ir.dataflow.lambda_syntax import Lambda
from warploom.ir.dataflow.program import Value

OptionValue: TypeAlias = "int | tuple[int, ...] | bool"


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class OptionSyntax:
    key: Word
    value: OptionValue
    """True for a key alone."""


@dataclass(frozen=True, slots=True)
class TypeSyntax:
    shape: Shape
    span: Span


@dataclass(frozen=True, slots=True)
class FoldSyntax:
    op: str
    """Operator; empty where none is named."""
    span: Span


@dataclass(frozen=True, slots=True)
class RangeSyntax:
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class ArraySyntax:
    shape: Shape
    values: tuple[Value, ...]
    """Row-major."""
    dots: Span | None = None
    """The `...` after the last list of a goal: lists go on up to the goal's shape (`rows.py`)."""
    counts_on: bool = False
    """Whether a `...` stands for elements."""


@dataclass(frozen=True, slots=True)
class LiteralSyntax:
    folds: tuple[FoldSyntax, ...]
    """Folds in the order in which they are written: the last one is applied first."""
    body: RangeSyntax | ArraySyntax
    element_folds: tuple[FoldSyntax, ...]
    """The folds inside the array."""
    span: Span


@dataclass(frozen=True, slots=True)
class CallSyntax:
    fold: FoldSyntax | None
    callee: Word
    options: tuple[OptionSyntax, ...]
    index: Lambda | None
    arguments: tuple[Word, ...] | None
    """None without parentheses: the callee is a variable."""
    span: Span


@dataclass(frozen=True, slots=True)
class BlockSyntax:
    items: tuple[StatementSyntax | DefineSyntax, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class StatementSyntax:
    name: Word
    type: TypeSyntax
    value: LiteralSyntax | CallSyntax | BlockSyntax
    is_pruned: bool | None
    span: Span


@dataclass(frozen=True, slots=True)
class PlaceSyntax:
    """A source in a gather array."""

    argument: int
    index: int | tuple[int, ...]
    """Row-major element number, or one index per axis."""
    span: Span


@dataclass(frozen=True, slots=True)
class GatherArraySyntax:
    shape: Shape
    places: tuple[PlaceSyntax, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class DefineSyntax:
    name: Word
    arguments: tuple[TypeSyntax, ...]
    out: TypeSyntax
    members: tuple[tuple[str, GatherArraySyntax | Lambda], ...]
    text: tuple[str, str]
    """The text as written: up to the name, and after it."""
    span: Span


@dataclass(frozen=True, slots=True)
class BuiltinSyntax:
    name: Word
    options: tuple[OptionSyntax, ...]


@dataclass(frozen=True, slots=True)
class GoalSyntax:
    target: Word | None
    type: TypeSyntax | None
    value: LiteralSyntax | BuiltinSyntax
    span: Span


ItemSyntax: TypeAlias = "StatementSyntax | DefineSyntax | GoalSyntax"
