"""`warploom ptx shuffle`: rewrites a PTX file, one line per kernel, and writes the whole report."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import click

from warploom.core import UserError
from warploom.gpu import MachineCounts, assemble, machine_counts, toolchain_available
from warploom.machines import architecture, occupancy
from warploom.ptx.shuffle import (
    MAX_DELTA,
    Json,
    KernelReport,
    Mode,
    Policy,
    Profitable,
    Rewritten,
    ShuffleOptions,
    Variant,
    apply_all,
    apply_none,
    shuffle,
)
from warploom.ptx.syntax import Module
from warploom.tools.command.files import OUTPUT_FILE, write_bytes
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import GAVE_UP, INTERRUPTED, SCHEMA, SOLVED, Line, combined_exit, encode, plain_line
from warploom.tools.command.options import JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.check import read_good_ptx

BLOCK_THREADS = 128
"""Threads of the block for which occupancy is told, where the kernel does not say."""
PTXAS_S = 20
"""Wall seconds for one run of ptxas, whose registers are told beside the result and decide nothing."""

ASSUMPTIONS = ("nsw", "aligned", "noalias")

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'.*?Used (?P<registers>\d+) registers", re.S)


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one kernel, before and after."""

    registers: tuple[int, int]
    occupancy: tuple[float, float] | None
    """Share of the warps that fit; None for an architecture that is not in the table."""
    sass: tuple[MachineCounts, MachineCounts] | None = None
    """Instructions of the machine code; None without nvdisasm."""

    def json(self) -> dict[str, Json]:
        found: dict[str, Json] = {"registers": {"before": self.registers[0], "after": self.registers[1]}, "occupancy": None}
        if self.occupancy is not None:
            found["occupancy"] = {"before": round(self.occupancy[0], 4), "after": round(self.occupancy[1], 4)}
        if self.sass is not None:
            found["sass"] = {
                when: {"instructions": counts.instructions, "loads": counts.loads}
                for when, counts in zip(("before", "after"), self.sass, strict=True)
            }
        return found


def policy_of(name: str, arch: str | None) -> Policy:
    """`all`, `profitable` or `none`."""
    match name:
        case "all":
            return apply_all
        case "none":
            return apply_none
        case _:
            return Profitable(arch)


def resources(before: str, after: str, module: Module, arch: str) -> dict[str, Resources]:
    """By kernel, as ptxas counts them; UserError (PTXAS_ERROR) where it refuses the new text but takes the old one.

    {} where there is no ptxas, where it refuses the old text, too, or where it takes longer than `PTXAS_S`.
    """
    if not toolchain_available():
        return {}
    try:
        old = _assembled(before, arch)
    except UserError:
        return {}
    try:
        new = _assembled(after, arch) if after != before else old
    except UserError as error:
        if error.diagnostics[0].code == "PTXAS_LIMIT":
            return {}
        raise
    found: dict[str, Resources] = {}
    for function in module.functions:
        if function.name in old and function.name in new:
            (registers_old, counts_old), (registers_new, counts_new) = old[function.name], new[function.name]
            registers = registers_old, registers_new
            sass = None if counts_old is None or counts_new is None else (counts_old, counts_new)
            threads = BLOCK_THREADS
            for directive in function.directives:
                if directive.name in ("reqntid", "maxntid"):
                    threads = 1
                    for number in re.findall(r"\d+", directive.arguments):
                        threads *= int(number)
            found[function.name] = Resources(registers, _occupancy(arch, registers, min(max(threads, 1), 1024)), sass)
    return found


def _assembled(text: str, arch: str) -> dict[str, tuple[int, MachineCounts | None]]:
    """Registers and counts by kernel."""
    cubin, log = assemble(text.encode("utf-8", "replace").decode(), arch, limit_s=PTXAS_S)
    try:
        counts = machine_counts(cubin)
    except UserError:
        counts = {}
    return {match["name"]: (int(match["registers"]), counts.get(match["name"])) for match in _ENTRY.finditer(log)}


def _occupancy(arch: str, registers: tuple[int, int], threads: int) -> tuple[float, float] | None:
    try:
        on = architecture(arch)
        return occupancy(on, registers[0], 0, threads), occupancy(on, registers[1], 0, threads)
    except UserError:
        return None


