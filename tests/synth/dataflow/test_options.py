"""Switching an idea of the engine off costs time and nothing else: brute force and the published counts say so."""

from __future__ import annotations

import random

import pytest
from tests.ir.dataflow.random_programs import random_program
from tests.synth.dataflow.every_choice import cost_of, effects_of, every_choice
from tests.synth.dataflow.test_against_published import COUNTS

from warploom.ir.dataflow import Program, parse_program, program_text
from warploom.kernels.dataflow import PROGRAMS
from warploom.solve import Budget
from warploom.synth.dataflow import EngineOptions, solve_program

OPTIONS = {
    "no joins": EngineOptions(joins=False),
    "no look ahead": EngineOptions(look_ahead=False),
    "no factors": EngineOptions(factors=False),
    "no copy counts": EngineOptions(copy_counts=False),
    "one location": EngineOptions(propagation="forward"),
    "nothing": EngineOptions(joins=False, look_ahead=False, factors=False, copy_counts=False, propagation="forward"),
    "z3": EngineOptions(engine="smt"),
}
SMALL = (
    "sf/trove-8x3", "sf/l1/mult-32-with-4", "sf/l1/2d-stencil-3", "sf/l1/trove-cr_sum-1", "sf/hvx-gaussian",
    "sf/universe-soundness-test", "sf/useless-var-test",
)  # fmt: skip


def _assert_right(program: Program, options: EngineOptions) -> None:
    expected = every_choice(program)
    result = solve_program(program, options=options)
    found = [effects_of(program, result, solution) for solution in result.solutions]
    assert result.complete and len(found) == result.solutions.count == len(set(found))
    assert set(found) == expected.solutions
    best = solve_program(program, goal="best", options=options)
    first = solve_program(program, goal="first", options=options)
    for one in (best, first):
        some = [effects_of(program, one, solution) for solution in one.solutions]
        assert set(some) <= expected.solutions and bool(some) == bool(expected.solutions)
    if found:
        (cheapest, *_) = [effects_of(program, best, solution) for solution in best.solutions]
        assert cost_of(program, cheapest) == expected.least_cost


@pytest.mark.parametrize("name", OPTIONS)
def test_every_choice_agrees(name: str) -> None:
    for seed in range(3_000_000, 3_000_025):
        program = random_program(random.Random(seed), 150)
        try:
            _assert_right(program, OPTIONS[name])
        except AssertionError as error:
            raise AssertionError(f"seed {seed}:\n{program_text(program)}") from error


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_every_choice_agrees_long(name: str) -> None:
    for seed in range(3_100_000, 3_101_000):
        _assert_right(random_program(random.Random(seed), 300), OPTIONS[name])


LARGE = {(name, case) for name in ("nothing", "one location") for case in ("sf/hvx-gaussian", "sf/trove-8x3")}
"""Seconds, without what makes the case small."""


@pytest.mark.parametrize(("name", "case"), sorted({(name, case) for name in OPTIONS for case in SMALL} - LARGE))
def test_small_cases_keep_their_counts(name: str, case: str) -> None:
    result = solve_program(parse_program(PROGRAMS[case]()), options=OPTIONS[name])
    assert result.complete
    assert result.solutions.count == COUNTS[case]


@pytest.mark.parametrize("name", ["nothing", "z3"])
def test_a_spent_budget_is_no_proof(name: str) -> None:
    program = parse_program(PROGRAMS["sf/l1/trove-crc-3"]())
    result = solve_program(program, options=OPTIONS[name], budget=Budget(cpu_s=0.2))
    assert not result.complete
    assert result.reason.startswith("budget")
