"""One thread that comes to an access, in a round of the loops around it.

Of a loop whose condition stands at its end the first round and the others are asked about by themselves: of the others it is
known that the thread went through the round before, whose condition let it go on. That round is like a second thread in the same
place: what loads and registers of loops hold may differ, all else is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from warploom.core.limits import tick
from warploom.ptx.launches.assumptions import Assumed
from warploom.ptx.launches.integers import Pair, constant
from warploom.ptx.launches.questions import Questions
from warploom.ptx.launches.uniform import is_lasting
from warploom.ptx.symbolic import Access
from warploom.ptx.syntax import Name

_MOST_ROUNDS = (1 << 31) - 1
"""No loop around an access is taken to run longer."""
_MOST_LOOPS = 3
"""Innermost loops around an access whose first rounds are told from the others."""


class OneThread(Questions):
    def _rounds(self, access: Access, more: Sequence[Assumed]) -> Iterator[Iterator[Pair]]:
        """Ways to ask about all rounds: what holds for all threads of one of them holds for the access."""
        loops = [h for h in self._emulation.graph.loop_nest(access.block) if self._back(h) is not None]
        for count in sorted({0, min(len(loops), _MOST_LOOPS)}):
            rounds = product((False, True), repeat=count)
            yield (self._at(access, more, loops[len(loops) - count :], later) for later in rounds)

    def _at(self, access: Access, more: Sequence[Assumed] = (), loops: Sequence[int] = (), later: Sequence[bool] = ()) -> Pair:
        """A thread that comes to the access. `later`: whether it is not in the first round of each of the loops."""
        tick()
        pair = Pair(self._limits, is_lasting, ((), ()), self._turning, self._spreads)
        for one in (*self._assumed, *more):
            pair.require(one.condition(pair, self._program, self._routine, self._emulation.table, self._widths))
        for header in self._emulation.graph.loop_nest(access.block):
            pair.define(self._emulation.table.counter(header), 1, pair.atom(f"round{header}", 1, 0, _MOST_ROUNDS))
            for register in self._emulation.steps.get(header, ()):
                counted = self._emulation.blocks[header].entry.get(register)
                if counted is not None and counted.width > 1:
                    pair.take_as_signed(counted, 1)
        for taken in self._emulation.algebra(access.block).assumptions:
            pair.take_as_signed(taken.term, 1)
        self._comes_to(pair, access.block, 1)
        pair.require(pair.truth(access.guard, 1))
        for n, (header, is_later) in enumerate(zip(loops, later, strict=True)):
            counter = pair.value(self._emulation.table.counter(header), 1)
            if is_later:
                self._went_on(pair, header, n + 2)
            else:
                pair.require(pair.is_zero(counter))
        return pair

    def _back(self, header: int) -> tuple[int, bool | None] | None:
        """The only block that goes back to a loop's beginning, and whether it does so where its last guard is true; None: its
        own condition says all."""
        graph = self._emulation.graph
        latches = graph.loops[header].latches
        if len(latches) != 1 or latches[0] not in self._emulation.blocks:
            return None
        at = graph.blocks[latches[0]]
        last = self._routine.instructions[at.end - 1]
        if last.guard is None or last.opcode != "bra" or len(set(at.successors)) == 1:
            return latches[0], None
        falls_through = at.end < len(self._routine.instructions) and graph.block_of(at.end) == header
        return latches[0], last.guard.negated == falls_through

    def _went_on(self, pair: Pair, header: int, who: int) -> None:
        """In the round before, as `who`, the thread went back to the loop's beginning."""
        back = self._back(header)
        assert back is not None
        latch, holds = back
        for outer in self._emulation.graph.loop_nest(header):
            counter = self._emulation.table.counter(outer)
            pair.define(counter, who, pair.value(counter, 1).shifted(-1 if outer == header else 0))
        pair.require(pair.at_least(pair.value(self._emulation.table.counter(header), 1), constant(1)))
        self._comes_to(pair, latch, who)
        last = self._emulation.graph.blocks[latch].end - 1
        guard = self._routine.instructions[last].guard
        if holds is not None and guard is not None:
            truth = pair.truth(self._emulation.value(last, Name(guard.name)), who)
            pair.require(truth if holds else pair.builder.negation(truth))
