"""Propagation in the space of a staged matrix product: `python benchmarks/schedule_space.py [--against SRC] [--rounds N]`.

Prints one JSON line: CPU time of compiling space and bound once (fresh processes with an empty cache folder), of loading what was
kept, of the root, of one decision, of one copy and of one bound; medians of `--rounds` processes. `--against` takes the `src`
folder of another version of the package and measures both in turns, with the ratios of their times to ours.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
SIZES = {"m": 1024, "n": 1024, "k": 1024}
TILES = {"m": ((2, 4, 8, 16, 32), (2, 4, 8)), "n": ((2, 4, 8, 16, 32), (2, 4, 8)), "k": ((2, 4, 8, 16, 32),)}
DESCENTS = 40
REPEATS = 20


def measure() -> dict[str, float]:
    """In this process, all on one thread."""
    from warploom.kernels.tensors import tensor_kernel
    from warploom.schedule.bound import Bound
    from warploom.schedule.choices import Features, kernel_space
    from warploom.schedule.targets import target

    program = tensor_kernel("matmul").program(sizes=SIZES, tiles=TILES, divisors_only=True)
    space = kernel_space(program.stages[0], target("k4000"), Features.paper())
    bound = Bound(space)
    start = time.process_time()
    root = space.root()
    first_root = time.process_time() - start
    bound.estimate(root)
    first = time.process_time() - start

    start = time.process_time()
    for _ in range(REPEATS):
        space.root()
    root_s = (time.process_time() - start) / REPEATS

    draw = random.Random(0)
    decided = []
    while len(decided) < DESCENTS * 20:
        candidate = root
        while candidate is not None and (decision := space.decisions(candidate)) is not None:
            alternative = draw.choice(decision.alternatives)
            decided.append((candidate, decision, alternative))
            candidate = space.apply(candidate, decision, alternative)
    candidates = [c for c, _, _ in decided]

    start = time.process_time()
    refuted = sum(space.apply(*step) is None for step in decided)
    decision_s = (time.process_time() - start) / len(decided)
    start = time.process_time()
    for candidate in candidates:
        candidate.copy()
    copy_s = (time.process_time() - start) / len(decided)
    start = time.process_time()
    total = sum(min(bound.of(c), 1e9) for c in candidates)
    bound_s = (time.process_time() - start) / len(decided)
    return {
        "statements": space.objects.statements,
        "variables": int(root.domains.size),
        "decisions": len(decided),
        "refuted": refuted,
        "bounds_sum": round(total, 6),
        "first_root_s": first_root,
        "first_s": first,
        "root_ms": 1e3 * root_s,
        "decision_us": 1e6 * decision_s,
        "copy_us": 1e6 * copy_s,
        "bound_us": 1e6 * bound_s,
    }


def in_new_process(source: Path, cache: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(source), "WARPLOOM_CACHE": str(cache / "answers.jsonl")}
    done = subprocess.run([sys.executable, HERE, "--measure"], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def medians(source: Path, others: Path | None, rounds: int) -> list[dict[str, float]]:
    """The medians of each version."""
    sources = [source] + ([others] if others is not None else [])
    runs: list[list[dict[str, float]]] = [[] for _ in sources]
    with tempfile.TemporaryDirectory() as folder:
        compiled = [in_new_process(one, Path(folder) / str(n)) for n, one in enumerate(sources)]
        for _ in range(rounds):
            for n, one in enumerate(sources):
                runs[n].append(in_new_process(one, Path(folder) / str(n)))
    found: list[dict[str, float]] = []
    for n, own in enumerate(runs):
        middle = {name: statistics.median(r[name] for r in own) for name in own[0]}
        renamed = {"load_root_s": middle.pop("first_root_s"), "load_s": middle.pop("first_s")}
        found.append(middle | renamed | {"compile_root_s": compiled[n]["first_root_s"], "compile_s": compiled[n]["first_s"]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure()))
        return
    own, *others = medians(HERE.parents[1] / "src", arguments.against, arguments.rounds)
    line: dict[str, object] = {name: round(value, 4) for name, value in own.items()}
    for other in others:
        line["against"] = {name: round(value, 4) for name, value in other.items()}
        line["ratios"] = {n: round(other[n] / own[n], 3) for n in own if n.endswith(("_s", "_ms", "_us"))}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
