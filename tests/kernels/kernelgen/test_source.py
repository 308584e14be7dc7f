"""Texts of the shapes, and the loads that NVRTC makes of them."""

import re

import numpy as np
import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.kernels.kernelgen import APPLICATIONS, CONVOLUTIONS, KERNELGEN, cuda_source, launch, parameters

ALL = {**KERNELGEN, **APPLICATIONS, **CONVOLUTIONS}


def _loads(source: str) -> int:
    return len(re.findall(r"\bld\.global", compile_to_ptx(source, "sm_75")))


@pytest.mark.skipif(not toolchain_available(), reason="needs the packages of the extra `cuda`")
@pytest.mark.parametrize("name", ALL)
def test_loads(name: str) -> None:
    assert _loads(cuda_source(ALL[name], "guarded")) == ALL[name].loads


@pytest.mark.skipif(not toolchain_available(), reason="needs the packages of the extra `cuda`")
def test_without_restrict_a_store_costs_a_load() -> None:
    assert _loads(cuda_source(KERNELGEN["whispering"], "plain")) == 19


def test_sixteen_kernels() -> None:
    assert len(KERNELGEN) == 16


def test_guarded_text() -> None:
    assert cuda_source(KERNELGEN["laplacian"], "guarded") == (
        'extern "C" __global__ void laplacian_kernel(const float* __restrict__ w0, float* w1, int nx, int ny, int nz, float a, '
        "float b)\n"
        "{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;\n"
        "    int j = blockIdx.y + 1;\n"
        "    int k = blockIdx.z + 1;\n"
        "    if (i < nx - 1 && j < ny - 1 && k < nz - 1) {\n"
        "        w1[(k*ny + j)*nx + i] = a * w0[(k*ny + j)*nx + i] + b * (w0[(k*ny + j)*nx + i - 1] + w0[(k*ny + j)*nx + i + 1]"
        " + w0[(k*ny + j - 1)*nx + i] + w0[(k*ny + j + 1)*nx + i] + w0[((k - 1)*ny + j)*nx + i]"
        " + w0[((k + 1)*ny + j)*nx + i]);\n"
        "    }\n"
        "}\n"
    )


def test_double_text() -> None:
    text = cuda_source(KERNELGEN["gameoflife"], "guarded", real="double")
    assert "float" not in text
    assert "1.0 / (1.0 + (u0[j*nx + i] + alive - 3.0) * (alive - 3.0) * 1e20)" in text
    assert "sin(x[" in cuda_source(KERNELGEN["sincos"], "guarded", real="double")


def test_grid_stride_text() -> None:
    text = cuda_source(KERNELGEN["matmul"], "grid-stride")
    assert text.splitlines()[2:4] == [
        "    for (int j = blockIdx.y; j < ny; j += gridDim.y) {",
        "        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nx; i += gridDim.x * blockDim.x) {",
    ]


def test_launch_covers_the_interior() -> None:
    stencil = KERNELGEN["uxx1"]
    assert launch(stencil, "guarded", (260, 10, 9)) == ((3, 7, 6), (128, 1, 1))
    assert launch(stencil, "tiled", (260, 10, 9)) == ((33, 2, 6), (8, 4, 1))
    assert launch(stencil, "grid-stride", (260, 10, 9)) == ((2, 4, 3), (128, 1, 1))
    with pytest.raises(ValueError, match="along x only"):
        launch(stencil, "guarded", (260, 10, 9), block=(8, 8, 1))


def test_parameters_in_kernel_order() -> None:
    stencil = KERNELGEN["uxx1"]
    given = parameters(stencil, (8, 7, 6), np.random.default_rng(0))
    assert len(given) == len(stencil.parameter_names)
    assert [np.shape(value) for value in given] == [(6, 7, 8)] * 6 + [()] * 6
    assert [value.dtype.kind for value in given] == ["f"] * 6 + ["i"] * 3 + ["f"] * 3


@pytest.mark.parametrize("extents", [(8, 7), (8, 7, 3), (8, 0, 7)])
def test_extents_without_interior(extents: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="uxx1: expected 3 extents"):
        parameters(KERNELGEN["uxx1"], extents, np.random.default_rng(0))
