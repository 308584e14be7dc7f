"""Counts of what the search tested: the numbers that the reports call visited."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counters:
    probes: int = 0
    """Members of a hole looked up in a join."""
    tested: int = 0
    """Members of a hole tried on a partial answer, one by one or all at once."""

    @property
    def visited(self) -> int:
        return self.probes + self.tested
