"""Kernels that `explore` finds with a budget of nodes, over seeds: in the paper's spaces by the model of the paper's GPU, and
functions whose reductions may be in parts (KERNEL@ARCH@SIZE, all sizes alike, or KERNEL@ARCH@rows=8,columns=1048576; CASE@ARCH: a
case of `benchmarks.found_kernels`), by that of the architecture.

    python benchmarks/search_seeds.py --space matmul-1024x1024x1024 --search refine mcts --nodes 12000 --seeds 5 --out FILE.jsonl
    python -m benchmarks.search_seeds --space matmul@sm_90@1024 --search refine --nodes 4000 --seeds 3

Times are modelled; only `seconds` (CPU) depends on the machine. Rows that FILE has are not run again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import cast

from benchmarks.found_kernels import CASES

import warploom
from warploom.kernels.tensors import PAPER_SPACES, PaperSpace, tensor_kernel
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features
from warploom.schedule.search import Options, Recipe, StrategyName, explore_kernel, explore_programs, strategy_named
from warploom.schedule.search.modelled import ModelEvaluator
from warploom.schedule.targets import K4000, target
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.parting import parting_of

SPACES = {space.name: space for space in PAPER_SPACES}


def product_row(name: str, search: str, nodes: int, seed: int) -> dict[str, object]:
    """One search for a function with reductions in parts."""
    kernel, arch, *size = name.split("@")
    on = target(arch)
    function, sizes = (tensor_kernel(kernel), _sizes(kernel, *size)) if size else CASES[kernel]
    asked = KernelOptions(target=on, sizes=sizes, seed=seed)
    programs = {parts: variant.program for parts, variant in parting_of(function, asked).variants.items()}
    began = time.process_time()
    options = Options(strategy=strategy_named(cast("StrategyName", search), seed), nodes=nodes)
    found = explore_programs(programs, on, Bound, options, evaluators=lambda _: ModelEvaluator(on))
    every = (*found.found.stages, *found.others)
    return {
        "space": name, "search": search, "budget": nodes, "seed": seed, "time_ms": found.found.time_ms, "parts": found.parts,
        "tried": {str(t.parts): t.time_ms for t in found.tried}, "nodes": sum(e.nodes for e in every),
        "evaluated": sum(e.evaluated for e in every), "dead_ends": sum(e.dead_ends for e in every),
        "seconds": round(time.process_time() - began, 2), "version": warploom.__version__,
    }  # fmt: skip


def _sizes(kernel: str, size: str) -> dict[str, int]:
    if "=" in size:
        return {axis: int(n) for axis, n in (each.split("=") for each in size.split(","))}
    return dict.fromkeys(tensor_kernel(kernel).function.sizes, int(size))


def row(space: PaperSpace, search: str, nodes: int, seed: int) -> dict[str, object]:
    """One search."""
    (stage,) = space.program().stages
    model = Recipe(stage, K4000, Bound, Features.paper())()
    began = time.process_time()
    found = explore_kernel(
        model,
        space.name,
        ModelEvaluator(K4000),
        Options(strategy=strategy_named(cast("StrategyName", search), seed), nodes=nodes),
    )
    return {
        "space": space.name, "search": search, "budget": nodes, "seed": seed, "time_ms": found.time_ms, "nodes": found.nodes,
        "evaluated": found.evaluated, "dead_ends": found.dead_ends, "seconds": round(time.process_time() - began, 2),
        "version": warploom.__version__,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", nargs="+", metavar="SPACE|KERNEL@ARCH@SIZE", required=True)
    parser.add_argument("--search", nargs="+", choices=("refine", "mcts", "uct"), default=["refine", "mcts"])
    parser.add_argument("--nodes", type=int, default=12_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    keys = ("space", "search", "budget", "seed")
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out and given.out.exists() else []
    known = {tuple(r[k] for k in keys): r for r in map(json.loads, lines)}
    for space in given.space:
        for search in given.search:
            rows: list[dict[str, object]] = []
            for seed in range(given.seeds):
                found = known.get((space, search, given.nodes, seed))
                if found is None:
                    make = partial(product_row, space) if "@" in space else partial(row, SPACES[space])
                    found = make(search, given.nodes, seed)
                    if given.out:
                        with given.out.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(found) + "\n")
                rows.append(found)
                print(json.dumps(found), flush=True)
            times = sorted(float(str(r["time_ms"])) for r in rows if r["time_ms"] is not None)
            median = statistics.median(times) if times else float("nan")
            text = (
                f"{space} {search}: median {median:.4g} ms, {times[0]:.4g} to {times[-1]:.4g}"
                if times
                else f"{space} {search}: none"
            )
            print(text, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
