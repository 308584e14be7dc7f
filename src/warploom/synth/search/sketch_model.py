"""A sketch as a `solve.Model`: holes are choices among functions, constraints propagate, accumulates and operations cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from warploom.ir import IndexExpr
from warploom.ir.swizzle import Functions, FunctionSet, PartitionSet, Tables
from warploom.solve import Alternative, Cost
from warploom.synth.network.network import Elements, GuardRows, IntArray, Network, Placements, Retained, Slots
from warploom.synth.network.probe import Probe
from warploom.synth.network.relevance import relevant_points
from warploom.synth.network.requirements import Requirements
from warploom.synth.network.sample import Sample
from warploom.synth.search.folds import FoldConstraint
from warploom.synth.search.lookahead import WORTH_IT, Lookahead
from warploom.synth.search.prices import BankConstraint, Limit, Prices
from warploom.synth.search.propagation import (
    Candidate,
    Changes,
    ConflictError,
    Constraint,
    ElementConstraint,
    FunctionFilter,
    PlacementConstraint,
    any_option,
    narrow_slots,
    slot_options,
)
from warploom.synth.search.sums import sum_constraints

FREE_FOLDS = 1 << 22
"""Contributions times terms of an accumulator; with more, nothing is counted before something is decided."""
DEAR_TO_LIST = 1 << 16
"""Listing what fits of a larger set takes longer than to run the constraints."""
CHEAP_TO_EVALUATE = 1 << 28
"""Cells times functions of the last open hole: fewer are evaluated before anything else is done with them."""
FIRST_BLOCK = 64
"""Functions that are looked at together at first."""
WORTH_A_SAMPLE = 4
"""Alternatives that are refuted on a part of the network first."""


@dataclass(frozen=True, eq=False, slots=True)
class Chosen:
    """One function per hole."""

    holes: dict[str, IndexExpr]
    accumulates: int
    prices: tuple[int, ...] = field(default=(), kw_only=True)
    """The costs that count after the accumulates, in the order of the objective."""


class _Watched:
    """Constraints, and which of them have to run again when a group of cells or a hole is narrowed."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.constraints = constraints
        self.of_group: dict[int, set[int]] = {}
        self.of_hole: dict[int, set[int]] = {}
        for number, constraint in enumerate(constraints):
            for group in constraint.groups:
                self.of_group.setdefault(group, set()).add(number)
            for hole in constraint.holes:
                self.of_hole.setdefault(hole, set()).add(number)


