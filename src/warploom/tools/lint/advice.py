"""Notes on a kernel: facts worth knowing, none of which is a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from warploom.ptx import Counts, FlowGraph, Place, Routine, flow_graph
from warploom.ptx.instructions import FLOAT, HALF, is_memory_barrier, reads_memory, space, writes_memory
from warploom.ptx.syntax import Instruction, Integer
from warploom.tools.lint.findings import Found
from warploom.tools.lint.rules import BY_NAME
from warploom.tools.lint.sources import Source

_OWN = frozenset({"local", "param", "const"})
"""Spaces that no other thread writes."""


def advice(counts: Counts, source: Source, kernel: str) -> list[Found]:
    """Notes on what ran in a launch with these counts."""
    routine = source.program.routines[kernel]
    found: list[Found] = []

    def tell(rule: str, line: int, message: str, count: int = 1) -> None:
        found.append(Found(BY_NAME[rule], message, source.places(line), kernel, line, count=count))

    for n, instruction in enumerate(routine.instructions):
        line = routine.span(n).line
        counted = counts.by_line.get(line)
        if counted is not None and counted.threads and is_float_sum(instruction):
            tell("float-atomic", line, f"{instruction.name}: which thread adds first is open, and with it how the sum is rounded")
    for line, counted in counts.by_line.items():
        if counted.equal_stores:
            message = f"{counted.equal_stores:,} elements are stored again by another lane of the same warp, with the same value"
            tell("equal-stores", line, message, counted.equal_stores)
    idle = set(idle_barriers(routine))
    by_place: dict[tuple[Place, ...], list[int]] = {}
    for n, instruction in enumerate(routine.instructions):
        if _is_barrier(instruction):
            by_place.setdefault(source.places(routine.span(n).line), []).append(n)
    for barriers in by_place.values():
        if idle.issuperset(barriers):  # in each round of a loop that is unrolled
            message = "no access before the barrier meets one after it in one kind of memory"
            tell("idle-barrier", routine.span(barriers[0]).line, message)
    return found


def is_float_sum(instruction: Instruction) -> bool:
    is_atomic = instruction.opcode in ("atom", "red") and "add" in instruction.modifiers
    return is_atomic and bool((FLOAT | HALF) & set(instruction.modifiers))


def idle_barriers(routine: Routine) -> Iterator[int]:
    """Barriers of the block that order nothing, all of them together: on the ways to one from the barriers that stay, and from
    it to those behind, no two accesses touch shared memory, or global memory, with one of them writing. Barriers that no way
    joins, as those of two branches, may meet, and count as one.
    """
    graph = flow_graph(routine)
    barriers = [n for n, i in enumerate(routine.instructions) if _is_whole(i) and graph.block_of(n) in graph.order]
    later = {n: _touched(routine, graph, n, frozenset(), is_forward=True)[1] for n in barriers}
    stays = frozenset(barriers)
    for barrier in barriers:
        meeting = [n for n in barriers if n == barrier or (n not in later[barrier] and barrier not in later[n])]
        before, after = (
            _joined([_touched(routine, graph, n, stays - {barrier}, is_forward=way)[0] for n in meeting]) for way in (False, True)
        )
        if before is None or after is None:
            continue
        if not any(s == t and "write" in (one, other) for s, one in before for t, other in after):
            stays -= {barrier}
            yield barrier


def _is_barrier(instruction: Instruction) -> bool:
    return instruction.opcode in ("bar", "barrier") and not {"warp", "cluster"} & set(instruction.modifiers)


def _is_whole(instruction: Instruction) -> bool:
    """Whether all threads of the block wait for each other there, if they come there."""
    is_alone = [type(o) for o in instruction.operands] == [Integer] and instruction.guard is None
    return _is_barrier(instruction) and is_alone and "sync" in instruction.modifiers


Kinds: TypeAlias = frozenset[tuple[str, str]]


def _joined(parts: Iterable[Kinds | None]) -> Kinds | None:
    found: Kinds = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _touched(
    routine: Routine, graph: FlowGraph, barrier: int, stops: frozenset[int], *, is_forward: bool
) -> tuple[Kinds | None, frozenset[int]]:
    """(kinds of memory and whether they are read or written up to the next stops, None where more is ordered, instructions)."""
    block = graph.block_of(barrier)
    found: set[tuple[str, str]] = set()
    passed: set[int] = set()
    is_more = False
    seen: set[int] = set()
    own = graph.blocks[block]
    waiting = [(block, list(range(barrier + 1, own.end) if is_forward else range(barrier - 1, own.start - 1, -1)))]
    while waiting:
        at, positions = waiting.pop()
        for n in positions:
            if n in stops:
                break
            passed.add(n)
            instruction = routine.instructions[n]
            if _is_barrier(instruction):
                continue
            kinds = _kinds(instruction)
            is_more |= kinds is None
            found.update(kinds or ())
        else:
            for other in graph.blocks[at].successors if is_forward else graph.predecessors[at]:
                if other not in seen:
                    seen.add(other)
                    whole = range(graph.blocks[other].start, graph.blocks[other].end)
                    waiting.append((other, list(whole if is_forward else reversed(whole))))
    return None if is_more else frozenset(found), frozenset(passed)


def _kinds(instruction: Instruction) -> list[tuple[str, str]] | None:
    where = space(instruction)
    if where in _OWN:
        return []
    reads, writes = reads_memory(instruction), writes_memory(instruction)
    if is_memory_barrier(instruction) or (instruction.opcode not in ("ld", "ldu", "st", "atom", "red") and (reads or writes)):
        return None
    spaces = [where] if where else ["shared", "global"]
    return [(s, how) for s in spaces for how, does in (("read", reads), ("write", writes)) if does]


def repeated_loads(source: Source, kernel: str) -> list[Found]:
    """Loads of what another lane of the warp has loaded, which a shuffle brings in every launch."""
    from warploom.ptx.shuffle import shuffle  # brings a solver, which `lint` without this rule does not need

    reports = shuffle(source.program.module).reports
    return [
        Found(
            BY_NAME["repeated-load"],
            f"the lane at distance {one.delta} in x has loaded it already",
            source.places(one.line), kernel, one.line, others=(("its load", source.places(one.source_line)),),
        )
        for report in reports if report.kernel == kernel for one in report.shuffles
    ]  # fmt: skip
