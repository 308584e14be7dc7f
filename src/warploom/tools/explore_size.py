"""`warploom explore --estimate-size`: how many implementations a kernel has."""

from __future__ import annotations

import time

from warploom.schedule.bound import Bound
from warploom.schedule.search import KernelModel, recipes
from warploom.schedule.space import Candidate
from warploom.solve import Probe, TreeSize, knuth, tree_size
from warploom.tools.explore_options import Function, KernelOptions, program_of
from warploom.tools.explore_result import facts
from warploom.tools.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.synth_command import Outcome, Progress
from warploom.tools.usage import Stopwatch

PROBES = 1000
"""Random descents of an estimate."""


def estimate_size(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """Knuth's estimate of the space's leaves and of the share of walks that end in a dead end."""
    program = program_of(function, options)
    sizes: list[Line] = []
    budget_s = options.wall_budget_s / len(program.stages)
    for recipe in recipes(program, options.target, Bound, None, options.decision_order, options.fixed):
        name = recipe.backbone.name
        size = _sampled(recipe(), budget_s, options.seed, lambda told, name=name: progress(f"{name}: {told}"))
        sizes.append({
            "kernel": name,
            "space_size": size.leaves.mean,
            "space_size_95": size.leaves.half_width,
            "dead_end_share": size.dead_end_probability.mean,
            "dead_end_share_95": size.dead_end_probability.half_width,
            "probes": size.probes,
        })  # fmt: skip
    first = {name: value for name, value in sizes[0].items() if name != "kernel"}
    fields = first if len(sizes) == 1 else {"stages": sizes}
    line = plain_line(case, "solved", stopwatch.read(), verdict="unchecked") | facts(function, program, options) | fields
    return Outcome(line, EXIT_BY_STATUS["solved"])


def _sampled(model: KernelModel[Candidate], budget_s: float, seed: int, progress: Progress) -> TreeSize:
    """Knuth's descents, `PROBES` of them or as many as the wall seconds allow, two at least."""
    began = time.monotonic()
    probes: list[Probe] = []
    while len(probes) < PROBES and (len(probes) < 2 or time.monotonic() - began < budget_s):
        probes += knuth(model, range(len(probes), len(probes) + 2), seed=seed)
        size = tree_size(probes)
        progress(f"{size.leaves.mean:.3g} +- {size.leaves.half_width:.2g} after {len(probes)} descents")
    return tree_size(probes)
