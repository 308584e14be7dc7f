"""Registers on the way from an array to shared memory: such copies move with the threads otherwise than what they compute with.

How an array moves from thread to thread is learnt once (`alike`), so not from such copies, each of which is made by itself.
"""

from __future__ import annotations

from enum import IntEnum

from warploom.ptx import Routine
from warploom.ptx.instructions import destinations, sources
from warploom.ptx.syntax import Instruction

_COMPUTING = frozenset({
    "abs", "add", "and", "bfe", "cvt", "div", "ex2", "fma", "lg2", "mad", "max", "min", "mov", "mul", "neg", "or", "prmt", "rcp",
    "rsqrt", "selp", "setp", "shl", "shr", "sqrt", "sub", "tanh", "xor",
})  # fmt: skip


class _Origin(IntEnum):
    """From where the numbers in a register come; of several the greatest."""

    NUMBERS = 0
    ARRAYS = 1
    OTHERS = 2
    """Shared memory, other threads."""


def passed_to_shared(routine: Routine) -> frozenset[str]:
    """The registers that are computed from elements of arrays, each thread for itself, and serve nothing but stores to shared
    memory."""
    origins: dict[str, _Origin] = {}
    for instruction in routine.instructions:
        read = () if instruction.opcode == "ld" else sources(instruction)
        origin = max((_origin(instruction), *(origins.get(name, _Origin.NUMBERS) for name in read)))
        for name in destinations(instruction):
            origins[name] = max(origin, origins.get(name, origin))
    stored, used = set[str](), set[str]()
    computing: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for instruction in reversed(routine.instructions):
        if instruction.opcode == "st" and "shared" in instruction.modifiers:
            stored.update(sources(instruction))
        elif instruction.opcode in _COMPUTING:
            computing.append((destinations(instruction), sources(instruction)))
        else:
            used.update(sources(instruction))
    left = -1
    while left != len(used):  # until nothing else is used otherwise by way of another register
        left = len(used)
        for made, of in computing:
            (used if not stored.issuperset(made) or not used.isdisjoint(made) else stored).update(of)
    return frozenset(name for name in stored - used if origins.get(name) is _Origin.ARRAYS)


def _origin(instruction: Instruction) -> _Origin:
    """The origin of what it reads beside registers; wherever an element lies."""
    if instruction.opcode == "ld" and "shared" not in instruction.modifiers:
        return _Origin.NUMBERS if "param" in instruction.modifiers else _Origin.ARRAYS
    return _Origin.NUMBERS if instruction.opcode in _COMPUTING else _Origin.OTHERS
