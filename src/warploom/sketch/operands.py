"""Values that an expression of a sketch can stand for while it is read."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from warploom.core import DType, Span
from warploom.ir import IndexExpr, Space, ValueExpr
from warploom.sketch.source import Written


@dataclass(frozen=True, slots=True)
class Index:
    """An integer or truth value known before any data is read."""

    expr: IndexExpr
    is_bool: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    expr: ValueExpr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Array:
    """An array, or what is left of it after its first `prefix` indices."""

    name: str
    space: Space
    dtype: DType
    shape: tuple[IndexExpr, ...]
    prefix: tuple[IndexExpr, ...] = ()


@dataclass(frozen=True, slots=True)
class Accumulators:
    """An accumulator, an array of them, or (with `prefix`) an element of that array."""

    name: str
    dtype: DType
    result: DType
    """Type of the finalized value."""
    shape: tuple[int, ...]
    inner: tuple[str, ...]
    prefix: tuple[IndexExpr, ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """`add` or `value` of an accumulator."""

    owner: Accumulators
    name: str


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple or list of operands."""

    items: tuple[Operand, ...]
    kind: Literal["tuple", "list"] = "tuple"


@dataclass(frozen=True, slots=True)
class Local:
    """A lambda or `def` written inside of the sketch; reads the sketch's variables as they are when it is called."""

    node: ast.Lambda | ast.FunctionDef
    home: object = field(compare=False, repr=False)
    """The frame that it was written in, whose variables it reads wherever it is called."""


@dataclass(frozen=True, slots=True)
class Static:
    """Any other Python object: a word, a dtype, a device function, a module, a float, a string, None."""

    value: object


@dataclass(frozen=True, slots=True)
class ConflictFree:
    """The condition that `wl.require` puts on a shared array."""

    array: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unset:
    """A name that may have no value here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Poison:
    """The result of a statement that had an error; uses are silent."""


Operand: TypeAlias = Index | Data | Array | Accumulators | Method | Group | Local | Static | Unset | Poison


@dataclass(frozen=True, slots=True)
class Device:
    """A function that sketches call: `@wl.device`."""

    written: Written
    defaults: tuple[tuple[str, object], ...]
    shared_holes: bool
    span: Span

    @property
    def name(self) -> str:
        node = self.written.node
        return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


_LONGEST = 60
"""Characters of a constant that messages show; `__builtins__` has 100,000."""


def describe(operand: Operand) -> str:
    """Description of `operand` for messages."""
    match operand:
        case Index(is_bool=True):
            return "a condition"
        case Index():
            return "an index"
        case Data(dtype=dtype):
            return f"data of type {dtype}"
        case Array(name=name, prefix=()):
            return f"the array {name!r}"
        case Array(name=name):
            return f"a part of the array {name!r}"
        case Accumulators(name=name):
            return f"the accumulator {name!r}"
        case Method(owner=owner, name=name):
            return f"the method {owner.name}.{name}"
        case Group(kind=kind):
            return f"a {kind}"
        case Local():
            return "a function"
        case Static(value=value):
            named = getattr(value, "__name__", None)
            if isinstance(named, str):
                return f"`{named}`"
            shown = repr(value)
            return shown if len(shown) <= _LONGEST else f"a constant of type {type(value).__name__}"
        case Unset() | Poison():
            return "an unassigned name"
