"""Runs the blocks of a launch: groups of threads, branches, barriers, exits."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from warploom.core import UnsupportedError
from warploom.synth.compiled.arithmetic import NotFollowedError
from warploom.synth.compiled.data import Comparison, NoBitsError, Undefined, Value
from warploom.synth.compiled.faults import FaultError
from warploom.synth.compiled.memory import UntoldError
from warploom.synth.compiled.moving import CoupledError, SplitError
from warploom.synth.compiled.threads import WARP, Arrival, Block, Lanes, Launch

WARP_BARRIER = "bar.warp.sync"
_BARRIERS = 16
"""Named barriers of a block."""
Action = Callable[[Block, Lanes], None]
"""Executes an instruction for some threads."""
Jump = Callable[[Block, Lanes], dict[int, Lanes]]
"""A jump says where each thread goes on; threads that are named nowhere have ended."""
Members = Callable[[Block, Lanes], list[tuple[Lanes, Lanes]]]
"""Per set of threads that must come together: those that are here, those that must come."""


class Step:
    """One instruction, ready to run: exactly one of the three is set."""

    __slots__ = ("action", "barrier", "jump", "kind", "meeting")

    def __init__(
        self,
        action: Action | None = None,
        jump: Jump | None = None,
        meeting: Members | None = None,
        barrier: Barrier | None = None,
        kind: str = "",
    ) -> None:
        self.action = action
        """Action of threads that came together at `meeting`."""
        self.jump = jump
        self.kind = kind
        """Kind of a meeting: its instruction; threads may come together at several ones of one kind (PTX ISA, from sm_70 on)."""
        self.meeting = meeting
        self.barrier = barrier


class Barrier:
    """`bar.sync a, b` or `bar.arrive a, b`: barrier number and thread count of each thread (0: all)."""

    __slots__ = ("arrive", "is_aligned", "waits")

    def __init__(self, arrive: Callable[[Block, Lanes], list[tuple[int, int]]], is_aligned: bool, waits: bool) -> None:
        self.arrive = arrive
        self.is_aligned = is_aligned
        self.waits = waits
        """False: bar.arrive."""


class _Phase:
    """Threads that have come to a barrier since it last let threads go."""

    __slots__ = ("arrivals", "count", "waiting")

    def __init__(self, count: int) -> None:
        self.count = count
        """Threads that it takes; 0: all that have not ended."""
        self.waiting: list[tuple[int, Lanes]] = []
        """Waiting threads by instruction."""
        self.arrivals: list[tuple[int, Arrival]] = []
        """Arrivals by bar.arrive: instruction and thread."""

    def members(self) -> set[int]:
        return {t for _, group in self.waiting for t in group} | {a.thread for _, a in self.arrivals}


def run_launch(launch: Launch, steps: list[Step]) -> None:
    """All blocks, one after the other, or the one that stands for several.

    FaultError at the first fault; UnsupportedError for what is not followed.
    """
    gx, gy, gz = launch.grid
    everywhere = ((x, y, z) for z in range(gz) for y in range(gy) for x in range(gx))
    for position in everywhere if launch.first_block is None else (launch.first_block,):
        run = _BlockRun(Block(launch, position), steps)
        try:
            run.run()
        except UntoldError as error:
            raise launch.unsupported(
                f"expected to know {error}", run.place,
                "name what it holds: --symbol NAME=f32[17] for symbols, --symbol NAME=initial for its initial value",
            ) from error  # fmt: skip
        except NoBitsError as error:
            raise launch.unsupported(f"expected operations on whole elements, got {error}", run.place) from error
        except RecursionError as error:
            raise launch.unsupported(
                "expected data of moderate depth, got bits cut out of a deeply nested term", run.place
            ) from error
        except NotFollowedError as error:
            raise launch.unsupported(f"expected an operation that this runner follows, got {error}", run.place) from error
    if launch.at_end is not None:
        launch.at_end()


class _BlockRun:
    def __init__(self, block: Block, steps: list[Step]) -> None:
        self.block = block
        self.steps = steps
        self.place = 0
        """Instruction that is being executed."""
        self.ready: dict[int, Lanes] = {0: block.everyone}
        self.meeting: dict[int, Lanes] = {}
        """Threads that wait for others at a shuffle or vote, by instruction."""
        self.barriers: dict[int, _Phase] = {}
        """Phases by barrier number."""
        self.passed: dict[int, tuple[int, dict[int, int]]] = {}
        """By barrier number: when it last let threads go that were not all of the block: epoch, and moment by thread."""

    def run(self) -> None:
        while self.ready or self._release():
            place = min(self.ready)
            lanes = self.ready.pop(place)
            try:
                self._run_from(place, lanes)
            except (SplitError, CoupledError, FaultError, UnsupportedError, NoBitsError, NotFollowedError) as error:
                rounds = self.block.launch.rounds
                header = None if rounds is None else rounds.failed(self.block, error)
                if header is None:
                    raise
                self.meeting, self.barriers, self.passed = {}, {}, {}
                self.block.exited.clear()
                self.ready = {header: self.block.everyone}
        if self.meeting or any(phase.waiting for phase in self.barriers.values()):
            self._stuck()

    def _run_from(self, place: int, lanes: Lanes) -> None:
        """Runs a group up to the next place where another group stands."""
        block, steps, launch = self.block, self.steps, self.block.launch
        end = len(steps)
        limit = min(self.ready, default=inf)
        while place < limit:
            if place >= end:
                block.exited.update(lanes)
                return
            self.place = place
            step = steps[place]
            block.execution += 1
            launch.steps_left -= len(lanes)
            if launch.steps_left < 0:
                raise launch.unsupported(
                    "expected a launch that ends within the step limit, and it still runs", place,
                    "choose a smaller launch, or check the loop's condition",
                )  # fmt: skip
            if step.jump is not None:
                targets = step.jump(block, lanes)
                going = sum(map(len, targets.values()))
                if going < len(lanes):
                    staying = {t for group in targets.values() for t in group}
                    block.exited.update(t for t in lanes if t not in staying)
                if len(targets) == 1:
                    before = place
                    ((place, lanes),) = targets.items()
                    if launch.rounds is not None and place <= before and len(lanes) == block.count and self._is_alone():
                        launch.rounds.arrive(block, place)
                    if place > limit:
                        break
                    continue
                for target, group in targets.items():
                    self._enter(target, group)
                return
            if step.barrier is not None:
                self._arrive(step.barrier, place, lanes)
                return
            if step.meeting is not None:
                lanes = sorted(lanes + self.meeting.pop(place, []))
                if not self._met(step.meeting, place, lanes):
                    return
            assert step.action is not None
            step.action(block, lanes)
            place += 1
        self._enter(place, lanes)

    def _is_alone(self) -> bool:
        """Whether nobody waits anywhere."""
        return not (self.ready or self.meeting or self.passed or any(p.waiting or p.arrivals for p in self.barriers.values()))

    def _enter(self, place: int, lanes: Lanes) -> None:
        before = self.ready.get(place)
        self.ready[place] = lanes if before is None else sorted(before + lanes)

    # ------------------------------------------------------------ meetings and barriers

    def _met(self, members: Members, place: int, lanes: Lanes) -> bool:
        """Whether everyone whom `lanes` wait for is here; if not, parks those who must wait and lets the others go on."""
        absent = self.block.exited
        here = set(lanes)
        waiting: set[int] = set()
        for group, named in members(self.block, lanes):
            if any(t not in here and t not in absent for t in named):
                waiting.update(group)
        if not waiting:
            return True
        self.meeting[place] = sorted(waiting)
        going = sorted(here - waiting)
        if going:
            action = self.steps[place].action
            assert action is not None
            action(self.block, going)
            self._enter(place + 1, going)
        return False

    def _arrive(self, barrier: Barrier, place: int, lanes: Lanes) -> None:
        block = self.block
        found: dict[tuple[int, int, int], Lanes] = {}
        for t, (number, count) in zip(lanes, barrier.arrive(block, lanes), strict=True):
            if not 0 <= number < _BARRIERS:
                raise self._barrier_fault(f"expected a barrier number of 0 to {_BARRIERS - 1}, got {number}", place, t)
            if count % WARP:
                raise self._barrier_fault(f"expected whole warps at a barrier, got a count of {count} threads", place, t)
            # a counted barrier may let the first warps go before it counts the others
            found.setdefault((number, count, t // WARP if count else -1), []).append(t)
        for (number, count, _), group in found.items():
            phase = self.barriers.setdefault(number, _Phase(count))
            if phase.count != count:
                message = f"expected one count of threads at barrier {number}, got {count} and {phase.count}"
                raise self._barrier_fault(message, place, group[0])
            self._check_comes_after(number, place, group)
            if barrier.waits:
                phase.waiting.append((place, group))
            else:
                twice = phase.members().intersection(group)
                if twice:
                    message = f"expected barrier {number} to be complete before a thread arrives at it again"
                    raise self._barrier_fault(message, place, min(twice))
                phase.arrivals += [(place, block.arrival(t)) for t in group]
                self._enter(place + 1, group)
            if phase.count and self._is_complete(phase):
                self._open(number)

    def _check_comes_after(self, number: int, place: int, group: Lanes) -> None:
        """Threads that come to a barrier for its next phase must know that the last one is over: else they may end that one."""
        if number not in self.passed:
            return
        block = self.block
        epoch, moments = self.passed[number]
        if block.epoch > epoch:
            return
        for t in group:
            if t not in moments and not any(block.has_seen(t, other, moment) for other, moment in moments.items()):
                message = (
                    f"expected thread {t} to come to barrier {number} after those that passed it before, nothing orders them"
                )
                raise self._barrier_fault(message, place, t)

    def _is_complete(self, phase: _Phase) -> bool:
        """Whether the warps that are here with all their threads are enough."""
        members, exited = phase.members(), self.block.exited
        if not phase.count:
            return len(members) + len(exited) >= self.block.count
        whole = 0
        for warp in {t // WARP for t in members}:
            lanes = range(warp * WARP, min(warp * WARP + WARP, self.block.count))
            whole += all(t in members or t in exited for t in lanes)
        return whole * WARP >= phase.count

    def _open(self, number: int) -> None:
        phase = self.barriers.pop(number)
        self._check_aligned(phase)
        block = self.block
        waiting = [t for _, group in phase.waiting for t in group]
        if not waiting:
            message = f"expected a thread that waits at barrier {number}, all that come only arrive"
            raise block.launch.unsupported(message, phase.arrivals[0][0])
        epoch = block.epoch
        block.synchronise(waiting, [a for _, a in phase.arrivals], with_exited=not phase.count)
        if block.epoch > epoch:
            self.passed.pop(number, None)
        else:
            self.passed[number] = epoch, {t: block.times[t] for t in waiting}
        for place, group in phase.waiting:
            self._enter(place + 1, group)

    def _check_aligned(self, phase: _Phase) -> None:
        """bar.sync is executed by whole warps (PTX ISA 9.7.13): lanes of one warp must be at the same instruction."""
        place_of: dict[int, int] = {}
        here = [*phase.waiting, *((place, [a.thread]) for place, a in phase.arrivals)]
        for place, group in here:
            for t in group:
                other = place_of.setdefault(t // WARP, place)
                barrier = self.steps[place].barrier
                if other != place and barrier is not None and barrier.is_aligned:
                    line = self.block.launch.span(other).line
                    message = f"expected all threads of a warp at the same barrier, others are at the one in line {line}"
                    raise self._barrier_fault(message, place, t)

    def _barrier_fault(self, message: str, place: int, thread: int) -> FaultError:
        return self.block.fault("barrier", message, place, thread=thread, what="barrier")

    def _release(self) -> bool:
        """Lets go on whom nothing holds back any more, when no thread can run otherwise."""
        block = self.block
        for place in sorted(self.meeting):
            lanes = self.meeting.pop(place)
            members = self.steps[place].meeting
            assert members is not None
            absent = block.exited
            here = set(lanes)
            freed = [t for group, named in members(block, lanes) if all(n in here or n in absent for n in named) for t in group]
            if freed:
                rest = sorted(here - set(freed))
                if rest:
                    self.meeting[place] = rest
                self._enter(place, sorted(freed))
                return True
            self.meeting[place] = lanes
        for number, phase in list(self.barriers.items()):
            if phase.waiting and self._is_complete(phase):
                self._open(number)
                return True
        return self._release_warps()

    def _release_warps(self) -> bool:
        """Lets go on the lanes of a warp that wait for each other at several bar.warp.sync of one mask."""
        block = self.block
        groups: dict[tuple[int, ...], list[tuple[int, Lanes]]] = {}
        for place, lanes in self.meeting.items():
            members = self.steps[place].meeting
            if members is not None and self.steps[place].kind == WARP_BARRIER:
                for group, named in members(block, lanes):
                    groups.setdefault(tuple(named), []).append((place, group))
        for named, waiting in groups.items():
            here = {t for _, group in waiting for t in group}
            if len(waiting) < 2 or not all(t in here or t in block.exited for t in named) or not here.issubset(named):
                continue
            block.synchronise(sorted(here))
            for place, group in waiting:
                rest = sorted(set(self.meeting.pop(place)).difference(group))
                if rest:
                    self.meeting[place] = rest
                self._enter(place + 1, group)
            return True
        return False

    def _stuck(self) -> None:
        block = self.block
        for place, lanes in self.meeting.items():
            kind = self.steps[place].kind
            warps = {t // WARP for t in lanes}
            for other, others in self.meeting.items():
                if kind and other != place and self.steps[other].kind == kind and not warps.isdisjoint(t // WARP for t in others):
                    line = block.launch.span(other).line
                    message = f"expected the lanes of a warp at one {kind}, others wait at the one in line {line}"
                    raise block.launch.unsupported(message, place)
            message = f"expected every thread that the mask names here, thread {lanes[0]} waits for some that never come"
            raise block.fault("shuffle", message, place, thread=lanes[0], what="wait")
        number, phase = next((n, p) for n, p in self.barriers.items() if p.waiting)
        place, lanes = phase.waiting[0]
        wanted = f"{phase.count} threads in whole warps" if phase.count else "all threads of the block"
        message = (
            f"expected {wanted} at barrier {number}, {len(phase.members())} of {block.count} arrive and the others wait "
            "elsewhere or have ended"
        )
        raise self._barrier_fault(message, place, lanes[0])


def truth(block: Block, value: Value, instruction: int, thread: int) -> bool:
    """A predicate that control needs: faults when undefined, not followed when it depends on data."""
    if isinstance(value, int):
        return bool(value)
    if isinstance(value, Undefined):
        message = f"expected a defined predicate, got the undefined value of {value.reason}{_from(value)}"
        raise block.fault("undefined value", message, instruction, thread=thread, what="branch")
    decide = block.launch.data.decide
    if decide is not None and isinstance(value, Comparison) and (way := decide(value)) is not None:
        return way
    told = f"{value.a} {value.op} {value.b}" if isinstance(value, Comparison) else str(value)
    raise block.launch.unsupported(
        f"expected control that does not depend on data, got a decision on {told}", instruction,
        "control depends on data: such kernels are run on numbers (`warploom ptx run`), not proved",
    )  # fmt: skip


def _from(value: Undefined) -> str:
    return f" (line {value.line})" if value.line else ""
