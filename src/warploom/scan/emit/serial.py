"""The reference for kernels: the loop, one element after the other, on exact numbers; it knows nothing of operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.scan.emit.dialect import Scalar
from warploom.scan.operators.expression import Value
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.samples import random_lists
from warploom.scan.reading.loop import Loop
from warploom.scan.variants import ScanForm

Array: TypeAlias = NDArray[Any]
Element: TypeAlias = tuple[Value, ...]
DTYPES: dict[Scalar, np.dtype[Any]] = {
    "int32": np.dtype(np.int32), "int64": np.dtype(np.int64), "float32": np.dtype(np.float32), "float64": np.dtype(np.float64),
    "bool": np.dtype(np.bool_),
}  # fmt: skip
_PIECE = 9
"""Length of the random lists that longer ones are made of."""
_LENGTHS = (5, 1, 33, 2, 70, 17, 1, 150)
"""Lengths of the segments, in turn."""
_PLACES = 48
"""Places of a backward list that are compared, and as many at its end."""
_TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


@dataclass(frozen=True, slots=True)
class Serial:
    """Results of the loop: one tuple for every prefix, the empty one first."""

    results: tuple[Element | None, ...]
    """None: the loop's own numbers, or the result, are beyond the machine's, or undefined."""


def elements(loop: Loop, count: int, seed: int = 0) -> list[Element]:
    """A list of `count` elements that meet what the loop asserts."""
    lists = random_lists(loop, -(-count // _PIECE) * 3 + 3, _PIECE, seed)
    found = [e for part in lists for e in part]
    while len(found) < count:
        found += found
    return found[:count]


def serial(loop: Loop, given: Sequence[Element], constants: Sequence[Value], bits: int = 32) -> Serial:
    """Stops looking (None from there on) at the first state that leaves `bits`-bit numbers."""
    states = [s.variable for s in loop.states]
    step: Callable[..., Element] = compiled([*states, *loop.fields, *loop.constants], [s.step for s in loop.states])
    output: Callable[..., Element] = compiled([*states, *loop.constants], loop.outputs)
    values: Element = compiled(list(loop.constants), [s.initial for s in loop.states])(*constants)
    results: list[Element | None] = []
    for element in [None, *given]:
        if element is not None:
            values = step(*values, *element, *constants)
        if any(_is_beyond(v, bits) for v in values):
            break
        try:
            found = output(*values, *constants)
        except (ArithmeticError, ValueError):
            results.append(None)
            continue
        results.append(None if any(_is_beyond(v, bits) for v in found) else found)
    return Serial((*results, *([None] * (len(given) + 1 - len(results)))))


def edges(count: int, seed: int = 0) -> list[bool]:
    """Flags of segments of all lengths, short ones and some that are longer than a block."""
    found: list[bool] = []
    for number in range(seed, seed + count):
        length = _LENGTHS[number % len(_LENGTHS)]
        found += [True, *[False] * (length - 1)]
    return found[:count]


def of_form(
    loop: Loop, form: ScanForm, given: Sequence[Element], flags: Sequence[bool] | None, constants: Sequence[Value],
    bits: int = 32, *, is_exclusive: bool = False,
) -> dict[int, Element | None]:  # fmt: skip
    """Results of the loop run on parts of a list, by place: on the elements of its segment up to a place, or from it on.

    flags: where segments begin (backward: end); None: the list is one segment. Of a long backward list some places are left out,
    since the loop runs from each of them.
    """
    firsts = [i for i, is_edge in enumerate(flags or ()) if is_edge]
    cuts = sorted({0, len(given), *((i + 1 for i in firsts) if form.is_backward else firsts)})
    found: dict[int, Element | None] = {}
    for start, end in pairwise(cuts):
        segment = given[start:end]
        if not form.is_backward:
            results = serial(loop, segment, constants, bits).results
            found |= {start + i: results[i if is_exclusive else i + 1] for i in range(len(segment))}
            continue
        for i in {*range(0, len(segment), 1 + len(segment) // _PLACES), *range(max(0, len(segment) - _PLACES), len(segment))}:
            found[start + i] = serial(loop, segment[i + 1 if is_exclusive else i :], constants, bits).results[-1]
    return found


def _is_beyond(value: Value, bits: int) -> bool:
    limit = 2 ** (bits - 1) - 1
    if isinstance(value, Fraction) or (isinstance(value, float) and math.isfinite(value)):
        return abs(value) >= limit
    return isinstance(value, int) and not -limit < value < limit


def column(values: Sequence[Value], scalar: Scalar) -> Array:
    """A column of values as the machine has them; characters as their codes."""
    return np.array([machine_value(v, scalar) for v in values], DTYPES[scalar])


def machine_value(value: Value, scalar: Scalar) -> bool | int | float:
    match value:
        case str():
            return ord(value) if value else 0
        case float() if scalar in ("int32", "int64"):
            limits = np.iinfo(DTYPES[scalar])
            return int(limits.min if value < 0 else limits.max)
        case bool() if scalar == "bool":
            return value
        case _:
            return float(value) if scalar in ("float32", "float64") else int(value)


def is_close(value: object, expected: Value, scalar: Scalar) -> bool:
    wanted = machine_value(expected, scalar)
    if scalar in ("float32", "float64"):
        return bool(np.isclose(float(value), wanted, rtol=_TOLERANCE[scalar], atol=_TOLERANCE[scalar]))  # type: ignore[arg-type]
    return value == wanted
