"""Cases of `warploom bench schedule` about spaces: Tables 2 and 3 of Telamon's paper rerun, the order of decisions, speed.

All on the choices of the paper alone (`Features.paper()`), a Quadro K4000's figures, the paper's kernels, tilings and order of
decisions. Thresholds of the cut are the paper's measured averages of Table 2; it used times without launches, which it does not
tell. Source: Beaugnon et al., On the Representation of Partially Specified Implementations, sections 5.3 to 5.5.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from dataclasses import dataclass, replace
from typing import cast

from warploom.kernels.tensors import PAPER_SPACES, PaperSpace
from warploom.schedule.bound import Bound
from warploom.schedule.choices import DEFAULT_ORDER, Features
from warploom.schedule.search import KernelModel, Recipe, Step
from warploom.schedule.targets import K4000
from warploom.solve import (
    Budget,
    Cut,
    Frontier,
    Levels,
    Probe,
    chen,
    enumerate_levels,
    estimated,
    knuth,
    leaves_behind,
    tree_size,
)
from warploom.solve.space import Candidate
from warploom.tools.bench.schedule_names import TABLE_S
from warploom.tools.command.lines import Line, plain_line
from warploom.tools.command.outcome import Progress
from warploom.tools.command.usage import Stopwatch

DEPTH = 10
"""Levels of Table 3."""
WIDE = 100_000
"""Candidates of the level at which orders are compared (section 5.5)."""
DESCENT_MS, COPY_US = 50.0, 20.0
"""Bars of the issue."""
ROOT_AXPY_MS = 5.97
"""Three streams of 2^26 floats at the K4000's bandwidth."""

_COUNTED_S = 240.0
"""CPU seconds from which on the levels of both orders are counted; with less, counting would end in the middle, so that walks
estimate them from the beginning."""
_NONE = Levels((), (), (), (), complete=False)
_CHUNK = 25
_LEAST = 400
"""Walks of an estimate that stands in for a count."""
_SAMPLE = 200
"""Candidates behind the cut levels from which walks begin."""
_PS_PER_MS = 1e9

Model = KernelModel[Candidate]


@dataclass(frozen=True, slots=True)
class Published:
    """A row of Tables 2 and 3."""

    space: PaperSpace
    size: float
    size_95: float
    dead_ends: float
    """Share of walks."""
    time_ms: float
    size_cut: float
    nodes: int
    """Nodes at depth 10."""
    kept: int


_SPACES = {space.name: space for space in PAPER_SPACES}
PUBLISHED: dict[str, Published] = {
    "axpy": Published(_SPACES["axpy"], 1.1e11, 1.7e10, 0.001, 7.05, 2.9e7, 86_587, 121),
    "matmul-256x256x32": Published(_SPACES["matmul-256x256x32"], 1.83e21, 3.3e20, 0.14, 0.0342, 3.5e18, 134_060, 20_126),
    "matmul-1024": Published(_SPACES["matmul-1024x1024x1024"], 3.5e21, 1.8e21, 0.028, 4.81, 9.5e17, 161_980, 6_738),
    "strided-matmul": Published(_SPACES["strided-matmul"], 6.0e20, 2.0e20, 0.023, 10.1, 8.1e17, 142_780, 9_512),
}
"""Published results by the name of the case."""
ORDERS = {"direct": (DEFAULT_ORDER, 24.0), "reverse": (tuple(reversed(DEFAULT_ORDER)), 1.8)}
"""Order and the paper's factor."""


def measure(name: str, budget_s: float | None, seed: int, stopwatch: Stopwatch, progress: Progress) -> Line:
    """The line of one case of `TABLE_NAMES`."""
    group, _, row = name.partition("/")
    limit_s = TABLE_S[group] if budget_s is None else budget_s
    match name:
        case "table2/root-axpy":
            fields, solved = _root()
        case "table3/order":
            fields, solved = _order(limit_s, seed, progress)
        case "speed/descent":
            fields, solved = _speed(seed)
        case _ if group == "table2":
            fields, solved = _size(PUBLISHED[row], limit_s, seed, progress)
        case _:
            fields, solved = _levels(PUBLISHED[row], limit_s, seed, progress)
    line = plain_line(
        name,
        "solved" if solved else "unknown",
        stopwatch.read(),
        verdict=str(fields.pop("verdict", "unchecked")),
        reason="" if solved else "nothing was counted within the budget",
    )
    return line | {"target": K4000.name} | fields


