"""Effects of instructions on memory: their kind of access, and what they may change."""

from __future__ import annotations

from warploom.ptx.symbolic import memory
from warploom.ptx.symbolic.memory import Access, AccessKind, Clobber
from warploom.ptx.symbolic.operations import PURE
from warploom.ptx.syntax import Instruction

_QUIET = frozenset({
    "prefetch", "prefetchu", "applypriority", "nanosleep", "pmevent", "brkpt", "bra", "brx", "ret", "exit", "trap", "vote",
    "match",
    "redux", "activemask", "elect", "shfl", "createpolicy", "mapa", "getctarank", "movmatrix", "mma", "istypep", "txq", "suq",
    "stacksave", "alloca", "setmaxnreg",
})  # fmt: skip
"""Opcodes that are not pure, but without effect on memory; results are unknown values."""
_READING = frozenset({"tex", "tld4", "suld", "ldmatrix"})
"""Opcodes that read memory in ways that the trace does not follow: results are unknown values."""
_ORDERING = frozenset({"bar", "barrier", "membar", "fence", "griddepcontrol"})


def is_quiet(instruction: Instruction) -> bool:
    """Whether it leaves memory alone, and its results are unknown values."""
    opcode = instruction.opcode
    return opcode in _QUIET or opcode in _READING or (opcode == "wmma" and "store" not in instruction.modifiers)


def vector_elements(instruction: Instruction) -> int:
    """2, 4 or 8 with `.v2`, `.v4`, `.v8`, else 1."""
    return next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)


def effect_of(instruction: Instruction) -> tuple[AccessKind, str, int | None]:
    """An instruction's effect on memory: its kind, the state space, and which operand is the address."""
    opcode = instruction.opcode
    space = memory.space_of(instruction)
    if opcode == "st" and "async" not in instruction.modifiers and "bulk" not in instruction.modifiers:
        return "store", space, 0
    if opcode == "red" and "async" not in instruction.modifiers:
        return "atomic", space, 0
    if opcode == "atom":
        return "atomic", space, 1
    if opcode in _ORDERING:
        return "order", "*", None
    if opcode == "cp":
        waits = {"wait_group", "wait_all"}.intersection(instruction.modifiers)
        if waits:
            return "order", "*", None
        if {"commit_group", "prefetch"}.intersection(instruction.modifiers):
            return "copy", "none", None
        return "copy", "*", 0
    if opcode == "call":
        return "call", "*", None
    return "unknown", "*", None


def effect_clobber(access: Access) -> Clobber | None:
    """The memory that the event may change; None: nothing."""
    if access.space == "none":
        return None
    precise = access.kind in ("store", "atomic") and access.is_weak
    if access.kind == "atomic":
        precise = not {"acquire", "release", "acq_rel", "sc"}.intersection(access.qualifiers)
    if access.kind == "store" and "param" in (access.space,):
        return Clobber(access.index, "param", None, 0)
    if precise:
        return Clobber(access.index, access.space, access.address, max(access.size_bytes, 16 if access.bits == 0 else 0))
    return Clobber(access.index, "*", None, 0)


def written_spaces(instructions: tuple[Instruction, ...]) -> frozenset[str]:
    """Spaces that the instructions may write, or order against other threads: '*' for all."""
    found: set[str] = set()
    for instruction in instructions:
        opcode = instruction.opcode
        if opcode in PURE or opcode in ("mov", "cvta") or is_quiet(instruction):
            continue
        if opcode in ("ld", "ldu"):
            if "acquire" in instruction.modifiers:
                found.add("*")
            continue
        kind, space, _ = effect_of(instruction)
        if space != "none":
            found.add(space if kind in ("store", "atomic") else "*")
    return frozenset(found)
