"""`warploom ptx trace`: the symbolic memory trace of every kernel, in the style of PTXASW's Listing 5."""

from __future__ import annotations

import re
from collections.abc import Iterator

from warploom.ptx import Routine, lower
from warploom.ptx.symbolic import Access, Emulation, EmulationOptions, LaunchLimits, emulate, term_text
from warploom.ptx.syntax import Module

_WORDS = {"load": "LD", "store": "ST", "atomic": "ATOM", "copy": "COPY", "order": "SYNC", "call": "CALL", "unknown": "ANY"}


def trace_text(
    module: Module,
    *,
    kernel: str | None = None,
    limits: LaunchLimits | None = None,
    extensions: bool = False,
    assume_nsw: bool = False,
) -> str:
    """Addresses in the order of execution, hexadecimal, with loads of parameters as `load(param2)` and iteration numbers as
    `iteration(block)`; conditions and recurrences stand where a block begins.

    `kernel`: only that one; UserError (NO_KERNEL) if there is none. `extensions`: show sign and zero extensions."""
    blocks: list[str] = []
    program = lower(module)
    for routine in program.routines.values() if kernel is None else [program.kernel(kernel)]:
        emulation = emulate(routine, limits, EmulationOptions(assume_nsw=assume_nsw))
        blocks.append("\n".join(_routine_lines(routine, emulation, extensions)))
    return "\n\n".join(blocks) + "\n"


def _routine_lines(routine: Routine, emulation: Emulation, extensions: bool) -> Iterator[str]:
    names = re.compile(rf"\b{re.escape(routine.name)}_param_(\d+)\b")

    def shown(text: str) -> str:
        return names.sub(r"param\1", text)

    yield f"{'kernel' if routine.is_entry else 'function'} {routine.name}"
    accesses = [a for a in emulation.trace if a.space != "param"]
    for block in emulation.order:
        own = [a for a in accesses if a.block == block]
        steps = emulation.steps.get(block, {})
        if not own and not steps:
            continue
        indent = "  " * (1 + len(emulation.graph.loop_nest(block)))
        if steps:
            yield f"{indent[2:]}loop {block}"
        for register, step in sorted(steps.items()):
            yield shown(f"{indent}{register} += {term_text(step, extensions=extensions)}")
        if own and (path := emulation.path_condition(block)):
            yield shown(f"{indent}// if {' and '.join(term_text(p, extensions=extensions) for p in path)}")
        for access in own:
            yield shown(indent + _access_text(emulation, access, extensions))
    for assumption in emulation.assumptions:
        yield shown(f"  // assumed not to wrap: {term_text(assumption.term, extensions=extensions)}")


def _access_text(emulation: Emulation, access: Access, extensions: bool) -> str:
    routine = emulation.routine
    instruction = routine.instructions[access.instruction]
    address = "?" if access.address is None else term_text(access.address, extensions=extensions)
    guard = "" if access.guard.value == 1 else f"@{term_text(access.guard, extensions=extensions)} "
    line = routine.span(access.instruction).line
    if access.kind in ("order", "call"):
        return f"{guard}{_WORDS[access.kind]} // {instruction.name}, line {line}"
    writer = emulation.trace[access.version - 1].instruction if access.version else None
    after = "" if writer is None else f", after line {routine.span(writer).line}"
    return f"{guard}{_WORDS[access.kind]}: {address} // {instruction.name}, line {line}{after}"
