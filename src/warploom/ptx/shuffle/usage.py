"""Resources that one warp uses while it runs a kernel: slots, lanes and sectors, summed over its instructions.

Counts are of PTX; an instruction that ptxas expands counts as often as the expansion has instructions. A loop whose trips are
unknown counts `LOOP_TRIPS` times. Global accesses are taken as coalesced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom.machines import SECTOR_BYTES, WARP_LANES
from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.syntax import Instruction, Vector

LOOP_TRIPS = 8

_EXPANSIONS: Mapping[tuple[str, str], int] = {
    ("div", "f32"): 9, ("rcp", "f32"): 6, ("sqrt", "f32"): 8, ("div", "f64"): 20, ("rcp", "f64"): 15, ("sqrt", "f64"): 18,
    ("div", "s32"): 16, ("div", "u32"): 14, ("rem", "s32"): 18, ("rem", "u32"): 16, ("div", "s64"): 60, ("div", "u64"): 55,
    ("rem", "s64"): 62, ("rem", "u64"): 57,
}  # fmt: skip
"""SASS instructions of operations that have no instruction of their own, counted in sm_75 code of CUDA 13.0."""
_APPROXIMATE = frozenset({"approx", "full"})
_FREE = frozenset({"cvta", "membar", "fence"})
_CALL_SLOTS = 20


@dataclass(slots=True)
class Usage:
    """Usage per warp."""

    slots: float = 0.0
    """Instructions to issue."""
    float_slots: float = 0.0
    """Slots for f32 arithmetic, part of those above."""
    double_slots: float = 0.0
    """Slots for f64 arithmetic, part of those above."""
    plain: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """Requests of the load and store units that are no `ld.global.nc`: (how often, sectors)."""
    read_only: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """`ld.global.nc`: (how often, sectors)."""
    shuffles: float = 0.0


def usage_of(routine: Routine, graph: FlowGraph) -> Usage:
    """Usage of one pass through every block, loops repeated."""
    found = Usage()
    for block in graph.blocks:
        weight = block_weight(graph, block.index)
        for index in range(block.start, block.end):
            _add(found, routine.instructions[index], weight)
    return found


def block_weight(graph: FlowGraph, block: int) -> float:
    """How often a warp is assumed to execute the block."""
    return float(LOOP_TRIPS ** len(graph.loop_nest(block)))


def sectors(instruction: Instruction) -> float:
    """Sectors of a coalesced access of a whole warp at an address that is not aligned to a sector."""
    width = next((TYPE_BITS[m] for m in reversed(instruction.modifiers) if m in TYPE_BITS), 32)
    elements = next((len(o.elements) for o in instruction.operands if isinstance(o, Vector)), 1)
    return width // 8 * elements * WARP_LANES / SECTOR_BYTES + 1


def is_global_access(instruction: Instruction) -> bool:
    return instruction.opcode in ("ld", "st", "red", "atom", "ldu") and "global" in instruction.modifiers


def _add(found: Usage, instruction: Instruction, weight: float) -> None:
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in _FREE or (opcode == "ld" and "param" in modifiers):
        return
    type_name = next((m for m in reversed(modifiers) if m in TYPE_BITS), "")
    slots = 1.0
    if opcode == "call":
        slots = _CALL_SLOTS
    elif not _APPROXIMATE & set(modifiers):
        slots = _EXPANSIONS.get((opcode, type_name), 1)
    elif opcode == "div":
        slots = 2
    if type_name in ("s64", "u64", "b64") and opcode in ("add", "sub", "and", "or", "xor", "not", "selp", "min", "max", "neg"):
        slots = 2
    elif type_name in ("s64", "u64") and opcode in ("mul", "mad") and "wide" not in modifiers:
        slots = 4
    found.slots += slots * weight
    if opcode in ("shfl", "vote", "match", "redux", "activemask"):
        found.shuffles += weight
    elif is_global_access(instruction):
        entry = (weight, sectors(instruction))
        (found.read_only if opcode == "ld" and "nc" in modifiers else found.plain).append(entry)
    elif opcode in ("ld", "st"):
        found.plain.append((weight, 4.0))
    elif type_name == "f64":
        found.double_slots += slots * weight
    elif type_name in ("f32", "f16x2", "bf16x2", "f16", "bf16"):
        found.float_slots += slots * weight
