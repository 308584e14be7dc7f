"""Decides whether all lanes that stand together in a loop are in the same iteration.

Lanes part at branches that they decide differently. A branch inside a loop keeps them aligned when it is decided alike by all
(uniform), when at most one of its successors stays in the loop (those who leave do not come back), or when whoever stays runs
through a common block before the next iteration (lanes wait there for each other, or never meet again).
"""

from __future__ import annotations

from warploom.ptx.flow import FlowGraph, Loop
from warploom.ptx.symbolic import Emulation, Term
from warploom.ptx.syntax import Name


def aligned_loops(emulation: Emulation) -> frozenset[int]:
    """Headers of the loops in which lanes that stand together are in the same iteration.

    By induction over the iterations: the answer starts with all loops and drops those whose branches, given the answer, may
    part the lanes, until none is dropped.
    """
    graph = emulation.graph
    aligned = frozenset(graph.loops) if graph.is_reducible else frozenset[int]()
    while True:
        kept = frozenset(h for h in aligned if parting_block(emulation, graph.loops[h], aligned) is None)
        if kept == aligned:
            return aligned
        aligned = kept


def parting_block(emulation: Emulation, loop: Loop, aligned: frozenset[int]) -> int | None:
    """A block of the loop after which lanes may get into different iterations, if `aligned` loops are; None: there is none."""
    graph = emulation.graph
    for block in sorted(loop.blocks):
        staying = [s for s in graph.blocks[block].successors if s in loop.blocks]
        if len(staying) > 1 and not _rejoins(graph, loop, block, staying) and not _is_decided_alike(emulation, block, aligned):
            return block
    return None


def _is_decided_alike(emulation: Emulation, block: int, aligned: frozenset[int]) -> bool:
    """Whether lanes that stand together at the end of the block go on together."""
    at = emulation.graph.blocks[block].end - 1
    instruction = emulation.routine.instructions[at]
    deciding = [] if instruction.guard is None else [Name(instruction.guard.name)]
    if instruction.opcode == "brx":
        deciding += [o for o in instruction.operands[:1] if isinstance(o, Name)]
    if block not in emulation.blocks:
        return True  # never reached
    return bool(deciding) and all(is_alike(emulation, emulation.value(at, name), aligned) for name in deciding)


def is_alike(emulation: Emulation, term: Term, aligned: frozenset[int]) -> bool:
    """Whether lanes that stand together have the same value of a term, if they are aligned in these loops."""
    if emulation.is_uniform(term):
        return True
    match term.op:
        case "counter":
            return int(term.data[0]) in aligned
        case "special" | "loop" | "opaque" | "other" | "parameter":
            return False
        case "load" if term.data[2] != "read-only":
            return False
        case _:
            return bool(term.args) and all(is_alike(emulation, a, aligned) for a in term.args)


def _rejoins(graph: FlowGraph, loop: Loop, block: int, starts: list[int]) -> bool:
    """Whether some block lies on every path from the starts, successors of `block`, to the next iteration."""
    meeting = graph.post_dominator[block]
    if meeting is not None and meeting in loop.blocks and meeting != loop.header:
        seen, stack = {*starts, meeting}, [start for start in starts if start != meeting]
        while stack and loop.header not in seen:
            fresh = [s for s in _inside(graph, loop, stack.pop()) if s not in seen]
            seen.update(fresh)
            stack += fresh
        if loop.header not in seen:
            return True  # mostly: the two ways meet soon
    return _must_pass(graph, loop, starts)


def _must_pass(graph: FlowGraph, loop: Loop, starts: list[int]) -> bool:
    """Whether some block other than the header lies on every path from the starts to the header.

    Such a block lies on any one path, so one is taken: its blocks in order are tried by what the starts and the blocks before
    reach without it. Each edge is walked once.
    """
    path = _path(graph, loop, starts)
    if path is None:
        return any(start != loop.header for start in starts)
    place = {block: number for number, block in enumerate(path)}
    seen: set[int] = set()
    furthest = -1
    begin = starts
    for number, block in enumerate(path[:-1]):
        stack = list(begin)
        while stack:
            reached = stack.pop()
            if reached in place:
                furthest = max(furthest, place[reached])
            elif reached not in seen:
                seen.add(reached)
                stack += _inside(graph, loop, reached)
        if furthest == number:
            return True
        begin = _inside(graph, loop, block)
    return False


def _inside(graph: FlowGraph, loop: Loop, block: int) -> list[int]:
    return [successor for successor in graph.blocks[block].successors if successor in loop.blocks]


def _path(graph: FlowGraph, loop: Loop, starts: list[int]) -> list[int] | None:
    """A path of blocks from a start to the header, which is its last; None: there is none."""
    before: dict[int, int | None] = dict.fromkeys(starts)
    queue = list(before)
    for block in queue:
        if block == loop.header:
            found = [block]
            while (previous := before[found[-1]]) is not None:
                found.append(previous)
            return found[::-1]
        for successor in _inside(graph, loop, block):
            if successor not in before:
                before[successor] = block
                queue.append(successor)
    return None
