"""A size known at run time over which a loop of a kernel sums: its values in families, and what is stored at each.

The values with one remainder by the loop's tile are one family. One step of `%length` is one round of the loop more, or several
where its rounds repeat in several steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import gcd

from warploom.core import i32
from warploom.schedule.backbone import MOST_AT_RUN_TIME, Backbone, Role, RunTimeSize, numbers_at_run_time, reduced
from warploom.schedule.cuda import CudaKernel
from warploom.synth.compiled import (
    Argument,
    ArrayArgument,
    Box,
    CompiledProof,
    NotAlikeError,
    PeriodError,
    ScalarArgument,
    Stores,
    joined_domain,
)

_MOST_TIMES = 8
"""Rounds of a loop in one step."""
_MOST_RUNS = 8
"""Times the instructions of one family that are executed in all."""
MARGIN = 1 << 13
"""By how much sizes stay below the greatest, so that no sum of a size and a tile leaves its word."""
Length = tuple[int, int, int]
"""A family: its least value, by how much the value grows with `%length`, and the greatest `%length`."""


@dataclass(frozen=True, slots=True)
class Summed:
    size: RunTimeSize
    tile: int
    """Values that one round of the loop adds."""

    @staticmethod
    def of(stage: Backbone, kernel: CudaKernel, size: RunTimeSize) -> Summed:
        """NotAlikeError for a kernel that does otherwise than sum over the size in one loop."""
        own = [n for n, a in enumerate(stage.axes) if a.run_time == size]
        if len(own) != 1 or own[0] not in reduced(stage):
            raise NotAlikeError(f"expected one axis of length {size.name}, that something is summed over")
        if any(r.role is not Role.INPUT for r in stage.regions if r.run_time is not None and r.run_time.alone == size):
            raise NotAlikeError(f"expected no output with as many rows as {size.name}")
        if len(kernel.open_loops) != 1 or kernel.open_loops[0].size != size:
            told = f"{len(kernel.open_loops)} over {', '.join(dict.fromkeys(t.size.name for t in kernel.open_loops))}"
            raise NotAlikeError(f"expected one loop over {size.name}, got {told if kernel.open_loops else 'none'}")
        return Summed(size, kernel.open_loops[0].per)

    @property
    def greatest(self) -> int:
        return (MOST_AT_RUN_TIME - MARGIN) // self.size.multiple * self.size.multiple

    def prove(self, prove_family: Callable[[Length], CompiledProof], most_steps: int) -> CompiledProof:
        """A proof by steps of as many rounds as the loop's state takes to repeat; the first run may tell how many.

        most_steps: instructions times threads that are executed for one family. NotAlikeError.
        """
        times = 1
        while times <= _MOST_TIMES:
            try:
                return self._families(prove_family, times, most_steps)
            except PeriodError as period:
                times *= period.times
        raise NotAlikeError(f"expected rounds that repeat after {_MOST_TIMES} at most, got {times}")

    def _families(self, prove_family: Callable[[Length], CompiledProof], times: int, most_steps: int) -> CompiledProof:
        growth, name, multiple = self.tile * times, self.size.name, self.size.multiple
        every = gcd(growth, multiple)  # the remainders of the sizes are its multiples
        domains: list[str] = []
        steps, ways = 0, growth // every
        for least in range(growth, 0, -every):
            found = prove_family((least, growth, max(0, self.greatest - least) // growth))
            if found.verdict != "proved":
                return found
            steps += found.thread_steps
            if ways * found.thread_steps > _MOST_RUNS * most_steps:
                told = f"{ways} ways in which the last round may end, of about {found.thread_steps} instructions"
                raise NotAlikeError(f"expected less work in a proof for every {name}, got {told}")
            domains.append(found.domain)
        told = f"every {name} from 1 up to" if multiple == 1 else f"every multiple {name} of {multiple} up to"
        return CompiledProof("proved", joined_domain([*domains, f"{told} {self.greatest}"]), thread_steps=steps)

    def cuts(self, boxes: Sequence[Box], length: Length) -> list[int]:
        """The places of `%length` from which on other boxes hold the sizes. NotAlikeError where some size is in no box."""
        found = sorted({at for box in boxes for at in (box.first[-1], box.first[-1] + box.counts[-1])})
        if not found or found[0] != 0 or found[-1] != length[-1] + 1:
            raise NotAlikeError(f"expected each {self.size.name} in a box")
        return found[:-1]

    def stores_at(self, stores: Sequence[Stores], at: int, output: str) -> list[Stores]:
        """Stores at this place of `%length`. NotAlikeError where the places depend on the size."""
        found: list[Stores] = []
        for part in stores:
            if is_at(part.box, at):
                if part.box.counts[-1] > 1 and part.moves[-1]:
                    raise NotAlikeError(f"expected stores to {output} at places that do not depend on {self.size.name}")
                found.append(Stores(without_length(part.box), part.elements, part.moves[:-1]))
        return found


def require_whole(stage: Backbone) -> None:
    """NotAlikeError for an axis of more or fewer iterations than its size says, and for a size that is used as a number."""
    for axis in stage.axes:
        if axis.run_time is not None and axis.run_time != axis.run_time.alone:
            raise NotAlikeError(f"expected as many iterations of {axis.name} as its size, got {axis.run_time.text}")
    if numbers := numbers_at_run_time(stage):
        raise NotAlikeError(f"expected no size as a number, got {numbers[0].run_time.text if numbers[0].run_time else ''}")


def is_at(box: Box, at: int) -> bool:
    """Whether the box holds this place of `%length`."""
    return box.first[-1] <= at < box.first[-1] + box.counts[-1]


def without_length(box: Box) -> Box:
    """The blocks and sizes of a box at one place of `%length`."""
    return Box(box.first[:-1], box.counts[:-1], box.size)


def opened(
    arguments: tuple[Argument, ...], stage: Backbone, shared: RunTimeSize | None, summed: RunTimeSize | None
) -> tuple[Argument, ...]:
    """The arguments of a launch of some sizes, made into those of all launches; the last ones are the sizes.

    shared: the size that blocks share out. summed: the one over which a loop sums.
    """
    rows = {r.name: (r.run_time, r.strides[0]) for r in stage.regions if r.run_time is not None}
    count = sum(size is not None for size in (shared, summed))
    found: list[Argument] = []
    for argument in arguments[: len(arguments) - count]:
        if isinstance(argument, ArrayArgument) and argument.name in rows:
            length, row = rows[argument.name]
            assert length.alone in (shared, summed), f"{argument.name} has a size that no axis has"
            argument = replace(argument, beside=row * length.more)
            argument = replace(argument, per_size=row) if length.alone == shared else replace(argument, per_length=row)
        found.append(argument)
    for argument in arguments[len(arguments) - count :]:
        is_summed = summed is not None and argument.name == summed.name
        found.append(ScalarArgument(argument.name, i32, None, is_size=not is_summed, is_length=is_summed))
    return tuple(found)
