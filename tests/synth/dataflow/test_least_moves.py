"""Least moves of a gather, against each solution of small programs, and where nothing may be said."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synth.dataflow.test_prices import counts_of, gathers_of, transpose

from warploom.ir.dataflow import Program, parse_program
from warploom.synth.dataflow import OF_MACHINES, solve_program
from warploom.synth.dataflow.counters import Counters
from warploom.synth.dataflow.least_moves import least_moves
from warploom.synth.dataflow.lower import Lowering
from warploom.synth.dataflow.prices import LeastMoves
from warploom.synth.dataflow.program_model import ProgramModel
from warploom.synth.dataflow.solve import model_of
from warploom.synth.search.propagation import ElementConstraint

TWO_OF_FOUR = """x: [8] = range(0, 8)
loaded: [4, 2] = load_rep(x)
s1: [4, 2] = ?row(loaded)
s2: [4, 2] = ?col(s1)
goal: [4, 2] = [[_, _], [_, _], [_, _], [_, _]]
"""


def least_of(program: Program) -> tuple[ProgramModel, dict[str, LeastMoves]]:
    """The program's model, and by hole what is said of it."""
    counters = Counters()
    lowered = Lowering(program, counters, joins=False, objective=OF_MACHINES).run()
    model = model_of(lowered, counters)
    assert model is not None
    root = model.root()
    assert root is not None
    elements = [c for c in model.constraints if isinstance(c, ElementConstraint)]
    found: dict[str, LeastMoves] = {}
    for number, hole in enumerate(lowered.holes):
        assert hole.prices is not None
        found[hole.names[0]] = least_moves(root, elements, model.filter.injective, number, hole.prices)
    return model, found


@pytest.mark.parametrize(
    ("m", "n", "row", "col"), [(4, 4, "row{space=3}", "col{space=3}"), (4, 8, "row", "col"), (5, 6, "row_xforms", "col")]
)
def test_no_solution_has_less(m: int, n: int, row: str, col: str) -> None:
    program = transpose(m, n, row, col)
    model, least = least_of(program)
    seen = 0
    for solution in solve_program(program).solutions.first(200):
        gathers = gathers_of(program, solution)
        for hole in model.lowered.holes:
            assert hole.prices is not None
            shuffles, selects = hole.prices.gatherings.counts(gathers[hole.names[0]][None])
            said = least[hole.names[0]]
            assert shuffles[0] >= said.shuffles and selects[0] >= said.selects
            seen += 1
    assert seen


def test_what_is_said_of_transposes_is_reached() -> None:
    least = least_of(transpose(4, 8))[1]
    program = transpose(4, 8)
    best = counts_of(program, next(iter(solve_program(program, goal="best", objective=OF_MACHINES).solutions)))
    assert best[:2] == (sum(one.shuffles for one in least.values()), sum(one.selects for one in least.values()))
    assert least == {"s1": LeastMoves(0, 8), "s2": LeastMoves(4, 0), "s3": LeastMoves(0, 8)}


def test_one_value_of_each_lane_may_stay() -> None:
    assert least_of(transpose(4, 4))[1]["s2"].shuffles == 3


def test_nothing_is_said_where_values_are_wanted_twice_or_not_at_all() -> None:
    both = "[[0, 0], [1, 1], [2, 2], [3, 3]]"
    twice = parse_program(TWO_OF_FOUR.replace("[[_, _], [_, _], [_, _], [_, _]]", both), "t")
    missing = parse_program(TWO_OF_FOUR.replace("[[_, _], [_, _], [_, _], [_, _]]", "[[0, _], [_, 2], [3, _], [_, 5]]"), "t")
    for program in (twice, missing):
        assert set(least_of(program)[1].values()) <= {LeastMoves()}


def test_only_answers_below_a_cost_are_looked_for() -> None:
    model, _ = least_of(transpose(4, 4))
    root = model.root()
    assert root is not None
    hole = model.open_choices(root)[0][0]
    every = model._members(root, hole, None, None)
    assert every is not None
    price = model._prices(hole, every)
    most = int(np.median(price))
    kept = model._members(root, hole, None, most)
    assert kept is not None and 0 < len(kept) < len(every)
    least = model._least(hole, None)  # of what is cheaper no answer can be made
    mine = model._prices(hole, kept)
    assert sorted(mine[mine >= least].tolist()) == sorted(price[(price >= least) & (price <= most)].tolist())
