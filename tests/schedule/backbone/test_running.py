"""Running values of reductions: what they are, how they are written, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import UserError, f64
from warploom.schedule.backbone import (
    Carry,
    NoWindowError,
    Operator,
    Previous,
    Repetition,
    Result,
    backbone_text,
    evaluate,
    evaluate_terms,
    evaluate_window,
    parse_backbone,
    running,
    serial_axes,
    verify,
)


def whole(stage):
    return [range(a.size) for a in stage.axes]


TEXT = """backbone grows
axis i 3: 3
axis j 5: 5
input X f32 [3, 5] strides [5, 1]
output Y f32 [3, 5] strides [5, 1]
output Z f32 [3] strides [1]
load_X[i, j] = load f32 X[i, j]
start[i] = move f32 -2.0
top[i, j] = max f32 carry(start; j), load_X[i, j]
before[i, j] = move f32 before(top[i, j])
grown[i, j] = sub f32 top[i, j], before[i, j]
store_Y[i, j] = store f32 grown[i, j] to Y[i, j]
store_Z[i] = store f32 top[i] to Z[i]
"""
GOOD = parse_backbone(TEXT)
START, TOP, BEFORE, GROWN = 1, 2, 3, 4
I, J = 0, 1


def test_text_there_and_back() -> None:
    assert backbone_text(GOOD) == TEXT
    verify(GOOD)
    assert running(GOOD.instructions) == {TOP}
    assert serial_axes(GOOD.instructions) == {J}
    assert [d.is_parallel for d in GOOD.dims if d.instruction == GROWN] == [True, False]


def test_running_values_are_those_of_a_loop() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    made = evaluate(GOOD, {"X": x})
    grown, tops = np.zeros_like(x), []
    for row in range(3):
        top = np.float32(-2.0)
        for column in range(5):
            after = max(top, x[row, column])
            grown[row, column] = after - top
            top = after
        tops.append(top)
    np.testing.assert_array_equal(made["Y"], grown)
    np.testing.assert_array_equal(made["Z"], tops)
    assert str(evaluate_terms(GOOD)["Y"].terms[0]) == "max(-2, X[0]) - (-2)"


def with_instruction(number, **changes):
    instructions = list(GOOD.instructions)
    instructions[number] = replace(instructions[number], **changes)
    return replace(GOOD, instructions=tuple(instructions))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (with_instruction(BEFORE, operands=(Previous(GROWN, (I, J)),)), "expected the running value of an earlier instruction"),
        (
            with_instruction(GROWN, operands=(Result(TOP, (I, J)), Previous(TOP, (I, J)))),
            "expected a move of a running value, got it in sub",
        ),
        (with_instruction(BEFORE, operands=(Previous(TOP, (J,)),)), "expected the axes of 'top'"),
        (with_instruction(BEFORE, operands=(Previous(0, (I, J)),)), "expected the total of 'load_X', or its running value"),
        (with_instruction(BEFORE, dtype=f64), "expected a value of type f64, got f32 from 'top'"),
        (with_instruction(TOP, operands=(Carry(START, (I, J)), Result(0, (I, J))), axes=(I, J)), "or its running value over all"),
        (
            replace(
                GOOD, axes=(GOOD.axes[0], replace(GOOD.axes[1], tiles=((1, 5),))),
                extents=(*GOOD.extents, replace(GOOD.extents[1], level=1, sizes=(1, 5))),
            ),
            "over axes of known size without tiles",
        ),
    ],
)  # fmt: skip
def test_refusals(wrong, message) -> None:
    if "without tiles" not in message:
        wrong = replace(wrong)
    with pytest.raises(UserError) as refusal:
        verify(wrong)
    assert any(message in d.message for d in refusal.value.diagnostics), [d.message for d in refusal.value.diagnostics]


def test_rounds_of_running_values_are_not_left_out() -> None:
    text = """backbone sums
axis j 8: 8
input X f32 [8] strides [1]
output y f32 [] strides []
load_X[j] = load f32 X[j]
start[] = move f32 0.0
sum[j] = add f32 carry(start; j), load_X[j]
total[j] = add f32 carry(start; j), sum[j]
store_y[] = store f32 total[] to y[]
"""
    stage = parse_backbone(text)
    verify(stage)
    assert evaluate_window(stage, whole(stage)).stored["y"]
    with pytest.raises(NoWindowError, match="expected no running value, got one in total"):
        evaluate_window(stage, whole(stage), Repetition(0, (1,), 1, 4))


def test_a_carry_that_is_multiplied_has_an_order() -> None:
    text = """backbone scaled
axis j 4: 4
input X f32 [4] strides [1]
output y f32 [] strides []
load_X[j] = load f32 X[j]
start[] = move f32 0.0
total[j] = fma f32 carry(start; j), 0.5, load_X[j]
store_y[] = store f32 total[] to y[]
"""
    stage = parse_backbone(text)
    verify(stage)
    assert [d.is_parallel for d in stage.dims if d.instruction == 2] == [False]
    assert stage.instructions[2].operator is Operator.FMA
    assert float(evaluate(stage, {"X": np.array([1, 2, 3, 4], np.float32)})["y"]) == 1 / 8 + 2 / 4 + 3 / 2 + 4
