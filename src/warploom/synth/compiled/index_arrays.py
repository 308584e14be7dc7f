"""Reads at indices that arrays of whole numbers give, for data with which these arrays hold numbers of known ranges.

    element at 3 + 512 * idx[7] of W  ->  read.@.512(W[3], idx[7])

A kernel may read any elements inside of arrays that nobody writes. Where its place is one that the function reads, both have one
term for the element; a place that the kernel computes otherwise has a term that is equal to nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.core import DType, integer_range
from warploom.core.intervals import Interval
from warploom.synth.compiled.gathers import Index, Indices
from warploom.synth.compiled.threads import USE
from warploom.terms import Term, atom, element_behind


@dataclass(frozen=True, slots=True)
class IndexArray:
    """An array of whole numbers that are places in other arrays."""

    dtype: DType
    held: Interval
    """The numbers that it holds."""

    @property
    def is_any(self) -> bool:
        return self.held == Interval(*integer_range(self.dtype))


class IndexArrays(Indices):
    """By name: the index arrays of a launch."""

    def __init__(self, arrays: Mapping[str, tuple[DType, tuple[int, ...]]], known: Mapping[str, IndexArray]) -> None:
        super().__init__(arrays)
        self._known = known
        self._done: dict[tuple[Term, int], Index] = {}
        """By word and its width."""

    def modulo(self, root: Term, kinds: Mapping[Term, DType], bits: int) -> Index:
        key = (root, bits)  # which numbers its words may be is never told otherwise
        if key not in self._done:
            self._done[key] = super().modulo(root, kinds, bits)
        return self._done[key]

    @property
    def notes(self) -> list[str]:
        """The domain's words for the data with which places lie inside."""
        return [
            f"indices in {name} from {own.held.low} to {own.held.high}"
            for name, own in sorted(self._known.items())
            if not own.is_any
        ]

    def found(
        self, name: str, start: int, offset: Term, kinds: Mapping[Term, DType], size: int, count: int
    ) -> tuple[Index, Interval | None]:
        place = self.place(name, start, offset, kinds, size, count)
        return place, place.bounds(self.range_of)

    def elements(self, use: str, place: Index, step: int, count: int) -> list[Term]:
        starts = ((place.constant + k, *((step,) if step else ())) for k in range(count))
        return [element_behind(atom(use, start), place.terms) for start in starts]

    def element(self, op: str, values: list[int]) -> Term | None:
        """None: no such read is followed on numbers."""
        del op, values

    def _first_range(self, word: Term, kind: DType) -> Interval:
        own = self._known.get(word.data[0].partition(USE)[0]) if word.op == "atom" else None
        return own.held if own is not None and own.dtype is kind else super()._first_range(word, kind)
