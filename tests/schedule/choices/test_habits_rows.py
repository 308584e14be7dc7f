"""Habits of kernels that sum twice along the rows of what they read, and store one number of each."""

from __future__ import annotations

import pytest
from tests.schedule.choices.test_habits import first

from warploom.core import f32, i8, i32
from warploom.schedule.backbone import cuda_tiles, read_once
from warploom.schedule.choices import kernel_space
from warploom.schedule.frontend import exp, log, out, tensor
from warploom.schedule.nest import Kind, Load, hardware_sizes, statements, verify
from warploom.schedule.targets import target

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

SM_90 = target("sm_90")


@tensor
def cross_entropy(L: f32["m", "v"], T: i32["m"], Y: out[f32["m"]]):
    top[i] = max(L[i, j], over=j)
    Y[i] = log(sum(exp(L[i, j] - top[i]), over=j)) + top[i] - L[i, T[i]]


@pytest.mark.parametrize(("columns", "threads", "blocks"), [(4096, 256, 128), (32000, 512, 512)])
def test_rows_that_are_summed_twice_stay_in_registers(columns: int, threads: int, blocks: int) -> None:
    """Each thread loads its part of L once, in vectors; long rows have more threads, which have one row each."""
    (stage,) = cross_entropy.program({"m": 512, "v": columns}, cuda_tiles).stages
    space = kernel_space(read_once(stage), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == ()
    assert hardware_sizes(nest, Kind.THREAD) == (threads,)
    assert hardware_sizes(nest, Kind.BLOCK) == (blocks,)
    loads = [around for s, around in statements(nest.body) if isinstance(s, Load) and s.memory.buffer == 0]
    assert [around[-1].kind for around in loads].count(Kind.VECTOR) == 1


@tensor
def quantized(X: f32["m", "n"], Q: out[i8["m", "n"]], s: out[f32["m"]]):
    top[i] = max(abs(X[i, j]), over=j)
    s[i] = top[i] / 127
    Q[i, j] = i8(X[i, j] * 127 / top[i])


def test_rows_beside_which_a_number_of_each_is_stored_are_read_once() -> None:
    (stage,) = quantized.program({"m": 512, "n": 4096}, cuda_tiles).stages
    space = kernel_space(read_once(stage), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == ()
    assert hardware_sizes(nest, Kind.THREAD) == (256,)
    (around,) = [around for s, around in statements(nest.body) if isinstance(s, Load)]
    assert around[-1].kind is Kind.VECTOR
