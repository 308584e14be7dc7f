"""The table with the fewest bank conflicts: which bank each element goes to, by branch and bound."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from warploom.scan.layouts.remaps import Lookup
from warploom.scan.layouts.trace import Trace

NODES = 200_000


@dataclass(frozen=True, slots=True)
class BestTable:
    remap: Lookup
    conflicts: int
    is_proved: bool
    """No table of that many slots has fewer conflicts."""
    nodes: int


def best_table(trace: Trace, elements: int, banks: int, slots: int | None = None, nodes: int = NODES) -> BestTable | None:
    """A table into `slots` addresses (none to spare by default), found within a budget of search nodes; None: none found
    within it."""
    search = _Search(trace, elements, banks, elements if slots is None else slots, nodes)
    search.run()
    if search.best is None:
        return None
    proved = search.best_cost == 0 or search.nodes < nodes
    return BestTable(Lookup(search.addresses()), search.best_cost, proved, search.nodes)


class _Search:
    def __init__(self, trace: Trace, elements: int, banks: int, slots: int, limit: int) -> None:
        if slots < elements:
            raise ValueError(f"expected at least {elements} slots, got {slots}")
        self._banks, self._limit, self.nodes = banks, limit, 0
        self._room = [len(range(bank, slots, banks)) for bank in range(banks)]
        groups = Counter(frozenset(access.addresses.tolist()) for access in trace.accesses)
        self._weights = [weight for cells, weight in groups.items() if len(cells) > 1]
        wide = [cells for cells in groups if len(cells) > 1]
        self._groups = [[n for n, cells in enumerate(wide) if element in cells] for element in range(elements)]
        self._counts = [[0] * banks for _ in wide]
        self._worst = [0] * len(wide)
        self._bank = [-1] * elements
        self._order = self._ordered(wide, elements)
        self.best: list[int] | None = None
        self.best_cost = 1 + sum(weight * len(cells) for weight, cells in zip(self._weights, wide, strict=True))

    @staticmethod
    def _ordered(wide: list[frozenset[int]], elements: int) -> list[int]:
        """Elements that meet many others that are already placed come first."""
        meets = [Counter[int]() for _ in range(elements)]
        for cells in wide:
            for cell in cells:
                meets[cell].update(cells - {cell})
        order: list[int] = []
        placed: set[int] = set()
        while len(order) < elements:
            rest = (e for e in range(elements) if e not in placed)
            chosen = max(rest, key=lambda e: (sum(meets[e][p] > 0 for p in placed), len(meets[e]), -e))
            order.append(chosen)
            placed.add(chosen)
        return order

    def run(self) -> None:
        self._place(0, 0)

    def addresses(self) -> tuple[int, ...]:
        """The k-th element of bank b, in order of elements, at b + k * banks."""
        assert self.best is not None
        used = [0] * self._banks
        found: list[int] = []
        for bank in self.best:
            found.append(bank + used[bank] * self._banks)
            used[bank] += 1
        return tuple(found)

    def _place(self, depth: int, cost: int) -> None:
        if depth == len(self._order):
            self.best, self.best_cost = list(self._bank), cost
            return
        element = self._order[depth]
        options: list[tuple[int, int, int]] = []
        empty: set[int] = set()
        for bank in range(self._banks):
            room = self._room[bank]
            if room == 0:
                continue
            # Banks that hold nothing yet and have equal room are alike.
            if bank not in self._bank:
                if room in empty:
                    continue
                empty.add(room)
            options.append((self._added(element, bank), -room, bank))
        for added, _, bank in sorted(options):
            self.nodes += 1
            if cost + added >= self.best_cost or self.nodes >= self._limit:
                return
            raised = self._put(element, bank)
            self._place(depth + 1, cost + added)
            self._take(element, bank, raised)
            if self.best_cost == 0:
                return

    def _added(self, element: int, bank: int) -> int:
        return sum(self._weights[g] for g in self._groups[element] if self._worst[g] and self._counts[g][bank] == self._worst[g])

    def _put(self, element: int, bank: int) -> list[int]:
        raised: list[int] = []
        for g in self._groups[element]:
            self._counts[g][bank] += 1
            if self._counts[g][bank] > self._worst[g]:
                self._worst[g] += 1
                raised.append(g)
        self._bank[element] = bank
        self._room[bank] -= 1
        return raised

    def _take(self, element: int, bank: int, raised: list[int]) -> None:
        for g in self._groups[element]:
            self._counts[g][bank] -= 1
        for g in raised:
            self._worst[g] -= 1
        self._bank[element] = -1
        self._room[bank] += 1
