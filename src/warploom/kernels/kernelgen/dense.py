"""The kernels of the suite without neighbours: products of matrices, and element by element. Source: PTXASW (2023), Table 2."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warploom.kernels.kernelgen.stencil import Field, Grid, Stencil, axes

_XYZ = ("nx", "ny", "nz")


def _matmul(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    del scalars
    return {"c": arrays["c"] + arrays["b"] @ arrays["a"]}


MATMUL = Stencil(
    name="matmul", dims=2, extents=("nx", "ny", "n"), lower=0, upper=0, loads=11, tolerance=1e-4,
    inputs=(Field("a", ("nx", "n")), Field("b", ("n", "ny"))), outputs=(Field("c", ("nx", "ny")),), scalars={},
    body="""
        for (int k = 0; k < n; k++)
            c() += a[k*nx + i] * b[j*n + k];
    """,
    reference=_matmul,
)  # fmt: skip
"""Columns are contiguous, as in Fortran: C(i,j) += A(i,k) B(k,j). Unrolled by 4; 6 loads have addresses that depend on i."""


def _matvec(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    del scalars
    return {"y": arrays["a"] @ arrays["x"]}


MATVEC = Stencil(
    name="matvec", dims=1, extents=("ny", "nx"), lower=0, upper=0, loads=10, tolerance=1e-4,
    inputs=(Field("a", ("nx", "ny")), Field("x", ("nx",))), outputs=(Field("y", ("ny",)),), scalars={},
    body="""
        float sum = 0.0f;
        for (int m = 0; m < nx; m++)
            sum += a[i*nx + m] * x[m];
        y() = sum;
    """,
    reference=_matvec,
)  # fmt: skip
"""Rows are contiguous. Unrolled by 4; 5 loads have addresses that depend on i."""


def _sincos(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    del scalars
    return {"xy": np.sin(arrays["x"]) + np.cos(arrays["y"])}


SINCOS = Stencil(
    name="sincos", dims=3, extents=_XYZ, lower=0, upper=0, loads=4,
    inputs=axes("x", "y", extents=_XYZ, low=-10, high=10), outputs=axes("xy", extents=_XYZ), scalars={},
    body="xy() = sinf(x()) + cosf(y());",
    reference=_sincos,
)  # fmt: skip
"""Two of its loads are in the reduction of large arguments, from CUDA's own table of 2/pi."""


def _vecadd(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    del scalars
    return {"w2": arrays["w0"] + arrays["w1"]}


VECADD = Stencil(
    name="vecadd", dims=3, extents=_XYZ, lower=0, upper=0, loads=2,
    inputs=axes("w0", "w1", extents=_XYZ), outputs=axes("w2", extents=_XYZ), scalars={},
    body="w2() = w0() + w1();",
    reference=_vecadd,
)  # fmt: skip

DENSE = (MATMUL, MATVEC, SINCOS, VECADD)
