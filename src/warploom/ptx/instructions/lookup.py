"""Looks up the row of an instruction, and what the instruction reads, writes and orders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import assert_never

from warploom.ptx.instructions.arithmetic import FLOAT_ROWS, INTEGER_ROWS, LOGIC_ROWS, VIDEO_ROWS
from warploom.ptx.instructions.movement import ASYNC_ROWS, MEMORY_ROWS, MOVE_ROWS, TEXTURE_ROWS
from warploom.ptx.instructions.parallel import (
    ATOMIC_ROWS,
    BARRIER_ROWS,
    CONTROL_ROWS,
    MATRIX_ROWS,
    MISCELLANEOUS_ROWS,
    WARP_ROWS,
)
from warploom.ptx.instructions.rows import Role, Row, Slot
from warploom.ptx.syntax import (
    Address,
    Float,
    Group,
    Instruction,
    Integer,
    Name,
    Negation,
    Operand,
    Pair,
    Subscript,
    Sum,
    Vector,
)

ROWS: tuple[Row, ...] = (
    *INTEGER_ROWS, *FLOAT_ROWS, *LOGIC_ROWS, *MOVE_ROWS, *MEMORY_ROWS, *ATOMIC_ROWS, *ASYNC_ROWS, *TEXTURE_ROWS, *CONTROL_ROWS,
    *BARRIER_ROWS, *WARP_ROWS, *MATRIX_ROWS, *VIDEO_ROWS, *MISCELLANEOUS_ROWS,
)  # fmt: skip
"""Every instruction of PTX ISA 9.1, in the order of its chapters."""

_BY_OPCODE: dict[str, list[Row]] = {}
for _row in ROWS:
    _BY_OPCODE.setdefault(_row.opcode, []).append(_row)
for _rows in _BY_OPCODE.values():
    _rows.sort(key=lambda r: (-len(r.required), not r.types))

TYPES: frozenset[str] = frozenset({
    "pred", *(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)), "b1", "b128", "u4", "s4", "u2", "s2", "b4", "b6",
    "f16", "f16x2", "bf16", "bf16x2", "tf32", "tf32x2", "f32", "f32x2", "f64", "u16x2", "s16x2", "u8x4", "s8x4",
    *(f"{form}{count}" for form in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3", "s2f6")
      for count in ("", "x2", "x4")),
    "texref", "samplerref", "surfref",
})  # fmt: skip
"""Modifiers that are types (PTX ISA 5.2)."""
SPACES: frozenset[str] = frozenset({"const", "global", "local", "param", "shared"})
"""Modifiers that are state spaces; `::cta`, `::cluster`, `::entry`, `::func` may follow."""


@lru_cache(maxsize=4096)
def _find(opcode: str, modifiers: tuple[str, ...]) -> Row | None:
    words = {*modifiers, *(m.partition("::")[0] for m in modifiers)}
    for row in _BY_OPCODE.get(opcode, ()):
        if row.required <= words and (not row.types or row.types & words):
            return row
    return None


def find_row(instruction: Instruction) -> Row | None:
    """The row of the instruction; None: PTX ISA 9.1 has no such instruction."""
    return _find(instruction.opcode, instruction.modifiers)


@lru_cache(maxsize=4096)
def _slots(row: Row, count: int) -> tuple[Slot, ...] | None:
    spare = count - row.operand_counts[0]
    if spare < 0:
        return None
    found: list[Slot] = []
    for slot in row.slots:
        if slot.is_repeated:
            found += [slot] * spare
            spare = 0
        elif not slot.is_optional:
            found.append(slot)
        elif spare:
            found.append(slot)
            spare -= 1
    return tuple(found) if not spare else None


def operand_slots(instruction: Instruction) -> tuple[Slot, ...] | None:
    """One slot for each operand; None for an unknown instruction or a number of operands that it cannot have."""
    row = find_row(instruction)
    return None if row is None else _slots(row, len(instruction.operands))


def destinations(instruction: Instruction) -> tuple[str, ...]:
    """Names written: registers, elements of vector registers (`%v.x`), results of a call. `_` is left out.

    A guarded instruction may leave them as they were. An unknown instruction counts as writing its first operand, if it has
    operands, unless it is an address.
    """
    found = instruction.written
    if found is None:
        found = _written(instruction)
        object.__setattr__(instruction, "written", found)
    return found


def _written(instruction: Instruction) -> tuple[str, ...]:
    if instruction.opcode == "call":
        first = instruction.operands[0] if instruction.operands else None
        return tuple(_names(first)) if isinstance(first, Group) and len(instruction.operands) > 1 else ()
    return tuple(
        name for role, operand in _roles(instruction) if role in ("d", "x") and not isinstance(operand, Address)
        for name in _registers(instruction, operand)
    )  # fmt: skip


def sources(instruction: Instruction) -> tuple[str, ...]:
    """Names read, in text order and perhaps repeated; labels are left out.

    They are the guard, registers, special registers, variables accessed or whose address is taken, and what a call calls.
    """
    kept = instruction.read
    if kept is None:
        kept = _read(instruction)
        object.__setattr__(instruction, "read", kept)
    return kept


def _read(instruction: Instruction) -> tuple[str, ...]:
    found: list[str] = [] if instruction.guard is None else [instruction.guard.name]
    if instruction.opcode == "call":
        has_results = len(instruction.operands) > 1 and isinstance(instruction.operands[0], Group)
        for operand in instruction.operands[1 if has_results else 0 :]:
            found += _names(operand)
        return tuple(found)
    for role, operand in _roles(instruction):
        if role in ("a", "m", "x") or (role == "d" and isinstance(operand, Address)):
            found += _registers(instruction, operand)
    return tuple(found)


def _roles(instruction: Instruction) -> Iterator[tuple[Role, Operand]]:
    slots = operand_slots(instruction)
    if slots is not None:
        for slot, operand in zip(slots, instruction.operands, strict=True):
            yield slot.role, operand
        return
    row = find_row(instruction)
    writes_first = row is None or (bool(row.slots) and row.slots[0].role == "d")
    for position, operand in enumerate(instruction.operands):
        yield "d" if position == 0 and writes_first else "a", operand


def _registers(instruction: Instruction, operand: Operand) -> Iterator[str]:
    row = find_row(instruction)
    if row is not None and row.kind == "video":
        for name in _names(operand):
            base, _, selector = name.rpartition(".")
            yield base if base and selector in _SELECTORS else name
    else:
        yield from _names(operand)


_SELECTORS = frozenset({"b0", "b1", "b2", "b3", "h0", "h1", "b10", "b21", "b32", "b3210", "h10"})


def _names(operand: Operand | None) -> Iterator[str]:
    match operand:
        case Name(text):
            if text not in ("_", "WARP_SZ"):
                yield text
        case Sum(base):
            yield from _names(base)
        case Address(base, _, rest):
            yield from _names(base)
            for part in rest:
                yield from _names(part)
        case Subscript(base, index):
            yield from _names(base)
            yield from _names(index)
        case Vector(elements) | Group(elements):
            for element in elements:
                yield from _names(element)
        case Pair(first, second):
            yield from _names(first)
            yield from _names(second)
        case Negation(inner):
            yield from _names(inner)
        case Integer() | Float() | None:
            return
        case _:
            assert_never(operand)


def operand_names(operand: Operand) -> tuple[str, ...]:
    """Every name in the operand, in text order, without `_` and `WARP_SZ`."""
    return tuple(_names(operand))


def types(instruction: Instruction) -> tuple[str, ...]:
    """Type modifiers as written: `("f32", "s32")` of `cvt.rn.f32.s32`."""
    return tuple(m for m in instruction.modifiers if m in TYPES)


def space(instruction: Instruction) -> str:
    """State space of a memory instruction without its window (`shared::cta` is `shared`); '' means generic addresses."""
    return next((s for s in (m.partition("::")[0] for m in instruction.modifiers) if s in SPACES), "")


_STRONG = frozenset({"acquire", "release", "acq_rel", "sc", "volatile", "relaxed", "mmio"})
_ORDERING = frozenset({"acquire", "release", "acq_rel", "sc"})


def reads_memory(instruction: Instruction) -> bool:
    """Whether it may read memory; True for unknown instructions."""
    row = find_row(instruction)
    return row is None or row.reads_memory


def writes_memory(instruction: Instruction) -> bool:
    """Whether it may change memory; True for unknown instructions."""
    row = find_row(instruction)
    return row is None or row.writes_memory


def is_memory_barrier(instruction: Instruction) -> bool:
    """Whether other threads' accesses may become visible here (PTX ISA chapter 8): barriers, fences, waits, acquire and release
    accesses, calls; True for unknown instructions."""
    row = find_row(instruction)
    return row is None or row.orders_memory or not _ORDERING.isdisjoint(instruction.modifiers)


def is_strong(instruction: Instruction) -> bool:
    """Whether a memory access is volatile, relaxed, acquire, release or memory-mapped: never to be moved, merged or dropped."""
    return not _STRONG.isdisjoint(instruction.modifiers)
