"""Arrays on which kernels are measured, and the check that kernels compute what they should."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError, in_memory, to_numpy, values_of, words_of
from warploom.schedule.backbone import Backbone, Parameter, Program, Region, Role, places_of, random_inputs

_PART = 1 << 16
"""Elements that are compared at a time: few enough for a cache."""
_BF16_DIGITS = 8
"""Bits of the significand of a bf16, the first one included."""
Arrays: TypeAlias = Mapping[str, NDArray[Any]]


def random_arrays(backbone: Backbone, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Random inputs, outputs zero, by name; flat, as long as their strides need."""
    given = random_inputs(
        (replace(r, shape=(r.elements,), role=Role.INPUT) for r in backbone.regions), seed, places_of([backbone])
    )
    return {r.name: np.zeros(r.elements, to_numpy(r.dtype)) if r.role is Role.OUTPUT else given[r.name] for r in backbone.regions}


def with_outputs(backbone: Backbone, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Flat, in the order of the kernel's arguments; zeros for outputs that are missing. UserError (ARRAY_SHAPE) for inputs."""
    found: dict[str, NDArray[Any]] = {}
    for region in backbone.regions:
        array = arrays.get(region.name)
        if array is None and region.role is Role.OUTPUT:
            array = np.zeros(region.elements, to_numpy(region.dtype))
        if array is None or array.size < region.elements:
            got = "none" if array is None else f"{array.size}"
            raise UserError(Diagnostic("ARRAY_SHAPE", f"expected {region.elements} elements of {region.name}, got {got}"))
        found[region.name] = np.ascontiguousarray(array).reshape(-1)
    return found


def program_arrays(program: Program, given: Arrays) -> dict[str, NDArray[Any]]:
    """Arrays that the kernels of a program share, by name in the order of its arguments, flat, as they lie in memory: those given
    as copies, others zero."""
    found: dict[str, NDArray[Any]] = {}
    for region in program.arguments:
        array, dtype = given.get(region.name), region.dtype
        found[region.name] = np.zeros(region.elements, in_memory(dtype)) if array is None else words_of(dtype, array.flatten())
    return found


def held(regions: Iterable[Region], arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays of these regions, given as they lie in memory, as NumPy holds their values."""
    return {r.name: values_of(r.dtype, arrays[r.name]) if r.dtype.is_held else arrays[r.name] for r in regions}


def scalar_values(backbone: Backbone) -> dict[str, float]:
    """1.5 for each scalar argument."""
    operands = (o for i in backbone.instructions for o in i.operands)
    return {o.name: 1.5 for o in operands if isinstance(o, Parameter)}


def difference(
    results: Arrays, reference: Arrays, tolerance: float, in_bf16: Collection[str] = (), allowed: Arrays | None = None
) -> str:
    """How results differ from the reference (flat arrays of equal length); empty if integers are equal and floats differ by no
    more than `tolerance` times its largest finite element; what is infinite or NaN must be the same.

    allowed: in place of the tolerance how far each element may be off; nothing is said of those where that is infinite.

    in_bf16: outputs that both round to bf16. Where one place of an element is more than the tolerance, it may be off by one, but
    not in more than a quarter of these elements: a sum in another order rarely is rounded to the other side, and one that is cut
    off is in every other element.
    """
    for name, expected in reference.items():
        wanted = np.asarray(expected).reshape(-1)
        got = np.asarray(results[name]).reshape(-1)[: wanted.size]
        if allowed is not None:
            if wrong := _outside(name, wanted, got, np.asarray(allowed[name]).reshape(-1)):
                return wrong
            continue
        if np.issubdtype(wanted.dtype, np.integer):
            if not np.array_equal(got, wanted):
                return f"expected {name} as in the reference, got other integers"
            continue
        furthest, largest = 0.0, 1e-30
        for one, other in _parts(wanted, got):
            special = ~np.isfinite(one)
            if special.any():
                if not np.array_equal(one[special], other[special], equal_nan=True):
                    return f"expected {name} as in the reference, got other elements that are infinite or NaN"
                one, other = one[~special], other[~special]
            furthest = max(float(np.max(np.abs(other - one), initial=furthest)), furthest)
            largest = max(float(np.max(np.abs(one), initial=largest)), largest)
            if np.isnan(furthest):
                break
        error = furthest / largest
        if error <= tolerance:
            continue
        if name not in in_bf16 or np.isnan(error):
            return f"expected {name} as in the reference, got a relative error of {error:.2g}"
        if wrong := _misrounded(name, wanted, got, tolerance * largest):
            return wrong
    return ""


def _outside(name: str, wanted: NDArray[Any], got: NDArray[Any], allowed: NDArray[Any]) -> str:
    """The first element that is off by more than it may be; empty if there is none."""
    known = np.isfinite(allowed)
    with np.errstate(invalid="ignore"):
        apart = np.abs(got[known].astype(np.float64) - wanted[known])
    off = ~((apart <= allowed[known]) | (got[known] == wanted[known]))  # infinities are equal, and no number apart
    if not off.any():
        return ""
    first = int(np.flatnonzero(known)[int(np.argmax(off))])
    return f"expected {name}[{first}] = {wanted[first]:.9g} within {allowed[first]:.2g}, got {got[first]:.9g}"


def _misrounded(name: str, wanted: NDArray[Any], got: NDArray[Any], allowed: float) -> str:
    """How numbers rounded to bf16 differ; empty if by no more than `allowed`, or, seldom, by one place."""
    seen = off = 0
    for one, other in _parts(wanted, got):
        finite = np.isfinite(one)
        one, other = one[finite], other[finite]
        least, apart = np.minimum(np.abs(one), np.abs(other)), np.abs(other - one)
        place = np.where(least > 0, np.ldexp(1.0, np.frexp(least)[1] - _BF16_DIGITS), 0.0)
        if (apart > np.maximum(place, allowed)).any():
            return f"expected {name} as in the reference, got elements that differ by more than a place of bf16"
        seen += int(np.count_nonzero(place > allowed))
        off += int(np.count_nonzero(apart > allowed))
    if off > 1 + seen / 4:
        return f"expected {name} rounded as in the reference, got {off} of {seen} elements that differ by a place of bf16"
    return ""


def _parts(wanted: NDArray[Any], got: NDArray[Any]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Both in double precision, part by part."""
    for start in range(0, wanted.size, _PART):
        yield wanted[start : start + _PART].astype(np.float64), got[start : start + _PART].astype(np.float64)