class SketchModel:
    """A network with a function set per hole, as `solve.Model[Candidate, Chosen]`."""

    lists_last: bool = False
    """Constraints come to rest before any set's functions are listed: right where listing is the dearer of the two."""

    def __init__(
        self,
        network: Network,
        required: Requirements,
        folds: FoldConstraint,
        constraints: Sequence[Constraint],
        injective: list[ElementConstraint],
        sets: list[FunctionSet],
        start: Candidate,
        evaluate: Callable[[dict[str, IndexExpr]], bool] | None,
        probe: Probe | None = None,
        *,
        pending: Iterable[int] = (),
        sample: Sample | None = None,
        merges: bool = False,
        prices: Prices | None = None,
        limit: Limit | None = None,
    ) -> None:
        """`start`: the candidate to search below; `evaluate` judges decided candidates that propagation cannot, `probe` refutes
        most of them cheaply. `pending`: constraints at which `start` is not at a fixed point. `sample`: part of the network, to
        refute decisions by. `merges`: one answer is enough among those that differ only where nothing depends on it. `prices`:
        of open indices, which count after the accumulates; `limit`: what requests may cost beyond what the sketch allows."""
        self.probe = probe
        self.network = network
        self.required = required
        self.folds = folds
        self.sets = sets
        self.start = start
        self.left: Sequence[tuple[int, int]] = ()
        """Holes that are open at the root, and how many functions each has left."""
        self.start_changes: set[int] = set()
        """Holes narrowed in `start` since it was last at a fixed point of the constraints."""
        self._pending = set(pending)
        self.evaluate = evaluate
        self.merges = merges
        self.sample = sample
        self.prices = prices
        self.limit: Limit | None = limit
        banks = () if prices is None else (BankConstraint(prices, limit),)
        constraints = self.constraints = [*constraints, *(b for b in banks if b.parts)]
        self.filter = FunctionFilter(list(sets), injective)
        self.waits = [self.lists_last or s.size_bound > DEAR_TO_LIST for s in sets]
        """Per hole: whether its functions are listed only once the constraints are at rest."""
        self.watched = _Watched(constraints)
        self.of_hole = self.watched.of_hole
        self.guards = guard_rows(network)

    # ------------------------------------------------------------ solve.Model

    def root(self) -> Candidate | None:
        pending = self._pending.union(*(self.of_hole.get(hole, set()) for hole in self.start_changes))
        pending |= {n for n, c in enumerate(self.constraints) if isinstance(c, BankConstraint)}
        root = self.propagated(self.start.copy(), pending, range(len(self.sets)))
        self.left = () if root is None else self.open_choices(root)
        return root

    def open_choices(self, candidate: Candidate) -> Sequence[tuple[int, int]]:
        result: list[tuple[int, int]] = []
        for hole, functions in enumerate(candidate.functions):
            if functions is None:
                result.append((hole, self.sets[hole].size_bound))
            elif len(functions) > 1:
                result.append((hole, len(functions)))
        return result

    def alternatives(self, candidate: Candidate, choice: int) -> Iterator[Alternative[Candidate]]:
        functions = candidate.functions[choice]
        if functions is None and self.merges:
            functions = self._where_it_matters(candidate, choice)
        if functions is None:
            functions = self.sets[choice].matching(candidate.allowed[choice])
        if functions is None:
            yield from self._split_point(candidate, choice)
            return
        guards = [s for s, parts in self.guards.items() if all(set(g.slots.holes) == {choice} for g in parts)]
        count, *prices, cost = self.bound(candidate)
        counted = sum(self._is_counted(candidate, s) for s in guards)
        kept = candidate.functions[choice]
        before = int(kept.costs[0]) if kept is not None else 0
        ahead = None
        if len(functions) >= WORTH_IT:
            ahead = Lookahead(candidate, self.constraints, choice, len(self.required.universe))
        if ahead is not None and guards:
            functions, ahead = functions.select(ahead.surviving(functions)), None
        # Where every request must take its least, functions that do cost the same: they are told apart when they are needed.
        is_fixed = self.prices is not None and self.limit == "least" and self.prices.kinds == ("wavefronts",)
        priced: list[tuple[int, ...]] = [tuple(prices)] * len(functions)
        if self.prices is not None and not is_fixed:
            found, keeps = self.prices.of_functions(candidate, choice, functions, self.limit)
            functions, priced = functions.select(keeps), [tuple(row) for row in found[keeps].tolist()]
        others: list[Tables] | None = None
        if self.probe is not None:
            tables, still_open = _other_tables(candidate, choice)
            told = self.probe.told(choice, still_open)
            if told.any() and self.network.cells * len(functions) <= CHEAP_TO_EVALUATE:
                keeps = self.probe.surviving(tables, choice, functions.tables, told if still_open else None)
                functions, priced = functions.select(keeps), [p for p, kept in zip(priced, keeps.tolist(), strict=True) if kept]
            elif not still_open:
                others = tables
        bounds: list[Cost] = []
        for j in range(len(functions)):
            on = sum(self._fires(s, functions.tables[j]) for s in guards)
            bounds.append((count - counted + max(on, counted), *priced[j], cost - before + int(functions.costs[j])))
        part = None
        if self.sample is not None and len(functions) >= WORTH_A_SAMPLE:
            part = _Watched(self.sample.below(candidate))
        order: IntArray = np.array(sorted(range(len(bounds)), key=bounds.__getitem__), np.int64)
        for block in _growing(order):
            left: IntArray = block
            if is_fixed and self.prices is not None:
                left = left[self.prices.of_functions(candidate, choice, functions.select(left), self.limit)[1]]
            if ahead is not None:
                left = left[ahead.surviving(functions.select(left))]
            if self.probe is not None and others is not None:
                left = left[self.probe.surviving(others, choice, functions.tables[left])]
            positions: list[int] = left.tolist()
            for j in positions:
                yield Alternative(bounds[j], partial(self._decided, candidate, choice, functions, j, part))

    def bound(self, candidate: Candidate) -> Cost:
        count = sum(self._is_counted(candidate, s) for s in range(len(self.network.statements)))
        prices = () if self.prices is None else self.prices.bound(candidate)
        return count, *prices, sum(int(f.costs[0]) for f in candidate.functions if f is not None and len(f))

    def answer(self, candidate: Candidate) -> tuple[Cost, Chosen] | None:
        holes: dict[str, IndexExpr] = {}
        if self.probe is not None and not self.probe.matches([f.tables[0] for f in candidate.functions if f is not None]):
            return None
        for use, functions in zip(self.network.holes, candidate.functions, strict=True):
            assert functions is not None
            holes[use.hole.name] = functions.expr(0)
        if self.evaluate is not None and not self.evaluate(holes):
            return None
        cost = self.bound(candidate)
        return cost, Chosen(holes, cost[0], prices=cost[1:-1])

    def decide(self, hole: int, table: IntArray) -> bool:
        """Decide a hole before the search begins, by its values on its points; False where the start has no such function."""
        allowed = np.zeros_like(self.start.allowed[hole])
        allowed[np.arange(len(allowed)), table] = True
        allowed &= self.start.allowed[hole]
        self.start = self.start.copy()
        self.start.allowed[hole] = allowed
        self.start_changes.add(hole)
        return bool(allowed.any(axis=1).all())

    # ------------------------------------------------------------ propagation

    def propagated(
        self,
        candidate: Candidate,
        constraints: range | set[int],
        holes: range | set[int],
        part: _Watched | None = None,
    ) -> Candidate | None:
        """`candidate` narrowed in place to a fixed point of all constraints, or of a part's, or None."""
        watched = part or self.watched
        pending, pending_holes = set(constraints), set(holes)
        try:
            while pending or pending_holes:
                ready = {h for h in pending_holes if not (pending and candidate.functions[h] is None and self.waits[h])}
                for hole in ready:
                    pending_holes.discard(hole)
                    if self.filter.narrow(candidate, hole):
                        pending |= watched.of_hole.get(hole, set())
                if not pending:
                    break
                number = min(pending)
                pending.discard(number)
                changes = Changes(set(), set())
                constraint = watched.constraints[number]
                constraint.narrow(candidate, changes)
                for group in changes.groups:
                    pending |= watched.of_group.get(group, set())
                for hole in changes.holes:
                    pending |= watched.of_hole.get(hole, set())
                    pending_holes.add(hole)
                if not changes.holes and changes.groups <= constraint.settled:
                    pending.discard(number)
        except ConflictError:
            return None
        return candidate

    def _decided(
        self, candidate: Candidate, hole: int, functions: Functions, position: int, part: _Watched | None = None
    ) -> Candidate | None:
        child = candidate.copy()
        chosen = functions.select(np.array([position]))
        child.functions[hole] = chosen
        allowed = np.zeros_like(child.allowed[hole])
        allowed[np.arange(len(allowed)), chosen.tables[0]] = True
        child.allowed[hole] = allowed
        return self._followed(candidate, child, hole, set(), part)

    def _where_it_matters(self, candidate: Candidate, hole: int) -> Functions | None:
        """Functions of a set too large to list, one for all that agree at the points that can still matter."""
        members = self.sets[hole]
        if not isinstance(members, PartitionSet):
            return None
        if self.prices is not None and hole in self.prices.holes:
            return None  # what nothing reads has its price all the same
        points = relevant_points(self.network, self.constraints, candidate, hole)
        return members.matching_at(points, candidate.allowed[hole] | ~points[:, None])

    def _split_point(self, candidate: Candidate, hole: int) -> Iterator[Alternative[Candidate]]:
        """Too many functions to list: decide the value at the most constrained open point instead."""
        allowed = candidate.allowed[hole]
        freedom: IntArray = allowed.sum(axis=1)
        point = int(np.argmin(np.where(freedom > 1, freedom, allowed.shape[1] + 1)))
        for value in np.flatnonzero(allowed[point]).tolist():
            yield Alternative(self.bound(candidate), partial(self._pointed, candidate, hole, point, value))

    def _pointed(self, candidate: Candidate, hole: int, point: int, value: int) -> Candidate | None:
        child = candidate.copy()
        child.allowed[hole][point] = False
        child.allowed[hole][point, value] = True
        return self._followed(candidate, child, hole, {hole})

    def _followed(
        self, candidate: Candidate, child: Candidate, hole: int, holes: set[int], part: _Watched | None = None
    ) -> Candidate | None:
        """`child`, a copy of `candidate` after a decision on a hole, propagated in place; the part of the network first."""
        if part is not None:
            quick = child.copy()
            quick.base = candidate
            if self.propagated(quick, set(part.of_hole.get(hole, set())), holes, part) is None:
                return None
        child.base = candidate
        followed = self.propagated(child, set(self.of_hole.get(hole, set())), holes)
        child.base = None
        return followed

    # ------------------------------------------------------------ objective

    def _is_counted(self, candidate: Candidate, statement: int) -> bool:
        """Whether the statement's guard is certainly not false everywhere."""
        if self.network.statements[statement].is_certain:
            return True
        return any(
            not any_option(slot_options(candidate, g.slots, (len(g.holds),)) & ~g.holds).all()
            for g in self.guards.get(statement, [])
        )

    def _fires(self, statement: int, table: Tables) -> bool:
        """Whether the guard, which depends on one hole only, holds anywhere under the hole's function `table` ([points])."""
        return any(
            bool(g.holds[(np.arange(len(g.holds)), *(table[p] for p in g.slots.points))].any())
            for g in self.guards.get(statement, [])
        )


