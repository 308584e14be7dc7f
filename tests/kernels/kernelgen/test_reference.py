"""The CUDA text against the NumPy references, run as C++ on the host: neither NVRTC nor an interpreter of PTX takes part."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from warploom.kernels.kernelgen import (
    APPLICATIONS,
    CONVOLUTIONS,
    KERNELGEN,
    Parameter,
    Real,
    Shape,
    Stencil,
    cuda_source,
    launch,
    parameters,
    reference,
)

ALL = {**KERNELGEN, **APPLICATIONS, **CONVOLUTIONS}
SHAPES: tuple[Shape, ...] = ("guarded", "tiled", "grid-stride")

HOST = """
#include <math.h>
#define __global__
#define __restrict__
struct Triple { int x, y, z; };
static Triple blockIdx, threadIdx, blockDim, gridDim;
"""

LOOPS = """
extern "C" void run_{symbol}(const int* grid, const int* block, {types})
{{
    gridDim = {{grid[0], grid[1], grid[2]}};
    blockDim = {{block[0], block[1], block[2]}};
    for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
    for (threadIdx.z = 0; threadIdx.z < block[2]; threadIdx.z++)
    for (threadIdx.y = 0; threadIdx.y < block[1]; threadIdx.y++)
    for (threadIdx.x = 0; threadIdx.x < block[0]; threadIdx.x++)
        {symbol}({names});
}}
"""


def _extents(stencil: Stencil) -> tuple[int, ...]:
    return (37, 13, 11)[: len(stencil.extents)]


def _loops(stencil: Stencil, real: Real) -> str:
    kinds = [f"{real}*"] * len(stencil.fields) + ["int"] * len(stencil.extents) + [real] * len(stencil.scalars)
    types = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, stencil.parameter_names, strict=True))
    return LOOPS.format(symbol=stencil.symbol, types=types, names=", ".join(stencil.parameter_names))


@pytest.fixture(scope="module", params=[*((shape, "float") for shape in SHAPES), ("plain", "double")])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shape, Real, ctypes.CDLL]:
    shape, real = request.param
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler c++ on PATH")
    folder: Path = tmp_path_factory.mktemp("kernelgen")
    text = HOST + "".join(cuda_source(s, shape, real=real) + _loops(s, real) for s in ALL.values())
    (folder / "kernels.cc").write_text(text)
    command = [compiler, "-w", "-O0", "-ffp-contract=off", "-shared", "-fPIC", "kernels.cc", "-o", "kernels.so"]
    subprocess.run(command, cwd=folder, check=True)
    return shape, real, ctypes.CDLL(str(folder / "kernels.so"))


def _call(library: ctypes.CDLL, stencil: Stencil, shape: Shape, given: tuple[Parameter, ...]) -> None:
    grid, block = launch(stencil, shape, _extents(stencil), block=(16, 1, 1) if shape == "grid-stride" else None)
    arguments: list[object] = [(ctypes.c_int * 3)(*grid), (ctypes.c_int * 3)(*block)]
    for value in given:
        match value:
            case np.ndarray():
                arguments.append(value.ctypes.data_as(ctypes.c_void_p))
            case np.int32():
                arguments.append(ctypes.c_int(int(value)))
            case np.float32():
                arguments.append(ctypes.c_float(float(value)))
            case _:
                arguments.append(ctypes.c_double(float(value)))
    getattr(library, f"run_{stencil.symbol}")(*arguments)


@pytest.mark.parametrize("name", ALL)
def test_cuda_computes_the_reference(host: tuple[Shape, Real, ctypes.CDLL], name: str) -> None:
    shape, real, library = host
    stencil = ALL[name]
    given = parameters(stencil, _extents(stencil), np.random.default_rng(7), real=real)
    expected = reference(stencil, given)
    before = [np.array(value) for value in given]
    _call(library, stencil, shape, given)
    assert set(expected) == set(range(len(stencil.inputs), len(stencil.fields)))
    for index, value in enumerate(given):
        if index in expected:
            scale = max(1.0, float(np.abs(expected[index]).max()))
            np.testing.assert_allclose(
                value, expected[index], rtol=0, atol=scale * (stencil.tolerance if real == "float" else 1e-13)
            )
            assert not np.array_equal(value, before[index])
        else:
            np.testing.assert_array_equal(value, before[index])
