"""Cycles that a block takes by itself, from the events of a run: what it waits for, and the work that passes meanwhile.

A block's clock moves at meetings: barriers, waits for copies, its end. Between two of them a compiler may move whatever it
likes, so all loads and copies begin at the first, and the work of the busiest unit is done at the second. There the clock waits
for the data that stores before it need, or for the copies that a wait covers. So a copy that is waited for one tile later hides
a tile's work, and one that is waited for at once hides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from warploom.gpu.cost import counted_work
from warploom.ir import Counts, Event
from warploom.machines import Architecture, Speeds, usual

_Cycles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BlockTime:
    """Cycles of one block, were it alone on its multiprocessor; those of the run's blocks that take fewer than half of them."""

    cycles: float = 0.0
    waited: float = 0.0
    """Part of them in which it only waits for data from global memory."""


@dataclass(eq=False, slots=True)
class _Copy:
    group: NDArray[np.int64]
    """By block: the number of the group that its next commit makes."""
    ready: _Cycles


class _Clock:
    """Times by block."""

    def __init__(self, blocks: int, on: Architecture, *, knows_places: bool) -> None:
        self.on, self.knows_places = on, knows_places
        self.speeds: Speeds = usual(on)
        self.now, self.waited = np.zeros(blocks), np.zeros(blocks)
        self.owed = np.zeros(blocks)
        """When the data of all stores since the last meeting is there."""
        self.ready: dict[int, _Cycles] = {}
        """By load."""
        self.copies: list[_Copy] = []
        self.groups = np.zeros(blocks, np.int64)
        self.counted = Counts()

    def event(self, number: int, event: Event) -> None:
        match event.what:
            case "load":
                self.ready[number] = self._arrival(event, self.on.timing.l1_cycles.value)
            case "copy":
                arrival = self._arrival(event, self.on.timing.l2_cycles.value)
                if self.on.has_async_copy:
                    self.copies.append(_Copy(self.groups.copy(), arrival))
                else:  # a load and a store
                    self.owed = np.maximum(self.owed, arrival)
            case "store":
                if event.number in self.ready:
                    self.owed = np.maximum(self.owed, np.where(event.blocks, self.ready[event.number], 0.0))
            case "commit":
                self.groups = self.groups + event.blocks
            case "wait":
                below = np.where(event.blocks, self.groups - event.number, 0)
                for copy in self.copies:
                    self.owed = np.maximum(self.owed, np.where(copy.group < below, copy.ready, 0.0))
                self.copies = [copy for copy in self.copies if (copy.group >= below).any()]
                self._meet(event)
            case "barrier" | "end":
                self._meet(event)

    def _arrival(self, event: Event, hit_cycles: float) -> _Cycles:
        """When the data of a load or copy is there; 0 for blocks that do not ask."""
        is_new = event.is_new if self.knows_places and event.is_new is not None else np.zeros_like(event.blocks)
        latency = np.where(is_new, self.on.timing.dram_cycles.value, hit_cycles)
        return np.where(event.blocks, self.now + latency, 0.0)

    def _meet(self, event: Event) -> None:
        done = Counts(**{f.name: getattr(event.counts, f.name) - getattr(self.counted, f.name) for f in fields(Counts)})
        self.counted = event.counts
        worked = self.now + max(self.speeds.cycles(counted_work(done)).values()) / len(self.now)
        self.now = np.where(event.blocks, np.maximum(worked, self.owed), worked)
        self.waited += self.now - worked
        self.owed = np.where(event.blocks, 0.0, self.owed)


def block_time(events: Sequence[Event], on: Architecture, *, knows_places: bool = True) -> BlockTime:
    """The time of a usual block of a run. knows_places: False where another run may touch other places; then what is loaded lies
    in the nearest cache."""
    if not events:
        return BlockTime()
    clock = _Clock(len(events[0].blocks), on, knows_places=knows_places)
    for number, event in enumerate(events):
        clock.event(number, event)
    usual_one = np.argsort(clock.now, kind="stable")[(len(clock.now) - 1) // 2]
    return BlockTime(float(clock.now[usual_one]), float(clock.waited[usual_one]))
