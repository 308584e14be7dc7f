"""The printer's position: which loops run, which guards hold, whether a statement does all lanes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from warploom.ctext import Text, binary, conditional, decimal
from warploom.schedule.cpu.affine import Indices, affine_text
from warploom.schedule.cpu.guards import test
from warploom.schedule.nest import Guard, Loop


@dataclass(frozen=True, slots=True)
class LaneParts:
    """The lanes of a vector statement that its guards let run."""

    tests: list[Text]
    """Tests of the whole vector."""
    first: Text
    end: Text
    """Behind the last lane."""
    lanes: int

    @property
    def is_whole(self) -> bool:
        """All lanes run where the tests hold."""
        return (self.first.value, self.end.value) == (0, self.lanes)


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
        return guard in self.settled or (guard.run_time is None and low >= 0 and high < guard.bound)

    def tests(self, guards: Sequence[Guard], indices: Indices | None = None) -> list[Text]:
        """Conditions of those guards that are not certain, each once."""
        indices = indices or self.indices
        return list(dict.fromkeys(t for g in guards if not self.is_certain(g, indices) for t in test(g, indices)))

    def lane_parts(self, guards: Sequence[Guard]) -> LaneParts | None:
        """None where the lanes that may run are not one run."""
        assert self.lane_loop is not None
        tests: list[Text] = []
        firsts: dict[Text, None] = {}
        ends: dict[Text, None] = {}
        for guard in guards:
            if self.is_certain(guard):
                continue
            place = self.indices.place(guard.index)
            match place.stride(self.lane_loop.number):
                case 0:
                    tests += test(guard, self.indices)
                case 1:
                    low, high = self.indices.span(guard.index)
                    negated = tuple((v, -s) for v, s in place.terms)
                    if low < 0:
                        firsts[affine_text(-place.constant, negated)] = None
                    if guard.run_time is not None:
                        ends[affine_text(guard.run_time.more - place.constant, ((guard.run_time.name, 1), *negated))] = None
                    elif high >= guard.bound:
                        ends[affine_text(guard.bound - place.constant, negated)] = None
                case _:
                    return None
        first = _extreme(list(firsts), ">") if firsts else decimal(0)
        end = _extreme(list(ends), "<") if ends else decimal(self.lanes)
        return LaneParts(list(dict.fromkeys(tests)), first, end, self.lanes)


def _extreme(texts: Sequence[Text], sign: str) -> Text:
    """The greatest or least of several numbers."""
    text = texts[0]
    for other in texts[1:]:
        text = conditional(binary(sign, text, other), text, other)
    return text
