"""Data sets take both sides of conditions: functions that differ on one side alone are told apart. Sizes of 0 have data, too."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from warploom.core import f32, i32
from warploom.schedule.backbone import at_sizes, evaluate_program
from warploom.schedule.frontend import exp, out, tensor, where
from warploom.tools.explore.check import compare
from warploom.tools.explore.data import Effort, data_for, further_data

SIZES = {"m": 4, "n": 60}


@tensor
def quotient(X: f32["n"], Z: f32["n"], Y: out[f32["n"]]):
    Y[i] = where(X[i] == 0, 5, X[i] * Z[i])


@tensor
def quotient_without_a_case(X: f32["n"], Z: f32["n"], Y: out[f32["n"]]):
    Y[i] = X[i] * Z[i]


@tensor
def ties(X: f32["n"], Z: f32["n"], Y: out[f32["n"]]):
    Y[i] = where(X[i] == Z[i], 5, X[i] * 2)


@tensor
def ties_without_a_case(X: f32["n"], Z: f32["n"], Y: out[f32["n"]]):
    Y[i] = X[i] * 2 + 0 * Z[i]


@tensor
def scalars(s: f32, t: f32, u: f32, X: f32["n"], Y: out[f32["n"]]):
    Y[i] = where(X[i] == t, s, X[i] * u)


@tensor
def scalars_without_a_case(s: f32, t: f32, u: f32, X: f32["n"], Y: out[f32["n"]]):
    Y[i] = X[i] * u + 0 * (s + t)


@tensor
def lengths(L: i32["m"], X: f32["m", "n"], Y: out[f32["m", "n"]]):
    Y[i, j] = where(j < L[i], X[i, j], 0)


@tensor
def lengths_off_by_one_in_the_middle(L: i32["m"], X: f32["m", "n"], Y: out[f32["m", "n"]]):
    Y[i, j] = where(j < L[i] or (j > 25 and j <= L[i]), X[i, j], 0)


@tensor
def one_place(N: i32["m", "n"], X: f32["n"], Y: out[f32["m"]]):
    Y[i] = sum(where(N[i, j] == 11, X[j], 0), over=j)


@tensor
def one_place_but_the_last(N: i32["m", "n"], X: f32["n"], Y: out[f32["m"]]):
    Y[i] = sum(where(N[i, j] == 11 and j < n - 1, X[j], 0), over=j)


PAIRS = [
    (quotient, quotient_without_a_case),
    (ties, ties_without_a_case),
    (scalars, scalars_without_a_case),
    (lengths, lengths_off_by_one_in_the_middle),
    (one_place, one_place_but_the_last),
]


@pytest.mark.parametrize(("function", "wrong"), PAIRS, ids=lambda f: f.name)
@pytest.mark.parametrize("most", [3, 24])
def test_a_side_that_is_seldom_taken_is_told(function, wrong, most: int) -> None:
    """With as many sets as the PTX interpreter is given, and as many as run on a CPU."""
    program, other = (f.program({name: SIZES[name] for name in f.sizes}) for f in (function, wrong))
    first = data_for(program, None, 0)
    sets = [first, *further_data(program, 0, {}, first.content, Effort(60.0, 0.0, most))]
    assert all(compare(evaluate_program(program, d.inputs, d.scalars), d).verdict == "tested" for d in sets)
    assert any(compare(evaluate_program(other, d.inputs, d.scalars), d).verdict == "refuted" for d in sets)


@tensor
def greatest_of_a_length(L: i32["m"], X: f32["m", "n"], Y: out[f32["m"]], Z: out[f32["m"]]):
    Y[i] = max(where(j < L[i], X[i, j], -inf), over=j)
    Z[i] = sum(exp(X[i, j]), over=j)


def test_infinities_that_are_chosen_are_right() -> None:
    """Rows of length 0."""
    program = greatest_of_a_length.program(SIZES)
    sets = [*further_data(program, 0, {}, effort=Effort(60.0, 0.0, 12))]
    assert any(np.isinf(d.outputs["Y"]).any() and d.allowed for d in sets)
    assert all(compare(evaluate_program(program, d.inputs, d.scalars), d).verdict == "tested" for d in sets)


@tensor
def extremes(X: f32["m", "n"], Y: out[f32["m"]], Z: out[f32["m"]]):
    Y[i] = exp(max(X[i, j], over=j))
    Z[i] = exp(min(X[i, j], over=j))


@pytest.mark.parametrize("sizes", [{"m": 3, "n": 0}, {"m": 0, "n": 3}, {"m": 0, "n": 0}])
def test_extremes_of_no_elements_have_bounds(sizes) -> None:
    program = extremes.at_run_time(extremes.program({"m": 8, "n": 8}), {"m": 1, "n": 1}, has_strides=True)
    program = at_sizes(program, sizes)
    for data in further_data(program, 0, {}):
        assert all(values.size == sizes["m"] for values in data.outputs.values())
        assert compare(evaluate_program(program, data.inputs, data.scalars), data).verdict == "tested"
