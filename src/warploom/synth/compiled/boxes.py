"""Runs a launch of many blocks by a few: the grid is cut into boxes of blocks that run alike, and the first of each is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from warploom.ptx import Program
from warploom.synth.compiled.alike import Axes
from warploom.synth.compiled.execution import Argument, ArrayArgument, Box, SymbolicRun, run_symbolically
from warploom.synth.compiled.faults import Triple
from warploom.synth.compiled.moving import OF_BLOCK, SplitError

_MOST_BOXES = 64
_MOST_PLACES = 1 << 28
"""Elements of an array whose stores are counted one by one."""
_CHUNK = 1 << 20
_FEW = 1 << 14


class NotAlikeError(Exception):
    """The blocks of a launch run in more ways than are followed."""


def run_boxes(
    program: Program,
    kernel: str | None,
    arguments: tuple[Argument, ...],
    grid: Triple,
    block: Triple,
    *,
    dynamic_shared_bytes: int = 0,
    has_rounds_left_out: bool = False,
    step_limit: int | None = None,
    is_of_threads: bool = False,
    alike: Axes | None = None,
) -> Iterator[tuple[Box, SymbolicRun]]:
    """The boxes that make up the grid, each with the run of its first block; is_of_threads: of its first thread.

    As `run_symbolically`; NotAlikeError.
    """
    counts = (*grid, *block) if is_of_threads else grid
    left, made = [Box((0,) * len(counts), counts)], 1
    while left:
        box = left.pop()
        try:
            run = run_symbolically(
                program,
                kernel,
                arguments,
                grid,
                block,
                dynamic_shared_bytes=dynamic_shared_bytes,
                box=box,
                has_rounds_left_out=has_rounds_left_out,
                alike=alike,
                step_limit=step_limit,
            )
        except SplitError as split:
            made += 1
            if made > _MOST_BOXES:
                raise NotAlikeError(f"expected blocks that run in at most {_MOST_BOXES} ways") from split
            left += reversed(_parts(box, split))
            continue
        yield box, run


def _parts(box: Box, split: SplitError) -> list[Box]:
    axis = box.positions.index(split.name)
    if not 0 < split.at < box.counts[axis]:
        raise AssertionError(f"{split} in {box}")
    first, counts = list(box.first), list(box.counts)
    first[axis] += split.at
    counts[axis] -= split.at
    below = list(box.counts)
    below[axis] = split.at
    return [Box(box.first, tuple(below)), Box(tuple(first), tuple(counts))]


@dataclass(frozen=True, slots=True)
class Stores:
    """Elements of an array that the first block, or thread, of a box stored."""

    box: Box
    elements: npt.NDArray[np.int64]
    moves: tuple[int, ...]
    """Elements by which those of the next block along each axis lie further on."""


def elements_moved(run: SymbolicRun, argument: ArrayArgument, positions: tuple[str, ...] = OF_BLOCK) -> tuple[int, ...]:
    """By how many elements a block's accesses to the array lie further on than those of the block before it, for each axis.

    Raises NotAlikeError.
    """
    moves: Mapping[str, int] = run.moves.get(argument.name, {})
    size = argument.dtype.size_bytes
    if any(by % size for by in moves.values()):
        raise NotAlikeError(f"expected accesses to {argument.name} that move by whole elements, got {dict(moves)} bytes")
    return tuple(moves.get(name, 0) // size for name in positions)


def count_of_different(count: int, stores: list[Stores]) -> tuple[int, int]:
    """How many of an array's elements all blocks together store, at most, and how many stores they make: equal where each element
    has one block. NotAlikeError for arrays that are too long."""
    if count > _MOST_PLACES:
        raise NotAlikeError(f"expected arrays of at most {_MOST_PLACES} elements, got {count}")
    made = sum(prod(part.box.counts) * len(part.elements) for part in stores)
    if made > count:
        return count, made
    is_stored = np.zeros(count, bool)
    for part in stores:
        offsets, elements = np.zeros(1, np.int64), part.elements
        for number, step in zip(part.box.counts, part.moves, strict=True):
            steps = step * np.arange(number, dtype=np.int64)
            if number * len(elements) <= _FEW:
                elements = (elements[:, None] + steps[None, :]).ravel()
            else:
                offsets = (offsets[:, None] + steps[None, :]).ravel()
        rows = max(1, _CHUNK // max(1, len(elements)))
        for start in range(0, len(offsets), rows):
            places = offsets[start : start + rows, None] + elements[None, :]
            is_stored[places.ravel()] = True
    return int(is_stored.sum()), made
