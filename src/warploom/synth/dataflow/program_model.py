"""A dataflow program as a `solve.Model`: its holes are choices, and cells and folds constrain each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from warploom.ir.swizzle import Functions
from warploom.solve import Alternative, Cost
from warploom.synth.dataflow.ahead import Ahead
from warploom.synth.dataflow.composed import ComposedSet, Member, Way
from warploom.synth.dataflow.counters import Counters
from warploom.synth.dataflow.fold_rows import FoldRowsConstraint
from warploom.synth.dataflow.forward import CheckedFolds, forward
from warploom.synth.dataflow.least_moves import least_moves
from warploom.synth.dataflow.lower import Lowered
from warploom.synth.dataflow.numbers import ZERO_NUMBER
from warploom.synth.dataflow.options import ALL_IDEAS, EngineOptions
from warploom.synth.dataflow.useful import UsefulConstraint
from warploom.synth.network.network import Elements, IntArray
from warploom.synth.network.requirements import Requirements, Universe
from warploom.synth.search.folds import FoldConstraint
from warploom.synth.search.propagation import Candidate, ConflictError, ElementConstraint, pack
from warploom.synth.search.sketch_model import Chosen, SketchModel, build_constraints, injective_elements

LIST_AT_MOST = 8192
"""Larger sets stay implicit until propagation or a look ahead leaves few members."""
FOLLOWED = 512
"""Members that are followed to the goal together."""
MANY_UNDER_FOLDS = 512
"""More members are not tried one by one where folds are counted: the value at one point is decided instead."""
FEW, FEW_UNDER_FOLDS = 16, 2048
"""Members of a hole that are tried one by one at once; a decision tells more where folds are counted."""


@dataclass(frozen=True, eq=False, slots=True)
class Found(Chosen):
    """A function for every hole that the goal depends on."""

    ways: tuple[tuple[Way, ...], ...]
    """Per hole: the ways to make its function, cheapest first; none where the goal does not depend on the hole."""
    functions: dict[int, Functions]
    """Functions of every hole that the goal depends on."""


@dataclass(slots=True)
class Settled(Candidate):
    """A candidate that has one function for every hole and meets the goal."""

    total: int = 0
    """The cost of the answer."""


class ProgramModel(SketchModel):
    """A lowered program, as `solve.Model[Candidate, tuple of ways per hole]`."""

    lists_last = True

    def __init__(
        self,
        lowered: Lowered,
        requirements: Requirements,
        start: Candidate,
        counters: Counters,
        options: EngineOptions = ALL_IDEAS,
    ) -> None:
        network = lowered.network
        self.options = options
        constraints, folds = build_constraints(network, requirements)
        if not options.counts_copies:
            count_nothing(folds)
        is_forward = options.propagation == "forward"
        if is_forward:
            constraints = [forward(c) if isinstance(c, ElementConstraint) else c for c in constraints]
        elements = [c for c in constraints if isinstance(c, ElementConstraint)]
        group_of = _groups(lowered, elements, folds)
        if is_forward:
            constraints = [CheckedFolds(folds) if c is folds else c for c in constraints]
        constraints += [FoldRowsConstraint(rows, lowered.numbers, group_of, not is_forward) for rows in lowered.folds]
        # The result of a fold is no copy of its elements, so counting copies says nothing there.
        is_counted = options.counts_copies and not lowered.folds
        injective = injective_elements(network, requirements, constraints) if is_counted else []
        for element in injective:
            start.needed[element.out] = True
        for element in injective:
            for reader in elements:
                if np.isin(element.out, reader.source).all() and not np.isin(element.out, _read_elsewhere(lowered, reader)).any():
                    constraints.append(UsefulConstraint(reader, element.out, group_of))
        sets = [h.members for h in lowered.holes]
        # Folds first: what they want decides what is worth looking for.
        constraints.sort(key=lambda c: isinstance(c, ElementConstraint | UsefulConstraint))
        super().__init__(network, requirements, folds, constraints, injective, sets, start, None)
        self.filter.list_at_most = LIST_AT_MOST
        self.lowered = lowered
        self.counters = counters
        self.live = frozenset(h for c in constraints for h in c.holes)
        """Holes that the goal depends on."""
        self.below: int | None = None
        """Only answers that cost less are looked for; None: all."""
        self.only_moves = all(isinstance(c, ElementConstraint | UsefulConstraint) for c in constraints)
        """No folds: what the look ahead follows is all there is."""

    @property
    def universe(self) -> int:
        """Number of values."""
        return len(self.required.universe)

    def root(self) -> Candidate | None:
        return self._root

    @cached_property
    def _root(self) -> Candidate | None:
        return self.propagated(self.start.copy(), range(len(self.constraints)), range(len(self.sets)))

    def open_choices(self, candidate: Candidate) -> Sequence[tuple[int, int]]:
        found = [(hole, size) for hole, size in super().open_choices(candidate) if hole in self.live]
        if len(found) < 2:
            return found
        if self.options.propagation == "forward":
            return found[:1]
        smallest = min(found, key=lambda c: c[1])
        if smallest[1] <= (FEW if self.only_moves else FEW_UNDER_FOLDS):
            return [smallest]
        known = [c for c in found if self._ahead(candidate, c[0]) is not None]
        return [min(known or found, key=lambda c: c[1])]

    def _ahead(self, candidate: Candidate, hole: int) -> Ahead | None:
        """None where what the hole may read is not known yet."""
        if not self.options.looks_ahead:
            return None
        ahead = Ahead(candidate, self.constraints, hole, self)
        return ahead if ahead.is_known else None

    def alternatives(self, candidate: Candidate, choice: int) -> Iterator[Alternative[Candidate]]:
        listed = candidate.functions[choice]
        if listed is not None and len(listed) > MANY_UNDER_FOLDS and not self.only_moves:
            yield from self._split_point(candidate, choice)
            return
        ahead = self._ahead(candidate, choice)
        cost = self.bound(candidate)[1] - self._least(choice, candidate.functions[choice])
        most = None if self.below is None else self.below - cost - 1
        functions = self._members(candidate, choice, ahead, most)
        if functions is None:
            yield from self._split_point(candidate, choice)
            return
        open_holes = frozenset(h for h in self.live if candidate.functions[h] is None or len(candidate.functions[h] or ()) != 1)
        prices = self._prices(choice, functions)
        if prices is not functions.costs:
            order: IntArray = np.argsort(prices, kind="stable").astype(np.int64)
            functions, prices = functions.select(order), prices[order]
        for start in range(0, len(functions), FOLLOWED):
            members = np.arange(start, min(start + FOLLOWED, len(functions)))
            settled: list[dict[int, Functions] | None] = [None] * len(members)
            if self.only_moves and ahead is not None:
                settled = ahead.decided(functions.select(members), open_holes, self.required.output_cells)
            chosen = {j: o | {choice: functions.select(np.array([j]))} for j, o in enumerate(settled, start) if o is not None}
            totals = self._totals(candidate, chosen)
            for j in members.tolist():
                bound = 0, cost + int(prices[j])
                if j in chosen:
                    yield Alternative(bound, partial(self._settled, candidate, chosen[j], totals[j]))
                else:
                    yield Alternative(bound, partial(self._decided, candidate, choice, functions, j))

    def _totals(self, candidate: Candidate, chosen: Mapping[int, Mapping[int, Functions]]) -> dict[int, int]:
        """The least costs of deciding all open holes, one function each, in each of several ways."""
        if not chosen:
            return {}
        holes = set(next(iter(chosen.values())))
        total: IntArray = np.full(len(chosen), sum(self._least(h, candidate.functions[h]) for h in self.live - holes))
        for hole in holes & self.live:
            parts = [functions[hole] for functions in chosen.values()]
            tables, costs = np.concatenate([f.tables for f in parts]), np.concatenate([f.costs for f in parts])
            total += self._prices(hole, replace(parts[0], tables=tables, costs=costs))
        return dict(zip(chosen, total.tolist(), strict=True))

    def _settled(self, candidate: Candidate, chosen: dict[int, Functions], total: int) -> Candidate:
        """A look ahead has followed the values to the goal: nothing is left to propagate."""
        functions = [chosen.get(hole, old) for hole, old in enumerate(candidate.functions)]
        return Settled(candidate.allowed, functions, candidate.domains, candidate.needed, total=total)

    def _members(self, candidate: Candidate, choice: int, ahead: Ahead | None, most: int | None) -> Functions | None:
        """Members of a hole of at most that price which are left after a look ahead; None: too many to list."""
        functions = candidate.functions[choice]
        if functions is not None:
            functions = self._cheap_enough(choice, functions, most)
            if ahead is not None:
                return functions.select(ahead.surviving(functions))
            self.counters.tested += len(functions)
            return functions
        members = self.sets[choice]
        allowed = candidate.allowed[choice]
        if ahead is not None and isinstance(members, ComposedSet):
            found = ahead.surviving_pairs(members)
            return None if found is None else found.matching(allowed)
        listed = members.matching(allowed)
        if listed is not None:
            listed = self._cheap_enough(choice, listed, most)
        return listed if listed is None or ahead is None else listed.select(ahead.surviving(listed))

    def _cheap_enough(self, choice: int, functions: Functions, most: int | None) -> Functions:
        if most is None:
            return functions
        prices = self.lowered.holes[choice].prices
        if prices is not None:
            # Shuffles and selects are dear to count, so members whose index operations are too many go first.
            before = self._leasts[choice] - prices.objective.cost_in(self._leasts[choice])
            functions = functions.select(np.flatnonzero(before + functions.costs <= most))
        return functions.select(np.flatnonzero(self._prices(choice, functions) <= most))

    def bound(self, candidate: Candidate) -> Cost:
        if isinstance(candidate, Settled):
            return 0, candidate.total
        return 0, sum(self._least(h, f) for h, f in enumerate(candidate.functions) if h in self.live)

    def _prices(self, hole: int, functions: Functions) -> IntArray:
        prices = self.lowered.holes[hole].prices
        return functions.costs if prices is None or not len(functions) else prices.of(functions)

    def _least(self, hole: int, functions: Functions | None) -> int:
        """No function of the hole that is left costs less."""
        if functions is not None and len(functions) == 1:
            return int(self._prices(hole, functions)[0])
        if self.lowered.holes[hole].prices is not None:
            return self._leasts[hole]
        return int(functions.costs[0]) if functions is not None and len(functions) else 0

    @cached_property
    def _leasts(self) -> dict[int, int]:
        """By hole: what it costs at least below the root."""
        root = self._root
        if root is None:
            return dict.fromkeys(self.live, 0)
        priced = ((hole, self.lowered.holes[hole].prices) for hole in self.live)
        elements = [c for c in self.constraints if isinstance(c, ElementConstraint)]
        return {
            hole: p.least(root.functions[hole], root.allowed[hole], least_moves(root, elements, self.filter.injective, hole, p))
            for hole, p in priced
            if p is not None
        }

    def confirmed(self, root: Candidate, functions: Mapping[int, Functions]) -> tuple[Cost, Found] | None:
        """The answer that takes these functions, if it is one. `root`: propagated."""
        self.counters.tested += 1
        child = root.copy()
        for hole, chosen in functions.items():
            child.functions[hole] = chosen
            child.allowed[hole] &= chosen.supported(child.allowed[hole].shape[1])
            if not child.allowed[hole].any(axis=1).all():
                return None
        whole = self.propagated(child, range(len(self.constraints)), set())
        return None if whole is None else self.answer(whole)

    def _counts_agree(self, candidate: Candidate) -> bool:
        """Whether the folds of a decided candidate hold their values as often as required."""
        with self.folds.counting_exactly():
            return self.propagated(candidate.copy(), range(len(self.constraints)), set()) is not None

    def answer(self, candidate: Candidate) -> tuple[Cost, Found] | None:
        if not self.options.counts_copies and not self._counts_agree(candidate):
            return None
        ways: list[tuple[Way, ...]] = []
        for hole, (members, functions) in enumerate(zip(self.sets, candidate.functions, strict=True)):
            if hole not in self.live:
                ways.append(())
                continue
            assert functions is not None and len(functions) == 1
            expr = functions.expr(0)
            ways.append(members.ways(expr) if isinstance(members, ComposedSet) else ((Member(expr, functions.tables[0]),),))
        return self.bound(candidate), Found(
            {}, 0, tuple(ways), {h: f for h, f in enumerate(candidate.functions) if f is not None and h in self.live}
        )


def count_nothing(folds: FoldConstraint) -> None:
    """Folds hold each of their values, however often, and nothing else."""
    folds.strict = False
    folds.products = replace(folds.products, used_once=np.zeros_like(folds.products.used_once))


def requirements_of(lowered: Lowered, universe: Universe) -> Requirements:
    """The goal's demands on the network: values of cells, contents of folds."""
    required, numbers = lowered.required, lowered.numbers
    contents: list[tuple[IntArray, IntArray]] = []
    for value in required.values.tolist():
        at = np.flatnonzero(numbers.composites == value)
        members = numbers.members[at[0]] if len(at) else np.zeros(0, np.int64)
        contents.append(np.unique(members[members >= 0], return_counts=True))
    most = max((len(v) for v, _ in contents), default=1) or 1
    terms = np.full((len(contents), most, 1), -1, np.int64)
    multiplicity = np.zeros((len(contents), most), np.int64)
    for row, (values, counts) in enumerate(contents):
        terms[row, : len(values), 0] = values
        multiplicity[row, : len(values)] = counts
    none = np.zeros(0, np.int64)
    return Requirements(
        universe, lowered.goal_values, lowered.goal_cells, none, none, len(contents), terms, multiplicity, "exact", ZERO_NUMBER,
        required.entries, judged=(), is_loose=False,
    )  # fmt: skip


