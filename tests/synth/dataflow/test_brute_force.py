"""The engine against every choice of members: the same solutions and counts, one, the cheapest, and no false proof of none."""

from __future__ import annotations

import random

import pytest
from tests.ir.dataflow.random_programs import random_program
from tests.synth.dataflow.every_choice import difference, every_choice

from warploom.ir.dataflow import parse_program, program_text
from warploom.synth.dataflow import ahead, composed, fold_rows, program_model, readers, solve_program

LIMITS = (
    {(program_model, "LIST_AT_MOST"): 4, (program_model, "FEW"): 1, (ahead, "MAX_FAMILIES"): 1, (ahead, "MAX_LISTED"): 30},
    {(program_model, "LIST_AT_MOST"): 16, (composed, "MAX_PAIRS"): 5, (ahead, "MAX_LISTED"): 300, (readers, "CHUNK"): 64},
    {
        (program_model, "LIST_AT_MOST"): 64,
        (program_model, "FEW_UNDER_FOLDS"): 8,
        (ahead, "MAX_LISTED"): 10,
        (fold_rows, "MATCHED"): 1,
    },
)
"""Small ones take small programs where otherwise only large ones go."""


def assert_agrees(seeds: range, most: int) -> None:
    """Programs with at most `most` choices; the message holds the program."""
    solvable = several = 0
    for seed in seeds:
        program = random_program(random.Random(seed), most)
        found = difference(program)
        assert not found, f"seed {seed}, most {most}: {found}\n{program_text(program)}"
        if seed % 10 == 0:
            solutions = len(every_choice(program).solutions)
            solvable, several = solvable + (solutions > 0), several + (solutions > 1)
    sample = len(seeds) // 10
    assert sample * 0.2 < solvable < sample * 0.9 and several > sample * 0.1


def test_random_programs() -> None:
    assert_agrees(range(1_000_000, 1_000_090), 400)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_many_random_programs(part: int) -> None:
    assert_agrees(range(2_000_000 + 1000 * part, 2_001_000 + 1000 * part), (60, 600, 600, 5000)[part % 4])


