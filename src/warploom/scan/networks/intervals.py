"""Decides whether a network is a scan, for every operator at once: one run on intervals instead of values.

A cell holds the interval of inputs it combines. Two intervals combine only if the second starts where the first ends; a network
whose cells end as 0..i computes a scan for every associative operator, and one whose cells do not fails for concatenation of
words. For an idempotent operator (x op x = x, not necessarily commutative) intervals may overlap too, as long as neither end
moves back: xy op yz = x(y op y)z.
Source: Chong, Donaldson, Ketema, "A sound and complete abstraction for reasoning about parallel prefix sums", POPL 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from warploom.scan.networks.network import Network

Adjacency = Literal["strict", "overlapping"]
"""The operators for which a network is a scan: every associative one, or the idempotent ones among them only."""
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flaw:
    """The place where a network stops being a scan."""

    column: int
    step: int
    """Number of the step, from 1; 0: after the last step."""
    reason: str

    def __str__(self) -> str:
        place = f"step {self.step}, column {self.column}" if self.step else f"column {self.column} at the end"
        return f"{place}: {self.reason}"


def lows(net: Network) -> list[list[int]]:
    """First input of every cell, before the first step and after each; a forward network that is valid in either sense."""
    low = list(range(net.columns))
    history = [low]
    for step in net.steps:
        fresh = list(low)
        for dot in step:
            fresh[dot.destination] = low[dot.source]
        history.append(fresh)
        low = fresh
    return history


def flaw(net: Network, adjacency: Adjacency = "strict") -> Flaw | None:
    """The first reason why it is no scan; None: it is one. For backward networks it is told in terms of their own columns."""
    if net.is_backward:
        found = flaw(net.mirrored(), adjacency)
        return found and Flaw(net.columns - 1 - found.column, found.step, f"mirrored: {found.reason}")
    low = list(range(net.columns))
    for number, step in enumerate(net.steps, 1):
        fresh = list(low)
        for dot in step:
            own, source = low[dot.destination], dot.source
            if source + 1 < own or (source + 1 != own and adjacency == "strict") or low[source] > own:
                mine, other = f"{own}..{dot.destination}", f"{low[source]}..{source}"
                missing = "leaves a gap before" if source + 1 < own else "overlaps"
                return Flaw(dot.destination, number, f"{other} {missing} {mine}")
            fresh[dot.destination] = low[source]
        low = fresh
    for column, first in enumerate(low):
        if first:
            return Flaw(column, 0, f"it holds {first}..{column}, expected 0..{column}")
    return None


def adjacency_of(net: Network) -> Adjacency | None:
    """The strongest sense in which it is a scan; None: in no sense."""
    if flaw(net) is None:
        return "strict"
    return "overlapping" if flaw(net, "overlapping") is None else None


class Cells:
    """Intervals of all cells as one array, for programs at large sizes; forward only."""

    def __init__(self, columns: int, adjacency: Adjacency) -> None:
        self.low: Ints = np.arange(columns)
        self.fault = False
        """True if some dot did not combine."""
        self._strict = adjacency == "strict"

    def combine(self, destinations: Ints, sources: Ints) -> None:
        """One step."""
        own = self.low[destinations]
        if self._strict:
            wrong = sources + 1 != own
        else:
            wrong = (sources + 1 < own) | (self.low[sources] > own)
        if wrong.any():
            self.fault = True
        self.low[destinations] = self.low[sources]

    @property
    def is_scan(self) -> bool:
        return not self.fault and not self.low.any()
