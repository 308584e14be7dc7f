"""Recurring parts of networks, and large networks composed of small ones.

A module is a run of steps on evenly spaced columns that read only each other, moved to columns 0..m-1. Modules that are scans
themselves are recursive parts: `composed` and `gathered` build divide-and-conquer networks out of two, `grown` any size out of
one.
Source: HotPar 2011, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from warploom.scan.networks.intervals import flaw
from warploom.scan.networks.network import Dot, Network, canonical, network


@dataclass(frozen=True, slots=True)
class Module:
    """A module in canonical form, with how often it was seen."""

    network: Network
    places: int
    """Occurrences in all networks searched that share no dot."""
    networks: int
    """Number of networks that contain it."""
    is_scan: bool

    @property
    def saved(self) -> int:
        """Dots that need not be listed once the module has a name."""
        return self.network.size * (self.places - 1)


def mine(found: Iterable[Network], *, least_dots: int = 2) -> list[Module]:
    """Modules with at least that many dots that occur twice or more, those that save most first. Forward networks."""
    places: dict[Network, int] = {}
    owners: dict[Network, set[int]] = {}
    for number, net in enumerate(found):
        taken: dict[Network, set[tuple[int, Dot]]] = {}
        for part, dots in _parts(net, least_dots):
            used = taken.setdefault(part, set())
            if used.isdisjoint(dots):
                used.update(dots)
                places[part] = places.get(part, 0) + 1
                owners.setdefault(part, set()).add(number)
    modules = [Module(part, n, len(owners[part]), flaw(part) is None) for part, n in places.items() if n > 1]
    return sorted(modules, key=lambda m: (-m.saved, m.network.columns, m.network.steps))


def _parts(net: Network, least_dots: int) -> Iterator[tuple[Network, list[tuple[int, Dot]]]]:
    """Every closed part without an idle edge (its outer columns and steps have dots of their own), with its dots by step."""
    seen: set[tuple[tuple[int, ...], tuple[tuple[int, Dot], ...]]] = set()
    for spacing in range(1, net.columns):
        for first in range(net.columns - spacing):
            for last in range(first + spacing, net.columns, spacing):
                columns = range(first, last + 1, spacing)
                inside = [[d for d in step if d.destination in columns] for step in net.steps]
                for start in range(net.depth):
                    for end in range(start + 1, net.depth + 1):
                        if any(d.source not in columns for d in inside[end - 1]):
                            break
                        dots = [(k, d) for k in range(start, end) for d in inside[k]]
                        if len(dots) < least_dots or not inside[start] or not inside[end - 1]:
                            continue
                        used = {c for _, d in dots for c in (d.source, d.destination)}
                        if first not in used or last not in used:
                            continue
                        key = (tuple(sorted(used)), tuple(dots))
                        if key in seen:
                            continue
                        seen.add(key)
                        steps = [[(columns.index(d.destination), columns.index(d.source)) for d in s] for s in inside[start:end]]
                        yield canonical(network(len(columns), steps)), dots


def completed(net: Network) -> Network:
    """`net` (forward) with steps added until every cell is complete: each time, all columns whose source is complete."""
    low = list(range(net.columns))
    for step in net.steps:
        before = list(low)
        for dot in step:
            low[dot.destination] = before[dot.source]
    steps = list(net.steps)
    while any(low):
        ready = [column for column, first in enumerate(low) if first and low[first - 1] == 0]
        steps.append(tuple(Dot(column, low[column] - 1) for column in ready))
        for column in ready:
            low[column] = 0
    return Network(net.columns, tuple(steps))


def composed(outer: Network, inner: Network) -> Network:
    """`inner` on blocks of neighbours, `outer` on the last columns of the blocks, then every block reads the one before it."""
    return canonical(completed(_joined(outer, inner, list(inner.steps))))


def gathered(outer: Network, inner: Network) -> Network:
    """Like `composed`, but blocks do only what their last column needs, and complete the others afterwards.

    Fewer operations, more steps.
    """
    needed = {inner.columns - 1}
    kept: list[tuple[Dot, ...]] = []
    for step in reversed(inner.steps):
        wanted = tuple(dot for dot in step if dot.destination in needed)
        needed |= {dot.source for dot in wanted}
        kept.append(wanted)
    return canonical(completed(_joined(outer, inner, list(reversed(kept)))))


def _joined(outer: Network, inner: Network, steps: list[tuple[Dot, ...]]) -> Network:
    width = inner.columns
    blocks = range(outer.columns)
    first = [[(b * width + d.destination, b * width + d.source) for b in blocks for d in step] for step in steps]
    last = [[(d.destination * width + width - 1, d.source * width + width - 1) for d in step] for step in outer.steps]
    return network(width * outer.columns, [*first, *last])


Composition = Literal["composed", "gathered"]


def grown(part: Network, columns: int, rule: Composition = "composed") -> Network:
    """A network for `columns` out of one module, by divide and conquer; checked on intervals.

    ValueError if the module is no scan. Two-column modules grow to Sklansky's network (composed) and Brent-Kung's (gathered).
    """
    if part.columns < 2 or part.is_backward or flaw(part) is not None:
        raise ValueError("expected a forward scan network of two columns or more")
    net = part
    while net.columns < columns:
        net = composed(part, net) if rule == "composed" else gathered(net, part)
    net = net.restricted(columns)
    found = flaw(net)
    if found is not None:
        raise AssertionError(f"a composition of scans is no scan: {found}")
    return net
