"""`warploom explore` on a sketch: its parameters and holes as one vector of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from warploom.core import Diagnostic, Status, UserError
from warploom.machines import compiled_architecture
from warploom.schedule.sketches import FamilyModel, TunableSketch, Tuned, Tuning, text_of
from warploom.solve import (
    BUDGET_SPENT,
    Budget,
    Incumbent,
    OrderName,
    Outcome,
    Strategy,
    order_named,
    ordered,
    run_order,
)
from warploom.solve import Progress as SearchProgress
from warploom.synth import without_collection
from warploom.tools.command.files import write_text
from warploom.tools.command.lines import BAD_INPUT, EXIT_BY_STATUS, Line, plain_line, turned_into_error
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.outcome import Outcome as CommandOutcome
from warploom.tools.command.outcome import Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.advice import without_implementation
from warploom.tools.explore.budget import WallSpentError, within
from warploom.tools.explore.recorded import Asked, differences, read_decisions, refused
from warploom.tools.synth.best import decisions_of, others_field, reason_text, time_fields, with_unjudged
from warploom.tools.synth.forms import Suffix, form_text
from warploom.tools.synth.printed import compiled_fields, print_checked
from warploom.tools.synth.report import hole_texts
from warploom.tools.synth.targets import Target


@dataclass(frozen=True, slots=True)
class SketchOptions:
    arch: str = "sm_90"
    sizes: Mapping[str, int] | None = None
    """None: those of the family."""
    budget_s: float | None = None
    fixed: tuple[tuple[str, str], ...] = ()
    """Parameters and holes decided by hand, as text."""
    only_choices: bool = False
    """List what is open and search nothing."""
    order: tuple[str, ...] | None = None
    """Parameters and holes to decide first; None: parameters, then holes; `reverse` alone: that one backwards."""
    nodes: int | None = None
    strategy: OrderName | None = None
    """None: depth first."""
    seed: int = 0
    is_target_given: bool = True
    """True if the user gave the target."""
    replayed: Path | None = None
    """Judge the kernel whose decisions this file holds and search nothing."""
    code: Path | None = None
    page: Path | None = None


GAVE_UP = "a setting was given up"
_PROVE = "--replay of this line proves it"


def explore_sketch(
    case: str, family: TunableSketch, options: SketchOptions, stopwatch: Stopwatch, progress: Progress
) -> CommandOutcome:
    """The fastest kernel of the family at these sizes, or the one replayed: modelled, or measured where there is a device."""
    if options.replayed is not None:
        return _replay(case, family, options, options.replayed, stopwatch, progress)
    if options.only_choices:
        return _choices(case, _model(family, options, options.fixed, progress), stopwatch)

    def tell(told: SearchProgress) -> None:
        statistics = told.statistics
        progress(f"{statistics.nodes} nodes, {statistics.bounded} pruned, {model.completed} kernels completed")

    # The proof of a kernel is a step of the search, and may be a long one.
    ending = nullcontext() if options.budget_s is None else within(options.budget_s, WallSpentError)
    with without_collection(), ending:
        model = _model(family, options, options.fixed, progress)
        incumbent = Incumbent(model, strategy=_strategy(model, options.order), budget=Budget(options.nodes), progress=tell)
        found = run_order(incumbent, order_named(options.strategy or "depth-first", options.seed))
    found = with_unjudged(model, found, _PROVE)
    line = _line(case, model, found, stopwatch, _searched(model, found))
    if not found.answers:
        return _told(line, model, found, options)
    others, tuned = list(model.others(found.answers[0][1].setting)), found.answers[0][1]
    told = _told(line | others_field(others), model, found, options)
    return replace(told, details=(*told.details, *reason_text(tuned, model.device.name, others).splitlines()))


def _model(family: TunableSketch, options: SketchOptions, fixed: Sequence[tuple[str, str]], progress: Progress) -> FamilyModel:
    """The vector of decisions in which the fixed ones are decided. UserError for one that is unknown or impossible."""
    parameters = tuple((name, value) for name, value in fixed if name in family.parameters)
    holes = {name: value for name, value in fixed if name not in family.parameters}
    sizes, device = _sizes(family, options.sizes), compiled_architecture(options.arch)
    return FamilyModel(_narrowed(family, parameters), sizes, device, options.budget_s, fixed=holes, progress=progress)


def _replay(
    case: str, family: TunableSketch, options: SketchOptions, file: Path, stopwatch: Stopwatch, progress: Progress
) -> CommandOutcome:
    """The kernel whose decisions the file holds: a line of `explore`, or an object of names and values.

    UserError (REPLAY) for a line of another kernel, for one of other sizes or another target unless these are asked for by name,
    and where a decision is missing or does not hold here.
    """
    recorded = read_decisions(file, written)
    target, sizes = compiled_architecture(options.arch).name, _sizes(family, options.sizes)
    notes = differences(recorded, Asked(family.name, target, options.is_target_given, sizes, options.sizes or {}))
    try:
        decisions = {name: str(value) for name, value in family.older.items()} | dict(recorded.decisions)
        model = _model(family, options, tuple(decisions.items()), progress)
    except UserError as error:
        here = f"here ({'; '.join(notes)})" if notes else "here"
        message = f"expected decisions that hold {here}, got: {error.diagnostics[0].message}"
        raise refused(recorded, message, "replay them where they were found") from error
    if missing := [name for name in model.names if name not in decisions]:
        message = f"expected a decision for each parameter and hole ({', '.join(model.names)}), got none for {missing[0]!r}"
        raise refused(recorded, message, "search for the rest: give the decisions by --set")
    with without_collection():
        found = with_unjudged(model, run_order(Incumbent(model), order_named("depth-first")), _PROVE)
    line = _line(case, model, found, stopwatch, {})
    return _told(line | ({"note": "; ".join(notes)} if notes else {}), model, found, options)


def written(value: object) -> str | None:
    """A parameter's value or a hole's expression, as a report line has it, in the text that `--set` takes; None for none."""
    match value:
        case str():
            return value
        case bool():
            return None
        case int():
            return str(value)
        case list() | tuple():
            numbers = cast("Sequence[object]", value)
            return "x".join(map(str, numbers)) if numbers and all(type(n) is int for n in numbers) else None
        case _:
            return None


def _told(line: Line, model: FamilyModel, found: Outcome[Tuned], options: SketchOptions) -> CommandOutcome:
    """The outcome, with the files that were asked for."""
    code = EXIT_BY_STATUS[str(line["status"])]
    if not found.answers:
        return CommandOutcome(line, code)
    tuned = found.answers[0][1]
    asked: tuple[tuple[Path | None, Suffix], ...] = ((options.code, ".cu"), (options.page, ".html"))
    files: dict[Path, Suffix] = {path: suffix for path, suffix in asked if path is not None}
    made: list[Path] = []
    try:
        sketch = model.family.build(**tuned.setting)
        printed = print_checked(sketch.kernel, tuned.report.completions[0].holes, compiles=False) if files else None
        for path, suffix in files.items():
            assert printed is not None
            write_text(path, form_text(suffix, Target(str(line["case"]), sketch), tuned.report, line, printed))
            made.append(path)
    except UserError as error:
        turned_into_error(line, f"solved, but not written: {one_line(error.diagnostics[0])}")
        return CommandOutcome(line, BAD_INPUT, tuned.report, messages=rendered(error.diagnostics), written=tuple(made))
    return CommandOutcome(line, code, tuned.report, written=tuple(made))


def _choices(case: str, model: FamilyModel, stopwatch: Stopwatch) -> CommandOutcome:
    """The open parameters with their values, then the open holes with what they may become at the most promising setting."""
    root = model.root()
    choices: dict[str, list[str]] = {}
    fields: Line = {}
    if root is not None:
        choices |= {name: [written(v) or "" for v in values] for name, values in model.open_values(root).items()}
        setting, holes = model.hole_values(root)
        choices |= {name: values or [] for name, values in holes.items() if values is None or len(values) > 1}
        if any(name in choices for name in holes) and len(root.settings) > 1:
            fields["holes_at"] = decisions_of(setting)
    line = plain_line(case, "solved", stopwatch.read(), sizes=dict(model.sizes), choices=choices) | fields
    notes = [f"  holes at {text_of(cast('dict[str, Tuning]', fields['holes_at']))}"] if fields else []
    return CommandOutcome(line, EXIT_BY_STATUS["solved"], details=(*table(choices), *notes))


def _strategy(model: FamilyModel, order: tuple[str, ...] | None) -> Strategy:
    if order is None:
        return model.next_choice
    names = list(model.names)
    if order == ("reverse",):
        order = tuple(reversed(names))
    if unknown := [name for name in order if name not in names]:
        message = f"expected parameters or holes ({', '.join(names)}) for --order, got {unknown[0]!r}"
        raise UserError(
            Diagnostic("UNKNOWN_CHOICE", message, model.family.span, "Name some of these, or write: --order reverse.")
        )
    return ordered([names.index(name) for name in order])


def _searched(model: FamilyModel, found: Outcome[Tuned]) -> Line:
    """Fields of the line about the search: its counts, and whether it was complete."""
    statistics = found.statistics
    return {
        "nodes": statistics.nodes,
        "pruned": statistics.bounded,
        "dead_ends": statistics.refuted + statistics.rejected,
        "completed": model.completed,
        "complete": found.complete and not model.given_up,
    }


def _line(case: str, model: FamilyModel, found: Outcome[Tuned], stopwatch: Stopwatch, searched: Line) -> Line:
    asked: Line = {"kernel": model.family.name, "sizes": dict(model.sizes), "arch": model.device.name}
    if not found.answers:
        is_empty = found.complete and not model.given_up
        why = model.why_none() if found.complete else ""
        reason = f"no setting of the parameters has a kernel{why and f': {why}'}" if is_empty else found.reason or GAVE_UP
        status: Status = "unsat" if is_empty else "unknown"
        line = plain_line(case, status, stopwatch.read(), reason=reason) | searched | asked
        return line | without_implementation(status, searched)
    tuned = found.answers[0][1]
    report = tuned.report
    why = report.reason if report.verdict == "unchecked" else ""
    line = plain_line(case, "solved", stopwatch.read(), verdict=report.verdict or "unchecked", reason=why)
    if ended := found.reason or report.reason * report.reason.startswith(BUDGET_SPENT):
        line["ended"] = ended
    if report.domain:
        line["domain"] = report.domain
    if report.cases is not None:
        line["cases"] = report.cases
    holes = hole_texts(model.family.build(**tuned.setting).kernel, report.completions[0].holes)
    decisions = decisions_of(tuned.setting) | holes
    line |= {
        "decisions": decisions,
        "bound_ms": round(tuned.bound.ms, 6),
        **time_fields(tuned),
        "objective": ["time_ms"],
        "counted": "model",
        "lift": report.lift,
    }
    return line | searched | asked | (compiled_fields(tuned.compiled) if tuned.compiled is not None else {})


def _sizes(family: TunableSketch, asked: Mapping[str, int] | None) -> dict[str, int]:
    sizes = dict(family.sizes) | dict(asked or {})
    if unknown := sorted(set(asked or {}) - set(family.sizes)):
        message = f"expected sizes of {family.name} ({', '.join(family.sizes) or 'it has none'}), got {', '.join(unknown)}"
        raise UserError(Diagnostic("UNKNOWN_SIZE", message, family.span))
    return sizes


def _narrowed(family: TunableSketch, fixed: tuple[tuple[str, str], ...]) -> TunableSketch:
    """The family with the parameters that were decided by hand."""
    parameters = dict(family.parameters)
    for name, text in fixed:
        parameters[name] = (_value(name, text, family.parameters[name]),)
    return replace(family, parameters=parameters)


def _value(name: str, text: str, values: tuple[Tuning, ...]) -> Tuning:
    """The value written as `4`, `4x8` or `(4, 8)`."""
    wanted = text.replace(" ", "").strip("()").replace("x", ",")
    for value in values:
        plain = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if plain == wanted or str(value) == text:
            return value
    known = ", ".join(written(v) or "" for v in values)
    raise UserError(Diagnostic("UNKNOWN_VALUE", f"expected one of {known} for {name}, got {text!r}"))


def table(choices: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Table of open choices for people, one a line."""
    width = max(map(len, choices), default=0)
    return tuple(f"  {name:<{width}}  {' '.join(values)}" for name, values in choices.items()) or ("  nothing is open",)
