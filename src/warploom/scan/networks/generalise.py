"""Generalises one drawn network to a SIMD loop for every size.

The drawn steps are cut into at most `MAX_PHASES` runs; each run must be one move of the grammar at consecutive levels. Guards
explain the drawn destinations and sources the drawn sources independently of each other, so the moves of a run are the
intersection of what explains its steps: nothing is guessed and tested one by one. The cheapest programs in order (phases, then
bounds and constants, then operations) are run at other sizes on intervals; the first that is a scan up to `largest` is the
answer, and it repeats the drawing exactly at the drawn size. Up to `PICKS` moves per run are tried.
Source: HotPar 2011, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.ir import tabulate
from warploom.scan.networks.grammar import Template, guards, sources
from warploom.scan.networks.intervals import Adjacency, Ints, adjacency_of, flaw
from warploom.scan.networks.network import Network
from warploom.scan.networks.program import Bound, Move, Phase, Program, first_failure, values

LARGEST = 1024
MAX_PHASES = 4
MAX_RADIX = 8
PICKS = 6
"""Moves tried per phase, cheapest first, before the next cut."""


@dataclass(frozen=True, slots=True)
class Generalised:
    """A program that draws the example and scans at every size tried."""

    program: Program
    adjacency: Adjacency
    largest: int
    """Checked for every n up to this."""
    space: int
    """About how many programs of the grammar have these radices and this many loops, bounds being pairs of levels."""
    tried: int
    """Programs that draw the example and were run at other sizes."""


@dataclass(frozen=True, slots=True)
class NotGeneralised:
    """No program was found."""

    tried: int
    """Programs that draw the example and fail at other sizes; 0: no program of the grammar draws it, the space is exhausted."""

    @property
    def reason(self) -> str:
        if self.tried == 0:
            return f"no program of the grammar with at most {MAX_PHASES} loops draws this network: the space was exhausted"
        return f"none of {self.tried} programs that draw this network is a scan at other sizes; dearer ones were not tried"


def generalise(drawn: Network, largest: int = LARGEST) -> Generalised | NotGeneralised:
    """The cheapest program for `drawn`. UserError if the drawing itself is no scan."""
    adjacency = adjacency_of(drawn)
    if adjacency is None:
        found = flaw(drawn, "overlapping")
        raise UserError(
            Diagnostic("NETWORK_NOT_A_SCAN", f"expected a scan network, got another: {found}", fix="Correct the drawing.")
        )
    forward = drawn.mirrored() if drawn.is_backward else drawn
    tried = 0
    for radices in _radices(forward.columns):
        search = _Search(forward, radices)
        for program in search.programs():
            tried += 1
            if first_failure(program, largest, adjacency) is None and program.network(forward.columns) == forward:
                if drawn.is_backward:
                    program = program.mirrored()
                return Generalised(program, adjacency, largest, search.space(len(program.phases)), tried)
    return NotGeneralised(tried)


def _radices(columns: int) -> Iterator[tuple[int, ...]]:
    most = min(MAX_RADIX, max(2, columns))
    yield from ((radix,) for radix in range(2, most + 1))
    small = range(2, min(5, most) + 1)
    for length in (2, 3):
        yield from (mixed for mixed in product(small, repeat=length) if len(set(mixed)) > 1)


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive drawn steps that one phase draws."""

    end: int
    """The next drawn step."""
    low: int
    high: int
    is_rising: bool
    is_repeated: bool
    guards: int
    """Bit set of templates."""
    sources: int


