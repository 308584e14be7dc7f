"""The pass: a module's kernels searched, judged by a policy, and rewritten in their own text."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from warploom.machines import nearest_architecture
from warploom.ptx.flow import flow_graph
from warploom.ptx.routine import Program, Routine, lower
from warploom.ptx.shuffle.code import KernelCode
from warploom.ptx.shuffle.detect import Detected, Refused, Search, detect
from warploom.ptx.shuffle.edits import Edits
from warploom.ptx.shuffle.loads import is_counted
from warploom.ptx.shuffle.options import ShuffleOptions
from warploom.ptx.shuffle.plan import BlockShape, Plan
from warploom.ptx.shuffle.policy import Candidate, KernelFacts
from warploom.ptx.shuffle.profit import forecast_vectors
from warploom.ptx.shuffle.registers import free_prefix
from warploom.ptx.shuffle.report import Judged, KernelReport, Refusal, VectorLoad
from warploom.ptx.shuffle.vectors import Joined, find_vectors
from warploom.ptx.symbolic import Emulation, LaunchLimits, emulate
from warploom.ptx.syntax import Function, Module

_NEEDED = (6, 2)
"""PTX ISA version of `activemask`."""
_ROWS = 3


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A module's new text, and what became of each kernel."""

    text: str
    """The old text where nothing was applied."""
    reports: tuple[KernelReport, ...]
    """One per kernel, in the order of the text."""


def shuffle(module: Module, options: ShuffleOptions | None = None) -> Rewritten:
    """Covers loads by shuffles in every kernel of the module; UserError for text that is wrong in itself."""
    chosen = options or ShuffleOptions()
    program = lower(module)
    edits = Edits(module.text)
    prefix = free_prefix(module.text)
    reports = tuple(_kernel(program, f, chosen, edits, prefix) for f in module.functions if f.is_entry and f.body is not None)
    text = edits.apply()
    if chosen.variant and any(r.applied for r in reports):
        text = f"// INVALID: computes wrong values; variant {chosen.variant}, to measure by only\n{text}"
    return Rewritten(text, reports)


def _kernel(program: Program, function: Function, options: ShuffleOptions, edits: Edits, prefix: str) -> KernelReport:
    started = time.process_time()
    routine = program.routines[function.name]
    counted = [i for i, each in enumerate(routine.instructions) if is_counted(each, shared=options.shared)]
    alone = tuple(Refused(i, "it is the kernel's only load") for i in counted)
    detected, emulation = Detected(len(counted), (), alone), None
    if len(counted) > 1:
        emulation = emulate(routine, options.limits, graph=flow_graph(routine))
        detected = detect(emulation, function, _search(options, emulation.limits))
    judged: list[Judged] = []
    applied: list[Plan] = []
    refused = [Refusal(_line(routine, r.load), r.reason) for r in detected.refused]
    if emulation is not None and detected.plans:
        plans = detected.plans
        if _version(program.module) < _NEEDED:
            reason = f"activemask needs PTX ISA {_NEEDED[0]}.{_NEEDED[1]}, the module is of {program.module.directive('version')}"
            refused += [Refusal(_line(routine, p.load), reason) for p in plans if not p.neighbour.is_self]
            plans = tuple(p for p in plans if p.neighbour.is_self)
        judged = _judge(routine, emulation, detected.loads, plans, options, program.module)
        applied = [p for p, j in zip(plans, judged, strict=True) if j.decision.applies]
    vectors: tuple[VectorLoad, ...] = ()
    if emulation is not None:
        without = {p.load for p in applied}
        joined = find_vectors(emulation, without=without, assume_aligned=options.assume_aligned, noalias=options.noalias)
        vectors = _vectors(routine, emulation, joined, options, program.module)
        shape = BlockShape(emulation.limits.whole_rows)
        code = KernelCode(function, routine, emulation.graph, shape, edits, prefix, options.variant)
        code.apply(applied, joined if options.vectors else ())
    refused.sort(key=lambda r: r.line)
    seconds = time.process_time() - started
    of_lone = tuple(_candidate(routine, plan) for plan in detected.of_lone_sources)
    return KernelReport(
        function.name, detected.loads, tuple(judged), tuple(refused), options.mode, options.variant, seconds, vectors, of_lone
    )  # fmt: skip


def _search(options: ShuffleOptions, limits: LaunchLimits) -> Search:
    rows = options.max_rows
    if rows is None:
        width = limits.block_min[0] if limits.block_min[0] == limits.block_max[0] else 0
        rows = min(_ROWS, 31 // width) if width and limits.block_max[1] > 1 else 0
    return Search(
        options.max_delta, rows, options.shared, options.assume_nsw, options.mode == "cache", options.lone_sources,
        options.noalias,
    )  # fmt: skip


def _vectors(
    routine: Routine, emulation: Emulation, joined: tuple[Joined, ...], options: ShuffleOptions, module: Module
) -> tuple[VectorLoad, ...]:
    if not joined:
        return ()
    facts = KernelFacts(routine, emulation.graph, 0, (), _target(module), emulation.limits.whole_rows)
    gain = forecast_vectors(facts, joined, nearest_architecture(options.arch or facts.target)).gain
    return tuple(
        VectorLoad(
            tuple(sorted(_line(routine, index) for index in each.loads)),
            each.size_bytes,
            each.is_tested,
            each.assumed,
            options.vectors,
            gain,
            each.untouched,
        )
        for each in joined
    )


def _target(module: Module) -> str:
    return module.directive("target").partition(",")[0].strip()


def _judge(
    routine: Routine, emulation: Emulation, loads: int, plans: tuple[Plan, ...], options: ShuffleOptions, module: Module
) -> list[Judged]:
    candidates = tuple(_candidate(routine, plan) for plan in plans)
    facts = KernelFacts(routine, emulation.graph, loads, candidates, _target(module), emulation.limits.whole_rows)
    return [Judged(c, options.policy(facts, c)) for c in candidates]


def _candidate(routine: Routine, plan: Plan) -> Candidate:
    return Candidate(
        load=plan.load,
        line=_line(routine, plan.load),
        source=plan.source,
        source_line=_line(routine, plan.source),
        delta=plan.neighbour.x,
        rows=plan.neighbour.y,
        kind=plan.kind,
        width=plan.element_bits,
        elements=len(plan.elements),
        conditions=(*map(str, plan.checks), *map(str, plan.stores), *(["that load has run"] if plan.unsure else [])),
        assumed=plan.assumed,
        indices=tuple(sorted({check.register for check in plan.checks})),
        stores=len(plan.stores),
        unsure=plan.unsure,
    )


def _line(routine: Routine, index: int) -> int:
    return routine.span(index).line


def _version(module: Module) -> tuple[int, int]:
    numbers = re.findall(r"\d+", module.directive("version"))
    return (int(numbers[0]), int(numbers[1])) if len(numbers) > 1 else (0, 0)
