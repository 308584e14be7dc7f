"""The paper's listings and benchmark definitions as programs; solutions found by hand meet their goals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ir.dataflow import programs
from tests.ir.dataflow.sets.members import gathers

from warploom.ir.dataflow import (
    MISSING,
    Block,
    Gathered,
    Program,
    Statement,
    meets_goal,
    named_statements,
    only_member,
    parse_program,
    run_program,
    verify_program,
)


def holes(program: Program) -> dict[str, Statement]:
    return {
        name: statement
        for name, statement in named_statements(program)
        if isinstance(statement.value, Gathered) and not statement.value.choices.is_single
    }


def row_gather(table: list[list[int]]) -> np.ndarray:
    """Sources of a shuffle within rows."""
    return np.array([i * len(row) + j for i, row in enumerate(table) for j in row])


@pytest.mark.parametrize("text", [programs.LISTING_2, programs.LISTING_4])
def test_paper_programs_meet_their_goals(text: str) -> None:
    program = parse_program(text)
    verify_program(program)
    assert holes(program) == {} and meets_goal(program, {})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (programs.LISTING_6, ["s1", "s2", "s3"]),
        (programs.LISTING_8, ["to_send", "received"]),
        (programs.TROVE_8X3, ["s1", "s2", "s3", "s4", "s5", "s6"]),
        (programs.STENCIL_1D, ["to_send", "received_1", "received", "out"]),
        (
            programs.MULT_32_WITH_4,
            ["block_a.picked_1", "block_a.picked", "block_b.picked_1", "block_b.picked", "filtered_1", "filtered_2"],
        ),
    ],
)
def test_sketches_have_their_holes(text: str, names: list[str]) -> None:
    program = parse_program(text)
    verify_program(program)
    assert list(holes(program)) == names


def test_the_two_forms_of_a_fold_agree() -> None:
    paper = parse_program("x: [2, 3] = range(0, 6)\nout: [2] = fold x\ngoal: [2] trove_sum{n=3}")
    tool = parse_program("x: [2, 3] = range(0, 6)\nout: [2, 3] = fold x\ngoal: [2] = fold [[0, 1, 2], [3, 4, 5]]")
    explicit = parse_program("x: [2, 3] = range(0, 6)\nout: [2] = fold x{fold_len=3}\ngoal: [2, 3] = fold range(0, 6)")
    for program in (paper, tool, explicit):
        assert program.statements[-1].shape == (2,) and meets_goal(program, {})


def trove_solution() -> dict[str, np.ndarray]:
    """Element e = i + 8j goes to register e % 3 inside its thread e % 8, then to thread e // 3."""
    still = np.arange(24)
    columns = np.array([[(3 * i + j) % 8 * 3 + j for j in range(3)] for i in range(8)]).ravel()
    rows = row_gather([[(2 * j + i) % 3 for j in range(3)] for i in range(8)])
    return {"s1": rows, "s2": still, "s3": columns, "s4": still, "s5": still, "s6": still}


def test_a_known_solution_of_trove_8x3() -> None:
    program = parse_program(programs.TROVE_8X3)
    solution = trove_solution()
    assert meets_goal(program, solution)
    for name, statement in holes(program).items():
        assert isinstance(statement.value, Gathered)
        assert tuple(solution[name].tolist()) in gathers(statement.value.choices), f"{name} is no member"
    solution["s4"] = np.roll(solution["s4"], 3)
    assert not meets_goal(program, solution)


def test_a_known_solution_of_the_stencil() -> None:
    program = parse_program(programs.STENCIL_1D)
    still = np.arange(96)
    send = np.array([i * 2 + (0 if i >= j else 1) for i in range(32) for j in range(3)])
    receive = np.array([(i + j) % 32 * 3 + j for i in range(32) for j in range(3)])
    solution = {"to_send": send, "received_1": receive, "received": still, "out": still}
    assert meets_goal(program, solution)
    for name, statement in holes(program).items():
        assert isinstance(statement.value, Gathered)
        assert tuple(solution[name].tolist()) in gathers(statement.value.choices), f"{name} is no member"


def test_a_known_solution_of_mult_32_with_4() -> None:
    """Thread t multiplies a_k by b_(t-k mod 4): the low accumulator takes the pairs without wrap."""
    program = parse_program(programs.MULT_32_WITH_4)
    still = np.arange(16)
    a = np.array([4 * t + k for t in range(4) for k in range(4)])
    b = np.array([4 * t + (t - k) % 4 for t in range(4) for k in range(4)])

    def keep(accumulator: int) -> np.ndarray:
        return np.array(
            [
                (t * 2 + c) * 4 + k if c != accumulator or (k <= t) == (c == 0) else -1
                for t in range(4) for c in range(2) for k in range(4)
            ]
        )  # fmt: skip

    solution = {
        "block_a.picked_1": a, "block_a.picked": still, "block_b.picked_1": b, "block_b.picked": still,
        "filtered_1": keep(0), "filtered_2": keep(1),
    }  # fmt: skip
    assert meets_goal(program, solution)
    for name, statement in holes(program).items():
        assert isinstance(statement.value, Gathered)
        assert tuple(solution[name].tolist()) in gathers(statement.value.choices), f"{name} is no member"


def test_a_2d_stencil_of_225_points() -> None:
    text = r"""
    src: [18, 18] = range(0, 324)
    window: [4, 4, 15, 15] = gather(\i, j, p, q. [i + p, j + q])(src)
    flat: [4, 4, 225] = window
    out: [4, 4, 225] = fold(+) flat
    goal: [4, 4] stencil_2d{k=15}
    """
    assert meets_goal(parse_program(text), {})


def test_every_statement_has_values() -> None:
    program = parse_program(programs.STENCIL_1D)
    members = {
        name: np.array(next(iter(gathers(s.value.choices))))
        for name, s in holes(program).items()
        if isinstance(s.value, Gathered)
    }
    values = run_program(program, members)
    assert list(values) == ["x", "loaded", "to_send", "received_1", "received", "out"]
    assert values["loaded"][:6] == [0, 32, 1, 33, 2, MISSING]
    assert len(values["out"]) == 32


def test_blocks_and_single_members() -> None:
    program = parse_program(programs.MULT_32_WITH_4)
    block = program.statements[0].value
    assert isinstance(block, Block)
    spread = block.statements[1].value
    assert isinstance(spread, Gathered) and only_member(spread.choices).tolist() == [0, 1, 2, 3] * 4
    names = [name for name, _ in named_statements(program)]
    assert names[:5] == ["block_a.a@3", "block_a.a@4", "block_a.picked_1", "block_a.picked", "block_a"]
