"""Races of every launch: `python benchmarks/every_launch.py FILE.ptx... [--corpus] [--launches N] [--seed N] [--limit S]`.

For each kernel of the files (of a template one instance) its verdict and CPU seconds; of a proved one N random launches of its
domain run in the interpreter, none of which may race. Kernels that may race are run as `warploom lint --every-launch` runs them.
One JSON line per kernel, then one with the counts. The kernels of `tests/ptx/launches` are the default; `--corpus` takes those of
`warploom bench lint` with their blocks, one line for each language: `--corpus --launches 220` makes the 10,000 of the results.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from warploom import __version__
from warploom.core import UserError
from warploom.ptx import Program, Routine, lower, parse
from warploom.ptx.launches import NotDecided, RaceFree, races
from warploom.tools.bench.lint.cases import of_every_launch
from warploom.tools.bench.lint.languages import LANGUAGES
from warploom.tools.bench.lint.launching import races_met
from warploom.tools.command.usage import Stopwatch
from warploom.tools.lint.every_launch import lint_every_launch
from warploom.tools.lint.launched import LintOptions

DEFAULT = Path(__file__).parents[1] / "tests" / "ptx" / "launches" / "kernels.ptx"


class _TooLongError(Exception):
    pass


def _late(*_: object) -> None:
    raise _TooLongError


def kernels(program: Program) -> Iterator[Routine]:
    """One instance of each template (Itanium names: what comes before the first I)."""
    seen: set[str] = set()
    for routine in program.kernels:
        key = routine.name.partition("I")[0] if routine.name.startswith("_Z") else routine.name
        if key not in seen:
            seen.add(key)
            yield routine


def judged(
    path: str, program: Program, routine: Routine, launches: int, random: np.random.Generator, limit_s: int
) -> Mapping[str, Any]:
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    line: dict[str, Any] = {"file": Path(path).name, "kernel": routine.name}
    try:
        found = races(program, routine.name)
        seconds = time.process_time() - begun
        signal.setitimer(signal.ITIMER_PROF, 0)
        if isinstance(found, RaceFree):
            ran, wrong = races_met(program, routine, found.single, launches, random)
            line |= {"verdict": "proved", "questions": found.pairs, "launches": ran, "races": wrong}
        elif isinstance(found, NotDecided):
            line |= {"verdict": "unchecked", "reason": found.reason}
        else:
            signal.setitimer(signal.ITIMER_PROF, 2 * limit_s)
            told = lint_every_launch(path, LintOptions(kernel=routine.name), (), Stopwatch()).outcome.line
            signal.setitimer(signal.ITIMER_PROF, 0)
            line |= {"verdict": told["verdict"], "reason": told.get("reason", ""), "race_free_if": told.get("race_free_if")}
    except _TooLongError:
        seconds = time.process_time() - begun
        line |= {"verdict": "unchecked", "reason": f"more than {limit_s} s"}
    return line | {"seconds": round(seconds, 3)}


def of_corpus(launches: int, seed: int) -> int:
    """How many proved kernels raced; a line for each language."""
    ran = wrong = 0
    for name, language in LANGUAGES.items():
        begun = time.process_time()
        fields = of_every_launch(language, lambda _: None, launches, seed)
        ran, wrong = ran + int(fields["launches"]), wrong + int(fields["wrongly_proved"])
        seconds = round(time.process_time() - begun, 3)
        print(json.dumps({"corpus": name, **fields, "seconds": seconds, "seed": seed, "version": __version__}), flush=True)
    print(json.dumps({"launches": ran, "kernels_with_races": wrong, "seed": seed, "version": __version__}))
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=[str(DEFAULT)])
    parser.add_argument("--corpus", action="store_true", help="the kernels of `bench lint`, with their blocks")
    parser.add_argument("--launches", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=10, help="CPU seconds for a kernel")
    given = parser.parse_args()
    if given.corpus:
        return 1 if of_corpus(given.launches, given.seed) else 0
    random = np.random.default_rng(given.seed)
    signal.signal(signal.SIGPROF, _late)
    counts: Counter[str] = Counter()
    ran = wrong = 0
    took: list[float] = []
    for path in given.files:
        try:
            program = lower(parse(Path(path).read_text(encoding="utf-8", errors="surrogateescape"), path))
        except UserError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        for routine in kernels(program):
            line = judged(path, program, routine, given.launches, random, given.limit)
            counts[line["verdict"]] += 1
            ran, wrong = ran + line.get("launches", 0), wrong + line.get("races", 0)
            took.append(line["seconds"])
            print(json.dumps(line), flush=True)
    total = {"counts": dict(counts), "launches": ran, "races": wrong, "median_s": round(float(np.median(took or [0])), 3),
             "most_s": max(took, default=0), "seed": given.seed, "version": __version__}  # fmt: skip
    print(json.dumps(total))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
