"""Searching the kernels of a function that is called, and keeping what was found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from warploom.core import UserError
from warploom.schedule.backbone import Program, cpu_tiles
from warploom.schedule.calls import CompiledRunner, Runner, pack, plain_runner, unpack
from warploom.schedule.cpu import compile_nest
from warploom.schedule.frontend import TensorFunction
from warploom.solve import Json
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.kernel import explore_tensor
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.result import ExploredOutcome
from warploom.tools.kernels import store


@dataclass(frozen=True, slots=True)
class Tuned:
    outcome: Outcome
    runner: Runner | None
    """The runner of calls of these sizes from now on; None: as before."""


def search(function: TensorFunction, options: KernelOptions, watch: Stopwatch, progress: Progress) -> Tuned:
    """The fastest kernels found, if they were compared with the mathematics and are faster than plain loops. They are kept then,
    and where plain loops are as fast, that is kept. `kept` of the line says whether, `not_kept` why not."""
    outcome = explore_tensor(function.name, function, options, watch, progress)
    explored = outcome.explored if isinstance(outcome, ExploredOutcome) else None
    line = dict(outcome.line)
    reason = ""
    runner: Runner | None = None
    if explored is None or line["status"] != "solved":
        reason = str(line.get("reason") or line["status"])
    elif line["verdict"] != "tested":
        reason = f"the results were not compared with the function: {line.get('note', line['verdict'])}"
    else:
        if explored.plain:
            runner = plain_runner(function, options.sizes, options.threads)
        else:
            runner = CompiledRunner(explored.program, [compile_nest(n) for n in explored.nests], options.threads, "found")
        reason = _kept(function, explored.program, options, line, [] if explored.plain else pack(explored.nests))
    line |= {"kept": not reason} | ({"not_kept": reason} if reason else {})
    return Tuned(replace(outcome, line=line), runner)


def _kept(
    function: TensorFunction, program: Program, options: KernelOptions, line: Mapping[str, object], stages: list[Json]
) -> str:
    """Writes the record; why it could not, or nothing."""
    folder = store.store_folder(make=True)
    if folder is None:
        return "the cache is off"
    record: dict[str, Json] = {
        "function": function.name,
        "key": store.key_of(plain_program(function, options.sizes), options.threads),
        "sizes": dict(options.sizes),
        "threads": options.threads,
        "kind": "found" if stages else "plain",
        "verdict": "tested",
        "made": int(time.time()),
        "stages": stages,
        **{name: line[name] for name in ("cases", "time_ms", "plain_ms", "decisions") if name in line},  # type: ignore[dict-item]
    }  # fmt: skip
    try:
        store.add(folder, record)
    except UserError as error:
        return error.diagnostics[0].message
    return ""


def plain_program(function: TensorFunction, sizes: Mapping[str, int]) -> Program:
    """The program whose text is in keys."""
    return function.program(sizes, cpu_tiles)


def known_runner(function: TensorFunction, program: Program, threads: int, shipped: Path | None = None) -> Runner | None:
    """The runner for this program in the user's store, or else in the folder of a package: kernels that count, or plain loops
    where those are the fastest. None where neither has one."""
    for folder in (store.store_folder(), shipped):
        kept = store.find(folder, function.name, program, threads, is_shipped=folder is not None and folder == shipped)
        runner = None if kept is None else runner_of(kept, function, program, threads)
        if runner is not None:
            return runner
    return None


def runner_of(kept: store.Kept, function: TensorFunction, program: Program, threads: int) -> Runner | None:
    """None for a record that does not count, or is not compiled here."""
    record = kept.record
    if record is None or kept.reason:
        return None
    if record.get("kind") == "plain":
        sizes = record.get("sizes")
        return plain_runner(function, cast("Mapping[str, int]", sizes), threads) if isinstance(sizes, dict) else None
    try:
        kernels = unpack(program, record.get("stages"))
    except (UserError, OSError):
        return None
    return None if kernels is None else CompiledRunner(program, kernels, threads, "found")