def start_of(lowered: Lowered, requirements: Requirements) -> Candidate:
    """The first candidate: known cells hold their value, goal cells what the goal says, all else is open. Raises
    ConflictError."""
    numbers = lowered.numbers
    size = len(numbers)
    words = (size + 63) // 64
    every = pack(np.ones((1, size), np.bool_), words)
    domains = every.repeat(lowered.network.cells, axis=0)
    domains[0] = 0
    cells = np.array(list(lowered.known), np.int64)
    held = np.zeros((len(cells), size), np.bool_)
    held[np.arange(len(cells)), list(lowered.known.values())] = True
    domains[cells] = pack(held, words)
    wanted = np.zeros((len(lowered.goal_cells), size), np.bool_)
    wanted[np.arange(len(wanted)), lowered.goal_values] = True
    np.bitwise_and.at(domains, lowered.goal_cells, pack(wanted, words))
    if not domains[lowered.goal_cells].any(axis=1).all():
        raise ConflictError
    needed = np.zeros(lowered.network.cells, np.bool_)
    needed[lowered.goal_cells] = True
    return Candidate([h.allowed.copy() for h in lowered.holes], [None] * len(lowered.holes), domains, needed)


def _groups(lowered: Lowered, elements: list[ElementConstraint], folds: FoldConstraint) -> IntArray:
    """[cells] the constraint that writes a cell; shared with the constraints already built."""
    group_of = folds.group_of
    top = int(group_of.max())
    for number, rows in enumerate(lowered.folds):
        group_of[rows.out] = top + 1 + number
    for element in elements:
        element.source_groups = frozenset(np.unique(group_of[element.source]).tolist())
        element.groups = element.source_groups | {element.out_group}
    cells = [factor for entry in folds.entries for factor in entry.factors]
    folds.groups = frozenset(np.unique(group_of[np.concatenate(cells)]).tolist()) if cells else frozenset()
    return group_of


def _read_elsewhere(lowered: Lowered, reader: ElementConstraint) -> IntArray:
    """Cells that something else than `reader` reads."""
    read = [rows.elements.ravel() for rows in lowered.folds]
    read += [f for e in lowered.required.entries for f in e.factors]
    for batch in lowered.network.batches:
        if isinstance(batch, Elements) and batch.slots.holes != reader.slots.holes:
            read.append(batch.source.ravel())
    read.append(lowered.goal_cells)
    return np.concatenate(read)
