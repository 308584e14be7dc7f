"""Floats that become integers: a kernel that rounds before is right where a whole number may be on either side, and nothing is
said of what the integers do not hold."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import f32, i8, i32, u8
from warploom.schedule.backbone import Program, converts_to_integers, evaluate_bounded, evaluate_program, exact_whole
from warploom.schedule.frontend import exp, out, tensor, where
from warploom.tools.explore.check import compare
from warploom.tools.explore.data import Data, Effort, data_for, further_data

SIZES = {"n": 16, "m": 12}


@tensor
def thirds(X: f32["n"], Z: f32["n"], Y: out[i32["n"]]):
    Y[i] = i32(X[i] * Z[i] / 3)


@tensor
def back(X: f32["n"], Y: out[f32["n"]]):
    Y[i] = f32(i32(X[i] / 3)) * 2


@tensor
def bytes_of(X: f32["n", "m"], Y: out[i8["n", "m"]]):
    s[i] = max(abs(X[i, j]), over=j) / 127
    Y[i, j] = i8(X[i, j] / s[i])


@tensor
def tens(X: f32["n"], Y: out[i8["n"]]):
    Y[i] = i8(X[i] * 10)


@tensor
def unsigned(X: f32["n"], Y: out[u8["n"]]):
    Y[i] = u8(X[i])


@tensor
def halves(X: f32["n"], Y: out[i32["n"]]):
    Y[i] = i32(X[i] * 0.5)


@tensor
def counted(X: f32["n", "m"], Y: out[i32["n"]]):
    Y[i] = sum(where(exp(X[i, j]) > 1.5, 1, 0), over=j)


@tensor
def scaled(s: f32, X: i32["n"], Y: out[i32["n"]]):
    Y[i] = X[i] * i32(s)


@tensor
def negated(X: i32["n"], Y: out[f32["n"]]):
    Y[i] = f32(-X[i])


FUNCTIONS = [thirds, back, bytes_of, tens, unsigned, halves, counted, scaled]


def program_of(function) -> Program:
    return function.program({name: SIZES[name] for name in function.sizes})


def sets_of(program: Program) -> list[Data]:
    first = data_for(program, None, 0)
    return [first, *further_data(program, 0, {}, first.content, Effort(60.0, 0.0, 24))]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_what_computes_the_function_is_tested(function) -> None:
    program = program_of(function)
    for data in sets_of(program):
        found = compare(evaluate_program(program, data.inputs, data.scalars), data)
        assert found.verdict == "tested", (data.content, found.reason)


@pytest.mark.parametrize("function", [thirds, back, bytes_of, halves, counted], ids=lambda f: f.name)
def test_other_numbers_are_refuted(function) -> None:
    program = program_of(function)
    for data in sets_of(program)[:2]:
        right = evaluate_program(program, data.inputs, data.scalars)
        assert compare({n: a + a.dtype.type(2) for n, a in right.items()}, data).verdict == "refuted"


def test_numbers_that_an_integer_does_not_hold_have_no_one_result() -> None:
    found = evaluate_bounded(program_of(tens), {"X": np.array([12.05, 13.0, -13.0, 1.25] * 4, np.float32)})["Y"]
    assert found.allowed.tolist() == [0, np.inf, np.inf, 0] * 4
    assert (found.values[0], found.values[3]) == (120, 12)


def test_sums_of_uncertain_counts_keep_both() -> None:
    edge = np.full((16, 12), -5.0, np.float32)
    edge[0, 0] = np.log(np.float32(1.5))
    found = evaluate_bounded(program_of(counted), {"X": edge})["Y"]
    assert (found.values[0], found.allowed[0]) == (0.5, 0.5) and not found.allowed[1:].any()


@pytest.mark.parametrize(("function", "whole"), [(halves, 100), (tens, 6), (unsigned, None), (scaled, 100), (thirds, None)])
def test_whole_numbers_are_exact_while_the_integers_hold_them(function, whole: int | None) -> None:
    assert exact_whole(program_of(function), {"s": 2.0}) == whole


def test_which_functions_convert() -> None:
    found = [f.name for f in (*FUNCTIONS, negated) if converts_to_integers(program_of(f))]
    assert found == [f.name for f in FUNCTIONS]
