"""Permuted places of a shared buffer: primitives of `ir.swizzle` on one digit of the place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ir.swizzle import Rot, Xor, faults, image, mask_range

Places = NDArray[np.int64]

Turn: TypeAlias = Rot | Xor


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Moves the digit `floor(e / unit) mod core.n` of a place e by `core`, whose parameter is what lies above the digit,
    `floor(e / (unit * core.n))`: units of neighbouring elements trade places within their row, each row by another amount."""

    core: Turn
    unit: int

    @property
    def row(self) -> int:
        """Elements that trade places among themselves."""
        return self.unit * self.core.n

    def of(self, places: Places) -> Places:
        digit = places // self.unit % self.core.n
        return places + (image(self.core, digit, places // self.row) - digit) * self.unit

    def faults(self, elements: int) -> Iterator[str]:
        """Reasons why it is no permutation of a buffer of so many elements."""
        if found := faults(self.core):
            yield found
        if self.core.constant:
            yield "expected no constant"
        if self.unit < 1 or elements % self.row:
            yield f"expected whole rows of {self.row} elements, got {elements}"
        if isinstance(self.core, Xor) and any(mask_range(n) != n for n in (self.core.n, self.core.period, self.unit) if n):
            yield "expected powers of two in an xor"

    def bits(self) -> tuple[int, int, int]:
        """(count, base, shift) of an xor: e ^ (e >> (base + shift) & 2**count - 1) << base."""
        assert isinstance(self.core, Xor)
        count = self.core.n.bit_length() - 1
        return count, self.unit.bit_length() - 1, count + self.core.period.bit_length() - 1

    def __str__(self) -> str:
        match self.core:
            case Xor(n, period, _):
                how = f"xor({n}) by row{_divided(period)}"
            case Rot(n, scale, period, _):
                by = "+".join(
                    ([f"row*{scale}" if scale > 1 else "row"] if scale else []) + ([f"row{_divided(period)}"] if period else [])
                )
                how = f"rot({n}) by {by}"
        return f"{how} of {self.row}" + (f", units of {self.unit}" if self.unit > 1 else "")


def _divided(period: int) -> str:
    return f"/{period}" if period > 1 else ""
