"""The three-dimensional kernels of the suite. Source: PTXASW (2023), Table 2; formulas in the same names as KernelGen's."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from warploom.kernels.kernelgen.stencil import Grid, Stencil, axes, window

_XYZ = ("nx", "ny", "nz")
_UNITS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def _slope(margins: tuple[int, int], grid: Grid, axis: int) -> Grid:
    di, dj, dk = _UNITS[axis]
    return window(margins, grid, di, dj, dk) - window(margins, grid, -di, -dj, -dk)


def _divergence(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    terms = (scalars[s] * _slope((1, 1), arrays[u], axis) for axis, (s, u) in enumerate((("a", "ux"), ("b", "uy"), ("c", "uz"))))
    return {"u": np.sum(list(terms), axis=0)}


DIVERGENCE = Stencil(
    name="divergence", dims=3, extents=_XYZ, lower=1, upper=1, loads=6,
    inputs=axes("ux", "uy", "uz", extents=_XYZ), outputs=axes("u", extents=_XYZ), scalars={"a": 0.5, "b": 0.25, "c": 0.75},
    body="u() = a * (ux(i+1) - ux(i-1)) + b * (uy(j+1) - uy(j-1)) + c * (uz(k+1) - uz(k-1));",
    reference=_divergence,
)  # fmt: skip


def _gradient(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    pairs = (("a", "ux"), ("b", "uy"), ("c", "uz"))
    return {out: scalars[s] * _slope((1, 1), arrays["u"], axis) for axis, (s, out) in enumerate(pairs)}


GRADIENT = Stencil(
    name="gradient", dims=3, extents=_XYZ, lower=1, upper=1, loads=6,
    inputs=axes("u", extents=_XYZ), outputs=axes("ux", "uy", "uz", extents=_XYZ), scalars={"a": 0.5, "b": 0.25, "c": 0.75},
    body="""
        ux() = a * (u(i+1) - u(i-1));
        uy() = b * (u(j+1) - u(j-1));
        uz() = c * (u(k+1) - u(k-1));
    """,
    reference=_gradient,
)  # fmt: skip


def _ring(margins: tuple[int, int], grid: Grid, squared: int) -> Grid:
    """Sum of the neighbours at a squared distance."""
    reach = range(-2, 3)
    near = [move for move in product(reach, repeat=3) if sum(m * m for m in move) == squared]
    return sum((window(margins, grid, *move) for move in near), np.zeros_like(window(margins, grid)))


def _axis_ring(margins: tuple[int, int], grid: Grid, distance: int) -> Grid:
    """Sum of the six points at a distance along the axes."""
    moves = [tuple(sign * distance * unit for unit in units) for units in _UNITS for sign in (-1, 1)]
    return sum((window(margins, grid, *move) for move in moves), np.zeros_like(window(margins, grid)))


def _laplacian(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    w0 = arrays["w0"]
    return {"w1": scalars["a"] * window((1, 1), w0) + scalars["b"] * _axis_ring((1, 1), w0, 1)}


LAPLACIAN = Stencil(
    name="laplacian", dims=3, extents=_XYZ, lower=1, upper=1, loads=7,
    inputs=axes("w0", extents=_XYZ), outputs=axes("w1", extents=_XYZ), scalars={"a": 0.5, "b": 0.25},
    body="w1() = a * w0() + b * (w0(i-1) + w0(i+1) + w0(j-1) + w0(j+1) + w0(k-1) + w0(k+1));",
    reference=_laplacian,
)  # fmt: skip


def _lapgsrb(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    w0, margins = arrays["w0"], (2, 2)
    near = scalars["c0"] * window(margins, w0) + scalars["c1"] * _ring(margins, w0, 1) + scalars["c2"] * _ring(margins, w0, 2)
    return {"w1": near + scalars["c3"] * _axis_ring(margins, w0, 2)}


LAPGSRB = Stencil(
    name="lapgsrb", dims=3, extents=_XYZ, lower=2, upper=2, loads=25,
    inputs=axes("w0", extents=_XYZ), outputs=axes("w1", extents=_XYZ),
    scalars={"c0": 0.5, "c1": 0.25, "c2": 0.125, "c3": 0.0625},
    body="""
        w1() = c0 * w0()
            + c1 * (w0(i-1) + w0(i+1) + w0(j-1) + w0(j+1) + w0(k-1) + w0(k+1))
            + c2 * (w0(i-1, j-1) + w0(i+1, j-1) + w0(i-1, j+1) + w0(i+1, j+1)
                  + w0(i-1, k-1) + w0(i+1, k-1) + w0(j-1, k-1) + w0(j+1, k-1)
                  + w0(i-1, k+1) + w0(i+1, k+1) + w0(j-1, k+1) + w0(j+1, k+1))
            + c3 * (w0(i-2) + w0(i+2) + w0(j-2) + w0(j+2) + w0(k-2) + w0(k+2));
    """,
    reference=_lapgsrb,
)  # fmt: skip


def _wave13pt(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    w1, margins = arrays["w1"], (2, 2)
    result = scalars["c0"] * window(margins, w1) - window(margins, arrays["w0"])
    return {"w2": result + scalars["c1"] * _axis_ring(margins, w1, 1) + scalars["c2"] * _axis_ring(margins, w1, 2)}


WAVE13PT = Stencil(
    name="wave13pt", dims=3, extents=_XYZ, lower=2, upper=2, loads=14,
    inputs=axes("w0", "w1", extents=_XYZ), outputs=axes("w2", extents=_XYZ), scalars={"c0": 0.5, "c1": 0.25, "c2": 0.125},
    body="""
        w2() = c0 * w1() - w0()
            + c1 * (w1(i+1) + w1(i-1) + w1(j+1) + w1(j-1) + w1(k+1) + w1(k-1))
            + c2 * (w1(i+2) + w1(i-2) + w1(j+2) + w1(j-2) + w1(k+2) + w1(k-2));
    """,
    reference=_wave13pt,
)  # fmt: skip


def _uxx1(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    margins = (2, 1)
    density = sum((window(margins, arrays["d1"], 0, dj, dk) for dj, dk in product((0, -1), repeat=2)), np.float64(0)) / 4
    total = np.zeros_like(window(margins, arrays["u0"]))
    for units, name in zip(_UNITS, ("xx", "xy", "xz"), strict=True):
        for weight, distances in (("c1", (0, -1)), ("c2", (1, -2))):
            ahead, behind = (tuple(distance * unit for unit in units) for distance in distances)
            total += scalars[weight] * (window(margins, arrays[name], *ahead) - window(margins, arrays[name], *behind))
    return {"u1": window(margins, arrays["u0"]) + scalars["dth"] / density * total}


UXX1 = Stencil(
    name="uxx1", dims=3, extents=_XYZ, lower=2, upper=1, loads=17,
    inputs=axes("d1", extents=_XYZ, low=1, high=2) + axes("u0", "xx", "xy", "xz", extents=_XYZ),
    outputs=axes("u1", extents=_XYZ), scalars={"dth": 0.5, "c1": 1.125, "c2": -0.0625},
    body="""
        float d = 0.25f * (d1() + d1(j-1) + d1(k-1) + d1(j-1, k-1));
        u1() = u0() + (dth / d) * (c1 * (xx() - xx(i-1)) + c2 * (xx(i+1) - xx(i-2))
                                 + c1 * (xy() - xy(j-1)) + c2 * (xy(j+1) - xy(j-2))
                                 + c1 * (xz() - xz(k-1)) + c2 * (xz(k+1) - xz(k-2)));
    """,
    reference=_uxx1,
)  # fmt: skip


def _lagrange(t: Grid) -> tuple[Grid, Grid, Grid, Grid]:
    """Cubic weights that are 1 at one of t = 1, 0, -1, -2 and 0 at the others, up to sign; in the suite's order and signs."""
    return (
        t * (t + 1) * (t + 2) / 6,
        -(t - 1) * (t + 1) * (t + 2) / 2,
        (t - 1) * t * (t + 2) / 2,
        -(t - 1) * t * (t + 1) / 6,
    )


