"""Assumptions about blocks under which a kernel is free of races, to be offered to a user who made none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from warploom.ptx.launches.assumptions import Assumed, assumptions
from warploom.ptx.launches.questions import extents_read
from warploom.ptx.launches.races import RaceFree, races
from warploom.ptx.routine import Program

_LENGTHS = (1024, 512, 256, 128, 64, 32, 16, 8)
_SIDES = (32, 16, 8)


def offered(program: Program, kernel: str, assumed: Sequence[Assumed] = ()) -> str | None:
    """The first of some assumptions, the weaker ones before the others, that makes the kernel free of races; None: none does."""
    if any("blockDim" in one.text for one in assumed):
        return None
    for text in _tried(extents_read(program.routines[kernel])):
        if isinstance(races(program, kernel, [*assumed, *assumptions(text)]), RaceFree):
            return text
    return None


def _tried(axes: Sequence[str]) -> Iterator[str]:
    match axes:
        case [axis]:
            yield from (f"blockDim.{axis} <= {length}" for length in _LENGTHS[1:])
            yield from (f"blockDim.{axis} == {length}" for length in _LENGTHS)
        case [first, second]:
            yield from (f"blockDim.{axis} <= {side}" for axis in axes for side in _SIDES)
            sizes = [(side, side) for side in _SIDES] + [s for s in product(_SIDES, _SIDES) if s[0] != s[1]]
            yield from (f"blockDim.{first} == {x} && blockDim.{second} == {y}" for x, y in sizes)
        case _:
            return
