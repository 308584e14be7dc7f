"""Vectors whose elements lie a few elements apart, put together of vectors of neighbours.

An array whose length and strides are multiples of that distance is one of groups, of which the vector has an element each: all
elements of the groups are loaded, so that vectors of their other elements are made of the same loads. Elsewhere nothing before
the first element or behind the last one is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warploom.core import WORDS, DType
from warploom.machines import MOST_APART
from warploom.schedule.cpu.columns import MIXED

_ELEMENT_BYTES = 4, 8


def is_close(dtype: DType, lanes: int, stride: int) -> bool:
    """Vectors of so many elements are put together where these are so far apart."""
    return 1 < stride <= min(MOST_APART, lanes) and dtype.size_bytes in _ELEMENT_BYTES and dtype not in WORDS.values()


@dataclass(frozen=True, slots=True)
class Close:
    """A vector of `lanes` elements, each `stride` behind the one before it."""

    lanes: int
    stride: int
    place: int | None
    """Place of the first element in its group; None: groups are not known, and the first load begins with it."""

    @property
    def name(self) -> str:
        return f"every_{self.stride}" if self.place is None else f"every_{self.stride}_from_{self.place}"

    def text(self, vector: str, mask: str, load: Callable[[int], str]) -> str:
        """The body of a function. vector, mask: types of the vector and of its integers in C; load: the vector of neighbours that
        begins so many elements behind the start."""
        starts = [n * self.lanes for n in range(self.stride)]
        if self.place is None:
            starts[-1] -= self.stride - 1
        return self._text(vector, mask, starts, load)

    def part_text(self, vector: str, mask: str, load_part: Callable[[int, str], str]) -> str:
        """The same of `first` and `last`: lanes first <= n < last. load_part: also of the limits of its lanes, in C."""
        behind = f"(last - 1) * {self.stride} + 1" if self.place is None else f"last * {self.stride}"
        starts = [n * self.lanes for n in range(self.stride)]
        limits = f"const Index low = first * {self.stride}, high = {behind};\n    "
        return limits + self._text(vector, mask, starts, lambda start: load_part(start, f"low - {start}, high - {start}"))

    def _text(self, vector: str, mask: str, starts: list[int], load: Callable[[int], str]) -> str:
        lines = [f"const {vector} x{n} = {load(start)};" for n, start in enumerate(starts)]
        wanted = [(self.place or 0) + lane * self.stride for lane in range(self.lanes)]
        made = "x0"
        for piece in range(1, self.stride):
            lanes: list[int] = []
            for lane, element in enumerate(wanted):
                of = element // self.lanes
                kept = lane if piece > 1 else element
                lanes.append(self.lanes + element - starts[of] if of == piece else kept if of < piece else 0)
            lines.append(f"const {vector} y{piece} = {MIXED}({mask}, {made}, x{piece}, {', '.join(map(str, lanes))});")
            made = f"y{piece}"
        return "\n    ".join((*lines, f"return {made};"))
