"""SIMD loops for networks of every size.

    program := radices, phase+          phase := rising or falling loop over levels low..high-1 of moves
    move    := if guard(i): a[i] = a[source(i)] op a[i]                for all lanes i at once, reads before writes

Level k has the offset d = r0 * r1 * ... (k factors; the radices in turn), its radix r and the next offset e = d * r. Guards and
sources are index expressions of `ir`: over the lane `i` (the column that is written), `d`, `e`, `h` (the offset one level below,
at least 1) and, in a phase that repeats its move for t = 1..r-1, `t`. The number of columns n enters through the number of levels
only, so the network for n is the one for the next full size, cut after n columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from warploom.ir import IndexExpr, IndexVar, tabulate
from warploom.scan.networks.intervals import Adjacency, Cells, Ints
from warploom.scan.networks.network import Network, network

LANE, OFFSET, NEXT, BELOW, TURN = (IndexVar(name) for name in "ideht")


@dataclass(frozen=True, order=True, slots=True)
class Bound:
    """A level: `count`, or `count` below the number of levels for n columns."""

    count: int
    from_top: bool = False

    def level(self, levels: int) -> int:
        return max(0, levels - self.count) if self.from_top else self.count


@dataclass(frozen=True, slots=True)
class Move:
    """Lanes where `guard` holds take the value of cell `source` in front of their own."""

    guard: IndexExpr
    source: IndexExpr


@dataclass(frozen=True, slots=True)
class Phase:
    low: Bound
    high: Bound
    move: Move
    is_rising: bool = True
    is_repeated: bool = False
    """The move runs for t = 1..r-1 at every level, one step each."""


@dataclass(frozen=True, slots=True)
class At:
    """One step of a run."""

    phase: int
    level: int
    offset: int
    below: int
    radix: int
    turn: int
    """t of a repeated move, else 1."""
    destinations: Ints
    sources: Ints


@dataclass(frozen=True, slots=True)
class Program:
    radices: tuple[int, ...]
    phases: tuple[Phase, ...]
    is_backward: bool = False
    """Mirrored: lane i stands for column n - 1 - i."""

    def radix(self, level: int) -> int:
        return self.radices[level % len(self.radices)]

    def offset(self, level: int) -> int:
        return prod(self.radix(k) for k in range(level))

    def levels(self, columns: int) -> int:
        """The least number of levels whose offset reaches `columns`."""
        level, offset = 0, 1
        while offset < columns:
            offset *= self.radix(level)
            level += 1
        return level

    def steps(self, columns: int) -> Iterator[At]:
        """The steps of the forward program in order, empty ones too; ValueError where a source is not left of its lane."""
        levels = self.levels(columns)
        lanes: Ints = np.arange(columns)
        for number, phase in enumerate(self.phases):
            span = range(phase.low.level(levels), phase.high.level(levels))
            for level in span if phase.is_rising else reversed(span):
                radix, offset = self.radix(level), self.offset(level)
                below = self.offset(level - 1) if level else 1
                for turn in range(1, radix) if phase.is_repeated else (1,):
                    known = values(lanes, offset, radix, below, turn)
                    active = lanes[np.broadcast_to(tabulate(phase.move.guard, known) != 0, lanes.shape)]
                    known = values(active, offset, radix, below, turn)
                    sources: Ints = np.broadcast_to(tabulate(phase.move.source, known), active.shape)
                    if ((sources < 0) | (sources >= active)).any():
                        raise ValueError(f"a source outside 0..lane - 1 at offset {offset}")
                    yield At(number, level, offset, below, radix, turn, active, sources)

    def network(self, columns: int) -> Network:
        """ValueError where a source is not left of its lane."""
        steps = ([*zip(at.destinations.tolist(), at.sources.tolist(), strict=True)] for at in self.steps(columns))
        forward = network(columns, steps)
        return forward.mirrored() if self.is_backward else forward

    def mirrored(self) -> Program:
        return Program(self.radices, self.phases, not self.is_backward)


def values(lanes: Ints, offset: int, radix: int, below: int, turn: int) -> Mapping[IndexExpr, object]:
    """Values that index expressions of a move may refer to."""
    return {LANE: lanes, OFFSET: offset, NEXT: offset * radix, BELOW: below, TURN: turn}


def is_scan(program: Program, columns: int, adjacency: Adjacency) -> bool:
    """Whether it is valid for this many columns (of either direction: they mirror each other)."""
    cells = Cells(columns, adjacency)
    try:
        for at in program.steps(columns):
            cells.combine(at.destinations, at.sources)
            if cells.fault:
                return False
    except ValueError:
        return False
    return cells.is_scan


def first_failure(program: Program, largest: int, adjacency: Adjacency) -> int | None:
    """The least number of columns up to `largest` for which it is no scan.

    Columns never read later ones and n enters through the number of levels only, so validity for the largest n of each number of
    levels settles the smaller ones.
    """
    smallest = 1
    for levels in range(largest + 1):
        last = min(program.offset(levels), largest)
        if not is_scan(program, last, adjacency):
            return next(n for n in range(smallest, last + 1) if not is_scan(program, n, adjacency))
        if last == largest:
            return None
        smallest = last + 1
    return None
