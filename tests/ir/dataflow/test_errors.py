"""Every error names its place, what was expected, what was found, and how to mend it."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.dataflow import programs

from warploom.core import UserError
from warploom.ir.dataflow import parse_program, program_text, verify_program

X = "x: [2, 2] = range(0, 4)\n"
GOAL = "\ngoal: [2, 2] id"


def faults(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(UserError) as caught:
        parse_program(text, "t.swflow")
    return [(d.code, d.span.line, d.span.column) for d in caught.value.diagnostics]


CASES: list[tuple[str, str, int, int, str]] = [
    # text, code, line, column, what the message says
    ("x: [2] = [1, 2, $]\ngoal: [2] id", "DATAFLOW_SYNTAX", 1, 17, "got the character '$'"),
    ('define f([2]) -> [2] = {"a = [0, 1]}', "DATAFLOW_SYNTAX", 1, 25, "expected a closing quote on the same line"),
    ("x = [1, 2]\ngoal: [2] id", "DATAFLOW_SYNTAX", 1, 3, "expected `:`, got `=`"),
    ("x: [0] = [1]\ngoal: [1] id", "DATAFLOW_SYNTAX", 1, 4, "expected 1 to 16 positive lengths"),
    ("x: [99999, 99999] = range(0, 3)\ngoal: [1] id", "DATAFLOW_SYNTAX", 1, 4, "at most 16777216 elements"),
    ("x: [1] = [1234567890123456]\ngoal: [1] id", "DATAFLOW_SYNTAX", 1, 11, "expected at most 15 digits, got 16 digits"),
    (X + "y: [2, 2] = transpose(id(x))" + GOAL, "DATAFLOW_SYNTAX", 2, 25, "expected `)`, got `(`"),
    (X + "y: [2] = fold fold x" + GOAL, "DATAFLOW_SYNTAX", 2, 15, "expected one fold in a call, got a second"),
    (X + "y: [2, 2] = fold(+ x)" + GOAL, "DATAFLOW_SYNTAX", 2, 18, "got `+`"),
    (X + "y: [1] = [0, 0, ..., 8]" + GOAL, "DATAFLOW_SYNTAX", 2, 17, "expected a last integer that steps of 0 from 0 reach"),
    (X + "y: [1] = [..., 8]" + GOAL, "DATAFLOW_SYNTAX", 2, 11, "expected one or two integers before `...`"),
    (X + "y: [1] = []" + GOAL, "DATAFLOW_SYNTAX", 2, 10, "expected at least one element, got an empty list"),
    (X + "y: [2, 2] = {\n y: [2, 2] = x" + GOAL.replace("\n", "\n "), "DATAFLOW_SYNTAX", 4, 17, "expected `}`, got the end"),
    ("x: [2, 2] = [[1, 2], [3]]" + GOAL, "RAGGED_ARRAY", 1, 22, "expected lists of 2 elements at this depth, got 1"),
    ("x: [2, 2] = [[1, 2], [[3], [4]]]" + GOAL, "RAGGED_ARRAY", 1, 23, "expected 2 levels of brackets"),
    ("x: [2, 2] = [[[1], [2]], [3, 4]]" + GOAL, "RAGGED_ARRAY", 1, 26, "expected 3 levels of brackets"),
    ("x: [2, 2] = [1, 2, 3, 4]" + GOAL, "SHAPE_MISMATCH", 1, 13, "expected [2, 2], got a literal of the shape [4]"),
    ("x: [2, 2] = range(0, 3)" + GOAL, "SHAPE_MISMATCH", 1, 13, "expected 4 elements for [2, 2], got 3"),
    ("x: [2, 2] = range(3, 3)" + GOAL, "SHAPE_MISMATCH", 1, 13, "expected low < high"),
    ("x: [2, 2] = fold fold [[1, 2], [3, 4]]" + GOAL, "SHAPE_MISMATCH", 1, 13, "expected more axes than folds"),
    (X + "y: [3] = x" + GOAL, "SHAPE_MISMATCH", 2, 4, "expected 3 elements for [3], got `x` with the shape [2, 2]"),
    (X + "y: [4] = fold(x)" + GOAL, "SHAPE_MISMATCH", 2, 4, "expected a shape with the fold's length as its last entry"),
    (X + "y: [3, 2] = transpose(x)" + GOAL, "SHAPE_MISMATCH", 2, 13, "transpose: "),
    (X + "goal: [4] id", "SHAPE_MISMATCH", 2, 7, "expected a goal of the shape [2, 2] of the last statement `x`, got [4]"),
    (X + "goal: [2, 2] conv{k=2}", "SHAPE_MISMATCH", 2, 14, "expected conv with a shape [w]: "),
    (X + "b: [2, 2] = {\n y: [4] = x\n}" + GOAL, "SHAPE_MISMATCH", 3, 2, "expected the block's shape [2, 2]"),
    (X + "b: [2, 2] = {\n}" + GOAL, "EMPTY_BLOCK", 2, 13, "expected a block with at least one statement, got none"),
    (X + "b: [2, 2] = {\n y: [2, 2] = x\n goal: [2, 2] id\n}" + GOAL, "GOAL_IN_BLOCK", 4, 2, "got a goal inside a block"),
    (X + "goal: [2, 2] id\ngoal: [2, 2] trove", "GOAL_TWICE", 3, 1, "expected one goal, got a second one"),
    (X, "GOAL_MISSING", 1, 24, "expected a goal, got none"),
    ("goal: [2] id", "GOAL_WITHOUT_STATEMENT", 1, 1, "expected at least one statement"),
    (X + "y: [4] = x\ngoal x == id", "GOAL_NOT_LAST", 3, 6, "expected the last statement `y`, got `x`"),
    (X + "goal: [2, 2] trov", "UNKNOWN_GOAL", 2, 14, "expected one of id, trove, "),
    (X + "y: [2] = fold{fold_len=2} x\ngoal: [2] conv", "BAD_OPTION", 3, 11, "expected conv{k=...} with a positive number"),
    (X + "y: [2] = fold{fold_len=2} x\ngoal: [2] conv{k=0}", "BAD_OPTION", 3, 11, "got k=0"),
    (X + "goal: [2, 2] id{k=2}", "BAD_OPTION", 2, 14, "expected id without options, got k=2"),
    (X + "y: [2, 2] = transpose{k=2}(x)" + GOAL, "BAD_OPTION", 2, 23, "transpose: expected no option, got 'k'"),
    (X + "y: [2, 2] = x{k}" + GOAL, "BAD_OPTION", 2, 15, "expected no options on the variable `x`"),
    (X + "y: [2, 2] = transpose{k, k=2}(x)" + GOAL, "BAD_OPTION", 2, 26, "expected each option once, got `k` again"),
    (X + "y: [2, 2] = transpose{fold_len=2}(x)" + GOAL, "BAD_OPTION", 2, 23, "expected fold_len in a fold only"),
    (X + "y: [2, 2] = fold transpose{fold_len=[2]}(x)" + GOAL, "BAD_OPTION", 2, 28, "expected fold_len=n with n > 0"),
    (X + "y: [2, 2] = gather{k}(\\i, j. [j, i])(x)" + GOAL, "BAD_OPTION", 2, 20, "expected no options on `gather`"),
    (X + "y: [2, 2] = transpos(x)" + GOAL, "UNKNOWN_SET", 2, 13, "fix: did you mean `transpose`?"),
    (X + "y: [2, 2] = gather(x)" + GOAL, "UNKNOWN_SET", 2, 13, "fix: `gather` takes an index lambda"),
    (X + "y: [2, 2] = transpose(\\i, j. i)(x)" + GOAL, "UNKNOWN_SET", 2, 13, "before an index lambda, got `transpose`"),
    (X + "y: [2, 2] = transpose(xx)" + GOAL, "UNKNOWN_NAME", 2, 23, "fix: did you mean `x`?"),
    (X + "y: [2, 2] = w" + GOAL, "UNKNOWN_NAME", 2, 13, "expected a variable from above, got `w`"),
    (X + "y: [2, 2] = transpose" + GOAL, "UNKNOWN_NAME", 2, 13, "fix: name its arguments: transpose(x)"),
    ("@prun\n" + X + GOAL, "UNKNOWN_ANNOTATION", 1, 1, "expected @prune or @noprune, got @prun"),
    (X + "y: [2] = fold(+) x\nz: [2] = fold{fold_len=2} x\ngoal: [2] = [1, 2]", "MIXED_FOLDS", 3, 10, "note: this fold names +"),
    (X + "y: [2] = fold(+) x\ngoal: [2] = fold [[0, 1], [2, 3]]", "MIXED_FOLDS", 3, 13, "fix: write fold(+)"),
    (X + "y: [2, 2] = swizzle_row(\\i, j. j - i % 3)(x)" + GOAL, "INDEX_RANGE", 2, 32, "got -1 at i = 1, j = 0"),
    (X + "y: [2, 2] = swizzle_row(\\i, j. j % i)(x)" + GOAL, "INDEX_RANGE", 2, 36, "expected a divisor that is not 0"),
    (X + "y: [2, 2] = swizzle_row(\\i, j. j << -1)(x)" + GOAL, "INDEX_RANGE", 2, 37, "expected a shift by 0 to 40, got -1"),
    (X + "y: [2, 2] = gather(\\i, j. (1, [i, j]))(x)" + GOAL, "INDEX_RANGE", 2, 27, "expected an argument number below 1, got 1"),
    (X + "y: [2, 2] = gather(\\i, j. 4)(x)" + GOAL, "INDEX_RANGE", 2, 27, "expected an element number below 4 for [2, 2], got 4"),
    (X + "y: [2, 2] = gather(\\i, j. [i])(x)" + GOAL, "INDEX_RANGE", 2, 27, "expected 2 indexes for [2, 2], got 1"),
    ("define f([2, 2]) -> [2] = [1, (0, (0, 2))]\n" + X + GOAL, "INDEX_RANGE", 1, 31, "expected an index below 2 on axis 1"),
    ("define f([2, 2]) -> [2] = [1, 4]\n" + X + GOAL, "INDEX_RANGE", 1, 31, "expected an element number below 4"),
    ("define f([2, 2]) -> [2] = [1]\n" + X + GOAL, "SHAPE_MISMATCH", 1, 27, "expected 2 elements for [2], got 1"),
    ("define f([2, 2]) -> [2] = [(0, 1, 2)]\n" + X + GOAL, "DATAFLOW_SYNTAX", 1, 33, "expected `)`, got `,`"),
    ("define f([2, 2]) -> [2] = {}\n" + X + GOAL, "DATAFLOW_SYNTAX", 1, 1, "expected at least one member"),
    ("define f([2]) -> [2] = [1, 0]\n" + X + "y: [2, 2] = f(x)" + GOAL, "SHAPE_MISMATCH", 3, 13, "as defined for ([2]) -> [2]"),
    (X + "y: [2, 2] = swizzle_row(\\i. i)(x)" + GOAL, "LAMBDA_ARITY", 2, 25, "expected 2 index variables for the output [2, 2]"),
    (X + "y: [4] = swizzle_row(\\i. i)(x)" + GOAL, "SHAPE_MISMATCH", 2, 10, "expected one argument with 1 axes, got [2, 2]"),
    (X + "y: [2, 2] = gather(\\i, j. [i, j] + 1)(x)" + GOAL, "LAMBDA_RESULT", 2, 27, "expected a number here, got a source"),
    (X + "y: [2, 2] = gather(\\i, i. 0)(x)" + GOAL, "DATAFLOW_SYNTAX", 2, 24, "expected a new index variable, got `i`"),
    (X + "y: [2, 2] = gather(\\i, j. k)(x)" + GOAL, "DATAFLOW_SYNTAX", 2, 27, "expected an index variable (i, j), got `k`"),
    (X + "y: [2, 2] = gather(\\i, j. i < j < 3)(x)" + GOAL, "DATAFLOW_SYNTAX", 2, 33, "fix: join two comparisons with `and`"),
    (X + "y: [2, 2] = gather(\\i, j. i = j)(x)" + GOAL, "DATAFLOW_SYNTAX", 2, 29, "fix: compare with `==`"),
    (X + "y: [2, 2] = gather(\\i, j. i if j)(x)" + GOAL, "DATAFLOW_SYNTAX", 2, 33, "expected `else`"),
    (X + "y: [2, 2] = gather(\\i, j. (i, j, 0))(x)" + GOAL, "DATAFLOW_SYNTAX", 2, 27, "fix: write indexes as [i, j, k]"),
    (X + "y: [2, 2] = gather(\\i, j. i)" + GOAL, "DATAFLOW_SYNTAX", 3, 1, "expected `(` and the arguments"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column", "words"), CASES)
def test_located_errors(text: str, code: str, line: int, column: int, words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_program(text, "t.swflow")
    first = caught.value.diagnostics[0]
    assert (first.code, first.span.line, first.span.column) == (code, line, column), first.render()
    assert words in first.render()
    if first.span.source:
        assert "^" in first.render()
    assert len(caught.value.diagnostics) == 1, "one fault, one message"


def test_a_rendered_error() -> None:
    with pytest.raises(UserError) as caught:
        parse_program(X + "y: [2, 2] = swizzle_row(\\i, j. j - i % 3)(x)" + GOAL, "t.swflow")
    assert str(caught.value) == "\n".join((
        "t.swflow:2:32: error[INDEX_RANGE]: expected an index below 2 on axis 1 of [2, 2], got -1 at i = 1, j = 0",
        "  y: [2, 2] = swizzle_row(\\i, j. j - i % 3)(x)",
        "                                 ^^^^^^^^^",
        "  fix: `%` binds tighter than + and -: write (i + j) % 2",
    ))  # fmt: skip


def test_several_faults_are_reported_in_order_and_only_once() -> None:
    text = """
