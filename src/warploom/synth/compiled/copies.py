"""cp.async and its groups (PTX ISA 9.7.9.25.3), and ldmatrix (PTX ISA 9.7.14): data that moves between memories by itself.

A copy reads its source when it is issued and may go on until its thread waits for it: until then its target is undefined, and who
touches the target or changes the source races with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from warploom.ptx.syntax import Instruction, Integer, Name, Negation
from warploom.synth.compiled.data import Undefined, Value
from warploom.synth.compiled.matrices import whole_warps
from warploom.synth.compiled.memory import Region
from warploom.synth.compiled.operands import Operands, Reader
from warploom.synth.compiled.placed import Placed
from warploom.synth.compiled.schedule import Action, Step
from warploom.synth.compiled.threads import WARP, Block, Lanes, Launch
from warploom.synth.compiled.transfers import Transfers, space_of

_WORD = 4
_MATRIX_ROWS, _ROW_BYTES = 8, 16


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """Words on their way."""

    target: Region
    target_offset: int
    size_bytes: int
    source: Region | None
    source_offset: int
    values: tuple[Value, ...]
    """Words that are read; zeros fill the rest."""
    marker: Undefined


@dataclass(slots=True)
class Queue:
    """Copies of one thread."""

    open: list[Copy] = field(default_factory=list[Copy])
    groups: list[list[Copy]] = field(default_factory=list[list[Copy]])


class Copies:
    """Steps for asynchronous copies and matrix loads."""

    def __init__(self, launch: Launch, operands: Operands, transfers: Transfers) -> None:
        self.launch = launch
        self.operands = operands
        self.transfers = transfers

    def copy(self, instruction: Instruction, index: int) -> Action:
        """cp.async, its commit and its waits."""
        match instruction.modifiers:
            case ("async", "commit_group"):
                return self._commit
            case ("async", "wait_all"):
                return lambda block, lanes: self._wait(block, lanes, -1, index)
            case ("async", "wait_group"):
                last = instruction.operands[0]
                if isinstance(last, Integer):
                    return lambda block, lanes: self._wait(block, lanes, last.value, index)
            case ("async", "ca" | "cg", "shared" | "shared::cta", "global", *hints):
                if all(h.startswith("L2::") and h != "L2::cache_hint" for h in hints):
                    return self._issue(instruction, index)
            case _:
                pass
        raise self.launch.unsupported(f"expected an instruction that this runner follows, got {instruction.name}", index)

    def _issue(self, instruction: Instruction, index: int) -> Action:
        to, source_address, amount, *limit = instruction.operands
        size = amount.value if isinstance(amount, Integer) else 0
        if size not in (4, 8, 16) or len(limit) > 1:
            raise self.launch.unsupported("expected cp.async of 4, 8 or 16 bytes", index)
        targets = self.operands.address(to, index)
        sources = self.operands.address(source_address, index)
        given = self._given(instruction, index, size)
        line = self.launch.span(index).line

        def run(block: Block, lanes: Lanes) -> None:
            amounts = given(block, lanes)
            reading = [
                t for t, amount in zip(lanes, amounts, strict=True) if isinstance(amount, int) and amount
            ]  # others may have no address
            source_of = dict(zip(reading, sources(block, reading), strict=True))
            if all(isinstance(amount, int) and amount == size for amount in amounts):
                self.transfers.check_all_steps(list(source_of.values()), size)
            for t, to, amount in zip(lanes, targets(block, lanes), amounts, strict=True):
                assert isinstance(to, int)
                if not isinstance(amount, int) or amount.__class__ is Placed or amount % _WORD or not 0 <= amount <= size:
                    raise self.launch.unsupported(f"expected cp.async of a known number of whole words, got {amount}", index)
                target, at = self.transfers.place(block, t, to, "shared", size, "store", index)
                self.transfers.remember(block, t, target, at, size, "store", index)
                source, start, values = None, 0, ()
                if amount:
                    place = source_of[t]
                    assert isinstance(place, int)
                    source, start = self.transfers.place(block, t, place, "global", amount, "load", index)
                    self.transfers.check_aligned(block, t, source, place, size, index)
                    self.transfers.remember(block, t, source, start, amount, "load", index)
                    values = self._words(source, start, amount)
                    if place.__class__ is Placed:
                        used = tuple(self.transfers.used(source, place, v, index) for v in values)
                        source, values = (source if used == values else None), used  # what has several uses is not written
                    if step := self.transfers.step_of(place):
                        values = tuple(self.transfers.moved(v, step, index) for v in values)
                        source = None  # what moves is not written
                marker = Undefined("an asynchronous copy that nobody has waited for", line)
                for k in range(0, size, _WORD):
                    target.store(at + k, _WORD, marker, index, self.launch.data)
                self._queue(block, t).open.append(Copy(target, at, size, source, start, values, marker))

        return run

    def _given(self, instruction: Instruction, index: int, size: int) -> Reader:
        """Bytes that are read: all, a fourth operand's, or none where a predicate says so."""
        if len(instruction.operands) == 3:
            return lambda _, lanes: [size] * len(lanes)
        last = instruction.operands[3]
        is_flag = isinstance(last, Negation) or (
            isinstance(last, Name) and self.launch.routine.registers.get(last.text) == "pred"
        )
        reader = self.operands.reader(last, "pred" if is_flag else "u32", index)
        if not is_flag:
            return reader

        def run(block: Block, lanes: Lanes) -> list[Value]:
            return [(0 if v else size) if isinstance(v, int) else v for v in reader(block, lanes)]

        return run

    def _words(self, region: Region, offset: int, size: int) -> tuple[Value, ...]:
        return tuple(region.load(offset + k, _WORD, self.launch.data) for k in range(0, size, _WORD))

    def _queue(self, block: Block, thread: int) -> Queue:
        found = block.copies.get(thread)
        if not isinstance(found, Queue):
            found = block.copies[thread] = Queue()
        return found

    def _commit(self, block: Block, lanes: Lanes) -> None:
        for t in lanes:
            queue = self._queue(block, t)
            queue.groups.append(queue.open)
            queue.open = []

    def _wait(self, block: Block, lanes: Lanes, left: int, index: int) -> None:
        """All but the newest `left` groups of each thread are complete; -1: everything."""
        for t in lanes:
            queue = self._queue(block, t)
            count = len(queue.groups) if left < 0 else max(0, len(queue.groups) - left)
            done = [copy for group in queue.groups[:count] for copy in group]
            queue.groups = queue.groups[count:]
            if left < 0:
                done += queue.open
                queue.open = []
            for copy in done:
                self._arrived(block, t, copy, index)

    def _arrived(self, block: Block, thread: int, copy: Copy, index: int) -> None:
        data, target, at = self.launch.data, copy.target, copy.target_offset
        self.transfers.remember(block, thread, target, at, copy.size_bytes, "store", index)
        if copy.source is not None:
            amount = _WORD * len(copy.values)
            self.transfers.remember(block, thread, copy.source, copy.source_offset, amount, "load", index)
            now = self._words(copy.source, copy.source_offset, amount)
            if not all(data.is_same(a, b) for a, b in zip(now, copy.values, strict=True)):
                message = f"expected {copy.source.name} not to change while an asynchronous copy reads it"
                raise block.fault("race", message, index, thread=thread, what="copy", element=copy.source.name)
        for k in range(copy.size_bytes // _WORD):
            if target.load(at + k * _WORD, _WORD, data) is not copy.marker:
                message = f"expected nobody to store to {target.name} where an asynchronous copy is going on"
                raise block.fault("undefined value", message, index, thread=thread, what="copy", element=target.name)
            value = copy.values[k] if k < len(copy.values) else 0
            target.store(at + k * _WORD, _WORD, value, index, data)
        block.stored(target, at, copy.size_bytes, thread, index)

    def matrix(self, instruction: Instruction, index: int) -> Step:
        """ldmatrix: 8 x 8 matrices of 16-bit elements, a row of 16 bytes from each of eight lanes' addresses."""
        modifiers = set(instruction.modifiers) - {"sync", "aligned", "m8n8", "shared", "shared::cta", "b16", "trans"}
        count = {"x1": 1, "x2": 2, "x4": 4}.get(next(iter(modifiers), ""), 0)
        targets = self.operands.pieces(instruction.operands[0])
        if len(modifiers) != 1 or len(targets) != count or "m8n8" not in instruction.modifiers:
            raise self.launch.unsupported(f"expected an instruction that this runner follows, got {instruction.name}", index)
        addresses = self.operands.address(instruction.operands[1], index)
        writers = [self.operands.writer(o, index) for o in targets]
        turns, space = "trans" in instruction.modifiers, space_of(instruction)

        def run(block: Block, lanes: Lanes) -> None:
            place_of = dict(zip(lanes, addresses(block, lanes), strict=True))
            row_of: dict[int, tuple[Region, int]] = {}
            for number, write in enumerate(writers):
                found: list[Value] = []
                for t in lanes:
                    first, lane = t - t % WARP, t % WARP
                    pieces = [(lane // 4, 4 * (lane % 4), 4)]
                    if turns:
                        pieces = [(2 * (lane % 4) + k, 2 * (lane // 4), 2) for k in (0, 1)]
                    parts: list[tuple[Value, int]] = []
                    for row, within, size in pieces:
                        owner = first + _MATRIX_ROWS * number + row
                        if owner not in row_of:
                            base = place_of.get(owner)
                            if not isinstance(base, int):
                                message = f"expected all lanes of the warp at {instruction.name}, lane {owner % WARP} is missing"
                                raise block.fault("shuffle", message, index, thread=t, what="load")
                            row_of[owner] = self.transfers.place(block, owner, base, space, _ROW_BYTES, "load", index)
                            self.transfers.remember(block, owner, *row_of[owner], _ROW_BYTES, "load", index)
                        region, start = row_of[owner]
                        self.transfers.remember(block, t, region, start + within, size, "load", index)
                        parts.append((region.load(start + within, size, self.launch.data), 8 * size))
                    found.append(self.launch.data.join(parts))
                write(block, lanes, found)

        return Step(action=run, meeting=whole_warps)
