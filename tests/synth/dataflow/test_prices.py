"""Shuffles and selects of dataflow programs against the printed kernels and against all solutions, one by one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError
from warploom.gpu import lower
from warploom.ir import For, IndexConst, ValueSelect, run
from warploom.ir.dataflow import Gathered, GatherSet, Program, named_statements, parse_program
from warploom.ir.swizzle import IntArray
from warploom.solve import Budget
from warploom.synth import movement_sketch
from warploom.synth.dataflow import (
    OF_MACHINES,
    ONLY_COST,
    Objective,
    Solution,
    machine_counts,
    objective_of,
    program_movement,
    read_objective,
    solve_program,
)  # fmt: skip


def transpose(m: int, n: int, row: str = "row", col: str = "col") -> Program:
    text = f"""x: [{m * n}] = range(0, {m * n})
loaded: [{n}, {m}] = load_rep(x)
s1: [{n}, {m}] = ?{row}(loaded)
s2: [{n}, {m}] = ?{col}(s1)
s3: [{n}, {m}] = ?{row}(s2)
goal: [{n}, {m}] trove
"""
    return parse_program(text, "t")


BETWEEN_LANES_TWICE = """x: [12] = range(0, 12)
loaded: [4, 3] = load_rep(x)
there: [4, 3] = swizzle_col(\\i, j. (i + j) % 4)(loaded)
on: [4, 3] = swizzle_col(\\i, j. (i + 1) % 4)(there)
out: [4, 3] = ?row_xforms(on)
goal: [4, 3] = [[_, _, _], [_, _, _], [_, _, _], [_, _, _]]
""".replace("\\\\", "\\")
TWO_VALUES_OF_A_LANE = """x: [8] = range(0, 8)
loaded: [4, 2] = load_rep(x)
out: [4, 2] = gather(\\i, j. [i // 2, i % 2])(loaded)
end: [4, 2] = ?row_rots(out)
goal: [4, 2] = [[_, _], [_, _], [_, _], [_, _]]
""".replace("\\\\", "\\")


def choices_of(program: Program) -> dict[str, GatherSet]:
    found = {name: s.value.choices for name, s in named_statements(program) if isinstance(s.value, Gathered)}
    return {name: choices for name, choices in found.items() if not choices.is_single}


def gathers_of(program: Program, solution: Solution) -> dict[str, IntArray]:
    choices = choices_of(program)
    return {name: choices[name].gather(member.table.astype(np.int64)) for name, member in solution.members.items()}


def counts_of(program: Program, solution: Solution) -> tuple[int, int, int]:
    counts = machine_counts(program, gathers_of(program, solution))
    return counts["shuffles"], counts["selects"], solution.cost


def selects_in(node: Any) -> int:
    """Selects of values that run, loops counted out."""
    if isinstance(node, tuple):
        return sum(selects_in(part) for part in node)
    if not is_dataclass(node):
        return 0
    inside = sum(selects_in(getattr(node, f.name)) for f in fields(node))
    if isinstance(node, For):
        assert isinstance(node.start, IndexConst) and isinstance(node.stop, IndexConst)
        return inside * int(node.stop.value - node.start.value)
    return inside + isinstance(node, ValueSelect)


@pytest.mark.parametrize(
    "program",
    [
        transpose(3, 8), transpose(4, 8), transpose(5, 8), transpose(7, 8, "row_xforms", "col_xforms"),
        parse_program(BETWEEN_LANES_TWICE, "t"),
    ],
)  # fmt: skip
def test_counts_are_those_of_the_printed_kernel(program: Program) -> None:
    solution = next(iter(solve_program(program, goal="best", objective=OF_MACHINES).solutions))
    gathers = gathers_of(program, solution)
    kernel = movement_sketch(program_movement("case", program, gathers)).kernel
    arrays = {
        p.name: np.zeros(int(p.shape[0].value), np.float32)
        for p in kernel.params
        if p.is_input and isinstance(p.shape[0], IndexConst)
    }
    shuffles = run(kernel, arrays, check_races=False).counts.shuffles
    assert machine_counts(program, gathers) == {"shuffles": shuffles, "selects": selects_in(lower(kernel, {}).kernel.body)}


def test_two_moves_between_lanes_are_one_and_a_register_that_stays_is_not_moved() -> None:
    program = parse_program(BETWEEN_LANES_TWICE, "t")
    solution = next(iter(solve_program(program, goal="best", objective=OF_MACHINES).solutions))
    assert counts_of(program, solution)[0] == 3  # registers 0 to 2 come from 1 to 3 lanes further
    shifted = parse_program(BETWEEN_LANES_TWICE.replace("i + 1", "i + 2"), "t")
    solution = next(iter(solve_program(shifted, goal="best", objective=OF_MACHINES).solutions))
    assert counts_of(shifted, solution)[0] == 2  # 2, 3 and 4 lanes further


def test_a_lane_that_sends_two_values_takes_two_shuffles() -> None:
    program = parse_program(TWO_VALUES_OF_A_LANE, "t")
    solution = next(iter(solve_program(program, goal="best", objective=OF_MACHINES).solutions))
    assert counts_of(program, solution)[0] == 4


@pytest.mark.parametrize("objective", [OF_MACHINES, Objective(("selects", "cost")), ONLY_COST])
def test_the_best_is_the_least_of_all(objective: Objective) -> None:
    program = transpose(4, 4, "row{space=3}", "col{space=3}")
    places = [("shuffles", "selects", "cost").index(part) for part in objective.parts]
    every = [counts_of(program, solution) for solution in solve_program(program).solutions]
    result = solve_program(program, goal="best", objective=objective)
    mine = counts_of(program, next(iter(result.solutions)))
    assert len(every) > 1
    assert [mine[p] for p in places] == min([one[p] for p in places] for one in every)


def test_a_transpose_of_4_by_32_costs_what_bench_transposes_finds() -> None:
    program = transpose(4, 32)
    solution = next(iter(solve_program(program, goal="best", objective=OF_MACHINES).solutions))
    assert counts_of(program, solution) == (4, 16, 9)


def test_members_that_cost_little_are_tried_first_and_change_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    program = transpose(4, 8)
    before = solve_program(program, goal="best", objective=OF_MACHINES)
    monkeypatch.setattr("warploom.synth.dataflow.solve.LARGE", 0)
    after = solve_program(program, goal="best", objective=OF_MACHINES)
    best = [counts_of(program, next(iter(found.solutions))) for found in (before, after)]
    assert best[0] == best[1] and after.complete and after.statistics.answers > 0


def test_an_answer_of_cheap_members_is_kept_where_the_budget_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    program = transpose(4, 8)
    monkeypatch.setattr("warploom.synth.dataflow.solve.LARGE", 0)
    cheap = solve_program(program, goal="best", objective=OF_MACHINES).statistics
    nodes = cheap.tried - 1
    found = solve_program(program, goal="best", objective=OF_MACHINES, budget=Budget(nodes=nodes))
    assert not found.complete and found.reason == "budget: nodes" and found.solutions.count > 0


def test_more_lanes_than_a_warp_has_are_no_warp() -> None:
    program = transpose(2, 33)
    assert objective_of(program, OF_MACHINES) == ONLY_COST
    assert objective_of(transpose(2, 32), OF_MACHINES) == OF_MACHINES


@pytest.mark.parametrize("text", ["", "cost, shuffles", "shuffles", "shuffles, shuffles, cost", "wavefronts, cost"])
def test_other_objectives_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="expected some of shuffles, selects"):
        read_objective(text)
