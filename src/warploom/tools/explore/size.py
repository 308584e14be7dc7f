"""`warploom explore --estimate-size`: how many implementations a kernel has."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass

from warploom.schedule.bound import Bound
from warploom.schedule.search import KernelModel, recipes
from warploom.solve import Probe, chen, knuth, tree_size
from warploom.solve.space import Candidate
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import Function, KernelOptions, program_of
from warploom.tools.explore.result import facts

PROBES = 1000
"""Random descents of an estimate."""
_Z = 1.96
_MOST_LOG = 700.0


def estimate_size(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """Knuth's estimate of the space's leaves and of the share of walks that end in a dead end, with Chen's: their interval
    covers both."""
    program = program_of(function, options)
    sizes: list[Line] = []
    budget_s = options.wall_budget_s / len(program.stages)
    for recipe in recipes(program, options.target, Bound, options.features, options.decision_order, options.searched_fixed):
        name = recipe.backbone.name
        made = _sampled(recipe(), budget_s, options.seed, lambda told, name=name: progress(f"{name}: {told}"))
        size, between = tree_size(made.walks), covering(made)
        sizes.append({
            "kernel": name,
            "space_size": size.leaves.mean,
            "space_size_95": max(between.high - size.leaves.mean, size.leaves.mean - between.low),
            "space_size_low": between.low,
            "space_size_high": between.high,
            "space_size_chen": between.chen,
            "dead_end_share": size.dead_end_probability.mean,
            "dead_end_share_95": size.dead_end_probability.half_width,
            "probes": size.probes,
        })  # fmt: skip
    first = {name: value for name, value in sizes[0].items() if name != "kernel"}
    fields = first if len(sizes) == 1 else {"stages": sizes}
    line = plain_line(case, "solved", stopwatch.read(), verdict="unchecked") | facts(function, program, options) | fields
    return Outcome(line, EXIT_BY_STATUS["solved"])


@dataclass(frozen=True, slots=True)
class Samples:
    walks: list[Probe]
    """Knuth's."""
    sweeps: list[Probe]
    """Chen's."""


@dataclass(frozen=True, slots=True)
class Between:
    """Leaves of the space, by both estimators; their weights differ by orders of magnitude, so it is wide."""

    low: float
    high: float
    chen: float


def covering(samples: Samples) -> Between:
    """The 95% intervals of both estimators together, that of Knuth's weights taken as lognormal too: few walks seldom meet the
    heavy ones, and the usual interval does not know of them. At least what was seen."""
    knuth_size, chen_size = tree_size(samples.walks).leaves, tree_size(samples.sweeps).leaves
    lows, highs = list[float](), list[float]()
    for found in (knuth_size, chen_size):
        lows.append(min(found.mean, max(0.0, found.mean - found.half_width)))
        highs.append(found.mean + found.half_width)
    weights = [math.log(p.leaves) for p in samples.walks if p.leaves > 0]
    if len(weights) > 2:
        variance = statistics.variance(weights)
        middle = statistics.fmean(weights) + variance / 2 + math.log(len(weights) / len(samples.walks))
        width = _Z * math.sqrt(variance / len(weights) + variance**2 / (2 * (len(weights) - 1)))
        lows.append(math.exp(min(middle - width, _MOST_LOG)))
        highs.append(math.exp(min(middle + width, _MOST_LOG)))
    return Between(max(min(lows), float(bool(weights))), max(h for h in highs if not math.isnan(h)), chen_size.mean)


def _sampled(model: KernelModel[Candidate], budget_s: float, seed: int, progress: Progress) -> Samples:
    """Samples of each kind: `PROBES`, or as many as half of the wall seconds allow, two at least."""
    began = time.monotonic()
    walks, sweeps = list[Probe](), list[Probe]()
    for share, found, sampler in ((0.5, walks, knuth), (1.0, sweeps, chen)):
        while len(found) < PROBES and (len(found) < 2 or time.monotonic() - began < share * budget_s):
            found += sampler(model, range(len(found), len(found) + 2), seed=seed)
            size = tree_size(walks)
            progress(f"{size.leaves.mean:.3g} +- {size.leaves.half_width:.2g} after {len(walks)} walks, {len(sweeps)} sweeps")
    return Samples(walks, sweeps)
