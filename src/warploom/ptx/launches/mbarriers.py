"""mbarriers of a kernel: what each thread does with them, in order, round by round of its loop (PTX ISA 9.7.13.15).

Threads that differ in nothing that is done with mbarriers are a *class*. A class has a list of steps: those before its loop, then
those of each round. Addresses and parities have to repeat from some round on, so that a few rounds stand for all. What is not of
this form is refused (`UnclearError`): an mbarrier that is not followed leaves nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise, product
from math import lcm, prod
from typing import Literal, TypeAlias

from warploom.ptx.launches.turning import Turn, is_leaf
from warploom.ptx.routine import Routine
from warploom.ptx.symbolic import Emulation, Term, evaluate, linear, subterms
from warploom.ptx.syntax import Address, Instruction, Name

_MOST_ROUNDS = 64
"""Rounds after which addresses and parities are as before."""
_LONGEST = 1 << 7
"""Rounds that are written down before these, at most."""
_TIMES = 4
"""How often these rounds are written down."""
MOST_BYTES = 1 << 20
"""A bulk copy that is followed brings fewer."""
_BYTES = 8
"""Size of an mbarrier; its address is a multiple of it."""
_IN_SPIN = frozenset({"bra", "mbarrier", "nanosleep", "selp", "setp", "mov", "not"})
_PLAIN = frozenset({"shared", "shared::cta", "b64", "release", "acquire", "cta", "parity", "expect_tx"})
"""Modifiers beside the name that change nothing of what is said here."""
Kind: TypeAlias = Literal["init", "arrive", "wait", "copy"]
Object: TypeAlias = tuple[str, int]
"""An mbarrier: its variable, and its bytes from there."""


class NotFollowedError(Exception):
    def __init__(self, reason: str, instruction: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.instruction = instruction


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One instruction that works with mbarriers."""

    instruction: int
    kind: Kind
    block: int
    """The block of the step; of a wait, the block of the loop that tries it, since all that comes after the loop has waited."""
    loop: int | None
    """Header of the loop around it, beside that one."""
    threads: frozenset[int]
    """Threads of a block that may come to it, by their number."""
    objects: tuple[Object, ...]
    """By round."""
    numbers: tuple[int, ...]
    """By round: threads that an init counts, bytes that an arrival expects or a copy brings, the parity of a wait."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One use in one round."""

    use: Use
    round: int

    @property
    def object(self) -> Object:
        return self.use.objects[self.round]

    @property
    def number(self) -> int:
        return self.use.numbers[self.round]

    @property
    def key(self) -> tuple[int | None, int, Object]:
        """Steps on one mbarrier in one round of a loop have the same."""
        return self.use.loop, self.round, self.object


@dataclass(frozen=True, slots=True, eq=False)
class ThreadClass:
    threads: frozenset[int]
    steps: tuple[Step, ...]
    """In the order in which each of its threads makes them, without inits."""


def is_mbarrier_use(instruction: Instruction) -> bool:
    """True for mbarrier instructions and bulk copies into shared memory that one counts."""
    is_bulk = instruction.opcode == "cp" and "bulk" in instruction.modifiers
    return instruction.opcode == "mbarrier" or (is_bulk and any(m.startswith("mbarrier") for m in instruction.modifiers))


def is_proxy_fence(instruction: Instruction) -> bool:
    """Between generic accesses and the async proxy, in shared memory."""
    names = instruction.modifiers
    is_wide = len(names) == 2 or any(n.startswith("shared") for n in names)
    return instruction.opcode == "fence" and names[:2] == ("proxy", "async") and is_wide


