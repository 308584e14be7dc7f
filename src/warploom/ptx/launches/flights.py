"""How long an asynchronous copy (`cp.async`) may go on: from where it is asked for to where its thread waits for it.

`cp.async.wait_group N` waits for all groups but the last N that the thread has committed (PTX ISA 9.7.9.25.3). So each way from
the copy is followed with the number of groups since its own, over barriers, until a wait that counts it. Where the copy is still
on its way at a barrier, the threads that go on from there may meet it; `Round` says by how many rounds of the common loops it
began earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from warploom.ptx.flow import FlowGraph
from warploom.ptx.launches.intervals import Intervals, Round, Rounds
from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Instruction, Integer

_LONGEST = 6
"""Rounds by which a copy may have begun earlier and is told from the others."""
_UNCOMMITTED = -1
_Since: TypeAlias = tuple[tuple[int, int | None], ...]
"""By header of a loop around the copy: rounds since; None: any number."""
_State: TypeAlias = tuple[int, _Since, _Since, int]
"""A block, rounds since in the loops around the copy, rounds of those that were entered after it, and groups since its own."""


@dataclass(frozen=True, slots=True)
class Flight:
    """How long one copy may be on its way."""

    at_barriers: Mapping[int, frozenset[Rounds]]
    """By barrier where it may be on its way: its rounds, counted from that barrier's."""
    passed: Mapping[int, frozenset[Rounds]]
    """By instruction that its own thread may run meanwhile: its rounds, counted from the copy's."""


def is_copy(instruction: Instruction) -> bool:
    """True for `cp.async` of up to 16 bytes, which a thread waits for by groups."""
    others = {"bulk", "mbarrier", "reduce", "commit_group", "wait_group", "wait_all"}
    return instruction.opcode == "cp" and "async" in instruction.modifiers and not others & set(instruction.modifiers)


def _is_wait(instruction: Instruction) -> bool:
    """Groups of bulk copies are others."""
    names = {*instruction.modifiers}
    return instruction.opcode == "cp" and bool({"wait_group", "wait_all"} & names) and "bulk" not in names


class Flights:
    """How long each copy of a routine may be on its way."""

    def __init__(self, routine: Routine, graph: FlowGraph, intervals: Intervals) -> None:
        self._routine = routine
        self._graph = graph
        self._barriers = frozenset(intervals.barriers)
        self._common = intervals.common
        waits = [i for i in routine.instructions if _is_wait(i)]
        self._most = max((o.value for i in waits for o in i.operands if isinstance(o, Integer)), default=0)
        reached = {n for block in graph.order for n in range(graph.blocks[block].start, graph.blocks[block].end)}
        self.of = {n: self._flight(n) for n, i in enumerate(routine.instructions) if is_copy(i) and n in reached}
        """By instruction."""

    def _flight(self, copy: int) -> Flight:
        at_barriers: dict[int, set[Rounds]] = {}
        passed: dict[int, set[Rounds]] = {}
        first = self._graph.block_of(copy)
        begun: _Since = tuple((h, 0) for h in self._graph.loop_nest(first))
        waiting: list[tuple[int, _State]] = [(copy + 1, (first, begun, (), _UNCOMMITTED))]
        seen: set[_State] = set()
        while waiting:
            position, (block, since, entered, groups) = waiting.pop()
            for n in range(position, self._graph.blocks[block].end):
                instruction = self._routine.instructions[n]
                if self._has_come(instruction, groups):
                    break
                if "commit_group" in instruction.modifiers:
                    if instruction.guard is not None:
                        waiting.append((n + 1, (block, since, entered, groups)))
                    groups = min(groups + 1, self._most)
                passed.setdefault(n, set()).add(self._from_copy(since, entered))
                if n in self._barriers:
                    at_barriers.setdefault(n, set()).add(self._seen_from(block, since, entered))
            else:
                for successor in self._graph.blocks[block].successors:
                    after = self._after(block, successor, since)
                    state = successor, after, self._entered(block, successor, entered, begun), groups
                    if state not in seen:
                        seen.add(state)
                        waiting.append((self._graph.blocks[successor].start, state))
        return Flight({n: frozenset(r) for n, r in at_barriers.items()}, {n: frozenset(s) for n, s in passed.items()})

    @staticmethod
    def _has_come(instruction: Instruction, groups: int) -> bool:
        if instruction.guard is not None or not _is_wait(instruction):
            return False
        if "wait_all" in instruction.modifiers:
            return True
        left = instruction.operands[0] if instruction.operands else None
        return isinstance(left, Integer) and groups >= left.value

    def _after(self, block: int, successor: int, since: _Since) -> _Since:
        """Rounds since the copy began, after an edge. A loop that is left or begun anew says nothing any more."""
        found: list[tuple[int, int | None]] = []
        is_lost = False
        nest = self._graph.loop_nest(successor)
        for header, rounds in since:
            loop = self._graph.loops[header]
            known = None if is_lost or rounds is None or header not in nest else rounds
            if header == successor and known is not None:
                known = known + 1 if block in loop.latches and known < _LONGEST else None
                is_lost = True
            found.append((header, known))
        return tuple(found)

    def _entered(self, block: int, successor: int, entered: _Since, begun: _Since) -> _Since:
        """Rounds of loops that do not hold the copy, after an edge."""
        nest = self._graph.loop_nest(successor)
        found = {h: n for h, n in entered if h in nest}
        if successor in self._graph.loops and successor not in dict(begun):
            known = found.get(successor)
            if block not in self._graph.loops[successor].latches:
                found[successor] = 0
            else:
                found[successor] = None if known is None or known >= _LONGEST else known + 1
        return tuple(sorted(found.items()))

    @staticmethod
    def _from_copy(since: _Since, entered: _Since) -> Rounds:
        rounds = [(h, Round(False, None) if n is None else Round(True, n)) for h, n in since]
        return (*rounds, *((h, Round(False, n)) for h, n in entered))

    def _seen_from(self, block: int, since: _Since, entered: _Since) -> Rounds:
        nest = self._graph.loop_nest(block)
        rounds = [
            (h, Round(False, None) if n is None or h not in nest else Round(True, -n)) for h, n in since if h in self._common
        ]
        return (*rounds, *((h, Round(False, n, True)) for h, n in entered if n is not None))
