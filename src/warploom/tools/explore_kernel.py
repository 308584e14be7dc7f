"""`warploom explore` on a tensor function: its kernels one after the other; the best of each is timed and checked together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never, cast

from warploom.core import Diagnostic, Span, UnsupportedError, UserError
from warploom.gpu import device_arch, device_available
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import (
    Backbone,
    Operator,
    Program,
    Role,
    Tiles,
    count_compulsory_bytes,
    count_flops,
    cpu_tiles,
    cuda_tiles,
)
from warploom.schedule.bound import Bound
from warploom.schedule.choices import default_order, kernel_space
from warploom.schedule.cost import modelled
from warploom.schedule.cpu import c_source
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.cuda import cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.jit import announced
from warploom.schedule.nest import text
from warploom.schedule.search import (
    CpuEvaluator,
    CudaEvaluator,
    Evaluator,
    Implementation,
    KernelModel,
    Live,
    ModelEvaluator,
    Options,
    ProgramExploration,
    Recipe,
    StrategyName,
    Timed,
    explore,
    replay,
    strategy_named,
)
from warploom.schedule.space import Candidate
from warploom.schedule.targets import Target
from warploom.solve import Event, EventLog, EventSink, Probe, TreeSize, cluster_executor, knuth, tree_size
from warploom.synth import Status
from warploom.tools.explore_check import Checked, Data, Function, check_cpu, check_cuda, data_for, points_of, stage_arrays
from warploom.tools.explore_page import StageView, render_explore
from warploom.tools.files import write_text
from warploom.tools.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.synth_command import Outcome, Progress
from warploom.tools.usage import Stopwatch

SEARCHED_S = 60.0
"""Wall seconds of a search, when nobody says."""
PROBES = 1000
"""Random descents of an estimate of the space's size."""
_MOST_POINTS = 1 << 60
_COPIES = 3
"""Of each array: the reference's, the searching and the measuring process's."""
_UNTYPED = frozenset({Operator.MOVE, Operator.CAST, Operator.LOAD, Operator.STORE})


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    target: Target
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    threads: int = 1
    budget_s: float | None = None
    seed: int = 0
    strategy: StrategyName | None = None
    """None: refine."""
    order: tuple[str, ...] | None = None
    """Of decisions, by choice, those first that are listed; None: the target's; `reverse` alone: that one backwards."""
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    journal: Path | None = None
    """A folder."""
    cluster: str | None = None
    nodes: int | None = None
    only_size: bool = False
    """Estimate the size of the space and search nothing."""
    replayed: Path | None = None
    """Judge the implementation whose decisions this file holds and search nothing."""
    code: Path | None = None
    page: Path | None = None

    @property
    def decision_order(self) -> tuple[str, ...]:
        usual = default_order(self.target)
        if self.order is None:
            return usual
        if self.order == ("reverse",):
            return tuple(reversed(usual))
        return tuple(dict.fromkeys((*self.order, *usual)))

    @property
    def is_measured(self) -> bool:
        """Candidates run on the machine that they are for."""
        return self.target.kind == "cpu" or device_available()

    @property
    def is_proof(self) -> bool:
        """The bound alone judges, so that a complete search proves the best of the model."""
        return not self.is_measured and self.strategy == "best-first"


@dataclass(frozen=True, slots=True)
class Explored:
    """A program and the implementation of each of its stages."""

    program: Program
    implementations: tuple[Implementation[Candidate], ...]
    events: tuple[Event, ...] = ()
    """Of the search."""


