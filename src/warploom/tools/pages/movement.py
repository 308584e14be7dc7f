"""Movement of values through one warp, statement by statement: the data behind the pictures.

A *cell* holds one value: a register row of one lane, or one element of a shared or global array. A *step* is one statement
instance; it writes cells, and every write knows which cells its value came from (the arrows of the paper's figures 1 and 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.core import NOWHERE, Span

StepKind = Literal["load", "choose", "shuffle", "accumulate", "store", "compute"]


@dataclass(frozen=True, slots=True)
class RegisterCell:
    lane: int
    row: str
    """`inp[1]`, `sent`, `out`: a register, scalar or accumulator as the sketch names it."""


@dataclass(frozen=True, slots=True)
class MemoryCell:
    array: str
    index: tuple[int, ...]


Cell: TypeAlias = RegisterCell | MemoryCell


@dataclass(frozen=True, slots=True)
class Value:
    """Content of a cell, in words; `text` is an expression over input elements."""

    text: str
    atoms: tuple[str, ...] = ()
    """The input elements in it, `x[5]`, in the order of their appearance, each once."""
    terms: int = 1
    """Number of contributions, for the value of an accumulator."""
    level: int = 3
    """Binding strength of the outermost operation: 1 sum and others, 2 product, 3 atom or call."""


OTHER_WARP = -1
"""In place of a lane: a write to shared memory by a warp that is not shown."""


@dataclass(frozen=True, slots=True)
class Write:
    cell: Cell
    value: Value
    origins: tuple[Cell, ...]
    lane: int
    """The lane that executes it, or `OTHER_WARP`."""


@dataclass(frozen=True, slots=True)
class HoleValues:
    """Values of a hole in a step, per lane; None for lanes that did not ask."""

    hole: str
    values: tuple[int | bool | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    kind: StepKind
    loops: tuple[tuple[str, int], ...]
    """Loop variables and their values, outermost first."""
    writes: tuple[Write, ...]
    holes: tuple[HoleValues, ...] = ()
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Request:
    """One access of the warp to an array in shared or global memory."""

    array: str
    is_store: bool
    span: Span
    place: int
    """Which access of its statement it is, from 0."""
    lanes: tuple[tuple[int, int], ...]
    """Lanes that take part, each with the number of its element in the array, row-major."""


@dataclass(frozen=True, slots=True)
class Movement:
    """One warp's whole run."""

    lanes: int
    rows: tuple[str, ...]
    """Register rows in the order of their first write."""
    steps: tuple[Step, ...]
    omitted: int
    """Steps past the limit that were executed but not kept."""
    requests: tuple[Request, ...] = ()
    """In their order; those past the limit of the steps, too."""


_LEVELS = {"*": 2, "/": 2, "&": 2, "<<": 2, ">>": 2, "+": 1, "-": 1, "|": 1, "^": 1}


def combined(op: str, operands: Sequence[Value]) -> Value:
    """`operands` under `op`: infix where Python has the sign, else a call; constants that change nothing stay."""
    if op in ("neg", "~"):
        return Value(("-" if op == "neg" else "~") + _wrapped(operands[0], 3), operands[0].atoms, level=2)
    level = _LEVELS.get(op)
    if level is None:
        return joined(f"{op}(", operands, ")")
    text = f" {op} ".join(_wrapped(operand, level + (place > 0 and op in "-/")) for place, operand in enumerate(operands))
    return Value(text.replace(" * ", "*"), _atoms(operands), max(operand.terms for operand in operands), level)


def joined(before: str, operands: Sequence[Value], after: str) -> Value:
    """The operands between brackets or with a suffix, as one unit."""
    texts = [operand.text if before else _wrapped(operand, 3) for operand in operands]
    return Value(before + ", ".join(texts) + after, _atoms(operands), max(operand.terms for operand in operands))


def _wrapped(value: Value, level: int) -> str:
    return value.text if value.level >= level else f"({value.text})"


def _atoms(values: Sequence[Value]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(atom for value in values for atom in value.atoms))


_FITTING = 9
"""Letters of a cell."""


def short(value: Value) -> str:
    """Text that fits into a cell: the expression, its end left out where it is long, or how many contributions it combines."""
    if value.terms > 1:
        return f"Σ{value.terms}"
    if value.level == 3 or not value.atoms:
        return value.text
    text = value.text.replace("[", "").replace("]", "").replace(" ", "").replace("*", "·")
    return text if len(text) <= _FITTING else f"{text[: _FITTING - 1]}…"


def element_name(cell: MemoryCell) -> str:
    """`x[5]`, `tile[2,3]`."""
    return f"{cell.array}[{','.join(map(str, cell.index))}]"
