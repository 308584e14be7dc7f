"""Convolutions with weights in memory, as people write them: loops over the window, which the compiler unrolls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from warploom.kernels.kernelgen.stencil import Field, Grid, Reference, Stencil, axes, window


def _line(width: int) -> Stencil:
    radius = width // 2
    return Stencil(
        name=f"conv1d_{width}", dims=1, extents=("nx",), lower=radius, upper=radius, loads=2 * width,
        inputs=(Field("u", ("nx",)), Field("weights", ("nx",))), outputs=axes("w", extents=("nx",)), scalars={},
        body=f"""
            float sum = 0.0f;
            for (int d = 0; d < {width}; d++)
                sum += weights[d] * u[i + d - {radius}];
            w() = sum;
        """,
        reference=_window_sum(width, 1),
    )  # fmt: skip


def _square(width: int) -> Stencil:
    radius = width // 2
    return Stencil(
        name=f"conv2d_{width}", dims=2, extents=("nx", "ny"), lower=radius, upper=radius, loads=2 * width * width,
        inputs=(Field("u", ("nx", "ny")), Field("weights", ("nx", "ny"))), outputs=axes("w", extents=("nx", "ny")), scalars={},
        body=f"""
            float sum = 0.0f;
            for (int e = 0; e < {width}; e++)
                for (int d = 0; d < {width}; d++)
                    sum += weights[e*{width} + d] * u[(j + e - {radius})*nx + i + d - {radius}];
            w() = sum;
        """,
        reference=_window_sum(width, 2),
    )  # fmt: skip


def _window_sum(width: int, dims: int) -> Reference:
    """The weights are the first `width ** dims` elements of their array."""
    radius = width // 2

    def compute(arrays: Mapping[str, Grid], scalars: Mapping[str, float]) -> Mapping[str, Grid]:
        del scalars
        weights = arrays["weights"].ravel()[: width**dims]
        total = np.zeros_like(window((radius, radius), arrays["u"]))
        for weight, moves in zip(weights, product(range(-radius, radius + 1), repeat=dims), strict=True):
            total += weight * window((radius, radius), arrays["u"], *reversed(moves))
        return {"w": total}

    return compute


CONVOLUTIONS: dict[str, Stencil] = {s.name: s for s in (_line(7), _square(3), _square(5))}
