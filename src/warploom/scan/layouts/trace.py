"""Work of a network on shared memory, in order: accesses of warps, index computations, barriers.

Every operation of a step is three accesses by its lane: it reads the source, reads the destination, writes the destination. The
lanes of a warp access together. Lanes are *packed* (the active ones of a step are numbered 0, 1, ...) or *in place* (lane i owns
element i, and idle lanes of a warp wait).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.machines import passes
from warploom.scan.networks import Network

Ints: TypeAlias = NDArray[np.int64]
Lanes = Literal["packed", "in place"]


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """One warp-wide load or store."""

    addresses: Ints
    """Addresses of the active lanes, in elements."""
    is_write: bool
    idle: int
    """Lanes of the warp that wait."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Index operations of one warp: weighted as in `ir.index_cost`."""

    operations: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """All warps wait for each other."""


Event: TypeAlias = Access | Compute | Barrier


@dataclass(frozen=True)
class Trace:
    """Events in order; costs are functions of it."""

    events: tuple[Event, ...]

    @property
    def accesses(self) -> Sequence[Access]:
        return [event for event in self.events if isinstance(event, Access)]

    @property
    def barriers(self) -> int:
        return sum(isinstance(event, Barrier) for event in self.events)

    @property
    def operations(self) -> int:
        return sum(event.operations for event in self.events if isinstance(event, Compute))

    @property
    def idle_lanes(self) -> int:
        """Summed over accesses: divergence."""
        return sum(access.idle for access in self.accesses)

    def conflicts(self, banks: int) -> int:
        """Summed over accesses: the most distinct addresses in one bank, less one. Equal addresses are one (broadcast)."""
        return int(self.conflicts_each(banks).sum())

    def conflicts_each(self, banks: int) -> Ints:
        """The same, per access."""
        addresses, active = self._rows
        return np.maximum(passes(addresses, active, banks) - 1, 0)

    @cached_property
    def _rows(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Addresses by access and lane, and which lanes are active."""
        accesses = self.accesses
        lanes = np.array([len(access.addresses) for access in accesses], dtype=np.int64)
        widest = max((len(access.addresses) for access in accesses), default=0)
        active = np.arange(widest) < lanes[:, None]
        addresses = np.zeros(active.shape, dtype=np.int64)
        addresses[active] = np.concatenate([np.zeros(0, dtype=np.int64), *(access.addresses for access in accesses)])
        return addresses, active

    def remapped(self, table: Ints, operations: int) -> Trace:
        """Element e at address `table[e]`; each operation computes two addresses, of that many index operations each."""
        events: list[Event] = []
        for event in self.events:
            match event:
                case Access(addresses, is_write, idle):
                    if operations and not is_write:
                        events.append(Compute(operations))
                    events.append(Access(table[addresses], is_write, idle))
                case Compute() | Barrier():
                    events.append(event)
        return Trace(tuple(events))


Cost: TypeAlias = Callable[[Trace], float]
"""The cost by which a layout is chosen; smaller is better. Users may pass their own."""


def trace(net: Network, warp: int, lanes: Lanes = "packed") -> Trace:
    """Accesses of a network in warps of that many lanes, with a barrier after each step but the last."""
    events: list[Event] = []
    for number, step in enumerate(net.steps):
        destinations = np.array([dot.destination for dot in step], dtype=np.int64)
        sources = np.array([dot.source for dot in step], dtype=np.int64)
        owners = np.arange(len(step)) if lanes == "packed" else destinations
        for group in np.unique(owners // warp):
            mine = owners // warp == group
            idle = warp - int(mine.sum())
            for cells, is_write in ((sources, False), (destinations, False), (destinations, True)):
                events.append(Access(cells[mine], is_write, idle))
        if number < net.depth - 1:
            events.append(Barrier())
    return Trace(tuple(events))


BARRIER_CYCLES = 10.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The default cost, in cycles of a multiprocessor: 32 lanes of shared memory a cycle, 64 of integer arithmetic.

    Divergence is part of it: a warp of which some lanes wait takes its whole cycle for an access, and each lane that waits costs
    its share of that.
    """

    banks: int
    access: float = 1.0
    conflict: float = 1.0
    operation: float = 0.5
    barrier: float = BARRIER_CYCLES
    idle_lane: float | None = None
    """Cost of a lane that waits at an access; None: a share of `access`."""

    def __call__(self, trace: Trace) -> float:
        total = self.access * len(trace.accesses) + self.conflict * trace.conflicts(self.banks)
        total += self.operation * trace.operations + self.barrier * trace.barriers
        each = self.access / self.banks if self.idle_lane is None else self.idle_lane
        return total + each * trace.idle_lanes


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Bank conflicts alone, as in the paper: computing addresses is free."""

    banks: int

    def __call__(self, trace: Trace) -> float:
        return trace.conflicts(self.banks)
