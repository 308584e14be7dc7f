"""The table with the fewest bank conflicts: which bank each element goes to, by branch and bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from warploom.scan.layouts.remaps import Lookup
from warploom.scan.layouts.trace import Trace
from warploom.solve import BUDGET_SPENT, Alternative, Cost, StopSearchError, declared_order, search

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
    model = _Placing(trace, elements, banks, elements if slots is None else slots, nodes)
    outcome = search(model, below=(model.most,), strategy=declared_order)
    if not outcome.answers:
        return None
    (conflicts,), placed = outcome.answers[0]
    return BestTable(Lookup(_addresses(placed, banks)), conflicts, conflicts == 0 or outcome.complete, model.tried)


def _addresses(placed: tuple[int, ...], banks: int) -> tuple[int, ...]:
    """The k-th element of bank b, in order of elements, at b + k * banks."""
    used = [0] * banks
    found: list[int] = []
    for bank in placed:
        found.append(bank + used[bank] * banks)
        used[bank] += 1
    return tuple(found)


@dataclass(frozen=True, eq=False, slots=True)
class _Placed:
    """The first elements of the order placed: one more than `above`."""

    above: _Placed | None
    bank: int
    depth: int
    cost: int


class _Placing:
    """`solve.Model[_Placed, tuple[int, ...]]`: the bank of each element, in one order; answers are the banks by element.

    One board holds the counts of the candidate that was looked at last, and moves from one to the next.
    """

    def __init__(self, trace: Trace, elements: int, banks: int, slots: int, limit: int) -> None:
        if slots < elements:
            raise ValueError(f"expected at least {elements} slots, got {slots}")
        self._banks, self._limit = banks, limit
        self.tried = 0
        """Banks looked at, those that are cut included; the search ends at the limit."""
        self._is_free = False
        """True if a table without conflicts was found."""
        self._whole = [len(range(bank, slots, banks)) for bank in range(banks)]
        self._room = list(self._whole)
        groups = Counter(frozenset(access.addresses.tolist()) for access in trace.accesses)
        self._weights = [weight for cells, weight in groups.items() if len(cells) > 1]
        wide = [cells for cells in groups if len(cells) > 1]
        self._groups = [[n for n, cells in enumerate(wide) if element in cells] for element in range(elements)]
        self._counts = [[0] * banks for _ in wide]
        self._worst = [0] * len(wide)
        self._bank = [-1] * elements
        self._order = self._ordered(wide, elements)
        self._board: list[tuple[_Placed, list[int]]] = []
        """The placed elements in order, each with the groups whose worst bank got worse by it."""
        self.most = 1 + sum(weight * len(cells) for weight, cells in zip(self._weights, wide, strict=True))
        """More conflicts than any table has."""

    # ------------------------------------------------------------ solve.Model

    def root(self) -> _Placed:
        return _Placed(None, -1, 0, 0)

    def open_choices(self, candidate: _Placed) -> Sequence[tuple[int, int]]:
        return [(candidate.depth, self._banks)] if candidate.depth < len(self._order) else []

    def alternatives(self, candidate: _Placed, choice: int) -> Iterator[Alternative[_Placed]]:
        self._show(candidate)
        for added, _, bank in self._options(self._order[choice]):
            if self._is_free:
                return
            self.tried += 1
            if self.tried >= self._limit:
                raise StopSearchError(f"{BUDGET_SPENT}nodes")
            cost = candidate.cost + added
            yield Alternative((cost,), partial(_Placed, candidate, bank, candidate.depth + 1, cost), bank)

    def bound(self, candidate: _Placed) -> Cost:
        return (candidate.cost,)

    def answer(self, candidate: _Placed) -> tuple[Cost, tuple[int, ...]]:
        self._show(candidate)
        self._is_free = candidate.cost == 0
        return (candidate.cost,), tuple(self._bank)

    # ------------------------------------------------------------ the board

    def _show(self, candidate: _Placed) -> None:
        board = self._board
        missing: list[_Placed] = []
        at = candidate
        while at.above is not None and not (len(board) >= at.depth and board[at.depth - 1][0] is at):
            missing.append(at)
            at = at.above
        while len(board) > at.depth:
            placed, raised = board.pop()
            self._take(self._order[placed.depth - 1], placed.bank, raised)
        for placed in reversed(missing):
            board.append((placed, self._put(self._order[placed.depth - 1], placed.bank)))

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

    def _options(self, element: int) -> list[tuple[int, int, int]]:
        """(added conflicts, minus the room, bank), best first."""
        options: list[tuple[int, int, int]] = []
        empty: set[int] = set()
        met = [(self._weights[g], self._counts[g], self._worst[g]) for g in self._groups[element] if self._worst[g]]
        for bank, room in enumerate(self._room):
            if room == 0:
                continue
            # Banks that hold nothing yet and have equal room are alike.
            if room == self._whole[bank]:
                if room in empty:
                    continue
                empty.add(room)
            added = 0
            for weight, counts, worst in met:
                if counts[bank] == worst:
                    added += weight
            options.append((added, -room, bank))
        options.sort()
        return options

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