def _other_tables(candidate: Candidate, choice: int) -> tuple[list[Tables], list[int]]:
    """([holes] tables of the decided ones, zeros for the others; the open ones besides `choice`)."""
    tables: list[Tables] = []
    still_open: list[int] = []
    for hole, functions in enumerate(candidate.functions):
        if hole != choice and functions is not None and len(functions) == 1:
            tables.append(functions.tables[0])
        else:
            tables.append(np.zeros(len(candidate.allowed[hole]), np.int16))
            if hole != choice:
                still_open.append(hole)
    return tables, still_open


def _growing(order: IntArray) -> Iterator[IntArray]:
    """Parts of growing size: who takes but the first few does not wait for what is done to all."""
    start, size = 0, FIRST_BLOCK
    while start < len(order):
        yield order[start : start + size]
        start, size = start + size, 4 * size


def guard_rows(network: Network) -> dict[int, list[GuardRows]]:
    """Statement that need not fire -> its open guards, joined where they share holes and shape."""
    groups: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[GuardRows]] = {}
    for guard in network.guards:
        if not network.statements[guard.statement].is_certain:
            groups.setdefault((guard.statement, guard.slots.holes, guard.holds.shape[1:]), []).append(guard)
    joined: dict[int, list[GuardRows]] = {}
    for (statement, holes, _), members in groups.items():
        points = tuple(np.concatenate([m.slots.points[s] for m in members]) for s in range(len(holes)))
        holds = np.concatenate([m.holds for m in members])
        joined.setdefault(statement, []).append(GuardRows(statement, Slots(holes, points), holds))
    return joined


