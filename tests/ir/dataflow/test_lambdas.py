"""Index lambdas against Python's own arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core import UserError
from warploom.ir.dataflow import UNDEFINED, ZERO, Gathered, only_member, parse_program
from warploom.ir.dataflow.lambda_syntax import lambda_text, read_lambda
from warploom.ir.dataflow.lambda_values import lambda_value
from warploom.ir.dataflow.tokens import Cursor, source_of

BINARY = ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
ATOMS = st.sampled_from(["i", "j", "0", "1", "2", "5", "31"])


def expressions() -> st.SearchStrategy[str]:
    """Python expressions; comparisons in parentheses, since chains mean something else."""

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        def join(op: str, lhs: str, rhs: str) -> str:
            if op in ("and", "or"):
                return f"(bool({lhs}) {op} bool({rhs}))"
            return f"({lhs} {op} {rhs})" if "=" in op or "<" in op or ">" in op else f"{lhs} {op} {rhs}"

        return st.one_of(
            st.builds(join, st.sampled_from(BINARY), inner, inner),
            st.builds(lambda e: f"-{e}", inner),
            st.builds(lambda e: f"(not {e})", inner),
            st.builds(lambda e: f"({e})", inner),
            st.builds(lambda a, c, b: f"({a} if {c} else {b})", inner, inner, inner),
        )

    return st.recursive(ATOMS, larger, max_leaves=12)


def value(text: str, i: int, j: int) -> object:
    index = read_lambda(Cursor(source_of("\\i, j. " + text.replace("bool", ""), "lambda")))
    printed = lambda_text(index)
    again = read_lambda(Cursor(source_of(printed, "printed")))
    assert lambda_text(again) == printed
    result = lambda_value(index, (i, j))
    assert lambda_value(again, (i, j)) == result
    return result


@settings(max_examples=400, deadline=None)
@given(expressions(), st.integers(0, 40), st.integers(0, 40))
def test_values_are_pythons(text: str, i: int, j: int) -> None:
    try:
        expected = eval(text, {"bool": bool}, {"i": i, "j": j})
        if abs(expected) >> 200:
            return
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError):
        with pytest.raises(UserError):
            value(text, i, j)
        return
    try:
        assert value(text, i, j) == expected
    except UserError as error:
        # Shifts stop at 40 here.
        assert error.diagnostics[0].code == "INDEX_RANGE" and "shift" in error.diagnostics[0].message
        return


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3i + j % 4", 3 * 5 + 6 % 4),
        ("i / 2", 2),
        ("i > j ? 1 : i == 5 ? 2 : 3", 2),
        ("1 if i > j else 2 if i == 5 else 3", 2),
        ("not i == j and j == 6", True),
        ("i ^ j & 3 | 8", 5 ^ (6 & 3) | 8),
        ("1 << 2 + 1", 8),
        ("-3i % 4", 1),
        ("0 if i else 1 / 0", 0),
    ],
)
def test_precedence(text: str, expected: object) -> None:
    assert value(text, 5, 6) == expected


def sources(call: str, arguments: str = "x") -> list[int]:
    """Sources of a call with output [2, 2] over x: [2, 2] and y: [3]."""
    text = f"x: [2, 2] = range(0, 4)\ny: [3] = range(4, 7)\nz: [2, 2] = {call}({arguments})\ngoal: [2, 2] id"
    gathered = parse_program(text).statements[-1].value
    assert isinstance(gathered, Gathered)
    return only_member(gathered.choices).tolist()


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        (r"swizzle_row(\i, j. (i + j) % 2)", "x", [0, 1, 3, 2]),
        (r"swizzle_col(\i, j. (i + j) % 2)", "x", [0, 3, 2, 1]),
        (r"select(\i, j. i >= j)", "x", [0, 1, 2, 2]),
        (r"select(\i, j. j)", "x", [0, 1, 2, 3]),
        (r"select(\i, j. _ if i else zero)", "x", [ZERO, ZERO, UNDEFINED, UNDEFINED]),
        (r"gather(\i, j. [j, i])", "x", [0, 2, 1, 3]),
        (r"gather(\i, j. 2i + j)", "x", [0, 1, 2, 3]),
        (r"gather(\i, j. (1, i + j))", "x, y", [4, 5, 5, 6]),
        (r"gather(\i, j. (1, [i + j]) if i == j else [i, j])", "x, y", [4, 1, 2, 6]),
        (r"gather(\i, j. i == 0 ? zero : _)", "x, y", [ZERO, ZERO, UNDEFINED, UNDEFINED]),
    ],
)
def test_calls(call: str, arguments: str, expected: list[int]) -> None:
    assert sources(call, arguments) == expected


def test_a_definition_by_lambda_takes_all_members() -> None:
    text = r"""
    define rotate([4]) -> [4] = {"by 1" = \i. (i + 1) % 4, by_3 = \i. [(i - 1) % 4], again = \i. (i + 5) % 4}
    x: [4] = range(0, 4)
    y: [4] = ?rotate(x)
    goal: [4] id
    """
    gathered = parse_program(text).statements[-1].value
    assert isinstance(gathered, Gathered) and gathered.choices.members.size_bound == 2
    functions = gathered.choices.members.matching(np.ones((4, gathered.choices.members.values), np.bool_))
    assert functions is not None
    assert {gathered.choices.text(functions.expr(n)) for n in range(2)} == {"by 1", "by_3"}
