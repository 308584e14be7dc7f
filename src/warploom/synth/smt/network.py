"""A network and its requirements as clauses: which value each cell holds, which required term each contribution supplies.

Cells outside the backward cone of the outputs and contributions are left out. A result of arithmetic may hold anything here;
requirements on it were pushed back to accumulators already, or are loose and judged by evaluation.
Source: Swizzle Inventor, section 4 (predicated state, multisets); Swizzleflow, section 3 (gathers and folds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations, product

import numpy as np

from warploom.solve import ClauseSession
from warploom.synth.network.network import (
    UNDEFINED,
    Arithmetic,
    BoolArray,
    Elements,
    Folds,
    Network,
    Placements,
    Retained,
    Slots,
)
from warploom.synth.network.requirements import Requirements, StatementEntries
from warploom.synth.smt.holes import HoleFlags

NOTHING = -1
"""The value of a cell that was never written."""
Held = dict[int, int]
"""Value -> literal; exactly one holds."""


class NetworkClauses:
    """Adds everything to the session on construction."""

    def __init__(self, session: ClauseSession, network: Network, required: Requirements, holes: Sequence[HoleFlags]) -> None:
        self.session = session
        self.network = network
        self.required = required
        self.holes = holes
        self.guards: dict[tuple[object, ...], int] = {}
        self.held: dict[int, Held] = {UNDEFINED: {NOTHING: session.true}}
        for cell, term in network.known.items():
            number = required.universe.number(term)
            assert number is not None
            self.held[cell] = {number: session.true}
        self._cells()
        for cell, value in zip(required.output_cells.tolist(), required.output_values.tolist(), strict=True):
            literal = self.held[cell].get(value)
            session.add(*([] if literal is None else [literal]))
        for cell, value in zip(required.optional_cells.tolist(), required.optional_values.tolist(), strict=True):
            session.add(*(held for v, held in self.held[cell].items() if v in (NOTHING, value)))
        self._contributions()

    # ------------------------------------------------------------ cells

    def _cells(self) -> None:
        cone = self._cone()
        retained: Retained | None = None
        for batch in self.network.batches:
            match batch:
                case Elements():
                    for row, cell in enumerate(batch.out.tolist()):
                        if cell in cone:
                            self.held[cell] = self._selected(self._options(batch.slots, row, batch.source[row]))
                case Retained():
                    retained = batch
                case Placements():
                    assert retained is not None
                    self._placed(batch, retained, cone)
                case Arithmetic() | Folds():
                    for cell in batch.out.tolist():
                        if cell in cone:
                            self.held[cell] = self._one_of([NOTHING, *range(self.required.universe.other)])

    def _cone(self) -> set[int]:
        """Cells that outputs and contributions depend on, up to results of arithmetic."""
        cone: set[int] = {*self.required.output_cells.tolist(), *self.required.optional_cells.tolist()}
        for entries in self.required.entries:
            for factor in entries.factors:
                cone |= set(factor.tolist())
        for batch in reversed(self.network.batches):
            match batch:
                case Elements():
                    for row, cell in enumerate(batch.out.tolist()):
                        if cell in cone:
                            cone |= set(batch.source[row].ravel().tolist())
                case Placements():
                    for row, cell in enumerate(batch.source.tolist()):
                        if cone & set(batch.target[row].ravel().tolist()):
                            cone.add(cell)
                case Retained():
                    cone |= {old for cell, old in zip(batch.out.tolist(), batch.old.tolist(), strict=True) if cell in cone}
                case _:
                    pass
        return cone

    def _options(
        self, slots: Slots, row: int, table: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> Iterator[tuple[int, int]]:
        """(literal of a combination of slot values, entry of the row's table)."""
        literals = [self.holes[h].values[int(p[row])] for h, p in zip(slots.holes, slots.points, strict=True)]
        for position in np.ndindex(*table.shape):
            yield self._conjunction([c[v] for c, v in zip(literals, position, strict=True)]), int(table[position])

    def _conjunction(self, literals: list[int]) -> int:
        if len(literals) < 2:
            return self.session.both(literals)
        key = ("and", *sorted(literals))
        if key not in self.guards:
            self.guards[key] = self.session.both(literals)
        return self.guards[key]

    def _one_of(self, values: Iterable[int]) -> Held:
        values = list(values)
        if len(values) == 1:
            return {values[0]: self.session.true}
        held = {v: self.session.flag() for v in values}
        self.session.exactly(1, list(held.values()))
        return held

    def _selected(self, options: Iterable[tuple[int, int]]) -> Held:
        """The content of the cell that the true one among the options' literals selects."""
        pairs = [(literal, self.held[cell]) for literal, cell in options]
        held = self._one_of(sorted({v for _, source in pairs for v in source}))
        for literal, source in pairs:
            for value, flag in source.items():
                self.session.add(-literal, -flag, held[value])
        return held

    def _placed(self, batch: Placements, retained: Retained, cone: set[int]) -> None:
        """Every target holds the source of the row placed there, else its old content; rows never share a target."""
        places: dict[int, dict[int, list[int]]] = {}
        for row in range(len(batch.source)):
            for literal, target in self._options(batch.slots, row, batch.target[row]):
                if target != UNDEFINED:
                    places.setdefault(target, {}).setdefault(row, []).append(literal)
        for target, old in zip(retained.out.tolist(), retained.old.tolist(), strict=True):
            rows = {row: self.session.either(literals) for row, literals in places.get(target, {}).items()}
            self.session.at_most(1, list(rows.values()))
            if target in cone:
                none = -self.session.either(list(rows.values())) if rows else self.session.true
                pairs = [(literal, int(batch.source[row])) for row, literal in rows.items()]
                self.held[target] = self._selected([*pairs, (none, old)])

    # ------------------------------------------------------------ contributions

    def guard(self, slots: Slots, row: int, holds: BoolArray) -> int:
        """A literal for a contribution's guard: `holds` by slot value."""
        if holds.all():
            return self.session.true
        points = tuple(int(p[row]) for p in slots.points)
        key = (slots.holes, points, holds.tobytes())
        if key not in self.guards:
            options = self._options(slots, row, holds.astype(np.int64))
            made = [literal for literal, on in options if on]
            self.guards[key] = self.session.either(made) if made else -self.session.true
        return self.guards[key]

    def statements(self) -> dict[int, int]:
        """Statement with an open guard -> a literal that holds if the guard does anywhere."""
        fires: dict[int, set[int]] = {n: set() for n, s in enumerate(self.network.statements) if not s.is_certain}
        for guard in self.network.guards:
            if guard.statement in fires:
                rows = range(len(guard.holds))
                fires[guard.statement] |= {self.guard(guard.slots, r, guard.holds[r]) for r in rows}
        return {n: self.session.either(sorted(made)) if made else -self.session.true for n, made in fires.items()}

    def _contributions(self) -> None:
        by_fold: dict[int, list[tuple[int, list[Held]]]] = {n: [] for n in range(self.required.folds)}
        for entries in self.required.entries:
            for row, fold in enumerate(entries.fold.tolist()):
                on = self.guard(entries.slots, row, entries.guard[row])
                if on != -self.session.true:
                    by_fold[fold].append((on, [self.held[int(f[row])] for f in entries.factors]))
        demand: Callable[[int, list[tuple[int, list[Held]]]], None]
        demand = self._odd if self.required.counting == "parity" else self._counted
        for fold, made in by_fold.items():
            demand(fold, made)

    def _counted(self, fold: int, made: list[tuple[int, list[Held]]]) -> None:
        """Each term supplied as often as required (sets: at least once), and nothing else added."""
        required = self.required
        supplies: list[list[int]] = [[] for _ in made]
        for term, count in zip(required.terms[fold].tolist(), required.multiplicity[fold].tolist(), strict=True):
            if not count:
                continue
            suppliers: list[int] = []
            for (on, factors), mine in zip(made, supplies, strict=True):
                literal = self._matches(on, factors, term)
                if literal is not None:
                    suppliers.append(literal)
                    mine.append(literal)
            if required.counting == "set":
                self.session.add(*suppliers)
            elif len(suppliers) < count:
                self.session.add()
            else:
                self.session.exactly(count, suppliers)
        for (on, factors), mine in zip(made, supplies, strict=True):
            self.session.add(-on, *mine, *self._vanishes(factors))

    def _odd(self, fold: int, made: list[tuple[int, list[Held]]]) -> None:
        """Required terms are supplied an odd number of times, all others an even number."""
        session, zero = self.session, self.required.zero
        wanted = {tuple(sorted(t)) for t, n in zip(self.required.terms[fold], self.required.multiplicity[fold], strict=True) if n}
        suppliers: dict[tuple[int, ...], list[int]] = {term: [] for term in wanted}
        for on, factors in made:
            domains = [[v for v in held if v not in (NOTHING, zero)] for held in factors]
            mine: list[int] = []
            for term in {tuple(sorted(values)) for values in product(*domains)}:
                literal = self._matches(on, factors, term)
                assert literal is not None
                suppliers.setdefault(term, []).append(literal)
                mine.append(literal)
            session.add(-on, *mine, *self._vanishes(factors))
        for term, literals in suppliers.items():
            total = -session.true
            for literal in literals:
                before, total = total, session.flag()
                for signs in product((1, -1), repeat=2):
                    session.add(signs[0] * before, signs[1] * literal, -signs[0] * signs[1] * total)
            session.add(total if term in wanted else -total)

    def _matches(self, on: int, factors: list[Held], term: Sequence[int]) -> int | None:
        """A literal: the contribution is made and is the product `term`; None if it cannot be."""
        ways: list[int] = []
        for order in set(permutations(term)):
            literals = [held.get(v) for held, v in zip(factors, order, strict=True)]
            if None not in literals:
                certain = {x for x in (on, *literals) if x is not None and x != self.session.true}
                ways.append(self._conjunction(sorted(certain)))
        return self.session.either(ways) if ways else None

    def _vanishes(self, factors: list[Held]) -> list[int]:
        """Literals for: some factor is zero and none is undefined."""
        zero = self.required.zero
        made: list[int] = []
        for position, held in enumerate(factors):
            if zero in held:
                others = [-o[NOTHING] for n, o in enumerate(factors) if n != position and NOTHING in o]
                made.append(self._conjunction(sorted({held[zero], *others})))
        return made


def strange_constants(network: Network, required: Requirements, entries: Iterable[StatementEntries]) -> bool:
    """Whether a contribution may hold a constant other than the one that makes it vanish.

    Products are compared as written then, so `2 * x` is not seen to be `x` twice: the absence of a match proves nothing.
    """
    tainted = np.zeros(network.cells, np.bool_)
    for cell, term in network.known.items():
        tainted[cell] = term.op == "constant" and required.universe.number(term) != required.zero
    for batch in network.batches:
        match batch:
            case Elements():
                tainted[batch.out] = tainted[batch.source].reshape(len(batch.out), -1).any(axis=1)
            case Retained():
                tainted[batch.out] |= tainted[batch.old]
            case Placements():
                tainted[batch.target[tainted[batch.source]]] = True
                tainted[UNDEFINED] = False
            case Arithmetic() | Folds():
                pass
    return any(tainted[factor].any() for entry in entries for factor in entry.factors)
