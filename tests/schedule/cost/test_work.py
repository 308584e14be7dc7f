"""Work of decided nests, counted by hand: which units do what."""

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)

from __future__ import annotations

import math

from warploom.core import f32, f64
from warploom.machines import Requests, Work, architecture, usual
from warploom.schedule.choices import kernel_space
from warploom.schedule.cost import modelled, work_of
from warploom.schedule.frontend import exp, out, tensor
from warploom.schedule.nest import Kind, Nest, loops
from warploom.schedule.targets import target


def first_nest(function, size: int) -> Nest:
    """The nest in which every decision has its first value that is possible."""
    stage = function.program({"n": size}).stages[0]
    space = kernel_space(stage, target("sm_86"))
    candidate = space.root()
    while (decision := space.decisions(candidate)) is not None:
        candidate = next(c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None)
    return space.lower(candidate)


def work_of_launch(nest: Nest) -> Work:
    return work_of(nest).times(math.prod(x.size for x in loops(nest.body) if x.kind is Kind.BLOCK))


def test_doubles_go_to_their_own_units() -> None:
    @tensor
    def narrow(X: f32["n"], y: out[f32["n"]]):
        y[i] = X[i] * X[i] + 1

    @tensor
    def wide(X: f64["n"], y: out[f64["n"]]):
        y[i] = X[i] * X[i] + 1

    one, other = first_nest(narrow, 64), first_nest(wide, 64)
    assert work_of_launch(one).floats > 0 and work_of_launch(one).doubles == 0
    assert work_of_launch(other).floats == 0 and work_of_launch(other).doubles > 0
    assert dict(modelled(other, target("sm_86")).parts)["f64 units"] > 0


def test_an_exponential_is_one_instruction_of_the_special_units_and_one_of_the_others() -> None:
    @tensor
    def grown(X: f32["n"], y: out[f32["n"]]):
        y[i] = exp(X[i])

    work = work_of_launch(first_nest(grown, 64))
    assert work.specials == work.floats > 0


def test_loads_of_shared_memory_take_the_load_units() -> None:
    """16 lanes of addresses a cycle on sm_86; a conflict of two takes no longer than these."""
    on = usual(architecture("sm_86"))
    assert [on.cycles(Work(requests=(Requests(1, 0, waves),)))["load path"] for waves in (1, 2, 4)] == [2, 2, 4]
