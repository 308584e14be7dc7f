"""Whether the kernels of `scan emit` for whole arrays are proved, from their PTX, for every order in which blocks may run.

Blocks wait for each other's totals. They are proved one at a time, by induction over the tickets that they take from a counter:
what a block stores and hands over follows from what blocks with earlier tickets hand over. So one block is run, with one ticket,
and is told what it may read of others (`synth.compiled.Handover`): only what was released before the word that it acquired. A
flag may give any word that its block releases. The nearest tile whose flag gives its last word is tried at each place; nearer
flags give their first word, and those further back are open: whatever they give, the block must go on alike.

A block waits only for flags of blocks with earlier tickets, each of which is released in every run. So no order of blocks waits
for ever, if blocks that have taken a ticket go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from warploom.core import i64, u32
from warploom.gpu import compile_to_ptx
from warploom.ptx import Program, lower, parse
from warploom.scan import Operator
from warploom.scan.emit import ARCH, SEPARATE, Choices, CudaScan, Kernel, Types, cuda_scan
from warploom.scan.variants import ScanForm
from warploom.synth.compiled import (
    Argument,
    ArrayArgument,
    Cell,
    HandedArgument,
    Handover,
    ScalarArgument,
    StoodError,
    SymbolicRun,
    Undefined,
    Word,
    joined_domain,
    run_symbolically,
)
from warploom.terms import Term
from warploom.tools.scan.elements import Elements, Interval, NotSeenError, WrongError, layout_of
from warploom.tools.scan.movement_proof import MovementProof, any_operator, attempt, kept_or_proved

CONTROL = "control words"
IN_ANY_ORDER = (
    "blocks in any order, blocks that have taken a ticket go on; memory ordered by releases and acquires as the PTX ISA says; "
    "control words zero before the launch"
)
_Arguments: TypeAlias = tuple[Argument | HandedArgument, ...]
Flags: TypeAlias = Mapping[int, tuple[Word, ...]]
SMALL = (64, 2)
"""Threads and items of the text with small tiles: more tiles of it can be run."""
TILES = (1, 2, 4)
MOST_BLOCKS = 3
"""Blocks of a reduction: each may be the last one, with each ticket."""


def prove_whole_arrays(
    operator: Operator, types: Types | None = None, choices: Choices | None = None, form: ScanForm | None = None
) -> MovementProof:
    """The kernels for whole arrays with calls of unknown functions; UserError: TOOL_MISSING, CUDA_ERROR.

    Launches of two tiles as asked, and launches of the same text with small tiles, in which blocks find every mixture of flags.
    """
    asked = choices or Choices()
    small = replace(asked, threads=min(asked.threads, SMALL[0]), items=min(asked.items or SMALL[1], SMALL[1]))
    launches = {(c.threads, c.items): (c, numbers) for c, numbers in ((asked, (2,)), (small, TILES))}
    found: list[MovementProof] = []
    for each, numbers in launches.values():
        made = cuda_scan(operator, types, each, "opaque", form, has_whole_arrays=True)
        found.append(prove_launches(made, numbers))
        if found[-1].verdict != "proved":
            return found[-1]
    sizes = [size for f in found for size in f.sizes["whole_arrays"]]
    domain = joined_domain([f.domain for f in found])
    return MovementProof("proved", found[0].kernels, {"whole_arrays": sizes}, domain, is_kept=all(f.is_kept for f in found))


def prove_launches(made: CudaScan, tiles: Sequence[int], text: str | None = None) -> MovementProof:
    """Launches of so many tiles, the last one in part. text: the compiler's output, if it is at hand."""
    ptx = compile_to_ptx(made.source, ARCH, options=SEPARATE) if text is None else text
    return kept_or_proved(made, ptx, ["whole arrays", *tiles], lambda: _proved(made, tiles, ptx))