def disable(model: SketchModel, enabled: int) -> bool:
    """Switch off what uncertain statements outside `enabled` (bits) add to required folds in the model's start.

    False if some contribution cannot be off. Contributions to other folds stay free: they may have to be made because a hole
    serves several guards.
    """
    child = model.start.copy()
    changes = Changes(set(), set())
    try:
        for entry in model.required.entries:
            if enabled >> entry.statement & 1 or model.network.statements[entry.statement].is_certain:
                continue
            rows = len(entry.fold)
            options = slot_options(child, entry.slots, (rows,)) & ~entry.guard
            if not any_option(options).all():
                return False
            narrow_slots(child, changes, entry.slots, options)
    except ConflictError:
        return False
    model.start = child
    model.start_changes |= changes.holes
    return True


def injective_elements(network: Network, required: Requirements, constraints: Sequence[Constraint]) -> list[ElementConstraint]:
    """Gathers that must not read a cell twice: all outputs are different values, and all of them pass through its results.

    Source: Swizzleflow, section 4 (too few copies), for a whole cut of the network.
    """
    distinct = len(np.unique(required.output_values))
    if required.folds or required.is_loose or distinct < len(required.output_cells):
        return []
    found: list[ElementConstraint] = []
    for constraint in constraints:
        if isinstance(constraint, ElementConstraint) and len(constraint.out) == distinct:
            reached = np.zeros(network.cells, np.bool_)
            reached[list(network.known)] = True
            blocked = np.zeros(network.cells, np.bool_)
            blocked[constraint.out] = True
            for batch in network.batches:
                match batch:
                    case Elements():
                        reached[batch.out] = reached[batch.source].reshape(len(batch.out), -1).any(axis=1)
                    case Placements():
                        reached[batch.target[reached[batch.source]]] = True
                    case Retained():
                        reached[batch.out] |= reached[batch.old]
                    case _:
                        reached[batch.out] = True
                reached &= ~blocked
            if not reached[required.output_cells].any():
                found.append(constraint)
    return found


