"""Cheap values made again behind a sum: what is, and each reason against it alone."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warploom import exp, f32, out, tensor
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import (
    Backbone,
    Instruction,
    Operator,
    Program,
    count_flops,
    evaluate,
    kept_along_open_sums,
    made_again,
    open_sums,
    random_inputs,
    repeated,
    verify,
)
from warploom.schedule.frontend import TensorFunction

SIZES = {"rows": 3, "columns": 5}


def stage_of(name: str) -> Backbone:
    (stage,) = tensor_kernel(name).program(SIZES).stages
    return stage


def named(stage: Backbone, name: str) -> Instruction:
    return next(i for i in stage.instructions if i.name == name)


def changed(stage: Backbone, name: str, new: Instruction) -> Backbone:
    return replace(stage, instructions=tuple(new if i.name == name else i for i in stage.instructions))


def test_distances_from_the_mean_are_made_again_and_give_the_same() -> None:
    stage = stage_of("layer_norm")
    again = made_again(stage)
    verify(again)
    new = {i.name for i in again.instructions} - {i.name for i in stage.instructions}
    assert new == {"d_2", "load_X_2_2"}
    arrays = random_inputs(stage.regions, 1)
    found, wanted = (evaluate(s, arrays, {"epsilon": 1e-5})["Y"] for s in (again, stage))
    np.testing.assert_array_equal(found, wanted)
    assert made_again(again) is again


def test_what_is_made_again_is_no_new_work() -> None:
    stage = stage_of("layer_norm")
    again = made_again(stage)
    assert {again.instructions[n].name for n in repeated(again.instructions)} == {"init_2", "d_2"}
    assert count_flops(Program("again", (again,), again.regions)) == count_flops(Program("once", (stage,), stage.regions))


def test_a_load_alone_is_made_again() -> None:
    again = made_again(stage_of("rms_norm"))
    assert sum(i.operator is Operator.LOAD and i.access == named(again, "x").access for i in again.instructions) == 2


def test_exponentials_are_kept() -> None:
    stage = stage_of("softmax")
    assert made_again(stage) is stage


def test_what_the_kernel_stores_to_is_kept() -> None:
    stage = stage_of("rms_norm")
    store = stage.instructions[-1]
    inplace = changed(stage, store.name, replace(store, access=named(stage, "x").access))
    assert made_again(inplace) is inplace


def test_what_is_made_of_an_exponential_is_kept() -> None:
    stage = stage_of("layer_norm")
    load = named(stage, "load_X_2")
    exponential = replace(named(stage, "sqrt"), name="load_X_2", operands=named(stage, "d").operands[:1], axes=load.axes)
    of_it = changed(stage, "load_X_2", replace(exponential, operator=Operator.EXP, operands=named(stage, "d").operands[1:]))
    assert made_again(of_it) is of_it


def test_nothing_is_kept_along_an_open_axis_that_is_summed_over() -> None:
    kernel = tensor_kernel("softmax")
    (stage,) = kernel.at_run_time(kernel.program(SIZES), {"columns": 1}, has_strides=True).stages
    assert open_sums(stage) == {1} and open_sums(stage_of("softmax")) == frozenset()
    again = made_again(stage)
    assert {i.name for i in again.instructions} - {i.name for i in stage.instructions} == {"load_X_2_2", "sub_2", "e_2"}
    arrays = random_inputs(stage.regions, 1)
    np.testing.assert_array_equal(evaluate(again, arrays, {})["Y"], evaluate(stage, arrays, {})["Y"])
    gathered = changed(stage, "e", replace(named(stage, "e"), operator=Operator.GATHER))
    assert made_again(gathered) is gathered
    (rows,) = kernel.at_run_time(kernel.program(SIZES), {"rows": 1}).stages
    assert open_sums(rows) == frozenset() and made_again(rows) is rows


@tensor
def shared(X: f32["rows", "columns"], Y: out[f32["rows", "columns"]]):
    top[r] = max(X[r, c], over=c)
    d[r, c] = X[r, c] - top[r]
    total[r] = sum(exp(d[r, c]), over=c)
    Y[r, c] = exp(d[r, c]) / total[r]


@tensor
def scored(A: f32["rows", "4"], B: f32["columns", "4"], Y: out[f32["rows"]]):
    s[r, c] = sum(A[r, k] * B[c, k], over=k)
    top[r] = max(s[r, c], over=c)
    Y[r] = sum(exp(s[r, c] - top[r]), over=c)


def opened(function: TensorFunction) -> Backbone:
    (stage,) = function.at_run_time(function.program(SIZES), {"columns": 1}, has_strides=True).stages
    return stage


def test_values_between_two_sums_are_in_the_loop_of_one_of_them() -> None:
    """The distance `d` is used where the exponentials are summed up and, by one that does not wait for that sum, behind it."""
    stage = opened(shared)
    again = made_again(stage)
    assert {i.name for i in again.instructions} - {i.name for i in stage.instructions} == {"load_X_2_2", "d_2"}
    assert kept_along_open_sums(stage) is None
    arrays = random_inputs(stage.regions, 1)
    np.testing.assert_array_equal(evaluate(again, arrays, {})["Y"], evaluate(stage, arrays, {})["Y"])


def test_sums_that_would_have_to_be_kept_along_an_open_axis_are_told() -> None:
    kept = kept_along_open_sums(opened(scored))
    assert kept is not None and kept.name == "s"
