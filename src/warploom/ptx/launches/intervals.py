"""Which accesses of two threads of a block may run between the same two barriers.

All threads of a block pass the same barriers in the same order (`decisions` says which branches must agree for that). So a thread
that has passed a barrier runs, up to its next one, along a path without a barrier. Accesses `a` and `b` of two threads can meet
only if both lie on such paths from one barrier, in one round of the loops around it, or from the kernel's entry.

A loop that holds a barrier is a *common* loop: its rounds are the same for all threads of the block. On the way from a barrier to
an access such a loop is in the barrier's own round, in the next one, or entered anew; `Round` says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Instruction, Integer

_MOST_ROUNDS = 1
"""Rounds after that of the barrier, or after the first, that are told apart."""


@dataclass(frozen=True, slots=True)
class Round:
    """Which round of a common loop an access is in."""

    is_relative: bool
    """True: counted from the round of the barrier; False: from the loop's first."""
    later: int | None
    """None: any later one."""


Rounds: TypeAlias = tuple[tuple[int, Round], ...]
"""By header of the common loops around an access, outermost first."""


def are_in_step(rounds: tuple[Rounds, Rounds]) -> bool:
    """Whether two accesses are in the same round of each common loop around them."""
    return rounds[0] == rounds[1] and all(round_.later is not None for _, round_ in rounds[0])


def is_barrier(instruction: Instruction) -> bool:
    """True for one that all threads of the block wait at (PTX ISA 9.7.13.1): no count of threads, a known number."""
    if instruction.opcode not in ("bar", "barrier") or "sync" not in instruction.modifiers or is_of_warp(instruction):
        return False
    return len(instruction.operands) == 1 and isinstance(instruction.operands[0], Integer)


def is_of_warp(instruction: Instruction) -> bool:
    """True for `bar.warp.sync` and `barrier.cluster`, which have nothing to do with barriers of a block."""
    return bool({"warp", "cluster"} & set(instruction.modifiers))


class Intervals:
    """The barriers of a routine, and what may run between them."""

    def __init__(self, routine: Routine, graph: FlowGraph) -> None:
        self._routine = routine
        self._graph = graph
        self.barriers = tuple(
            n
            for block in graph.order
            for n in range(graph.blocks[block].start, graph.blocks[block].end)
            if is_barrier(routine.instructions[n])
        )
        self._blocks = frozenset(graph.block_of(n) for n in self.barriers)
        self.common = frozenset(h for h, loop in graph.loops.items() if loop.blocks & self._blocks)
        """Headers of loops with a barrier."""

    def decisions(self) -> Iterator[int]:
        """Blocks whose last instruction decides whether a thread reaches a barrier: a barrier lies between it and the place
        where its ways meet again."""
        for block in self._graph.order:
            at = self._graph.blocks[block]
            last = self._routine.instructions[at.end - 1]
            ends = last.guard is not None and last.opcode in ("ret", "exit", "trap")
            if (len(at.successors) > 1 or ends) and self._between(block, ends=ends) & self._blocks:
                yield block

    def _between(self, block: int, *, ends: bool) -> set[int]:
        meeting = None if ends else self._graph.post_dominator[block]
        found: set[int] = set()
        waiting = [s for s in self._graph.blocks[block].successors if s != meeting]
        while waiting:
            top = waiting.pop()
            if top not in found:
                found.add(top)
                waiting += [s for s in self._graph.blocks[top].successors if s != meeting]
        return found

    def starts(self) -> Iterator[Mapping[int, frozenset[Rounds]]]:
        """For the entry and each barrier: by instruction that a thread may run before its next barrier, its rounds."""
        yield self._reached(self._graph.order[0], self._graph.blocks[self._graph.order[0]].start, ())
        for barrier in self.barriers:
            block = self._graph.block_of(barrier)
            here = tuple((h, Round(True, 0)) for h in self._graph.loop_nest(block) if h in self.common)
            yield self._reached(block, barrier + 1, here)

    def _reached(self, block: int, position: int, rounds: Rounds) -> Mapping[int, frozenset[Rounds]]:
        found: dict[int, set[Rounds]] = {}
        seen: set[tuple[int, Rounds]] = set()
        waiting = [(block, position, rounds)]
        while waiting:
            block, position, rounds = waiting.pop()
            at = self._graph.blocks[block]
            for n in range(position, at.end):
                if is_barrier(self._routine.instructions[n]):
                    break
                found.setdefault(n, set()).add(rounds)
            else:
                for successor in at.successors:
                    state = successor, self._after(block, successor, dict(rounds))
                    if state not in seen:
                        seen.add(state)
                        waiting.append((successor, self._graph.blocks[successor].start, state[1]))
        return {n: frozenset(r) for n, r in found.items()}

    def _after(self, block: int, successor: int, rounds: dict[int, Round]) -> Rounds:
        """Rounds after an edge."""
        loop = self._graph.loops.get(successor)
        if loop is not None and successor in self.common:
            rounds[successor] = _next(rounds[successor]) if block in loop.latches else Round(False, 0)
        return tuple((h, rounds[h]) for h in self._graph.loop_nest(successor) if h in self.common)


def _next(round_: Round) -> Round:
    later = round_.later
    return Round(round_.is_relative, None if later is None or later == _MOST_ROUNDS else later + 1)
