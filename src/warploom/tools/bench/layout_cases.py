"""Cases of `bench layout` and `bench exchange` that ask many questions in one process, or look at machine code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, TypeAlias

import click
import numpy as np

from warploom.core import UserError
from warploom.core.limits import cpu_seconds
from warploom.gpu import compile_cuda, machine_counts
from warploom.layout import Access, certificate, faults, layout, tile
from warploom.layout.distributed import Distributed, distributed_of_array, distributed_of_text
from warploom.layout.exchange import certificate_of_bound, exchange, kernel
from warploom.tools.command.guard import report
from warploom.tools.command.lines import GAVE_UP, SOLVED, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

Pairs: TypeAlias = Iterator[tuple[Distributed, Distributed]]
NAMES = ("least/named", "least/random", "random/8", "random/12", "random/16", "tma", "square/sass")
RANDOM_PAIRS = 1000
SEEDS = 10
STRUCTURES = range(2, 33)
"""Words of a structure."""
_MOST_REGISTERS, _LANES = 64, 32
_BITS, _DIMENSIONS = 10, 5
"""Random patterns: 5-dimensional subspaces of the 10 address bits of 32 x 32 words, and what is beside them."""


def measure(name: str, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    kind, _, which = name.partition("/")
    try:
        match kind, which:
            case "least", "named":
                line = _least(name, _named(), stopwatch, progress)
            case "least", "random":
                line = _least(name, _random_pairs(), stopwatch, progress)
            case "random", _:
                line = _patterns(name, int(which), stopwatch, progress)
            case "tma", _:
                line = _modes(name, stopwatch, progress)
            case _:
                line = _machine_code(name, stopwatch)
    except AssertionError as error:
        return Outcome(plain_line(name, "error", stopwatch.read(), reason=str(error)), GAVE_UP)
    return Outcome(line, SOLVED)


def _named() -> Pairs:
    for lanes in range(2, _LANES + 1):
        for registers in range(1, _MOST_REGISTERS + 1):
            striped, blocked = (distributed_of_text(text, lanes, registers, 32) for text in ("striped", "blocked"))
            yield striped, blocked
            yield blocked, striped


def _random_pairs() -> Pairs:
    random = np.random.default_rng(0)
    for _ in range(RANDOM_PAIRS):
        lanes, registers = int(random.integers(2, _LANES + 1)), int(random.integers(1, _MOST_REGISTERS + 1))
        one, two = (random.permutation(lanes * registers).reshape(lanes, registers) for _ in range(2))
        yield distributed_of_array(one, 32), distributed_of_array(two, 32)


def _least(name: str, pairs: Pairs, stopwatch: Stopwatch, progress: Progress) -> Line:
    """Each bound with the shuffles that reach it, confirmed by the checker."""
    longest, count, below = 0.0, 0, 0
    for src, dst in pairs:
        before = cpu_seconds()
        document = certificate_of_bound(src, dst)
        longest = max(longest, cpu_seconds() - before)
        wrong = faults(document)
        assert not wrong and document["reached"], f"{src.name} to {dst.name} on {src.lanes} lanes: {wrong or 'not reached'}"
        count += 1
        below += document["least_shuffles"] < src.words
        if not count % 500:
            progress(f"{count} pairs")
    fields: dict[str, Any] = {"pairs": count, "fewer_than_registers": below, "most_seconds": round(longest, 4)}
    return plain_line(name, "solved", stopwatch.read(), verdict="proved", domain="every pair of layouts", **fields)


def _patterns(name: str, count: int, stopwatch: Stopwatch, progress: Progress) -> Line:
    """Maps of 32 x 32 words for random patterns; where none is without conflict, all linear ones were tried."""
    longest, found, certified = 0.0, 0, 0
    given = tile("32x32:f32")
    for seed in range(SEEDS):
        progress(f"seed {seed}")
        random = np.random.default_rng(seed)
        accesses = [_pattern(number, random) for number in range(count)]
        before = cpu_seconds()
        answer = layout(given, accesses)
        longest = max(longest, cpu_seconds() - before)
        wrong = faults(certificate(given, answer.accesses, answer.map, answer.prices, answer.no_linear))
        assert not wrong, f"seed {seed}: {wrong}"
        found += answer.optimal
        certified += answer.no_linear is not None and not answer.optimal
    fields: dict[str, Any] = {"sets": SEEDS, "found": found, "no_linear": certified, "most_seconds": round(longest, 4)}
    return plain_line(name, "solved", stopwatch.read(), verdict="proved", domain="every set of patterns", **fields)


def _pattern(number: int, random: np.random.Generator) -> Access:
    """A random subspace and its translates."""
    space = [0]
    while len(space) < 1 << _DIMENSIONS:
        vector = int(random.integers(1, 1 << _BITS))
        if vector not in space:
            space += [vector ^ other for other in space]
    firsts: set[int] = {min(place ^ vector for vector in space) for place in range(1 << _BITS)}
    return Access(f"random {number}", np.array([[[first ^ v] for v in space] for first in sorted(firsts)]), is_listed=True)


def _modes(name: str, stopwatch: Stopwatch, progress: Progress) -> Line:
    """Structures of R words a lane out of a bulk copy: the modes of the tensor map that are free of conflicts."""
    free: dict[str, list[str]] = {}
    for registers in STRUCTURES:
        progress(f"{registers} words")
        striped, blocked = (distributed_of_text(text, _LANES, registers, 32) for text in ("striped", "blocked"))
        answer = exchange(striped, blocked, via="tma")
        free[str(registers)] = [c.program.name for c in answer.pareto if c.wavefronts == answer.least_wavefronts]
    fields: dict[str, Any] = {"modes": free, "without": [int(r) for r, modes in free.items() if not modes]}
    return plain_line(name, "solved", stopwatch.read(), verdict="proved", domain="all values, every lane", **fields)


def _machine_code(name: str, stopwatch: Stopwatch) -> Line:
    """Instructions of the kernels that transpose 32 x 32 registers by shuffles, loads and stores included."""
    striped, blocked = (distributed_of_text(text, _LANES, _LANES, 32) for text in ("striped", "blocked"))
    answer = exchange(striped, blocked, via="shuffle")
    counts: list[list[int]] = []
    try:
        for candidate in answer.pareto:
            if candidate.via == "shuffle":
                machine = machine_counts(compile_cuda(kernel(candidate)).cubin)["exchanged"]
                counts.append([candidate.shuffles, candidate.selects, machine.instructions])
    except UserError as error:
        return plain_line(name, "unknown", stopwatch.read(), reason=error.diagnostics[0].message)
    fields: dict[str, Any] = {"programs": counts, "sass": min(n for *_, n in counts), "fewest_shuffles": min(counts)[2]}
    return plain_line(name, "solved", stopwatch.read(), verdict="proved", domain="all values, every lane", **fields)


def case_of(name: str) -> tuple[str, ...]:
    return "bench-layout", name


@click.command("bench-layout", hidden=True)
@click.argument("name", type=click.Choice(NAMES))
@DEBUG_OPTION
def bench_layout_case(name: str, debug: bool) -> None:
    """One case of `bench layout` or `bench exchange`, in this process, as one JSON line."""
    report(name, partial(measure, name), as_json=True, debug=debug)
