"""Limits and rules of the dataflow language and its sets, each asked by itself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.ir.dataflow.test_errors import GOAL, X

from warploom.core import UnsupportedError, UserError
from warploom.ir import IndexConst, IndexVar
from warploom.ir.dataflow import Program, gather_set, parse_program, program_text, verify_program
from warploom.ir.dataflow.interp import only_member
from warploom.ir.dataflow.lambda_values import _applied  # pyright: ignore[reportPrivateUsage]
from warploom.ir.dataflow.sets import condition_lists, forms
from warploom.ir.dataflow.sets.listed import numbered_text
from warploom.ir.dataflow.text import _is_builtin, _shape  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: [1] = " + "[" * 17 + "1" + "]" * 17 + "\ngoal: [1] id", "expected at most 16 axes, got one more"),
        ("x: 4 = [1]\ngoal: [1] id", "expected a shape such as [4, 8], got `4`"),
        (X + "goal: [2, 2] [[1, 2], [3, 4]]", "expected `=` and a literal, or the name of a built-in goal, got `[`"),
        (X + "y: [2, 2] = fold(+){fold_len=16777216} x" + GOAL, "expected at most 16777216 elements before the fold"),
        (
            "x: [4] = range(0, 4)\ny: [4] = ?reg_select{consts}(x)\ngoal: [4] id",
            "expected a list of numbers for consts, got a flag",
        ),
        ("x: [4] = range(0, 4)\ny: [8] = ?grouped_perms{group=4}(x)\ngoal: [8] id", "expected equal shapes"),
    ],
)
def test_texts_that_are_no_programs(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_program(text, "t.swflow")
    assert [message in d.message for d in caught.value.diagnostics] == [True], caught.value.diagnostics


def test_reading_goes_on_with_the_next_line_only() -> None:
    """An error before a colon on one line is told once."""
    with pytest.raises(UserError) as caught:
        parse_program("x: [2] = $ y: [2] = $\nz: [2] = [0, 1]\ngoal: [2] id", "t.swflow")
    places = [(d.span.line, d.span.column) for d in caught.value.diagnostics]
    assert len(places) == len(set(places)) and {line for line, _ in places} == {1}


def test_shapes_without_an_axis() -> None:
    with pytest.raises(UserError, match="reg_select: expected at least one axis"):
        gather_set("reg_select", {}, ((),), ())
    with pytest.raises(ValueError, match="shapes have at least one axis"):
        _shape(())
    assert _shape((2, 3)) == "[2, 3]"


def test_the_one_member_of_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    several = gather_set("amd_bpermute", {}, ((16,),), (16,))
    with pytest.raises(ValueError, match="a set of up to"):
        only_member(several)
    single: Any = SimpleNamespace(is_single=True, members=SimpleNamespace(points=1, values=1, matching=lambda allowed: None))
    with pytest.raises(ValueError, match="a set that cannot be listed"):
        only_member(single)


def test_lists_of_conditions_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def size() -> int | None:
        choices = gather_set("reg_select_no_consts", {}, ((8, 2),), (8, 3))
        return choices.members.matching(np.ones((choices.members.points, choices.members.values), bool)) and 1

    assert size() == 1
    for limit in ("MOST_CELLS", "MOST_LISTED"):
        with monkeypatch.context() as changed:
            changed.setattr(condition_lists, limit, 3)
            assert size() is None, limit


def test_sources_have_numbers_of_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "define f([4]) -> [1] = {a = [0], b = [1], c = [2], d = [3]}\nx: [4] = range(0, 4)\ny: [1] = ?f(x)\ngoal: [1] id"
    parse_program(text)
    monkeypatch.setattr(forms, "MOST_VALUES", 3)
    with pytest.raises((UserError, UnsupportedError), match="expected at most 3 sources of one element, got 4"):
        parse_program(text)


def test_a_set_without_a_member() -> None:
    program = parse_program("x: [4] = range(0, 4)\ny: [4] = ?grouped_perms{group=4}(x)\ngoal: [4] id")
    last: Any = program.statements[-1]
    nothing: Any = SimpleNamespace(points=4, values=4, size_bound=0)
    choices = replace(last.value.choices, members=nothing)
    broken = replace(last, value=replace(last.value, choices=choices))
    with pytest.raises(UserError) as caught:
        verify_program(_with_last(program, broken))
    assert [d.message for d in caught.value.diagnostics] == ["expected at least one member, got none"]


def _with_last(program: Program, statement: Any) -> Program:
    return replace(program, statements=(*program.statements[:-1], statement))


def test_a_goal_that_is_no_built_in_one_is_printed_as_a_literal() -> None:
    program = parse_program(X + "goal: [2, 2] = [[0, 1], [2, 3]]")
    assert _is_builtin(replace(program.goal, source="nothing{at=}"), False) is False
    assert "goal: [2, 2] = range(0, 4)" in program_text(replace(program, goal=replace(program.goal, source="nothing{at=}")))


def test_nodes_that_are_no_numbers_of_members() -> None:
    text = numbered_text(str)
    assert text(IndexConst(3)) == "3"
    with pytest.raises(TypeError, match="not a member's number"):
        text(IndexVar("i"))
    with pytest.raises(ValueError, match="unknown operator '@'"):
        _applied("@", 1, 2)