def _joined_stores(placements: Sequence[tuple[Placements, Retained]]) -> list[tuple[Placements, Retained]]:
    """Stores through the same holes as one: each has fresh cells of its own, so none takes another's targets."""
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[Placements, Retained]]] = {}
    for store in placements:
        groups.setdefault((store[0].slots.holes, store[0].target.shape[1:]), []).append(store)
    joined: list[tuple[Placements, Retained]] = []
    for (holes, _), parts in groups.items():
        points = tuple(np.concatenate([p.slots.points[s] for p, _ in parts]) for s in range(len(holes)))
        source = np.concatenate([p.source for p, _ in parts])
        target = np.concatenate([p.target for p, _ in parts])
        out = np.concatenate([r.out for _, r in parts])
        old = np.concatenate([r.old for _, r in parts])
        joined.append((Placements(source, Slots(holes, points), target, parts[0][0].array), Retained(out, old)))
    return joined


def build_constraints(network: Network, required: Requirements) -> tuple[list[Constraint], FoldConstraint]:
    """Batches of the same depth, holes and shape become one constraint; groups of cells are what one constraint writes."""
    depth = np.zeros(network.cells, np.int64)
    merged: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[Elements]] = {}
    placements: list[tuple[Placements, Retained]] = []
    retained: Retained | None = None
    for batch in network.batches:
        match batch:
            case Elements():
                level = int(depth[batch.source].max()) + 1
                depth[batch.out] = level
                merged.setdefault((level, batch.slots.holes, batch.source.shape[1:]), []).append(batch)
            case Retained():
                retained = batch
                depth[batch.out] = depth[batch.old] + 1
            case Placements():
                assert retained is not None
                placements.append((batch, retained))
                depth[batch.target[batch.target != 0]] = int(depth[batch.source].max()) + 1
            case _:
                depth[batch.out] = int(depth.max()) + 1
    group_of = np.zeros(network.cells, np.int64)
    joined: list[Elements] = []
    for (_, holes, _), parts in sorted(merged.items(), key=lambda item: item[0]):
        points = tuple(np.concatenate([p.slots.points[s] for p in parts]) for s in range(len(holes)))
        out = np.concatenate([p.out for p in parts])
        joined.append(Elements(out, Slots(parts[0].slots.holes, points), np.concatenate([p.source for p in parts])))
        group_of[out] = len(joined)
    stores = _joined_stores(placements)
    for number, (_, kept) in enumerate(stores):
        group_of[kept.out] = len(joined) + 1 + number
    optional = np.zeros(network.cells, np.bool_)
    optional[required.optional_cells] = True
    constraints: list[Constraint] = [ElementConstraint(e, group_of) for e in joined]
    constraints += [PlacementConstraint(p, r, group_of, optional) for p, r in stores]
    folds = FoldConstraint(required, group_of)
    if required.folds:
        constraints.append(folds)
    if required.is_loose:
        parts = [FoldConstraint(part, group_of) for part in required.apart]
        constraints += [part for part in parts if part.rows * part.real.shape[1] <= FREE_FOLDS]
        constraints += sum_constraints(network, required, group_of)
    return constraints, folds
