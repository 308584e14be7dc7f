"""Symmetric sums: which kernels have one, and that each refusal is needed by itself."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import f32
from warploom.kernels.suites import POLYBENCH
from warploom.schedule.backbone import Backbone, Operator, added_products, evaluate_terms, symmetry_of
from warploom.schedule.frontend import TensorFunction, out, tensor
from warploom.terms import algebra_for, equal

REALS = algebra_for(f32)


@tensor
def gram(A: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] += A[i, k] * A[j, k]


@tensor
def greatest(A: f32["n", "k"], B: f32["n", "n"], D: out[f32["n", "n"]]):
    D[j, i] = max(max(A[i, k], A[j, k]), over=k) + B[i, j]


@tensor
def batched(A: f32["b", "n", "k"], D: out[f32["n", "b", "n"]]):
    D[i, b, j] += A[b, i, k] * A[b, j, k]


@tensor
def twice(A: f32["n", "k"], B: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] = sum(A[i, k] * B[j, k] + A[j, k] * B[i, k], over=k)


@tensor
def differences(A: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] = sum(A[i, k] - A[j, k], over=k)


@tensor
def product(A: f32["n", "k"], B: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] += A[i, k] * B[j, k]


@tensor
def transposed(A: f32["n", "n"], D: out[f32["n", "n"]]):
    D[i, j] += A[i, k] * A[k, j]


@tensor
def of_columns(A: f32["n", "k"], bias: f32["n"], D: out[f32["n", "n"]]):
    D[i, j] = sum(A[i, k] * A[j, k], over=k) + bias[j]


@tensor
def no_sum(A: f32["n"], D: out[f32["n", "n"]]):
    D[i, j] = A[i] * A[j]


@tensor
def two_sums(A: f32["n", "k"], D: out[f32["n", "n"]]):
    D[i, j] = sum(A[i, k] * A[j, k], over=k) + sum(A[i, k] + A[j, k], over=k)


def stage_of(function: TensorFunction, number: int = 0, **sizes: int) -> Backbone:
    given = {name: sizes.get(name, 3) for name in function.sizes}
    return added_products(function.program(given).stages[number])


SYMMETRIC = {
    "gram": stage_of(gram), "greatest": stage_of(greatest), "batched": stage_of(batched, b=2), "twice": stage_of(twice),
    "syrk": stage_of(POLYBENCH["syrk"].kernel.function), "syr2k": stage_of(POLYBENCH["syr2k"].kernel.function),
    "covariance": stage_of(POLYBENCH["covariance"].kernel.function, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_symmetric_sum_is_found(name: str) -> None:
    stage = SYMMETRIC[name]
    found = symmetry_of(stage)
    assert found is not None
    assert [stage.axes[a].name for a in found.axes] == (["j", "i"] if name == "greatest" else ["i", "j"])
    store = next(n for n, i in enumerate(stage.instructions) if i.operator is Operator.STORE)
    assert store in found.ending and found.total not in found.ending
    once = found.exchanged(stage.instructions[store])
    assert once != stage.instructions[store] and found.exchanged(once) == stage.instructions[store]


@pytest.mark.parametrize("name", ["gram", "twice", "batched", "covariance"])
def test_the_values_are_symmetric(name: str) -> None:
    """By canonical forms of `terms`, which know nothing of this module."""
    stage = SYMMETRIC[name]
    region = next(r for r in stage.regions if r.role == "output")
    terms = evaluate_terms(stage)[region.name].terms.reshape(region.shape)
    exchanged = np.swapaxes(terms, 0, -1)
    assert all(equal(a, b, REALS) for a, b in zip(terms.flat, exchanged.flat, strict=True))


@pytest.mark.parametrize("function", [differences, product, transposed, of_columns, no_sum, two_sums], ids=lambda f: f.name)
def test_other_kernels_have_none(function: TensorFunction) -> None:
    assert symmetry_of(stage_of(function)) is None


def test_axes_of_two_lengths() -> None:
    stage = stage_of(gram)
    longer = replace(stage, axes=(replace(stage.axes[0], size=4), *stage.axes[1:]))
    assert symmetry_of(longer) is None


def test_a_result_that_is_read() -> None:
    """D[i, j] on the other side of the diagonal is overwritten before it is read."""
    stage = SYMMETRIC["syrk"]
    store = next(i for i in stage.instructions if i.operator is Operator.STORE)
    load = next(n for n, i in enumerate(stage.instructions) if i.name == "load_C")
    instructions = list(stage.instructions)
    instructions[load] = replace(instructions[load], access=store.access)
    assert symmetry_of(replace(stage, instructions=tuple(instructions))) is None


def test_a_result_that_may_lie_outside() -> None:
    stage = SYMMETRIC["gram"]
    instructions = tuple(
        replace(i, access=replace(i.access, fill=0.0)) if i.operator is Operator.STORE and i.access is not None else i
        for i in stage.instructions
    )
    assert symmetry_of(replace(stage, instructions=instructions)) is None


def test_two_results() -> None:
    stage = SYMMETRIC["gram"]
    store = next(i for i in stage.instructions if i.operator is Operator.STORE)
    assert symmetry_of(replace(stage, instructions=(*stage.instructions, replace(store, name="again")))) is None