a: [4] = range(0, 4)
b: [4, 4] = broadcst(a)
c: [4 4] = a
d: [4, 4] = transpose(c)
define f([4]) -> [4] = [0, 1, 2, 9]
e: [4] = f(a)
@fast
g: [2, 2] = {
  h: [2, 2] = nothing
  i: [2, 2] = h
}
goal: [4, 4] = 5
"""
    assert faults(text) == [
        ("UNKNOWN_SET", 3, 13),
        ("DATAFLOW_SYNTAX", 4, 7),
        ("INDEX_RANGE", 6, 34),
        ("UNKNOWN_ANNOTATION", 8, 1),
        ("UNKNOWN_NAME", 10, 15),
        ("DATAFLOW_SYNTAX", 13, 16),
    ]


def test_a_block_with_a_wrong_first_line_is_one_fault() -> None:
    assert faults(X + "b: [2 2] = {\n y: [2, 2] = x\n}\nz: [2, 2] = b" + GOAL) == [("DATAFLOW_SYNTAX", 2, 7)]


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([programs.EVERY_FORM, programs.LISTING_4, programs.MULT_32_WITH_4]))
def test_damaged_texts_are_errors_or_programs(random: Random, text: str) -> None:
    words = re.findall(r'\s+|\w+|"[^"]*"|\.\.\.|->|==|//|.', text)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(len(words))
        words[at : at + random.randrange(2)] = [random.choice([*words, "_", "zero", "fold", "{", ")", "]", "\\", "", "-"])]
    try:
        program = parse_program("".join(words))
    except UserError as error:
        assert error.diagnostics and all(d.span.line >= 1 and d.render() for d in error.diagnostics)
    else:
        verify_program(program)
        printed = program_text(program)
        assert program_text(parse_program(printed)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "x: [1] = " + "[" * 500,
        "x: [1] = [" + "fold{" * 3000,
        "x: [1] = " + "{ y: [1] = " * 500,
        "x: [1] = [0]\ny: [1] = swizzle_row(\\i. " + "(" * 5000 + "i" + ")" * 5000 + ")(x)\ngoal: [1] id",
        "x: [1] = [0]\ny: [1] = swizzle_row(\\i. " + "i if i else " * 5000 + "i)(x)\ngoal: [1] id",
        "x: [1] = [0]\ny: [1] = swizzle_row(\\i. " + "i+" * 5000 + "i)(x)\ngoal: [1] id",
        "x: [1] = [0]\ny: [1] = swizzle_row(\\i. " + "-" * 5000 + "i)(x)\ngoal: [1] id",
        "x: [1] = [0]\ny: [1] = swizzle_row(\\i. " + "not " * 5000 + "i)(x)\ngoal: [1] id",
        "define " * 2000,
        "@prune " * 2000,
        "x: [1] = [1, ..., 999999999999999]\ngoal: [1] id",
    ],
)
def test_monstrous_texts_are_errors_too(text: str) -> None:
    with pytest.raises(UserError):
        parse_program(text)


def test_what_follows_a_mistake_on_its_line_is_passed_over() -> None:
    """Else one mistake would be told as several."""
    with pytest.raises(UserError) as caught:
        parse_program("x: [2] = ) y: [2] = 3\ngoal: [2] id")
    assert len(caught.value.diagnostics) == 1
