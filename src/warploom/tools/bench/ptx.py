"""`warploom bench ptx`: how many loads of compiled stencils a shuffle covers, and that the rewritten kernels compute the same."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
from numpy.typing import NDArray

from warploom.core import Status
from warploom.gpu import assemble, compile_to_ptx, toolchain_available
from warploom.kernels.kernelgen import (
    APPLICATION_SHUFFLES,
    APPLICATIONS,
    CONVOLUTIONS,
    KERNELGEN,
    SYNTHESIS,
    Shape,
    Stencil,
    cuda_source,
    parameters,
)
from warploom.kernels.kernelgen import launch as launch_shape
from warploom.ptx import Program, launch, lower, parse
from warploom.ptx.shuffle import MAX_DELTA, ShuffleOptions, apply_all, shuffle
from warploom.tools.bench.case import Case
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.guard import report
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import CASE_OPTION, DEBUG_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch

ARCH = "sm_75"
"""Architecture of the PTX; the notes' counts were taken on it."""
LIMIT_S = 300.0
PAPERS_SHUFFLES = {name: line.shuffles for name, line in SYNTHESIS.items()} | {"whispering": 5}
"""Table 2, at any distance; with `restrict` pointers nvcc itself keeps one of whispering's loads. With plain ones it is loaded
twice, with two stores between: a reuse, which the paper counts among the shuffles (their mean distance is 5/6).
"""
PAPERS_APPLICATIONS = {"euler_x": "hypterm", "elastic": "rhs4th3fort", "curvilinear": "derivative"}
"""Section 8.5, to the next lane only."""
EXTENTS = ((165, 13, 11), (70, 11, 12))
"""x, y, z of the tested launches: full warps, and rows that end inside one."""

_SUITES: dict[str, tuple[dict[str, Stencil], Shape]] = {
    "kernelgen": (KERNELGEN, "guarded"),
    "kernelgen-gs": (KERNELGEN, "grid-stride"),
    "kernelgen-plain": ({"whispering": KERNELGEN["whispering"]}, "plain"),
    "app": (APPLICATIONS, "guarded"),
    "conv": (CONVOLUTIONS, "guarded"),
}
NAMES = tuple(f"{suite}/{name}" for suite, (stencils, _) in _SUITES.items() for name in stencils)


def select(pattern: str | None) -> tuple[str, ...]:
    return tuple(name for name in NAMES if pattern is None or fnmatchcase(name, pattern))


def ptx_case(name: str, options: tuple[str, ...] = ()) -> Case:
    return Case(name, ("bench-ptx", name, *options), LIMIT_S)


def measure(name: str, options: ShuffleOptions, seed: int, progress: Progress) -> Line:
    """The line of one kernel. `seconds` starts when its PTX is there; UserError without the CUDA tools."""
    suite, _, short = name.partition("/")
    stencils, shape = _SUITES[suite]
    stencil = stencils[short]
    progress("compiling")
    text = compile_to_ptx(cuda_source(stencil, shape), ARCH)
    progress("analysing")
    stopwatch = Stopwatch()
    module = parse(text, f"{name}.ptx")
    found = shuffle(module, replace(options, lone_sources=True))
    analysis_s = stopwatch.read().seconds
    (report,) = found.reports
    deltas = [c.delta for c in report.shuffles]
    as_paper = len(report.shuffles_of_lone_sources)
    progress("running both")
    programs = lower(module), lower(parse(found.text))
    differing = [e for e in EXTENTS if not _same(stencil, shape, programs, e, seed)]
    usage = stopwatch.read()
    fields: Line = {
        "loads": report.loads,
        "candidates": len(deltas),
        "candidates_by_papers_rule": as_paper,
        "deltas": deltas,
        "mean_delta": round(sum(map(abs, deltas)) / len(deltas), 3) if deltas else None,
        "reuses": len(report.reuses),
        "covered": len(deltas) + len(report.reuses),
        "applied": len(report.applied),
        "predicted_gain": report.predicted_gain,
        "analysis_s": analysis_s,
        "shape": shape,
        "arch": ARCH,
    }
    if differing:
        line = plain_line(name, "error", usage, verdict="refuted", reason=f"the rewritten kernel differs at {differing[0]}")
        return line | fields | {"as_expected": False}
    if toolchain_available():
        fields["registers"] = {"before": _registers(text), "after": _registers(found.text)}
    fields["cases"] = len(EXTENTS)
    published = _published(suite, short, options.max_delta)
    fields["as_expected"] = published in (None, (as_paper, report.loads), (as_paper, None)) and len(deltas) >= as_paper
    return plain_line(name, "solved", usage, verdict="tested") | fields