class _Search:
    def __init__(self, drawn: Network, radices: tuple[int, ...]) -> None:
        self._columns = drawn.columns
        self._shape = Program(radices, ())
        self._levels = self._shape.levels(drawn.columns)
        self._radices = radices
        constants = [self._shape.offset(level) for level in range(1, self._levels)]
        self._guards, self._sources = guards(constants), sources(constants)
        self._steps = [([d.destination for d in step], np.array([d.source for d in step])) for step in drawn.steps]
        self._masks = [sum(1 << column for column in columns) for columns, _ in self._steps]
        self._guard_masks = cache(self._tabulated_guards)
        self._source_tables = cache(self._tabulated_sources)
        self._matching_sources = cache(self._sources_of)
        self._runs = cache(self._runs_from)
        self._once = (_bits(self._guards, False), _bits(self._sources, False))

    def space(self, phases: int) -> int:
        per_phase = len(self._guards) * len(self._sources) * (self._levels + 1) ** 2 * 2
        return per_phase**phases

    def programs(self) -> Iterator[Program]:
        """Programs that draw the example, by number of phases, then by price; those of the price that is read off only."""
        for phases in range(1, MAX_PHASES + 1):
            candidates: list[tuple[float, Program]] = []
            for cut in self._cuts(0, phases):
                candidates += [(cost, Program(self._radices, moved)) for cost, moved in self._built(cut)]
            candidates.sort(key=lambda pair: pair[0])
            yield from (program for _, program in candidates)

    def _cuts(self, start: int, phases: int) -> Iterator[tuple[_Run, ...]]:
        if phases == 0:
            if start == len(self._steps):
                yield ()
            return
        for run in self._runs(start):
            if phases > 1 or run.end == len(self._steps):
                for rest in self._cuts(run.end, phases - 1):
                    yield (run, *rest)

    def _runs_from(self, start: int) -> list[_Run]:
        found: list[_Run] = []
        for is_rising in (True, False):
            for first in range(self._levels):
                for is_repeated in (False, True):
                    allowed = self._once if not is_repeated else (-1, -1)
                    if is_repeated and all(radix == 2 for radix in self._radices):
                        continue
                    self._extend(found, start, start, first, first, is_rising, is_repeated, allowed)
        return found

    def _extend(
        self, found: list[_Run], start: int, at: int, first: int, level: int, rising: bool, repeated: bool, sets: tuple[int, int]
    ) -> None:
        """Adds the runs that go on with drawn step `at` at `level`."""
        if not 0 <= level < self._levels:
            return
        for after, masks in self._level(at, level, repeated, sets):
            if after > start:
                low, high = min(first, level), max(first, level) + 1
                found.append(_Run(after, low, high, rising, repeated, *masks))
            self._extend(found, start, after, first, level + (1 if rising else -1), rising, repeated, masks)

    def _level(self, at: int, level: int, repeated: bool, sets: tuple[int, int]) -> Iterator[tuple[int, tuple[int, int]]]:
        """The sets that are left after one level, with the next drawn step: each of its steps is drawn, or idle."""
        states = [(at, sets)]
        for turn in range(1, self._shape.radix(level)) if repeated else (1,):
            masks = self._guard_masks(level, turn)
            fresh: list[tuple[int, tuple[int, int]]] = []
            for place, (allowed_guards, allowed_sources) in states:
                idle = masks.get(0, 0) & allowed_guards
                if idle:
                    fresh.append((place, (idle, allowed_sources)))
                if place < len(self._steps):
                    drawn = masks.get(self._masks[place], 0) & allowed_guards
                    fitting = allowed_sources & self._matching_sources(place, level, turn) if drawn else 0
                    if drawn and fitting:
                        fresh.append((place + 1, (drawn, fitting)))
            states = fresh
        yield from states

    def _tabulated_guards(self, level: int, turn: int) -> dict[int, int]:
        """Column mask -> the guards that select it."""
        lanes = np.arange(self._columns)
        offset = self._shape.offset(level)
        below = self._shape.offset(level - 1) if level else 1
        known = values(lanes, offset, self._shape.radix(level), below, turn)
        masks: dict[int, int] = {}
        for number, template in enumerate(self._guards):
            held = np.flatnonzero(np.broadcast_to(tabulate(template.expr, known), lanes.shape))
            mask = sum(1 << column for column in held.tolist())
            masks[mask] = masks.get(mask, 0) | 1 << number
        return masks

    def _tabulated_sources(self, level: int, turn: int) -> list[Ints]:
        lanes = np.arange(self._columns)
        offset = self._shape.offset(level)
        below = self._shape.offset(level - 1) if level else 1
        known = values(lanes, offset, self._shape.radix(level), below, turn)
        return [np.broadcast_to(tabulate(template.expr, known), lanes.shape) for template in self._sources]

    def _sources_of(self, step: int, level: int, turn: int) -> int:
        columns, drawn = self._steps[step]
        tables = self._source_tables(level, turn)
        return sum(1 << n for n, table in enumerate(tables) if (table[columns] == drawn).all())

    def _built(self, cut: tuple[_Run, ...]) -> Iterator[tuple[float, tuple[Phase, ...]]]:
        """The programs of one way to cut the steps, with prices."""
        options = [list(self._phases(run)) for run in cut]
        for phases in product(*options):
            yield sum(cost for cost, _ in phases), tuple(phase for _, phase in phases)

    def _phases(self, run: _Run) -> Iterator[tuple[float, Phase]]:
        # With one level, all that fit are equal there, and which one is meant shows at other sizes only if the level moves.
        picks = PICKS if run.high - run.low == 1 else 2
        chosen_guards = list(islice(_chosen(self._guards, run.guards), picks))
        chosen_sources = list(islice(_chosen(self._sources, run.sources), picks))
        moves = sorted(
            ((g.cost + s.cost, Move(g.expr, s.expr)) for g in chosen_guards for s in chosen_sources), key=lambda pair: pair[0]
        )
        for cost, move in moves[:picks]:
            for low, high in product(self._bounds(run.low), self._bounds(run.high)):
                price = cost + _price(low) + _price(high) + run.is_repeated
                yield price, Phase(low, high, move, run.is_rising, run.is_repeated)

    def _bounds(self, level: int) -> tuple[Bound, ...]:
        from_top = Bound(self._levels - level, from_top=True)
        return (Bound(level),) if level == 0 else (from_top,) if level == self._levels else (Bound(level), from_top)


def _price(bound: Bound) -> float:
    """Price of a bound that is not the first or last level: a constant of the program, dearer the further in."""
    return 0 if bound.count == 0 else 10 * bound.count + 5 * bound.from_top


def _chosen(templates: list[Template], bits: int) -> Iterator[Template]:
    return (template for number, template in enumerate(templates) if bits >> number & 1)


def _bits(templates: list[Template], uses_turn: bool) -> int:
    return sum(1 << number for number, template in enumerate(templates) if template.uses_turn == uses_turn)
