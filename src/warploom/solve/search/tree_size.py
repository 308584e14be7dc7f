"""Size of a search tree: Knuth's and Chen's estimates with 95% confidence intervals.

A leaf is a fully decided candidate, a dead end one of which propagation refutes every alternative. With a `Cut`, candidates down
to its depth whose bound is not below it are left out with all behind them.

Source: Knuth, Estimating the efficiency of backtrack programs; Chen, Heuristic sampling; Beaugnon et al., On the Representation
of Partially Specified Implementations, section 5.3.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, Literal, TypeVar

from warploom.solve.model import Cost, Model, Strategy, declared_order
from warploom.solve.runs.executor import Failed, Finished, Task, run_tasks

S = TypeVar("S")
A = TypeVar("A")

_Z = 1.96
"""Standard errors on each side of a 95% interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the half width of its 95% confidence interval (normal approximation; infinite below two samples)."""

    mean: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Cut:
    below: Cost
    depth: int
    """Decisions from the root within which it is applied."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Estimate of one walk or sweep."""

    leaves: float
    dead_ends: float
    share: float
    """Share of uniform walks that end in a dead end: 0 or 1 for a single walk."""
    nodes: int
    """Candidates that were made for it."""


@dataclass(frozen=True, slots=True)
class TreeSize:
    leaves: Estimate
    dead_ends: Estimate
    dead_end_probability: Estimate
    """Probability that a walk from the root ends in a dead end, each valid child being equally likely."""
    probes: int
    nodes: int


def knuth(
    model: Model[S, A], probes: range, *, seed: int = 0, cut: Cut | None = None, strategy: Strategy = declared_order
) -> list[Probe]:
    """One random descent per number in `probes`; the same number and seed give the same descent."""
    tree = _Tree(model, cut, strategy)
    return [tree.descend(random.Random(f"{seed}/{n}")) for n in probes]


def chen(
    model: Model[S, A],
    sweeps: range,
    *,
    seed: int = 0,
    cut: Cut | None = None,
    strategy: Strategy = declared_order,
    remaining: Callable[[S], int] | None = None,
) -> list[Probe]:
    """One sweep per number: a stratum, all candidates with as many decisions behind and `remaining` ones ahead, is represented
    by one of them, drawn by weight. `remaining` is the number of open choices unless given.
    """
    tree = _Tree(model, cut, strategy)

    def open_choices(candidate: S) -> int:
        return len(model.open_choices(candidate))

    return [tree.sweep(random.Random(f"{seed}/{n}"), remaining or open_choices) for n in sweeps]


def tree_size(probes: Iterable[Probe]) -> TreeSize:
    """Size of a tree, estimated from all its probes wherever they were made; exact in their order (sums are rounded once)."""
    kept = list(probes)
    return TreeSize(
        estimated([p.leaves for p in kept]),
        estimated([p.dead_ends for p in kept]),
        estimated([p.share for p in kept]),
        len(kept),
        sum(p.nodes for p in kept),
    )


def estimated(samples: list[float]) -> Estimate:
    count = len(samples)
    if count == 0:
        return Estimate(math.nan, math.inf)
    mean = math.fsum(samples) / count
    if count == 1:
        return Estimate(mean, math.inf)
    variance = math.fsum((x - mean) ** 2 for x in samples) / (count - 1)
    return Estimate(mean, _Z * math.sqrt(variance / count))


@dataclass(frozen=True, slots=True)
class Sampling(Generic[S, A]):
    """One task of `sample`: picklable where `make` is."""

    make: Callable[[], Model[S, A]]
    method: Literal["knuth", "chen"]
    seed: int
    cut: Cut | None
    first: int
    last: int
    """Excluded."""


