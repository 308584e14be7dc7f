"""Conversions that sums of products do by themselves: each reason against it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import bf16_values, bf16_words, f32
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Operator, Result, evaluate, evaluate_terms, random_inputs, verify, widened

SIZES = {"m": 3, "n": 4, "k": 5}


def stage(name: str = "matmul_f16") -> Backbone:
    return tensor_kernel(name).program(SIZES).stages[0]


@pytest.mark.parametrize("name", ["matmul_f16", "matmul_bf16", "linear_relu_f16"])
def test_factors_are_taken_as_they_are_loaded(name: str) -> None:
    before = stage(name)
    after = widened(before)
    verify(after)
    assert len(before.instructions) - len(after.instructions) == 2
    arrays = random_inputs(before.regions, 1)
    for output, wanted in evaluate(before, arrays).items():
        np.testing.assert_array_equal(evaluate(after, arrays)[output], wanted)
    if name != "linear_relu_f16":
        assert (evaluate_terms(after)["C"].terms == evaluate_terms(before)["C"].terms).all()


def test_other_sums_stay() -> None:
    before = stage()
    assert widened(stage("matmul")).instructions == stage("matmul").instructions
    conversion = next(n for n, i in enumerate(before.instructions) if i.operator is Operator.CAST)
    load = before.instructions[conversion].operands[0]
    assert isinstance(load, Result)
    for number, changed in (
        (conversion, replace(before.instructions[conversion], operator=Operator.NEG)),
        (load.instruction, replace(before.instructions[load.instruction], dtype=f32)),
    ):
        instructions = tuple(changed if n == number else i for n, i in enumerate(before.instructions))
        assert widened(replace(before, instructions=instructions)).instructions == instructions
    again = replace(before.instructions[-1], name="again", operands=(Result(conversion, ()),), axes=(), access=None)
    assert (
        widened(replace(before, instructions=(*before.instructions, again))).instructions[: conversion + 1]
        == (before.instructions[: conversion + 1])
    )


def test_bits_of_bf16() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -0.0, np.inf, 3.4e38], np.float32)
    assert bf16_values(bf16_words(values)).tolist() == [1.0, 1.0, 1.015625, -0.0, np.inf, np.inf]
    assert np.isnan(bf16_values(bf16_words(np.array([np.nan], np.float32)))[0])
