"""Conversions that sums of products do by themselves: each reason against it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import bf16_values, bf16_words, f32
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import (
    Backbone,
    Operator,
    Result,
    evaluate,
    evaluate_terms,
    matrix_of,
    random_inputs,
    verify,
    widened,
)

SIZES = {"m": 3, "n": 4, "k": 5}


def stage(name: str = "matmul_f16") -> Backbone:
    return tensor_kernel(name).program(SIZES).stages[0]


@pytest.mark.parametrize("name", ["matmul_f16", "matmul_bf16", "linear_relu_f16", "matmul_tf32", "matmul_e4m3"])
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


@pytest.mark.parametrize("name", ["matmul_i8", "matmul_u8"])
def test_products_of_bytes_are_joined_with_their_sum(name: str) -> None:
    before = stage(name)
    after = widened(before)
    verify(after)
    assert [i.operator for i in after.instructions].count(Operator.FMA) == 1
    assert len(before.instructions) - len(after.instructions) == 3
    arrays = random_inputs(before.regions, 1)
    np.testing.assert_array_equal(evaluate(after, arrays)["C"], evaluate(before, arrays)["C"])
    assert widened(before, {"f16"}).instructions == before.instructions


def test_other_sums_of_products_of_bytes_stay() -> None:
    before = stage("matmul_i8")
    total = next(n for n, i in enumerate(before.instructions) if i.carry is not None)
    product = next(n for n, i in enumerate(before.instructions) if i.operator is Operator.MUL)
    again = replace(before.instructions[-1], name="again", operands=(Result(product, ()),), axes=(), access=None)
    twice = replace(before, instructions=(*before.instructions, again))
    assert widened(twice).instructions == twice.instructions
    for number, changed in (
        (product, replace(before.instructions[product], operator=Operator.ADD)),
        (total, replace(before.instructions[total], operator=Operator.MAX)),
        (total, replace(before.instructions[total], operands=before.instructions[total].operands[:1] * 2)),
    ):
        instructions = tuple(changed if n == number else i for n, i in enumerate(before.instructions))
        assert widened(replace(before, instructions=instructions)).instructions == instructions


def test_factors_without_an_axis_of_their_own_are_no_matrices() -> None:
    """A sum of products of f64 elements, as a product of a matrix and a vector has it."""
    backbone = stage("matmul_f64")
    total = next(i for i in backbone.instructions if i.carry is not None)
    found = matrix_of(backbone.instructions, total)
    assert found is not None and found.factor == "f64"
    factors = [o.instruction for o in total.operands[:2] if isinstance(o, Result)]
    for own in factors:
        shared = replace(backbone.instructions[own], axes=(2,))
        listed = tuple(shared if n == own else i for n, i in enumerate(backbone.instructions))
        assert matrix_of(listed, total) is None
    assert matrix_of(backbone.instructions, replace(total, operator=Operator.ADD)) is None


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
