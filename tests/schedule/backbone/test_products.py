"""Sums of several products as one step of multiply-adds: the same values, and where they stay as they are."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import UserError, f32, i32
from warploom.kernels.suites import POLYBENCH
from warploom.schedule.backbone import (
    Backbone,
    Carry,
    Operator,
    Result,
    added_products,
    assemble,
    backbone_text,
    evaluate,
    evaluate_terms,
    parse_backbone,
    random_inputs,
    verify,
)
from warploom.schedule.frontend import TensorFunction, out, tensor
from warploom.terms import algebra_for, equal

REALS = algebra_for(f32)


def stage_of(function: TensorFunction, *, can_reorder: bool = True, **sizes: int) -> Backbone:
    return function.program(sizes, can_reorder=can_reorder).stages[0]


@tensor
def three(A: f32["n", "k"], B: f32["n", "k"], x: f32["k"], D: out[f32["n", "n"]]):
    D[i, j] = sum(A[i, k] * B[j, k] + (B[i, k] * A[j, k] + A[i, k] * x[k]), over=k)


@tensor
def with_more(A: f32["n", "k"], B: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] = sum(A[i, k] * B[j, k] + B[i, k] * A[j, k] + A[i, k], over=k)


@tensor
def kept(A: f32["n", "k"], B: f32["n", "k"], D: out[f32["n", "n"]]):
    p[i, j, k] = A[i, k] * B[j, k]
    D[i, j] = sum(p[i, j, k] + B[i, k] * A[j, k], over=k) + max(p[i, j, k], over=k)


@tensor
def one(A: f32["n", "k"], B: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] += A[i, k] * B[j, k]


@tensor
def whole(A: i32["n", "k"], B: i32["n", "k"], D: out[i32["n", "n"]]):
    D[i, j] = sum(A[i, k] * B[j, k] + B[i, k] * A[j, k], over=k)


@tensor
def greatest(A: f32["n", "k"], B: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] = max(A[i, k] * B[j, k] + B[i, k] * A[j, k], over=k)


def step(stage: Backbone) -> int:
    """Operands of the sum."""
    return next(len(i.operands) for i in stage.instructions if i.carry is not None)


@pytest.mark.parametrize("function", [POLYBENCH["syr2k"].kernel.function, three])
def test_products_are_added_one_after_the_other(function: TensorFunction) -> None:
    stage = stage_of(function, n=3, k=4)
    made = added_products(stage)
    verify(made)
    assert step(made) == (5 if function is not three else 7)
    assert len(made.instructions) < len(stage.instructions)
    assert not any(i.operator is Operator.ADD for i in made.instructions)
    before, after = evaluate_terms(stage)["D"].terms, evaluate_terms(made)["D"].terms
    assert all(equal(a, b, REALS) for a, b in zip(before, after, strict=True))
    arrays = random_inputs([r for r in stage.regions if r.role == "input"], 0)
    values = {"alpha": 1.5, "beta": 0.5}
    for name, found in evaluate(made, arrays, values).items():
        np.testing.assert_allclose(found, evaluate(stage, arrays, values)[name], rtol=1e-5)
    assert backbone_text(parse_backbone(backbone_text(made))) == backbone_text(made)


@pytest.mark.parametrize("function", [with_more, kept, one, whole, greatest])
def test_other_sums_stay(function: TensorFunction) -> None:
    stage = stage_of(function, n=3, k=4)
    assert added_products(stage) is stage


def test_sums_with_an_order_stay() -> None:
    stage = stage_of(three, can_reorder=False, n=3, k=4)
    assert added_products(stage) is stage


def test_several_products_are_those_of_a_carried_sum() -> None:
    made = added_products(stage_of(three, n=3, k=4))
    number = next(n for n, i in enumerate(made.instructions) if i.carry is not None)
    total = made.instructions[number]

    def refused(**changes: object) -> None:
        instructions = list(made.instructions)
        instructions[number] = replace(total, **changes)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="operands of fma"):
            verify(assemble(made.name, made.axes, made.extents, made.regions, instructions, can_reorder=True))

    refused(operands=(*total.operands[1:-1], total.operands[-1]))
    refused(operands=(*total.operands[:-1], Result(0, (0, 2))))
    refused(operands=(total.operands[-1], *total.operands[:-1]))
    assert isinstance(total.operands[-1], Carry)
