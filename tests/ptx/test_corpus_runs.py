"""Kernels of the corpus on the interpreter, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.ptx.corpus import STENCILS, quick, text

from warploom.kernels import kernelgen
from warploom.ptx.simt import launch

Array = NDArray[Any]
RNG = np.random.default_rng(11)


@dataclass(frozen=True, slots=True)
class Run:
    """A launch and what it must leave behind."""

    name: str
    grid: tuple[int, ...]
    block: int
    args: tuple[Any, ...]
    expected: dict[int, Array]
    """By argument index."""
    tolerance: float = 0.0
    """Relative to the larger of 1 and the largest element."""


def _floats(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def _check(run: Run, dynamic_shared_bytes: int = 0) -> None:
    done = launch(text(run.name), grid=run.grid, block=run.block, args=run.args, dynamic_shared_bytes=dynamic_shared_bytes)
    assert done.status == "finished", done.findings
    assert not done.findings
    for index, expected in run.expected.items():
        found = done.arrays[index]
        if run.tolerance:
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=run.tolerance * scale)
        else:
            np.testing.assert_array_equal(found, expected)


# KernelGen, applications, convolutions


@pytest.mark.parametrize(
    "shape", ["guarded", "grid-stride", *(pytest.param(shape, marks=pytest.mark.slow) for shape in ("plain", "tiled"))]
)
@pytest.mark.parametrize("name", STENCILS)
def test_stencil(name: str, shape: kernelgen.Shape) -> None:
    stencil = STENCILS[name]
    extents = (37, 13, 11)[: len(stencil.extents)]
    given = kernelgen.parameters(stencil, extents, np.random.default_rng(1))
    grid, block = kernelgen.launch(stencil, shape, extents, block=(16, 1, 1) if shape == "grid-stride" else None)
    done = launch(text(f"kernelgen/{name}/{shape}"), grid=grid, block=block, args=given)
    assert (done.status, done.findings) == ("finished", ())
    for index, expected in kernelgen.reference(stencil, given).items():
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(done.arrays[index], expected, rtol=0, atol=stencil.tolerance * scale)


@pytest.mark.parametrize("name", ["jacobi", "lapgsrb", "whispering", "euler_x"])
def test_stencil_in_double(name: str) -> None:
    stencil, extents = STENCILS[name], (37, 13, 11)[: len(STENCILS[name].extents)]
    given = kernelgen.parameters(stencil, extents, np.random.default_rng(1), real="double")
    grid, block = kernelgen.launch(stencil, "guarded", extents)
    done = launch(text(f"kernelgen/{name}/guarded/double"), grid=grid, block=block, args=given)
    assert (done.status, done.findings) == ("finished", ())
    for index, expected in kernelgen.reference(stencil, given).items():
        np.testing.assert_allclose(done.arrays[index], expected, rtol=0, atol=1e-13)


# Triton


def _bfloat16(values: Array) -> Array:
    """Bits of the nearest bfloat16, ties to even."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _triton_vector_add() -> Run:
    x, y, n = _floats(1000), _floats(1000), 900
    out = np.zeros(1000, np.float32)
    expected = np.where(np.arange(1000) < n, x + y, 0).astype(np.float32)
    return Run("triton/vector_add/90", (4,), 128, (x, y, out, n), {2: expected})


def _triton_softmax() -> Run:
    x = _floats(3, 1000)
    powers = np.exp(x[:, :900].astype(np.float64) - x[:, :900].max(axis=1, keepdims=True))
    expected = np.zeros((3, 1000))
    expected[:, :900] = powers / powers.sum(axis=1, keepdims=True)
    return Run("triton/softmax/90", (3,), 128, (x, np.zeros_like(x), 1000, 900), {1: expected}, 1e-5)


def _triton_matmul() -> Run:
    m, n, k = 70, 80, 50
    a, b = _floats(m, k).astype(np.float16), _floats(k, n).astype(np.float16)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return Run("triton/matmul/80", (2, 2), 128, (a, b, np.zeros((m, n), np.float16), m, n, k), {2: expected}, 2e-3)


