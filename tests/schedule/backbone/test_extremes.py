"""Maxima of elements that lie apart, in another order: the same values, and where they stay as they are."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import f32, i32
from warploom.kernels.suites import NETWORKS
from warploom.schedule.backbone import (
    Backbone,
    Constant,
    Operator,
    Result,
    backbone_text,
    evaluate,
    paired_extremes,
    parse_backbone,
    random_inputs,
    verify,
)
from warploom.schedule.frontend import TensorFunction, out, tensor


def stage_of(function: TensorFunction, **sizes: int) -> Backbone:
    return function.program(sizes).stages[0]


@tensor
def rows_first(X: f32["2*h", "2*w"], Y: out[f32["h", "w"]]):
    Y[h, w] = max(max(X[2 * h, 2 * w], X[2 * h + 1, 2 * w]), max(X[2 * h, 2 * w + 1], X[2 * h + 1, 2 * w + 1]))


@tensor
def wide(X: i32["2*h + 1", "2*w + 1"], Y: out[i32["h", "w"]]):
    a[h, w] = min(min(X[2 * h, 2 * w], X[2 * h, 2 * w + 1]), X[2 * h, 2 * w + 2])
    b[h, w] = min(min(X[2 * h + 1, 2 * w], X[2 * h + 1, 2 * w + 1]), X[2 * h + 1, 2 * w + 2])
    Y[h, w] = min(min(a[h, w], 3), b[h, w])


@tensor
def close_by(X: f32["h + 1", "w + 1"], Y: out[f32["h", "w"]]):
    Y[h, w] = max(max(X[h, w], X[h, w + 1]), max(X[h + 1, w], X[h + 1, w + 1]))


@tensor
def kept(X: f32["2*h", "2*w"], Y: out[f32["h", "w"]]):
    top[h, w] = max(X[2 * h, 2 * w], X[2 * h, 2 * w + 1])
    low[h, w] = max(X[2 * h + 1, 2 * w], X[2 * h + 1, 2 * w + 1])
    Y[h, w] = max(top[h, w], low[h, w]) + top[h, w] * low[h, w]


@tensor
def mixed(X: f32["2*h", "2*w"], Y: out[f32["h", "w"]]):
    Y[h, w] = max(min(X[2 * h, 2 * w], X[2 * h, 2 * w + 1]), min(X[2 * h + 1, 2 * w], X[2 * h + 1, 2 * w + 1]))


@tensor
def one_column(X: f32["2*h", "2*w"], Y: out[f32["h", "w"]]):
    Y[h, w] = max(X[2 * h, 2 * w], X[2 * h + 1, 2 * w])


@tensor
def folded(X: f32["2*h", "2*w"], Y: out[f32["h"]]):
    Y[h] = max(max(X[2 * h, 2 * w], X[2 * h, 2 * w + 1]), over=w)


def leaf_columns(stage: Backbone) -> list[list[int | None]]:
    """For each maximum or minimum the constants of the last indices that it loads; None: something else."""
    found: list[list[int | None]] = []
    for instruction in stage.instructions:
        if instruction.operator in (Operator.MAX, Operator.MIN):
            accesses = [stage.instructions[o.instruction].access if isinstance(o, Result) else None for o in instruction.operands]
            found.append([None if a is None else a.indices[-1].constant for a in accesses])
    return found


POOL = NETWORKS["max_pool"].kernel.function


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(POOL, [[0, 0], [1, 1], [None, None]]), (wide, [[0, 0], [1, 1], [None, None], [2, 2], [None, None], [None, None]])],
)
def test_rows_are_joined_before_columns(function: TensorFunction, wanted: list[list[int | None]]) -> None:
    stage = stage_of(function, h=3, w=4, **({"c": 2} if function is POOL else {}))
    made = paired_extremes(stage)
    verify(made)
    assert made is not stage and made.plain == stage.plain
    assert len(made.instructions) == len(stage.instructions) and sorted(leaf_columns(made), key=str) == sorted(wanted, key=str)
    arrays = random_inputs([r for r in stage.regions if r.role == "input"], 0)
    given = next(iter(arrays.values()))
    given.reshape(-1)[::7] = given.reshape(-1)[3] if given.dtype.kind == "i" else np.nan
    for name, found in evaluate(made, arrays, {}).items():
        np.testing.assert_array_equal(found, evaluate(stage, arrays, {})[name])
    assert backbone_text(parse_backbone(backbone_text(made))) == backbone_text(made)
    assert paired_extremes(made) is made


@pytest.mark.parametrize("function", [close_by, kept, mixed, one_column, folded, rows_first], ids=lambda f: f.name)
def test_others_stay(function: TensorFunction) -> None:
    stage = stage_of(function, h=3, w=4)
    assert paired_extremes(stage) is stage


def test_constants_come_last() -> None:
    made = paired_extremes(stage_of(wide, h=3, w=4))
    (instruction,) = (i for i in made.instructions if any(isinstance(o, Constant) for o in i.operands))
    assert instruction.operator is Operator.MIN and instruction.operands[1] == Constant(3)
