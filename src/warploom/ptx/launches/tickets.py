"""Numbers that threads draw from a counter by `atom.add`: no two threads get the same.

The counter is one place in memory, each draw adds the same positive constant, and nothing else makes it smaller after a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from warploom.ptx.symbolic import Access, Emulation, Term, signed, subterms

_WHOLE = frozenset({"u32", "s32", "u64", "s64"})


@dataclass(frozen=True, slots=True)
class Ticket:
    """The number that one thread gets by one draw."""

    apart: int
    """Any two of them differ by so much at least."""
    is_of_block: bool
    """Each block has a counter of its own."""


def tickets(
    emulation: Emulation, base_of: Callable[[Access], Term | None], is_same_everywhere: Callable[[Term], bool]
) -> Mapping[Term, Ticket]:
    """By the value that the instruction gives. `base_of`: the array that an access belongs to; None: it is not known."""
    writing = [a for a in emulation.trace if a.kind not in ("load", "order") and a.space not in ("local", "param", "none")]
    found: dict[Term, Ticket] = {}
    for access in writing:
        amount = _amount(emulation, access)
        base = base_of(access)
        if amount is None or amount <= 0 or base is None or access.address is None or not is_same_everywhere(access.address):
            continue
        if all(_leaves_alone(emulation, access, other, base, base_of(other)) for other in writing):
            for value in _drawn(emulation, access):
                found[value] = Ticket(amount, "shared" in (access.space, _space(emulation, base)))
    return found


def _space(emulation: Emulation, base: Term) -> str:
    names = [str(part.data[0]) for part in subterms(base) if part.op == "address"]
    return next((v.space for v in emulation.routine.variables.values() if v.name in names), "global" if not names else "shared")


def _amount(emulation: Emulation, access: Access) -> int | None:
    """The constant that an atomic operation adds."""
    instruction = emulation.routine.instructions[access.instruction]
    position = {"atom": 2, "red": 1}.get(instruction.opcode)
    if position is None or "add" not in instruction.modifiers or access.type not in _WHOLE:
        return None
    value = emulation.value(access.instruction, instruction.operands[position]).value
    return None if value is None else signed(value, access.bits)


def _leaves_alone(emulation: Emulation, draw: Access, other: Access, base: Term, of: Term | None) -> bool:
    """Whether the other access never gives back numbers that were drawn."""
    if of is not None and of is not base:
        return True
    amount = _amount(emulation, other)
    if amount is not None and amount >= 0 and other.bits == draw.bits:
        return True
    return other.kind == "store" and not _may_follow(emulation, draw, other)


def _may_follow(emulation: Emulation, draw: Access, store: Access) -> bool:
    """Whether a thread may come from the draw to the store."""
    if draw.block == store.block and draw.instruction < store.instruction:
        return True
    seen: set[int] = set()
    waiting = list(emulation.graph.blocks[draw.block].successors)
    while waiting:
        block = waiting.pop()
        if block == store.block:
            return True
        if block not in seen:
            seen.add(block)
            waiting += emulation.graph.blocks[block].successors
    return False


def _drawn(emulation: Emulation, access: Access) -> Iterator[Term]:
    results = emulation.blocks[access.block].results.get(access.instruction, {})
    for register, value in results.items():
        for part in subterms(value):
            if part.op == "opaque" and part.data[0] == f"{register}@{access.instruction}":
                yield part