def summary_of(reports: Sequence[KernelReport], arch: str, policy: Policy) -> str:
    """A sentence that says what became of the loads of all kernels, and what pays where shuffles do not."""
    loads = sum(r.loads for r in reports)
    found = sum(len(r.shuffles) for r in reports)
    applied = sum(c.kind == "shuffle" for r in reports for c in r.applied)
    judged = [j for r in reports for j in r.judged if j.candidate.kind == "shuffle"]
    is_by_model = any(j.decision.predicted_gain is not None for j in judged)
    text = f"{applied} of {loads} loads became shuffles, {found} could"
    if not applied and found and is_by_model:
        others = policy.elsewhere() if isinstance(policy, Profitable) else [arch]
        where = arch if others else f"{arch}, nor on any architecture since Volta"
        text += f": by the model none pays on {where} (--policy all applies them nevertheless)"
    kept = sum(c.kind == "reuse" for r in reports for c in r.applied)
    joined = [v for r in reports for v in r.vectors if v.applies]
    offered = [v for r in reports for v in r.vectors if not v.applies and v.predicted_gain > 0]
    text += f"; {kept} kept in registers" if kept else ""
    text += f"; {sum(len(v.lines) for v in joined)} joined in {len(joined)} vector loads" if joined else ""
    if offered:
        gain = max(v.predicted_gain for v in offered)
        count = sum(len(v.lines) for v in offered)
        text += f"; {count} can be joined in {len(offered)} vector loads (--vectors: by the model up to {gain:.0%} less time)"
    return text


def _line(path: str, kernel: Mapping[str, Json], stopwatch: Stopwatch) -> Line:
    name = str(kernel["kernel"])
    fields: Line = {k: v for k, v in kernel.items() if k not in ("kernel", "seconds")}
    fields["counted"] = "model"
    return plain_line(f"{path}:{name}", "solved", stopwatch.read(), verdict="unchecked", kernel=name) | fields


def _kernels(found: Rewritten, costs: Mapping[str, Resources]) -> list[dict[str, Json]]:
    kernels: list[dict[str, Json]] = []
    for report in found.reports:
        cost = costs.get(report.kernel)
        line = report.json()
        line |= {"registers": None, "occupancy": None} if cost is None else cost.json()
        kernels.append(line)
    return kernels


@dataclass(frozen=True, slots=True)
class Shuffled:
    """A module after the rewrite, or as it was where ptxas refuses the new text."""

    text: str
    reports: tuple[KernelReport, ...]
    kernels: list[dict[str, Json]]
    """The report of each kernel, with its registers before and after."""
    summary: str
    arch: str
    refused: str = ""
    """Error of ptxas on the new text; empty where it took it."""
    costs: Mapping[str, Resources] = field(default_factory=dict[str, Resources])


def shuffled(module: Module, options: ShuffleOptions, arch: str | None = None) -> Shuffled:
    """`arch`: for registers and profit; None: the module's own."""
    found = shuffle(module, replace(options, arch=arch))
    target = arch or module.directive("target").partition(",")[0].strip()
    try:  # ptxas takes longer than all else: it is not asked about a text that stays as it is
        costs = {} if found.text == module.text else resources(module.text, found.text, module, target)
    except UserError as error:
        return Shuffled(module.text, (), [], "", target, error.diagnostics[0].message)
    return Shuffled(
        found.text, tuple(found.reports), _kernels(found, costs), summary_of(found.reports, target, options.policy), target
    )


def _table(report: KernelReport, kernel: Mapping[str, Json], costs: Mapping[str, Resources]) -> list[str]:
    shuffles, reuses = len(report.shuffles), len(report.reuses)
    head = f"  {report.loads} loads: {shuffles} by a shuffle, {reuses} by reuse; {len(report.applied)} applied"
    if isinstance(registers := kernel["registers"], dict):
        head += f"; registers {registers['before']} -> {registers['after']}"
    if (cost := costs.get(report.kernel)) is not None and cost.sass is not None:
        before, after = cost.sass
        head += f"; SASS {before.instructions} -> {after.instructions} instructions, {before.loads} -> {after.loads} loads"
    if report.predicted_gain is not None:
        head += f"; predicted gain {report.predicted_gain:.1%}"
    lines = [head]
    for judged in report.judged:
        candidate, decision = judged.candidate, judged.decision
        where = "same thread" if candidate.kind == "reuse" else f"lane {candidate.delta:+d}"
        if candidate.rows:
            where += f", row {candidate.rows:+d}"
        text = f"   line {candidate.line} from line {candidate.source_line}, {where}"
        text += "" if decision.applies else f": left ({decision.reason})"
        text += f"; if {' and '.join(candidate.conditions)}" if candidate.conditions else ""
        text += f"; assumed: {'; '.join(candidate.assumed)}" if candidate.assumed else ""
        lines.append(text)
    for vector in report.vectors:
        said = "one load" if vector.applies else "can be one load (--vectors)"
        said += (
            " where it is aligned"
            if vector.is_tested
            else "; assumed: arrays begin at multiples of 16 bytes"
            if vector.assumed
            else ""
        )
        said += f", {vector.size_bytes} bytes"
        said += f"; assumed: {'; '.join(vector.untouched)}" if vector.untouched else ""
        lines.append(f"   lines {', '.join(map(str, vector.lines))}: {said}")
    lines += [f"   line {refused.line} stays: {refused.reason}" for refused in report.refused]
    return lines


@click.command("shuffle")
@click.argument("file", metavar="IN.ptx")
@click.option(
    "-o", "--out", type=OUTPUT_FILE, required=True, help="Write the rewritten file here.",
)  # fmt: skip
@click.option("--policy", type=click.Choice(["all", "profitable", "none"]), default="profitable", show_default=True,
              help="Loads to replace: all possible ones, those expected to pay, or none.")  # fmt: skip
