"""Tries all functions of one hole at once: which of them leave another hole something to be.

Deciding a hole makes known which cell holds which value. Where each needed value has one holder, the value that a still open
hole must take at a point follows by table lookup, for ten thousand functions in one NumPy pass; a function whose demands no
function of the other hole meets is refuted without being propagated. This is the hash join of two holes' functions. The same
is done backwards (`demands.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from warploom.ir.swizzle import Functions, Tables
from warploom.synth.network.network import UNDEFINED, BoolArray, IntArray
from warploom.synth.search.demands import ANY_OPTION, NO_OPTION, Demands, Told, only_option, spread
from warploom.synth.search.propagation import Candidate, Constraint, ElementConstraint, PlacementConstraint, Words, unpack

WORTH_IT = 32
"""Fewer functions are propagated one by one."""
GLANCE = 32
"""Rows of a gather that are looked at before all of them."""
_CHUNK_CELLS = 1 << 23


class Lookahead:
    """Filters the functions of one hole below one candidate."""

    def __init__(self, candidate: Candidate, constraints: Sequence[Constraint], hole: int, universe: int) -> None:
        self.candidate = candidate
        self.hole = hole
        self.universe = universe
        self.constraints = constraints
        self.decided = {h for h, a in enumerate(candidate.allowed) if bool((a.sum(axis=1) == 1).all())}
        self.value = _single_values(candidate.domains, universe)
        self.rng = np.random.default_rng(0)
        self.open_elements: list[ElementConstraint] = []
        self.open_placements: list[PlacementConstraint] = []
        self.known_elements: list[ElementConstraint] = []
        for constraint in constraints:
            if isinstance(constraint, ElementConstraint):
                known = set(constraint.holes) <= self.decided | {hole} and self._sources_known(constraint)
                (self.known_elements if known else self.open_elements).append(constraint)
            elif isinstance(constraint, PlacementConstraint):
                self.open_placements.append(constraint)
        self.demands = Demands(candidate, constraints, hole, self.decided, self.value, universe)

    def _sources_known(self, constraint: ElementConstraint) -> bool:
        """Whether every source is a decided cell already, or will be once the hole is decided."""
        open_cells = np.zeros(len(self.value), np.bool_)
        for other in self.open_elements:
            open_cells[other.out] = True
        return not open_cells[constraint.source].any()

    def surviving(self, functions: Functions) -> IntArray:
        """Positions of the functions that are not refuted."""
        size = len(self.value) * 4 + sum(c.source.size for c in self.open_elements if c.out.size)
        step = max(1, _CHUNK_CELLS // max(1, size))
        found = [
            start + np.flatnonzero(self._alive(functions.tables[start : start + step]))
            for start in range(0, len(functions), step)
        ]
        return np.concatenate(found)

    def _alive(self, tables: Tables) -> BoolArray:
        alive = np.ones(len(tables), np.bool_)
        values = np.repeat(self.value[None, :], len(tables), axis=0)
        for element in self.known_elements:
            got = np.take_along_axis(values, self._chosen(element, tables), axis=1)
            wanted = self.value[element.out]
            clash = (got >= 0) & (wanted >= 0)[None, :] & (got != wanted[None, :]) & self.candidate.needed[element.out][None, :]
            alive &= ~clash.any(axis=1)
            values[:, element.out] = np.where(got >= 0, got, wanted[None, :])
        left = np.flatnonzero(alive)
        told: list[Told] = []
        for count in (GLANCE, None):
            told = []
            for element in self.open_elements:
                if len(element.holes) == 1 and len(element.slots.holes) == 1:
                    rows = spread(np.flatnonzero(self.candidate.needed[element.out] & (self.value[element.out] >= 0)), count)
                    demanded = self._demanded(element, rows, values[left])
                    fits = self._hole_meets(element.slots.holes[0], element.slots.points[0][rows], demanded)
                    left = left[fits]
                    told = [(e, r, d[fits]) for e, r, d in (*told, (element, rows, demanded))]
        alive[:] = False
        alive[left] = True
        for placement in self.open_placements:
            if len(placement.holes) == 1 and len(placement.slots.holes) == 1 and self.hole not in placement.holes:
                alive &= self._meets_placement(placement, values)
        if self.demands.gathers:
            told = [(element, rows, demanded[alive[left]]) for element, rows, demanded in told]
            left = np.flatnonzero(alive)
            alive[left] = self.demands.surviving(tables[left], self._chosen, self._hole_meets, told)
        return alive

    def _chosen(self, element: ElementConstraint, tables: Tables) -> IntArray:
        """[functions, rows] the source cell of each row of a gather whose holes are all decided."""
        index = np.zeros((len(tables), len(element.out)), np.int64)
        for hole, points, extent in zip(element.slots.holes, element.slots.points, element.shape, strict=True):
            if hole == self.hole:
                value = tables[:, points]
            else:
                value = self.candidate.allowed[hole][points].argmax(axis=1)[None, :]
            index = index * extent + value
        return element.source[np.arange(len(element.out))[None, :], index]

    def _demanded(self, element: ElementConstraint, rows: IntArray, values: IntArray) -> IntArray:
        """[functions, rows] options by which required outputs read through one open hole, also by way of further open ones."""
        hole, points = element.slots.holes[0], element.slots.points[0][rows]
        source = element.source[rows]
        wanted = self.value[element.out[rows]]
        allowed = self.candidate.allowed[hole][points]
        reach = self._reach(source)
        if reach is None:
            held = values[:, source]
            fits = allowed[None] & ((held == wanted[None, :, None]) | (held < 0)) & (source != UNDEFINED)[None]
            demanded = only_option(fits)
        else:
            boundary, reaches = reach
            holder, unique = self._holders(values[:, boundary])
            # [rows, boundary]: the option through which a required value must come from a boundary cell.
            option = only_option(np.moveaxis(allowed[:, :, None] & reaches[source], 2, 1))
            at = holder[:, wanted]
            demanded = option[np.arange(len(rows))[None, :], at]
            demanded[~unique] = ANY_OPTION
            known: BoolArray = np.logical_and.reduce(values[:, boundary] >= 0, axis=1)
            demanded[known[:, None] & (at == len(boundary))] = NO_OPTION
        return demanded

    def _reach(self, source: IntArray) -> tuple[IntArray, BoolArray] | None:
        """Known cells that may flow into open ones: (their numbers, [cells, known cells] whether they may); None: not needed."""
        return self._flow if self._is_open[source].any() else None

    @cached_property
    def _is_open(self) -> BoolArray:
        """[cells] results of open gathers."""
        is_open = np.zeros(len(self.value), np.bool_)
        for other in self.open_elements:
            is_open[other.out] = True
        return is_open

    @cached_property
    def _flow(self) -> tuple[IntArray, BoolArray]:
        boundary = np.unique(np.concatenate([e.source.ravel() for e in self.open_elements]))
        boundary = boundary[~self._is_open[boundary] & (boundary != UNDEFINED)]
        reaches = np.zeros((len(self.value), len(boundary) + 1), np.bool_)
        reaches[boundary, np.arange(len(boundary))] = True
        for element in self.open_elements:
            allowed = np.ones((len(element.out), element.source.shape[1]), np.bool_)
            if len(element.slots.holes) == 1:
                allowed = self.candidate.allowed[element.slots.holes[0]][element.slots.points[0]]
            for row_start in range(0, len(element.out), 256):
                rows = slice(row_start, row_start + 256)
                reaches[element.out[rows]] |= (reaches[element.source[rows]] & allowed[rows][:, :, None]).any(axis=1)
        return boundary, reaches

    def _holders(self, held: IntArray) -> tuple[IntArray, BoolArray]:
        """[functions, values] which boundary position holds a value (one past the end: none); whether no value has two."""
        functions, cells = len(held), int(held.shape[1])
        holder: IntArray = np.full((functions, self.universe + 1), cells)
        row = np.arange(functions).reshape(-1, 1)
        holder[row, np.where(held >= 0, held, self.universe)] = np.arange(cells)[None, :]
        back: IntArray = np.take_along_axis(holder, np.where(held >= 0, held, self.universe), axis=1)
        unique: BoolArray = np.logical_and.reduce((back == np.arange(cells)) & (held >= 0), axis=1)
        return holder, unique

    def _meets_placement(self, placement: PlacementConstraint, values: IntArray) -> BoolArray:
        """Rows whose known value only one required target takes."""
        hole, points = placement.slots.holes[0], placement.slots.points[0]
        target = self.value[placement.target]
        free = ~self.candidate.needed[placement.target] | (placement.target == UNDEFINED) | (target < 0)
        allowed = self.candidate.allowed[hole][points]
        # [rows, values]: the option that brings a value where it is required.
        fits = np.zeros((len(target), self.universe + 1, target.shape[1]), np.bool_)
        row, option = np.nonzero(allowed & ~free)
        fits[row, target[row, option], option] = True
        fits |= (allowed & free)[:, None, :]
        fits[:, self.universe] = True
        demanded = only_option(fits)[np.arange(len(target))[None, :], values[:, placement.source]]
        return self._hole_meets(hole, points, demanded)

    def _hole_meets(self, hole: int, points: IntArray, demanded: IntArray) -> BoolArray:
        """[functions]: whether the hole has a function with the demanded values ([functions, rows])."""
        alive = (demanded != NO_OPTION).all(axis=1)
        functions = self.candidate.functions[hole]
        order = np.argsort(points, kind="stable")
        distinct, starts = np.unique(points[order], return_index=True)
        first = demanded[:, order[starts]]
        if len(distinct) < len(points):
            again = demanded[:, order]
            lead = np.repeat(first, np.diff([*starts, len(order)]), axis=1)
            alive &= ((again == lead) | (again == ANY_OPTION) | (lead == ANY_OPTION)).all(axis=1)
        if functions is None or not alive.any():
            return alive
        definite = alive & (first != ANY_OPTION).all(axis=1)
        weights = self.rng.integers(1, 1 << 62, len(distinct), dtype=np.uint64)
        demands = (first[definite].astype(np.uint64) * weights).sum(axis=1)
        offers = (functions.tables[:, distinct].astype(np.uint64) * weights).sum(axis=1)
        alive[definite] = np.isin(demands, offers)
        return alive


def _single_values(domains: Words, universe: int) -> IntArray:
    """[cells] the only value a cell may hold, -1 where it is open."""
    single = np.bitwise_count(domains).sum(axis=1) == 1
    values = np.full(len(domains), -1)
    cells = np.flatnonzero(single)
    if len(cells):
        values[cells] = unpack(domains[cells], universe).argmax(axis=1)
    return values
