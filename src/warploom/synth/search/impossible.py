"""Why a sketch has no completion, told by as few elements of its outputs as refute it.

Propagation that refutes a sketch before anything is decided refutes some few demands of the spec already. Those are found by
leaving demands out, half of them at a time (QuickXplain), and each is then propagated alone: what it asks of the holes is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom.ir.swizzle import FunctionSet, kind_of
from warploom.synth.network.network import Network
from warploom.synth.network.requirements import Requirements, requirements
from warploom.synth.search.propagation import Candidate, ConflictError, initial_candidate
from warploom.synth.search.sketch_model import SketchModel, build_constraints
from warploom.terms import Algebra, Normaliser, Term, element_text

MOST_RUNS = 80
"""Sets of demands that are propagated."""
MOST_CELLS = 1 << 19
"""Cells of the network times runs: some seconds."""
FEW = 4
"""Values that are told one by one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The values that one demand alone asks of one hole at one point."""

    hole: str
    at: tuple[tuple[str, int], ...]
    """The hole's arguments."""
    values: tuple[int, ...]
    """Numbers of the hole's values that are left."""


@dataclass(frozen=True, slots=True)
class Impossible:
    """Elements that no completion gives all at once."""

    elements: tuple[tuple[str, str], ...]
    """`y[1]`, and what it must be; none where the stores themselves cannot be."""
    asked: tuple[tuple[Asked, ...], ...]
    """Per element: what it asks of the holes, where that is little enough to tell."""
    only: tuple[str, ...]
    """For a single element that no function of any hole brings: the elements that can come there, if that is known."""
    whatever: bool
    """Whatever functions the holes become; else of those in the space searched last."""

    def text(self) -> str:
        if not self.elements:
            return f"two threads store to one place, or outside of an array, {self._by_grammar()}"
        wanted = " and ".join(f"{name} = {value}" for name, value in self.elements[:FEW])
        if len(self.elements) > FEW:
            wanted += f" and {len(self.elements) - FEW} more"
        if len(self.elements) == 1:
            can = f": what can come there is {', '.join(self.only)}" if self.only else ""
            return f"{wanted} cannot be, {self._by_grammar()}{can}"
        return f"{wanted} cannot be together, {self._clash() or self._asks()}"

    def _clash(self) -> str:
        """Two elements that want different values at one place."""
        seen: dict[tuple[str, tuple[tuple[str, int], ...]], tuple[int, Asked]] = {}
        for number, asked in enumerate(self.asked):
            for one in asked:
                before = seen.setdefault((one.hole, one.at), (number, one))
                if not set(before[1].values) & set(one.values):
                    first, second = (self.elements[n][0] for n in (before[0], number))
                    return f"{one.hole}{_at(one)} is to be {_any(before[1])} for {first} and {_any(one)} for {second}"
        return ""

    def _asks(self) -> str:
        told: dict[str, list[str]] = {}
        for asked in self.asked:
            for one in [one for one in asked if len(one.values) == 1][:1]:
                told.setdefault(one.hole, []).append(f"{one.values[0]}{_at(one)}")
        parts = [f"{hole} would be {', '.join(v[:FEW])}{', ...' if len(v) > FEW else ''}" for hole, v in told.items()]
        return ": ".join([self._by_grammar(), *([" and ".join(parts)] if parts else [])])

    def _by_grammar(self) -> str:
        return "whatever the holes become" if self.whatever else "by the functions that the holes offer"

    def fields(self) -> dict[str, object]:
        """For a report line."""
        found: dict[str, object] = {"elements": dict(self.elements), "whatever": self.whatever}
        holes = [
            {"hole": one.hole, "at": dict(one.at), "values": list(one.values), "element": name}
            for (name, _), asked in zip(self.elements, self.asked, strict=True)
            for one in asked[:FEW]
        ]
        return found | ({"holes": holes} if holes else {}) | ({"can_be": list(self.only)} if self.only else {})


def _at(one: Asked) -> str:
    open_ones = [f"{name} = {value}" for name, value in one.at if name != str(value)]
    return f" at {', '.join(open_ones)}" if open_ones else ""


def _any(one: Asked) -> str:
    return " or ".join(map(str, one.values))


