"""`warploom explore` on a sketch: its parameters and holes as one vector of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from warploom.core import Diagnostic, UserError
from warploom.machines import compiled_architecture
from warploom.schedule.sketches import FamilyModel, Setting, TunableSketch, Tuned, Tuning, text_of
from warploom.solve import Budget, Incumbent, OrderName, Outcome, Strategy, declared_order, order_named, ordered, run_order
from warploom.solve import Progress as SearchProgress
from warploom.synth import without_collection
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.outcome import Outcome as CommandOutcome
from warploom.tools.command.outcome import Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.synth.printed import compiled_fields
from warploom.tools.synth.report import hole_texts


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


GAVE_UP = "a setting was given up"


def explore_sketch(
    case: str, family: TunableSketch, options: SketchOptions, stopwatch: Stopwatch, progress: Progress
) -> CommandOutcome:
    """The fastest kernel of the family at these sizes: modelled, or measured where there is a device."""
    parameters = tuple((name, value) for name, value in options.fixed if name in family.parameters)
    holes = {name: value for name, value in options.fixed if name not in family.parameters}
    family = _narrowed(family, parameters)
    sizes = _sizes(family, options.sizes)
    model = FamilyModel(family, sizes, compiled_architecture(options.arch), options.budget_s, fixed=holes, progress=progress)
    if options.only_choices:
        return _choices(case, model, stopwatch)

    def tell(told: SearchProgress) -> None:
        statistics = told.statistics
        progress(f"{statistics.nodes} nodes, {statistics.bounded} pruned, {model.completed} kernels completed")

    incumbent = Incumbent(model, strategy=_strategy(model, options.order), budget=Budget(options.nodes), progress=tell)
    with without_collection():
        found = run_order(incumbent, order_named(options.strategy or "depth-first", options.seed))
    line = _line(case, family, model, found, stopwatch)
    tuned = found.answers[0][1] if found.answers else None
    code = EXIT_BY_STATUS[str(line["status"])]
    return CommandOutcome(line, code, tuned.report if tuned is not None else None)


def _choices(case: str, model: FamilyModel, stopwatch: Stopwatch) -> CommandOutcome:
    """The open parameters with their values, then the open holes with what they may become at the most promising setting."""
    root = model.root()
    choices: dict[str, list[str]] = {}
    fields: Line = {}
    if root is not None:
        choices |= {name: [_text(v) for v in values] for name, values in model.open_values(root).items()}
        setting, holes = model.hole_values(root)
        choices |= {name: values or [] for name, values in holes.items() if values is None or len(values) > 1}
        if any(name in choices for name in holes) and len(root.settings) > 1:
            fields["holes_at"] = _decisions(setting)
    line = plain_line(case, "solved", stopwatch.read(), sizes=dict(model.sizes), choices=choices) | fields
    notes = [f"  holes at {text_of(cast('dict[str, Tuning]', fields['holes_at']))}"] if fields else []
    return CommandOutcome(line, EXIT_BY_STATUS["solved"], details=(*table(choices), *notes))


def _strategy(model: FamilyModel, order: tuple[str, ...] | None) -> Strategy:
    if order is None:
        return declared_order
    names = list(model.names)
    if order == ("reverse",):
        order = tuple(reversed(names))
    if unknown := [name for name in order if name not in names]:
        message = f"expected parameters or holes ({', '.join(names)}) for --order, got {unknown[0]!r}"
        raise UserError(Diagnostic("UNKNOWN_CHOICE", message, model.family.span))
    return ordered([names.index(name) for name in order])


def _line(case: str, family: TunableSketch, model: FamilyModel, found: Outcome[Tuned], stopwatch: Stopwatch) -> Line:
    statistics = found.statistics
    searched: Line = {
        "nodes": statistics.nodes,
        "pruned": statistics.bounded,
        "dead_ends": statistics.refuted + statistics.rejected,
        "completed": model.completed,
        "complete": found.complete and not model.given_up,
        "sizes": dict(model.sizes),
        "arch": model.device.name,
    }
    if not found.answers:
        is_empty = found.complete and not model.given_up
        why = model.why_none() if found.complete else ""
        reason = f"no setting of the parameters has a kernel{why and f': {why}'}" if is_empty else found.reason or GAVE_UP
        return plain_line(case, "unsat" if is_empty else "unknown", stopwatch.read(), reason=reason) | searched
    tuned = found.answers[0][1]
    report = tuned.report
    line = plain_line(case, "solved", stopwatch.read(), verdict=report.verdict or "unchecked")
    if found.reason:
        line["ended"] = found.reason
    if report.domain:
        line["domain"] = report.domain
    if report.cases is not None:
        line["cases"] = report.cases
    holes = hole_texts(model.family.build(**tuned.setting).kernel, report.completions[0].holes)
    decisions = _decisions(tuned.setting) | holes
    line |= {
        "decisions": decisions,
        "bound_ms": round(tuned.bound.ms, 6),
        "time_ms": round(tuned.ms, 6),
        "time_is": "modelled" if tuned.measured_ms is None else "measured",
        "objective": ["time_ms"],
        "counted": "model",
        "binds": tuned.modelled.binds,
        "terms_ms": {name: round(ms, 6) for name, ms in tuned.modelled.terms.items()},
        "lift": report.lift,
    }
    return line | searched | (compiled_fields(tuned.compiled) if tuned.compiled is not None else {})


def _decisions(setting: Setting) -> dict[str, object]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in setting.items()}


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
    return TunableSketch(family.name, parameters, family.build, family.sizes, family.span)


def _value(name: str, text: str, values: tuple[Tuning, ...]) -> Tuning:
    """The value written as `4`, `4x8` or `(4, 8)`."""
    wanted = text.replace(" ", "").strip("()").replace("x", ",")
    for value in values:
        written = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if written == wanted or str(value) == text:
            return value
    known = ", ".join(map(_text, values))
    raise UserError(Diagnostic("UNKNOWN_VALUE", f"expected one of {known} for {name}, got {text!r}"))


def _text(value: Tuning) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def table(choices: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Table of open choices for people, one a line."""
    width = max(map(len, choices), default=0)
    return tuple(f"  {name:<{width}}  {' '.join(values)}" for name, values in choices.items()) or ("  nothing is open",)
