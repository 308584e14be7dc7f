"""Kernels that sum nothing, or along columns and odd rows, begin with whole lines of memory and whole warps."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest
from tests.schedule.choices.test_habits import first

from warploom.core import f32
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cuda_tiles, read_once
from warploom.schedule.choices import Features, kernel_space
from warploom.schedule.choices.habits_maps import maps_of
from warploom.schedule.choices.objects import objects_of
from warploom.schedule.cost import loads_per_output, modelled, work_of
from warploom.schedule.cost.time import STREAMED
from warploom.schedule.frontend import TensorFunction, exp, out, pad, tensor, where
from warploom.schedule.nest import Kind, Load, Nest, Space, Store, hardware_sizes, statements, verify
from warploom.schedule.targets import target

SM_90 = target("sm_90")


@tensor
def transpose(X: f32["m", "n"], Y: out[f32["n", "m"]]):
    Y[n, m] = X[m, n]


@tensor
def biased(X: f32["m", "n"], b: f32["n"], Y: out[f32["m", "n"]]):
    Y[m, n] = X[m, n] + b[n]


@tensor
def column_softmax(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    top[n] = max(X[m, n], over=m)
    e[m, n] = exp(X[m, n] - top[n])
    total[n] = sum(e[m, n], over=m)
    Y[m, n] = e[m, n] / total[n]


@tensor
def layers(X: f32["t", "m", "n"], Y: out[f32["m", "n"]]):
    Y[m, n] = sum(X[t, m, n], over=t)


@tensor
def squares(X: f32["s", "t", "m", "n"], Y: out[f32["m", "n"]]):
    Y[m, n] = sum(X[s, t, m, n], over=(s, t))


@tensor
def turned_layers(X: f32["t", "m", "n"], Y: out[f32["n", "m"]]):
    Y[n, m] = sum(X[t, m, n], over=t)


@tensor
def shares(X: f32["t", "m", "n"], Y: out[f32["t", "m", "n"]]):
    total[m, n] = sum(X[t, m, n], over=t)
    Y[t, m, n] = X[t, m, n] / total[m, n]


def ways_of(function: TensorFunction, **sizes: int) -> int:
    (stage,) = function.program(sizes, cuda_tiles).stages
    return len([way for way in maps_of(objects_of(stage, Features.of(SM_90))) if way])


def nest_of(function: TensorFunction, way: int = 0, **sizes: int) -> Nest:
    (stage,) = function.program(sizes, cuda_tiles).stages
    space = kernel_space(read_once(stage), SM_90)
    found = first(space, space.usually(space.root(), lambda _: False, way))
    assert verify(found) == ()
    return found


def sectors_are_full(nest: Nest, results: int) -> bool:
    """Warps ask for hardly more bytes than they load: rows that are not aligned touch a fifth sector of a line."""
    loads = loads_per_output(nest)
    assert loads is not None
    return modelled(nest, SM_90).traffic.asked <= 1.3 * loads * results * 4


def share_of_memory(nest: Nest, number_of_bytes: int) -> float:
    """Share of the bandwidth that streaming kernels reach."""
    found = modelled(nest, SM_90)
    needed_ns = number_of_bytes / (STREAMED * SM_90.rates.bandwidth_bytes_per_ns)
    return needed_ns / (found.time_ms * 1e6 - found.launch_ns)


@pytest.mark.parametrize("way", [0, 2])
def test_a_transpose_goes_through_a_square_in_shared_memory(way: int) -> None:
    nest = nest_of(transpose, way, m=4096, n=4096)
    accesses = [(s, around[-1].kind) for s, around in statements(nest.body) if isinstance(s, Load | Store)]
    far = [kind for s, kind in accesses if nest.buffers[s.memory.buffer].space is Space.GLOBAL]
    assert far == [Kind.VECTOR, Kind.VECTOR]
    (tile,) = [b for b in nest.buffers if b.space is Space.SHARED]
    assert tile.elements == (4 * hardware_sizes(nest, Kind.THREAD)[0]) ** 2
    assert sectors_are_full(nest, 4096 * 4096)
    waves = [r.lines for r in work_of(nest).requests if not r.sectors]
    assert max(waves) <= 4  # no conflicts: vectors of 16 bytes take four
    assert share_of_memory(nest, 2 * 4096 * 4096 * 4) > 0.85


def test_results_along_a_row_are_made_in_vectors_and_rows_share_what_they_read() -> None:
    wide, tall = nest_of(biased, 0, m=4096, n=4096), nest_of(biased, 1, m=4096, n=4096)
    assert hardware_sizes(wide, Kind.THREAD) == (256,) and hardware_sizes(tall, Kind.THREAD) == (128,)
    assert all(around[-1].kind is Kind.VECTOR for s, around in statements(wide.body) if isinstance(s, Load | Store))
    assert share_of_memory(tall, 2 * 4096 * 4096 * 4) > 0.85


def test_a_thread_adds_few_terms_of_neighbours_that_it_loads_in_vectors() -> None:
    nest = nest_of(layers, t=4, m=1024, n=1024)
    assert hardware_sizes(nest, Kind.THREAD) == (256,) and hardware_sizes(nest, Kind.BLOCK) == (1024,)
    assert all(around[-1].kind is Kind.VECTOR for s, around in statements(nest.body) if isinstance(s, Load | Store))
    assert sectors_are_full(nest, 1024 * 1024)
    assert share_of_memory(nest, 5 * 1024 * 1024 * 4) > 0.85


def test_sums_of_more_terms_along_another_axis_or_of_shares_have_other_habits() -> None:
    assert ways_of(layers, t=8, m=64, n=64)
    assert not ways_of(layers, t=16, m=64, n=64)  # has levels of its own
    assert ways_of(squares, s=4, t=4, m=64, n=64) and not ways_of(squares, s=4, t=5, m=64, n=64)
    assert not ways_of(turned_layers, t=4, m=64, n=64)
    assert not ways_of(shares, t=4, m=64, n=64)  # stored along the index of the sum


def test_short_rows_of_results_share_a_block() -> None:
    assert hardware_sizes(nest_of(biased, 0, m=1 << 16, n=64), Kind.THREAD) == (16, 16)


def test_columns_that_are_summed_and_stored_are_read_in_whole_lines() -> None:
    nest = nest_of(column_softmax, 1, m=512, n=8192)
    assert hardware_sizes(nest, Kind.THREAD) == (32, 8)
    assert sectors_are_full(nest, 512 * 8192)
    assert len([s for s, _ in statements(nest.body) if isinstance(s, Load)]) == 1


def test_rows_that_vectors_do_not_fit_are_read_in_whole_lines() -> None:
    nest = nest_of(tensor_kernel("layer_norm").function, rows=4097, columns=999)
    assert hardware_sizes(nest, Kind.THREAD) == (256,)
    assert sectors_are_full(nest, 4097 * 999)


def test_short_rows_that_are_summed_share_a_block() -> None:
    nest = nest_of(tensor_kernel("softmax").function, rows=1 << 16, columns=32)
    assert hardware_sizes(nest, Kind.THREAD) == (8, 32)


@pytest.mark.parametrize("columns", [4096, 2999])
def test_a_matrix_times_a_vector_loads_the_vector_once_for_some_rows(columns: int) -> None:
    nest = nest_of(tensor_kernel("matvec").function, m=4096, n=columns)
    assert hardware_sizes(nest, Kind.THREAD) == (256,)
    assert hardware_sizes(nest, Kind.BLOCK) == (1024,)
    assert sectors_are_full(nest, 4096)


@tensor
def enlarged(X: f32["h", "w"], Y: out[f32["2 * h", "2 * w"]]):
    Y[i, j] = X[i // 2, j // 2] + pad(X, 0)[i // 2 + i % 2, j // 2 + j % 2]


@tensor
def rotated(X: f32["t", "2 * d"], C: f32["t", "d"], Y: out[f32["t", 2, "d"]]):
    Y[i, p, k] = where(p < 1, X[i, k] * C[i, k] - X[i, k + d], X[i, k + d] * C[i, k] + X[i, k])


def test_a_thread_has_both_halves_of_a_divided_index() -> None:
    nest = nest_of(enlarged, h=2048, w=2048)
    assert hardware_sizes(nest, Kind.THREAD) == (128, 2)
    (kind,) = [around[-1].kind for s, around in statements(nest.body) if isinstance(s, Store)]
    assert kind is Kind.VECTOR  # two results next to each other
    assert share_of_memory(nest, 5 * 2048 * 2048 * 4) > 0.6


def test_a_thread_has_all_results_that_are_made_of_the_same() -> None:
    nest = nest_of(rotated, t=65536, d=64)
    assert loads_per_output(nest) == 1.5  # of two results: both halves of X, and C
    assert share_of_memory(nest, 65536 * 64 * 5 * 4) > 0.8
