"""`warploom explore --choices`: what may be decided by hand."""

from __future__ import annotations

from warploom.schedule.bound import Bound
from warploom.schedule.search import KernelModel, recipes
from warploom.tools.command.lines import EXIT_BY_STATUS, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.one_pass import before_search
from warploom.tools.explore.options import Function, KernelOptions
from warploom.tools.explore.parting import parting_of
from warploom.tools.explore.result import facts, named
from warploom.tools.explore.sketch import table
from warploom.tools.explore.worded import open_before_search


def list_choices(case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch) -> Outcome:
    """The choices that the decisions by hand leave open, in the order in which a search takes them, each with those
    of its values that do not contradict the others at once. Those of kernels are of the fewest parts that a sum may have."""
    parting = parting_of(function, options)
    program = parting.first.program
    found: list[dict[str, list[str]]] = []
    for recipe in recipes(program, options.target, Bound, options.features, options.decision_order, parting.first.fixed):
        space = recipe.space()
        candidate = KernelModel(space, Bound(space), fixed=dict(recipe.fixed)).root().candidate
        values: dict[str, list[str]] = {}
        for choice in space.choices(options.decision_order):
            for arguments in candidate.open(choice):
                numbers = tuple(int(str(a)) for a in arguments)
                alternatives = space.alternatives(candidate, choice, numbers)
                possible = [a.value for a in alternatives if candidate.restrict(choice, numbers, a.mask) is not None]
                if len(alternatives) > 1 and possible:
                    values[space.names.text(choice, numbers)] = possible
        before = before_search(recipe.backbone, options.fixed)
        if options.target.kind == "cpu":
            before = open_before_search(recipe.backbone, options.target, options.fixed)
        found.append(before | values)
    line = plain_line(case, "solved", stopwatch.read()) | facts(function, program, options)
    parts: dict[str, list[str]] = {}
    if parting.name and len(parting.variants) > 1:
        parts[parting.name] = [str(n) for n in sorted(parting.variants)]
    choices = parts | named(program, found)
    return Outcome(line | {"choices": choices}, EXIT_BY_STATUS["solved"], details=table(choices))