@pytest.mark.parametrize("limits", range(len(LIMITS)))
def test_random_programs_under_small_limits(limits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _limit(monkeypatch, limits)
    assert_agrees(range(3_000_000 + 1000 * limits, 3_000_040 + 1000 * limits), 300)


@pytest.mark.slow
@pytest.mark.parametrize("limits", range(len(LIMITS)))
def test_many_random_programs_under_small_limits(limits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _limit(monkeypatch, limits)
    assert_agrees(range(4_000_000 + 2000 * limits, 4_002_000 + 2000 * limits), 600)


def _limit(monkeypatch: pytest.MonkeyPatch, limits: int) -> None:
    for (module, name), value in LIMITS[limits].items():
        monkeypatch.setattr(module, name, value)


FOUND: dict[str, str] = {
    "an output may be a fold of what another output is": """
        define f([3]) -> [2, 2] = {a = [0, 0, 0, 0], b = [0, 0, 0, 2]}
        define g([2]) -> [2] = {a = [0, 0], b = [0, 1]}
        x: [3] = [2, 3, _]
        y: [2, 2] = fold ?f(x)
        z: [2] = ?g(y)
        goal: [2] = [_, fold{2, 2}]
    """,
    "outputs of a fold are no copies of its elements": """
        define f([3, 3]) -> [2, 2, 2] = [(1, 0), (1, 0), 0, 0, 0, 0, 0, 0]
        x: [3, 3] = [[1, 2, zero], [2, 1, 1], [0, 2, 2]]
        a: [3, 3] = ?col_rots_no_group(x)
        b: [3, 3] = ?col_xforms(a)
        c: [3, 3] = ?col_rots(b)
        y: [2, 2, 2] = fold f(c)
        z: [2, 1] = ?general_select_no_consts{axis=1, dims=[0, 1]}(y)
        goal: [2, 1] = [[zero], [_]]
    """,
    "a long fold inside a fold counts its copies": """
        define f([1]) -> [1, 4] = {a = [0, 0, 0, (1, 0)], b = [0, 0, (1, 0), (1, 0)]}
        x: [1] = [1]
        y: [1, 4] = fold ?f(x)
        z: [1, 1] = fold reshape(y)
        goal: [1] = [fold{fold{1}}]
    """,
    "a value that the goal names is one class with values that it does not name": """
        x: [2, 4] = range(1, 9)
        y: [2, 4] = ?col_rots(x)
        z: [2, 4] = fold ?row_rots(y)
        goal: [2] = [_, fold{1, 2, 3, 4}]
    """,
    "elements that share a point read in the same way": """
        x: [2, 2] = [[0, 4], [1, 0]]
        a: [2, 2] = ?col_rots(x)
        b: [2, 2] = ?col_rots(a)
        c: [2, 2] = ?col_rots(b)
        goal: [2, 2] = [[_, _], [0, 0]]
    """,
    "a literal of folds may be in one class with symbols": """
        x: [2, 3] = [[1, 2, 3], [5, 6, fold{0, 4}]]
        y: [2, 3] = ?col_rots(x)
        z: [2, 3] = fold ?row_rots(y)
        goal: [2] = [fold{5, 6, fold{0, 4}}, _]
    """,
    "three holes of one name on one line": """
        define f([2]) -> [2] = {a = [0, 1], b = [1, 0]}
        x: [2] = [0, 1]
        y: [2] = ?f(x) y: [2] = ?f(y) y: [2] = ?f(y)
        goal: [2] = [0, 1]
    """,
}
"""Programs that were once solved wrongly, each by what must not be overlooked."""


@pytest.mark.parametrize("name", FOUND)
def test_programs_that_were_hard(name: str) -> None:
    assert not difference(parse_program(FOUND[name]))


FOUND_IMPLICIT: dict[str, str] = {
    "rows of a reader that read the same differ in their options": """
        x: [2, 4] = range(1, 9)
        a: [2, 4] = ?row_rots(x)
        b: [2, 4] = ?row_rots_no_group(a)
        y: [2, 4] = fold(*) ?row_rots(b)
        goal: [2] = [fold(*){1, 2, 3, 4}, fold(*){5, 6, 7, 8}]
    """,
    "splitting points ends": """
        define f([2]) -> [4] = {a = [1, 1, 0, 0], b = [0, 0, 1, 0], c = [0, 0, 0, 1]}
        x: [2, 1, 3] = range(1, 7)
        y: [2, 1, 3] = fold ?cond_keep_no_consts{restrict=[0, 0]}(x)
        z: [2] = y
        a: [4] = ?f(z)
        b: [4] = ?grouped_perms{group=4}(a)
        goal: [4] = [_, _, _, zero]
    """,
}
"""Programs that were once solved wrongly where sets stay implicit."""


@pytest.mark.parametrize("name", FOUND_IMPLICIT)
def test_programs_that_were_hard_under_small_limits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _limit(monkeypatch, 0)
    assert not difference(parse_program(FOUND_IMPLICIT[name]))


def test_holes_that_do_not_matter_multiply_the_count() -> None:
    program = parse_program("""
        x: [4] = range(0, 4)
        unread: [4] = ?grouped_perms{group=4}(x)
        half: [4] = ?grouped_perms{group=2}(x)
        y: [4] = ?grouped_perms{group=4}(x)
        z: [4, 2] = stack(y, half)
        goal: [4, 2] = [[3, _], [_, _], [0, _], [_, _]]
    """)
    assert not difference(program)
    assert solve_program(program).solutions.count == 24 * 2 * 2


def test_no_hole_at_all() -> None:
    for goal, count in (("[0, 1]", 1), ("[1, 0]", 0), ("[_, _]", 1)):
        program = parse_program(f"x: [2] = [0, 1]\ngoal: [2] = {goal}")
        assert not difference(program)
        assert solve_program(program).solutions.count == count
