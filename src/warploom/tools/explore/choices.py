"""`warploom explore --choices`: what may be decided by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from warploom.core.limits import INTERRUPTION, why
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Alternative, KernelSpace
from warploom.schedule.search import KernelModel, recipes
from warploom.solve import BUDGET_SPENT
from warploom.solve.space import IS_REFUTED, IS_UNKNOWN, Candidate, find_possible
from warploom.tools.command.lines import EXIT_BY_STATUS, plain_line
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.one_pass import before_search
from warploom.tools.explore.options import Function, KernelOptions
from warploom.tools.explore.parting import parting_of
from warploom.tools.explore.result import facts, named
from warploom.tools.explore.sketch import table
from warploom.tools.explore.worded import open_before_search

MOST_WORK = 30_000_000
"""Most variables, in propagations, that trying the values of one kernel's choices may look at."""


def _at_once() -> bool:
    return True


def _values(
    space: KernelSpace, candidate: Candidate, order: Sequence[str], is_over: Callable[[], bool]
) -> tuple[dict[str, list[str]], int, str]:
    """The values of each open choice, without those that were found to contradict the others; how many were not tried, and
    why."""
    listed: list[tuple[str, tuple[int, ...], tuple[Alternative, ...]]] = []
    for choice in space.choices(order):
        for arguments in candidate.open(choice):
            numbers = tuple(int(str(a)) for a in arguments)
            alternatives = space.alternatives(candidate, choice, numbers)
            if len(alternatives) > 1:
                listed.append((choice, numbers, alternatives))
    positions = [space.instance.variable(choice, *numbers) for choice, numbers, _ in listed]
    counts = [len(alternatives) for *_, alternatives in listed]
    variables = np.repeat(np.array(positions, dtype=np.int64), counts)
    masks = np.array([a.mask for *_, alternatives in listed for a in alternatives], dtype=np.uint64)
    states = np.full(masks.size, IS_UNKNOWN, dtype=np.uint8)
    most = MOST_WORK // candidate.domains.size
    ended = f"{BUDGET_SPENT}propagations"
    try:
        find_possible(candidate, variables, masks, states, lambda tried: tried >= most or is_over())
        if is_over():
            ended = f"{BUDGET_SPENT}wall seconds"
    except KeyboardInterrupt as error:
        ended = why(error)
    known = iter(states.tolist())
    values: dict[str, list[str]] = {}
    for choice, numbers, alternatives in listed:
        possible = [a.value for a in alternatives if next(known) != IS_REFUTED]
        if possible:
            values[space.names.text(choice, numbers)] = possible
    untried = int((states == IS_UNKNOWN).sum())
    return values, untried, ended if untried else ""


def list_choices(
    case: str, function: Function, options: KernelOptions, stopwatch: Stopwatch, is_over: Callable[[], bool] = lambda: False
) -> Outcome:
    """The choices that the decisions by hand leave open, in the order in which a search takes them, each with those
    of its values that do not contradict the others at once. Those of kernels are of the fewest parts that a sum may have.
    Of a large space not all are tried. Those that were not, also when it `is_over` or is interrupted, are listed, too; `untried`
    counts them."""
    parting = parting_of(function, options)
    program = parting.first.program
    found: list[dict[str, list[str]]] = []
    untried, ended = 0, ""
    for recipe in recipes(program, options.target, Bound, options.features, options.decision_order, parting.first.fixed):
        space = recipe.space()
        candidate = KernelModel(space, Bound(space), fixed=dict(recipe.fixed)).root().candidate
        values, left, why_left = _values(space, candidate, options.decision_order, is_over)
        untried, ended = untried + left, ended or why_left
        if ended == INTERRUPTION:
            is_over = _at_once
        before = before_search(recipe.backbone, options.fixed)
        if options.target.kind == "cpu":
            before = open_before_search(recipe.backbone, options.target, options.fixed)
        found.append(before | values)
    line = plain_line(case, "solved", stopwatch.read()) | facts(function, program, options)
    if untried:
        note = f"{untried} of the values listed were not tried before the end; some of them may contradict the others"
        line |= {"ended": ended, "untried": untried, "note": note}
    parts: dict[str, list[str]] = {}
    if parting.name and len(parting.variants) > 1:
        parts[parting.name] = [str(n) for n in sorted(parting.variants)]
    choices = parts | named(program, found)
    return Outcome(line | {"choices": choices}, EXIT_BY_STATUS["solved"], details=table(choices))
