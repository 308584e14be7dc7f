"""A set of gathers with one type: what a hole of a dataflow program may become.

A gather fills every output element from an argument element, with 0, or with nothing (undefined), without looking at values.
Output elements whose source is decided together share a *point*: a swizzle of rows decides for (i, j) and not for the planes
above it. A member of the set maps points to *values*, and `source` says which element a value brings.

Source: Swizzleflow, section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from warploom.ir.kernel.nodes import IndexExpr
from warploom.ir.swizzle import FunctionSet, IntArray

Shape: TypeAlias = tuple[int, ...]

ZERO, UNDEFINED = -1, -2
"""Sources that are no element: the identity of every fold; no value at all."""


@dataclass(frozen=True, eq=False, slots=True)
class GatherSet:
    """`members` has at least one member; two of them never have the same effect."""

    arguments: tuple[Shape, ...]
    out: Shape
    point: IntArray
    """[output elements] row-major: the number of the point that decides the element's source."""
    source: IntArray
    """[output elements, values]: row-major element number in the arguments put one after the other, `ZERO` or `UNDEFINED`."""
    members: FunctionSet
    """Functions from points to values."""
    text: Callable[[IndexExpr], str]
    """A member's expression (`Functions.expr`) as the user reads it, such as `col_xforms(cf=3, cr=1)`."""

    def gather(self, table: IntArray) -> IntArray:
        """[output elements] sources of the member with the given values at the points."""
        return self.source[np.arange(len(self.source)), table[self.point]]

    @property
    def is_single(self) -> bool:
        return self.members.size_bound == 1

    @property
    def argument_elements(self) -> int:
        return sum(prod(shape) for shape in self.arguments)
