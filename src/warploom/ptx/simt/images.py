"""Textures and surfaces as arguments of a launch: arrays that kernels reach through handles, not through addresses.

The rules are those of the CUDA C++ Programming Guide, "Texture Fetching". A texture has one level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.ptx.simt.regions import Region

Outside: TypeAlias = Literal["clamp", "border", "wrap", "mirror"]
CHANNELS = (1, 2, 4)
"""Numbers of components that a texel may have."""
_FRACTIONS = 256.0
"""Steps between two texels that linear filtering tells apart: hardware keeps eight bits of the fraction."""
_FAR = float(1 << 30)


@dataclass(frozen=True, slots=True, eq=False)
class Texture:
    """An argument that is a texture object of an array.

    array: `[height, width]` for a fetch in two dimensions, `[width]` in one, `[depth, height, width]` in three, with the layers
    in front where the fetch is layered; a further last axis of 1, 2 or 4 holds the components of a texel. filter: the nearest
    texel, or linear between neighbours. outside: what lies beyond the edges; `wrap` and `mirror` need normalized coordinates.
    normalized: coordinates run from 0 to 1. reads: elements as they are, or integers of 8 and 16 bits as numbers from 0 or -1
    to 1.

    UserError: TEXTURE.
    """

    array: NDArray[Any]
    filter: Literal["point", "linear"] = "point"
    outside: Outside = "clamp"
    normalized: bool = False
    reads: Literal["element", "normalized_float"] = "element"

    def __post_init__(self) -> None:
        _check_elements(self.array, "a texture")
        dtype = self.array.dtype
        if dtype.itemsize > 4:
            raise _wrong("elements of at most 4 bytes in a texture", str(dtype))
        if self.reads == "normalized_float" and not (dtype.kind in "ui" and dtype.itemsize <= 2):
            raise _wrong("integers of 8 or 16 bits where they are read as normalized floats", str(dtype))
        if self.filter == "linear" and dtype.kind != "f" and self.reads == "element":
            raise _wrong("floats, or integers read as normalized floats, with a linear filter", str(dtype))
        if self.outside in ("wrap", "mirror") and not self.normalized:
            raise _wrong(f"normalized coordinates with {self.outside}", "others")


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """An argument that is a surface object of an array, which the kernel reads and writes. Axes are those of `Texture`.

    UserError: TEXTURE.
    """

    array: NDArray[Any]

    def __post_init__(self) -> None:
        _check_elements(self.array, "a surface")


def _check_elements(array: NDArray[Any], what: str) -> None:
    if array.dtype.kind not in "iuf" or not 1 <= array.ndim <= 5 or array.size == 0:
        raise _wrong(f"numbers along 1 to 5 axes, none of them empty, in {what}", f"{array.dtype} of shape {array.shape}")


def _wrong(expected: str, got: str) -> UserError:
    return UserError(Diagnostic("TEXTURE", f"expected {expected}, got {got}"))


@dataclass(frozen=True, slots=True)
class Geometry:
    """The shape that one instruction takes an image for."""

    name: str
    axes: int
    is_layered: bool

    def shape_of(self, array: NDArray[Any]) -> tuple[int, ...]:
        """Layers, depth, height, width, components; axes that are not there have length 1. UserError: TEXTURE."""
        wanted = self.axes + self.is_layered
        shape = array.shape
        if len(shape) == wanted:
            shape = (*shape, 1)
        if len(shape) != wanted + 1 or shape[-1] not in CHANNELS:
            message = f"an array of {wanted} axes, or of {wanted + 1} whose last has 1, 2 or 4 components, for .{self.name}"
            raise _wrong(message, f"one of shape {array.shape}")
        layers = shape[0] if self.is_layered else 1
        inner = shape[self.is_layered : -1]
        return (layers, *(1,) * (3 - len(inner)), *inner, shape[-1])


GEOMETRIES = {
    name: Geometry(name, axes, is_layered)
    for name, axes, is_layered in (("1d", 1, False), ("2d", 2, False), ("3d", 3, False), ("a1d", 1, True), ("a2d", 2, True))
}
CUBES = ("cube", "acube")
"""Geometries whose coordinates are a direction; their array is one of `a2d`, with six faces in front for each cube."""
FACES = 6


@dataclass(slots=True, eq=False)
class Image:
    """A texture or a surface of a launch."""

    handle: int
    name: str
    array: NDArray[Any]
    """The user's array."""
    texture: Texture | None = None
    """None: it is a surface."""
    region: Region | None = None
    """The bytes of a surface."""


