"""The two-dimensional kernels of the suite. Source: PTXASW (2023), Table 2; formulas in the same names as KernelGen's."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from warploom.kernels.kernelgen.stencil import Grid, Stencil, axes, window

_XY = ("nx", "ny")


def _gameoflife(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    del scalars
    u0 = arrays["u0"]
    alive = sum((window((1, 1), u0, di, dj) for di, dj in product((-1, 0, 1), repeat=2) if (di, dj) != (0, 0)), np.float64(0))
    return {"u1": 1 / (1 + (window((1, 1), u0) + alive - 3) * (alive - 3) * 1e20)}


GAMEOFLIFE = Stencil(
    name="gameoflife", dims=2, extents=_XY, lower=1, upper=1, loads=9,
    inputs=axes("u0", extents=_XY, low=0, high=2, whole=True), outputs=axes("u1", extents=_XY), scalars={},
    body="""
        float alive = u0(i-1, j-1) + u0(j-1) + u0(i+1, j-1)
                    + u0(i-1) + u0(i+1)
                    + u0(i-1, j+1) + u0(j+1) + u0(i+1, j+1);
        u1() = 1.0f / (1.0f + (u0() + alive - 3.0f) * (alive - 3.0f) * 1e20f);
    """,
    reference=_gameoflife,
)  # fmt: skip


def _jacobi(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    w0 = arrays["w0"]
    weights = (scalars["c0"], scalars["c1"], scalars["c2"])
    total = np.zeros_like(window((1, 1), w0))
    for di, dj in product((-1, 0, 1), repeat=2):
        total += weights[abs(di) + abs(dj)] * window((1, 1), w0, di, dj)
    return {"w1": total}


JACOBI = Stencil(
    name="jacobi", dims=2, extents=_XY, lower=1, upper=1, loads=9,
    inputs=axes("w0", extents=_XY), outputs=axes("w1", extents=_XY), scalars={"c0": 0.5, "c1": 0.25, "c2": 0.125},
    body="""
        w1() = c0 * w0() + c1 * (w0(i-1) + w0(j-1) + w0(i+1) + w0(j+1))
             + c2 * (w0(i-1, j-1) + w0(i-1, j+1) + w0(i+1, j-1) + w0(i+1, j+1));
    """,
    reference=_jacobi,
)  # fmt: skip


def _gaussblur(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    w0 = arrays["w0"]
    total = np.zeros_like(window((2, 2), w0))
    for di, dj in product(range(-2, 3), repeat=2):
        total += scalars[f"s{di * di + dj * dj}"] * window((2, 2), w0, di, dj)
    return {"w1": scalars["f"] * total}


GAUSSBLUR = Stencil(
    name="gaussblur", dims=2, extents=_XY, lower=2, upper=2, loads=25,
    inputs=axes("w0", extents=_XY), outputs=axes("w1", extents=_XY),
    scalars={"f": 0.0625, "s0": 2.25, "s1": 1.5, "s2": 1.0, "s4": 0.5, "s5": 0.375, "s8": 0.125},
    body="""
        w1() = f * (s0 * w0()
            + s1 * (w0(i-1) + w0(i+1) + w0(j-1) + w0(j+1))
            + s2 * (w0(i-1, j-1) + w0(i+1, j-1) + w0(i-1, j+1) + w0(i+1, j+1))
            + s4 * (w0(i-2) + w0(i+2) + w0(j-2) + w0(j+2))
            + s5 * (w0(i-2, j-1) + w0(i-1, j-2) + w0(i+1, j-2) + w0(i+2, j-1)
                  + w0(i-2, j+1) + w0(i-1, j+2) + w0(i+1, j+2) + w0(i+2, j+1))
            + s8 * (w0(i-2, j-2) + w0(i+2, j-2) + w0(i-2, j+2) + w0(i+2, j+2)));
    """,
    reference=_gaussblur,
)  # fmt: skip


def _whispering(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    ca, cb, da, db, e0_0, e0_1, h0 = (arrays[name] for name in ("ca", "cb", "da", "db", "e0_0", "e0_1", "h0"))
    margins = (1, 1)

    def along_j(dj: int) -> Grid:
        change = window(margins, h0, 0, dj + 1) - window(margins, h0, 0, dj)
        return window(margins, ca, 0, dj) * window(margins, e0_0, 0, dj) + window(margins, cb, 0, dj) * change

    def along_i(di: int) -> Grid:
        change = window(margins, h0, di + 1) - window(margins, h0, di)
        return window(margins, ca, di) * window(margins, e0_1, di) - window(margins, cb, di) * change

    curl = along_j(0) - along_j(-1) + along_i(-1) - along_i(0)
    magnetic = window(margins, da) * window(margins, h0) + window(margins, db) * curl
    electric = along_j(0) ** 2 + along_i(0) ** 2
    energy = window(margins, arrays["u_em0"]) + (magnetic**2 / scalars["mu"] + scalars["eps"] * electric) / 2
    return {"e1_0": along_j(0), "e1_1": along_i(0), "h1": magnetic, "u_em1": energy}


WHISPERING = Stencil(
    name="whispering", dims=2, extents=_XY, lower=1, upper=1, loads=18,
    inputs=axes("ca", "cb", "da", "db", "e0_0", "e0_1", "h0", "u_em0", extents=_XY),
    outputs=axes("e1_0", "e1_1", "h1", "u_em1", extents=_XY), scalars={"mu": 1.25, "eps": 0.75},
    body="""
        float e0 = ca() * e0_0() + cb() * (h0(j+1) - h0());
        float e1 = ca() * e0_1() - cb() * (h0(i+1) - h0());
        float ey = ca(j-1) * e0_0(j-1) + cb(j-1) * (h0() - h0(j-1));
        float ex = ca(i-1) * e0_1(i-1) - cb(i-1) * (h0() - h0(i-1));
        e1_0() = e0;
        e1_1() = e1;
        float h = da() * h0() + db() * (e0 - ey + ex - e1);
        h1() = h;
        u_em1() = u_em0() + (h * h / mu + eps * (e0 * e0 + e1 * e1)) / 2.0f;
    """,
    reference=_whispering,
)  # fmt: skip

PLANE = (GAMEOFLIFE, JACOBI, GAUSSBLUR, WHISPERING)
