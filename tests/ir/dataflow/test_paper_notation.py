"""The notation of Swizzleflow's listings: hole sets by their printed names, `j - i % 4`, goals that end in `...`."""

from __future__ import annotations

import pytest
from tests.ir.dataflow import programs
from tests.ir.dataflow.sets.members import gathers

from warploom.core import UserError
from warploom.ir.dataflow import Gathered, Program, meets_goal, parse_program, program_text
from warploom.ir.dataflow.sets import Option, gather_set

X = "x: [4, 4] = range(0, 16)\n"
MOVE = "y: [4, 4] = swizzle_row(\\i, j. {})(x)\n"
ANY = "goal: [4, 4] = [[_, _, _, _], [_, _, _, _], [_, _, _, _], [_, _, _, _]]"


def text_of(program: Program, number: int) -> str:
    value = program.statements[number].value
    assert isinstance(value, Gathered)
    return value.source


@pytest.mark.parametrize(("printed", "ours"), [("gpu_swizzle_row", "row"), ("gpu_swizzle_col", "col"), ("select", "reg_select")])
def test_printed_names_are_the_sets_that_they_mean(printed: str, ours: str) -> None:
    template: dict[str, Option] = {} if ours == "reg_select" else {"space": 3}
    one, two = (gather_set(name, options, ((4, 2),), (4, 2)) for name, options in ((printed, {}), (ours, template)))
    assert gathers(one) == gathers(two)


def test_listing_2_as_printed() -> None:
    program = parse_program(programs.LISTING_2_PRINTED)
    assert meets_goal(program, {})
    assert text_of(program, 2) == r"swizzle_row(\i, j. (j - i) % 4)(input)"
    again = parse_program(program_text(program))
    assert program_text(again) == program_text(program) and meets_goal(again, {})


@pytest.mark.parametrize(("written", "kept"), [("j % 4 - 0", "j % 4 - 0"), ("0 + j % 4", "0 + j % 4"), ("zero", "zero")])
def test_what_stays_inside_its_axis_is_read_by_python_s_precedence(written: str, kept: str) -> None:
    assert text_of(parse_program(X + MOVE.format(written) + ANY), 1) == f"swizzle_row(\\i, j. {kept})(x)"


@pytest.mark.parametrize(
    "line",
    [
        MOVE.format("i + j % 3"),  # neither reading is the axis's length
        MOVE.format("i + 1"),
        MOVE.format("i * 4 % 5 + j"),
        MOVE.format("i - (j + 1)"),
        "y: [4, 4] = select(\\i, j. i + j % 4)(x)\n",
        "y: [4, 4] = gather(\\i, j. [i, i + j % 4])(x)\n",
        "y: [4, 2] = x\nz: [4, 4] = swizzle_row(\\i, j. i + j % 4)(y)\n".replace("= x", "= gather(\\i, j. [i, j])(x)"),
    ],
)
def test_what_has_two_meanings_is_refused(line: str) -> None:
    with pytest.raises(UserError, match="expected an index below"):
        parse_program(X + line + ANY)


