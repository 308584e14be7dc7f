"""The verifier refuses programs that do not fit together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import NOWHERE, UserError
from warploom.ir.dataflow import (
    NOUGHT,
    Block,
    Folded,
    FoldOver,
    Gathered,
    Goal,
    Literal,
    Program,
    Statement,
    gather_set,
    verify_program,
)

X = Statement("x", (2, 2), Literal((0, 1, 2, 3)), None, None, NOWHERE)
COPY = gather_set("id", {}, ((2, 2),), (2, 2))
Y = Statement("y", (2, 2), Gathered(("x",), COPY, "x"), None, None, NOWHERE)
SUM = Statement("s", (2,), Gathered(("x",), COPY, "x"), FoldOver("+", 2), None, NOWHERE)


def goal(shape: tuple[int, ...], *values: int | Folded) -> Goal:
    return Goal(shape, values, "literal", NOWHERE)


SQUARE = goal((2, 2), 0, 1, 2, 3)


def test_sound_programs() -> None:
    verify_program(Program((X, Y), SQUARE))
    verify_program(Program((X, Y, SUM), goal((2,), Folded("+", (0, 1)), Folded("+", (2, 3)))))


FAULTY: list[tuple[Program, str, str]] = [
    (Program((), SQUARE), "EMPTY_BLOCK", "expected at least one statement"),
    (Program((X,), goal((4,), 0, 1, 2, 3)), "SHAPE_MISMATCH", "expected a goal of the shape"),
    (Program((X,), goal((2, 2), 0, 1, 2)), "SHAPE_MISMATCH", "expected 4 values for"),
    (Program((X, replace(Y, name="a b")), SQUARE), "BAD_NAME", "expected an identifier, got 'a b'"),
    (Program((Y,), SQUARE), "UNKNOWN_NAME", "expected a variable from above, got 'x'"),
    (Program((replace(X, value=Literal((1, 2))),), SQUARE), "SHAPE_MISMATCH", "expected 4 values for"),
    (Program((replace(X, value=Literal((Folded("+", (2, 1)), 1, 2, 3))),), SQUARE), "BAD_VALUE", "sorted"),
    (Program((replace(X, value=Literal((Folded("+", (1, NOUGHT)), 1, 2, 3))),), SQUARE), "BAD_VALUE", "without 0"),
    (Program((replace(X, value=Literal((Folded("+", ()), 1, 2, 3))),), SQUARE), "BAD_VALUE", "at least one value"),
    (Program((replace(X, fold=FoldOver("+", 2)),), SQUARE), "BAD_FOLD", "expected a fold of gathered values"),
    (Program((X, replace(Y, fold=FoldOver("+", 2))), SQUARE), "SHAPE_MISMATCH", "before the fold"),
    (Program((X, Y, SUM), goal((2,), Folded("", (0, 1)), 1)), "MIXED_FOLDS", "on every fold or on none"),
    (Program((X, replace(Y, value=Block(()))), SQUARE), "EMPTY_BLOCK", "expected at least one statement"),
    (Program((X, replace(Y, value=Block((SUM,)))), SQUARE), "SHAPE_MISMATCH", "of the block's last statement"),
    (Program((X, SUM, replace(Y, value=Gathered(("s",), COPY, "s"))), SQUARE), "SHAPE_MISMATCH", "expected arguments of"),
    (Program((replace(X, shape=()),), SQUARE), "SHAPE_MISMATCH", "expected at least one axis"),
]


@pytest.mark.parametrize(("program", "code", "words"), FAULTY)
def test_faults(program: Program, code: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        verify_program(program)
    assert any(d.code == code and words in d.message for d in caught.value.diagnostics), str(caught.value)


@pytest.mark.parametrize(
    "choices",
    [
        replace(COPY, point=np.full(4, COPY.members.points)),
        replace(COPY, point=np.zeros(3, np.int64)),
        replace(COPY, source=np.full_like(COPY.source, 4)),
        replace(COPY, source=np.full_like(COPY.source, -3)),
    ],
)
def test_sets_that_reach_outside(choices: object) -> None:
    statement = replace(Y, value=replace(Y.value, choices=choices))
    with pytest.raises(UserError, match="BAD_GATHER_SET"):
        verify_program(Program((X, statement), SQUARE))
