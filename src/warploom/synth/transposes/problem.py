"""The three-step sketch of a transpose, and what one step's function leaves of the others.

Element e starts at register floor(e / n), lane e mod n and ends at register e mod m, lane floor(e / m). Column-row-column and
row-column-row are one problem on two axes: steps 1 and 3 permute along the *outer* axis (registers in crc, lanes in rcr), step 2
along the *inner* one. Between steps 1 and 2 the element gets its middle position on the outer axis:

    first(middle, inner at the start)  = outer at the start
    second(inner at the end, middle)   = inner at the start
    third(outer at the end, inner at the end) = middle

Any one of first and third fixes the middle positions, hence both others: their tables are *forced*.
Source: Swizzle Inventor, section 7.3, Listing 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from warploom.ir.swizzle import IntArray
from warploom.ir.swizzle.grown import permutes

Kind = Literal["crc", "rcr", "sum"]
KINDS: tuple[Kind, ...] = ("crc", "rcr", "sum")


@dataclass(frozen=True)
class Transpose:
    """m registers by n lanes, both at most 128; `sum` is crc without its third step."""

    kind: Kind
    m: int
    n: int

    @property
    def outer(self) -> int:
        """Size of the axis of steps 1 and 3."""
        return self.n if self.kind == "rcr" else self.m

    @property
    def inner(self) -> int:
        return self.m if self.kind == "rcr" else self.n

    @property
    def steps(self) -> int:
        return 2 if self.kind == "sum" else 3

    @cached_property
    def starts(self) -> tuple[IntArray, IntArray]:
        """[elements] outer and inner position at the start."""
        e = np.arange(self.m * self.n)
        register, lane = e // self.n, e % self.n
        return (lane, register) if self.kind == "rcr" else (register, lane)

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        e = np.arange(self.m * self.n)
        register, lane = e % self.m, e // self.m
        return (lane, register) if self.kind == "rcr" else (register, lane)

    @cached_property
    def element_at_start(self) -> IntArray:
        """[outer, inner]"""
        return _placed(self.starts, self.outer, self.inner)

    @cached_property
    def element_at_end(self) -> IntArray:
        """[outer, inner]"""
        return _placed(self.ends, self.outer, self.inner)

    def from_first(self, first: IntArray) -> Tables | None:
        """All tables, from [middle, inner at the start]; None where step 2 cannot bring each lane what it needs."""
        rows = np.arange(self.inner)
        elements = self.element_at_start[first, rows[None, :]]
        return self._tables(elements)

    def from_third(self, third: IntArray) -> Tables | None:
        """All tables, from [outer at the end, inner at the end]."""
        middle = np.empty(self.m * self.n, np.int64)
        middle[self.element_at_end] = third
        counts = np.zeros((self.outer, self.inner), np.int64)
        elements = np.zeros((self.outer, self.inner), np.int64)
        np.add.at(counts, (middle, self.starts[1]), 1)
        elements[middle, self.starts[1]] = np.arange(self.m * self.n)
        return self._tables(elements) if (counts == 1).all() else None

    def _tables(self, elements: IntArray) -> Tables | None:
        """`elements` is [middle, inner at the start]."""
        outer_end, inner_end = (side[elements] for side in self.ends)
        if not permutes(inner_end):
            return None
        first = self.starts[0][elements]
        if not permutes(first.T):
            return None
        second = np.empty((self.inner, self.outer), np.int64)
        third = np.empty((self.outer, self.inner), np.int64)
        middle = np.arange(self.outer)[:, None]
        second[inner_end, middle] = np.arange(self.inner)[None, :]
        third[outer_end, inner_end] = middle
        return Tables(first, second, third)


@dataclass(frozen=True, slots=True)
class Tables:
    """The functions of the three steps, each [index, parameter]."""

    first: IntArray
    second: IntArray
    third: IntArray


def _placed(side: tuple[IntArray, IntArray], outer: int, inner: int) -> IntArray:
    placed = np.empty((outer, inner), np.int64)
    placed[side] = np.arange(outer * inner)
    return placed
