"""Exploring programs: stage by stage, each one kernel with a share of the budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from warploom.core import Diagnostic, UserError
from warploom.core.limits import INTERRUPTION
from warploom.schedule.backbone import Backbone, Program, backbone_text
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features, KernelSpace, default_order, kernel_space
from warploom.schedule.search.evaluate import Evaluator, Memory, Timed
from warploom.schedule.search.explore import Exploration, Live, Options, explore_kernel
from warploom.schedule.search.first import with_first
from warploom.schedule.search.kernel_model import Bounds, KernelModel
from warploom.schedule.search.shares import Turns
from warploom.schedule.search.together import TOGETHER_SHARE, Programs, together
from warploom.schedule.targets import Target
from warploom.solve import EventSink, Journal, problem_key
from warploom.solve.jit import compiled_seconds
from warploom.solve.space import Candidate

MakeBound: TypeAlias = Callable[[KernelSpace], Bounds[Candidate]]
MakeEvaluator: TypeAlias = Callable[[Backbone], Evaluator | None]
MakePrograms: TypeAlias = Callable[[Program], Programs | None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Makes the model of a kernel, here or in a worker process: `solve.sample` takes it as `make`."""

    backbone: Backbone
    target: Target
    bound: MakeBound = Bound
    features: Features | None = None
    order: tuple[str, ...] | None = None
    fixed: tuple[tuple[str, str], ...] = ()

    def __call__(self) -> KernelModel[Candidate]:
        """UserError: CHOICE, REFUTED, NO_IMPLEMENTATION."""
        return self.model(self.space())

    def space(self) -> KernelSpace:
        return kernel_space(self.backbone, self.target, self.features)

    def model(self, space: KernelSpace) -> KernelModel[Candidate]:
        """The model of a space that is made already."""
        fixed = space.usual | dict(self.fixed)
        return KernelModel(space, self.bound(space), order=self.order or default_order(self.target), fixed=fixed)


def recipes(
    program: Program | Backbone,
    target: Target,
    make_bound: MakeBound = Bound,
    features: Features | None = None,
    order: tuple[str, ...] | None = None,
    fixed: Mapping[str, str] | None = None,
) -> list[Recipe]:
    """One per stage. Names in `fixed` begin with `STAGE/` where there are several stages, else UserError (CHOICE)."""
    stages = program.stages if isinstance(program, Program) else (program,)
    by_stage = zip(stages, _fixed(stages, fixed or {}), strict=True)
    return [Recipe(stage, target, make_bound, features, order, tuple(decided.items())) for stage, decided in by_stage]


@dataclass(frozen=True, slots=True)
class ProgramExploration:
    stages: tuple[Exploration[Candidate], ...]
    """Stages that were begun, in the program's order."""
    complete: bool
    reason: str
    damage: tuple[Diagnostic, ...] = ()
    """`JOURNAL_DAMAGED` for each line of the journal that was skipped."""
    together: Timed | None = None
    """All stages, measured one after the other; None where that was not done."""
    spaces: tuple[KernelSpace, ...] = ()
    """The space of each stage of the program."""

    @property
    def time_ms(self) -> float | None:
        """Time of all stages; None unless each has a measured implementation."""
        return _sum([s.time_ms for s in self.stages]) if self.together is None else self.together.time_ms

    @property
    def timings(self) -> tuple[Timed, ...]:
        """Ways in which `time_ms` was taken: of the program, or of each stage; empty where one was not timed with care."""
        if self.together is not None:
            return (self.together,)
        known = tuple(s.timed for s in self.stages if s.timed is not None)
        return known if len(known) == len(self.stages) else ()

    @property
    def bound_ms(self) -> float | None:
        """Bound of the best implementations, by the model."""
        return _sum([s.bound_ms for s in self.stages])

    @property
    def root_bound_ms(self) -> float:
        return sum(s.root_bound_ms for s in self.stages)

    @property
    def decisions(self) -> dict[str, str]:
        """Decisions of all stages; with several, each name begins with its stage's and a slash."""
        prefix = len(self.stages) > 1
        return {f"{s.kernel}/{k}" if prefix else k: v for s in self.stages for k, v in s.decisions.items()}


