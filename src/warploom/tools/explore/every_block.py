"""Proof of a printed kernel at the size asked for: the blocks that run alike are proved by one of them.

Blocks of a box execute the same instructions at addresses that move with the position of the block, so what a block stores is
what the first one stores, of elements that lie further on. The mathematics moves in the same way (`schedule.backbone.window`). It
is left to show that the first block stores what it must, and that all blocks together store each element once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from warploom.core import DType, f32
from warploom.ptx import Program as PtxProgram
from warploom.schedule.backbone import (
    Access,
    Backbone,
    Repetition,
    Role,
    Use,
    count_stored,
    evaluate_window,
    joined_repetition,
    moved,
    points_of,
    repetition,
    uses_of,
)
from warploom.schedule.cuda import CudaKernel
from warploom.synth.compiled import (
    RECONVERGED,
    USE,
    Argument,
    ArrayArgument,
    AsCompiled,
    Axes,
    Box,
    CompiledProof,
    ImpliedGroup,
    NotAlikeError,
    Repeat,
    Sealed,
    Stores,
    SymbolicRun,
    Totals,
    Wanted,
    count_of_different,
    elements_moved,
    joined_domain,
    judged,
    run_boxes,
)
from warploom.terms import Term, algebra_for, iterate_post
from warploom.tools.explore.gathered import index_arrays_of
from warploom.tools.explore.representatives import by_threads_or_blocks

_MOST_STEPS = 800_000
"""Instructions times threads, summed over all blocks that are run."""
_MOST_OPENED = 1000
"""Symbols of polynomials up to which a comparison that needs more is made without them: with more it takes minutes."""
Arguments = tuple[Argument, ...]


def prove_blocks(
    stage: Backbone,
    kernel: CudaKernel,
    ptx: PtxProgram,
    arguments: Arguments,
    most_steps: int = _MOST_STEPS,
    alike: Axes | None = (True, True, True),
) -> CompiledProof:
    """The launch as it is: by one thread for those that run alike where threads share nothing, else by one block.

    alike: axes of the block along which threads may compute alike; None: no block is run.
    `unchecked` where one does not tell what others do, or they execute more than `most_steps` instructions, counted by threads.
    """

    def prove(alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        return Blocks(stage, kernel, arguments).prove(ptx, most_steps, alike, is_of_threads=is_of_threads)

    return by_threads_or_blocks(prove, alike, lambda fault: CompiledProof("refuted", "", fault.message, fault=fault))


class Blocks:
    def __init__(self, stage: Backbone, kernel: CudaKernel, arguments: Arguments) -> None:
        self.stage = stage
        self.kernel = kernel
        self.arguments = arguments
        self.arrays = {a.name: a for a in arguments if isinstance(a, ArrayArgument)}
        self.outputs = [r.name for r in stage.regions if r.role is Role.OUTPUT]
        self.stores: dict[str, list[Stores]] = {name: [] for name in self.outputs}
        self.loaded: set[str] = set()
        self.stored: set[str] = set()
        self.size, self.length = "", ""
        """Names of the sizes that boxes tell: of one that blocks share out, and of one over which something is summed."""

    def prove(self, ptx: PtxProgram, most_steps: int, alike: Axes | None, *, is_of_threads: bool) -> CompiledProof:
        gathers = index_arrays_of(self.stage)
        domains = [] if gathers is None else list(gathers.notes)
        kernel, steps = self.kernel, 0
        boxes = run_boxes(
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
            is_limit_of_all=True,
            gathers=gathers,
        )
        for box, run in boxes:
            steps += run.thread_steps
            proof = self.prove_box(box, run)
            if proof.verdict != "proved":
                return proof
            domains.append(proof.domain)
        for name in self.outputs:
            wanted = count_stored(self.stage, name)
            found, made = count_of_different(self.arrays[name].count, self.stores[name])
            if is_of_threads and not found == made == wanted:  # lanes of a warp may store one value to one place
                raise NotAlikeError(f"expected {wanted} elements of {name} that one thread each stores, got {found} of {made}")
            if found < made:
                return CompiledProof("refuted", "", f"race on {name}: {made} stores of all blocks to {found} elements")
            if found != wanted:
                return CompiledProof("refuted", "", f"{wanted} elements of {name} are to be stored, the blocks store {found}")
        return CompiledProof("proved", joined_domain(domains), thread_steps=steps)

    def prove_box(self, box: Box, run: SymbolicRun) -> CompiledProof:
        """The blocks of a box by their first one. NotAlikeError and others for what tells nothing about the others."""
        self.loaded |= run.loaded
        self.stored |= run.stored
        if both := sorted((self.loaded & self.stored) | (self.stored - set(self.outputs))):
            raise NotAlikeError(f"expected {both[0]} to be read or written by the blocks, got both")
        if run.ordered:
            raise NotAlikeError(f"expected no look at the order of {min(run.ordered)} in memory")
        if RECONVERGED in run.notes:
            raise NotAlikeError("expected no look at the active threads")
        return self._first_block(box, run)

    def _first_block(self, box: Box, run: SymbolicRun) -> CompiledProof:
        """Notes what the first block of the box stores, and checks that what it must store moves as its accesses do."""
        moves = {use: elements_moved(run, self.arrays[use.partition(USE)[0]], box.positions, use) for use in run.moves}
        elements = {name: np.array(sorted(run.written(self.arrays[name])), np.int64) for name in self.outputs}
        for name, places in elements.items():
            others = np.array(sorted(run.implied.elements_of(name) if run.implied is not None else ()), np.int64)
            if len(places) + len(others):
                self.stores[name].append(Stores(box, np.concatenate([places, others]), moves[name]))
        if not any(len(places) for places in elements.values()):
            return judged(run, self.arguments, {})
        repeated = self._repeated(run)
        length = self._check_length(box, repeated)
        uses = uses_of(self.stage, moves, box.counts, repeated, length)
        if run.implied is not None:
            for group in run.implied.groups:
                self._check_threads(box, run.implied.moves, group, moves, uses, length)
        window = evaluate_window(self.stage, points_of(self.stage, elements), repeated, uses)
        moved(self.stage, window.points, moves, box.counts, grown=self._grown(box), uses=uses, length=length)
        stored = {name: window.stored.get(name, {}) for name in self.outputs}
        if repeated is not None:
            return self._with_totals(run, elements, stored, window.sums)
        sealed, notes = self._sealed(f32), set[str]()
        closed = {name: {k: sealed(term) for k, term in held.items()} for name, held in stored.items()}
        proof = judged(run, self.arguments, self._wanted(closed, notes), sealed, is_shown=False)
        if proof.verdict == "proved":
            return replace(proof, domain=joined_domain([proof.domain, *sealed.domain]))
        proof = judged(run, self.arguments, self._wanted(stored, set()))
        if proof.verdict == "refuted" and any(USE in use for use in moves):  # one element may have two names
            return CompiledProof("unchecked", "", f"with arrays whose accesses move in several ways: {proof.reason}")
        return proof

    def _wanted(self, stored: Mapping[str, Mapping[int, Term]], notes: set[str]) -> dict[str, Wanted]:
        return {
            name: Wanted(_NOTHING, _NOTHING, algebra_for(self.arrays[name].dtype), of_some=stored[name], notes=notes)
            for name in self.outputs
        }

    def _sealed(self, kind: DType) -> Sealed:
        types = {a.name: a.dtype for a in self.arguments}
        return Sealed(algebra_for(kind), types, lambda element: types.get(element.data[0].partition(USE)[0]))

    def _with_totals(
        self,
        run: SymbolicRun,
        elements: Mapping[str, NDArray[np.int64]],
        stored: Mapping[str, Mapping[int, Term]],
        totals_wanted: Mapping[Term, Term],
    ) -> CompiledProof:
        """Compares where rounds were left out: with large polynomials as symbols, and as they are where that shows nothing and
        there are few."""
        kind = _kind_of_totals(run)
        sealed = self._sealed(kind)
        proof = self._compared(run, elements, stored, totals_wanted, kind, sealed)
        if proof.verdict == "proved":
            return replace(proof, domain=joined_domain([proof.domain, *sealed.domain]))
        if 0 < len(sealed) <= _MOST_OPENED:
            proof = self._compared(run, elements, stored, totals_wanted, kind, lambda term: term)
            if proof.verdict == "proved":
                return proof
        return CompiledProof("unchecked", "", f"with the rounds of its loops left out: {proof.reason}")

    def _compared(
        self,
        run: SymbolicRun,
        elements: Mapping[str, NDArray[np.int64]],
        stored: Mapping[str, Mapping[int, Term]],
        totals_wanted: Mapping[Term, Term],
        kind: DType,
        sealed: Callable[[Term], Term],
    ) -> CompiledProof:
        notes = set[str]()
        compiled = AsCompiled(kind, notes)
        sums = {symbol: sealed(compiled(added)) for symbol, added in totals_wanted.items()}
        sums |= {symbol: sealed(added) for r in run.repeats for symbol, added in r.sums.items()}
        totals = Totals(algebra_for(kind), {a.name: a.dtype for a in self.arrays.values()}, sums, notes)
        shared = {
            name: {k: totals.shared(sealed(compiled(stored[name][k]))) for k in elements[name].tolist() if k in stored[name]}
            for name in self.outputs
        }
        wanted = self._wanted(shared, notes)
        return judged(run, self.arguments, wanted, lambda term: totals.shared(sealed(term)), is_shown=False)

    def _grown(self, box: Box) -> dict[str, tuple[int, ...]]:
        """By how much the sizes grow along the axes of the box."""
        found: dict[str, tuple[int, ...]] = {}
        if box.size:
            found[self.size] = (*box.size[1:], *(0 for _ in box.length[1:]))
        if box.length:
            found[self.length] = (*(0 for _ in box.counts[1:]), box.length[1])
        return found

    def _check_length(self, box: Box, repeated: Repetition | None) -> int | None:
        """The axis of the box along which sums get longer. NotAlikeError unless the steps that were left out are those of the
        sum over the size that grows."""
        is_open = repeated is not None and repeated.is_open
        if not box.length or box.counts[-1] == 1:
            if is_open:
                raise NotAlikeError("expected a known number of rounds, got one that depends on a size")
            return None
        axis = next(n for n, a in enumerate(self.stage.axes) if a.run_time is not None and a.run_time.name == self.length)
        if not is_open or repeated is None or repeated.axis != axis or repeated.width != box.length[1]:
            raise NotAlikeError(f"expected a loop over all of {self.length}, the rounds of which are left out")
        return len(box.counts) - 1

    def _check_threads(
        self,
        box: Box,
        by_thread: Mapping[str, Sequence[int]],
        group: ImpliedGroup,
        moves: Mapping[str, Sequence[int]],
        uses: Mapping[Access, Use],
        length: int | None,
    ) -> None:
        """NotAlikeError or NoWindowError unless what threads must store moves as their accesses do, in each block."""
        counts = tuple(last - first + 1 for first, last in zip(group.first, group.last, strict=True))
        places: dict[str, NDArray[np.int64]] = {}
        for name, elements in group.elements.items():
            places[name] = np.unique(np.array(list(elements.values()), np.int64))
        moved(
            self.stage,
            points_of(self.stage, places),
            {name: (*by, *by_thread[name]) for name, by in moves.items() if name in by_thread},
            (*box.counts, *counts),
            (*(0 for _ in box.counts), *group.first),
            self._grown(box),
            uses,
            length,
            places,
        )

    def _repeated(self, run: SymbolicRun) -> Repetition | None:
        """The points of the mathematics that the rounds visit which the run left out."""
        found: set[Repetition] = set()
        for repeat in run.repeats:
            places: dict[str, tuple[int, list[int]]] = {}
            for name, place, step in sorted(_moving_elements(repeat)):
                step_of, known = places.setdefault(name, (step, []))
                if step_of != step:
                    raise NotAlikeError(f"expected all places of {name} to move alike with the rounds, got {step_of} and {step}")
                known.append(place)
            found.add(replace(repetition(self.stage, places, repeat.steps), is_open=repeat.is_open))
        return joined_repetition(sorted(found, key=lambda r: r.firsts)) if found else None


def _moving_elements(repeat: Repeat) -> set[tuple[str, int, int]]:
    seen = set[Term]()
    for total in repeat.sums.values():
        seen.update(iterate_post(total, seen))
    return {(t.data[0].partition(USE)[0], *t.data[1]) for t in seen if t.op == "atom" and len(t.data[1]) == 2}


def _kind_of_totals(run: SymbolicRun) -> DType:
    """The type in which the rounds that were left out add up. NotAlikeError where there are several."""
    kinds = {run.data.kinds[symbol] for r in run.repeats for symbol in r.sums}
    if len(kinds) > 1:
        raise NotAlikeError(f"expected loops that add up values of one type, got {' and '.join(sorted(map(str, kinds)))}")
    return kinds.pop() if kinds else f32


_NOTHING = np.zeros(0, object)
