"""Kernels of which every size is 1: no loops are left, and the space still has its one implementation."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)

from __future__ import annotations

import pytest

from warploom.core import f32
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.choices import kernel_space
from warploom.schedule.frontend import out, tensor
from warploom.schedule.nest import verify
from warploom.schedule.targets import TARGETS


@tensor
def axpy(a: f32, x: f32["n"], y: out[f32["n"]]):
    y[i] = a * x[i] + 1


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_one_point(target: str) -> None:
    (stage,) = axpy.program({"n": 1}, cpu_tiles).stages
    space = kernel_space(stage, TARGETS[target])
    candidate = space.root()
    while (decision := space.decisions(candidate)) is not None:
        following = space.apply(candidate, decision, decision.alternatives[0])
        assert following is not None
        candidate = following
    assert verify(space.lower(candidate)) == ()
