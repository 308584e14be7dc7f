"""Where the printer stands: which loops run, which guards hold, whether a statement does all lanes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from warploom.schedule.cpu.affine import Indices, affine_text
from warploom.schedule.cpu.guards import test
from warploom.schedule.nest import Guard, Loop


@dataclass(slots=True)
class Scope:
    indices: Indices
    settled: frozenset[Guard] = frozenset()
    """Guards that hold here."""
    lane_loop: Loop | None = None
    """The vector loop around the statement."""
    lines: list[str] = field(default_factory=list[str])
    depth: int = 1

    @property
    def lanes(self) -> int:
        return 1 if self.lane_loop is None else self.lane_loop.size

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def at_lane(self, lane: int) -> Indices:
        assert self.lane_loop is not None
        return Indices(self.indices.sizes, self.indices.at | {self.lane_loop.number: lane})

    def is_certain(self, guard: Guard, indices: Indices | None = None) -> bool:
        low, high = (indices or self.indices).span(guard.index)
        return guard in self.settled or (low >= 0 and high < guard.bound)

    def tests(self, guards: Sequence[Guard], indices: Indices | None = None) -> list[str]:
        """Conditions of those guards that are not certain, each once."""
        indices = indices or self.indices
        return list(dict.fromkeys(t for g in guards if not self.is_certain(g, indices) for t in test(g, indices)))

    def lane_parts(self, guards: Sequence[Guard]) -> tuple[list[str], str, str] | None:
        """Tests of the whole vector, first lane, end of lanes; None where its lanes are not one run."""
        assert self.lane_loop is not None
        tests: list[str] = []
        first, last = "0", str(self.lanes)
        for guard in guards:
            if self.is_certain(guard):
                continue
            place = self.indices.place(guard.index)
            match place.stride(self.lane_loop.number):
                case 0:
                    tests += test(guard, self.indices)
                case 1 if (first, last) == ("0", str(self.lanes)):
                    first = affine_text(-place.constant, tuple((v, -s) for v, s in place.terms))
                    last = affine_text(guard.bound - place.constant, tuple((v, -s) for v, s in place.terms))
                    low, high = self.indices.span(guard.index)
                    first = "0" if low >= 0 else first
                    last = str(self.lanes) if high < guard.bound else last
                case _:
                    return None
        return tests, first, last
