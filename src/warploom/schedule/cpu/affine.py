"""Affine sums of loop indices as C text, with their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.core.linear import Linear
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
    """The loops around a place, whose index is a number (unrolled) or a C variable."""

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
        fixed: dict[int, Affine] = {loop: Linear((), index) for loop, index in self.at.items() if isinstance(index, int)}
        return affine.substituted(fixed).span(lambda loop: self.sizes[loop] - 1)

    def inner_span(self, place: Place) -> tuple[int, int]:
        """Least and largest offset that the loops not yet running add."""
        return Linear(place.inner).span(lambda loop: self.sizes[loop] - 1)


def affine_text(constant: int, terms: tuple[tuple[str, int], ...]) -> Text:
    """`m*1024 + k + 3`."""
    return total(((stride, Text(variable)) for variable, stride in terms), constant, tight=True)