def explore(
    program: Program | Backbone,
    target: Target,
    make_bound: MakeBound = Bound,
    options: Options | None = None,
    *,
    features: Features | None = None,
    evaluators: MakeEvaluator | None = None,
    programs: MakePrograms | None = None,
    journal: Path | None = None,
    events: EventSink | None = None,
    progress: Callable[[Live], None] | None = None,
    executor: Executor | None = None,
    spaces: Sequence[KernelSpace] | None = None,
    is_needed: bool = True,
) -> ProgramExploration:
    """The fastest implementation of each stage found within the budget; an interruption ends the search with the best so far.
    A budget that ends before a stage has any implementation is overdrawn for one, unless none `is_needed`.

    `evaluators` makes what measures a stage; without it the model's cost counts. With `programs`, which times several stages one
    after the other, each begins where the one before ended, if that is faster (`direction`). `journal` is a folder: what was
    measured under the same source of this package is not measured again. An executor (processes, a cluster) makes the first
    candidates. Names in `options.fixed` begin with `STAGE/` where there are several stages. `spaces`: of the stages, where they
    are made already. `options.more` is asked where there is one stage. UserError: CHOICE, REFUTED, NO_IMPLEMENTATION.
    """
    options = options or Options()
    stages = program.stages if isinstance(program, Program) else (program,)
    made = recipes(program, target, make_bound, features, options.order, options.fixed)
    began, compiled_s = time.monotonic(), compiled_seconds()
    spaces = tuple(recipe.space() for recipe in made) if spaces is None else tuple(spaces)
    models = [recipe.model(space) for recipe, space in zip(made, spaces, strict=True)]
    damage: list[Diagnostic] = []
    bounds = [model.bound(model.root())[0] for model in models]
    began += compiled_seconds() - compiled_s
    for_stages_s = None if options.budget_s is None else options.budget_s * (1 - TOGETHER_SHARE * (len(stages) > 1))
    evaluating: dict[int, tuple[Evaluator | None, Memory]] = {}

    def search(n: int, limits: Options, is_look: bool) -> Exploration[Candidate]:
        if n not in evaluating:
            evaluator = evaluators(stages[n]) if evaluators is not None else None
            name = evaluator.name if evaluator is not None else "model"
            kept = None if journal is None else _journal(journal, stages[n].name)
            damage.extend(kept.damage if kept is not None else ())
            problem = problem_key([backbone_text(stages[n]), target.name, name]) + "/"
            evaluating[n] = evaluator, Memory(problem, kept, events)
        evaluator, memory = evaluating[n] if is_look else evaluating.pop(n)
        if is_look and evaluator is not None:
            open_ones.enter_context(evaluator.open())
        explored = explore_kernel(
            models[n], stages[n].name, evaluator, limits, memory=memory, events=events, progress=progress, make=made[n],
            executor=executor,
        )  # fmt: skip
        return with_first(explored, models[n], evaluator, memory) if is_needed and not is_look else explored

    is_known = evaluators is not None and len(stages) > 1 and all(model.ways for model in models)
    turns = Turns(bounds, options, for_stages_s, is_known=is_known, began=began)
    is_interrupted = False
    try:
        with ExitStack() as open_ones:
            turns.run(search)
    except KeyboardInterrupt:  # between two searches: what the first ones found stays
        if not turns.found:
            raise
        is_interrupted = True
    found = turns.explored
    complete = len(found) == len(stages) and all(e.complete for e in found)
    reason = INTERRUPTION if is_interrupted else next((e.reason for e in reversed(found) if e.reason), "")
    timed = None
    timer = programs(program) if programs is not None and isinstance(program, Program) and len(stages) > 1 else None
    if timer is not None and reason != INTERRUPTION and len(found) == len(stages) and all(e.best is not None for e in found):
        try:
            left_s = None if options.budget_s is None else options.budget_s - (time.monotonic() - began)
            found, timed = together(found, models, [dict(recipe.fixed) for recipe in made], timer, left_s)
        except KeyboardInterrupt:
            reason = INTERRUPTION
    return ProgramExploration(tuple(found), complete, reason, tuple(damage), timed, spaces)


def _journal(folder: Path, name: str) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"expected a folder for the journal, got {folder}: {error.strerror or error}"
        raise UserError(Diagnostic("JOURNAL_UNUSABLE", message, fix="Name a writable folder.")) from None
    return Journal(folder / f"{name}.jsonl")


def _fixed(stages: tuple[Backbone, ...], fixed: Mapping[str, str]) -> list[dict[str, str]]:
    parts: list[dict[str, str]] = [{} for _ in stages]
    names = [stage.name for stage in stages]
    for name, value in fixed.items():
        stage, slash, choice = name.partition("/")
        if slash and stage in names:
            parts[names.index(stage)][choice] = value
        elif len(stages) == 1:
            parts[0][name] = value
        else:
            message = f"expected a stage before the choice, got {name!r}"
            raise UserError(Diagnostic("CHOICE", message, fix=f"Write {names[0]}/{name}, or another of {', '.join(names)}."))
    return parts


def _sum(times: list[float | None]) -> float | None:
    known = [t for t in times if t is not None]
    return sum(known) if known and len(known) == len(times) else None