class Explainer:
    """Tells why nothing completes a network, where propagation alone shows that."""

    def __init__(
        self,
        network: Network,
        spec: Mapping[str, Any],
        stored: Mapping[str, Any],
        algebra: Algebra,
        anything: Sequence[FunctionSet],
    ) -> None:
        """`anything`: sets of all functions, one per hole."""
        self.network = network
        self.spec = spec
        self.stored = stored
        self.algebra = algebra
        self.anything = list(anything)
        self.normaliser = Normaliser(algebra)
        self.demands = [
            (name, n)
            for name in network.outputs
            for n, (term, wanted) in enumerate(zip(spec[name].ravel(), stored[name].ravel(), strict=True))
            if wanted and term is not None
        ]
        self.runs = 0

    def explain(self, sets: Sequence[FunctionSet]) -> Impossible | None:
        """`sets`: functions of the holes in the last space. None where only a search, or nothing, refutes the sketch."""
        if not self.demands or self._most_runs < 2:
            return None
        every = range(len(self.demands))
        whatever = self._propagated(every, self.anything) is None
        chosen = self.anything if whatever else list(sets)
        if not whatever and self._propagated(every, chosen) is not None:
            return None
        if self._propagated([], chosen) is None:
            return Impossible((), (), (), whatever)
        try:
            core = self._smallest([], False, list(every), chosen)
        except _TooManyRunsError:
            return None
        asked = tuple(self._asked(number, chosen) for number in core)
        only = self._only(core[0], chosen) if len(core) == 1 else ()
        elements = tuple(self._named(*self.demands[number]) for number in core)
        return Impossible(elements, asked, only, whatever)

    def _smallest(self, known: list[int], grew: bool, rest: list[int], sets: list[FunctionSet]) -> list[int]:
        """A smallest part of `rest` that refutes the sketch together with `known`. Source: Junker, QuickXplain, AAAI 2004."""
        if grew:
            self.runs += 1
            if self.runs > self._most_runs:
                raise _TooManyRunsError
            if self._propagated(known, sets) is None:
                return []
        if len(rest) == 1:
            return rest
        half = len(rest) // 2
        second = self._smallest(known + rest[:half], True, rest[half:], sets)
        first = self._smallest(known + second, bool(second), rest[:half], sets)
        return sorted(first + second)

    @property
    def _most_runs(self) -> int:
        return min(MOST_RUNS, MOST_CELLS // self.network.cells)

    def _required(self, demands: Sequence[int]) -> Requirements:
        masked = {name: np.full(self.spec[name].size, None, object) for name in self.network.outputs}
        for number in demands:
            name, n = self.demands[number]
            masked[name][n] = self.spec[name].ravel()[n]
        return requirements(self.network, masked, {n: self.stored[n].ravel() for n in masked}, self.algebra)

    def _propagated(self, demands: Sequence[int], sets: list[FunctionSet]) -> Candidate | None:
        required = self._required(demands)
        constraints, folds = build_constraints(self.network, required)
        try:
            candidate = initial_candidate(self.network, required)
        except ConflictError:
            return None
        model = SketchModel(self.network, required, folds, constraints, [], sets, candidate, None)
        return model.propagated(candidate, range(len(constraints)), range(len(sets)))

    def _asked(self, number: int, sets: list[FunctionSet]) -> tuple[Asked, ...]:
        left = self._propagated([number], sets)
        free = self._propagated([], sets)
        found: list[Asked] = []
        if left is None or free is None:
            return ()
        for hole, use in enumerate(self.network.holes):
            fewer = left.allowed[hole].sum(axis=1) < free.allowed[hole].sum(axis=1)
            for point in np.flatnonzero(fewer).tolist():
                values = np.flatnonzero(left.allowed[hole][point]).tolist()
                if len(values) <= FEW:
                    at = tuple(zip(use.hole.arg_names, use.points[point].tolist(), strict=False))
                    numbers = kind_of(use.hole).numbers(use.hole)
                    found.append(Asked(use.hole.name, at, tuple(v if numbers is None else numbers[v] for v in values)))
        return tuple(found)

    def _only(self, number: int, sets: list[FunctionSet]) -> tuple[str, ...]:
        """The elements that can come to one of which nothing is asked, if they are known one by one."""
        left = self._propagated([], sets)
        name, n = self.demands[number]
        if left is None:
            return ()
        required = self._required([])
        values = left.domains[int(self.network.outputs[name][n])]
        known: dict[int, Term] = {}
        for term in self.network.known.values():
            place = required.universe.number(term)
            if place is not None:
                known.setdefault(place, term)
        found = [bit for bit in range(len(required.universe)) if int(values[bit // 64]) >> bit % 64 & 1]
        wanted = required.universe.number(self.spec[name].ravel()[n])
        if not found or wanted in found or not set(found) <= set(known):
            return ()
        texts = [self._shown(known[bit]) for bit in found]
        return tuple(texts) if len(texts) <= FEW else (*texts[: FEW - 2], "...", texts[-1])

    def _named(self, name: str, n: int) -> tuple[str, str]:
        place = tuple(int(i) for i in np.unravel_index(n, self.spec[name].shape))
        return element_text(name, place), self._shown(self.spec[name].ravel()[n])

    def _shown(self, term: Term) -> str:
        return str(self.normaliser.canonical(term))


class _TooManyRunsError(Exception):
    pass
