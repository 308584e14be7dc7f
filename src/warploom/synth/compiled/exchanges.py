"""Instructions through which threads meet: shuffles, votes, reductions, barriers (PTX ISA 9.7.9.6, 9.7.13)."""

from __future__ import annotations

from functools import reduce

from warploom.ptx.syntax import Instruction, Name, Operand
from warploom.synth.compiled.arithmetic import Arithmetic, register_kind
from warploom.synth.compiled.data import ADDRESSES, Undefined, Value
from warploom.synth.compiled.operands import Operands, Reader, width_of
from warploom.synth.compiled.placed import Placed
from warploom.synth.compiled.schedule import WARP_BARRIER, Barrier, Members, Step, truth
from warploom.synth.compiled.threads import WARP, Block, Lanes, Launch

RECONVERGED = "activemask: threads reconverged"
"""A note for the domain: hardware may keep threads apart that could run together."""


class Exchanges:
    """Steps for instructions that threads execute together."""

    def __init__(self, launch: Launch, operands: Operands, arithmetic: Arithmetic) -> None:
        self.launch = launch
        self.operands = operands
        self.arithmetic = arithmetic

    def shuffle(self, instruction: Instruction, index: int) -> Step:
        if "sync" not in instruction.modifiers or len(instruction.operands) != 5:
            raise self.launch.unsupported(f"expected shfl.sync with a mask of threads, got {instruction.name}", index)
        mode = instruction.modifiers[1]
        target, predicate = self.operands.pair(instruction.operands[0])
        write = self.operands.writer(target, index)
        write_predicate = self.operands.writer(predicate, index) if predicate is not None else None
        value = instruction.operands[1]
        sources = self.operands.reader(value, "b32", index)
        selectors = self.operands.reader(instruction.operands[2], "b32", index)
        clamps = self.operands.reader(instruction.operands[3], "b32", index)
        masks = self.operands.reader(instruction.operands[4], "b32", index)
        line = self.launch.span(index).line

        def run(block: Block, lanes: Lanes) -> None:
            taken = set(lanes)
            b, c = self._known(block, selectors, lanes, index), self._known(block, clamps, lanes, index)
            named = self._known(block, masks, lanes, index)
            mask_of = dict(zip(lanes, named, strict=True))
            others: list[int] = []
            inside: list[Value] = []
            for t, selector, clamp, mask in zip(lanes, b, c, named, strict=True):
                lane = t % WARP
                self._check_named(block, t, mask, index)
                other, is_inside = source_lane(mode, lane, selector, clamp)
                inside.append(is_inside)
                source = t - lane + other
                takes_part = source in taken and mask >> other & 1 and mask_of[source] == mask
                others.append(source if takes_part else -1 - other)
            if not self._exchange_common(block, lanes, others, value, target):
                values = dict(zip(lanes, sources(block, lanes), strict=True))
                write(block, lanes, [values[o] if o >= 0 else self._not_taken(-1 - o, line) for o in others])
            if write_predicate is not None:
                write_predicate(block, lanes, inside)

        if mode not in ("idx", "up", "down", "bfly"):
            raise self.launch.unsupported(f"expected shfl.sync.idx, up, down or bfly, got {instruction.name}", index)
        return Step(action=run, meeting=self._members(masks, index), kind=self._kind(instruction))

    def _exchange_common(self, block: Block, lanes: Lanes, others: list[int], value: Operand, target: Operand) -> bool:
        """Whether what all threads take is seen to be the translation of what their representatives do, which is all that is then
        written."""
        translations = self.launch.translations
        if (
            translations is None
            or len(lanes) < block.count
            or min(others) < 0
            or not (isinstance(value, Name) and isinstance(target, Name))
        ):
            return False
        own = block.name_common(value.text)
        found = None if own is None else translations.exchanged(own, others)
        if found is not None:
            block.write_common(target.text, found)
        return found is not None

    @staticmethod
    def _not_taken(lane: int, line: int | None) -> Undefined:
        return Undefined(f"a shuffle from lane {lane}, which takes no part in it", line or 0)

    def vote(self, instruction: Instruction, index: int) -> Step:
        if "sync" not in instruction.modifiers:
            raise self.launch.unsupported(f"expected vote.sync with a mask of threads, got {instruction.name}", index)
        mode = instruction.modifiers[1]
        write = self.operands.writer(instruction.operands[0], index)
        predicates = self.operands.reader(instruction.operands[1], "pred", index)
        masks = self.operands.reader(instruction.operands[2], "b32", index)

        def run(block: Block, lanes: Lanes) -> None:
            own = dict(zip(lanes, predicates(block, lanes), strict=True))
            named = self._known(block, masks, lanes, index)
            mask_of = dict(zip(lanes, named, strict=True))
            found: list[Value] = []
            for t, mask in zip(lanes, named, strict=True):
                self._check_named(block, t, mask, index)
                first = t - t % WARP
                members = [u for u in range(first, first + WARP) if mask >> (u - first) & 1 and u in own]
                self._check_agreed(members, mask, mask_of, index)
                votes = [truth(block, own[u], index, u) for u in members]
                if mode == "ballot":
                    found.append(sum(1 << (u - first) for u, vote in zip(members, votes, strict=True) if vote))
                else:
                    found.append({"all": all(votes), "any": any(votes), "uni": all(votes) or not any(votes)}[mode])
            write(block, lanes, found)

        if mode not in ("all", "any", "uni", "ballot"):
            raise self.launch.unsupported(f"expected vote.sync.all, any, uni or ballot, got {instruction.name}", index)
        return Step(action=run, meeting=self._members(masks, index), kind=self._kind(instruction))

    def reduction(self, instruction: Instruction, index: int) -> Step:
        """redux.sync: one value of all threads of the mask (PTX ISA 9.7.13, redux.sync)."""
        kind = register_kind(width_of(instruction, "b32"))
        name = next((m for m in instruction.modifiers if m in ("add", "min", "max", "and", "or", "xor")), "")
        if not name or kind.is_float:
            raise self.launch.unsupported(f"expected redux.sync of integers, got {instruction.name}", index)
        fold = self.arithmetic.extreme(name, kind) if name in ("min", "max") else self.arithmetic.signless(name, kind)
        write = self.operands.writer(instruction.operands[0], index)
        sources = self.operands.reader(instruction.operands[1], "b32", index)
        masks = self.operands.reader(instruction.operands[2], "b32", index)

        def run(block: Block, lanes: Lanes) -> None:
            own = dict(zip(lanes, sources(block, lanes), strict=True))
            if not ADDRESSES.isdisjoint(map(type, own.values())):
                raise self.launch.unsupported("expected redux.sync of data, got addresses or positions of blocks", index)
            named = self._known(block, masks, lanes, index)
            mask_of = dict(zip(lanes, named, strict=True))
            found: list[Value] = []
            for t, mask in zip(lanes, named, strict=True):
                self._check_named(block, t, mask, index)
                first = t - t % WARP
                members = [u for u in range(first, first + WARP) if mask >> (u - first) & 1 and u in own]
                self._check_agreed(members, mask, mask_of, index)
                found.append(reduce(fold, [own[u] for u in members]))
            write(block, lanes, found)

        return Step(action=run, meeting=self._members(masks, index), kind=self._kind(instruction))

    def active_mask(self, instruction: Instruction, index: int) -> Step:
        write = self.operands.writer(instruction.operands[0], index)

        def run(block: Block, lanes: Lanes) -> None:
            self.launch.notes.add(RECONVERGED)
            if self.launch.is_alone:
                write(block, lanes, [1 << t % WARP for t in lanes])
                return
            masks: dict[int, int] = {}
            for t in lanes:
                masks[t // WARP] = masks.get(t // WARP, 0) | 1 << t % WARP
            write(block, lanes, [masks[t // WARP] for t in lanes])

        return Step(action=run)

    def warp_barrier(self, instruction: Instruction, index: int) -> Step:
        masks = self.operands.reader(instruction.operands[0], "b32", index)

        def run(block: Block, lanes: Lanes) -> None:
            groups: dict[tuple[int, int], Lanes] = {}
            named = self._known(block, masks, lanes, index)
            mask_of = dict(zip(lanes, named, strict=True))
            for t, mask in zip(lanes, named, strict=True):
                self._check_named(block, t, mask, index)
                first = t - t % WARP
                members = [u for u in range(first, first + WARP) if mask >> (u - first) & 1 and u in mask_of]
                self._check_agreed(members, mask, mask_of, index)
                groups.setdefault((t // WARP, mask), []).append(t)
            for group in groups.values():
                block.synchronise(group) if len(group) > 1 else None

        return Step(action=run, meeting=self._members(masks, index), kind=WARP_BARRIER if self.launch.meets_anywhere else "")

    def barrier(self, instruction: Instruction, index: int) -> Step:
        modifiers = set(instruction.modifiers) - {"cta"}
        numbers_of_operands = (2,) if "arrive" in modifiers else (1, 2)
        if modifiers - {"sync", "arrive", "aligned"} or len(instruction.operands) not in numbers_of_operands:
            raise self.launch.unsupported(f"expected bar.sync, bar.arrive or barrier.sync, got {instruction.name}", index)
        numbers = self.operands.reader(instruction.operands[0], "b32", index)
        counts = self.operands.reader(instruction.operands[1], "b32", index) if len(instruction.operands) > 1 else None

        def arrive(block: Block, lanes: Lanes) -> list[tuple[int, int]]:
            wanted = self._known(block, counts, lanes, index) if counts is not None else [0] * len(lanes)
            return list(zip(self._known(block, numbers, lanes, index), wanted, strict=True))

        return Step(barrier=Barrier(arrive, instruction.opcode == "bar" or "aligned" in modifiers, "arrive" not in modifiers))

    # ------------------------------------------------------------ shared

    def _kind(self, instruction: Instruction) -> str:
        return instruction.name if self.launch.meets_anywhere else ""

    def _members(self, masks: Reader, index: int) -> Members:
        def run(block: Block, lanes: Lanes) -> list[tuple[Lanes, Lanes]]:
            groups: dict[tuple[int, int], Lanes] = {}
            for t, mask in zip(lanes, self._known(block, masks, lanes, index), strict=True):
                groups.setdefault((t // WARP, mask), []).append(t)
            full = (1 << WARP) - 1
            found: list[tuple[Lanes, Lanes]] = []
            for (warp, mask), group in groups.items():
                first = warp * WARP
                last = min(first + WARP, block.count)
                named = list(range(first, last)) if mask == full else [t for t in range(first, last) if mask >> (t - first) & 1]
                found.append((group, named))
            return found

        return run

    def _known(self, block: Block, reader: Reader, lanes: Lanes, index: int) -> list[int]:
        found: list[int] = []
        for t, value in zip(lanes, reader(block, lanes), strict=True):
            if not isinstance(value, int) or value.__class__ is Placed:
                if isinstance(value, Undefined):
                    message = f"expected a defined lane, mask or barrier number, got the undefined value of {value.reason}"
                    raise block.fault("undefined value", message, index, thread=t, what="exchange")
                raise self.launch.unsupported(f"expected a lane, mask or barrier number without data, got {value}", index)
            found.append(value)
        return found

    def _check_named(self, block: Block, thread: int, mask: int, index: int) -> None:
        if not mask >> thread % WARP & 1:
            message = f"expected a mask that names the thread itself, lane {thread % WARP} is not in {mask:#010x}"
            raise block.fault("shuffle", message, index, thread=thread, what="exchange")

    def _check_agreed(self, members: Lanes, mask: int, mask_of: dict[int, int], index: int) -> None:
        """Lanes that one mask names give the same mask (PTX ISA 9.7.13): what else they do is undefined."""
        for u in members:
            if mask_of[u] != mask:
                message = f"expected one mask in all lanes that {mask:#010x} names, lane {u % WARP} has {mask_of[u]:#010x}"
                raise self.launch.unsupported(message, index)


def source_lane(mode: str, lane: int, selector: int, clamp: int) -> tuple[int, bool]:
    """The lane whose value shfl.sync delivers, and its predicate (PTX ISA, shfl.sync: the pseudocode's j and p)."""
    by = selector & 31
    limit, segment = clamp & 31, clamp >> 8 & 31
    last = lane & segment | limit & ~segment & 31
    first = lane & segment
    match mode:
        case "up":
            other = lane - by
            is_inside = other >= last
        case "down":
            other = lane + by
            is_inside = other <= last
        case "bfly":
            other = lane ^ by
            is_inside = other <= last
        case _:
            other = first | by & ~segment & 31
            is_inside = other <= last
    return (other if is_inside else lane), is_inside
