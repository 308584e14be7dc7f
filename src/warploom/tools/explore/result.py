"""Reports of `warploom explore` on implementations: the line, loop nests, what binds them, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

from warploom.core import UserError, bf16x2
from warploom.gpu import compile_cuda, machine_counts
from warploom.schedule.backbone import Program, count_compulsory_bytes, count_flops
from warploom.schedule.bound import Bound
from warploom.schedule.choices import KernelSpace
from warploom.schedule.cost import loads_per_output
from warploom.schedule.cpu import DIFFERENT_SUMS, Build, sound_build
from warploom.schedule.cuda import Options as CudaOptions
from warploom.schedule.cuda import cuda_kernel
from warploom.schedule.nest import Nest, text
from warploom.schedule.search import Implementation, Timed
from warploom.schedule.targets import Target
from warploom.solve import Event
from warploom.solve.space import Candidate
from warploom.tools.command.files import write_text
from warploom.tools.command.lines import BAD_INPUT, EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.check import Checked
from warploom.tools.explore.code import arch_of, code_of
from warploom.tools.explore.one_pass import decided
from warploom.tools.explore.options import Function, KernelOptions, sizes_of
from warploom.tools.explore.package import write_package
from warploom.tools.explore.page import MachineCode, StageView, render_explore
from warploom.tools.explore.proof import Proof
from warploom.tools.explore.run_time import run_time_fields
from warploom.tools.explore.worded import of_stage

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Explored:
    """A program and the implementation of each of its stages."""

    program: Program
    implementations: tuple[Implementation[Candidate], ...]
    spaces: tuple[KernelSpace, ...] = ()
    """The spaces that the implementations are from."""
    events: tuple[Event, ...] = ()
    """Events of the search."""
    taken: Mapping[str, str] = field(default_factory=dict[str, str])
    """Decisions about the program: in how many parts a sum is made."""
    whole: Program | None = None
    """The program as the function says it, where the sum of this one is in parts."""
    plain: tuple[Nest, ...] = ()
    """Plain loops of the stages, where they are faster than the implementations, or there are none: they are what runs."""
    is_early: bool = False
    """Plain loops run because the search ended before it had an implementation of every stage."""

    @property
    def nests(self) -> tuple[Nest, ...]:
        """The nests that run, stage by stage."""
        return self.plain or tuple(i.nest for i in self.implementations)

    @property
    def build(self) -> Build:
        """How the nests are compiled for a CPU."""
        return sound_build(*self.program.stages) if self.plain else Build.DECIDED


def facts(function: Function, program: Program, options: KernelOptions) -> Line:
    """Fields that say what was asked."""
    dtypes = {r.dtype.name for r in program.arguments}
    found: Line = {
        "kernel": program.name,
        "target": options.target.name,
        "threads": options.threads,
        "dtype": next(iter(dtypes)) if len(dtypes) == 1 else sorted(dtypes),
        "sizes": sizes_of(function, options.sizes, options.run_time),
        "seed": options.seed,
    }
    if options.run_time:
        found |= run_time_fields(options.run_time)
    return found if options.features is None else found | {"features": "paper"}


def judged_line(
    case: str,
    checked: Checked,
    time_ms: float | None,
    timings: Sequence[Timed],
    fields: Line,
    explored: Explored,
    options: KernelOptions,
    watch: Stopwatch,
) -> Line:
    """Fields of implementations, their time (None: unknown), how it was taken and the check of their results."""
    if checked.verdict == "refuted":
        reason = f"internal error: {checked.reason}"
        line = plain_line(case, "error", watch.read(), verdict="refuted", reason=reason)
    elif checked.proof is not None and checked.proof.verdict == "refuted":
        reason = (
            f"a bug of Warploom: its judges disagree, the kernel is {checked.verdict} and its PTX refuted: {checked.proof.reason}"
        )
        line = plain_line(case, "error", watch.read(), reason=reason)
    else:
        line = plain_line(case, "solved", watch.read(), verdict=checked.verdict)
        if checked.verdict == "tested":
            line |= compared(checked)
            if checked.sizes is not None:
                line["tested_at"] = dict(checked.sizes)
            if any(value.dtype == bf16x2 for nest in explored.nests for value in nest.values):
                line["domain"] = DIFFERENT_SUMS
        if checked.reason:
            line["note"] = checked.reason
    is_enough = line["verdict"] == "tested" or checked.has_no_size
    line |= _proof_fields(checked.proof, is_enough=is_enough, sizes_asked=None if options.run_time else fields["sizes"])
    line |= {
        "decisions": {
            **explored.taken,
            **named(
                explored.program, all_decisions(explored.program, [i.decisions for i in explored.implementations], options.target)
            ),
        },
        "bound_ms": rounded(sum(i.bound_ms for i in explored.implementations)),
        "time_ms": rounded(time_ms),
    }
    if time_ms is not None:
        line |= taken(time_ms, timings, sum(i.bound_ms for i in explored.implementations), is_measured=options.is_measured)
    line["objective"] = ["time_ms"]
    if options.target.kind == "cuda":
        line["loads_per_output"] = _loads(explored.nests)
    if options.run_time:
        nests = [i.nest for i in explored.implementations]
        fields = fields | run_time_fields(options.run_time, nests, checked.values, has_grid=options.target.kind == "cuda")
    return line | fields | speed(explored.whole or explored.program, time_ms)


def compared(checked: Checked) -> Line:
    """Fields that say what was compared with the reference."""
    sets: Line = {"data_sets": {str(content): n for content, n in checked.data.items()}} if checked.data else {}
    return {"cases": checked.cases} | sets


def _loads(nests: Sequence[Nest]) -> float | list[float | None] | None:
    """Elements loaded from global memory for each stored, of the only stage or of each."""
    found = [None if (n := loads_per_output(nest)) is None else round(n, 4) for nest in nests]
    return found[0] if len(found) == 1 else found


def _proof_fields(proof: Proof | None, *, is_enough: bool, sizes_asked: object) -> Line:
    """`proof`, and `proved_at`; at the sizes asked for a kernel is proved that was tested, or that no size is small enough to
    test (`is_enough`)."""
    if proof is None:
        return {}
    found: Line = {"proof": proof.line}
    if proof.verdict != "proved":
        return found | {"proof_reason": proof.reason}
    if (proof.is_of_class or dict(proof.sizes) == sizes_asked) and is_enough:
        return {"verdict": "proved", "domain": proof.domain} | found
    return found | {"proved_at": dict(proof.sizes)}


def taken(time_ms: float, timings: Sequence[Timed], bound_ms: float, *, is_measured: bool) -> Line:
    """Words of the contract for how a time was taken, and how far above its bound it is."""
    found: Line = {"time_is": "measured" if is_measured else "modelled", "counted": "model"}
    if bound_ms > 0:
        found["time_over_bound"] = round(time_ms / bound_ms, 3)
    if not is_measured:
        return found
    if not timings or not all(t.runs for t in timings):
        return found | {"median": None, "runs": None, "spread": None, "disturbed": None}
    runs, spread = min(t.runs for t in timings), max(t.spread for t in timings)
    is_disturbed = any(t.is_disturbed for t in timings)
    return found | {"median": rounded(time_ms), "runs": runs, "spread": round(spread, 4), "disturbed": is_disturbed}


_UNMADE = "interrupted before the page and the code were made"


@dataclass(frozen=True, slots=True)
class ExploredOutcome(Outcome):
    """An outcome with the implementations behind its line."""

    explored: Explored | None = None


def told(line: Line, explored: Explored, options: KernelOptions) -> Outcome:
    """The outcome, with the files that were asked for; an interruption leaves the line."""
    try:
        return _told(line, explored, options)
    except KeyboardInterrupt:
        return ExploredOutcome(line, EXIT_BY_STATUS[str(line["status"])], explored=explored, messages=(_UNMADE,))


def _told(line: Line, explored: Explored, options: KernelOptions) -> Outcome:
    written: list[Path] = []
    try:
        if options.code is not None and (options.is_package or options.code.is_dir()):
            written += save_package(line, explored, options, options.code)
        elif options.code is not None:
            write_text(options.code, code_text(line, explored, options))
            written.append(options.code)
        if options.page is not None:
            write_text(options.page, page_text(line, explored, options))
            written.append(options.page)
    except UserError as error:  # the decisions stay in the line
        kept = {name: value for name, value in line.items() if name not in ("domain", "cases", "data_sets", "proved_at")}
        reason = f"solved, but not written: {one_line(error.diagnostics[0])}"
        kept |= {"status": "error", "verdict": "unchecked", "reason": reason}
        return Outcome(kept, BAD_INPUT, messages=rendered(error.diagnostics), written=tuple(written))
    details = _shown(_views(explored)) or tuple(text(nest) for nest in explored.nests)
    return ExploredOutcome(line, EXIT_BY_STATUS[str(line["status"])], explored=explored, written=tuple(written), details=details)


def code_text(line: Line, explored: Explored, options: KernelOptions) -> str:
    """C or CUDA C++ of all stages; `line` is their report line."""
    sizes = cast("dict[str, int]", line["sizes"])
    return code_of(explored.program, explored.nests, sizes, options, explored.build)


def save_package(line: Line, explored: Explored, options: KernelOptions, folder: Path) -> list[Path]:
    """The files of the folder: C, header, Python, PyTorch. UserError: OPTION, NOT_WRITTEN."""
    sizes = cast("dict[str, int]", line["sizes"])
    return write_package(folder, explored.program, explored.nests, sizes, options, explored.build)


def page_text(line: Line, explored: Explored, options: KernelOptions) -> str:
    """The page, as HTML."""
    language = "C" if options.target.kind == "cpu" else "CUDA C++"
    stages = _views(explored)
    if options.target.kind == "cuda":
        stages = [replace(stage, machine=_machine_code(stage.nest, options)) for stage in stages]
    return render_explore(explored.program.name, line, stages, code_text(line, explored, options), language, explored.events)


def _machine_code(nest: Nest, options: KernelOptions) -> MachineCode | None:
    """None where the CUDA tools are not installed, or do not take it."""
    kernel = cuda_kernel(nest, CudaOptions(arch=arch_of(options.target)))
    try:
        compiled = compile_cuda(kernel.text, kernel.arch)
        opcodes = machine_counts(compiled.cubin)[kernel.name].opcodes
    except UserError:
        return None
    shared = compiled.shared_bytes + kernel.dynamic_shared_bytes
    return MachineCode(kernel.arch, compiled.registers, compiled.spill_bytes, shared, opcodes)


def named(program: Program, decisions: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """Decisions of the first stages; where the program has several, each name begins with its stage's and a slash."""
    if len(program.stages) == 1:
        return dict(decisions[0]) if decisions else {}
    return {f"{s.name}/{k}": v for s, found in zip(program.stages, decisions, strict=False) for k, v in found.items()}