def _triton_stencil_1d() -> Run:
    u, n = _floats(600), 600
    expected = np.zeros(n)
    expected[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
    return Run("triton/stencil_1d/90", (3,), 128, (u, np.zeros(n, np.float32), n), {1: expected}, 1e-6)


def _triton_stencil_2d() -> Run:
    ny, nx = 21, 100
    u = _floats(ny, nx)
    expected = np.zeros((ny, nx))
    expected[1:-1, 1:-1] = u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4.0 * u[1:-1, 1:-1]
    return Run("triton/stencil_2d/90", (2, 3), 128, (u, np.zeros_like(u), nx, ny), {1: expected}, 1e-6)


def _triton_scan() -> Run:
    n = 1200
    x = RNG.integers(-9, 9, 1536, dtype=np.int32)
    expected = np.zeros(1536, np.int32)
    for start in range(0, n, 512):
        stop = min(start + 512, n)
        expected[start:stop] = np.cumsum(x[start:stop])
    return Run("triton/scan/90", (3,), 128, (x, np.zeros_like(x), n), {1: expected})


def _triton_histogram() -> Run:
    x, n = RNG.integers(0, 10, 700, dtype=np.int32), 650
    expected = np.bincount(x[:n], minlength=10).astype(np.int32)
    return Run("triton/histogram/90", (3,), 128, (x, np.zeros(10, np.int32), n), {1: expected})


def _triton_sort_rows() -> Run:
    x = RNG.integers(-(2**31), 2**31 - 1, (3, 256), dtype=np.int32)
    return Run("triton/sort_rows/90", (3,), 128, (x, np.zeros_like(x)), {1: np.sort(x, axis=1)})


def _triton_halve_precision() -> Run:
    x, n = 2 * _floats(500), 400
    values = np.array([math.erf(value) for value in x.tolist()])
    expected = np.where(np.arange(500) < n, (_bfloat16(values).astype(np.uint32) << 16).view(np.float32), 0)
    return Run("triton/halve_precision/90", (2,), 128, (x, np.zeros(500, np.uint16), n), {1: expected}, 1e-2)


TRITON: dict[str, Callable[[], Run]] = {
    "vector_add": _triton_vector_add, "softmax": _triton_softmax, "matmul": _triton_matmul, "stencil_1d": _triton_stencil_1d,
    "stencil_2d": _triton_stencil_2d, "scan": _triton_scan, "histogram": _triton_histogram, "sort_rows": _triton_sort_rows,
}  # fmt: skip


def _with_scratch(run: Run) -> Run:
    scratch = (np.zeros(1, np.uint8), np.zeros(1, np.uint8))
    return Run(run.name, run.grid, run.block, (*run.args, *scratch), run.expected, run.tolerance)


def _triton_shared_bytes(run: Run) -> int:
    text(run.name)
    from tests.ptx.corpus import triton_kernels

    _, kernel, capability = run.name.split("/")
    assert triton_kernels.block_threads(kernel, int(capability)) == run.block
    return triton_kernels.dynamic_shared_bytes(kernel, int(capability))


@pytest.mark.parametrize("name", TRITON)
def test_triton(name: str) -> None:
    run = _with_scratch(TRITON[name]())
    _check(run, _triton_shared_bytes(run))


def test_triton_rounds_to_bfloat16() -> None:
    run = _with_scratch(_triton_halve_precision())
    shared_bytes = _triton_shared_bytes(run)
    done = launch(text(run.name), grid=run.grid, block=run.block, args=run.args, dynamic_shared_bytes=shared_bytes)
    assert (done.status, done.findings) == ("finished", ())
    found = (done.arrays[1].astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(found, run.expected[1], rtol=2**-7, atol=1e-6)


# Numba


def _numba(array: Array) -> tuple[Any, ...]:
    """An array as Numba passes it: two pointers to its owner, size, size of an item, data, extents, strides."""
    return (0, 0, array.size, array.itemsize, array, *array.shape, *array.strides)


def _numba_vector_add() -> Run:
    x, y = _floats(300), _floats(300)
    args = (*_numba(x), *_numba(y), *_numba(np.zeros_like(x)))
    return Run("numba/vector_add/90", (3,), 128, args, {18: x + y})


def _numba_stencil() -> Run:
    u = _floats(20, 30)
    expected = np.zeros((20, 30))
    expected[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1].astype(np.float64) + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return Run("numba/stencil/90", (1, 30), 32, (*_numba(u), *_numba(np.zeros_like(u))), {13: expected}, 1e-6)


def _numba_block_sum() -> Run:
    x = RNG.integers(-9, 9, 1000).astype(np.float32)
    return Run("numba/block_sum/90", (4,), 256, (*_numba(x), *_numba(np.zeros(1, np.float32))), {11: np.array([x.sum()])})


def _numba_warp_sum() -> Run:
    x = RNG.integers(-9, 9, 256).astype(np.float32)
    expected = x.reshape(8, 32).sum(axis=1)
    return Run("numba/warp_sum/90", (2,), 128, (*_numba(x), *_numba(np.zeros(8, np.float32))), {11: expected})


def _numba_divide() -> Run:
    x = RNG.integers(-1000, 1000, 200, dtype=np.int32)
    y = RNG.choice(np.array([-7, -3, -1, 1, 2, 9], np.int32), 200)
    expected = x // y + x % y
    return Run("numba/divide/90", (2,), 128, (*_numba(x), *_numba(y), *_numba(np.zeros_like(x))), {18: expected})


NUMBA: dict[str, Callable[[], Run]] = {
    "vector_add": _numba_vector_add, "stencil": _numba_stencil, "block_sum": _numba_block_sum, "warp_sum": _numba_warp_sum,
    "divide": _numba_divide,
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBA)
def test_numba(name: str) -> None:
    _check(NUMBA[name]())


# CUB


def _cub(name: str, x: Array, expected: Array) -> Run:
    return Run(f"cub/{name}/90", (1,), 128, (x, np.zeros(512, np.int32)), {1: expected.astype(np.int32)})


def _cub_runs() -> dict[str, Run]:
    x = RNG.integers(-1000, 1000, 512, dtype=np.int32)
    warps = x.reshape(4, 32, 4)
    total = np.tile(np.arange(4), 128)
    total[:4] = x.sum()
    return {
        "scan": _cub("scan", x, np.cumsum(x)),
        "scan_raking": _cub("scan_raking", x, np.cumsum(x) - x),
        "exchange": _cub("exchange", x, x),
        "exchange_warp": _cub("exchange_warp", x, warps.reshape(4, 4, 32).transpose(0, 2, 1).ravel()),
        "radix_sort": _cub("radix_sort", x, np.sort(x)),
        "reduce": _cub("reduce", x, total),
    }


CUB = _cub_runs()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if f"cub/{name}/90" in quick() else pytest.mark.slow) for name in CUB]
)
def test_cub(name: str) -> None:
    _check(CUB[name])


