"""Counted events on patterns whose cost is known."""

from __future__ import annotations

import numpy as np
import pytest

import warploom.ir as ir
from warploom.core import BY_NAME, to_numpy


def counts(body, dtype="f32", block=32, grid=1, n=4096):
    text = f"""
@kernel(block=({block}, 1, 1), grid=({grid}, 1, 1), warp_size=32)
def k(x: Global[{dtype}, {n}], c: Constant[{dtype}, {n}], y: Global[{dtype}, {n}] | out):
"""
    kernel = ir.parse_kernel(text + "".join(f"    {line}\n" for line in body))
    kind = BY_NAME[dtype]
    data = np.zeros((n,) if kind.lanes == 1 else (n, kind.lanes), to_numpy(kind))
    return ir.run(kernel, {"x": data, "c": data}, check_races=False).counts


@pytest.mark.parametrize(
    ("dtype", "index", "sectors"),
    [
        ("f32", "thread_id", 4),
        ("f32", "thread_id + 1", 5),
        ("f32", "2 * thread_id", 8),
        ("f32", "8 * thread_id", 32),
        ("f32", "31 - thread_id", 4),
        ("f32", "5", 1),
        ("f64", "thread_id", 8),
        ("u8", "thread_id", 1),
        ("u8", "32 * (thread_id % 3)", 3),
        ("float4", "thread_id", 16),
        ("double4", "thread_id", 32),
    ],
)
def test_global_sectors(dtype, index, sectors):
    load = counts([f"v: {dtype} = x[{index}]"], dtype)
    assert (load.global_load_sectors, load.global_store_sectors, load.global_sectors) == (sectors, 0, sectors)
    store = counts([f"y[{index}] = {dtype}(1)"], dtype)
    assert (store.global_load_sectors, store.global_store_sectors) == (0, sectors)


def test_masked_and_partial_warps_and_many_blocks():
    assert counts(["if thread_id < 9:", "    v: f32 = x[thread_id]"]).global_sectors == 2
    assert counts(["v: f32 = x[thread_id]"], block=40).global_sectors == 5
    assert counts(["v: f32 = x[thread_id]"], block=64, grid=10).global_sectors == 80
    assert counts(["v: f32 = x[block_id]"], block=64, grid=10).global_sectors == 20
    assert counts(["if block_id > 2:", "    v: f32 = x[thread_id]"], grid=10).global_sectors == 28


def test_constant_reads_cost_no_sectors():
    assert counts(["v: f32 = c[thread_id]"]).global_sectors == 0


@pytest.mark.parametrize(
    ("dtype", "shape", "index", "wavefronts"),
    [
        ("f32", "32, 32", "0, thread_id", 1),
        ("f32", "32, 32", "thread_id, 3", 32),
        ("f32", "32, 33", "thread_id, 3", 1),
        ("f32", "32, 32", "thread_id // 2, 0", 16),
        ("f32", "64", "2 * thread_id", 2),
        ("f32", "64", "7", 1),
        ("u8", "128", "thread_id * 4", 1),
        ("u8", "128", "thread_id", 1),
        ("u8", "4096", "thread_id * 128", 32),
        ("f64", "64", "thread_id", 2),
        ("f64", "64", "2 * thread_id", 4),
        ("f64", "64", "7", 1),
        ("float4", "32", "thread_id", 4),
        ("float4", "64", "thread_id * 2", 8),
        ("double4", "32", "thread_id", 16),
    ],
)
def test_shared_wavefronts(dtype, shape, index, wavefronts):
    result = counts([f"s = shared({dtype}, {shape})", f"s[{index}] = {dtype}(0)"], dtype)
    assert result.shared_wavefronts == wavefronts
    both = counts([f"s = shared({dtype}, {shape})", f"s[{index}] = {dtype}(0)", f"v: {dtype} = s[{index}]"], dtype, grid=3)
    assert both.shared_wavefronts == wavefronts * 6


@pytest.mark.parametrize(("dtype", "each"), [("f32", 1), ("u8", 1), ("f64", 2), ("int2", 2), ("float4", 4)])
def test_shuffles_are_warp_instructions_by_words(dtype, each):
    assert counts([f"v: {dtype} = shfl(x[thread_id], 0, 32)"], dtype, block=64, grid=3).shuffles == 6 * each
    lines = ["if thread_id < 32:", f"    v: {dtype} = shfl(x[thread_id], 0, 32)"]
    assert counts(lines, dtype, block=64, grid=3).shuffles == 3 * each


def test_accumulates_arithmetic_and_barriers():
    lines = [
        "a = accumulator(f32, op='+', init=0, finalize=__state)",
        "for i in range(4):",
        "    a.add(x[i] * f32(2) + f32(1), when=thread_id > i)",
        "    a.add(x[i], when=i > 5)",
        "    sync()",
    ]
    result = counts(lines, grid=2)
    assert result.accumulates == 2 * (31 + 30 + 29 + 28)
    assert result.executed == 4
    assert result.arithmetic == 3 * result.accumulates
    assert result.syncs == 8