def model_of(space: PaperSpace, order: tuple[str, ...] = DEFAULT_ORDER) -> Model:
    (stage,) = space.program().stages
    return Recipe(stage, K4000, Bound, Features.paper(), order)()


def _root() -> tuple[Line, bool]:
    row = PUBLISHED["axpy"]
    model = model_of(row.space)
    bound_ms = model.bound(model.root())[0] / _PS_PER_MS
    return {
        "root_bound_ms": round(bound_ms, 6),
        "bar": {"at_least_ms": ROOT_AXPY_MS, "at_most_ms": row.time_ms},
        "paper": {"root_bound_ms": 5.16, "time_ms": row.time_ms},
        "as_expected": ROOT_AXPY_MS <= bound_ms <= row.time_ms,
    }, True


def _size(row: Published, budget_s: float, seed: int, progress: Progress) -> tuple[Line, bool]:
    """Knuth's walks, and Chen's sweeps where several fit into a third of the budget; the narrower interval is told."""
    model = model_of(row.space)
    root_ms = model.bound(model.root())[0] / _PS_PER_MS
    began = time.process_time()
    sweeps = chen(model, range(1), seed=seed, remaining=model.remaining)
    each_s = time.process_time() - began
    count = int(budget_s / 3 / max(each_s, 1e-3))
    if count >= 4:
        sweeps += chen(model, range(1, count), seed=seed, remaining=model.remaining)
    walks = _walks(model, budget_s - (time.process_time() - began), seed, None, progress)
    by_walks, by_sweeps = tree_size(walks), tree_size(sweeps)
    is_chen = by_sweeps.leaves.half_width < by_walks.leaves.half_width
    size = by_sweeps if is_chen else by_walks
    dead = by_walks.dead_end_probability
    fields: Line = {
        "space_size": size.leaves.mean,
        "space_size_95": _finite(size.leaves.half_width),
        "method": "Chen" if is_chen else "Knuth",
        "probes": size.probes,
        "other_estimate": (by_walks if is_chen else by_sweeps).leaves.mean,
        "dead_end_share": dead.mean,
        "dead_end_share_95": _finite(dead.half_width),
        "dead_end_share_at_most": _rounded(_upper(dead.mean, by_walks.probes)),
        "walks": by_walks.probes,
        "root_bound_ms": round(root_ms, 6),
        "paper": {
            "space_size": row.size, "space_size_95": row.size_95, "dead_end_share": row.dead_ends, "time_ms": row.time_ms,
        },
        "bar": {"dead_end_share": row.dead_ends},
        "as_expected": dead.mean <= row.dead_ends and root_ms <= row.time_ms,
    }  # fmt: skip
    return fields, by_walks.probes > 0


def _walks(model: Model, budget_s: float, seed: int, cut: Cut | None, progress: Progress, least: int = _CHUNK) -> list[Probe]:
    began = time.process_time()
    found: list[Probe] = []
    while len(found) < least or time.process_time() - began < budget_s:
        found += knuth(model, range(len(found), len(found) + _CHUNK), seed=seed, cut=cut)
        size = tree_size(found)
        progress(f"{len(found)} walks, {size.leaves.mean:.3g} +- {size.leaves.half_width:.2g}")
    return found


def _levels(row: Published, budget_s: float, seed: int, progress: Progress) -> tuple[Line, bool]:
    """All candidates down to depth 10; where the budget ends first, walks estimate what is there."""
    model = model_of(row.space)
    below = (int(row.time_ms * _PS_PER_MS),)
    frontier = _enumerated(model, DEPTH, below, 0.75 * budget_s, seed, progress)
    behind = frontier
    if not frontier.levels.complete:
        # The cut keeps far fewer nodes, which may be enumerated alone.
        behind = enumerate_levels(
            model, DEPTH, below=below, all_nodes=False, sample=_SAMPLE, seed=seed, budget=Budget(cpu_s=0.75 * budget_s)
        )
    fields, share = _counted(model, frontier.levels, behind.levels, DEPTH, below, 0.15 * budget_s, seed, progress)
    fields["verdict"] = "tested" if frontier.levels.complete else "unchecked"
    if frontier.levels.complete:
        fields["cases"] = sum(frontier.levels.nodes)
    if behind.levels.complete:
        after = leaves_behind(model, behind, probes=_walks_each(model, behind, 0.05 * budget_s, seed), seed=seed)
        fields |= {"space_size_cut": after.mean, "space_size_cut_95": _finite(after.half_width)}
    paper_share = row.kept / row.nodes
    fields |= {
        "depth": DEPTH,
        "threshold_ms": row.time_ms,
        "paper": {"nodes": row.nodes, "kept": row.kept, "kept_share": round(paper_share, 6), "space_size_cut": row.size_cut},
        "bar": {"kept_share": round(paper_share, 6)},
        "as_expected": share is not None and share <= paper_share,
    }
    return fields, share is not None


