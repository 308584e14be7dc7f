"""Whole kernels, as a compiler makes them, against NumPy."""

import numpy as np
import pytest

from warploom.ptx import launch

from .compiled import compiled

SIMPLE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void stencil(const float* __restrict__ a, float* __restrict__ b, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i > 0 && j > 0 && i < n - 1 && j < m - 1)
    b[j*n+i] = 0.5f * a[j*n+i] + 0.125f * (a[j*n+i-1] + a[j*n+i+1] + a[(j-1)*n+i] + a[(j+1)*n+i]);
}
"""


@pytest.mark.parametrize(("grid", "block"), [(8, 128), (3, 333), (1000, 1), (1, 1024)])
def test_saxpy_of_any_shape(grid: int, block: int) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(1000, np.float32), rng.random(1000, np.float32)
    ran = launch(compiled(SIMPLE), "saxpy", grid=grid, block=block, args=[2.0, x, y, 1000])
    expected = y.copy()
    touched = min(1000, grid * block)
    expected[:touched] = np.float32(2) * x[:touched] + y[:touched]
    assert ran.status == "finished"
    assert ran.findings == ()
    np.testing.assert_array_equal(ran.arrays[2], expected)
    np.testing.assert_array_equal(ran.arrays[1], x)


@pytest.mark.parametrize("block", [(32, 4), (8, 4), (17, 3), (1, 1)])
def test_guarded_stencil(block: tuple[int, int]) -> None:
    width, height = 61, 23
    a = np.random.default_rng(2).random((height, width), np.float32)
    grid = (-(-width // block[0]), -(-height // block[1]))
    ran = launch(compiled(SIMPLE), "stencil", grid=grid, block=block, args=[a, np.zeros_like(a), width, height])
    expected = np.zeros_like(a)
    sides = a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]
    expected[1:-1, 1:-1] = np.float32(0.5) * a[1:-1, 1:-1] + np.float32(0.125) * sides
    assert ran.status == "finished"
    np.testing.assert_array_equal(ran.arrays[1], expected)