def fetched(texture: Texture, geometry: Geometry, layer: NDArray[Any] | None, at: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """The four components that threads fetch; those that texels do not have are 0.

    layer: of each thread, for a layered geometry. at: x, y, z of each thread, as f32, or as i32 for texels by number, which are 0
    outside. Floats are f64, not yet rounded; integers are i64.
    """
    shape = geometry.shape_of(texture.array)
    texels = texture.array.reshape(shape)
    sizes = shape[3], shape[2], shape[1]
    chosen: NDArray[Any] | int = 0 if layer is None else np.clip(layer.astype(np.int64), 0, shape[0] - 1)
    is_float = texture.array.dtype.kind == "f" or texture.reads == "normalized_float"
    sums: list[NDArray[Any]] = [np.zeros(len(at[0]), np.float64 if is_float else np.int64) for _ in range(4)]
    sides = [list(_sides(texture, coordinate, size)) for coordinate, size in zip(at, sizes, strict=False)]
    for corner in product(*sides):
        numbers = [side[0] for side in corner] + [0] * (3 - len(corner))
        inside = np.logical_and.reduce([side[1] for side in corner])
        weight = np.multiply.reduce([side[2] for side in corner])
        found = texels[chosen, numbers[2], numbers[1], numbers[0]]
        for component in range(shape[4]):
            value = _number(texture, found[..., component])
            sums[component] += np.where(inside & (weight > 0), value * weight if is_float else value, 0)
    return sums


def gathered(
    texture: Texture, geometry: Geometry, layer: NDArray[Any] | None, at: Sequence[NDArray[Any]], component: int
) -> list[NDArray[Any]]:
    """One component of the four texels between which a linear filter would weigh, in two dimensions, whatever the filter is:
    that below and left of the point first (rows run down), then right, then up.

    Source: PTX ISA 9.7.10.4; CUDA C++ Programming Guide, Texture Gather, which rounds coordinates to eight bits of a fraction.
    """
    shape = geometry.shape_of(texture.array)
    texels = texture.array.reshape(shape)
    chosen: NDArray[Any] | int = 0 if layer is None else np.clip(layer.astype(np.int64), 0, shape[0] - 1)
    pairs: list[list[tuple[NDArray[np.int64], NDArray[np.bool_]]]] = []
    for coordinate, size in zip(at, (shape[3], shape[2]), strict=True):
        x = _in_texels(texture, coordinate, size).astype(np.float64) - 0.5
        lower = np.floor(np.floor(x * _FRACTIONS + 0.5) / _FRACTIONS).astype(np.int64)
        pairs.append([_placed(number, size, texture.outside) for number in (lower, lower + 1)])
    found: list[NDArray[Any]] = []
    for right, down in ((0, 1), (1, 1), (1, 0), (0, 0)):
        (x, x_inside), (y, y_inside) = pairs[0][right], pairs[1][down]
        value = _number(texture, texels[chosen, 0, y, x, min(component, shape[4] - 1)])
        found.append(np.where(x_inside & y_inside & (component < shape[4]), value, value.dtype.type(0)))
    return found


def on_face(x: NDArray[Any], y: NDArray[Any], z: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """The face of a cube that a direction meets, and the coordinates there, from 0 to 1.

    Source: CUDA C++ Programming Guide, Cubemap Textures.
    """
    a, b, c = np.abs(x), np.abs(y), np.abs(z)
    along = np.where((a >= b) & (a >= c), 0, np.where(b >= c, 1, 2))
    major = np.choose(along, (x, y, z))
    negative = major < 0
    across = np.choose(along, (np.where(negative, z, -z), x, np.where(negative, -x, x)))
    down = np.choose(along, (-y, np.where(negative, -z, z), -y))
    size = np.abs(major)
    half = np.float32(0.5)
    return (2 * along + negative).astype(np.int64), (across / size + 1) * half, (down / size + 1) * half


def _number(texture: Texture, value: NDArray[Any]) -> NDArray[Any]:
    if texture.array.dtype.kind == "f":
        return value.astype(np.float64)
    if texture.reads == "element":
        return value.astype(np.int64)
    return np.maximum(value / np.iinfo(value.dtype).max, -1.0)


def _sides(texture: Texture, coordinate: NDArray[Any], size: int) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Along one axis: numbers of texels, whether they are inside, and their weights; two of each for a linear filter."""
    if coordinate.dtype.kind != "f":
        number = coordinate.astype(np.int64)
        yield np.clip(number, 0, size - 1), (number >= 0) & (number < size), np.ones(len(number))
        return
    x = _in_texels(texture, coordinate, size)
    if texture.filter == "point":
        yield *_placed(np.floor(x).astype(np.int64), size, texture.outside), np.ones(len(x))
        return
    x = x.astype(np.float64) - 0.5
    lower = np.floor(x)
    share = np.floor((x - lower) * _FRACTIONS + 0.5) / _FRACTIONS
    for number, weight in ((lower, 1.0 - share), (lower + 1, share)):
        yield *_placed(number.astype(np.int64), size, texture.outside), weight


def _in_texels(texture: Texture, coordinate: NDArray[Any], size: int) -> NDArray[np.float32]:
    """Coordinates counted in texels, f32."""
    x = np.nan_to_num(coordinate.astype(np.float32), nan=0.0, posinf=_FAR, neginf=-_FAR)
    if texture.normalized:
        x = _folded(x, texture.outside) * np.float32(size)
    return np.clip(x, np.float32(-_FAR), np.float32(_FAR))


def _folded(x: NDArray[np.float32], outside: Outside) -> NDArray[np.float32]:
    """Normalized coordinates brought into [0, 1] by `wrap` and `mirror`."""
    whole = np.floor(x)
    match outside:
        case "wrap":
            return x - whole
        case "mirror":
            return np.where(np.mod(whole, 2) == 0, x - whole, 1 - (x - whole)).astype(np.float32)
        case "clamp" | "border":
            return x


def _placed(number: NDArray[np.int64], size: int, outside: Outside) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers of texels that exist, and whether they stand for the ones asked for."""
    everywhere = np.ones(len(number), np.bool_)
    match outside:
        case "clamp":
            return np.clip(number, 0, size - 1), everywhere
        case "border":
            return np.clip(number, 0, size - 1), (number >= 0) & (number < size)
        case "wrap":
            return number % size, everywhere
        case "mirror":
            turned = number % (2 * size)
            return np.where(turned < size, turned, 2 * size - 1 - turned), everywhere