def _proved(made: CudaScan, tiles: Sequence[int], ptx: str) -> MovementProof:
    kernels: tuple[Kernel, ...] = tuple([k for k in made.kernels if "device" in k])
    program = lower(parse(ptx, "scan.ptx"))
    notes: set[str] = set()
    # backward, the end of the list says where packs begin: two tiles are read in packs, other numbers of tiles one by one
    ends = [0 if made.form.is_backward and number == 2 else 1 for number in tiles]
    counts = [(number - 1) * made.tile + made.tile // 2 + end for number, end in zip(tiles, ends, strict=True)]
    for kernel in kernels:
        for number, count in zip(tiles, counts, strict=True):
            blocks = number if not kernel.startswith("reduce") else min(number, MOST_BLOCKS)
            run = WholeArray(made, program, kernel, count, blocks)
            launch = f"{kernel} with {made.choices.threads} threads, {made.items} elements of each, and {count} elements"
            if (found := attempt(launch, kernels, run.prove)) is not None:
                return found
            notes |= run.notes
    said = [any_operator(made), IN_ANY_ORDER, *sorted(notes)]
    sizes = [[made.choices.threads, made.items, count] for count in counts]
    return MovementProof("proved", kernels, {"whole_arrays": sizes}, joined_domain(said))


@dataclass(frozen=True, slots=True)
class _Promise:
    """Cells and values that a block stores and hands over, whatever flags it found."""

    flags: Flags
    released: frozenset[Cell]
    """Before it took its ticket."""
    stored: frozenset[Cell]
    values: Mapping[tuple[str, int], Interval]
    """Range of elements that each structure it stored combines, by array and place."""
    results: frozenset[int]


@dataclass(slots=True)
class WholeArray:
    """One kernel at one number of elements."""

    made: CudaScan
    program: Program
    kernel: Kernel
    count: int
    blocks: int
    notes: set[str] = field(default_factory=set[str])
    needed: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    def prove(self) -> None:
        """WrongError, NotSeenError, FaultError, UnsupportedError."""
        elements = Elements(self.made, self.kernel, self.count, self.count)
        proofs = self._reduction(elements) if self.kernel.startswith("reduce") else self._scan(elements)
        results: list[int] = []
        stored: list[Cell] = []
        for promise in proofs:
            results += promise.results
            stored += promise.stored
        if sorted(results) != sorted(elements.wanted()):
            raise WrongError("some result is stored by no block or by several")
        if len(stored) != len(set(stored)):
            raise NotSeenError("several blocks store to one place of the scratch memory")

    # ------------------------------------------------------------ scans: tickets choose the tiles

    def _scan(self, elements: Elements) -> list[_Promise]:
        routine = self.program.kernel(self.kernel)
        if any("%ctaid" in repr(i.operands) for i in routine.instructions):
            raise NotSeenError("a block asks for its number, and takes a ticket")
        done: list[_Promise] = []
        for ticket in range(self.blocks):
            promise: _Promise | None = None
            for flags in mixtures([p.flags for p in reversed(done)]):
                found = self._run(elements, 0, ticket, flags)
                if promise is not None and found != promise:
                    raise NotSeenError(f"what the block with ticket {ticket} does depends on how far others have come")
                promise = found
            assert promise is not None
            self._learn(elements, promise)
            done.append(promise)
        return done

    # ------------------------------------------------------------ reductions: the last ticket combines the parts

    def _reduction(self, elements: Elements) -> list[_Promise]:
        done: list[_Promise] = []
        for block in range(self.blocks):
            found = [self._run(elements, block, ticket, {}) for ticket in range(self.blocks - 1)]
            if any(f != found[0] for f in found):
                raise NotSeenError(f"what block {block} does depends on its ticket, though it is not the last one")
            done += found[:1]
            if found:
                self._learn(elements, found[0])
        if any(p.results for p in done):
            raise WrongError("a result is stored by a block that does not have the last ticket")
        last: _Promise | None = None
        for block in range(self.blocks):
            others = frozenset[Cell]().union(*(p.released for n, p in enumerate(done) if n != block))
            promise = self._run(elements, block, self.blocks - 1, {}, others)
            if last is not None and promise.results != last.results:
                raise NotSeenError("what the last block stores depends on which one it is")
            if done and (promise.released, promise.stored) != (done[block].released, done[block].stored):
                raise NotSeenError("what a block hands over depends on its ticket")
            last = promise
        assert last is not None
        return [*done, _Promise({}, frozenset(), frozenset(), {}, last.results)]

    # ------------------------------------------------------------ one block

    def _run(
        self, elements: Elements, block: int, ticket: int, flags: Flags, at_ticket: frozenset[Cell] = frozenset()
    ) -> _Promise:
        handover = Handover(CONTROL, ticket, flags, at_ticket, needed=self.needed)
        arguments, handed = self._arguments(elements)
        run = self._symbolic(elements, arguments, block, handover)
        if not handover.has_ticket:
            raise NotSeenError("a block takes no ticket")
        if handover.checkpoints:
            other = Handover(CONTROL, ticket, flags, at_ticket, last=True, needed=self.needed)
            with suppress(StoodError):
                self._symbolic(elements, arguments, block, other)
            if other.checkpoints != handover.checkpoints:
                raise NotSeenError(f"what the block with ticket {ticket} does depends on tiles before a complete prefix")
        elements.check_inputs(run)
        self.notes |= {*run.notes, *run.unnamed_stores(tuple(a for a in arguments if isinstance(a, ArrayArgument)))}
        wanted = elements.wanted()
        results = {place for argument in elements.outputs for place in run.written(argument)}
        for place in results:
            if place not in wanted:
                raise WrongError(f"result {place} is stored, which nothing asks for")
            elements.check(run, place, wanted[place])
        values = {
            (argument.name, slot): elements.elements(numbers)
            for argument in handed
            for slot in {g * 4 // argument.stride for n, g in handover.stored if n == argument.name}
            for numbers in [_numbers(run, argument, slot)]
        }
        published = {at: tuple(words) for at, words in handover.published.items()}
        return _Promise(published, handover.released, handover.stored, values, frozenset(results))

    def _symbolic(self, elements: Elements, arguments: _Arguments, block: int, handover: Handover) -> SymbolicRun:
        return run_symbolically(
            self.program, self.kernel, arguments, (self.blocks, 1, 1), (self.made.choices.threads, 1, 1),
            functions=elements.functions(), handover=handover, only_block=(block, 0, 0),
        )  # fmt: skip

    def _arguments(self, elements: Elements) -> tuple[_Arguments, list[HandedArgument]]:
        is_scan = not self.kernel.startswith("reduce")
        control = ArrayArgument(CONTROL, u32, (1 + self.blocks if is_scan else 1,), "zeros")
        layout = layout_of(self.made.body.fields)
        names = ("totals handed on", "prefixes handed on") if is_scan else ("parts handed on",)
        handed = [HandedArgument(name, layout, self.made.value_bytes, self.blocks) for name in names]
        count = ScalarArgument("n", i64, self.count)
        return (*elements.inputs, *elements.outputs, control, *handed, count, *elements.constants), handed

    @staticmethod
    def _learn(elements: Elements, promise: _Promise) -> None:
        """Notes the ranges that later blocks read where this one has stored."""
        for (name, slot), interval in promise.values.items():
            handed = HandedArgument(name, layout_of(elements.made.body.fields), elements.made.value_bytes, slot + 1)
            elements.known[handed.symbols(slot)] = interval


def mixtures(earlier: Sequence[Flags]) -> Iterator[Flags]:
    """Flags that a block may read of earlier blocks, the nearest first: every choice of words is one of these.

    The nearest flag that gives its last word is tried at each place. NotSeenError for flags of more than two words.
    """
    if any(len(words) > 2 for flags in earlier for words in flags.values()) or any(len(flags) != 1 for flags in earlier):
        raise NotSeenError("a block that waits for others releases several flags, or one of more than two words")
    for near in range(len(earlier) + 1):
        is_last = near == len(earlier)
        if any(len(w) < 2 for flags in earlier[:near] for w in flags.values()):
            return  # a nearer flag has only its last word
        flags: dict[int, tuple[Word, ...]] = {}
        for n, of_block in enumerate(earlier):
            for at, words in of_block.items():
                flags[at] = words[:1] if n < near else words[-1:] if n == near else words
        yield flags
        if is_last:
            return


def _numbers(run: SymbolicRun, argument: HandedArgument, slot: int) -> tuple[Term, ...]:
    """The structure that the block stored there."""
    region = run.arrays[argument.name]
    found: list[Term] = []
    for at, kind in argument.layout:
        cell = region.cells.get(slot * argument.stride + at)
        if cell is None or cell.instruction < 0 or cell.size_bytes != kind.bits // 8:
            raise NotSeenError(f"{argument.name} is stored in part")
        if isinstance(cell.value, Undefined):
            raise WrongError(f"{argument.name} depends on the undefined value of {cell.value.reason}")
        if not isinstance(cell.value, Term):
            raise NotSeenError(f"{argument.name} is {cell.value}, expected what a function gives")
        data = run.data
        found.append(data.as_float(cell.value, kind) if kind.is_float else data.signless(data.as_int(cell.value, kind)))
    return tuple(found)
