"""Affine sums of loop indices as C text, with their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.ctext import Text, total
from warploom.schedule.nest import Affine


@dataclass(frozen=True, slots=True)
class Place:
    """An affine sum where some loops run: those not yet running are left in `inner`."""

    constant: int
    terms: tuple[tuple[str, int], ...]
    """(C variable, stride)."""
    inner: tuple[tuple[int, int], ...]
    """(loop number, stride)."""

    @property
    def text(self) -> Text:
        return affine_text(self.constant, self.terms)

    def stride(self, loop: int | None) -> int:
        return next((s for n, s in self.inner if n == loop), 0)


@dataclass(slots=True)
class Indices:
    """Which loops run here: their index is a number (unrolled) or a C variable."""

    sizes: Mapping[int, int]
    """Sizes of every loop of the nest."""
    at: dict[int, int | str]

    def place(self, affine: Affine) -> Place:
        constant = affine.constant
        terms: list[tuple[str, int]] = []
        inner: list[tuple[int, int]] = []
        for loop, stride in affine.terms:
            match self.at.get(loop):
                case None:
                    inner.append((loop, stride))
                case int(index):
                    constant += stride * index
                case str(variable):
                    terms.append((variable, stride))
        return Place(constant, tuple(terms), tuple(inner))

    def span(self, affine: Affine) -> tuple[int, int]:
        """Least and greatest value, every loop that is not unrolled over its whole range."""
        low = high = affine.constant
        for loop, stride in affine.terms:
            index = self.at.get(loop)
            if isinstance(index, int):
                low, high = low + stride * index, high + stride * index
            else:
                reach = stride * (self.sizes[loop] - 1)
                low, high = low + min(0, reach), high + max(0, reach)
        return low, high

    def inner_span(self, place: Place) -> tuple[int, int]:
        """Least and largest offset that the loops not yet running add."""
        reaches = [stride * (self.sizes[loop] - 1) for loop, stride in place.inner]
        return sum(min(0, r) for r in reaches), sum(max(0, r) for r in reaches)


def affine_text(constant: int, terms: tuple[tuple[str, int], ...]) -> Text:
    """`m*1024 + k + 3`."""
    return total(((stride, Text(variable)) for variable, stride in terms), constant, tight=True)
