from dataclasses import replace

import pytest
from tests.schedule.backbone.test_text import FILTER

from warploom.core import UserError, f64
from warploom.schedule.backbone import Carry, Constant, Operator, Result, Role, parse_backbone, verify

GOOD = parse_backbone(FILTER)
INIT, LOAD_X, LOAD_W, MAD, SCALED, STORE = range(6)


def with_instruction(number, **changes):
    instructions = list(GOOD.instructions)
    instructions[number] = replace(instructions[number], **changes)
    return replace(GOOD, instructions=tuple(instructions))


def access(number, **changes):
    return replace(GOOD.instructions[number].access, **changes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (with_instruction(SCALED, name="mad"), "expected instructions of different names, got 'mad' twice"),
        (with_instruction(LOAD_X, access=access(LOAD_X, fill=None)), "expected indices from 0 to 9 of 'X', got -1 to 10"),
        (with_instruction(LOAD_X, axes=(0, 0)), "expected different axes of the backbone"),
        (with_instruction(LOAD_X, access=None), "expected an access of loads and stores"),
        (with_instruction(MAD, operator=Operator.SUB), "expected 2 operands of sub, got 3"),
        (with_instruction(MAD, operator=Operator.SUB), "expected an operator that reduces, got sub"),
        (
            with_instruction(SCALED, operands=(Result(MAD, (0, 1)), Constant(1.0))),
            "expected axes that this instruction and 'mad'",
        ),
        (
            with_instruction(SCALED, operands=(Result(SCALED, (0,)), Constant(1.0))),
            "expected the result of an earlier instruction",
        ),
        (with_instruction(INIT, axes=(0, 1)), "expected 'init' over the axes that are not reduced"),
        (with_instruction(INIT, dtype=f64), "expected 'init' of type f32, got f64"),
        (with_instruction(LOAD_W, dtype=f64), "expected type f32 of 'W', got f64"),
        (with_instruction(STORE, axes=(0, 1)), "expected a place of its own for each iteration, got the same for all of k"),
        (with_instruction(STORE, access=access(STORE, region=0)), "expected an output to store to, got the input 'X'"),
        (
            with_instruction(MAD, operands=(Constant(1.0), Constant(2.0), Carry(INIT, (0, 1)))),
            "over the axes that are not reduced",
        ),
        (replace(GOOD, dims=GOOD.dims[::-1]), "expected dims by instruction, axis and level"),
        (replace(GOOD, extents=GOOD.extents[::-1]), "expected an extent for every level of every axis, in order"),
        (replace(GOOD, extents=(replace(GOOD.extents[0], sizes=(5, 3)), *GOOD.extents[1:])), "expected ascending positive sizes"),
        (
            replace(GOOD, axes=(replace(GOOD.axes[0], tiles=((2, 8),)), GOOD.axes[1])),
            "expected the tiles of 'i' as sizes of level 1",
        ),
        (
            replace(GOOD, regions=(replace(GOOD.regions[0], strides=(0,)), *GOOD.regions[1:])),
            "positive extents and strides of 'X'",
        ),
    ],
)
def test_refused(wrong, message):
    with pytest.raises(UserError) as caught:
        verify(wrong)
    assert message in str(caught.value)


def test_good():
    verify(GOOD)
    assert [r.role for r in GOOD.regions] == [Role.INPUT, Role.INPUT, Role.OUTPUT]
