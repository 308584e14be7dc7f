"""`warploom synth --best`: the setting of a family's parameters that the cost model prefers on an architecture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from warploom.core import Diagnostic, Span, UnsupportedError, UserError, require_file
from warploom.core.limits import LimitReachedError
from warploom.kernels import find, is_example
from warploom.kernels.tunables import is_tunable, tunable_sketch
from warploom.machines import compiled_architecture
from warploom.schedule.sketches import (
    ALIKE,
    USUAL_THREADS,
    FamilyModel,
    Modelled,
    Other,
    Setting,
    TunableSketch,
    Tuned,
    text_of,
)
from warploom.sketch import Sketch, load, load_variables
from warploom.solve import Incumbent, Outcome, order_named, run_order
from warploom.solve import Progress as SearchProgress
from warploom.synth import Report, without_collection
from warploom.tools.command.lines import Line
from warploom.tools.command.outcome import Progress
from warploom.tools.synth.targets import Target, is_path

HOW_ALIKE = (
    f"times within {ALIKE:.0%} are alike: of these, blocks of {USUAL_THREADS.start} to {USUAL_THREADS[-1]} threads, then "
    "the fewest instructions"
)


@dataclass(frozen=True, slots=True)
class Best:
    """The sketch of the fastest setting, and why it was taken."""

    target: Target
    fields: Line
    reason: str
    report: Report
    """The completion that the search found, and what is proved of it."""
    ended: str
    """Reason why the search ended before it was complete; empty where it was."""


def best_of(case: str, family: TunableSketch, arch: str, budget_s: float | None, progress: Progress) -> Best:
    """The fastest setting by the model, at the family's sizes. UnsupportedError (NO_SETTING) where there is none,
    LimitReachedError where the search gave up before it had one."""
    found, model = picked(family, arch, budget_s, progress)
    tuned, others = found.answers[0][1], list[Other]()
    with suppress(KeyboardInterrupt):  # figures beside what was found
        others = list(model.others(tuned.setting))
    arch = model.device.name
    fields = _fields(tuned, arch, model) | others_field(others)
    reason = reason_text(tuned, arch, others)
    return Best(Target(case, family.build(**tuned.setting)), fields, reason, tuned.report, found.reason)


def picked(family: TunableSketch, arch: str, budget_s: float | None, progress: Progress) -> tuple[Outcome[Tuned], FamilyModel]:
    """The search that has the completed kernel of that setting, and the family as far as it was searched; as `best_of`."""
    device = compiled_architecture(arch)
    model = FamilyModel(family, dict(family.sizes), device, budget_s, fixed={}, progress=progress)

    def tell(told: SearchProgress) -> None:
        progress(f"{told.statistics.nodes} nodes, {model.completed} kernels completed")

    with without_collection():
        incumbent = Incumbent(model, strategy=model.next_choice, progress=tell)
        found = with_unjudged(model, run_order(incumbent, order_named("depth-first")), "the proof follows")
    if not found.answers:
        why = (model.why_none() if found.complete else "") or found.reason or "the budget ended"
        if not found.complete or model.given_up:
            raise LimitReachedError(why)
        message = f"expected a setting of the parameters with a kernel, got none: {why}"
        raise UnsupportedError(Diagnostic("NO_SETTING", message, family.span, "Give it another --arch."))
    return found, model


def with_unjudged(model: FamilyModel, found: Outcome[Tuned], hint: str) -> Outcome[Tuned]:
    """Where a search ended before any kernel was proved: with the one whose proof it interrupted. `hint`: what proves it."""
    if found.answers or found.complete:
        return found
    kept = model.unjudged(f"{found.reason}, during the proof; {hint}")
    return found if kept is None else replace(found, answers=(kept,))


def decisions_of(setting: Setting) -> dict[str, object]:
    """Parameters as a report line has them."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in setting.items()}


def time_fields(tuned: Tuned) -> Line:
    """The time that the kernel takes, and what binds it."""
    return {
        "time_ms": round(tuned.ms, 6),
        "time_is": "modelled" if tuned.measured_ms is None else "measured",
        "binds": tuned.modelled.binds,
        "terms_ms": {name: round(ms, 6) for name, ms in tuned.modelled.terms.items()},
        **block_fields(tuned.modelled),
    }


