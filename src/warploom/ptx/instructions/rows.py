"""One row of the instruction table, and the notation of operand roles.

A signature lists operand slots in text order, `ROLE[:TYPE][?*]`:

    role   d written   x read and written   a read   m address in brackets (its registers are read)   i integer constant
           l label, function or list of them
    type   1 first type of the instruction   2 second type   w twice as wide as the first, if `.wide`, else the first
           p predicate   or a type's name; none: no rule
    ?      may be left out     *      any number of such operands
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

InstructionClass = Literal[
    "integer", "float", "half", "compare", "logic", "move", "convert", "memory", "texture", "control", "barrier", "warp",
    "matrix", "async", "video", "misc",
]  # fmt: skip
Collective = Literal["", "warp", "warpgroup", "block", "cluster"]
"""The threads that execute the instruction together."""
Role = Literal["d", "x", "a", "m", "i", "l"]

_SLOT = re.compile(r"(?P<role>[dxamil])(?::(?P<type>\w+))?(?P<count>[?*]?)\Z")


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for an operand."""

    role: Role
    type: str
    """'' when no rule is known."""
    is_optional: bool
    is_repeated: bool


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One instruction of the ISA, or one form of it. Each stands in the table once, so rows are told apart as objects."""

    name: str
    """Opcode and the modifiers that tell it from its siblings, as the ISA heads its section: `cp.async.bulk.tensor`."""
    section: str
    """Section of PTX ISA 9.1."""
    kind: InstructionClass
    slots: tuple[Slot, ...]
    types: frozenset[str]
    """The row is for instructions with one of these types; empty: for any."""
    ptx: tuple[int, int]
    """First PTX ISA version that has it."""
    sm: int
    """First architecture that has it: 70 for sm_70; 0: all."""
    reads_memory: bool
    writes_memory: bool
    orders_memory: bool
    """True if other threads' accesses to memory may become visible at this instruction."""
    collective: Collective
    title: str
    """The name as the table in the documentation gives it; the types tell rows of one name apart."""

    @property
    def opcode(self) -> str:
        return self.name.partition(".")[0]

    @property
    def required(self) -> frozenset[str]:
        """Modifiers that an instruction of this row has."""
        return frozenset(self.name.split(".")[1:])

    @property
    def operand_counts(self) -> tuple[int, int | None]:
        """Fewest and most operands; None: no bound."""
        fewest = sum(not (s.is_optional or s.is_repeated) for s in self.slots)
        return fewest, None if any(s.is_repeated for s in self.slots) else len(self.slots)


INTEGER = frozenset({"u16", "u32", "u64", "s16", "s32", "s64", "u16x2", "s16x2", "u8x4", "s8x4"})
FLOAT = frozenset({"f32", "f64", "f32x2"})
HALF = frozenset({"f16", "f16x2", "bf16", "bf16x2"})
_FAMILY = {INTEGER: " (integer)", FLOAT: " (float)", HALF: " (half)"}


def row(
    name: str,
    section: str,
    kind: InstructionClass,
    signature: str,
    *,
    of: frozenset[str] = frozenset(),
    ptx: tuple[int, int] = (1, 0),
    sm: int = 0,
    memory: str = "",
    collective: Collective = "",
    title: str = "",
) -> Row:
    """`memory` is any of the words reads, writes, orders."""
    effects = memory.split()
    assert all(e in ("reads", "writes", "orders") for e in effects), name
    return Row(
        name, section, kind, tuple(map(_slot, signature.split())), of, ptx, sm, "reads" in effects, "writes" in effects,
        "orders" in effects, collective, title or name + _FAMILY.get(of, ""),
    )  # fmt: skip


def _slot(text: str) -> Slot:
    match = _SLOT.match(text)
    assert match is not None, text
    role, count = match["role"], match["count"]
    assert role in ("d", "x", "a", "m", "i", "l")
    return Slot(role, match["type"] or "", count == "?", count == "*")
