"""`warploom bench ablations`: what each idea is worth, as the time without it.

Dataflow programs are solved with one idea switched off at a time; sketches with the naive index template, without accumulators
and by z3, and space by space. Source: Swizzle Inventor, tables 1 and 2; Swizzleflow, sections 3.2, 4.1, 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

import click
import numpy as np

from warploom.core import Diagnostic, Status, UserError
from warploom.ir.dataflow import Gathered, Program, named_statements, parse_program, replays
from warploom.kernels import find, find_program, is_program
from warploom.solve import Budget, Statistics
from warploom.synth import WITHOUT, Missing, complete, complete_without
from warploom.synth.dataflow import CONFIGURATIONS, ProgramResult, solve_program
from warploom.tools.bench import programs as program_bench
from warploom.tools.bench.case import Case
from warploom.tools.bench.run import run_chosen
from warploom.tools.command.duration import duration
from warploom.tools.command.guard import report
from warploom.tools.command.lines import SOLVED, Line, plain_line
from warploom.tools.command.options import CASE_OPTION, DEBUG_OPTION, JOURNAL_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.solve.program import DOMAIN
from warploom.tools.synth.report import OBJECTIVE

BUDGET_S = 20.0
"""CPU time of one line unless the user says another; some lines are known to need hours."""
REPLAYED = 4096
BATCH = 256
"""Solutions replayed, at once and at most."""

PROGRAM_CASES = (
    "sf/trove-8x3", "sf/l3/trove-crc-5", "sf/l1/trove-rcr-7", "sf/l3/trove-cr_sum-9", "sf/l3/1d-conv-9",
    "sf/l3/2d-stencil-9", "sf/l3/mult-64-with-16", "sf/l1/mult-64-with-16-shared", "sf/hvx-gaussian",
)  # fmt: skip
"""One of each family of Swizzleflow's benchmarks, with an answer; the largest where the comparison still says something."""
WITHOUT_CASES = ("mult32-shared", "mult32-reg", *(f"aos-sum-crc-{s}" for s in (1, 2, 3, 5, 7)))
"""Source: Swizzle Inventor, table 2."""
SPACE_CASES = (
    "stencil1d-3", "conv1d-3", "conv2d-3", "mult32-shared", "mult32-reg", "mult64-shared", "mult64-reg",
    *(f"aos-sum-crc-{s}" for s in (1, 2, 3, 5, 7)),
    *(f"aos-store-{order}-{s}" for order in ("crc", "rcr") for s in (1, 2, 3, 5, 7)),
)  # fmt: skip
"""Source: Swizzle Inventor, table 1."""
SPACES = ("space-1", "space-2", "space-3")
FULL, SMT = "full", "smt"
NAMES = (*CONFIGURATIONS, *SPACES, *WITHOUT)
"""Names of configurations."""


def select(pattern: str | None, configuration: str | None) -> tuple[tuple[str, str], ...]:
    """(case, configuration) of every line whose names match the globs."""
    return tuple(
        (case, name) for case, name in _lines() if fnmatchcase(case, pattern or "*") and fnmatchcase(name, configuration or "*")
    )


def _lines() -> Iterator[tuple[str, str]]:
    for case in PROGRAM_CASES:
        for name in CONFIGURATIONS:
            yield case, name
    for case in SPACE_CASES:
        for name in (FULL, *SPACES):
            yield case, name
        if case in WITHOUT_CASES:
            for name in (*WITHOUT, SMT):
                yield case, name


def ablation_case(case: str, configuration: str, budget_s: float, seed: int) -> Case:
    arguments = ("bench-ablation", case, configuration, "--budget", f"{budget_s}s", "--seed", str(seed))
    labels = {"configuration": configuration, "budget_s": budget_s}
    return Case(case, arguments, 2 * budget_s + 60, labels)


def measure(case: str, configuration: str, budget_s: float, seed: int, stopwatch: Stopwatch, progress: Progress) -> Line:
    """One line, in this process; UserError for names that are none."""

    def tell(statistics: Statistics) -> None:
        progress(f"{statistics.nodes} nodes, {statistics.refuted} refuted, {statistics.answers} answers")

    if is_program(case):
        if configuration not in CONFIGURATIONS:
            raise _unknown(case, configuration, CONFIGURATIONS)
        program = parse_program(find_program(case), case)
        options = CONFIGURATIONS[configuration]
        result = solve_program(program, budget=Budget(cpu_s=budget_s), progress=tell, options=options)
        return _program_line(case, program, result, configuration, stopwatch)
    sketch = find(case).sketch
    if configuration not in (FULL, SMT, *SPACES, *WITHOUT):
        raise _unknown(case, configuration, (FULL, SMT, *SPACES, *WITHOUT))
    missing: Missing | None = next((m for m in WITHOUT if m == configuration), None)
    if missing is not None:
        found = complete_without(sketch, missing, budget_s, seed)
        return plain_line(
            case,
            found.status,
            stopwatch.read(),
            verdict=found.verdict,
            reason=found.reason,
            space=found.space,
            accumulates=found.accumulates,
            solutions=1 if found.holes else 0,
            visited=found.statistics.tried,
            ineffectiveness=None,
            **_domain(found.verdict, found.domain, found.cases),
        )
    space = SPACES.index(configuration) + 1 if configuration in SPACES else None
    report = complete(
        sketch,
        space=space,
        budget_s=budget_s,
        seed=seed,
        progress=progress,
        engine="smt" if configuration == SMT else "propagation",
    )
    verdict = report.verdict or "unchecked"
    return plain_line(
        case,
        report.status,
        stopwatch.read(),
        verdict=verdict,
        reason=report.reason,
        space=report.space,
        accumulates=report.completions[0].accumulates if report.completions else None,
        optimal_in=report.optimal_in,
        objective=list(OBJECTIVE),
        unsat_in=list(report.unsat_in),
        solutions=len(report.completions),
        visited=sum(s.nodes + s.refuted for s in report.spaces),
        ineffectiveness=None,
        phases={name: round(spent, 6) for name, spent in report.statistics.items()},
        **_domain(verdict, report.domain, report.cases),
    )


