"""Loops over a size known at run time may run no round: what stands behind them has its values all the same."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.nest.interpreter import interpret

from warploom.core import f32
from warploom.schedule.backbone import no_tiles
from warploom.schedule.choices.kernel import kernel_space
from warploom.schedule.choices.lower_candidate import lower_candidate
from warploom.schedule.frontend import out, tensor
from warploom.schedule.nest import at_run_time
from warploom.schedule.targets import TARGETS


@tensor
def beside_a_sum(A: f32["n", "m"], B: f32["n"], C: f32["m"], D: f32["m"], Y: out[f32["m"]]):
    Y[i] = sum(A[k, i] * B[k], over=k) + (C[i] - D[i])


@pytest.mark.parametrize("target", ["cpu", "sm_90"])
def test_what_is_beside_a_sum_of_no_elements_is_stored(target: str) -> None:
    program = beside_a_sum.program({"n": 4, "m": 4}, no_tiles)
    (stage,) = beside_a_sum.at_run_time(program, {"n": 1}, has_strides=True).stages
    space = kernel_space(stage, TARGETS[target])
    chance = random.Random(7)
    C, D = np.arange(4, dtype=np.float32), np.float32([3, 1, 4, 1])
    arrays = {"A": np.zeros(0, np.float32), "B": np.zeros(0, np.float32), "C": C, "D": D}
    found = [c for c in (descend(space, chance) for _ in range(40)) if c is not None]
    for candidate in found:
        nest = at_run_time(lower_candidate(space.objects, space.target, candidate), {"n": 0})
        assert (interpret(nest, arrays, {}, 1)["Y"] == C - D).all()
    assert len(found) > 10
