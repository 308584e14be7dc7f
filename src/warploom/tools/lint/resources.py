"""Resources of a thread and a block, by ptxas: spills, local memory, and how many warps fit on a multiprocessor."""

from __future__ import annotations

import re

from warploom.core import UserError
from warploom.gpu import assemble, registers_used, spilled
from warploom.machines import architecture, resident_warps
from warploom.tools.lint.findings import Found
from warploom.tools.lint.rules import BY_NAME
from warploom.tools.lint.sources import Source

_ENOUGH = 0.5
"""Share of the warps of a full multiprocessor, from which on nothing is said."""


def resources(source: Source, kernel: str, arch: str, threads: int, shared_bytes: int) -> list[Found]:
    """Findings of ptxas on the kernel, for blocks of `threads` threads with `shared_bytes` bytes of dynamic shared memory; none
    where it is not installed or refuses the file."""
    try:
        _, log = assemble(source.ptx, arch, options=(f"--entry={kernel}",))
    except UserError:
        return []
    routine = source.program.routines[kernel]
    line = routine.span(0).line
    found: list[Found] = []

    def tell(rule: str, message: str) -> None:
        found.append(Found(BY_NAME[rule], message, source.places(line)[-1:], kernel, line))

    stores, loads = spilled(log, kernel)
    if stores + loads:
        tell("spills", f"{stores} bytes of spill stores and {loads} bytes of spill loads of each thread on {arch}")
    own = log.partition(f"Function properties for {kernel}\n")[2]
    stack = _number(r"(\d+) bytes stack frame", own.partition("\n")[0])
    if stack and not stores + loads:
        tell("local-memory", f"{stack} bytes of local memory for each thread on {arch}")
    used = own.partition("\n")[2].partition("\n")[0]
    registers, static = max(registers_used(used), default=0), _number(r"(\d+) bytes smem", used)
    told = occupancy_text(arch, registers, static + shared_bytes, threads)
    if told:
        tell("low-occupancy", told)
    return found


def occupancy_text(arch: str, registers: int, shared_bytes: int, threads: int) -> str:
    """Text that names what keeps the multiprocessor less than half full; empty where it is not, or where its limits are
    unknown."""
    try:
        on = architecture(arch)
        warps = resident_warps(on, registers, shared_bytes, threads)
        others = {
            f"{registers} registers of each thread": resident_warps(on, 0, shared_bytes, threads),
            f"{shared_bytes:,} bytes of shared memory of each block": resident_warps(on, registers, 0, threads),
        }
    except (UserError, ValueError):
        return ""
    most = on.limits.max_warps
    why = [what for what, without in others.items() if without > warps]
    if warps >= _ENOUGH * most or not why:
        return ""
    return f"{warps} of {most} warps fit on a multiprocessor of {arch}, because of {' and '.join(why)}"


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else 0