def explore_tensor(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """The line of the fastest program found (or of the one replayed, or of the space's size), its nests and what binds them."""
    with announced(lambda: progress("compiling the propagators, once (about 40 s)")):
        return _explored(case, function, options, stopwatch, progress)


def _explored(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    if options.only_size:
        return _size(case, function, options, stopwatch, progress)
    if options.replayed is not None:
        return _replay(case, function, options, options.replayed, stopwatch, progress)
    program = program_of(function, options)
    data = _data(function, program, options, progress)
    seen: list[Event] = []
    with ExitStack() as stack:
        executor = stack.enter_context(cluster_executor(options.cluster)) if options.cluster is not None else None
        found = explore(
            program,
            options.target,
            Bound,
            Options(
                strategy=strategy_named(options.strategy or "refine", options.seed),
                order=options.decision_order,
                fixed=options.fixed,
                budget_s=SEARCHED_S if options.budget_s is None else options.budget_s,
                nodes=options.nodes,
            ),
            evaluators=None if options.is_proof else _evaluators(options, data, executor),
            journal=options.journal,
            events=_events(options.journal, seen),
            progress=lambda live: progress(live_text(live)),
        )
    return _outcome(case, function, program, options, found, data, tuple(seen), stopwatch, progress)


def _replay(
    case: str, function: Function, options: KernelOptions, file: Path, stopwatch: Stopwatch, progress: Progress
) -> Outcome:
    """The line of the implementation whose decisions `file` holds: a line of `explore`, or an object of names and values."""
    program = program_of(function, options)
    decisions = _of_stages(program, read_decisions(file))
    explored = [_replayed(stage, options.target, decisions[stage.name]) for stage in program.stages]
    implementations = tuple(implementation for implementation, _ in explored)
    data = _data(function, program, options, progress)
    times: list[float] = []
    evaluators = _evaluators(options, data, None)
    for stage, implementation in zip(program.stages, implementations, strict=True):
        progress(f"timing {stage.name}")
        evaluator = evaluators(stage)
        if evaluator is not None:
            with evaluator.open():
                times += [m.time_ms for m in evaluator.retime([implementation.nest]) if isinstance(m, Timed)]
    checked = check(program, function, implementations, data, options, progress)
    fields: Line = {
        "decisions": _named(program, [i.decisions for i in implementations]),
        "bound_ms": _rounded(sum(i.bound_ms for i in implementations)),
        "time_ms": _rounded(sum(times)) if len(times) == len(implementations) else None,
    }
    line = _checked_line(case, checked, stopwatch, fields | facts(function, program, options))
    line |= _speed(program, cast("float | None", line["time_ms"]))
    return _told(line, Explored(program, implementations), options)


def _size(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, progress: Progress) -> Outcome:
    """The line of the space's size: Knuth's estimate of its leaves and of the share of walks that end in a dead end."""
    program = program_of(function, options)
    sizes: list[Line] = []
    budget_s = (SEARCHED_S if options.budget_s is None else options.budget_s) / len(program.stages)
    for stage in program.stages:
        model = Recipe(stage, options.target, Bound, None, options.decision_order, tuple(options.fixed.items()))()
        size = _sampled(model, budget_s, options.seed, lambda told, name=stage.name: progress(f"{name}: {told}"))
        sizes.append({
            "kernel": stage.name,
            "space_size": size.leaves.mean,
            "space_size_95": size.leaves.half_width,
            "dead_end_share": size.dead_end_probability.mean,
            "dead_end_share_95": size.dead_end_probability.half_width,
            "probes": size.probes,
        })  # fmt: skip
    first = {name: value for name, value in sizes[0].items() if name != "kernel"}
    fields = first if len(sizes) == 1 else {"stages": sizes}
    line = plain_line(case, "solved", stopwatch.read(), verdict="unchecked") | facts(function, program, options) | fields
    return Outcome(line, EXIT_BY_STATUS["solved"])


def _sampled(model: KernelModel[Candidate], budget_s: float, seed: int, progress: Progress) -> TreeSize:
    """Knuth's descents, `PROBES` of them or as many as the wall seconds allow, two at least."""
    began = time.monotonic()
    probes: list[Probe] = []
    while len(probes) < PROBES and (len(probes) < 2 or time.monotonic() - began < budget_s):
        probes += knuth(model, range(len(probes), len(probes) + 2), seed=seed)
        size = tree_size(probes)
        progress(f"{size.leaves.mean:.3g} +- {size.leaves.half_width:.2g} after {len(probes)} descents")
    return tree_size(probes)


def program_of(function: Function, options: KernelOptions) -> Program:
    """The kernels at the sizes asked for, with the target's tile sizes to choose from."""
    tiles: Tiles = cpu_tiles if options.target.kind == "cpu" else cuda_tiles
    program = function.program(_sizes(function, options), tiles)
    if points_of(program) > _MOST_POINTS:
        message = f"expected sizes with at most 2**60 points of {program.name}, got {points_of(program):.3g}"
        raise UserError(Diagnostic("SIZES", message, fix="Give smaller sizes."))
    if options.target.kind == "cuda":
        _check_served(program)
    return program


def _check_served(program: Program) -> None:
    """Arithmetic that CUDA printing would refuse after the search. UnsupportedError at its place in the source."""
    for instruction in (i for stage in program.stages for i in stage.instructions):
        if instruction.dtype.name in ("f16", "bf16") and instruction.operator not in _UNTYPED:
            message = f"expected f32, f64 or an integer type of {instruction.operator}, got {instruction.dtype.name}"
            raise UnsupportedError(Diagnostic("CUDA_TYPE", message, instruction.span, "Declare the arrays as f32."))


def _data(function: Function, program: Program, options: KernelOptions, progress: Progress) -> Data:
    """Inputs and outputs where something is run on them at these sizes. UserError (SIZES) where memory does not hold them."""
    if not options.is_measured:
        return Data({}, {}, {}, "")
    needed = _COPIES * sum(region.elements * max(8, region.dtype.size_bytes) for region in program.arguments)
    if needed > (memory := os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")):
        message = f"expected arrays that fit {memory / 1e9:.3g} GB of memory, got about {needed / 1e9:.3g} GB with their copies"
        raise UserError(Diagnostic("SIZES", message, fix="Give smaller sizes."))
    progress("computing the reference")
    kernel = function if isinstance(function, TensorKernel) else None
    try:
        return data_for(program, kernel, _sizes(function, options), options.seed)
    except MemoryError as error:
        raise UserError(
            Diagnostic("SIZES", f"expected arrays that fit in memory, got: {error}", fix="Give smaller sizes.")
        ) from error


def _sizes(function: Function, options: KernelOptions) -> dict[str, int]:
    match function:
        case TensorKernel():
            if unknown := sorted(set(options.sizes) - set(function.sizes)):
                message = f"expected sizes of {function.name} ({', '.join(function.sizes)}), got {', '.join(unknown)}"
                raise UserError(Diagnostic("UNKNOWN_SIZE", message, fix="give those of its arrays"))
            return function.sizes_with(options.sizes)
        case TensorFunction():
            return dict(options.sizes)
        case _:
            assert_never(function)


def _evaluators(options: KernelOptions, data: Data, executor: Executor | None) -> Callable[[Backbone], Evaluator | None]:
    def make(stage: Backbone) -> Evaluator | None:
        arrays = stage_arrays(stage, data)
        written = {r.name for r in stage.regions if r.role is not Role.INPUT}
        outputs = {n: a for n, a in data.outputs.items() if n in written} if arrays is not None else None
        if options.target.kind == "cpu":
            return CpuEvaluator(
                stage, threads=options.threads, executor=executor, reference=outputs, arrays=arrays, scalars=data.scalars
            )
        if not options.is_measured:
            return ModelEvaluator(options.target)
        printed = CudaOptions(arch=device_arch())
        return CudaEvaluator(stage, printed, executor=executor, reference=outputs, arrays=arrays, scalars=data.scalars)

    return make


def _events(journal: Path | None, seen: list[Event]) -> EventSink:
    """Keeps the events for the page, and in the journal's folder."""
    if journal is None:
        return seen.append
    try:
        journal.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"expected a folder for the journal, got {journal}: {error.strerror or error}"
        raise UserError(Diagnostic("JOURNAL_UNUSABLE", message, fix="Name a writable folder.")) from None
    log = EventLog(journal / "events.jsonl")

    def sink(event: Event) -> None:
        seen.append(event)
        log.write(event)

    return sink


def live_text(live: Live) -> str:
    best = "none yet" if live.best_ms is None else f"{live.best_ms:.4g} ms"
    return (
        f"{live.kernel}: best {best}, bound {live.bound_ms:.4g} ms, {live.nodes} nodes, {live.pruned} pruned, "
        f"{live.dead_ends} dead ends, {live.evaluated} evaluated, {live.wall_s:.0f} s"
    )


def _outcome(
    case: str,
    function: Function,
    program: Program,
    options: KernelOptions,
    found: ProgramExploration,
    data: Data,
    events: tuple[Event, ...],
    stopwatch: Stopwatch,
    progress: Progress,
) -> Outcome:
    stages = found.stages
    searched: Line = {
        "nodes": sum(s.nodes for s in stages),
        "pruned": sum(s.pruned for s in stages),
        "dead_ends": sum(s.dead_ends for s in stages),
        "evaluated": sum(s.evaluated for s in stages),
        "duplicates": sum(s.duplicates for s in stages),
        "unfit": sum(s.unfit for s in stages),
        "resumed": sum(s.resumed for s in stages),
        "complete": found.complete,
        "root_bound_ms": _rounded(found.root_bound_ms),
    }
    implementations = tuple(s.best for s in stages if s.best is not None)
    if len(implementations) < len(program.stages):
        status: Status = "unsat" if found.complete else "unknown"
        reason = "the space holds no implementation" if found.complete else found.reason or "no implementation was found in time"
        line = plain_line(case, status, stopwatch.read(), reason=reason) | searched | facts(function, program, options)
        return Outcome(line, EXIT_BY_STATUS[status])
    checked = check(program, function, implementations, data, options, progress)
    time_ms = found.time_ms
    fields: Line = {
        "decisions": found.decisions,
        "bound_ms": _rounded(found.bound_ms),
        "time_ms": _rounded(time_ms if time_ms is not None else found.bound_ms),
        "time_is": "measured" if options.is_measured else "modelled",
    }
    line = _checked_line(case, checked, stopwatch, fields | searched | facts(function, program, options))
    if found.reason and line["status"] == "solved":
        line["ended"] = found.reason
    line |= _speed(program, cast("float | None", line["time_ms"]))
    return _told(line, Explored(program, implementations, events), options)


def _told(line: Line, explored: Explored, options: KernelOptions) -> Outcome:
    """The outcome, with the files that were asked for."""
    written: list[Path] = []
    stages = _views(explored, options.target)
    code = code_of(explored, options.target) if options.code is not None or options.page is not None else ""
    if options.code is not None:
        write_text(options.code, code)
        written.append(options.code)
    if options.page is not None:
        language = "C" if options.target.kind == "cpu" else "CUDA C++"
        write_text(options.page, render_explore(explored.program.name, line, stages, code, language, explored.events))
        written.append(options.page)
    return Outcome(line, EXIT_BY_STATUS[str(line["status"])], written=tuple(written), details=shown(stages, options.target))


def code_of(explored: Explored, on: Target) -> str:
    """C or CUDA C++ of all stages."""
    if on.kind == "cpu":
        return "\n".join(c_source(i.nest).text for i in explored.implementations)
    printed = CudaOptions(arch=on.name if on.name.startswith("sm_") else "sm_80")
    return "\n".join(cuda_kernel(i.nest, printed).text for i in explored.implementations)


def _views(explored: Explored, on: Target) -> list[StageView]:
    """Each stage's loop nest and what binds it."""
    views: list[StageView] = []
    for stage, implementation in zip(explored.program.stages, explored.implementations, strict=True):
        bound = Bound(kernel_space(stage, on))
        views.append(StageView(stage.name, implementation.nest, bound.explain(implementation.candidate)))
    return views


def check(
    program: Program,
    function: Function,
    implementations: tuple[Implementation[Candidate], ...],
    data: Data,
    options: KernelOptions,
    progress: Progress,
) -> Checked:
    """On the CPU by running it; for CUDA the same decisions at a small size on the PTX interpreter."""
    progress("checking the results")
    if options.target.kind == "cpu":
        return check_cpu(program, [i.nest for i in implementations], data, options.threads)
    return check_cuda(function, _sizes(function, options), program, implementations, options.target, options.seed)


def _checked_line(case: str, checked: Checked, stopwatch: Stopwatch, fields: Line) -> Line:
    if checked.verdict == "refuted":
        reason = f"internal error: {checked.reason}"
        return plain_line(case, "error", stopwatch.read(), verdict="refuted", reason=reason) | fields
    line = plain_line(case, "solved", stopwatch.read(), verdict=checked.verdict)
    if checked.verdict == "tested":
        line["cases"] = checked.cases
    if checked.reason:
        line["note"] = checked.reason
    return line | fields


def facts(function: Function, program: Program, options: KernelOptions) -> Line:
    """What was asked."""
    dtypes = {r.dtype.name for r in program.arguments}
    return {
        "target": options.target.name,
        "threads": options.threads,
        "dtype": next(iter(dtypes)) if len(dtypes) == 1 else sorted(dtypes),
        "sizes": _sizes(function, options),
        "seed": options.seed,
    }


def _speed(program: Program, time_ms: float | None) -> Line:
    if not time_ms:
        return {"gflops": None, "gb_s": None}
    return {
        "gflops": round(count_flops(program) / (time_ms * 1e6), 3),
        "gb_s": round(count_compulsory_bytes(program) / (time_ms * 1e6), 3),
    }


def shown(stages: Sequence[StageView], target: Target) -> tuple[str, ...]:
    """For people: each stage as a loop nest, and what binds it."""
    found: list[str] = []
    for stage in stages:
        found += [text(stage.nest), stage.bound.text]
        if target.kind == "cuda":
            found.append(modelled(stage.nest, target).text)
    return tuple(found)


def read_decisions(file: Path) -> dict[str, str]:
    """UserError (NOT_READ, REPLAY) where the file is none."""
    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"expected a file of decisions at {file}, got: {error}"
        raise UserError(Diagnostic("NOT_READ", message, fix="name a file that `explore --json` wrote")) from error
    lines = content.splitlines()
    for number, line in reversed(list(enumerate(lines, 1))):
        try:
            value = cast(object, json.loads(line))
        except ValueError:
            continue
        if (found := _decisions_in(value)) is not None:
            return found
        span = Span(str(file), number, 1, number, len(line) + 1, line[:100])
        raise UserError(Diagnostic("REPLAY", "expected an object of decisions, names and values as texts", span))
    message = "expected a line of JSON with `decisions`, got none"
    raise UserError(Diagnostic("REPLAY", message, Span(str(file), 1, 1, 1, 1), "name a file that `explore --json` wrote"))


def _decisions_in(value: object) -> dict[str, str] | None:
    """Of a line of `explore`, or of an object that is nothing else."""
    if not isinstance(value, dict):
        return None
    line = cast("dict[str, object]", value)
    named = line.get("decisions", line)
    if not isinstance(named, dict):
        return None
    items = cast("dict[str, object]", named)
    return (
        {name: v for name, v in items.items() if isinstance(v, str)} if all(isinstance(v, str) for v in items.values()) else None
    )


def _of_stages(program: Program, decisions: Mapping[str, str]) -> dict[str, dict[str, str]]:
    names = [stage.name for stage in program.stages]
    if len(names) == 1:
        return {names[0]: dict(decisions)}
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, value in decisions.items():
        stage, slash, choice = name.partition("/")
        if not slash or stage not in found:
            message = f"expected a stage before the choice ({', '.join(names)}), got {name!r}"
            raise UserError(Diagnostic("REPLAY", message, fix=f"write {names[0]}/{name}"))
        found[stage][choice] = value
    return found


def _named(program: Program, decisions: Sequence[Mapping[str, str]]) -> dict[str, str]:
    if len(program.stages) == 1:
        return dict(decisions[0])
    return {f"{s.name}/{k}": v for s, named in zip(program.stages, decisions, strict=True) for k, v in named.items()}


def _replayed(stage: Backbone, target: Target, decisions: Mapping[str, str]) -> tuple[Implementation[Candidate], Bound]:
    space = kernel_space(stage, target)
    bound = Bound(space)
    return replay(KernelModel(space, bound), decisions), bound


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 6)
