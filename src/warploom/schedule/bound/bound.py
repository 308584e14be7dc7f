"""`Bound`: a time that no implementation of a candidate can beat, why, and a guess of the time it will take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warploom.machines import Work, joined
from warploom.schedule.backbone import Scope
from warploom.schedule.bound.explain import Explanation, explanation
from warploom.schedule.bound.guess import guess
from warploom.schedule.bound.least import least_work
from warploom.schedule.bound.masked import unmasked_share
from warploom.schedule.bound.problem import Ints, Masks, Problem, TargetFigures, View
from warploom.schedule.bound.reader import Positions, bound_of
from warploom.schedule.bound.tables import Staging, figures_of, tables
from warploom.schedule.bound.typical import typical, usual_kinds
from warploom.schedule.bound.views import open_view, scratch
from warploom.schedule.cost import Modelled, modelled, products_ns, waiting_ns
from warploom.schedule.nest import share_of
from warploom.schedule.targets import Target

if TYPE_CHECKING:
    from warploom.schedule.choices import KernelSpace
    from warploom.schedule.nest import Nest
    from warploom.solve.space import Candidate

HALF = 0.5
CPU_SHARPNESS = 1.5
"""Exponent of the norm that joins a CPU's work with its waits for each cache: of those tried, the one that ranks measured kernels
best (benchmarks/results/README.md)."""


class Bound:
    """Bound of the candidates of one space; `target` replaces the figures of the space's, for example by measured ones."""

    def __init__(self, space: KernelSpace, target: Target | None = None) -> None:
        self.space = space
        self.target = target or space.target
        backbone = space.backbone
        rounds = {t.second.region: t.loops for t in space.twins}
        self.stagings = tuple(
            Staging(
                t.region, t.producer, t.consumer, t.store, t.load,
                tuple((pair.extent, pair.store, pair.load) for pair in t.pairs),
                backbone.instructions[t.producer].dtype.size_bytes, rounds.get(t.region),
            )
            for t in space.temporaries
        )  # fmt: skip
        self.problem: Problem = tables(backbone, self.target, self.stagings)
        self.figures: TargetFigures = figures_of(self.target)
        self.positions: Positions = positions_of(space, self.problem)
        self.view: View = open_view(self.problem, backbone, space.objects.statements)
        self.scratch = scratch(self.problem)
        self._last: tuple[Candidate, float] | None = None
        self._may_halve = "mirror" in space.instance.space.choices
        self._unmasked = unmasked_share(backbone, self.problem.axis_divides)
        self.usual: Masks = usual_kinds(self.problem, self.figures)

    def of(self, candidate: Candidate) -> float:
        """Milliseconds, never above the cost of any completion; of a decided candidate its cost."""
        return self._whole(candidate) * self._share(candidate)

    def _share(self, candidate: Candidate) -> float:
        """The least share of the work that is left: of a symmetric sum that may be made on one side of the diagonal more than
        half of all tiles, with all that each of them takes; of one with a mask what `unmasked_share` says."""
        return HALF if self._may_halve and "YES" in candidate.values("mirror", 0) else self._unmasked

    def _whole(self, candidate: Candidate) -> float:
        """The bound without regard to what a symmetric sum or a mask leaves out."""
        if self._last is not None and self._last[0] is candidate:
            return self._last[1]
        self._last = None
        least = (
            bound_of(
                self.positions, self.problem, self.figures, self.view, self.scratch,
                candidate.domains, candidate.members, candidate.bounds,
            )
            / 1e6
        )  # fmt: skip
        self._last = candidate, least
        return least

    def estimate(self, candidate: Candidate) -> float:
        """Milliseconds, a guess for ordering: at least the bound, may exceed what a completion takes."""
        return self._guess(candidate) * self._share(candidate)

    def _guess(self, candidate: Candidate) -> float:
        least = self._whole(candidate)
        if self.figures.is_cuda:
            found = typical(self.problem, self.figures, self.view, self.scratch, self.usual, self.positions.kind)
            return max(least, found / 1e6)
        return max(least, guess(self.problem, self.figures, self.view, self.scratch, least * 1e6) / 1e6)

    def work(self, candidate: Candidate) -> Work:
        """On a GPU, the least work of any completion; at the `speeds` of the target's rates it takes as long as `of` says."""
        self._last = None
        self.of(candidate)
        return least_work(self.figures, self.scratch, self.target.rates.clock_ghz).times(self._share(candidate))

    def modelled(self, candidate: Candidate, nest: Nest) -> Modelled:
        """The model's time of a decided candidate and its nest on a GPU."""
        return modelled(nest, self.target, self.work(candidate))

    def appraise(self, candidate: Candidate, nest: Nest) -> float:
        """Milliseconds, a better guess for a decided candidate and its nest: the model of `schedule.cost` for GPUs, on a CPU what
        it waits for the caches and for products in tile registers."""
        if self.figures.is_cuda:
            return self.modelled(candidate, nest).time_ms
        share = share_of(nest)
        parts = (*waiting_ns(nest, self.target), products_ns(nest, self.target))
        return share * joined((self._guess(candidate), *(ns / 1e6 for ns in parts)), CPU_SHARPNESS)

    def explain(self, candidate: Candidate) -> Explanation:
        """Parts of the candidate's bound, the part that binds first."""
        self._last = None
        whole, share = self._whole(candidate), self._share(candidate)
        names = [o.name for o in self.space.objects.operations]
        loops = [self.space.statement_names[int(s)] for s in self.problem.dim_statement]
        has_blocks = self.space.target.has_threads
        found = explanation(whole, self.problem, self.figures, self.scratch, names, loops, has_blocks=has_blocks)
        return found if share == 1.0 else Explanation(f"{share:.3g} of all tiles, at least", share * whole, (found,))


