"""The cheapest index remapping of a network over stated families, by trying all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from warploom.scan.layouts.remaps import Plain, Remap, addresses, operations, paddings, swizzles
from warploom.scan.layouts.tables import BestTable, best_table
from warploom.scan.layouts.trace import Conflicts, Cost, Lanes, Trace, Weights, trace
from warploom.scan.networks import Network

Family = Literal["none", "padding", "swizzle", "table"]
FAMILIES: tuple[Family, ...] = ("none", "padding", "swizzle", "table")
TABLE_ELEMENTS = 64
"""Tables are searched for up to this many elements."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A remapping and what it costs on the network."""

    family: Family
    remap: Remap
    cost: float
    conflicts: int
    operations: int
    """Index operations per address."""
    slots: int
    """Elements of memory that it needs."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The cheapest remapping, and the cheapest of each family."""

    best: Priced
    by_family: dict[Family, Priced]
    tried: int
    """Maps whose cost was computed."""
    is_minimum: bool
    """No map of the families that were searched costs less: all were tried, or the table found cannot be bettered."""


def best_layout(
    net: Network,
    banks: int,
    *,
    cost: Cost | None = None,
    lanes: Lanes = "packed",
    families: Sequence[Family] = FAMILIES,
    slots: int | None = None,
) -> Layout:
    """By `cost` (default: `Weights`), then conflicts, then memory; `slots` limits the memory. Warps have as many lanes as banks.

    Tables are searched for fewest conflicts, so with a cost of the user's own the cheapest table may be missed, and with tables
    among the families no minimum is claimed.
    """
    price = cost or Weights(banks)
    plain = trace(net, banks, lanes)
    by_family: dict[Family, Priced] = {}
    tried = 0
    proved = isinstance(price, Weights | Conflicts) or "table" not in families
    for family in families:
        if family == "table":
            found = best_table(plain, net.columns, banks, slots) if net.columns <= TABLE_ELEMENTS else None
            proved = proved and found is not None and found.is_proved
            maps: Iterator[Remap] = iter([found.remap] if isinstance(found, BestTable) else [])
        else:
            maps = _maps(family, net.columns, banks)
        for remap in maps:
            tried += 1
            candidate = priced(plain, family, remap, net.columns, banks, price)
            if slots is not None and candidate.slots > slots:
                continue
            if family not in by_family or _order(candidate) < _order(by_family[family]):
                by_family[family] = candidate
    if not by_family:
        raise ValueError(f"no remapping of the families fits {slots} slots")
    return Layout(min(by_family.values(), key=_order), by_family, tried, proved)


def priced(plain: Trace, family: Family, remap: Remap, elements: int, banks: int, cost: Cost) -> Priced:
    """The price of one map on the trace of a network without remapping."""
    table = addresses(remap, elements)
    steps = operations(remap, elements)
    mapped = plain.remapped(table, steps)
    return Priced(family, remap, cost(mapped), mapped.conflicts(banks), steps, int(table.max()) + 1)


def _order(candidate: Priced) -> tuple[float, int, int, int]:
    return candidate.cost, candidate.conflicts, candidate.operations, candidate.slots


def _maps(family: Family, elements: int, banks: int) -> Iterator[Remap]:
    match family:
        case "none":
            yield Plain()
        case "padding":
            yield from paddings(elements, banks)
        case "swizzle":
            yield from swizzles(elements, banks)
        case "table":
            return
