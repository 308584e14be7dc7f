"""Scan networks that work in place: one array cell per column, some cells combined in every step.

    network := steps        step := dots        dot := destination <- source

A dot stands for `a[destination] = a[source] op a[destination]` when its source is to the left (a forward scan), and for
`a[destination] = a[destination] op a[source]` when it is to the right (a backward scan): the element order is kept, so `op` need
not commute. All dots of a step read before any of them writes, and a step writes a cell at most once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from warploom.core import Diagnostic, UserError


@dataclass(frozen=True, order=True, slots=True)
class Dot:
    """Columns, counted from 0."""

    destination: int
    source: int


Step = tuple[Dot, ...]
"""Dots in order of destinations."""


@dataclass(frozen=True, slots=True)
class Network:
    """Steps on `columns` cells; make it by `network`, which checks it."""

    columns: int
    steps: tuple[Step, ...]
    is_backward: bool = False

    @property
    def size(self) -> int:
        """Operations."""
        return sum(map(len, self.steps))

    @property
    def depth(self) -> int:
        return len(self.steps)

    @property
    def fan_out(self) -> int:
        """Most dots of one step that read one cell, their own destination not counted."""
        return max((max(Counter(dot.source for dot in step).values()) for step in self.steps), default=0)

    @property
    def tracks(self) -> int:
        """Most wires between two neighbouring columns in one step; dots of one source share a wire."""
        most = 0
        for step in self.steps:
            reach: dict[int, int] = {}
            for dot in step:
                reach[dot.source] = max(reach.get(dot.source, 0), abs(dot.destination - dot.source))
            change = [0] * (self.columns + 1)
            for source, length in reach.items():
                low, high = (source - length, source) if self.is_backward else (source, source + length)
                change[low] += 1
                change[high] -= 1
            most = max([most, *accumulate(change)])
        return most

    @property
    def deficiency(self) -> int:
        """`size + depth - (2 columns - 2)`, never negative for a scan network (Snir, 1986)."""
        return self.size + self.depth - (2 * self.columns - 2)

    def mirrored(self) -> Network:
        """Forward to backward and back: column i becomes column `columns - 1 - i`."""
        last = self.columns - 1
        steps = tuple(tuple(sorted(Dot(last - d.destination, last - d.source) for d in step)) for step in self.steps)
        return Network(self.columns, steps, not self.is_backward)

    def restricted(self, columns: int) -> Network:
        """The dots whose destination is one of the first columns of the scan; steps that lose all dots go.

        A column depends on earlier ones only, so a scan network stays one.
        """
        if self.is_backward:
            return self.mirrored().restricted(columns).mirrored()
        kept = (tuple(dot for dot in step if dot.destination < columns) for step in self.steps)
        return Network(columns, tuple(step for step in kept if step))


def network(columns: int, steps: Iterable[Iterable[tuple[int, int] | Dot]], *, is_backward: bool = False) -> Network:
    """The network of (destination, source) pairs; steps without dots are dropped. UserError if a dot is out of place."""
    built: list[Step] = []
    for number, pairs in enumerate(steps, 1):
        step = tuple(sorted(p if isinstance(p, Dot) else Dot(*p) for p in pairs))
        for dot in step:
            if not (0 <= dot.destination < columns and 0 <= dot.source < columns):
                raise _fault(f"expected columns 0..{columns - 1}, got {dot.destination} <- {dot.source} in step {number}")
            if dot.source == dot.destination or (dot.source > dot.destination) != is_backward:
                side = "right" if is_backward else "left"
                raise _fault(f"expected a source to the {side}, got {dot.destination} <- {dot.source} in step {number}")
        for one, other in pairwise(step):
            if one.destination == other.destination:
                raise _fault(f"expected one dot per column and step, got two in column {one.destination} of step {number}")
        if step:
            built.append(step)
    return Network(columns, tuple(built), is_backward)


def canonical(net: Network) -> Network:
    """The same operations on the same operands, each in its earliest step: two networks with one form compute alike.

    A dot waits for the last writes of both its cells, and for every reader of what it overwrites (which may share its step).
    """
    if net.is_backward:
        return canonical(net.mirrored()).mirrored()
    written = [0] * net.columns  # step that last wrote the cell, from 1
    read = [0] * net.columns  # last step that reads what is in it
    steps: list[list[Dot]] = []
    for step in net.steps:
        for dot in reversed(step):  # from the right: the readers of a cell come before its writer
            at = max(written[dot.destination] + 1, written[dot.source] + 1, read[dot.destination])
            read[dot.source] = max(read[dot.source], at)
            written[dot.destination], read[dot.destination] = at, 0
            steps.extend([] for _ in range(at - len(steps)))
            steps[at - 1].append(dot)
    return Network(net.columns, tuple(tuple(sorted(step)) for step in steps))


def _fault(message: str) -> UserError:
    return UserError(Diagnostic("NETWORK_INVALID", message, fix="Correct the dot."))