def _tricubic(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
    del scalars
    margins = (1, 2)
    wa, wb, wc = (_lagrange(window(margins, arrays[name])) for name in "abc")
    total = np.zeros_like(wa[0])
    for p, q, r in product(range(4), repeat=3):
        total += wa[p] * wb[q] * wc[r] * window(margins, arrays["u0"], p - 1, q - 1, r - 1)
    return {"u1": total}


def _moves(di: int, dj: int, dk: int) -> str:
    return ", ".join(f"{axis}{distance:+d}" for axis, distance in zip("ijk", (di, dj, dk), strict=True) if distance)


def _weights() -> str:
    lines = ["float ta = a(), tb = b(), tc = c();"]
    for t in ("a", "b", "c"):
        x = f"t{t}"
        lines += [
            f"float {t}1 = {x} * ({x} + 1.0f) * ({x} + 2.0f) / 6.0f;",
            f"float {t}2 = -({x} - 1.0f) * ({x} + 1.0f) * ({x} + 2.0f) / 2.0f;",
            f"float {t}3 = ({x} - 1.0f) * {x} * ({x} + 2.0f) / 2.0f;",
            f"float {t}4 = -({x} - 1.0f) * {x} * ({x} + 1.0f) / 6.0f;",
        ]
    return "\n".join(lines)


def _tricubic_flat() -> str:
    terms = [f"a{p} * b{q} * c{r} * u0({_moves(p - 2, q - 2, r - 2)})" for r, q, p in product(range(1, 5), repeat=3)]
    return f"{_weights()}\nu1() = {_BREAK.join(terms)};"


def _tricubic_nested() -> str:
    planes: list[str] = []
    for r in range(1, 5):
        rows: list[str] = []
        for q in range(1, 5):
            row = " + ".join(f"a{p} * u0({_moves(p - 2, q - 2, r - 2)})" for p in range(1, 5))
            rows.append(f"b{q} * ({row})")
        planes.append(f"c{r} * ({_BREAK.join(rows)})")
    return f"{_weights()}\nu1() = {_BREAK.join(planes)};"


_BREAK = "\n    + "
_CUBIC_INPUTS = axes("u0", extents=_XYZ) + axes("a", "b", "c", extents=_XYZ, low=0, high=1)

TRICUBIC = Stencil(
    name="tricubic", dims=3, extents=_XYZ, lower=1, upper=2, loads=67,
    inputs=_CUBIC_INPUTS, outputs=axes("u1", extents=_XYZ), scalars={}, body=_tricubic_flat(), reference=_tricubic,
)  # fmt: skip
TRICUBIC2 = Stencil(
    name="tricubic2", dims=3, extents=_XYZ, lower=1, upper=2, loads=67,
    inputs=_CUBIC_INPUTS, outputs=axes("u1", extents=_XYZ), scalars={}, body=_tricubic_nested(), reference=_tricubic,
)  # fmt: skip

VOLUME = (DIVERGENCE, GRADIENT, LAPLACIAN, LAPGSRB, WAVE13PT, UXX1, TRICUBIC, TRICUBIC2)