def all_decisions(program: Program, decisions: Sequence[Mapping[str, str]], on: Target) -> list[dict[str, str]]:
    """With those that were taken before the search."""
    before = of_stage if on.kind == "cpu" else decided
    return [before(stage) | dict(found) for stage, found in zip(program.stages, decisions, strict=False)]


def rounded(ms: float | None) -> float | None:
    """To nanoseconds, or four digits of what is less than a microsecond."""
    return None if ms is None else round(ms, 6) if ms >= 1e-3 else float(f"{ms:.4g}")


def speed(program: Program, time_ms: float | None) -> Line:
    """GFLOP/s, and GB/s of what must be moved."""
    if not time_ms:
        return {"gflops": None, "gb_s": None}
    return {
        "gflops": round(count_flops(program) / (time_ms * 1e6), 3),
        "gb_s": round(count_compulsory_bytes(program) / (time_ms * 1e6), 3),
    }


def _views(explored: Explored) -> list[StageView]:
    """Each stage's loop nest and what binds it."""
    views: list[StageView] = []
    if len(explored.spaces) != len(explored.nests):  # also plain loops of stages that the search had joined
        return views
    for n, (stage, space) in enumerate(zip(explored.program.stages, explored.spaces, strict=True)):
        bound, nest = Bound(space), explored.nests[n]
        candidate = space.root() if explored.plain else explored.implementations[n].candidate
        model = bound.modelled(candidate, nest) if space.target.kind == "cuda" else None
        shapes = {r.name: r.shape for r in explored.program.arguments}
        views.append(StageView(stage.name, nest, bound.explain(candidate), model, shapes))
    return views


def _shown(stages: Sequence[StageView]) -> tuple[str, ...]:
    """Text for people: each stage as a loop nest, and what binds it."""
    found: list[str] = []
    for stage in stages:
        found += [text(stage.nest), stage.bound.text]
        if stage.modelled is not None:
            found.append(stage.modelled.text)
    return tuple(found)