def _unknown(case: str, configuration: str, known: Iterable[str]) -> UserError:
    message = f"expected a configuration of {case}, got {configuration!r}"
    return UserError(Diagnostic("UNKNOWN_CONFIGURATION", message, fix=f"Take one of {', '.join(known)}."))


def judged(line: Line) -> Line:
    """`as_expected`: right as far as it goes; a spent budget is what most configurations end with on the larger cases."""
    bar = program_bench.bar_of(str(line["case"]))
    wrong = line["status"] in ("error", "refused") or line["verdict"] == "refuted"
    if bar is not None and bar.solutions is not None and line["status"] in ("solved", "unsat"):
        wrong |= line.get("solutions") != bar.solutions
    return line | {"as_expected": not wrong}


def columns(line: Line) -> dict[str, str]:
    """Columns of the table for people."""
    found = {"configuration": str(line.get("configuration", "-")), "solutions": str(line.get("solutions", "-"))}
    if line.get("space"):
        found["space"] = str(line["space"])
    found["visited"] = str(line.get("visited", "-"))
    return found | {"ineffectiveness": str(line.get("ineffectiveness") or "-"), "seconds": str(line["seconds"])}


def _domain(verdict: str, domain: str, cases: int | None) -> Line:
    return {"domain": domain} if verdict == "proved" else {"cases": cases} if verdict == "tested" else {}


def _program_line(case: str, program: Program, result: ProgramResult, configuration: str, stopwatch: Stopwatch) -> Line:
    count = result.solutions.count
    replayed, meets = _replayed(program, result)
    status: Status = "unknown" if not result.complete else "solved" if count else "unsat"
    reason = result.reason if status == "unknown" else "" if count else "the space was exhausted"
    verdict = "unchecked"
    if not meets:
        status, verdict, reason = "error", "refuted", "internal error: a solution does not meet the goal"
    elif replayed:
        verdict = "proved" if replayed == count else "tested"
    return plain_line(
        case,
        status,
        stopwatch.read(),
        verdict=verdict,
        reason=reason,
        solutions=count,
        visited=None if configuration == SMT else result.visited,
        oracle=result.oracle if result.complete else None,
        ineffectiveness=result.ineffectiveness and round(result.ineffectiveness, 3) if result.complete else None,
        phases=result.phases,
        **_domain(verdict, DOMAIN, replayed),
    )


def _replayed(program: Program, result: ProgramResult) -> tuple[int, bool]:
    """Number of the solutions that were run again by the interpreter's replay, and whether they all meet the goal."""
    found = [(name, s.value.choices) for name, s in named_statements(program) if isinstance(s.value, Gathered)]
    names = [(name, choices) for name, choices in found if not choices.is_single]
    keys = [(name, choices, hole.name) for (name, choices), hole in zip(names, result.solutions.holes, strict=True)]
    solutions = list(islice(result.solutions, REPLAYED))
    for start in range(0, len(solutions), BATCH):
        batch: Sequence[dict[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]] = [
            {name: choices.gather(solution.members[key].table.astype(np.int64)) for name, choices, key in keys}
            for solution in solutions[start : start + BATCH]
        ]
        if not replays(program, batch).all():
            return start, False
    return len(solutions), True


@click.command("ablations")
@CASE_OPTION
@click.option("--configuration", metavar="GLOB", help="Run only the configurations that match.")
@JSON_OPTION
@JOURNAL_OPTION
@click.option(
    "--budget", metavar="TIME", callback=duration, default="20s", show_default=True, help="Limit on the CPU time of each case."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the independent checker's inputs.")
def bench_ablations(
    pattern: str | None, configuration: str | None, as_json: bool, journal: Path | None, budget: float, seed: int
) -> None:
    """Measure what each of the engine's ideas is worth: the time without it.

    `as_expected` says that no answer is wrong. On the larger cases most configurations run out of budget.
    """
    asked = select(pattern, configuration)
    cases = [ablation_case(case, name, budget, seed) for case, name in asked]
    run_chosen(cases, pattern, as_json, columns, judged, journal, sorted({case for case, _ in select(None, None)}))


@click.command("bench-ablation", hidden=True)
@click.argument("case")
@click.argument("configuration", type=click.Choice(NAMES))
@click.option("--budget", metavar="TIME", callback=duration, default="20s")
@click.option("--seed", type=int, default=0)
@DEBUG_OPTION
def bench_ablation(case: str, configuration: str, budget: float, seed: int, debug: bool) -> None:
    """One line of `bench ablations`, in this process, as JSON."""

    def work(stopwatch: Stopwatch, progress: Progress) -> Outcome:
        return Outcome(measure(case, configuration, budget, seed, stopwatch, progress), SOLVED)

    report(case, work, as_json=True, debug=debug)
