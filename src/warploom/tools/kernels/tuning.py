"""Searching the kernels of a function that is called, and keeping what was found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import cast

from warploom.core import UserError
from warploom.schedule.backbone import Program, cpu_tiles
from warploom.schedule.calls import (
    CompiledRunner,
    GpuClass,
    GpuKernels,
    Runner,
    ShapeClass,
    narrowest,
    pack,
    pack_cuda,
    plain_class,
    plain_runner,
    unpack,
)
from warploom.schedule.cpu import CompiledNest, compile_nest
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction, sharing_passes
from warploom.solve import Json
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.code import arch_of
from warploom.tools.explore.kernel import explore_tensor
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.result import Explored, ExploredOutcome
from warploom.tools.kernels import store
from warploom.tools.kernels.class_records import class_program, class_records


class Ending(Enum):
    """The end of a search, by what became of its result."""

    KEPT = auto()
    """It is in the store: kernels, or that plain loops are as fast."""
    NO_ANSWER = auto()
    NOT_COMPARED = auto()
    """Its results were not compared with the function's."""
    TOO_EARLY = auto()
    """The search ended before there was anything to compare plain loops with."""
    FOUND_BEFORE = auto()
    """The store has kernels that an earlier search found, and this one found nothing faster than plain loops."""
    NOT_WRITTEN = auto()
    """It would have been kept, but there is no store, or nothing can be written there."""


_TOLD = ("cases", "data_sets", "domain", "tested_at", "time_ms", "plain_ms", "decisions")
"""Fields of a line that its record has, too."""
_USED = frozenset({Ending.KEPT, Ending.NOT_WRITTEN})
"""Endings after which this program uses the result."""


@dataclass(frozen=True, slots=True)
class Tuned:
    outcome: Outcome
    ending: Ending
    made: Runner | ShapeClass | GpuKernels | GpuClass | None
    """The runner of calls of these sizes from now on, that of every size of their class, or both for tensors of a GPU; None:
    as before."""


def search(function: TensorFunction, options: KernelOptions, watch: Stopwatch, progress: Progress) -> Tuned:
    """The fastest kernels found, if they were compared with the mathematics and, on a CPU, are faster than plain loops. They are
    kept then, and where plain loops are as fast, that is kept, unless kernels that an earlier search found are, or this one ended
    before it had any. `kept` of the line says whether, `not_kept` why not."""
    outcome = explore_tensor(function.name, function, options, watch, progress)
    explored = outcome.explored if isinstance(outcome, ExploredOutcome) else None
    line = dict(outcome.line)
    made: Runner | ShapeClass | GpuKernels | GpuClass | None = None
    if explored is None or line["status"] != "solved":
        ending, why_not = Ending.NO_ANSWER, str(line.get("reason") or line["status"])
    elif line["verdict"] not in ("tested", "proved"):
        why = line.get("note", line["verdict"])
        ending, why_not = Ending.NOT_COMPARED, f"the results were not compared with the function: {why}"
    elif explored.is_early:
        ending, why_not = Ending.TOO_EARLY, f"nothing was found to compare plain loops with: {line['ended']}"
    else:
        on_gpu = options.target.kind == "cuda"
        kernels = [cuda_kernel(nest, Options(arch=arch_of(options.target))) for nest in explored.nests] if on_gpu else []
        code = {"cuda": pack_cuda(kernels)} if on_gpu else {"stages": [] if explored.plain else pack(explored.nests)}
        ending, why_not = _kept(function, options, line, code)
        if ending is Ending.FOUND_BEFORE:
            why_not += f" ({line['note']})" if "note" in line else ""
        sizes = cast("dict[str, int]", line["sizes"])
        if ending in _USED:
            made = _made_for_gpu(function, options, kernels, sizes) if on_gpu else _made(function, options, explored, sizes)
    line |= {"kept": ending is Ending.KEPT} | ({"not_kept": why_not} if ending is not Ending.KEPT else {})
    return Tuned(replace(outcome, line=line), ending, made)


def _made(function: TensorFunction, options: KernelOptions, explored: Explored, sizes: Mapping[str, int]) -> Runner | ShapeClass:
    if not options.run_time:
        if explored.plain:
            return plain_runner(function, options.sizes, options.threads)
        return CompiledRunner(explored.program, [compile_nest(n) for n in explored.nests], options.threads, "found")
    fixed = {name: value for name, value in sizes.items() if name not in options.run_time}
    kernels = tuple(compile_nest(nest, flags=explored.build.flags) for nest in explored.nests)
    kind = "plain" if explored.plain else "found"
    return ShapeClass(explored.program, fixed, dict(options.run_time), kernels, options.threads, kind)


def _made_for_gpu(
    function: TensorFunction, options: KernelOptions, kernels: Sequence[CudaKernel], sizes: Mapping[str, int]
) -> GpuKernels | GpuClass:
    if not options.run_time:
        return GpuKernels(function.program(options.sizes), kernels, "found")
    program = class_program(function, sizes, options.run_time, has_strides=True)
    fixed = {name: value for name, value in sizes.items() if name not in options.run_time}
    return GpuClass(program, fixed, dict(options.run_time), tuple(kernels), "found")


