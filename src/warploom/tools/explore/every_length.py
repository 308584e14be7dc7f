"""Proof of a printed kernel for every value of one size over which something is summed.

A box of the sizes of one family (`summed.py`) is run as one block is, and the rounds that run alike are left out, of which there
is one step more with each step of `%length` (`synth/compiled/rounds.py`). Small sizes, at which a loop has too few rounds, have
boxes of their own. It is left to show that at each size all blocks together store each element once.
"""

from __future__ import annotations

from warploom.ptx import Program as PtxProgram
from warploom.schedule.backbone import Backbone, Role, count_stored, stage_at
from warploom.schedule.cuda import CudaKernel
from warploom.synth.compiled import (
    Axes,
    Box,
    CompiledProof,
    NotAlikeError,
    count_of_different,
    in_first_block,
    joined_domain,
    run_boxes,
)
from warploom.tools.explore.every_block import Arguments, Blocks
from warploom.tools.explore.representatives import at_some_size, by_threads_or_blocks
from warploom.tools.explore.summed import Length, Summed, opened, require_whole

_MOST_BOXES = 120
"""Most boxes of blocks in one family of sizes."""


def prove_lengths(
    stage: Backbone, kernel: CudaKernel, ptx: PtxProgram, arguments: Arguments, most_steps: int, alike: Axes | None
) -> CompiledProof:
    """Every launch of the kernel, for each value of its size from the least up to the one that the domain names: by one thread
    for those that run alike where threads share nothing, else by one block. `unchecked` where that is not seen.

    most_steps: instructions times threads that are executed for the sizes with one remainder.
    """

    def prove(alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        return _Lengths(stage, kernel, arguments).prove(ptx, most_steps, alike, is_of_threads=is_of_threads)

    return by_threads_or_blocks(prove, alike, at_some_size)


class _Lengths:
    def __init__(self, stage: Backbone, kernel: CudaKernel, arguments: Arguments) -> None:
        ((size, _),) = kernel.run_time
        if any(trips is not None for trips in kernel.open_grid):
            raise NotAlikeError(f"expected a grid that does not depend on {size.name}")
        require_whole(stage)
        self.summed = Summed.of(stage, kernel, size)
        self.stage, self.kernel = stage, kernel
        self.arguments = opened(arguments, stage, None, size)
        self.outputs = [r.name for r in stage.regions if r.role is Role.OUTPUT]

    def prove(self, ptx: PtxProgram, most_steps: int, alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        def prove_family(length: Length) -> CompiledProof:
            return self._family(ptx, length, most_steps, alike, is_of_threads=is_of_threads)

        return self.summed.prove(prove_family, most_steps)

    def _family(
        self, ptx: PtxProgram, length: Length, most_steps: int, alike: Axes | None, *, is_of_threads: bool
    ) -> CompiledProof:
        kernel, name = self.kernel, self.summed.size.name
        made = Blocks(self.stage, kernel, self.arguments)
        made.length = name
        domains: list[str] = []
        steps = 0
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
            length=length,
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
        for at in self.summed.cuts(whole, length):
            self._check_stores(made, at)
        return CompiledProof("proved", joined_domain(domains), thread_steps=steps)

    def _check_stores(self, made: Blocks, at: int) -> None:
        """NotAlikeError unless the blocks together store each element once, at this position of `%length`."""
        for output in self.outputs:
            stores = self.summed.stores_at(made.stores[output], at, output)
            wanted = count_stored(self.stage, output)
            found, count = count_of_different(made.arrays[output].count, stores)
            if not found == count == wanted:
                raise NotAlikeError(f"expected {wanted} elements of {output} that are stored once each, got {found} of {count}")
