"""Blocks that hand values to each other while they run. One block is run; what the others do is told by what they have promised.

What a block has stored before a release is there for whoever reads the released word by an acquire, and for threads that wait
at a barrier after that thread. Each load of an array that is handed over needs such an acquire before it (PTX ISA, memory
consistency model, release and acquire patterns). Two ways of handing over are followed:

- *Flags*: `st.release` of a word that is not zero by one block, `ld.acquire` by another, which reads zero until then. A wait that
  reads zero must come back to its load with nothing changed: then any number of such reads is none. Which of several words an
  acquire gives is open where the caller says so. A lane that got one of them must do nothing that others see up to the next
  exchange of its warp, and come there with the same registers, whichever word it was (`checkpoints`).
- *Tickets*: `atom.add` of 1 to one counter by one thread of each block, with a fence before it as the release, and a fence after
  it, by the same thread, as the acquire of what blocks with earlier tickets released.

Everything else on these arrays is not followed: plain stores to flags, narrower scopes, values that are stored twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core import DType, u32
from warploom.ptx import live_before
from warploom.ptx.syntax import Instruction
from warploom.synth.compiled.data import Data, Undefined, Value
from warploom.synth.compiled.exchanges import Exchanges
from warploom.synth.compiled.memory import WARP, Owner, Region
from warploom.synth.compiled.operands import Operands
from warploom.synth.compiled.placed import Placed
from warploom.synth.compiled.schedule import WARP_BARRIER, Action, Barrier, Step, truth
from warploom.synth.compiled.threads import Block, Lanes, Launch
from warploom.synth.compiled.transfers import Transfers
from warploom.terms import Term, atom

_GRANULE = 4
_WIDE = frozenset({"gpu", "sys"})
"""Scopes that hold all blocks of a launch."""
Cell: TypeAlias = tuple[str, int]
"""Four bytes of an array that is handed over: its name and their number."""
Checkpoint: TypeAlias = tuple[int, tuple[object, ...]]
"""An instruction and the registers that are still needed there."""


class StoodError(Exception):
    """Ends a run that is for its checkpoints: they are all there."""


@dataclass(frozen=True, slots=True)
class HandedArgument:
    """An array of structures, each stored by one block and read by others; what it holds before is undefined."""

    name: str
    layout: tuple[tuple[int, DType], ...]
    stride: int
    count: int

    def symbols(self, slot: int) -> tuple[Term, ...]:
        """The numbers of one structure, as another block finds them."""
        return tuple([atom(self.name, (slot, k)) for k in range(len(self.layout))])


@dataclass(frozen=True, slots=True)
class Word:
    """A word that a block releases to a flag, and what it has stored by then."""

    word: int
    cells: frozenset[Cell]


@dataclass(slots=True)
class Handover:
    """The facts about other blocks that one block is given, and the facts found about it."""

    control: str
    """The array of counter and flags, all zero before the launch: the counter is its first word."""
    ticket: int
    """The number that its `atom.add` gives."""
    flags: Mapping[int, tuple[Word, ...]] = field(default_factory=dict[int, tuple[Word, ...]])
    """The words that an acquire of a flag may give, by byte offset: the one word that is assumed, or those that are open."""
    at_ticket: frozenset[Cell] = frozenset()
    """Cells that blocks with earlier tickets released before they took them."""
    last: bool = False
    """Whether open flags give their last word instead of their first; the run then ends at the last checkpoint."""

    published: dict[int, list[Word]] = field(default_factory=dict[int, list[Word]])
    released: frozenset[Cell] = frozenset()
    """Cells that the block released before it took its ticket."""
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict[int, Checkpoint])
    """By thread that acquired an open flag."""
    stored: frozenset[Cell] = frozenset()
    """Cells of handed-over arrays that the block has stored when it ends."""
    has_ticket: bool = False
    needed: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """Registers that are needed at an instruction, for all runs of one kernel."""

    def initial(self, argument: HandedArgument, data: Data) -> Callable[[int], tuple[int, int, Value]]:
        """The value that another block stored there; the read itself checks that it is allowed."""
        places = {at: (k, kind) for k, (at, kind) in enumerate(argument.layout)}

        def cell(offset: int) -> tuple[int, int, Value]:
            slot, within = divmod(offset, argument.stride)
            start = max((at for at in places if at <= within), default=-1)
            if start < 0 or within >= start + places[start][1].bits // 8:
                return offset, 1, Undefined(f"bytes of {argument.name} between numbers", 0)
            k, kind = places[start]
            term = data.made(argument.symbols(slot)[k], kind)
            return slot * argument.stride + start, kind.bits // 8, term

        return cell


class Handing:
    """Steps for what hands over, and checks beside all others."""

    def __init__(
        self, launch: Launch, handover: Handover, operands: Operands, transfers: Transfers, exchanges: Exchanges
    ) -> None:
        self.launch = launch
        self.handover = handover
        self.operands = operands
        self.transfers = transfers
        self.exchanges = exchanges
        self.handed: dict[str, Region] = {}
        self._waiting: dict[int, Checkpoint] = {}
        """Threads whose last acquire gave zero: where, with what registers."""
        self._read: set[int] = set()
        """Flags that were read."""
        self._open: set[int] = set()
        """Threads that acquired an open flag and have not come to an exchange since."""
        self._acquired: list[tuple[Owner, frozenset[Cell]]] = []
        self._fenced: dict[int, frozenset[Cell]] = {}
        self._ticketed: int | None = None
        self._lowest: dict[Term, int] = {}
        """The lowest bit of ballots of which higher ones are open."""
        self._highest: dict[Term, int] = {}
        """By such a ballot with its bits in reverse order: its highest bit."""
        for region in launch.memory.regions:
            if region.name == handover.control:
                region.check = self._access_to_control
            elif region.is_handed:
                self.handed[region.name] = region
                region.check = self._access

    # ------------------------------------------------------------ steps

    def step(self, instruction: Instruction, index: int) -> Step | None:
        """A step of an instruction that hands over; None for others."""
        modifiers = {*instruction.modifiers}
        match instruction.opcode:
            case "ld" if "acquire" in modifiers:
                return Step(action=self._acquire(instruction, index))
            case "st" if "release" in modifiers:
                return Step(action=self._release(instruction, index))
            case "atom":
                return Step(action=self._take_ticket(instruction, index))
            case "membar" | "fence":
                return Step(action=self._fence(instruction))
            case "vote" if "ballot" in modifiers and "sync" in modifiers:
                plain = self.exchanges.vote(instruction, index)
                return Step(action=self._ballot(instruction, index, plain), meeting=plain.meeting, kind=plain.kind)
            case _:
                return None

    def watched(self, step: Step, instruction: Instruction, index: int) -> Step:
        """The step, refused where a thread makes it that waits for a flag or has acquired an open one."""
        opcode, action = instruction.opcode, step.action
        if opcode == "vote" and "ballot" in instruction.modifiers:
            return step
        if step.barrier is not None:
            barrier = step.barrier

            def arrive(block: Block, lanes: Lanes) -> list[tuple[int, int]]:
                self._meet(block, lanes, index)
                return barrier.arrive(block, lanes)

            return Step(barrier=Barrier(arrive, barrier.is_aligned, barrier.waits))
        if action is None:
            return step
        if step.meeting is not None:
            is_warp_barrier = step.kind == WARP_BARRIER

            def met(block: Block, lanes: Lanes) -> None:
                if is_warp_barrier:
                    self._check_waits_for_nothing(lanes, index)
                else:
                    self._meet(block, lanes, index)
                action(block, lanes)

            return Step(action=met, meeting=step.meeting, kind=step.kind)
        is_passed = "param" in instruction.modifiers
        if opcode in ("st", "red", "atom", "cp", "activemask") and not is_passed:

            def seen(block: Block, lanes: Lanes) -> None:
                self._check_seen_by_nobody(lanes, index)
                action(block, lanes)

            return Step(action=seen)
        return step

    def check_ended(self) -> None:
        """UnsupportedError where a thread ended in a wait, or with what depends on an open flag."""
        self._check_seen_by_nobody([*self._waiting, *self._open], 0)
        histories = [(name, region.history) for name, region in self.handed.items()]
        self.handover.stored = frozenset(
            [(name, g) for name, history in histories for g, past in history.items() if past.writers]
        )

    def counted(self, instruction: Instruction, plain: Callable[..., Value]) -> Callable[..., Value]:
        """brev, bfind and clz of ballots with open bits: the lowest bit is known."""
        opcode = instruction.opcode
        if opcode not in ("brev", "bfind", "clz"):
            return plain
        has_shift = "shiftamt" in instruction.modifiers

        def run(value: Value) -> Value:
            if isinstance(value, Term):
                if opcode == "brev" and (low := self._lowest.get(value)) is not None:
                    return self._made("reversed ballot", self._highest, WARP - 1 - low)
                if opcode != "brev" and (high := self._highest.get(value)) is not None:
                    return WARP - 1 - high if has_shift or opcode == "clz" else high
            return plain(value)

        return run

    # ------------------------------------------------------------ flags

    def _acquire(self, instruction: Instruction, index: int) -> Action:
        self._check_scope(instruction, {"acquire", "global"}, index)
        write = self.operands.writer(instruction.operands[0], index)
        addresses = self.operands.address(instruction.operands[1], index)
        needed = self._needed(index)

        def run(block: Block, lanes: Lanes) -> None:
            found: list[Value] = []
            self._forget(block, lanes, needed)
            for t, address in zip(lanes, addresses(block, lanes), strict=True):
                offset = self._flag(block, t, address, index)
                now: Checkpoint = (index, _state(block, t, needed))
                if t in self._open:
                    raise self.launch.unsupported("expected one acquire before the lanes of a warp meet, got several", index)
                before = self._waiting.pop(t, None)
                if before is None:
                    self._waiting[t] = now
                    found.append(0)
                    continue
                if before != now:
                    raise self.launch.unsupported("expected a wait that changes nothing until its flag is there", index)
                found.append(self._given(block, t, offset, index))
            write(block, lanes, found)

        return run

    def _given(self, block: Block, thread: int, offset: int, index: int) -> int:
        words = self.handover.flags.get(offset)
        if words is None:
            message = f"expected a flag that a block with an earlier ticket releases, got the one at byte {offset}"
            raise self.launch.unsupported(message, index)
        if offset in self._read:
            raise self.launch.unsupported(f"expected the flag at byte {offset} to be acquired once", index)
        self._read.add(offset)
        word = words[-1 if self.handover.last else 0]
        if len(words) > 1:
            self._open.add(thread)
        self._acquired.append((block.owner(thread, index), word.cells))
        return word.word

    def _release(self, instruction: Instruction, index: int) -> Action:
        self._check_scope(instruction, {"release", "global"}, index)
        addresses = self.operands.address(instruction.operands[0], index)
        reader = self.operands.reader(instruction.operands[1], "b32", index)

        def run(block: Block, lanes: Lanes) -> None:
            self._check_seen_by_nobody(lanes, index)
            for t, address, word in zip(lanes, addresses(block, lanes), reader(block, lanes), strict=True):
                offset = self._flag(block, t, address, index)
                earlier = self.handover.published.setdefault(offset, [])
                if not isinstance(word, int) or not word or any(w.word == word for w in earlier):
                    raise self.launch.unsupported(f"expected a word that is not zero and not yet released, got {word}", index)
                cells = self._stored_before(block, t)
                if earlier and not earlier[-1].cells <= cells:
                    raise self.launch.unsupported("expected a later word of a flag to hand over what earlier ones did", index)
                earlier.append(Word(word, cells))

        return run

    def _flag(self, block: Block, thread: int, address: Value, index: int) -> int:
        assert isinstance(address, int)
        region, offset = self.transfers.place(block, thread, address, "global", _GRANULE, "flag", index)
        if region.name != self.handover.control or offset < _GRANULE:
            message = f"expected a flag of {self.handover.control} behind its counter, got byte {offset} of {region.name}"
            raise self.launch.unsupported(message, index)
        return offset

    def _check_scope(self, instruction: Instruction, known: set[str], index: int) -> None:
        others = {*instruction.modifiers} - known
        if len(others & _WIDE) != 1 or others - _WIDE not in ({"u32"}, {"b32"}, {"s32"}):
            message = f"expected an access of 32 bits that other blocks see, .gpu or .sys, got {instruction.name}"
            raise self.launch.unsupported(message, index)

    # ------------------------------------------------------------ tickets

    def _take_ticket(self, instruction: Instruction, index: int) -> Action:
        known = {"global", "add", "u32", "relaxed", "acq_rel", "acquire", "release", *_WIDE}
        if not {"global", "add"} <= {*instruction.modifiers} <= known:
            raise self.launch.unsupported(f"expected atom.global.add.u32 for a ticket, got {instruction.name}", index)
        write = self.operands.writer(instruction.operands[0], index)
        addresses = self.operands.address(instruction.operands[1], index)
        reader = self.operands.reader(instruction.operands[2], "u32", index)

        def run(block: Block, lanes: Lanes) -> None:
            self._check_seen_by_nobody(lanes, index)
            for t, address, step in zip(lanes, addresses(block, lanes), reader(block, lanes), strict=True):
                assert isinstance(address, int)
                region, offset = self.transfers.place(block, t, address, "global", _GRANULE, "ticket", index)
                if region.name != self.handover.control or offset or step != 1 or self.handover.has_ticket:
                    raise self.launch.unsupported("expected each block to add 1 to the counter once", index)
                self.handover.has_ticket, self._ticketed = True, t
                self.handover.released = self._fenced.get(t, frozenset())
            write(block, lanes, [self.handover.ticket] * len(lanes))

        return run

    def _fence(self, instruction: Instruction) -> Action:
        is_wide = bool({"gl", *_WIDE} & {*instruction.modifiers}) and not {*instruction.modifiers} - {
            "gl", "sc", "acq_rel", *_WIDE
        }  # fmt: skip

        def run(block: Block, lanes: Lanes) -> None:
            if not is_wide:
                return
            for t in lanes:
                self._fenced[t] = self._stored_before(block, t)
                if t == self._ticketed and self.handover.at_ticket:
                    self._acquired.append((block.owner(t, 0), self.handover.at_ticket))

        return run

    # ------------------------------------------------------------ what is handed over

    def _stored_before(self, block: Block, thread: int) -> frozenset[Cell]:
        """Cells that the block has stored before this moment of the thread."""
        return frozenset(
            [
                (name, granule)
                for name, region in self.handed.items()
                for granule, past in region.history.items()
                if past.writers and all(block.is_ordered(w, thread) for w in past.writers)
            ]
        )

    def _access_to_control(
        self, block: Block, thread: int, region: Region, offset: int, size: int, what: str, index: int
    ) -> None:
        if what not in ("flag", "ticket"):
            message = f"expected releases and acquires only of {region.name}, got another {what}"
            raise self.launch.unsupported(message, index)

    def _access(self, block: Block, thread: int, region: Region, offset: int, size: int, what: str, index: int) -> None:
        """Loads: of what the block stored itself, or what was handed to it. Stores: once."""
        if what in ("flag", "ticket"):
            return
        if offset % _GRANULE or size % _GRANULE or what not in ("load", "store"):
            raise self.launch.unsupported(f"expected loads and stores of whole words of {region.name}, got a {what}", index)
        for granule in range(offset // _GRANULE, (offset + size) // _GRANULE):
            past = region.history.get(granule)
            is_own = past is not None and bool(past.writers)
            if what == "store":
                if is_own:
                    raise self.launch.unsupported(f"expected each value of {region.name} to be stored once", index)
            elif not is_own and not any(
                (region.name, granule) in cells and block.is_ordered(owner, thread) for owner, cells in self._acquired
            ):
                message = (
                    f"expected a value that was handed over before, got bytes {offset} to {offset + size - 1} of {region.name}"
                )
                raise self.launch.unsupported(message, index)

    # ------------------------------------------------------------ threads that wait, and open flags

    def _check_waits_for_nothing(self, lanes: Lanes, index: int) -> None:
        if not self._waiting.keys().isdisjoint(lanes):
            raise self.launch.unsupported("expected a wait that goes back to its load while the flag is zero", index)

    def _check_seen_by_nobody(self, lanes: Lanes, index: int) -> None:
        self._check_waits_for_nothing(lanes, index)
        if not self._open.isdisjoint(lanes):
            message = "expected nothing that others see between the acquire of a flag and the next exchange of the warp"
            raise self.launch.unsupported(message, index)

    def _meet(self, block: Block, lanes: Lanes, index: int) -> None:
        self._check_waits_for_nothing(lanes, index)
        here = self._open.intersection(lanes)
        needed = self._needed(index) if here else []
        if here:
            self._forget(block, sorted(here), needed)
        for t in here:
            self.handover.checkpoints[t] = (index, _state(block, t, needed))
        self._open -= here
        if here and not self._open and self.handover.last:
            raise StoodError

    def _forget(self, block: Block, lanes: Lanes, needed: list[str]) -> None:
        """Leaves the other registers undefined: if one is needed nevertheless, nothing is proved."""
        gone = Undefined("a register that is needed no more", 0)
        for name in block.registers.keys() & self.launch.routine.registers.keys() - {*needed}:
            block.write(name, lanes, [gone] * len(lanes))

    def _needed(self, index: int) -> list[str]:
        known = self.handover.needed
        if index not in known:
            known[index] = sorted(live_before(self.launch.routine, index))
        return known[index]

    def _ballot(self, instruction: Instruction, index: int, plain: Step) -> Action:
        write = self.operands.writer(instruction.operands[0], index)
        predicates = self.operands.reader(instruction.operands[1], "pred", index)
        masks = self.operands.reader(instruction.operands[2], "b32", index)
        action = plain.action
        assert action is not None

        def run(block: Block, lanes: Lanes) -> None:
            self._check_waits_for_nothing(lanes, index)
            if self._open.isdisjoint(lanes):
                action(block, lanes)
                return
            own = dict(zip(lanes, predicates(block, lanes), strict=True))
            full = (1 << WARP) - 1
            found: list[Value] = []
            if any(mask != full for mask in masks(block, lanes)):
                raise self.launch.unsupported("expected a ballot of the whole warp after the acquire of open flags", index)
            for warp in dict.fromkeys(t // WARP for t in lanes):
                members = range(warp * WARP, warp * WARP + WARP)
                if any(t not in own for t in members):
                    raise self.launch.unsupported("expected all lanes at the ballot after the acquire of open flags", index)
                known = [t % WARP for t in members if t not in self._open and truth(block, own[t], index, t)]
                least = min((t % WARP for t in members if t in self._open), default=WARP)
                if not known or known[0] > least:
                    raise self.launch.unsupported("expected a ballot whose lowest bit no open flag decides", index)
                found += [self._made("ballot", self._lowest, known[0])] * WARP
            write(block, lanes, found)

        return run

    def _made(self, what: str, known: dict[Term, int], bit: int) -> Term:
        term = self.launch.data.made(atom(f"{what} {self.launch.next_symbol()}", ()), u32)
        known[term] = bit
        return term


def _state(block: Block, thread: int, needed: list[str]) -> tuple[object, ...]:
    """The content of a thread's registers, and of what it passed to functions and got back."""
    values = [block.read(name, [thread])[0] for name in needed]
    passed = [(name, at, *held) for name, of in sorted(block.passed.items()) for at, held in sorted(of.get(thread, {}).items())]
    return tuple([(type(v), v, v.of if isinstance(v, Placed) else ()) for v in values] + passed)