def positions_of(space: KernelSpace, problem: Problem) -> Positions:
    """Positions in the space's domains of everything that a view shows."""
    instance = space.instance
    choices = instance.space.choices

    def by(choice: str, things: Ints, set_name: str) -> Ints:
        if choice not in choices:
            return np.full(len(things), -1, np.int64)
        table = instance.variables(choice)
        return np.array([_entry(table, _number(space, set_name, int(t))) for t in things], np.int64)

    def pairs(choice: str, things: Ints) -> Ints:
        found = np.full((len(things), len(things)), -1, np.int64)
        if choice in choices:
            table = instance.variables(choice)
            numbers = [_number(space, "Statements", int(t)) for t in things]
            for a, first in enumerate(numbers):
                for b, second in enumerate(numbers):
                    if a != b and first >= 0 and second >= 0:
                        found[a, b] = table[first, second]
            for a in range(len(things)):
                for b in range(a):
                    if found[a, b] >= 0 and found[a, b] == found[b, a]:
                        found[max(a, b), min(a, b)] = -1
        return found

    extents = space.backbone.extents
    statements = np.arange(space.objects.statements, dtype=np.int64)
    regions = np.arange(len(problem.is_temporary), dtype=np.int64)
    states = instance.member_positions("Statements")
    universe = np.zeros((len(extents), 64), np.int64)
    for number in range(len(extents)):
        values = [int(v) for v in instance.universe("size", number)]
        universe[number, : len(values)] = values
    counters = instance.space.counters
    shared = int(instance.counter_positions("shared_bytes").reshape(-1)[0]) if "shared_bytes" in counters else -1
    return Positions(
        member=np.array([states[_number(space, "Statements", int(s))] for s in problem.instruction_statement], np.int64),
        order=pairs("order", statements),
        kind=by("dim_kind", problem.dim_statement, "Statements"),
        size=by("size", np.arange(len(extents), dtype=np.int64), "Extents"),
        universe=universe,
        mapping=pairs("thread_mapping", problem.dim_statement),
        space=by("mem_space", regions, "Regions"),
        cache=by("cache", problem.instruction_statement, "Statements"),
        partials=by("partials", problem.dim_statement, "Statements"),
        stages=by("stages", regions, "Regions"),
        shared=shared,
        tied=_tied(space, problem),
        spread=_spread(space, problem),
        warps=_entry(instance.variables("warps"), _number(space, "Kernel", 0)) if "warps" in choices else -1,
    )


def _tied(space: KernelSpace, problem: Problem) -> Ints:
    """Pairs of loops whose value never goes through an array: between a temporary's store or load and the instruction next to it,
    and those of a narrow scope."""
    dims = {int(statement): n for n, statement in enumerate(problem.dim_statement)}
    pairs = [(dims[p.source], dims[p.target]) for p in space.objects.pairs if p.is_reserved or p.scope is not Scope.BLOCK]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _spread(space: KernelSpace, problem: Problem) -> Ints:
    """Rows of `Positions.spread`."""
    instance, objects = space.instance, space.objects
    rows: list[tuple[int, ...]] = []
    if "spread" in instance.space.choices:
        variables = instance.variables("spread")
        dims = {int(statement): n for n, statement in enumerate(problem.dim_statement)}
        instructions = {int(statement): n for n, statement in enumerate(problem.instruction_statement)}
        for number, temporary in enumerate(space.temporaries):
            if not objects.is_copy(temporary):
                continue
            variable = _entry(variables, _number(space, "Temporaries", temporary.region))
            for pair, own in zip(objects.pairs_of(number), temporary.pairs, strict=True):
                ends = objects.pairs[pair].source, objects.pairs[pair].target
                rows += [(dims[s], variable, instructions[temporary.store], *ends) for s in (ends[0], own.store)]
    return np.array(rows, np.int64).reshape(-1, 5)


def _number(space: KernelSpace, set_name: str, thing: int) -> int:
    return space.instance.number(set_name, thing)


def _entry(table: npt.NDArray[np.int32], number: int) -> int:
    return int(table[number]) if 0 <= number < len(table) else -1