def sample(
    make: Callable[[], Model[S, A]],
    probes: int,
    *,
    method: Literal["knuth", "chen"] = "knuth",
    seed: int = 0,
    cut: Cut | None = None,
    chunk: int = 64,
    executor: Executor | None = None,
    progress: Callable[[TreeSize], None] | None = None,
) -> TreeSize:
    """The estimate of `probes` walks or sweeps on an executor's workers; the same whatever the executor. `make` makes the model
    in each task. What workers fail to do is left out of the estimate.
    """
    spans = [(first, min(first + chunk, probes)) for first in range(0, probes, chunk)]
    tasks = [Task(f"{a}-{b}", Sampling(make, method, seed, cut, a, b)) for a, b in spans]
    found: list[Probe] = []
    for result in run_tasks(tasks, run_sampling, executor=executor, ordered=True):
        match result:
            case Finished(value=value):
                found += value
            case Failed():
                continue
        if progress is not None:
            progress(tree_size(found))
    return tree_size(found)


def run_sampling(task: Sampling[S, A]) -> list[Probe]:
    model, span = task.make(), range(task.first, task.last)
    return (chen if task.method == "chen" else knuth)(model, span, seed=task.seed, cut=task.cut)


class _Tree(Generic[S, A]):
    def __init__(self, model: Model[S, A], cut: Cut | None, strategy: Strategy) -> None:
        self._model = model
        self._cut = cut
        self._strategy = strategy
        self._nodes = 0

    def descend(self, chance: random.Random) -> Probe:
        self._nodes = 0
        candidate, weight, depth = self._model.root(), 1.0, 0
        if candidate is None or self._is_cut(candidate, depth):
            return Probe(0.0, 0.0, 0.0, 1)
        while (children := self._children(candidate)) is not None:
            depth += 1
            if not children:
                return Probe(0.0, weight, 1.0, self._nodes)
            # Cut children keep their share of the walks: a walk that draws one ends with nothing found.
            candidate = chance.choice(children)
            weight *= len(children)
            if self._is_cut(candidate, depth):
                return Probe(0.0, 0.0, 0.0, self._nodes)
        return Probe(weight, 0.0, 0.0, self._nodes)

    def sweep(self, chance: random.Random, remaining: Callable[[S], int]) -> Probe:
        self._nodes = 0
        root = self._model.root()
        leaves = dead_ends = share = 0.0
        strata: dict[tuple[int, int], tuple[S, float, float]] = {}
        """(representative, candidates that it stands for, share of walks that pass through it)."""
        queue: list[tuple[int, int]] = []
        if root is not None and not self._is_cut(root, 0):
            strata[0, 0] = root, 1.0, 1.0
            queue.append((0, 0))
        while queue:
            stratum = heappop(queue)
            candidate, weight, walks = strata.pop(stratum)
            children = self._children(candidate)
            if children is None:
                leaves += weight
                continue
            if not children:
                dead_ends += weight
                share += weight * walks
                continue
            depth = stratum[0] + 1
            for child in children:
                if self._is_cut(child, depth):
                    continue
                name = depth, -remaining(child)
                part = walks / len(children)
                if name not in strata:
                    strata[name] = child, weight, part
                    heappush(queue, name)
                    continue
                kept, others, kept_part = strata[name]
                total = others + weight
                is_replaced = chance.random() * total < weight
                strata[name] = (child, total, part) if is_replaced else (kept, total, kept_part)
        return Probe(leaves, dead_ends, share, self._nodes)

    def _children(self, candidate: S) -> list[S] | None:
        choices = self._model.open_choices(candidate)
        if not choices:
            return None
        expanded = (a.expand() for a in self._model.alternatives(candidate, self._strategy(choices)))
        children = [c for c in expanded if c is not None]
        self._nodes += len(children)
        return children

    def _is_cut(self, candidate: S, depth: int) -> bool:
        return self._cut is not None and depth <= self._cut.depth and self._model.bound(candidate) >= self._cut.below


def walks(
    model: Model[S, A], candidate: S, probes: int, *, seed: int = 0, strategy: Strategy = declared_order
) -> Iterator[Probe]:
    """Random descents from a candidate on."""
    tree = _Tree(_From(model, candidate), None, strategy)
    for n in range(probes):
        yield tree.descend(random.Random(f"{seed}/{n}"))


class _From(Generic[S, A]):
    """A model that begins at a candidate."""

    def __init__(self, model: Model[S, A], candidate: S) -> None:
        self._candidate = candidate
        self.open_choices = model.open_choices
        self.alternatives = model.alternatives
        self.bound = model.bound
        self.answer = model.answer

    def root(self) -> S | None:
        return self._candidate
