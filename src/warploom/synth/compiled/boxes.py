"""Runs a launch of many blocks by a few: the grid is cut into boxes of blocks that run alike, and the first of each is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import numpy.typing as npt

from warploom.ptx import Program
from warploom.synth.compiled.alike import ApartError, Axes, Classes
from warploom.synth.compiled.execution import Argument, ArrayArgument, Box, SymbolicRun, run_symbolically
from warploom.synth.compiled.faults import Triple
from warploom.synth.compiled.moving import LENGTH, OF_BLOCK, SizeSplitError, SplitError
from warploom.synth.compiled.threads import GathersSeen

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
    size: tuple[int, ...] = (),
    length: tuple[int, ...] = (),
    most_boxes: int = _MOST_BOXES,
    is_limit_of_all: bool = False,
    gathers: GathersSeen | None = None,
) -> Iterator[tuple[Box, SymbolicRun]]:
    """The boxes that make up the grid, each with the run of its first block; is_of_threads: of its first thread.

    size: the least value of a size that is an argument, by how much it grows with each position of a block, and with `%size`;
    then the greatest value of `%size`. The boxes are then those of all launches with such a size, and perhaps of others.
    length: the least value of a size over which something is summed, by how much it grows with `%length`, and the greatest value
    of that. PeriodError where it should grow by more.
    step_limit: of each box, or of all together. As `run_symbolically`; NotAlikeError.
    """
    steps_left = step_limit
    counts = (*grid, *block) if is_of_threads else grid
    whole = Box((0,) * len(counts), counts)
    if size:
        least, *by_block, by_size, last = size
        by = (*by_block, *(0 for _ in counts[3:]), by_size)
        whole = Box((0,) * len(by), (*counts, last + 1), (least, *by))
    if length:
        whole = Box((*whole.first, 0), (*whole.counts, length[2] + 1), whole.size, length[:2])
    left: list[tuple[Box, Classes]] = [(whole, ())]
    made = 1
    while left:
        box, classes = left.pop()
        try:
            run = run_symbolically(
                program,
                kernel,
                tuple(in_first_block(a, box) for a in arguments),
                grid,
                block,
                dynamic_shared_bytes=dynamic_shared_bytes,
                box=box,
                has_rounds_left_out=has_rounds_left_out,
                alike=alike,
                classes=classes,
                step_limit=steps_left,
                gathers=gathers,
            )
        except ApartError as apart:
            left.append((box, apart.classes))
            continue
        except SplitError as split:
            made += 1
            if made > most_boxes:
                raise NotAlikeError(f"expected blocks that run in at most {most_boxes} ways") from split
            left += [(part, ()) for part in reversed(_parts(box, split))]
            continue
        if is_limit_of_all and steps_left is not None:
            steps_left -= run.thread_steps
        yield box, run


def in_first_block(argument: Argument, box: Box) -> Argument:
    """The argument for the first block of the box; a size that no launch has leaves an array empty."""
    if not isinstance(argument, ArrayArgument) or not (argument.per_size or argument.per_length):
        return argument
    each, (first, *_) = (argument.per_size, box.size) if argument.per_size else (argument.per_length, box.length)
    return replace(argument, shape=(max(0, each * first + argument.beside),))


def _parts(box: Box, split: SplitError) -> list[Box]:
    if isinstance(split, SizeSplitError):
        return _parts_of_size(box, split)
    axis = box.positions.index(split.name)
    if not 0 < split.at < box.counts[axis]:
        raise AssertionError(f"{split} in {box}")
    first, counts = list(box.first), list(box.counts)
    first[axis] += split.at
    counts[axis] -= split.at
    below = list(box.counts)
    below[axis] = split.at
    if split.name == LENGTH:
        length = (box.length[0] + box.length[1] * split.at, box.length[1])
        return [Box(box.first, tuple(below), box.size, box.length), Box(tuple(first), tuple(counts), box.size, length)]
    size = (box.size[0] + box.size[1 + axis] * split.at, *box.size[1:]) if box.size else ()
    return [Box(box.first, tuple(below), box.size, box.length), Box(tuple(first), tuple(counts), size, box.length)]


def _parts_of_size(box: Box, split: SizeSplitError) -> list[Box]:
    """The same blocks, for sizes from that on at which the run changes, and for those below, counted down from it. Where that
    size depends on the block, the parts go on to where the last block's ends: together they hold the box, and more."""
    at, *by, step = box.size
    last = len(box.places)
    reach = [split.slopes.get(name, 0) * (count - 1) for name, count in zip(box.places, box.counts[:last], strict=True)]
    least, most = (split.at + sum(limit(0, end) for end in reach) for limit in (min, max))
    turned = [b + step * split.slopes.get(name, 0) for b, name in zip(by, box.places, strict=True)]
    first, behind = (*box.first[:last], 0, *box.first[last + 1 :]), box.counts[last + 1 :]
    counts = (max(1, box.counts[last] - least), max(1, most))
    sizes = ((at + step * split.at, *turned, step), (at + step * (split.at - 1), *turned, -step))
    return [Box(first, (*box.counts[:last], n, *behind), s, box.length) for n, s in zip(counts, sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Stores:
    """Elements of an array that the first block, or thread, of a box stored."""

    box: Box
    elements: npt.NDArray[np.int64]
    moves: tuple[int, ...]
    """Elements by which those of the next block along each axis lie further on."""


def elements_moved(
    run: SymbolicRun, argument: ArrayArgument, positions: tuple[str, ...] = OF_BLOCK, use: str = ""
) -> tuple[int, ...]:
    """By how many elements a block's accesses to the array lie further on than those of the block before it, for each axis.

    use: those of this use (`use_of`); else of the only one, or of the first. Raises NotAlikeError.
    """
    moves: Mapping[str, int] = run.moves.get(use or argument.name, {})
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
