"""Definition of a stencil: its arrays, its body in CUDA, and the values that the body must compute.

A body is CUDA C++ in which a grid of points is read and written as `name(i+1, k-2)`: the moved axes with their distances;
`name()` is the point itself. `i` is the fastest axis in memory. Square brackets stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Grid: TypeAlias = NDArray[np.float64]
Real: TypeAlias = Literal["float", "double"]
Parameter: TypeAlias = NDArray[np.float32 | np.float64] | np.float32 | np.float64 | np.int32
Reference: TypeAlias = Callable[[Mapping[str, Grid], Mapping[str, float]], Mapping[str, Grid]]
"""A function from whole arrays, shape [z, y, x] (outputs with what they held before), and scalars to the interior of each
output."""

AXES = "ijk"


@dataclass(frozen=True, slots=True)
class Field:
    """An array of numbers that the kernel takes."""

    name: str
    extents: tuple[str, ...]
    """Names of its extents, fastest first."""
    low: float = -1.0
    high: float = 1.0
    """Random data is from [low, high)."""
    whole: bool = False
    """Random data are whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stencil:
    """One kernel, independent of the shape of its loops.

    Kernel parameters, in order: inputs, outputs (pointers), extents (int), scalars (float).
    """

    name: str
    dims: int
    """Parallel loops: the first `dims` extents, i over the first."""
    extents: tuple[str, ...]
    """Names in the order of parameters: nx, ny, nz, then those of sequential loops."""
    lower: int
    """Points at the low end of each parallel axis that are not computed."""
    upper: int
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    """May be read as well."""
    scalars: Mapping[str, float]
    """Scalars with their usual values."""
    body: str
    reference: Reference
    loads: int
    """Global loads in the PTX that NVRTC 13.0 makes of the guarded shape."""
    tolerance: float = 1e-5
    """Tolerance of a result's difference from the reference, relative to the larger of 1 and the largest result."""

    @property
    def symbol(self) -> str:
        """Name of the kernel: apart from `name`, which may be a function of CUDA's."""
        return f"{self.name}_kernel"

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.inputs + self.outputs

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return (*(field.name for field in self.fields), *self.extents, *self.scalars)

    def interior(self) -> tuple[slice, ...]:
        """Slices of an output's interior, slowest axis first."""
        return (slice(self.lower, -self.upper or None),) * self.dims


def axes(*names: str, extents: tuple[str, ...], low: float = -1.0, high: float = 1.0, whole: bool = False) -> tuple[Field, ...]:
    """Fields of one kind."""
    return tuple(Field(name, extents, low, high, whole) for name in names)


def parameters(
    stencil: Stencil,
    extents: tuple[int, ...],
    rng: np.random.Generator,
    *,
    real: Real = "float",
) -> tuple[Parameter, ...]:
    """Random arrays, shape [z, y, x], extents and scalars in the order of the kernel's parameters; outputs are random too.

    `extents` are in the order of `stencil.extents`; ValueError where an interior would be empty or an extent is missing.
    """
    margin = stencil.lower + stencil.upper
    if len(extents) != len(stencil.extents) or min(extents[: stencil.dims]) <= margin or min(extents) < 1:
        raise ValueError(
            f"{stencil.name}: expected {len(stencil.extents)} extents ({', '.join(stencil.extents)}), the first {stencil.dims} "
            f"above {margin}, got {extents}"
        )
    sizes = dict(zip(stencil.extents, extents, strict=True))
    arrays: list[Parameter] = []
    for field in stencil.fields:
        shape = tuple(sizes[name] for name in reversed(field.extents))
        values = rng.uniform(field.low, field.high, shape)
        arrays.append(_rounded(np.floor(values) if field.whole else values, real))
    scalars = (np.float32(value) if real == "float" else np.float64(value) for value in stencil.scalars.values())
    return (*arrays, *(np.int32(extent) for extent in extents), *scalars)


def _rounded(values: NDArray[np.float64], real: Real) -> NDArray[np.float32 | np.float64]:
    return values.astype(np.float32) if real == "float" else values


def reference(stencil: Stencil, given: tuple[Parameter, ...]) -> dict[int, Grid]:
    """Values of each output after the kernel, in float64, by the index of its parameter; `given` is left as it is."""
    named = dict(zip(stencil.parameter_names, given, strict=True))
    arrays = {field.name: np.asarray(named[field.name], dtype=np.float64) for field in stencil.fields}
    scalars = {name: float(np.float64(named[name])) for name in stencil.scalars}
    computed = stencil.reference(arrays, scalars)
    results: dict[int, Grid] = {}
    for offset, field in enumerate(stencil.outputs):
        whole = arrays[field.name].copy()
        whole[stencil.interior()] = computed[field.name]
        results[len(stencil.inputs) + offset] = whole
    return results


def window(stencil_margins: tuple[int, int], grid: Grid, di: int = 0, dj: int = 0, dk: int = 0) -> Grid:
    """The interior of `grid` moved by whole points: element p of the result is the neighbour of interior point p.

    `stencil_margins`: lower, upper.
    """
    lower, upper = stencil_margins
    moves = (dk, dj, di)[-grid.ndim :]
    return grid[tuple(slice(lower + m, n - upper + m) for m, n in zip(moves, grid.shape, strict=True))]
