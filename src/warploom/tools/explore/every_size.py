"""Proof of a printed kernel for every value of the size that its blocks share out, and of one that a loop sums over.

The size of the blocks is a number that moves, as the position of the block is. In block b of tiles of T it is written as
T * b + what is left, so that two blocks with as much left run alike, whatever b is. Where a guard decides, the boxes of blocks
(or threads) and sizes are cut along it: sizes from the guarded index on, and those below it.

It is left to show that a block with s left stores min(s, T) rows, each element once. Then the blocks of a launch, whose rows
follow one another, store all rows once. Beyond the last cut every s leaves the same stores, so finitely many s are looked at.
The families of a size that a loop sums over (`summed.py`) are proved one by one, in boxes of blocks and both sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from warploom.core.launch import MAX_GRID
from warploom.ptx import Program as PtxProgram
from warploom.schedule.backbone import MOST_AT_RUN_TIME, Backbone, Region, Role, RunTimeSize, reduced, stage_at
from warploom.schedule.cuda import CudaKernel
from warploom.schedule.nest import Trips
from warploom.synth.compiled import (
    Axes,
    Box,
    CompiledProof,
    NotAlikeError,
    Stores,
    in_first_block,
    joined_domain,
    run_boxes,
)
from warploom.tools.explore.every_block import Arguments, Blocks
from warploom.tools.explore.representatives import at_some_size, by_threads_or_blocks
from warploom.tools.explore.summed import MARGIN, Length, Summed, is_at, opened, require_whole, without_length

_MOST_BOXES = 300
_MOST_COUNTED = 1 << 26
"""Stores that are counted one by one."""
_MOST_RUNS = 4
"""Times the instructions of one run that are executed in all."""


def prove_sizes(
    stage: Backbone, kernel: CudaKernel, ptx: PtxProgram, arguments: Arguments, most_steps: int, alike: Axes | None
) -> CompiledProof:
    """Every launch of the kernel, for each value of its sizes from the least up to those that the domain names: by one thread
    for those that run alike where threads share nothing, else by one block. `unchecked` where that is not seen.

    most_steps: instructions times threads that are executed for each box of blocks.
    """

    def prove(alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        return _Sizes(stage, kernel, arguments).prove(ptx, most_steps, alike, is_of_threads=is_of_threads)

    return by_threads_or_blocks(prove, alike, at_some_size)


@dataclass(slots=True)
class _Part:
    """Blocks of some sizes."""

    stores: dict[str, list[Stores]]
    boxes: list[Box] = field(default_factory=list[Box])
    domains: list[str] = field(default_factory=list[str])
    steps: int = 0
    unproved: CompiledProof | None = None
    """The proof that did not succeed and ended the run; None: all were proved."""


class _Sizes:
    def __init__(self, stage: Backbone, kernel: CudaKernel, arguments: Arguments) -> None:
        names = ", ".join(size.name for size, _ in kernel.run_time)
        shared = [(n, trips) for n, trips in enumerate(kernel.open_grid) if trips is not None]
        if not shared:
            raise NotAlikeError(f"expected the blocks of a launch to share out one of {names}, got a loop over it")
        if len(shared) > 1:
            raise NotAlikeError(f"expected a grid that depends on one size, got one that depends on {names}")
        ((axis, trips),) = shared
        require_whole(stage)
        self.size = trips.size
        others = [size for size, _ in kernel.run_time if size != self.size]
        if len(others) > 1:
            raise NotAlikeError(f"expected one size known at run time beside {self.size.name}, got {len(others)}")
        own = [n for n, a in enumerate(stage.axes) if a.run_time == self.size]
        if len(own) != 1 or own[0] in reduced(stage):
            raise NotAlikeError(f"expected one axis of length {self.size.name}, of which each point is computed by itself")
        self.summed = Summed.of(stage, kernel, others[0]) if others else None
        self.axis, self.trips = axis, trips
        self.stage, self.kernel = stage, kernel
        self.arguments = opened(arguments, stage, self.size, others[0] if others else None)
        self.step = gcd(self.size.multiple, self.trips.per)
        """Divisor of the number of indices that are left for a block."""
        self.greatest = greatest_proved(self.size, self.trips, axis)
        self.loaded: set[str] = set()
        self.stored: set[str] = set()

    def prove(self, ptx: PtxProgram, most_steps: int, alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        def prove_family(length: tuple[()] | Length) -> CompiledProof:
            return self._family(ptx, length, most_steps, alike, is_of_threads=is_of_threads)

        return prove_family(()) if self.summed is None else self.summed.prove(prove_family, most_steps)

    def _family(
        self, ptx: PtxProgram, length: tuple[()] | Length, most_steps: int, alike: Axes | None, *, is_of_threads: bool
    ) -> CompiledProof:
        """Blocks with a tile left, or more; then those with less. length: sizes over which a loop sums, if there are any."""
        step, per = self.step, self.trips.per
        whole = self._part(ptx, per, -(-self.greatest // step), length, most_steps, alike, is_of_threads=is_of_threads)
        if per == step:
            parts = [whole]
        else:
            ways = per // step - 1
            if ways * whole.steps > _MOST_RUNS * most_steps and not is_of_threads:
                told = f"{ways} ways in which a block ends, of about {whole.steps} instructions"
                raise NotAlikeError(f"expected less work in a proof for every {self.size.name}, got {told}")
            parts = [whole, self._part(ptx, step, ways - 1, length, most_steps, alike, is_of_threads=is_of_threads)]
        domains: list[str] = []
        for part in parts:
            if part.unproved is not None:
                return part.unproved
            domains += part.domains
        for found in self._at_each_length(whole, length):
            lefts = range(per, self._last_cut(found.boxes) + 2 * step, step)
            self._check_stores(found, lefts, is_of_threads=is_of_threads)
        for part in parts[1:]:
            for found in self._at_each_length(part, length):
                self._check_stores(found, range(step, per, step), is_of_threads=is_of_threads)
        told = f"every {self._named()} up to {self.greatest}"
        return CompiledProof("proved", joined_domain([*domains, told]), thread_steps=sum(part.steps for part in parts))

    def _part(
        self,
        ptx: PtxProgram,
        least: int,
        last: int,
        length: tuple[()] | Length,
        most_steps: int,
        alike: Axes | None,
        *,
        is_of_threads: bool,
    ) -> _Part:
        """The blocks with `least` left, or up to `last` steps more."""
        kernel, per = self.kernel, self.trips.per
        blocks = -(-self.greatest // per)
        x, y, z = (blocks if n == self.axis else count for n, count in enumerate(kernel.grid))
        made = Blocks(self.stage, kernel, self.arguments)
        made.loaded, made.stored, made.size = self.loaded, self.stored, self.size.name
        made.length = self.summed.size.name if self.summed is not None else ""
        part = _Part(made.stores)
        for box, run in run_boxes(
            ptx,
            kernel.name,
            self.arguments,
            (x, y, z),
            kernel.block,
            dynamic_shared_bytes=kernel.dynamic_shared_bytes,
            has_rounds_left_out=True,
            step_limit=most_steps,
            is_of_threads=is_of_threads,
            alike=alike,
            size=(least, *(per if n == self.axis else 0 for n in range(3)), self.step, last),
            length=length,
            most_boxes=_MOST_BOXES,
        ):
            self._check_blocks(box, blocks)
            sizes = {self.size.name: max(0, box.size[0]), **({made.length: box.length[0]} if box.length else {})}
            made.stage = stage_at(self.stage, sizes)
            made.arguments = tuple(in_first_block(a, box) for a in self.arguments)
            proof = made.prove_box(box, run)
            part.steps += run.thread_steps
            part.boxes.append(box)
            part.domains.append(proof.domain)
            if proof.verdict != "proved":
                at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
                part.unproved = CompiledProof("unchecked", "", f"at {at}: {proof.reason}")
                break
        return part

    def _at_each_length(self, part: _Part, length: tuple[()] | Length) -> Iterator[_Part]:
        """The blocks at each value of the size over which a loop sums from which on other boxes hold it."""
        if self.summed is None or not length:
            yield part
            return
        for at in self.summed.cuts(part.boxes, length):
            stores = {name: self.summed.stores_at(found, at, name) for name, found in part.stores.items()}
            yield _Part(stores, [without_length(box) for box in part.boxes if is_at(box, at)])

    def _named(self) -> str:
        name, multiple = self.size.name, self.size.multiple
        return f"{name} from 1" if multiple == 1 else f"multiple {name} of {multiple}"

    def _check_blocks(self, box: Box, blocks: int) -> None:
        """Checks that two blocks with as much left run alike."""
        if box.first[self.axis] or box.counts[self.axis] != blocks or box.size[1 + self.axis] != self.trips.per:
            raise NotAlikeError(f"expected all blocks with as much of {self.size.name} left to run alike")

    # ------------------------------------------------------------ what the blocks store

    def _check_stores(self, part: _Part, lefts: range, *, is_of_threads: bool) -> None:
        """NotAlikeError unless a block with s left stores the first min(s, tile) rows of its part, each element once."""
        counts = (*self.kernel.grid, *self.kernel.block) if is_of_threads else self.kernel.grid
        everyone = prod(n for axis, n in enumerate(counts) if axis != self.axis)
        outputs = [r for r in self.stage.regions if r.role is Role.OUTPUT]
        rows = {r.name: _row(r, self.size) for r in outputs}
        counted = 0
        for left in lefts:
            present = sum(len(_instances(box, left, self.axis)) for box in part.boxes)
            if present != everyone:
                raise NotAlikeError(f"expected each block with {left} of {self.size.name} left in one box, got {present}")
            for name, row in rows.items():
                wanted = min(left, self.trips.per) * row
                counted += wanted
                if counted > _MOST_COUNTED:
                    raise NotAlikeError(f"expected at most {_MOST_COUNTED} stores of blocks to count, got more")
                places = np.concatenate([np.zeros(0, np.int64), *self._places(part, name, row, left)])
                if not np.array_equal(np.sort(places), np.arange(wanted)):
                    here = f"a block with {left} of {self.size.name} left"
                    raise NotAlikeError(f"expected {here} to store each element of its rows of {name} once")

    def _places(self, part: _Part, name: str, row: int, left: int) -> Iterator[NDArray[np.int64]]:
        """The elements that block 0 of the axis stores with so much left."""
        for stores in part.stores[name]:
            if stores.moves[self.axis] != row * self.trips.per and stores.box.counts[self.axis] > 1:
                raise NotAlikeError(f"expected the rows of {name} of one block behind those of the block before")
            positions = _instances(stores.box, left, self.axis)
            offsets = positions @ np.array(stores.moves, np.int64)
            yield (offsets[:, None] + stores.elements[None, :]).ravel()

    def _last_cut(self, boxes: list[Box]) -> int:
        """From here on each block and thread stays in one box."""
        cuts = [self.trips.per]
        for box in boxes:
            at, *by, step = box.size
            reach = [slope * (n - 1) for axis, (slope, n) in enumerate(zip(by, box.counts, strict=False)) if axis != self.axis]
            least, most = at + sum(min(0, r) for r in reach), at + sum(max(0, r) for r in reach)
            end = step * (box.counts[-1] - 1)
            if step > 0 and least + end >= self.greatest:
                cuts.append(most)
            elif max(most, most + end) < self.greatest:
                cuts.append(max(most, most + end))
            else:
                raise NotAlikeError(f"expected large values of {self.size.name} to run alike")
        return -(-max(cuts) // self.step) * self.step


def greatest_proved(size: RunTimeSize, trips: Trips, axis: int) -> int:
    """The greatest size at which the kernel can be launched and no sum of a size and a tile leaves its word."""
    most = min(MOST_AT_RUN_TIME - MARGIN, MAX_GRID[1] * trips.per if axis else MOST_AT_RUN_TIME)
    return max(size.multiple, most // size.multiple * size.multiple)


def _instances(box: Box, left: int, axis: int) -> NDArray[np.int64]:
    """Positions of those of the box that run with so much of the size left, block 0 along `axis`; the last is that of `%size`."""
    counts = [1 if n == axis else count for n, count in enumerate(box.counts[:-1])]
    grids = np.indices(counts, np.int64).reshape(len(counts), -1).T
    at, *by, step = box.size
    rest = left - at - grids @ np.array(by, np.int64)
    inside = (rest % step == 0) & (rest // step >= 0) & (rest // step < box.counts[-1])
    return np.concatenate([grids[inside], (rest[inside] // step)[:, None]], axis=1)


def _row(region: Region, size: RunTimeSize) -> int:
    """Elements of the array for each unit of the size."""
    if region.run_time != size:
        raise NotAlikeError(f"expected {region.name} to have as many rows as {size.name}")
    return region.strides[0]
