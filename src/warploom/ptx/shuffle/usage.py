"""Work of one warp while it runs a kernel: slots, lanes and sectors, summed over its instructions.

Counts are of PTX; an instruction that ptxas expands counts as often as the expansion has instructions. A loop whose trips are
unknown counts `LOOP_TRIPS` times. Global accesses are taken as coalesced.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.machines import LINE_BYTES, SECTOR_BYTES, WARP_LANES, Requests, Work
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


def work_of(routine: Routine, graph: FlowGraph) -> Work:
    """Work of one warp in one pass through every block, loops repeated."""
    amounts: dict[str, float] = dict.fromkeys(("issued", "floats", "doubles", "shuffles"), 0.0)
    requests: list[Requests] = []
    for block in graph.blocks:
        weight = block_weight(graph, block.index)
        for index in range(block.start, block.end):
            _add(amounts, requests, routine.instructions[index], weight)
    issued, floats, doubles, shuffles = (amounts[name] for name in ("issued", "floats", "doubles", "shuffles"))
    return Work(issued=issued, floats=floats, doubles=doubles, shuffles=shuffles, requests=tuple(requests))


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


def request_of(instruction: Instruction, times: float) -> Requests:
    """The requests of a load or store to the load and store units; one that is not of global memory takes whole lines."""
    if not is_global_access(instruction):
        return Requests(times, LINE_BYTES / SECTOR_BYTES)
    return Requests(times, sectors(instruction), is_read_only=instruction.opcode == "ld" and "nc" in instruction.modifiers)


def _add(amounts: dict[str, float], requests: list[Requests], instruction: Instruction, weight: float) -> None:
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
    amounts["issued"] += slots * weight
    if opcode in ("shfl", "vote", "match", "redux", "activemask"):
        amounts["shuffles"] += weight
    elif is_global_access(instruction) or opcode in ("ld", "st"):
        requests.append(request_of(instruction, weight))
    elif type_name == "f64":
        amounts["doubles"] += slots * weight
    elif type_name in ("f32", "f16x2", "bf16x2", "f16", "bf16"):
        amounts["floats"] += slots * weight
