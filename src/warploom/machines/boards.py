"""Boards: what one product of an architecture has, and what no product of it exceeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from warploom.machines.figures import Quantity, RowError, checked

TAKEN_BYTES = 64
"""Bytes per clock that one multiprocessor takes from the second-level cache."""


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A product."""

    name: str
    multiprocessors: Annotated[int, Quantity("multiprocessors", 1, 512)]
    clock_mhz: Annotated[int, Quantity("MHz of the rated boost clock", 500, 4000)]
    memory_gb_s: Annotated[float, Quantity("10^9 bytes per second of memory bandwidth", 20, 50000)]

    @property
    def bytes_per_clock(self) -> float:
        """Memory bandwidth divided among the multiprocessors, at the boost clock."""
        return self.memory_gb_s * 1e3 / (self.multiprocessors * self.clock_mhz)


@checked
@dataclass(frozen=True, slots=True, kw_only=True)
class LargestBoard:
    """A board that no product of the architecture exceeds, so that a lower bound made of it holds for all of them.

    No such board is sold: each figure is the largest among the products, by the vendor's data sheets and white papers. A board
    that is cool or overclocked may run faster than its rated boost.
    """

    products: str
    """The products that the largest figures come from."""
    multiprocessors: Annotated[int, Quantity("multiprocessors", 1, 512)]
    clock_ghz: Annotated[float, Quantity("GHz of the rated boost clock", 0.5, 4)]
    memory_gb_s: Annotated[float, Quantity("10^9 bytes per second of memory bandwidth", 20, 50000)]
    l1_kib: Annotated[int, Quantity("KiB of first-level cache and shared memory of a multiprocessor", 48, 1024)]
    l2_mib: Annotated[int, Quantity("MiB of second-level cache", 1, 1024)]
    l2_bytes_per_clock: Annotated[int, Quantity("bytes per clock of the second-level cache, at most", 512, 65536)]
    """Its slices, 64 bytes each, or the 64 bytes that each multiprocessor takes, whatever is larger: no program sees more."""
    l2_gb_s: Annotated[float, Quantity("10^9 bytes per second of second-level cache, as measured or assumed", 500, 50000)]
    """For models and not for bounds; by Jia et al. (Turing) and Luo et al. (Ampere, Ada, Hopper), else assumed."""

    def __post_init__(self) -> None:
        needed = TAKEN_BYTES * self.multiprocessors
        if self.l2_bytes_per_clock < needed:
            message = f"expected at least {needed}, {TAKEN_BYTES} for each multiprocessor, got {self.l2_bytes_per_clock}"
            raise RowError(f"LargestBoard: l2_bytes_per_clock: {message}")
