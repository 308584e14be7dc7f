"""Finds the accesses of two threads of a block that may run between the same two barriers.

All threads of a block pass the same barriers in the same order (`decisions` says which branches must agree for that). So a thread
that has passed a barrier runs, up to its next one, along a path without a barrier. Accesses `a` and `b` of two threads can meet
only if both lie on such paths from one barrier, in one round of the loops around it, or from the kernel's entry.

A loop that holds a barrier is a *common* loop: its rounds are the same for all threads of the block. On the way from a barrier to
an access such a loop is in the barrier's own round, in the next one, or entered anew; `Round` says which.

Where the way from a barrier parts before the next one, all threads go on alike, too: each way is looked at by itself. The same
holds of a warp and of what its threads wait at (`bar.warp.sync`), with both kinds of barriers taken together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import Routine
from warploom.ptx.syntax import Instruction, Integer

_MOST_ROUNDS = 1
"""Rounds after that of the barrier, or after the first, that are told apart."""
_MOST_WAYS = 32
"""Ways from one barrier that are looked at by themselves."""


@dataclass(frozen=True, slots=True)
class Round:
    """The round of a common loop that an access is in."""

    is_relative: bool
    """True: counted from the round of the barrier; False: from the loop's first."""
    later: int | None
    """None: any later one. Below 0: the access began in an earlier round (`flights`)."""
    is_of_barrier: bool = False
    """The barrier is in this round, not the access: a round of a loop that was entered after the access began."""
    is_past: bool = False
    """The access began in the barrier's round or in any earlier one."""


Rounds: TypeAlias = tuple[tuple[int, Round], ...]
"""By header of the common loops around an access, outermost first."""
_State: TypeAlias = tuple[int, Rounds]
"""A block, and its rounds."""
_Chosen: TypeAlias = dict[_State, int]
"""Where all threads go on alike: to which block."""


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

    def __init__(self, routine: Routine, graph: FlowGraph, is_barrier: Callable[[Instruction], bool] = is_barrier) -> None:
        """`is_barrier`: what all threads that are looked at wait for each other at."""
        self._routine = routine
        self._graph = graph
        self.barriers = tuple(
            n
            for block in graph.order
            for n in range(graph.blocks[block].start, graph.blocks[block].end)
            if is_barrier(routine.instructions[n])
        )
        self._at = frozenset(self.barriers)
        self._blocks = frozenset(graph.block_of(n) for n in self.barriers)
        self.common = frozenset(h for h, loop in graph.loops.items() if loop.blocks & self._blocks)
        """Headers of loops with a barrier."""
        self._deciding = frozenset(b for b in self.decisions() if self.common.issuperset(graph.loop_nest(b)))
        """Deciding blocks that a thread comes to once in a round."""

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

    def starts(self) -> Iterator[tuple[int | None, Mapping[int, frozenset[Rounds]]]]:
        """For the entry (None) and each barrier, and each way to go on: by instruction that a thread may run before its next
        barrier, its rounds."""
        entry = self._graph.order[0]
        yield from ((None, found) for found in self._ways(entry, self._graph.blocks[entry].start, ()))
        for barrier in self.barriers:
            block = self._graph.block_of(barrier)
            here = tuple((h, Round(True, 0)) for h in self._graph.loop_nest(block) if h in self.common)
            yield from ((barrier, found) for found in self._ways(block, barrier + 1, here))

    def _ways(self, block: int, position: int, rounds: Rounds) -> Iterator[Mapping[int, frozenset[Rounds]]]:
        found: list[Mapping[int, frozenset[Rounds]]] = []
        waiting: list[_Chosen] = [{}]
        while waiting:
            chosen = waiting.pop()
            reached, open_ = self._reached(block, position, rounds, chosen)
            if open_ is None:
                found.append(reached)
            else:
                waiting += [{**chosen, open_: s} for s in self._graph.blocks[open_[0]].successors]
            if len(waiting) + len(found) > _MOST_WAYS:
                yield self._reached(block, position, rounds, None)[0]
                return
        yield from found

    def _reached(
        self, block: int, position: int, rounds: Rounds, chosen: _Chosen | None
    ) -> tuple[Mapping[int, frozenset[Rounds]], _State | None]:
        """The accesses reached along the chosen ways, and a place where none is chosen yet. `chosen` None: along all ways."""
        found: dict[int, set[Rounds]] = {}
        seen: set[_State] = set()
        open_: _State | None = None
        waiting = [(block, position, rounds)]
        while waiting:
            block, position, rounds = waiting.pop()
            at = self._graph.blocks[block]
            for n in range(position, at.end):
                if n in self._at:
                    break
                found.setdefault(n, set()).add(rounds)
            else:
                ways = at.successors
                if chosen is not None and self._parts(block, rounds):
                    way = chosen.get((block, rounds))
                    open_ = (block, rounds) if way is None and open_ is None else open_
                    ways = at.successors if way is None else (way,)
                for successor in ways:
                    state = successor, self._after(block, successor, dict(rounds))
                    if state not in seen:
                        seen.add(state)
                        waiting.append((successor, self._graph.blocks[successor].start, state[1]))
        return {n: frozenset(r) for n, r in found.items()}, open_

    def _parts(self, block: int, rounds: Rounds) -> bool:
        """Whether all threads that come here go on alike, and one of them comes here once."""
        is_once = all(round_.later is not None for _, round_ in rounds)
        return is_once and block in self._deciding and len(set(self._graph.blocks[block].successors)) > 1

    def _after(self, block: int, successor: int, rounds: dict[int, Round]) -> Rounds:
        """Rounds after an edge."""
        loop = self._graph.loops.get(successor)
        if loop is not None and successor in self.common:
            rounds[successor] = _next(rounds[successor]) if block in loop.latches else Round(False, 0)
        return tuple((h, rounds[h]) for h in self._graph.loop_nest(successor) if h in self.common)


def _next(round_: Round) -> Round:
    later = round_.later
    return Round(round_.is_relative, None if later is None or later == _MOST_ROUNDS else later + 1)
