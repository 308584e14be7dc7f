"""Registers on the way to shared memory: what threads copy there moves with them otherwise than what they compute with.

How an array moves from thread to thread is learnt once (`alike`), so not from such copies, each of which is made by itself.
"""

from __future__ import annotations

from warploom.ptx import Routine
from warploom.ptx.instructions import destinations, sources


def passed_to_shared(routine: Routine) -> frozenset[str]:
    """The registers that are stored to shared memory, as they are or converted, and used for nothing else."""
    converted: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    stored, used = set[str](), set[str]()
    for instruction in routine.instructions:
        if instruction.opcode == "st" and "shared" in instruction.modifiers:
            stored.update(sources(instruction))
        elif instruction.opcode in ("cvt", "mov"):
            converted.append((destinations(instruction), sources(instruction)))
        else:
            used.update(sources(instruction))
    left = -1
    while left != len(used):  # until nothing else is used otherwise by way of another register
        left = len(used)
        for made, of in reversed(converted):
            if not stored.issuperset(made) or not used.isdisjoint(made):
                used.update(of)
            else:
                stored.update(of)
    return frozenset(stored - used)
