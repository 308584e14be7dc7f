"""Proof of a printed kernel for every value of one size over which something is summed.

The sizes with one remainder by the loop's tile are one family: one step of `%length` is one round of the loop more, or several
where its rounds repeat in several steps. A box of such sizes is run as one block is, and the rounds that run alike are left out,
of which there is one step more with each step of `%length` (`synth/compiled/rounds.py`). Small sizes, at which a loop has too few
rounds, have boxes of their own. It is left to show that at each size all blocks together store each element once.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from warploom.core import UserError
from warploom.ptx import Program as PtxProgram
from warploom.schedule.backbone import (
    MOST_AT_RUN_TIME,
    Backbone,
    NoWindowError,
    Role,
    count_stored,
    reduced,
    stage_at,
)
from warploom.schedule.cuda import CudaKernel
from warploom.synth.compiled import (
    ArrayArgument,
    Axes,
    Box,
    CompiledProof,
    FaultError,
    NotAlikeError,
    NotLinearError,
    PeriodError,
    ScalarArgument,
    Stores,
    count_of_different,
    in_first_block,
    joined_domain,
    run_boxes,
)
from warploom.tools.command.messages import one_line
from warploom.tools.explore.every_block import Arguments, Blocks

_MOST_BOXES = 120
"""Most boxes of blocks in one family of sizes."""
_MOST_TIMES = 8
"""Rounds of a loop in one step."""
_MOST_RUNS = 8
"""Times the instructions of one family that are executed in all."""
_MARGIN = 1 << 13
"""By how much sizes stay below the greatest, so that no sum of a size and a tile leaves its word."""


def prove_lengths(
    stage: Backbone, kernel: CudaKernel, ptx: PtxProgram, arguments: Arguments, most_steps: int, alike: Axes | None
) -> CompiledProof:
    """Every launch of the kernel, for each value of its size from the least up to the one that the domain names: by one thread
    for those that run alike where threads share nothing, else by one block. `unchecked` where that is not seen.

    most_steps: instructions times threads that are executed for the sizes with one remainder.
    """
    found = _proved(stage, kernel, ptx, arguments, most_steps, None, is_of_threads=True)
    if found.verdict == "unchecked" and alike is not None:
        return _proved(stage, kernel, ptx, arguments, most_steps, alike, is_of_threads=False)
    return found


def _proved(
    stage: Backbone,
    kernel: CudaKernel,
    ptx: PtxProgram,
    arguments: Arguments,
    most_steps: int,
    alike: Axes | None,
    *,
    is_of_threads: bool,
) -> CompiledProof:
    try:
        return _Lengths(stage, kernel, arguments).prove(ptx, most_steps, alike, is_of_threads=is_of_threads)
    except FaultError as error:  # perhaps at a size that no launch has
        return CompiledProof("unchecked", "", f"at some size: {error.fault.message}")
    except (NotAlikeError, NotLinearError, NoWindowError) as error:
        return CompiledProof("unchecked", "", str(error))
    except UserError as error:
        return CompiledProof("unchecked", "", one_line(error.diagnostics[0]))


class _Lengths:
    def __init__(self, stage: Backbone, kernel: CudaKernel, arguments: Arguments) -> None:
        ((self.size, _),) = kernel.run_time
        if any(trips is not None for trips in kernel.open_grid):
            raise NotAlikeError(f"expected a grid that does not depend on {self.size.name}")
        own = [n for n, a in enumerate(stage.axes) if a.run_time is not None]
        if len(own) != 1 or own[0] not in reduced(stage):
            raise NotAlikeError(f"expected one axis of length {self.size.name}, that something is summed over")
        if any(r.role is not Role.INPUT for r in stage.regions if r.run_time is not None):
            raise NotAlikeError(f"expected no output with as many rows as {self.size.name}")
        tiles = {trips.per for trips in kernel.open_loops}
        if len(tiles) != 1:
            raise NotAlikeError(f"expected one loop over {self.size.name}, got {len(tiles)}")
        (self.tile,) = tiles
        self.stage, self.kernel = stage, kernel
        self.arguments = _open(arguments, stage)
        self.greatest = (MOST_AT_RUN_TIME - _MARGIN) // self.size.multiple * self.size.multiple
        self.outputs = [r.name for r in stage.regions if r.role is Role.OUTPUT]

    def prove(self, ptx: PtxProgram, most_steps: int, alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        """A proof by steps of as many rounds as the loop's state takes to repeat; the first run may tell how many."""
        times = 1
        while times <= _MOST_TIMES:
            try:
                return self._families(ptx, times, most_steps, alike, is_of_threads=is_of_threads)
            except PeriodError as period:
                times *= period.times
        raise NotAlikeError(f"expected rounds that repeat after {_MOST_TIMES} at most, got {times}")

    def _families(
        self, ptx: PtxProgram, times: int, most_steps: int, alike: Axes | None, *, is_of_threads: bool
    ) -> CompiledProof:
        growth, name = self.tile * times, self.size.name
        every = gcd(growth, self.size.multiple)  # the remainders of the sizes are its multiples
        domains: list[str] = []
        steps, ways = 0, growth // every
        for least in range(growth, 0, -every):
            found = self._family(ptx, least, growth, most_steps, alike, is_of_threads=is_of_threads)
            if found.verdict != "proved":
                return found
            steps += found.thread_steps
            if ways * found.thread_steps > _MOST_RUNS * most_steps:
                told = f"{ways} ways in which the last round may end, of about {found.thread_steps} instructions"
                raise NotAlikeError(f"expected less work in a proof for every {name}, got {told}")
            domains.append(found.domain)
        multiple = self.size.multiple
        told = f"every {name} from 1 up to" if multiple == 1 else f"every multiple {name} of {multiple} up to"
        return CompiledProof("proved", joined_domain([*domains, f"{told} {self.greatest}"]), thread_steps=steps)

    def _family(
        self, ptx: PtxProgram, least: int, growth: int, most_steps: int, alike: Axes | None, *, is_of_threads: bool
    ) -> CompiledProof:
        """The sizes from the least on in steps of `growth`."""
        kernel, name = self.kernel, self.size.name
        made = Blocks(self.stage, kernel, self.arguments)
        made.length = name
        domains: list[str] = []
        steps, last = 0, max(0, self.greatest - least) // growth
        whole: list[Box] = []
        for box, run in run_boxes(
            ptx,
            kernel.name,
            self.arguments,
            kernel.grid,
            kernel.block,
            dynamic_shared_bytes=kernel.dynamic_shared_bytes,
            has_rounds_left_out=True,
            step_limit=most_steps,
            is_of_threads=is_of_threads,
            alike=alike,
            length=(least, growth, last),
            most_boxes=_MOST_BOXES,
            is_limit_of_all=True,
        ):
            made.stage = stage_at(self.stage, {name: box.length[0]})
            made.arguments = tuple(in_first_block(a, box) for a in self.arguments)
            proof = made.prove_box(box, run)
            if proof.verdict != "proved":
                return CompiledProof("unchecked", "", f"at {name} = {box.length[0]}: {proof.reason}")
            steps += run.thread_steps
            domains.append(proof.domain)
            whole.append(box)
        cuts = sorted({at for box in whole for at in (box.first[-1], box.first[-1] + box.counts[-1])})
        if cuts[0] != 0 or cuts[-1] != last + 1:
            raise NotAlikeError(f"expected each {name} in a box")
        for at in cuts[:-1]:
            self._check_stores(made, at, is_of_threads=is_of_threads)
        return CompiledProof("proved", joined_domain(domains), thread_steps=steps)

    def _check_stores(self, made: Blocks, at: int, *, is_of_threads: bool) -> None:
        """NotAlikeError unless the blocks together store each element once, at this position of `%length`."""
        for output in self.outputs:
            stores: list[Stores] = []
            for part in made.stores[output]:
                box = part.box
                if box.first[-1] <= at < box.first[-1] + box.counts[-1]:
                    if box.counts[-1] > 1 and part.moves[-1]:
                        raise NotAlikeError(f"expected stores to {output} at places that do not depend on {self.size.name}")
                    stores.append(Stores(Box(box.first[:-1], box.counts[:-1]), part.elements, part.moves[:-1]))
            wanted = count_stored(self.stage, output)
            found, count = count_of_different(made.arrays[output].count, stores)
            if not found == count == wanted:
                raise NotAlikeError(f"expected {wanted} elements of {output} that are stored once each, got {found} of {count}")


def _open(arguments: Arguments, stage: Backbone) -> Arguments:
    """The arguments of a launch of some size, made into those of all launches; the last one is the size."""
    rows = {r.name: r.strides[0] for r in stage.regions if r.run_time is not None}
    found = [replace(a, per_length=rows.get(a.name, 0)) if isinstance(a, ArrayArgument) else a for a in arguments[:-1]]
    size = arguments[-1]
    assert isinstance(size, ScalarArgument)
    return (*found, replace(size, value=None, is_length=True))