@pytest.mark.parametrize(
    ("goal", "whole"),
    [
        ("goal y == [[x0, x4, x8, x12], ...]", [[i, i + 4, i + 8, i + 12] for i in range(4)]),
        ("goal y == [[3, 2, 1, 0], [5, 4, 3, 2], ...]", [[3 + 2 * i, 2 + 2 * i, 1 + 2 * i, 2 * i] for i in range(4)]),
        ("goal: [4, 4] = [[x0, ..., x3], [x4, ..., x7], ...]", [[4 * i + j for j in range(4)] for i in range(4)]),
        ("goal y == [[7, 7, 7, 7], [6, 6, 6, 6], ...]", [[7 - i] * 4 for i in range(4)]),
    ],
)
def test_lists_go_on(goal: str, whole: list[list[int]]) -> None:
    program = parse_program(X + "y: [4, 4] = x\n" + goal)
    assert list(program.goal.values) == [v for row in whole for v in row]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("goal y == [[x0, x1, x2, x3], ...]", "expected two lists before `...`, got one"),
        ("goal y == [[x0, x4, x8, x13], ...]", "expected two lists before `...`, got one"),
        ("goal y == [[0, 1, 2, 3], [4, 5, 6, 8], ...]", "expected lists that grow by one number before `...`, got steps of 4, 5"),
        ("goal y == [[0, 4, 8, _], ...]", "expected lists of symbols before `...`, got another value"),
        ("goal y == [[1, 1, 1, 1], [0, 0, 0, 0], ...]", "expected symbols from x0 on, got steps of -1 below it"),
        ("goal y == [[0, 4, 8, 12], ..., [3, 7, 11, 15]]", "expected `]`, got `,`"),
        ("goal y == [[0, 1, 2], [1, 2, 3], ...]", r"expected a goal of the shape \[4, 4\]"),
    ],
)
def test_lists_that_do_not_say_how_they_go_on(goal: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_program(X + "y: [4, 4] = x\n" + goal)


def test_a_goal_that_is_too_large_is_refused() -> None:
    text = "x: [16777216] = range(0, 16777216)\ngoal: [16777216] = fold [[1, 2], [2, 3], ...]"
    with pytest.raises(UserError, match="expected at most 16777216 elements, got 33554432"):
        parse_program(text)


def test_values_of_statements_are_written_out() -> None:
    with pytest.raises(UserError, match=r"got `\.\.\.`"):
        parse_program("x: [4, 4] = [[x0, x4, x8, x12], ...]\ngoal: [4, 4] id")


def test_a_last_symbol_too_far_says_where_the_list_ends() -> None:
    with pytest.raises(UserError) as error:
        parse_program("x: [34] = [x0, ..., x35]\ngoal: [34] id")
    assert error.value.diagnostics[0].fix == "34 symbols from x0 on end at x33"


def test_one_symbol_too_many_is_left_out_and_said() -> None:
    """As Listings 4 and 8 are printed; the shape is exact."""
    program = parse_program("x: [34] = [x0, ..., x34]\ngoal: [34] id", "F")
    assert program.notes == ("F:1:1: read as 34 symbols, as the shape says, without the last",)
    assert meets_goal(program, {})


@pytest.mark.parametrize("values", ["[x0, x1, x2]", "[x0, x2, ..., x4]", "[[x0, ..., x2]]"])
def test_other_lists_that_are_too_long_stay_errors(values: str) -> None:
    with pytest.raises(UserError, match="SHAPE_MISMATCH"):
        parse_program(f"x: [2] = {values}\ngoal: [2] id")


def test_comments_of_listing_8() -> None:
    text = "x: [4] = range(0, 4) // U(x) = \\{x_0, ...\\}: the paper's 'universe' $\n// y\ngoal: [4] id // end"
    assert meets_goal(parse_program(text), {})


def test_a_comment_is_none_where_it_can_divide() -> None:
    """Nothing of a lambda is lost: what follows `//` there is read, or refused."""
    text = "x: [4] = range(0, 4)\ndefine half([4]) -> [4] = \\i. i {}\ny: [4] = half(x)\ngoal: [4] = [0, 0, 1, 1]"
    assert meets_goal(parse_program(text.format("// 2")), {})
    for comment in ("// it's half", "// $", '// "half'):
        with pytest.raises(UserError, match=r"DATAFLOW_SYNTAX|UNKNOWN"):
            parse_program(text.format(comment))


def test_a_goal_from_outside() -> None:
    text = programs.LISTING_2_PRINTED.split("goal")[0]
    for goal in ("s3 == [[x0, x4, x8, x12], ...]", "goal s3 == [[x0, x4, x8, x12], ...]"):
        assert meets_goal(parse_program(text, goal=goal), {})
    for goal, message in (("s3 == [[", "--goal:1"), ("s2 == [[x0, x4, x8, x12], ...]", "expected the last statement `s3`")):
        with pytest.raises(UserError, match=message):
            parse_program(text, goal=goal)
    with pytest.raises(UserError, match="expected one goal"):
        parse_program(programs.LISTING_2_PRINTED, goal="s3 == [[x0, x4, x8, x12], ...]")
