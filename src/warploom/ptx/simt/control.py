"""Instructions that end a segment: branches, returns, exits, calls, barriers."""

from __future__ import annotations

import numpy as np

from warploom.ptx.flow import branch_targets
from warploom.ptx.simt import calls
from warploom.ptx.simt.barriers import decode_barrier
from warploom.ptx.simt.code import Code, End, Group, RunningBlocks, Segment
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.syntax import Name, operand_text


def fall_through(code: Code, segment: Segment) -> End:
    if not segment.successors:
        return _leave
    following = segment.successors[0]

    def go_on(group: Group, running: RunningBlocks) -> int:
        return following

    return go_on


def decode_end(site: Site, segment: Segment) -> End:
    """The end of a segment whose last instruction is the site's."""
    instruction = site.instruction
    code = site.code
    match instruction.opcode:
        case "bra":
            (target,) = (code.segment_at[p] for p in branch_targets(code.routine, site.index))
            if instruction.guard is None:
                return lambda group, running: target
            return _branch(site, code, target, code.segment_at[site.index + 1])
        case "ret":
            return _guarded(site, code, calls.give_back)
        case "exit":
            return _guarded(site, code, _leave)
        case "trap" | "brkpt":
            return _guarded(site, code, _trap(site))
        case "brx":
            return _guarded(site, code, _indexed(site))
        case "call":
            return _guarded(site, code, calls.decode_call(site, segment, code.segment_at[site.index + 1]))
        case "bar" | "barrier":
            return _guarded(site, code, decode_barrier(site, code.segment_at[site.index + 1]))
        case _:
            raise AssertionError(f"{instruction.name} ends no segment")


def _leave(group: Group, running: RunningBlocks) -> int:
    running.leave(group)
    return -1


def _branch(site: Site, code: Code, target: int, following: int) -> End:
    guard = site.instruction.guard
    assert guard is not None
    slot = code.slots[guard.name]
    negated = guard.negated
    index = site.index
    if target == following:
        return lambda group, running: target

    def branch(group: Group, running: RunningBlocks) -> int:
        flags = value_of(group.registers, slot)
        if flags.ndim == 0:
            return target if bool(flags) != negated else following
        count = int(np.count_nonzero(flags))
        if negated:
            count = group.size - count
        if count == group.size:
            return target
        if count == 0:
            return following
        taken = ~flags if negated else flags
        if running.launch.counter is not None:
            running.launch.counter.divergence(code, index, group, taken)
        running.push(group.part(np.flatnonzero(taken), code.segments[target].live_in), target)
        running.push(group.part(np.flatnonzero(~taken), code.segments[following].live_in), following)
        return -1

    return branch


def _trap(site: Site) -> End:
    code, index = site.code, site.index

    def trap(group: Group, running: RunningBlocks) -> int:
        raise running.fault("trap", f"{site.instruction.name} reached", code, index, int(group.threads[0]))

    return trap


def _indexed(site: Site) -> End:
    """brx.idx: each thread to the label that its index picks."""
    code, routine = site.code, site.code.routine
    last = site.instruction.operands[-1]
    if not isinstance(last, Name) or last.text not in routine.targets:
        raise site.wrong("the label of a .branchtargets list", operand_text(last))
    branch_targets(routine, site.index)
    targets = [code.segment_at[routine.labels[name]] for name in routine.targets[last.text]]
    slot = site.source(site.instruction.operands[0], "u32")

    def branch(group: Group, running: RunningBlocks) -> int:
        choices = value_of(group.registers, slot)
        distinct = np.unique(choices) if choices.ndim else choices.reshape(1)
        if distinct[-1] >= len(targets):
            position = int(np.argmax(choices >= len(targets))) if choices.ndim else 0
            message = f"index {int(distinct[-1])} of {len(targets)} branch targets"
            raise running.fault("bad_call", message, code, site.index, int(group.threads[position]))
        if len(distinct) == 1:
            return targets[int(distinct[0])]
        if running.launch.counter is not None:
            running.launch.counter.divergence(code, site.index, group, choices == distinct[0])
        for choice in distinct:
            target = targets[int(choice)]
            running.push(group.part(np.flatnonzero(choices == choice), code.segments[target].live_in), target)
        return -1

    return branch


def _guarded(site: Site, code: Code, end: End) -> End:
    """The end under a guard: only the threads whose guard holds take it; the others fall through."""
    guard = site.instruction.guard
    if guard is None:
        return end
    slot = code.slots[guard.name]
    negated = guard.negated
    following = code.segment_at[site.index + 1]

    def some(group: Group, running: RunningBlocks) -> int:
        flags = value_of(group.registers, slot)
        if flags.ndim == 0:
            return end(group, running) if bool(flags) != negated else following
        taken = ~flags if negated else flags
        if not taken.any():
            return following
        rest = np.flatnonzero(~taken)
        if len(rest):
            running.push(group.part(rest, code.segments[following].live_in), following)
            group = group.part(np.flatnonzero(taken))
        index = end(group, running)
        if index >= 0:
            running.push(group, index)
        return -1

    return some