def _published(suite: str, short: str, max_delta: int) -> tuple[int, int | None] | None:
    """Shuffles and loads in the paper at this distance, if it says so; Table 2's loads are those of another compiler."""
    if suite.startswith("kernelgen") and max_delta == MAX_DELTA:
        return PAPERS_SHUFFLES[short], None
    if suite == "app" and short in PAPERS_APPLICATIONS and max_delta == 1:
        found = APPLICATION_SHUFFLES[PAPERS_APPLICATIONS[short]]
        return found.shuffles, found.loads
    return None


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    if "loads" not in line:
        return {"seconds": str(line["seconds"])}
    found = {"shuffles": f"{line['candidates']}/{line['loads']}", "applied": str(line["applied"])}
    if line["mean_delta"] is not None:
        found["mean |N|"] = str(line["mean_delta"])
    if "registers" in line:
        registers = cast("dict[str, int]", line["registers"])
        found["registers"] = f"{registers['before']} -> {registers['after']}"
    return found | {"analysis": f"{line['analysis_s']} s"} | ({} if line["as_expected"] else {"DIFFERS": "from the paper"})


def _same(stencil: Stencil, shape: Shape, programs: tuple[Program, Program], extents: tuple[int, ...], seed: int) -> bool:
    """Whether both leave the same bits in every array."""
    sizes = extents[: len(stencil.extents)]
    given = parameters(stencil, sizes, np.random.default_rng(seed))
    grid, block = launch_shape(stencil, shape, sizes)
    kept = [launch(program, grid=grid, block=block, args=list(given)) for program in programs]
    if any(run.status != "finished" for run in kept):
        return False
    first, second = (run.arrays for run in kept)
    return first.keys() == second.keys() and all(_bits(first[i]) == _bits(second[i]) for i in first)


def _bits(array: NDArray[Any]) -> bytes:
    return array.tobytes()


def _registers(text: str) -> int:
    cubin_log = assemble(text, ARCH)[1]
    words = cubin_log.partition("Used ")[2].split()
    return int(words[0]) if words else 0


_MAX_DELTA = click.option(
    "--max-delta", type=click.IntRange(0, 31), default=31, show_default=True, help="Largest distance in lanes of a shuffle."
)


@click.command("ptx")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
@_MAX_DELTA
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the data that both kernels run on.")
def bench_ptx(pattern: str | None, as_json: bool, journal: Path | None, max_delta: int, seed: int) -> None:
    """Replace every load of compiled stencils that a shuffle can cover; run the original and the rewritten kernel.

    `as_expected`: the same memory afterwards, and by the paper's rule for sources (`candidates_by_papers_rule`) exactly as many
    shuffles as in the paper; by ours, which takes every load that stays, never fewer.
    """
    options = ("--max-delta", str(max_delta), "--seed", str(seed))
    cases = [ptx_case(name, options) for name in select(pattern)]
    run_chosen(cases, pattern, as_json, columns, lambda line: line, journal, NAMES)


@click.command("bench-ptx", hidden=True)
@click.argument("name")
@_MAX_DELTA
@click.option("--seed", type=int, default=0)
@DEBUG_OPTION
def bench_ptx_case(name: str, max_delta: int, seed: int, debug: bool) -> None:
    """One case of `bench ptx`, in this process, as one JSON line."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        line = measure(name, ShuffleOptions(policy=apply_all, max_delta=max_delta), seed, progress)
        return Outcome(line, EXIT_BY_STATUS[cast(Status, line["status"])])

    report(name, work, as_json=True, debug=debug)