# LLVM


def test_llvm_axpy() -> None:
    x, y, a, n = _floats(300), _floats(300), np.float32(0.75), 290
    expected = np.where(np.arange(300) < n, a * x.astype(np.float64) + y, y)
    _check(Run("llvm/axpy/90", (3,), 128, (x, y, a, n), {1: expected}, 1e-6))


@pytest.mark.parametrize("n", range(7))
def test_llvm_switch(n: int) -> None:
    threads = np.arange(32, dtype=np.int32)
    given = np.zeros(64, np.int32)
    given[0] = 40
    vector = np.array([1.0, 2.0, 37.0, 4.0], np.float32)
    done = launch(text("llvm/switch/90"), grid=1, block=32, args=(given, n, vector.tobytes()))
    assert done.status == "finished"
    found = done.arrays[0][:32]
    match n:
        case 0 | 3:
            np.testing.assert_array_equal(found, threads ^ 37)
        case 1 | 5:
            np.testing.assert_array_equal(found, np.where(threads < 28, threads + 4, threads))
        case 2:  # each adds its number; what each saw is in its own place, thread 0's over the sum
            order = np.sort(found)
            assert (order[0], order[-1] <= 40 + threads.sum()) == (40, True)
        case 4:  # only a thread 40 would exchange
            np.testing.assert_array_equal(found, np.full(32, 40))
        case _:
            np.testing.assert_array_equal(found, np.array([1, -2, 3, 4])[threads % 4])
