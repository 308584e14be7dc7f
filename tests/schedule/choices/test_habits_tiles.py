"""Sums of other things than products begin with tiles as products do, and what is made of their results at once goes along."""

from __future__ import annotations

import pytest
from tests.schedule.choices.test_habits import first
from tests.schedule.choices.test_kernel_space import check

from warploom.core import f16, f32, i8, i32
from warploom.machines import architecture
from warploom.schedule.backbone import Backbone, Operator, cuda_tiles, matrix_tiles, read_once, summands_of, widened
from warploom.schedule.choices import kernel_space, objects_of
from warploom.schedule.choices.features import Features
from warploom.schedule.choices.habits_tiles import Tiles, TileWay
from warploom.schedule.cost import modelled, registers_of
from warploom.schedule.frontend import TensorFunction, argmin, exp, out, tensor
from warploom.schedule.nest import Compute, Kind, Load, Space, hardware_sizes, statements, verify
from warploom.schedule.targets import Target, target

# ruff: noqa: F821, UP037 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

SM_90 = target("sm_90")


@tensor
def distances(X: f32["i", "k"], Y: f32["j", "k"], D: out[f32["i", "j"]]):
    D[i, j] = sum((X[i, k] - Y[j, k]) ** 2, over=k)


@tensor
def min_plus(A: f32["i", "k"], B: f32["k", "j"], D: out[f32["i", "j"]]):
    D[i, j] = min(A[i, k] + B[k, j], over=k)


@tensor
def nearest(X: f32["i", "k"], Y: f32["j", "k"], d: out[f32["i"]]):
    d[i] = min(sum((X[i, k] - Y[j, k]) ** 2, over=k), over=j)


@tensor
def place_of_nearest(X: f32["i", "k"], Y: f32["j", "k"], p: out[i32["i"]]):
    p[i] = argmin(sum((X[i, k] - Y[j, k]) ** 2, over=k), over=j)


@tensor
def int8_weights(X: f16["i", "k"], W: i8["j", "k"], D: out[f32["i", "j"]]):
    D[i, j] = sum(f32(X[i, k]) * f32(W[j, k]), over=k)


@tensor
def above_zero(X: f32["i", "k"], Y: f32["j", "k"], s: f32["k"], D: out[f32["i", "j"]]):
    D[i, j] = sum(X[i, k] * s[k] * max(Y[j, k], 0), over=k)


@tensor
def by_rest(X: f32["i", "k"], Y: f32["j", "k"], D: out[f32["i", "j"]]):
    e = exp(Y[j, k])
    D[i, j] = sum(X[i, k] * e, over=k) + max(e, over=k)


@tensor
def matrix_of_int8(X: f16["i", "k"], W: i8["j", "k"], D: out[f32["i", "j"]]):
    D[i, j] = sum(f32(X[i, k]) * f32(f16(W[j, k])), over=k)


def stage(function: TensorFunction, i: int, j: int, k: int) -> Backbone:
    return function.program({"i": i, "j": j, "k": k}, cuda_tiles).stages[0]


def test_distances_have_tiles_in_registers() -> None:
    """A thread makes 8 x 8 results of tiles that are copied ahead; what a sum takes is one register."""
    space = kernel_space(stage(distances, 2048, 2048, 512), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == () and hardware_sizes(nest, Kind.THREAD) == (16, 16)
    assert [b.copies for b in nest.buffers if b.space is Space.SHARED] == [2, 2]
    (total,) = [s for s, _ in statements(nest.body) if isinstance(s, Compute) and s.target in s.arguments]
    assert [axis.size for axis in nest.values[total.target.value].axes] == [8, 2, 4]
    assert not any(value.axes for value in nest.values if value.name == "sub")
    assert registers_of(nest) < 160
    board = architecture("sm_90").bounds
    lanes = architecture("sm_90").timing.float_lanes.value * board.multiprocessors * board.clock_ghz * 1e6
    assert 2 * 2048 * 2048 * 512 / lanes / modelled(nest, SM_90).time_ms > 0.75


def test_tiles_may_be_made_on_the_way_to_shared_memory() -> None:
    """Numbers are loaded in vectors, converted in registers and stored as floats: once, and not for each product."""
    space = kernel_space(stage(int8_weights, 1024, 1024, 1024), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == () and hardware_sizes(nest, Kind.THREAD) == (16, 16)
    assert [b.dtype for b in nest.buffers if b.space is Space.SHARED] == [f32, f32]
    casts = [path for s, path in statements(nest.body) if isinstance(s, Compute) and s.operator is Operator.CAST]
    assert len(casts) == 2 and all(sum(x.kind is Kind.LOOP for x in path) == 1 for path in casts)
    loads = [path for s, path in statements(nest.body) if isinstance(s, Load) and nest.buffers[s.memory.buffer].name in "XW"]
    assert [path[-1].kind for path in loads] == [Kind.VECTOR] * 2
    assert modelled(nest, SM_90).time_ms < 0.1


def test_so_are_the_factors_of_matrix_instructions() -> None:
    backbone = stage_of(matrix_of_int8, SM_90)
    space = kernel_space(backbone, SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == () and [b.dtype for b in nest.buffers if b.space is Space.SHARED] == [f16, f16]
    assert modelled(nest, SM_90).time_ms < 0.06


def stage_of(function: TensorFunction, on: Target) -> Backbone:
    return widened(function.program({"i": 1024, "j": 1024, "k": 1024}, matrix_tiles(on.matrices)).stages[0], on.matrices)


@pytest.mark.parametrize(("function", "k"), [(min_plus, 16), (nearest, 16), (above_zero, 32)])
def test_such_kernels_compute_what_was_asked(function: TensorFunction, k: int) -> None:
    backbone = stage(function, 32, 32, k)
    space = kernel_space(backbone, SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert verify(nest) == ()
    check(backbone, nest)


def test_a_block_goes_along_the_points_of_which_the_nearest_is_found() -> None:
    space = kernel_space(stage(nearest, 65536, 1024, 128), SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False, space.ways - 2))
    assert verify(nest) == () and sum(b.space is Space.SHARED for b in nest.buffers) == 2
    assert modelled(nest, SM_90).time_ms < 0.7


def test_what_is_no_tile_of_a_sum() -> None:
    """The place of a least value needs all of them again; what two sums take is no summand of one, nor made on the way to a
    tile."""
    found = {}
    for function in (distances, nearest, above_zero, by_rest, place_of_nearest):
        objects = objects_of(read_once(stage(function, 64, 64, 16)), Features.of(SM_90))
        found[function.name] = Tiles(objects, objects.sums[0], TileWay()).is_product
    assert found == {"distances": True, "nearest": True, "above_zero": True, "by_rest": False, "place_of_nearest": False}
    inner = stage(distances, 64, 64, 16)
    (total,) = [n for n, i in enumerate(inner.instructions) if i.carry is not None]
    assert [inner.instructions[n].name for n in summands_of(inner.instructions, total)] == ["sub"]
    assert summands_of((*inner.instructions, inner.instructions[total]), total) == ()