def _enumerated(
    model: Model, depth: int, below: tuple[int, ...], budget_s: float, seed: int, progress: Progress
) -> Frontier[Step[Candidate]]:
    def tell(levels: Levels) -> None:
        progress(f"{sum(levels.nodes)} candidates, {levels.kept[-1]} of {levels.nodes[-1]} kept at depth {depth}")

    return enumerate_levels(model, depth, below=below, sample=_SAMPLE, seed=seed, budget=Budget(cpu_s=budget_s), progress=tell)


def _walks_each(model: Model, frontier: Frontier[Step[Candidate]], budget_s: float, seed: int) -> int:
    """Walks from each sampled candidate that the budget allows, at least 2."""
    if not frontier.sample:
        return 1
    began = time.process_time()
    leaves_behind(model, replace(frontier, sample=frontier.sample[:3]), probes=1, seed=seed)
    each_s = (time.process_time() - began) / min(3, len(frontier.sample))
    return max(2, int(budget_s / max(each_s, 1e-4) / len(frontier.sample)))


def _counted(
    model: Model,
    whole: Levels,
    cut: Levels,
    depth: int,
    below: tuple[int, ...],
    budget_s: float,
    seed: int,
    progress: Progress,
) -> tuple[Line, float | None]:
    """Candidates at a depth and those kept, and the share; counted where the enumeration ended, else estimated."""
    if whole.complete:
        nodes, kept = whole.nodes[depth], whole.kept[depth]
        share = kept / nodes if nodes else None
        return {"nodes": nodes, "kept": kept, "kept_share": _rounded(share), "is_counted": True}, share
    upper = _Upper(model, depth)
    probes = _walks(cast("Model", upper), budget_s, seed, None, progress, least=_LEAST)
    size = tree_size(probes).leaves
    fields: Line = {
        "nodes": round(size.mean),
        "nodes_95": round(size.half_width),
        "is_counted": False,
        "note": f"the budget ended the enumeration of depth {depth} after {sum(whole.nodes)} candidates; walks estimate the rest"
        if whole.nodes
        else f"walks estimate depth {depth}",
    }
    if cut.complete:
        kept, kept_95 = float(cut.kept[depth]), 0.0
    else:
        found = estimated(
            [p.leaves for p in _walks(cast("Model", upper), budget_s, seed, Cut(below, depth), progress, least=_LEAST)]
        )
        kept, kept_95 = found.mean, found.half_width
        fields["kept_95"] = round(kept_95)
    share = kept / size.mean if size.mean else None
    return fields | {"kept": round(kept), "kept_is_counted": cut.complete, "kept_share": _rounded(share)}, share


class _Upper:
    """A model whose candidates at a depth count as decided: walks then estimate the width of that level."""

    def __init__(self, model: Model, depth: int) -> None:
        self._model = model
        self._depth = depth
        self.root = model.root
        self.alternatives = model.alternatives
        self.bound = model.bound

    def open_choices(self, candidate: Step[Candidate]) -> object:
        return () if _depth(candidate) >= self._depth else self._model.open_choices(candidate)


def _depth(step: Step[Candidate]) -> int:
    count, trail = 0, step.trail
    while trail is not None:
        count, trail = count + 1, trail[0]
    return count