class Mbarriers:
    """All of a routine."""

    def __init__(
        self,
        routine: Routine,
        emulation: Emulation,
        turning: Mapping[Term, Turn],
        is_block_barrier: Callable[[Instruction], bool],
        sizes: Mapping[str, int],
    ) -> None:
        """`sizes`: bytes of variables, 0 where they are open. NotFollowedError."""
        self._routine = routine
        self._emulation = emulation
        self._graph = emulation.graph
        self._turning = turning
        self._sizes = sizes
        self._by_thread = self._threads()
        self._coming: dict[tuple[int, Term | None], frozenset[int]] = {}
        self.lead, self.period = 0, 1
        """Rounds before uses repeat, and after how many they do."""
        found = [
            n for n, i in enumerate(routine.instructions) if is_mbarrier_use(i) and self._graph.block_of(n) in emulation.blocks
        ]
        read = [self._read(n) for n in found]
        for one in read:
            self._note_period(*one)
        self.uses = tuple(self._use(*one) for one in read)
        margin = self._margin()
        if margin:
            self.lead += margin
            self.uses = tuple(self._use(*one) for one in read)
        self.counts = self._counts(is_block_barrier)
        """By mbarrier: arrivals of a phase."""
        self.classes = tuple(self._classes())

    def _margin(self) -> int:
        """Rounds after which no order from thread to thread leads through steps that do not repeat: each thread on the way may be
        ahead by as many phases as it has such steps, and none is passed twice."""
        classes = tuple(self._classes())
        once = [[s for s in c.steps if s.use.loop is None or s.round < self.lead] for c in classes]
        most = max(map(len, once), default=0)
        if not most or all(use.loop is None for use in self.uses):
            return 0
        margin = self.period * (most + 2) * (len(classes) + 1)
        if margin > _LONGEST:
            raise NotFollowedError("so many mbarriers before a loop are not followed", self.uses[0].instruction)
        return margin

    @property
    def rounds(self) -> int:
        """The number of rounds that are written down."""
        return self.lead + _TIMES * self.period

    # threads

    def _threads(self) -> list[dict[str, int]]:
        bounds = [self._emulation.limits.bounds(f"ntid.{axis}") for axis in "xyz"]
        sizes = [b[1] for b in bounds if b is not None and b[0] == b[1]]
        if len(sizes) < len(bounds) or prod(sizes) > self._emulation.limits.threads_max:
            first = next(n for n, i in enumerate(self._routine.instructions) if is_mbarrier_use(i))
            raise NotFollowedError("mbarriers are followed in blocks of known size alone (--assume blockDim.x == ...)", first)
        extents = {f"ntid.{axis}": size for axis, size in zip("xyz", sizes, strict=True)}
        found: list[dict[str, int]] = []
        for z, y, x in product(*(range(size) for size in reversed(sizes))):
            lane = ((z * sizes[1] + y) * sizes[0] + x) % 32
            found.append({"tid.x": x, "tid.y": y, "tid.z": z, "laneid": lane, **extents})
        return found

    def _is_of_thread(self, term: Term) -> bool:
        """Whether the number of the thread alone decides."""
        return all(p.op == "special" and str(p.data[0]) in self._by_thread[0] for p in subterms(term) if is_leaf(p))

    def of(self, block: int, guard: Term | None) -> frozenset[int]:
        """Threads that may come to an instruction, by what their numbers decide."""
        if (block, guard) not in self._coming:
            self._coming[block, guard] = self._come_to(block, guard)
        return self._coming[block, guard]

    def _come_to(self, block: int, guard: Term | None) -> frozenset[int]:
        parts = [*self._emulation.path_condition(block), *self._branches_to(block), *([] if guard is None else [guard])]
        own = [part for part in parts if self._is_of_thread(part)]
        return frozenset(
            n for n, known in enumerate(self._by_thread)
            if all(evaluate(part, lambda leaf, _, known=known: known[str(leaf.data[0])]) for part in own)
        )  # fmt: skip

    def _branches_to(self, block: int) -> Iterator[Term]:
        """Conditions of the branches that alone lead to a block and to those that dominate it. A path condition may leave some
        out, but `passes` relies on them."""
        at: int | None = block
        while at is not None:
            if (truth := self._branch_to(at)) is not None:
                yield truth
            at = self._graph.dominator[at]

    def _branch_to(self, block: int) -> Term | None:
        """The condition that held when a thread first came to a block, from the only block before it beside those of a loop
        that begins here; None: several are, or nothing is asked."""
        before = [p for p in self._graph.predecessors[block] if not self._graph.dominates(block, p)]
        return self._goes_when(before[0], block) if len(before) == 1 and before[0] in self._emulation.blocks else None

    def _goes_when(self, block: int, successor: int) -> Term | None:
        """For a block that ends with a branch to one of two places: the condition under which a thread goes to the successor."""
        last = self._graph.blocks[block].end - 1
        branch = self._routine.instructions[last]
        if branch.guard is None or branch.opcode != "bra" or len({*self._graph.blocks[block].successors}) < len(("taken", "not")):
            return None
        target = branch.operands[-1]
        start = self._routine.labels[target.text] if isinstance(target, Name) else None
        truth = self._emulation.value(last, Name(branch.guard.name))
        is_negated = branch.guard.negated != (self._graph.blocks[successor].start != start)
        return self._emulation.algebra(block).negation(truth) if is_negated else truth

    # one use

    def _read(self, n: int) -> tuple[int, Kind, int, int | None, Term, Term]:
        """Instruction, kind, block, loop, place, and the number that goes with it."""
        instruction = self._routine.instructions[n]
        operands = list(instruction.operands)
        block = self._graph.block_of(n)
        kind: Kind | None = None
        number: Term = self._emulation.table.const(1, 32)
        match (instruction.opcode, *instruction.modifiers[:1]):
            case ("mbarrier", "init") if len(operands) == 2:
                kind, number = "init", self._emulation.value(n, operands[1])
            case ("mbarrier", "arrive"):
                operands = operands if isinstance(operands[0], Address) else operands[1:]
                expects = "expect_tx" in instruction.modifiers
                if len(operands) == (2 if expects else 1):
                    kind = "arrive"
                    number = self._emulation.value(n, operands[1]) if expects else self._emulation.table.const(0, 32)
            case ("mbarrier", "try_wait" | "test_wait") if "parity" in instruction.modifiers and len(operands) >= 3:
                block = self._spin(n, operands[0])
                kind, number = "wait", self._emulation.value(n, operands[2])
                operands = operands[1:]
            case ("cp", "async") if self._is_plain_copy(instruction):
                kind, number = "copy", self._emulation.value(n, operands[2])
                operands = operands[3:]
            case _:
                pass
        is_plain = kind == "copy" or {*instruction.modifiers[1:]} <= _PLAIN
        if kind is None or not is_plain or not operands or not isinstance(operands[0], Address):
            raise NotFollowedError(f"{instruction.name} is not followed", n)
        loop = self._graph.innermost[block] if kind != "wait" else self._graph.loops[block].parent
        if loop is not None and self._graph.loops[loop].parent is not None:
            raise NotFollowedError("an mbarrier in a loop of a loop is not followed", n)
        if kind == "init" and loop is not None:
            raise NotFollowedError("an mbarrier that is made in a loop is not followed", n)
        return n, kind, block, loop, self._emulation.value(n, operands[0]), number

    @staticmethod
    def _is_plain_copy(instruction: Instruction) -> bool:
        """Whether it copies a number of bytes from global memory to shared memory of the own block."""
        spaces = list(instruction.modifiers[2:4])
        rest = set(instruction.modifiers[4:]) - {"L2::cache_hint"}
        is_here = spaces in (["shared::cluster", "global"], ["shared::cta", "global"])
        return is_here and rest == {"mbarrier::complete_tx::bytes"} and len(instruction.operands) >= 4

    def _spin(self, n: int, predicate: object) -> int:
        """The header of the loop that is left when the wait has succeeded, and only then."""
        block = self._graph.block_of(n)
        header = self._graph.innermost[block]
        found = self._emulation.result(n, predicate.text) if isinstance(predicate, Name) else None
        if header is not None and found is not None and self._routine.instructions[n].guard is None:
            loop = self._graph.loops[header]
            inside = [m for b in loop.blocks for m in range(self._graph.blocks[b].start, self._graph.blocks[b].end)]
            leaving = {b for b in loop.blocks if not loop.blocks.issuperset(self._graph.blocks[b].successors)}
            waits = [m for m in inside if self._routine.instructions[m].opcode == "mbarrier"]
            plain = all(self._routine.instructions[m].opcode in _IN_SPIN for m in inside)
            outside = [s for s in self._graph.blocks[block].successors if s not in loop.blocks]
            if plain and waits == [n] and leaving == {block} and self._goes_when(block, outside[0]) is found:
                return header
        raise NotFollowedError("a wait that is not tried in a loop until it succeeds is not followed", n)

    def _use(self, n: int, kind: Kind, block: int, loop: int | None, place: Term, number: Term) -> Use:
        guard = self._routine.instructions[n].guard
        truth = None
        if guard is not None:
            truth = self._emulation.value(n, Name(guard.name))
            truth = self._emulation.algebra(block).negation(truth) if guard.negated else truth
            if not self._is_of_thread(truth):
                raise NotFollowedError("an mbarrier under a predicate is not followed", n)
        if loop is not None and not all(self.passes(block, latch, loop) for latch in self._graph.loops[loop].latches):
            raise NotFollowedError("an mbarrier that is not used in each round of its loop is not followed", n)
        threads = self.of(self._graph.block_of(n), truth)
        return Use(n, kind, block, loop, threads, (), ()) if not threads else self._with_rounds(
            n, kind, block, loop, threads, place, number
        )  # fmt: skip

    def _note_period(self, n: int, kind: Kind, block: int, loop: int | None, place: Term, number: Term) -> None:
        for term in (place, number) if kind != "init" else ():
            period = self._period(term, loop)
            if period is None:
                raise NotFollowedError("an mbarrier that does not repeat after some rounds is not followed", n)
            self.lead, self.period = max(self.lead, period[0]), lcm(self.period, period[1])
        if self.period > _MOST_ROUNDS:
            raise NotFollowedError(f"mbarriers that do not repeat after {_MOST_ROUNDS} rounds are not followed", n)

    def _with_rounds(
        self, n: int, kind: Kind, block: int, loop: int | None, threads: frozenset[int], place: Term, number: Term
    ) -> Use:
        parts = linear(place)[1]
        bases = [part for part, coefficient in parts if coefficient == 1 and _variable(part) is not None]
        others = [part for part, _ in parts if not bases or part is not bases[0]]
        if len(bases) != 1 or any(part.op == "address" for other in others for part in subterms(other)):
            raise NotFollowedError("which mbarrier it is is not known", n)
        name = _variable(bases[0])
        assert name is not None
        if kind == "init" and (number.value is None or not all(map(self._is_of_thread, others))):
            raise NotFollowedError("which mbarrier is made, or for how many threads, is not known", n)
        if kind == "init":
            made = tuple((name, _low(self._at(place, None, 0, thread), place.width)) for thread in sorted(threads))
            return Use(n, kind, block, loop, threads, made, (number.value or 0,))
        rounds = range(self.rounds if loop is not None else 1)
        objects = tuple((name, _low(self._at(place, loop, k), place.width)) for k in rounds)
        numbers = tuple(self._at(number, loop, k) & (1 if kind == "wait" else -1) for k in rounds)
        return Use(n, kind, block, loop, threads, objects, numbers)

    def _at(self, term: Term, loop: int | None, round_: int, thread: int | None = None) -> int:
        def leaf(one: Term, _: tuple[int, ...]) -> int:
            if one.op == "address":
                return 0
            if thread is not None:
                return self._by_thread[thread][str(one.data[0])]
            turn = self._turning.get(one)
            if turn is None:
                return round_
            numbers = turn.first if round_ < len(turn.first) else turn.again
            return numbers[round_ if numbers is turn.first else (round_ - len(turn.first)) % len(turn.again)]

        return evaluate(term, leaf)

    def _period(self, term: Term, loop: int | None) -> tuple[int, int] | None:
        """Rounds before the term repeats, and after how many it does; None: it may never, or depends on something else."""
        lead, period = 0, 1
        counter = None if loop is None else self._emulation.table.counter(loop)
        for part in subterms(term):
            if not is_leaf(part) or part.op == "address":
                continue
            turn = self._turning.get(part)
            if turn is not None and turn.counter is counter:
                lead, period = max(lead, len(turn.first)), lcm(period, len(turn.again))
            elif part is counter:
                period = lcm(period, 1 << _bits_needed(term, part))
            else:
                return None
        return lead, period

    # ways through the routine

    def passes(self, block: int, goal: int, header: int | None) -> bool:
        """Whether each thread whose number lets it come to the block comes there before the goal, in one round of the loop with
        that header."""
        graph = self._graph
        while not graph.dominates(block, goal):
            above = graph.dominator[block]
            assert above is not None  # the entry dominates every block
            if self.reaches(above, goal, avoiding={block, header}):
                truth = self._branch_to(block)
                if truth is None or not self._is_of_thread(truth):
                    return False
            block = above
        return True

    def reaches(self, block: int, goal: int, avoiding: set[int | None]) -> bool:
        """Whether a way leads from the end of a block to another block."""
        seen: set[int] = set()
        waiting = [s for s in self._graph.blocks[block].successors if s not in avoiding]
        while waiting:
            top = waiting.pop()
            if top == goal:
                return True
            if top not in seen:
                seen.add(top)
                waiting += [s for s in self._graph.blocks[top].successors if s not in avoiding]
        return False

    def is_after(self, first: int, second: int, header: int | None) -> bool:
        """Whether the second instruction may run after the first in one round of the loop with that header."""
        a, b = self._graph.block_of(first), self._graph.block_of(second)
        if a == b and first < second:
            return True
        return b != header and self.reaches(a, b, avoiding={header})

    # all uses

    def _counts(self, is_block_barrier: Callable[[Instruction], bool]) -> Mapping[Object, int]:
        """Each mbarrier is made once, by one thread, before a barrier of the block that all other uses come after."""
        counts: dict[Object, int] = {}
        inits = [use for use in self.uses if use.kind == "init"]
        others = [use for use in self.uses if use.kind != "init"]
        for use in inits:
            for place in use.objects:
                if place in counts:
                    raise NotFollowedError("an mbarrier that is made twice is not followed", use.instruction)
                self._check_place(place, use.instruction)
                counts[place] = use.numbers[0]
        barriers = [n for n, i in enumerate(self._routine.instructions) if is_block_barrier(i)]
        for use in others:
            if unknown := set(use.objects) - set(counts):
                name, offset = min(unknown)
                raise NotFollowedError(f"nobody makes the mbarrier at byte {offset} of {name}", use.instruction)
        if others and not any(self._parts_in_time(b, inits, others) for b in barriers):
            raise NotFollowedError("no barrier lies between an mbarrier's making and its use", others[0].instruction)
        return counts

    def _check_place(self, place: Object, instruction: int) -> None:
        """An mbarrier shares no byte with another and lies in its variable."""
        name, offset = place
        size = self._sizes[name]
        if offset % _BYTES or offset < 0 or (size and offset + _BYTES > size):
            raise NotFollowedError(f"byte {offset} of {name} is no place for an mbarrier", instruction)

    def _parts_in_time(self, barrier: int, inits: Sequence[Use], others: Sequence[Use]) -> bool:
        at = self._graph.block_of(barrier)
        is_first = all(not self.is_after(barrier, use.instruction, None) for use in inits)
        is_made = all(self.passes(use.block, at, None) and self.is_after(use.instruction, barrier, None) for use in inits)
        if any(use.kind == "copy" for use in others) and not all(self._is_fenced(use, barrier) for use in inits):
            return False
        is_before = all(self._graph.dominates(at, use.block) and (use.block != at or barrier < use.instruction) for use in others)
        return is_first and is_made and is_before

    def _is_fenced(self, init: Use, barrier: int) -> bool:
        """Whether bulk copies, which belong to the async proxy, see the mbarrier: a fence comes between."""
        for n, instruction in enumerate(self._routine.instructions):
            is_fence = instruction.opcode == "fence" and instruction.guard is None
            if is_fence and ("mbarrier_init" in instruction.modifiers or is_proxy_fence(instruction)):
                block = self._graph.block_of(n)
                if block == init.block and n > init.instruction and not self.is_after(barrier, n, None):
                    return True
        return False

    def _classes(self) -> Iterator[ThreadClass]:
        used = [use for use in self.uses if use.kind != "init" and use.threads]
        groups: dict[frozenset[int], set[int]] = {}
        for thread in range(len(self._by_thread)):
            own = frozenset(n for n, use in enumerate(used) if thread in use.threads)
            groups.setdefault(own, set()).add(thread)
        for own, threads in groups.items():
            yield ThreadClass(frozenset(threads), tuple(self._steps([used[n] for n in sorted(own)])))

    def _steps(self, uses: Sequence[Use]) -> Iterator[Step]:
        loops = {use.loop for use in uses} - {None}
        if len(loops) > 1:
            raise NotFollowedError("mbarriers in several loops of one thread are not followed", uses[-1].instruction)
        header = next(iter(loops), None)
        before, inside = ([u for u in uses if (u.loop is None) is is_before] for is_before in (True, False))
        for use in before:
            if header is not None and (self.reaches(header, use.block, set()) or not self.passes(use.block, header, None)):
                raise NotFollowedError("an mbarrier behind a loop with others is not followed", use.instruction)
        for chosen in (before, inside):
            chosen.sort(key=cmp_to_key(lambda a, b: -1 if self.is_after(a.instruction, b.instruction, header) else 1))
            for a, b in pairwise(chosen):
                if self.is_after(b.instruction, a.instruction, header) or not self._is_chain(a, b):
                    raise NotFollowedError("in which order mbarriers are used is not known", b.instruction)
        yield from (Step(use, 0) for use in before)
        yield from (Step(use, k) for k in range(self.rounds) for use in inside)

    def _is_chain(self, first: Use, second: Use) -> bool:
        """Whether a thread of both comes to the second from the first alone."""
        return first.block == second.block or self.passes(first.block, second.block, second.loop)


def _variable(term: Term) -> str | None:
    while term.op in ("trunc", "zext"):
        term = term.args[0]
    return str(term.data[0]) if term.op == "address" else None


def _low(value: int, width: int) -> int:
    """A distance, in two's complement."""
    return value - (1 << width) if value >> (width - 1) else value


def _bits_needed(term: Term, counter: Term) -> int:
    """The number of the counter's lowest bits that determine the term."""
    wanted: dict[Term, int] = {term: term.width}
    for part in reversed(list(subterms(term))):
        want = wanted.get(part, 0)
        if part is counter:
            return want
        masks = [a.value for a in part.args if a.value is not None]
        for arg in part.args:
            match part.op:
                case "sum" | "product" | "or" | "xor" | "trunc" | "zext":
                    need = want
                case "and":
                    need = min([want, *(mask.bit_length() for mask in masks)])
                case "high":
                    need = want + int(part.data[0])
                case _:
                    need = arg.width
            wanted[arg] = max(wanted.get(arg, 0), min(need, arg.width))
    return 0