def _kept(
    function: TensorFunction, options: KernelOptions, line: Mapping[str, object], code: dict[str, list[Json]]
) -> tuple[Ending, str]:
    """Writes the record; what became of it, and why it was not kept. `code`: kernels by the field that holds them; none: plain
    loops."""
    folder = store.store_folder(make=True)
    if folder is None:
        return Ending.NOT_WRITTEN, "the cache is off"
    sizes, multiples = cast("dict[str, int]", line["sizes"]), dict(options.run_time)
    if options.target.kind == "cuda":
        own = class_program(function, sizes, multiples, has_strides=True) if multiples else function.program(options.sizes)
        key = store.gpu_key_of(own, options.target.name, multiples or None)
    elif multiples:
        key = store.key_of(class_program(function, sizes, multiples), options.threads, multiples)
    else:
        key = key_of_sizes(function, options.sizes, options.threads)
    record: dict[str, Json] = {
        "function": function.name,
        "key": key,
        "sizes": dict(sizes),
        **({"run_time": multiples, "tested": _tested(line)} if multiples else {}),
        **({"target": options.target.name} if options.target.kind == "cuda" else {"threads": options.threads}),
        "kind": "found" if any(code.values()) else "plain",
        "verdict": str(line["verdict"]),
        "made": int(time.time()),
        **code,
        **{name: line[name] for name in _TOLD if name in line},  # type: ignore[dict-item]
    }  # fmt: skip
    if record["kind"] == "plain" and store.is_found(folder, record):
        return Ending.FOUND_BEFORE, "an earlier search found kernels that are faster than plain loops; this one found none"
    try:
        store.add(folder, record)
    except UserError as error:
        return Ending.NOT_WRITTEN, error.diagnostics[0].message
    return Ending.KEPT, ""


def _tested(line: Mapping[str, object]) -> Json:
    """The values of each size known at run time at which results were compared; of several sizes those of each comparison."""
    if "tested_together" in line:
        return cast("Json", line["tested_together"])
    classes = cast("dict[str, dict[str, Json]]", line.get("run_time", {}))
    return {name: told.get("tested", []) for name, told in classes.items()}


def plain_program(function: TensorFunction, sizes: Mapping[str, int]) -> Program:
    """The program whose text is in keys."""
    return function.program(sizes, cpu_tiles)


def key_of_sizes(function: TensorFunction, sizes: Mapping[str, int], threads: int) -> str:
    return store.key_of(plain_program(function, sizes), threads)


def known_runner(function: TensorFunction, sizes: Mapping[str, int], threads: int, shipped: Path | None = None) -> Runner | None:
    """The runner for these sizes in the user's store, or else in the folder of a package: kernels that count, or plain loops
    where those are the fastest. None where neither has one."""
    for folder in (store.store_folder(), shipped):
        kept = store.find(
            folder, function.name, lambda: key_of_sizes(function, sizes, threads),
            is_shipped=folder is not None and folder == shipped,
        )  # fmt: skip
        runner = None if kept is None else runner_of(kept, function, plain_program(function, sizes), threads)
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
        kernels = _kernels_of(program, record)
    except (UserError, OSError):
        return None
    return None if kernels is None else CompiledRunner(program, kernels, threads, "found")


def _kernels_of(program: Program, record: Mapping[str, Json]) -> list[CompiledNest] | None:
    """The kernels of a record: of the stages as they are, or of those that pass over one array as one. None for others."""
    ways = (program, sharing_passes(program, cpu_tiles))
    return next((found for way in ways if (found := unpack(way, record.get("stages"))) is not None), None)


def known_class(
    function: TensorFunction, sizes: Mapping[str, int], threads: int, shipped: Path | None = None
) -> ShapeClass | None:
    """The narrowest class of shapes that holds these sizes, of those kept in the user's store, or else in the folder of a
    package. None where neither has one that counts."""
    for folder in (store.store_folder(), shipped):
        is_shipped = folder is not None and folder == shipped
        found = [*_classes(store.classes(folder, function.name, is_shipped=is_shipped), function, sizes, threads)]
        if found:
            return narrowest(found, sizes)
    return None


def _classes(
    files: Iterator[store.Kept], function: TensorFunction, sizes: Mapping[str, int], threads: int
) -> Iterator[ShapeClass]:
    for found in class_records(files, function, sizes):
        record, program = found.record, found.program
        if record.get("key") != store.key_of(program, threads, found.multiples):
            continue
        try:
            if record.get("kind") == "plain":
                if (plain := plain_class(function, sizes, threads)) is not None:
                    yield replace(plain, fixed=found.fixed, multiples=found.multiples)
                continue
            kernels = _kernels_of(program, record)
        except (UserError, OSError):
            continue
        if kernels is not None:
            yield ShapeClass(program, found.fixed, found.multiples, tuple(kernels), threads, "found")
