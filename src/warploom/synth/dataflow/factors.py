"""Splits a problem whose goal is a product: a two-dimensional window is one problem of rows and one of columns.

Take some holes to be irrelevant: whatever they choose, the same must come out. That identifies values (pixels of one row) and,
by congruence, cells; what is left is a smaller problem about the other holes alone, whose solutions every solution of the whole
must project to. Where the holes divide into groups that are each a factor, the solutions of the whole are among the products.

Source: congruence closure (Downey, Sethi, Tarjan, 1980) used for quotients; Swizzleflow's stencils are the occasion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from warploom.ir.dataflow import Folded, Value, folded
from warploom.synth.dataflow.lower import UNDEFINED_CELL, ZERO_CELL, Lowered, RequiredFolds
from warploom.synth.dataflow.numbers import ZERO_NUMBER, value_numbers
from warploom.synth.network.network import Elements, Network, Slots
from warploom.synth.network.requirements import StatementEntries
from warploom.terms import atom


@dataclass(frozen=True, eq=False, slots=True)
class Factor:
    """A smaller problem; the holes outside of `holes` do not occur in it."""

    holes: frozenset[int]
    lowered: Lowered


def factors(lowered: Lowered, live: frozenset[int]) -> list[Factor] | None:
    """Problems that divide the live holes among them; None where there is no such division."""
    if len(live) < 2 or not len(lowered.required.values) or lowered.folds or len(lowered.goal_cells):
        return None
    if any(e.slots.holes for e in lowered.required.entries):
        return None
    quotients = [q for q in (_Quotient(lowered, live).without(seed) for seed in sorted(live)) if q is not None]
    found: list[Factor] = []
    left = live
    for quotient in sorted(quotients, key=lambda q: len(live - q.irrelevant)):
        holes = live - quotient.irrelevant
        if holes <= left:
            left -= holes
            found.append(Factor(holes, quotient.problem()))
    return found if not left and len(found) > 1 else None


class _GrownError(Exception):
    """A further hole must be irrelevant."""

    def __init__(self, holes: set[int]) -> None:
        super().__init__()
        self.holes = holes


class _Quotient:
    def __init__(self, lowered: Lowered, live: frozenset[int]) -> None:
        self.lowered = lowered
        self.live = live
        self.irrelevant: frozenset[int] = frozenset()
        self.hole_of: dict[int, tuple[int, int, list[int]]] = {}
        """Cell -> (hole, point, sources by value, `UNDEFINED_CELL` where no member goes)."""
        for batch in lowered.network.batches:
            assert isinstance(batch, Elements)
            hole = batch.slots.holes[0]
            points = batch.slots.points[0]
            source = np.where(lowered.holes[hole].allowed[points], batch.source, UNDEFINED_CELL)
            rows = zip(batch.out.tolist(), points.tolist(), source.tolist(), strict=True)
            self.hole_of.update({cell: (hole, point, sources) for cell, point, sources in rows})

    def without(self, seed: int) -> _Quotient | None:
        """The finest quotient in which `seed` does not matter; None if then nothing does."""
        irrelevant = {seed}
        while True:
            self.irrelevant = frozenset(irrelevant)
            if self.live <= self.irrelevant:
                return None
            self.parent = list(range(self.lowered.network.cells))
            try:
                for cell, (hole, _, sources) in self.hole_of.items():
                    if hole in self.irrelevant:
                        for source in sources:
                            self._unify(cell, source)
            except _GrownError as grown:
                irrelevant |= grown.holes
                continue
            return self

    def _find(self, cell: int) -> int:
        parent = self.parent
        while parent[cell] != cell:
            parent[cell] = parent[parent[cell]]
            cell = parent[cell]
        return cell

    def _unify(self, a: int, b: int) -> None:
        """An undefined cell is no obstacle: who needs it has failed anyway."""
        pending = [(a, b)]
        while pending:
            a, b = pending.pop()
            if UNDEFINED_CELL in (a, b):
                continue
            a, b = self._find(a), self._find(b)
            if a == b:
                continue
            if ZERO_CELL in (a, b):
                raise _GrownError(set(self.live))
            first, second = self._relevant(a), self._relevant(b)
            if first is None and (second is None or self._is_open(a)):
                self.parent[a] = b
            elif second is None and self._is_open(b):
                self.parent[b] = a
            elif first is not None and second is not None and first[:2] == second[:2]:
                self.parent[a] = b
                pending += zip(first[2], second[2], strict=True)
            else:
                raise _GrownError({h[0] for h in (first, second) if h is not None})

    def _relevant(self, cell: int) -> tuple[int, int, list[int]] | None:
        found = self.hole_of.get(cell)
        return found if found is not None and found[0] not in self.irrelevant else None

    def _is_open(self, cell: int) -> bool:
        """Whether the cell is only a name for what an irrelevant hole reads."""
        return cell in self.hole_of

    # ------------------------------------------------------------ the smaller problem

    def problem(self) -> Lowered:
        """Classes of cells as cells, classes of values as values; sums that count everything several times count it once."""
        lowered = self.lowered
        values = list(lowered.numbers.numbers)
        representative: dict[int, Value] = {}
        class_of: dict[Value, Value] = {}
        for cell, number in lowered.known.items():
            if number < len(values):
                class_of[values[number]] = representative.setdefault(self._find(cell), values[number])

        def mapped(value: Value) -> Value:
            if value in class_of:
                return class_of[value]
            if isinstance(value, Folded):
                return folded(value.op, [mapped(v) for v in value.values])
            return value

        entry = lowered.required.entries[0]
        cells = [self._find(c) for c in entry.factors[0].tolist()]
        per_fold: list[Counter[int]] = [Counter() for _ in range(len(lowered.required.values))]
        for fold, cell in zip(entry.fold.tolist(), cells, strict=True):
            per_fold[fold][cell] += 1
        sums: dict[tuple[tuple[tuple[int, int], ...], Value], None] = {}
        wanted_numbers: list[int] = lowered.required.values.tolist()
        for number, contributions in zip(wanted_numbers, per_fold, strict=True):
            value = mapped(values[number])
            wanted = Counter(value.values) if isinstance(value, Folded) else Counter[Value]()
            times = gcd(*contributions.values(), *wanted.values())
            if times > 1 and isinstance(value, Folded):
                value = folded(value.op, [v for v, n in wanted.items() for _ in range(n // times)])
                contributions = Counter({c: n // times for c, n in contributions.items()})
            sums[tuple(sorted(contributions.items())), value] = None
        numbers = value_numbers(value for _, value in sums)
        folds = [n for n, (contributions, _) in enumerate(sums) for _, times in contributions for _ in range(times)]
        parts = [cell for contributions, _ in sums for cell, times in contributions for _ in range(times)]
        known = {c: numbers.number(mapped(v)) for c, v in self._known(values).items()} | {ZERO_CELL: ZERO_NUMBER}
        entries = StatementEntries(
            0, np.array(folds, np.int64), (np.array(parts, np.int64),), Slots((), ()), np.ones(len(parts), np.bool_)
        )
        required = RequiredFolds(np.array([numbers.number(v) for _, v in sums], np.int64), (entries,))
        elements = self._elements(parts)
        terms = {cell: atom("value", (number,)) for cell, number in known.items()}
        network = Network(lowered.network.holes, lowered.network.cells, terms, elements, {}, (), (), frozenset())
        return replace(lowered, network=network, known=known, numbers=numbers, required=required, folds=())

    def _known(self, values: Sequence[Value]) -> dict[int, Value]:
        other = Folded("", ())  # no goal's value
        named: dict[int, Value] = {}
        for cell, number in self.lowered.known.items():
            named.setdefault(self._find(cell), other)
            if number < len(values):
                named[self._find(cell)] = values[number]
        return named

    def _elements(self, needed: list[int]) -> tuple[Elements, ...]:
        """Gathers that the given classes depend on, those of one hole together, in their old order."""
        members: dict[int, list[int]] = {}
        for cell in self.hole_of:
            members.setdefault(self._find(cell), []).append(cell)
        rows: dict[int, list[tuple[int, int, list[int]]]] = {}
        seen: set[int] = set()
        pending = list(needed)
        while pending:
            root = pending.pop()
            if root in seen:
                continue
            seen.add(root)
            own = [self.hole_of[c] for c in members.get(root, ()) if self.hole_of[c][0] not in self.irrelevant]
            if not own:
                continue
            hole, point = own[0][:2]
            sources = [
                next((self._find(s) for s in column if s != UNDEFINED_CELL), UNDEFINED_CELL)
                for column in zip(*(o[2] for o in own), strict=True)
            ]
            rows.setdefault(hole, []).append((root, point, sources))
            pending += [s for s in sources if s != UNDEFINED_CELL]
        result: list[Elements] = []
        for batch in self.lowered.network.batches:
            assert isinstance(batch, Elements)
            hole = batch.slots.holes[0]
            if hole in rows:
                out, points, sources = (np.array(column, np.int64) for column in zip(*rows.pop(hole), strict=True))
                result.append(Elements(out, Slots((hole,), (points,)), sources))
        return tuple(result)
