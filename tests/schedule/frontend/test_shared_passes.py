"""Stages that pass over one array as one: which are joined, and that their results stay as they are."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false, reportUnboundVariable=false

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import f32, i32
from warploom.kernels.suites import POLYBENCH
from warploom.schedule.backbone import (
    Backbone,
    Carry,
    Constant,
    Operator,
    Program,
    Role,
    cpu_tiles,
    evaluate,
    places_of,
    random_inputs,
    verify,
)
from warploom.schedule.frontend import TensorFunction, out, pad, sharing_passes, temp, tensor


@tensor
def maps(A: f32["m", "n"], B: out[f32["m", "n"]], C: out[f32["m", "n"]]):
    B[m, n] = A[m, n] * 2
    C[n, m] = A[n, m] + B[n, m]


@tensor
def rows(A: f32["m", "n"], T: temp[f32["m"]], U: temp[f32["m"]], Y: out[f32["m", "n"]]):
    T[m] = max(A[m, n], over=n)
    U[m] = sum(A[m, n] * T[m], over=n)
    Y[m, n] = A[m, n] * U[m] + T[m]


@tensor
def product(A: f32["m", "k"], B: f32["k", "n"], s: out[f32["m"]], C: out[f32["m", "n"]]):
    s[m] += A[m, k]
    C[m, n] += A[m, k] * B[k, n]


@tensor
def columns(A: f32["m", "n"], x: temp[f32["n"]], y: out[f32["m"]]):
    x[n] = sum(A[m, n], over=m)
    y[m] = sum(A[m, n] * x[n], over=n)


@tensor
def shifted(A: f32["m", "n"], B: out[f32["m", "n"]], C: out[f32["m", "n"]]):
    B[m, n] = A[m, n] * 2
    C[m, n] = A[m, n] + pad(B, 0)[m - 1, n]


@tensor
def smaller(A: f32["m", "n"], s: out[f32["m"]], q: out[f32["n"]]):
    k: range(2)
    s[m] += A[m, n]
    q[n] += A[k, n]


@tensor
def other(A: f32["m", "n"], B: f32["m", "n"], s: out[f32["m"]], q: out[f32["n"]]):
    s[m] += A[m, n]
    q[n] += B[m, n]


@tensor
def gathered(A: f32["m", "n"], P: i32["n"], s: out[f32["m"]], q: out[f32["m"]]):
    s[m] += A[m, n]
    q[m] = sum(A[m, n] * A[m, P[n]], over=n)


SIZES = {"m": 6, "n": 5, "k": 4}
SUITE = ("atax", "bicg", "mvt", "gemver")


def program_of(function: TensorFunction) -> Program:
    return function.program({s: SIZES[s] for s in function.sizes}, cpu_tiles)


def results(program: Program, stages: tuple[Backbone, ...]) -> dict[str, np.ndarray]:
    """Each stage by itself, on the same inputs."""
    known = dict(random_inputs(program.arguments, 0, places_of(program.stages)))
    for stage in stages:
        known |= evaluate(stage, known, {p.name: 1.5 for p in program.parameters})
    return {r.name: known[r.name] for r in program.arguments if r.role is Role.OUTPUT}


def check(program: Program, names: list[str]) -> Program:
    joined = sharing_passes(program, cpu_tiles)
    assert [stage.name for stage in joined.stages] == names
    assert joined.plain == program and joined.arguments == program.arguments
    for stage in joined.stages:
        verify(stage)
    expected, found = results(program, program.stages), results(program, joined.stages)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)
    return joined


@pytest.mark.parametrize(
    ("name", "stages"),
    [("atax", ["atax"]), ("bicg", ["bicg"]), ("mvt", ["mvt"]), ("gemver", ["gemver_B_x", "gemver_w"])],
)
def test_kernels_of_the_suite(name: str, stages: list[str]) -> None:
    kernel = POLYBENCH[name].kernel
    check(kernel.program(dict.fromkeys(kernel.sizes, 6), cpu_tiles), stages)


@pytest.mark.parametrize(("function", "stages"), [(maps, ["maps"]), (rows, ["rows"])])
def test_values_pass_from_index_to_index(function: TensorFunction, stages: list[str]) -> None:
    joined = check(program_of(function), stages)
    between = {r.name for r in joined.arguments if r.role is Role.TEMPORARY}
    assert not between & {r.name for stage in joined.stages for r in stage.regions}


@pytest.mark.parametrize(("name", "loads"), [("bicg", 1), ("atax", 2)])
def test_an_element_is_loaded_once_unless_a_sum_over_it_comes_between(name: str, loads: int) -> None:
    kernel = POLYBENCH[name].kernel
    (stage,) = sharing_passes(kernel.program(dict.fromkeys(kernel.sizes, 6), cpu_tiles), cpu_tiles).stages
    assert sum(i.name.startswith("load_A") for i in stage.instructions) == loads


@pytest.mark.parametrize("function", [product, columns, shifted, smaller, other, gathered])
def test_what_is_not_joined(function: TensorFunction) -> None:
    program = program_of(function)
    assert len(program.stages) == 2
    assert sharing_passes(program, cpu_tiles) is program


def test_sizes_known_at_run_time_keep_stages_apart() -> None:
    kernel = POLYBENCH["bicg"].kernel.function
    program = kernel.at_run_time(kernel.program({"m": 6, "n": 5}, cpu_tiles), {"m": 1})
    assert sharing_passes(program, cpu_tiles) is program


def test_what_the_language_does_not_say_keeps_stages_apart() -> None:
    """Second stages that overwrite what the first one reads, or start a sum from what it stores; a first one that stores no
    value; numbers whose sums one of the stages may not reorder."""
    program = POLYBENCH["bicg"].kernel.program({"m": 6, "n": 5}, cpu_tiles)
    first, second = program.stages
    renamed = tuple(replace(r, name="r") if r.role is Role.OUTPUT else r for r in second.regions)
    in_order = replace(second, can_reorder=False)
    passing = POLYBENCH["atax"].kernel.program({"m": 6, "n": 6}, cpu_tiles)
    makes, takes = passing.stages
    load = next(n for n, i in enumerate(takes.instructions) if i.name == "load_Ax")
    starting = tuple(
        replace(i, operands=tuple(replace(o, init=load) if isinstance(o, Carry) else o for o in i.operands))
        for i in takes.instructions
    )
    constant = tuple(replace(i, operands=(Constant(1.0),)) if i.operator is Operator.STORE else i for i in makes.instructions)
    for stages in (
        (first, replace(second, regions=renamed)),
        (first, in_order),
        (makes, replace(takes, instructions=starting)),
        (replace(makes, instructions=constant), takes),
    ):
        made = replace(program, stages=stages)
        assert sharing_passes(made, cpu_tiles) is made
