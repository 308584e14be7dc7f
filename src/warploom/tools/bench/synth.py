"""`warploom bench synth`: which cases there are, what each must reach, and whether it did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

import click

from warploom.kernels import NAMES, PROGRAM_NAMES, WALL_NAMES, is_program
from warploom.solve import Goal
from warploom.tools.bench import programs as program_bench
from warploom.tools.bench.case import Case
from warploom.tools.bench.run import run_chosen
from warploom.tools.bench.wall_transposes import is_wall_transpose, transpose_case
from warploom.tools.command.duration import duration
from warploom.tools.command.lines import Line
from warploom.tools.command.options import CASE_OPTION, JOURNAL_OPTION, JSON_OPTION

LIMIT_S = 600.0
"""Wall time of one case unless the user gives a budget."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The results that a case must reach: the paper's cost, and the CPU time asked for."""

    pattern: str
    accumulates: int
    seconds: float


BARS = (
    Bar(r"wall/mult64-shared-w4", 6, 2.0),
    Bar(r"wall/mult64-.*", 6, 5.0),
    Bar(r"wall/mult128-.*", 20, 20.0),
    Bar(r"wall/mult256-.*", 72, 120.0),
    Bar(r"wall/stencil2d-.*", 1, 10.0),
    Bar(r"wall/conv1d-.*", 1, 2.0),
    Bar(r"mult64-.*", 6, 20.0),
    Bar(r"mult32-.*", 2, 2.0),
    Bar(r"aos-store-.*", 0, 2.0),
    Bar(r"aos-sum-crc-[48]-units", 4, 2.0),
    Bar(r"aos-sum-crc-6", 2, 2.0),
    Bar(r"(stencil|conv)[12]d-.*|aos-sum-.*", 1, 2.0),
)
"""Source: Swizzle Inventor, section 7: 6 accumulates per iteration for 64 coefficients, 2 for 32; sums of units add each word.

With r registers per input and lane r * (r + 1) accumulates are the least: one per product, and r products, one row of registers
of one input against all of the other, that go to another accumulator where the sum of the lanes carries.
"""
SKETCHES = (*NAMES, *WALL_NAMES)


def select(pattern: str | None) -> tuple[str, ...]:
    """Names that match a glob; without one every case that has a bar (field multiplication shares the holes of mult64-reg).

    The name of a dataflow case that is not listed, such as `wall/crc-29`, matches that case.
    """
    programs = tuple(name for name in PROGRAM_NAMES if name not in SKETCHES)
    if pattern is None:
        return (*(name for name in SKETCHES if bar_of(name) is not None), *programs)
    names = tuple(name for name in (*SKETCHES, *programs) if fnmatchcase(name, pattern))
    return names or ((pattern,) if is_program(pattern) else ())


def bench_case(name: str, goal: Goal | None, options: Mapping[str, str], space: int | None, limit_s: float) -> Case:
    """A sketch, a dataflow program or a transpose; `goal` None: the best completion of a sketch, all solutions of a program.

    `options` by flag, without dashes; the space is for sketches. For transposes only the first answer is asked for.
    """
    if is_wall_transpose(name):
        return transpose_case(name, limit_s)
    if _is_sketch(name):
        own = {} if space is None else {"space": str(space)}
        return synth_case(name, {**options, **own}, limit_s, all_solutions=goal == "all")
    return program_bench.program_case(name, goal or "all", {k: v for k, v in options.items() if k != "seed"}, limit_s)


def _is_sketch(name: str) -> bool:
    return name in SKETCHES or not is_program(name)


def synth_case(name: str, options: Mapping[str, str], limit_s: float, *, all_solutions: bool = False) -> Case:
    """`options` by flag, without dashes."""
    flags = [text for flag, value in options.items() for text in (f"--{flag}", value)]
    flags += ["--all"] if all_solutions else []
    return Case(name, ("synth", name, "--json", *flags), limit_s)


def bar_of(name: str) -> Bar | None:
    return next((bar for bar in BARS if re.fullmatch(bar.pattern, name)), None)


def judged(line: Line) -> Line:
    """The line with `bar` (what was asked) and `in_time`; `as_expected` says whether it is proved at the paper's cost."""
    if not _is_sketch(str(line["case"])):
        return program_bench.judged(line)
    bar = bar_of(str(line["case"]))
    proved = line["status"] == "solved" and line["verdict"] == "proved"
    if bar is None:
        return line | {"as_expected": proved}
    reached = proved and cast(int, line["accumulates"]) <= bar.accumulates
    return line | {
        "bar": {"accumulates": bar.accumulates, "seconds": bar.seconds},
        "in_time": cast(float, line["seconds"]) <= bar.seconds,
        "as_expected": reached,
    }


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    if not _is_sketch(str(line["case"])):
        return program_bench.columns(line)
    found = {"space": str(line.get("space") or "-"), "acc": str(line.get("accumulates", "-"))}
    found["optimal_in"] = str(line.get("optimal_in") or "-")
    if line.get("unsat_in"):
        found["unsat_in"] = ",".join(str(space) for space in cast("list[int]", line["unsat_in"]))
    found["seconds"] = f"{line['seconds']}{'' if line.get('in_time', True) else ' (late)'}"
    return found


@click.command("synth")
@CASE_OPTION
@JSON_OPTION
@JOURNAL_OPTION
@click.option("--all", "goal", flag_value="all", help="List all solutions (default for dataflow cases).")
@click.option("--first", "goal", flag_value="first", help="Find any one solution of each dataflow case.")
@click.option("--best", "goal", flag_value="best", help="Find the cheapest solution (default for sketches).")
@click.option("--space", type=click.IntRange(1, 3), help="Search only this space of sketches.")
@click.option("--budget", metavar="TIME", callback=duration, help="Limit on the CPU time of each case.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the independent checker's inputs.")
def bench_synth(
    pattern: str | None,
    as_json: bool,
    journal: Path | None,
    goal: Goal | None,
    space: int | None,
    budget: float | None,
    seed: int,
) -> None:
    """Complete every case of both papers, and larger ones.

    `as_expected` says that a sketch is proved at the paper's cost or better, or that a dataflow case has its number of solutions.
    """
    options = {"seed": str(seed)}
    if budget is not None:
        options["budget"] = f"{budget}s"
    limit_s = LIMIT_S if budget is None else 2 * budget + 60
    cases = [bench_case(name, goal, options, space, limit_s) for name in select(pattern)]
    run_chosen(cases, pattern, as_json, columns, judged, journal, select(None))