def block_fields(modelled: Modelled) -> Line:
    """Cycles of a block by itself, and how many of them it only waits for data from global memory."""
    return {"block_cycles": round(modelled.block.cycles), "waited_cycles": round(modelled.block.waited)}


def _fields(tuned: Tuned, arch: str, model: FamilyModel) -> Line:
    asked = {"decisions": decisions_of(tuned.setting), "sizes": dict(model.sizes), "arch": arch}
    return {**asked, **time_fields(tuned), "completed": model.completed}


def others_field(others: Sequence[Other]) -> Line:
    """The values that were not chosen, with their times or bounds."""
    return {"others": [_told(other) for other in others]}


def _told(other: Other) -> Line:
    time_is = "at_least_ms" if other.is_bound else "time_ms"
    return {
        **decisions_of({other.parameter: other.value}),
        time_is: round(other.ms, 6),
        "binds": other.modelled.binds,
        **block_fields(other.modelled),
    }


def reason_text(tuned: Tuned, arch: str, others: Sequence[Other]) -> str:
    """Why a setting was taken: its time beside those of the other values, and which of the alike is preferred."""
    is_measured = tuned.measured_ms is not None
    chosen = text_of(tuned.setting) or "no parameters are open"
    best = f"  {chosen}: {tuned.ms:.6g} ms {'measured' if is_measured else 'modelled'} on {arch}, {_bound(tuned.modelled)}"
    rest = (
        f"    {text_of({o.parameter: o.value})}: {'at least ' if o.is_bound else ''}{o.ms:.6g} ms, {_bound(o.modelled)}"
        for o in others
    )
    is_alike = not is_measured and any(o.ms < tuned.ms * (1 + ALIKE) for o in others)
    return "\n".join([best, *rest, *([f"    {HOW_ALIKE}"] if is_alike else [])])


def _bound(modelled: Modelled) -> str:
    """The unit that binds a kernel, and for how long instructions are issued; of latency, how long a block waits."""
    if modelled.binds != "latency":
        return f"bound by {modelled.binds}" + (f", issue {modelled.issue_ms:.3g} ms" if modelled.binds != "issue" else "")
    block = modelled.block
    return f"bound by latency: a block waits {block.waited:.0f} of its {block.cycles:.0f} cycles for data"


def family_of(text: str) -> TunableSketch:
    """The family called `text`, or that of `FILE.py[:NAME]`; a sketch without parameters is a family of one.

    UserError says what was expected.
    """
    if is_tunable(text):
        return tunable_sketch(text)
    if is_example(text):
        return TunableSketch.of(find(text).sketch)
    file, colon, name = text.rpartition(":")
    if not colon or Path(text).exists():
        file, name = text, ""
    if not is_path(file):
        return TunableSketch.of(find(text).sketch)
    require_file(file)
    found = families_of(file)
    if not found:
        load(file, name or None)  # says what is wrong with the file
    if name in found:
        return found[name]
    if not name and len(set(map(id, found.values()))) == 1:
        return next(iter(found.values()))
    known = ", ".join(found)
    message = f"expected one sketch of {file}, got {known}" if not name else f"expected one of {known}, got {name!r}"
    raise UserError(Diagnostic("SEVERAL_SKETCHES", message, Span(file, 1, 1, 1, 1), f"Name one: {file}:{next(iter(found))}"))


def families_of(path: str) -> dict[str, TunableSketch]:
    """The families and sketches of a file, by the names of their variables and by their own."""
    try:
        return families_among(load_variables(path))
    except UserError:
        return {}  # a file of tensor functions reports its own errors


def families_among(variables: Mapping[str, object]) -> dict[str, TunableSketch]:
    """The same of the variables of a file."""
    found: dict[str, TunableSketch] = {}
    for variable, value in variables.items():
        match value:
            case TunableSketch():
                found[variable] = value
            case Sketch():
                found[value.name] = TunableSketch.of(value)
                found[variable] = found[value.name]
            case _:
                pass
    return found
