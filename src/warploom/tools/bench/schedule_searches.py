"""Cases `search/*` of `warploom bench schedule`: what a search finds in the paper's spaces, over seeds, by the model of its GPU.

As in the tables, the choices of the paper alone and a Quadro K4000's figures. A budget of nodes ends each search, so that only
the seconds depend on the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import cast

from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features
from warploom.schedule.search import ModelEvaluator, Options, Recipe, StrategyName, explore_kernel, strategy_named
from warploom.schedule.targets import K4000
from warploom.tools.bench.schedule_names import SEARCH_NODES, SEED_COUNT
from warploom.tools.bench.schedule_tables import PUBLISHED
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.outcome import Progress
from warploom.tools.command.usage import Stopwatch


def measure(name: str, budget_s: float | None, seed: int, stopwatch: Stopwatch, progress: Progress) -> Line:
    """The line of a case; searches after the first one begin only within the budget of CPU seconds."""
    space, _, search = name.removeprefix("search/").rpartition("-")
    began = time.process_time()
    found: list[Line] = []
    for n in range(SEED_COUNT):
        if found and budget_s is not None and time.process_time() - began >= budget_s:
            break
        progress(f"seed {seed + n}")
        found.append(searched(space, cast(StrategyName, search), SEARCH_NODES[space], seed + n))
    return line_of(name, found, stopwatch)


def searched(space: str, search: StrategyName, nodes: int, seed: int) -> Line:
    """One search."""
    (stage,) = PUBLISHED[space].space.program().stages
    model = Recipe(stage, K4000, Bound, Features.paper())()
    began = time.process_time()
    options = Options(strategy=strategy_named(search, seed), nodes=nodes)
    found = explore_kernel(model, space, ModelEvaluator(K4000), options)
    return {
        "seed": seed, "time_ms": found.time_ms, "nodes": found.nodes, "evaluated": found.evaluated,
        "dead_ends": found.dead_ends, "seconds": round(time.process_time() - began, 2),
    }  # fmt: skip


def line_of(name: str, found: Sequence[Line], stopwatch: Stopwatch) -> Line:
    """Medians of the seeds; `spread` lies between the slowest and the fastest answer, over the median."""
    space, _, search = name.removeprefix("search/").rpartition("-")
    times = sorted(float(str(one["time_ms"])) for one in found if one["time_ms"] is not None)
    is_whole = len(times) == len(found) and bool(times)
    median = statistics.median(times) if is_whole else None
    line = plain_line(
        name, "solved" if is_whole else "unknown", stopwatch.read(), verdict="unchecked",
        reason="" if is_whole else "a search found nothing",
    )  # fmt: skip
    published_ms = PUBLISHED[space].time_ms
    return line | {
        "target": K4000.name,
        "search": search,
        "time_ms": None if median is None else round(median, 6),
        "spread": None if median is None else round((times[-1] - times[0]) / median, 4),
        "nodes": SEARCH_NODES[space],
        "search_s": round(statistics.median(float(str(one["seconds"])) for one in found), 2) if found else None,
        "seeds": list(found),
        "bar": {"at_most_ms": published_ms},
        "as_expected": None if space == "axpy" else median is not None and median <= published_ms,
    }