def _order(budget_s: float, seed: int, progress: Progress) -> tuple[Line, bool]:
    """Number of times fewer candidates that the bound keeps at the first level wider than `WIDE`, by order of decisions."""
    row = PUBLISHED["matmul-1024"]
    below = (int(row.time_ms * _PS_PER_MS),)
    fields: Line = {}
    factors: dict[str, float] = {}
    for name, (order, published) in ORDERS.items():
        model = model_of(row.space, order)
        depth = _wide_depth(model, seed)
        levels = _NONE if budget_s < _COUNTED_S else _enumerated(model, depth, below, 0.7 * budget_s, seed, progress).levels
        if levels.complete:
            depth = next((d for d, nodes in enumerate(levels.nodes) if nodes > WIDE), depth)
        found, share = _counted(model, levels, levels, depth, below, 0.075 * budget_s, seed, progress)
        if share:
            factors[name] = 1 / share
        fields[name] = {"depth": depth, **found, "factor": _rounded(factors.get(name)), "paper": {"factor": published}}
    both = len(factors) == len(ORDERS)
    better = both and factors["direct"] >= ORDERS["direct"][1] and factors["direct"] > factors["reverse"]
    return fields | {
        "direct_over_reverse": _rounded(factors["direct"] / factors["reverse"] if both else None),
        "threshold_ms": row.time_ms,
        "bar": {"direct_factor": ORDERS["direct"][1], "above_reverse": True},
        "as_expected": better,
    }, both


def _wide_depth(model: Model, seed: int) -> int:
    """The first level with more than `WIDE` candidates, as walks estimate it with something to spare: the same on every machine,
    as the bound keeps another share of other levels."""
    for depth in range(4, 40):
        probes = knuth(cast("Model", _Upper(model, depth)), range(_LEAST // 8), seed=seed)
        if tree_size(probes).leaves.mean > 1.3 * WIDE:
            return depth
    return 40


def _speed(seed: int) -> tuple[Line, bool]:
    """Ten levels of descent from matmul 1024^3 with both operands staged, the bound of every child; CPU time, warmed up."""
    model = model_of(PUBLISHED["matmul-1024"].space)
    staged = staged_root(model)
    runs = [_descend(model, staged, seed + n) for n in range(33)][3:]
    copies: list[float] = []
    for _ in range(30):
        began = time.process_time()
        for _ in range(1000):
            staged.candidate.copy()
        copies.append((time.process_time() - began) * 1e3)
    all_ms, path_ms, levels, children = (list(column) for column in zip(*runs, strict=True))
    descent_ms, copy_us = statistics.median(all_ms), statistics.median(copies)
    statements = staged.candidate.instance.member_positions("Statements").size
    active = sum(staged.candidate.is_member("Statements", n) for n in range(statements))
    return {
        "statements": active,
        "descent_ms": round(descent_ms, 3),
        "descent_worst_ms": round(max(all_ms), 3),
        "chosen_only_ms": round(statistics.median(path_ms), 3),
        "levels": min(levels),
        "children": statistics.median(children),
        "copy_us": round(copy_us, 3),
        "bar": {"descent_ms": DESCENT_MS, "copy_us": COPY_US},
        "as_expected": descent_ms < DESCENT_MS and copy_us < COPY_US and min(levels) == DEPTH,
    }, True


def staged_root(model: Model) -> Step[Candidate]:
    """Both operands go through shared memory along the steps of k, nothing else is decided by hand."""
    step = model.root()
    for load in ("load_A", "load_B"):
        step = Step(model.space.set_by_name(step.candidate, f"dim_mapping({load}.k1->mad.k1)", "NOT_MAPPED"), step.trail)
    return step


def _descend(model: Model, start: Step[Candidate], seed: int) -> tuple[float, float, int, int]:
    """(ms with all children made and bounded, ms of the drawn ones alone, levels, children)."""
    chance = random.Random(seed)
    step, levels, made = start, 0, 0
    whole_s = path_s = 0.0
    while levels < DEPTH:
        began = time.process_time()
        choices = model.open_choices(step)
        if not choices:
            break
        children: list[Step[Candidate]] = []
        spent: list[float] = []
        for alternative in model.alternatives(step, choices[0][0]):
            before = time.process_time()
            child = alternative.expand()
            if child is not None:
                model.bound(child)
                children.append(child)
                spent.append(time.process_time() - before)
            made += 1
        whole_s += time.process_time() - began
        if not children:
            break
        position = chance.randrange(len(children))
        path_s += spent[position]
        step = children[position]
        levels += 1
    return whole_s * 1e3, path_s * 1e3, levels, made


def _upper(share: float, count: int) -> float:
    """Upper end of Wilson's 95% interval: above 0 also where no walk of many ended in a dead end."""
    z = 1.96
    centre, spread = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (centre + spread) / (1 + z * z / count)


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