@click.option("--report", type=OUTPUT_FILE, help="Write the whole report here, as JSON.")
@click.option("--max-delta", type=click.IntRange(0, MAX_DELTA), default=MAX_DELTA, show_default=True,
              help="Largest distance in lanes between source and target.")  # fmt: skip
@click.option("--max-rows", type=click.IntRange(0, MAX_DELTA), default=None,
              help="Largest distance in rows (tid.y); default: as far as .reqntid makes it useful.")  # fmt: skip
@click.option("--mode", type=click.Choice(["shuffle", "cache"]), default="shuffle", show_default=True,
              help="cache: a full warp loads what its outer lanes lack in one go; no lane loads alone.")  # fmt: skip
@click.option("--shared", is_flag=True, help="Replace loads from shared memory, too.")
@click.option("--vectors", is_flag=True, help="Join loads of adjacent words by one thread into vector loads.")
@click.option("--assume", "assumptions", type=click.Choice(ASSUMPTIONS), multiple=True,
              help="Leave out tests. nsw: signed index arithmetic does not wrap; aligned: arrays begin at multiples of 16 bytes; "
              "noalias: what is written through a pointer parameter is read through no other. Repeatable.")  # fmt: skip
@click.option("--variant", type=click.Choice(["no-load", "no-corner"]), default=None,
              help="Print an ablation for measurements; its results are wrong.")  # fmt: skip
@click.option(
    "--arch", default=None, metavar="sm_XX", help="Architecture for register counts and the profit model; default: .target."
)
@JSON_OPTION
@limited
def shuffle_command(
    file: str, out: Path, policy: str, report: Path | None, max_delta: int, max_rows: int | None, mode: str, shared: bool,
    vectors: bool, assumptions: tuple[str, ...], variant: str | None, arch: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Replace global loads by warp shuffles where another lane has loaded the value."""
    output = Output(as_json)
    stopwatch = Stopwatch()
    options = ShuffleOptions(
        policy=policy_of(policy, arch), max_delta=max_delta, max_rows=max_rows, mode=cast(Mode, mode), shared=shared,
        variant=cast(Variant, variant or ""), assume_nsw="nsw" in assumptions, vectors=vectors,
        assume_aligned="aligned" in assumptions, noalias="noalias" in assumptions,
    )  # fmt: skip
    if arch is not None and not re.fullmatch(r"sm_\d{2,3}[af]?", arch):
        raise click.UsageError(f"expected --arch sm_XX, such as sm_90, got {arch!r}")
    made: list[tuple[Outcome, list[str]]] = []

    def work(_: Progress) -> Outcome:
        made.extend(_run(file, out, options, policy, report, arch, output, stopwatch))
        return made[0][0]

    with Interrupts() as stopped:
        first = guarded(file, work, stopwatch, output, debug=False)
    codes: list[int] = []
    for outcome, table in made or [(first, [])]:
        codes.append(output.outcome(outcome))
        for line in () if as_json else table:
            output.say(line)
    sys.exit(INTERRUPTED if stopped.seen else combined_exit(codes))


def _run(
    file: str,
    out: Path,
    options: ShuffleOptions,
    policy: str,
    report: Path | None,
    arch: str | None,
    output: Output,
    stopwatch: Stopwatch,
) -> list[tuple[Outcome, list[str]]]:
    """One outcome for each kernel, with a table for people."""
    found = shuffled(read_good_ptx(file).module, options, arch)
    write_bytes(out, found.text.encode("utf-8", "surrogateescape"))
    if found.refused:
        reason = f"ptxas refused the rewritten file, the original was written: {found.refused}"
        line = plain_line(file, "error", stopwatch.read(), reason=reason)
        return [(Outcome(line, GAVE_UP, messages=(reason,), written=(out,)), [])]
    kernels, summary, target = found.kernels, found.summary, found.arch
    output.say(f"{file}: {summary}")
    written = (out,)
    if report is not None:
        whole: Line = {"v": SCHEMA, "summary": summary, "file": file, "policy": policy, "arch": target, "kernels": kernels}
        write_bytes(report, (encode(whole) + "\n").encode("utf-8", "replace"))
        written = out, report
    outcomes: list[tuple[Outcome, list[str]]] = []
    for place, (each, kernel) in enumerate(zip(found.reports, kernels, strict=True)):
        is_last = place == len(kernels) - 1
        outcome = Outcome(_line(file, kernel, stopwatch), SOLVED, written=written if is_last else ())
        outcomes.append((outcome, _table(each, kernel, found.costs)))
    if not kernels:
        outcomes.append((Outcome(plain_line(file, "solved", stopwatch.read(), kernels=0), SOLVED, written=written), []))
    return outcomes


__all__ = ["ASSUMPTIONS", "policy_of", "resources", "shuffle_command"]
