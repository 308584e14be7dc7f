"""Proof of a printed kernel at the size asked for: the blocks that run alike are proved by one of them.

Blocks of a box execute the same instructions at addresses that move with the position of the block, so what a block stores is
what the first one stores, of elements that lie further on. The mathematics moves in the same way (`schedule.backbone.window`). It
is left to show that the first block stores what it must, and that all blocks together store each element once.
"""

from __future__ import annotations

import numpy as np

from warploom.core import UnsupportedError
from warploom.ptx import Program as PtxProgram
from warploom.schedule.backbone import Backbone, NoWindowError, Role, count_stored, evaluate_window, moved, points_of
from warploom.schedule.cuda import CudaKernel
from warploom.synth.compiled import (
    ArrayArgument,
    Box,
    CompiledProof,
    FaultError,
    NotAlikeError,
    ScalarArgument,
    Stores,
    SymbolicRun,
    Wanted,
    count_of_different,
    elements_moved,
    joined_domain,
    judged,
    run_boxes,
)
from warploom.terms import algebra_for
from warploom.tools.command.messages import one_line

Arguments = tuple[ArrayArgument | ScalarArgument, ...]


def prove_blocks(stage: Backbone, kernel: CudaKernel, ptx: PtxProgram, arguments: Arguments) -> CompiledProof:
    """The launch as it is. `unchecked` where one block does not tell what others do."""
    try:
        return _Blocks(stage, kernel, arguments).prove(ptx)
    except FaultError as error:
        return CompiledProof("refuted", "", error.fault.message, fault=error.fault)
    except (NotAlikeError, NoWindowError) as error:
        return CompiledProof("unchecked", "", str(error))
    except UnsupportedError as error:
        return CompiledProof("unchecked", "", one_line(error.diagnostics[0]))


class _Blocks:
    def __init__(self, stage: Backbone, kernel: CudaKernel, arguments: Arguments) -> None:
        self.stage = stage
        self.kernel = kernel
        self.arguments = arguments
        self.arrays = {a.name: a for a in arguments if isinstance(a, ArrayArgument)}
        self.outputs = [r.name for r in stage.regions if r.role is Role.OUTPUT]
        self.stores: dict[str, list[Stores]] = {name: [] for name in self.outputs}

    def prove(self, ptx: PtxProgram) -> CompiledProof:
        domains: list[str] = []
        loaded: set[str] = set()
        stored: set[str] = set()
        kernel = self.kernel
        boxes = run_boxes(
            ptx, kernel.name, self.arguments, kernel.grid, kernel.block, dynamic_shared_bytes=kernel.dynamic_shared_bytes
        )
        for box, run in boxes:
            loaded |= run.loaded
            stored |= run.stored
            if both := sorted((loaded & stored) | (stored - set(self.outputs))):
                raise NotAlikeError(f"expected {both[0]} to be read or written by the blocks, got both")
            if run.ordered:
                raise NotAlikeError(f"expected no look at the order of {min(run.ordered)} in memory")
            proof = self._first_block(box, run)
            if proof.verdict != "proved":
                return proof
            domains.append(proof.domain)
        for name in self.outputs:
            wanted = count_stored(self.stage, name)
            found, made = count_of_different(self.arrays[name].count, self.stores[name])
            if found < made:
                return CompiledProof("refuted", "", f"race on {name}: {made} stores of all blocks to {found} elements")
            if found != wanted:
                return CompiledProof("refuted", "", f"{wanted} elements of {name} are to be stored, the blocks store {found}")
        return CompiledProof("proved", joined_domain(domains))

    def _first_block(self, box: Box, run: SymbolicRun) -> CompiledProof:
        """What the first block of the box stores, and that what it must store moves as its accesses do."""
        moves = {name: elements_moved(run, self.arrays[name]) for name in run.moves}
        elements = {name: np.array(sorted(run.written(self.arrays[name])), np.int64) for name in self.outputs}
        for name, places in elements.items():
            if len(places):
                self.stores[name].append(Stores(box, places, moves[name]))
        if not any(len(places) for places in elements.values()):
            return judged(run, self.arguments, {})
        window = evaluate_window(self.stage, points_of(self.stage, elements))
        moved(self.stage, window, moves, box.counts)
        wanted = {
            name: Wanted(_NOTHING, _NOTHING, algebra_for(self.arrays[name].dtype), of_some=window.stored.get(name, {}))
            for name in self.outputs
        }
        return judged(run, self.arguments, wanted)


_NOTHING = np.zeros(0, object)
