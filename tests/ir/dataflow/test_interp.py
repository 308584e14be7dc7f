"""The interpreter and the built-in goals on examples worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.ir.dataflow import (
    MISSING,
    NOUGHT,
    Folded,
    Value,
    builtin_goal,
    folded,
    meets_goal,
    named_statements,
    parse_program,
    run_program,
)


def plus(*values: Value) -> Folded:
    return Folded("+", values)


def test_values_of_folds() -> None:
    assert folded("+", [3, 1, 2, 1]) == plus(1, 1, 2, 3)
    assert folded("+", [3, NOUGHT]) == plus(3) != 3
    assert folded("+", [NOUGHT, NOUGHT]) == NOUGHT == folded("+", [])
    assert folded("+", [3, MISSING, NOUGHT]) == MISSING
    assert folded("+", [Folded("*", (5, 6)), 7, plus(1, 2), plus(9)]) == plus(7, Folded("*", (5, 6)), plus(9), plus(1, 2))
    assert folded("+", [plus(1, 2), 3]) != plus(1, 2, 3)
    assert plus(1, 2) != Folded("*", (1, 2))


def test_every_statement_by_hand() -> None:
    text = r"""
    x: [2, 2] = [[7, 8], [_, zero]]
    t: [2, 2] = transpose(x)
    s: [2, 2, 2] = stack(x, t)
    p: [2, 2, 2] = fold(*) s
    p: [2, 2] = fold(+) p
    y: [2] = {
      x: [2] = load_trunc(p)
      last: [2] = gather(\i. _ if i == 0 else [i])(x)
    }
    out: [2, 2] = stack(y, p)
    goal: [2, 2] = [[_, _], [_, zero]]
    """
    program = parse_program(text)
    values = run_program(program, {})
    product = Folded("*", (7, 7))
    assert values["t"] == [7, MISSING, 8, NOUGHT]
    assert values["s"] == [7, 7, 8, MISSING, MISSING, 8, NOUGHT, NOUGHT]
    assert values["p@5"] == [product, MISSING, MISSING, NOUGHT]
    assert values["p@6"] == [MISSING, MISSING]
    assert values["y.x"] == values["p@6"] and values["y.last"] == values["y"] == [MISSING, MISSING]
    assert list(values) == ["x", "t", "s", "p@5", "p@6", "y.x", "y.last", "y", "out"]
    assert not meets_goal(program, {})


def test_a_goal_asks_only_for_what_it_names() -> None:
    text = "x: [2, 2] = [[0, _], [zero, 5]]\ny: [4] = x\ngoal: [4] = "
    assert meets_goal(parse_program(text + "[0, _, zero, 5]"), {})
    assert meets_goal(parse_program(text + "[_, _, _, _]"), {})
    assert not meets_goal(parse_program(text + "[0, zero, zero, 5]"), {})
    assert not meets_goal(parse_program(text + "[0, 1, zero, 5]"), {})
    assert not meets_goal(parse_program(text + "[0, _, zero, fold{5}]"), {})


def test_holes_take_the_given_gathers() -> None:
    text = """
    define f([2], [2]) -> [2] = {a = [0, (1, 0)], b = [(2, 0), -1]}
    x: [2] = [5, 6]
    b: [2] = {
      y: [2] = ?f(x, x)
    }
    y: [2] = ?f(x, b)
    goal: [2] = [5, zero]
    """
    program = parse_program(text)
    values = run_program(program, {"b.y": np.array([-1, -2]), "y": np.array([0, 2])})
    assert values["b"] == [NOUGHT, MISSING] and values["y"] == [5, NOUGHT]
    assert meets_goal(program, {"b.y": np.array([-1, -2]), "y": np.array([0, 2])})
    with pytest.raises(KeyError, match=r"no gather for the hole b\.y"):
        run_program(program, {"y": np.array([0, 2])})
    with pytest.raises(ValueError, match="expected 2 sources, got 1"):
        run_program(program, {"b.y": np.array([0]), "y": np.array([0, 2])})
    with pytest.raises(ValueError, match="a source outside the 4 elements"):
        run_program(program, {"b.y": np.array([0, 4]), "y": np.array([0, 2])})


def test_names_of_repeated_statements() -> None:
    text = "a: [1] = [1]\na: [1] = a b: [1] = a a: [1] = b\nblock: [1] = { a: [1] = a }\ngoal: [1] id"
    names = [name for name, _ in named_statements(parse_program(text))]
    assert names == ["a@1", "a@2:1", "b", "a@2:23", "block.a", "block"]


def test_builtin_goals_by_hand() -> None:
    def times(*values: int) -> Folded:
        return Folded("*", values)

    assert builtin_goal("id", {}, (2, 2), False) == (0, 1, 2, 3) == builtin_goal("trove", {}, (2, 2), True)
    assert builtin_goal("trove_sum", {"n": 2}, (2,), True) == (plus(0, 1), plus(2, 3))
    assert builtin_goal("conv_dealg", {}, (3, 2), False) == (0, 1, 1, 2, 2, 3)
    assert builtin_goal("conv", {"k": 2}, (2,), False) == (Folded("", (0, 1)), Folded("", (1, 2)))
    assert builtin_goal("conv", {"k": 1}, (2,), True) == (plus(0), plus(1))
    assert builtin_goal("weight_conv", {"k": 2}, (2,), True) == (plus(times(0, 3), times(1, 4)), plus(times(1, 3), times(2, 4)))
    assert builtin_goal("stencil_2d", {"k": 2}, (2, 1), True) == (plus(0, 1, 2, 3), plus(2, 3, 4, 5))
    assert builtin_goal("poly_mult", {"w": 2}, (4,), True) == (
        plus(times(0, 2)), plus(times(0, 3), times(1, 2)), plus(times(1, 3)), NOUGHT,
    )  # fmt: skip
