"""Runs the blocks of a launch: groups of threads, branches, barriers, exits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf

from warploom.synth.compiled.arithmetic import NotFollowedError
from warploom.synth.compiled.data import Comparison, NoBitsError, Undefined, Value
from warploom.synth.compiled.threads import WARP, Block, Lanes, Launch

Action = Callable[[Block, Lanes], None]
"""Executes an instruction for some threads."""
Jump = Callable[[Block, Lanes], dict[int, Lanes]]
"""Where each thread goes on; threads that are named nowhere have ended."""
Members = Callable[[Block, Lanes], list[tuple[Lanes, Lanes]]]
"""Per set of threads that must come together: those that are here, those that must come."""


class Step:
    """One instruction, ready to run: exactly one of the three is set."""

    __slots__ = ("action", "barrier", "jump", "meeting")

    def __init__(
        self,
        action: Action | None = None,
        jump: Jump | None = None,
        meeting: Members | None = None,
        barrier: Barrier | None = None,
    ) -> None:
        self.action = action
        """With `meeting`: executed by threads that came together."""
        self.jump = jump
        self.meeting = meeting
        self.barrier = barrier


class Barrier:
    """`bar.sync a, b`: barrier number and thread count of each thread (0: all)."""

    __slots__ = ("arrive", "is_aligned")

    def __init__(self, arrive: Callable[[Block, Lanes], list[tuple[int, int]]], is_aligned: bool) -> None:
        self.arrive = arrive
        self.is_aligned = is_aligned


def run_launch(launch: Launch, steps: list[Step]) -> None:
    """All blocks, one after the other. FaultError at the first fault; UnsupportedError for what is not followed."""
    gx, gy, gz = launch.grid
    for z, y, x in product(range(gz), range(gy), range(gx)):
        run = _BlockRun(Block(launch, (x, y, z)), steps)
        try:
            run.run()
        except NoBitsError as error:
            raise launch.unsupported(f"expected operations on whole elements, got {error}", run.place) from error
        except RecursionError as error:
            raise launch.unsupported(
                "expected data of moderate depth, got bits cut out of a deeply nested term", run.place
            ) from error
        except NotFollowedError as error:
            raise launch.unsupported(f"expected an operation that this runner follows, got {error}", run.place) from error


class _BlockRun:
    def __init__(self, block: Block, steps: list[Step]) -> None:
        self.block = block
        self.steps = steps
        self.place = 0
        """Instruction that is being executed."""
        self.ready: dict[int, Lanes] = {0: block.everyone}
        self.meeting: dict[int, Lanes] = {}
        """Threads that wait for others at a shuffle or vote, by instruction."""
        self.barriers: dict[int, list[tuple[int, Lanes]]] = {}
        """By barrier number: instruction and threads that arrived there."""

    def run(self) -> None:
        while self.ready or self._release():
            place = min(self.ready)
            lanes = self.ready.pop(place)
            self._run_from(place, lanes)
        if self.meeting or self.barriers:
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
                    ((place, lanes),) = targets.items()
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
        found: dict[int, Lanes] = {}
        wanted: dict[int, int] = {}
        for t, (number, count) in zip(lanes, barrier.arrive(block, lanes), strict=True):
            found.setdefault(number, []).append(t)
            wanted[number] = count
        for number, group in found.items():
            arrived = self.barriers.setdefault(number, [])
            arrived.append((place, group))
            if wanted[number] and sum(len(g) for _, g in arrived) >= wanted[number]:
                self._open(number)

    def _open(self, number: int) -> None:
        arrived = self.barriers.pop(number)
        self._check_aligned(arrived)
        self.block.synchronise([t for _, group in arrived for t in group])
        for place, group in arrived:
            self._enter(place + 1, group)

    def _check_aligned(self, arrived: list[tuple[int, Lanes]]) -> None:
        """bar.sync is executed by whole warps (PTX ISA 9.7.13): lanes of one warp must be at the same instruction."""
        place_of: dict[int, int] = {}
        for place, group in arrived:
            for t in group:
                other = place_of.setdefault(t // WARP, place)
                barrier = self.steps[place].barrier
                if other != place and barrier is not None and barrier.is_aligned:
                    line = self.block.launch.span(other).line
                    message = f"expected all threads of a warp at the same barrier, others are at the one in line {line}"
                    raise self.block.fault("barrier", message, place, thread=t, what="barrier")

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
        for number, arrived in list(self.barriers.items()):
            if sum(len(g) for _, g in arrived) + len(block.exited) >= block.count:
                self._open(number)
                return True
        return False

    def _stuck(self) -> None:
        block = self.block
        for place, lanes in self.meeting.items():
            message = f"expected every thread that the mask names here, thread {lanes[0]} waits for some that never come"
            raise block.fault("shuffle", message, place, thread=lanes[0], what="wait")
        number, arrived = next(iter(self.barriers.items()))
        place, lanes = arrived[0]
        held = sum(len(g) for _, g in arrived)
        message = (
            f"expected all threads of the block at barrier {number}, {held} of {block.count} arrive and the others wait elsewhere"
        )
        raise block.fault("barrier", message, place, thread=lanes[0], what="barrier")


def truth(block: Block, value: Value, instruction: int, thread: int) -> bool:
    """A predicate that control needs: faults when undefined, not followed when it depends on data."""
    if isinstance(value, int):
        return bool(value)
    if isinstance(value, Undefined):
        message = f"expected a defined predicate, got the undefined value of {value.reason}{_from(value)}"
        raise block.fault("undefined value", message, instruction, thread=thread, what="branch")
    told = f"{value.a} {value.op} {value.b}" if isinstance(value, Comparison) else str(value)
    raise block.launch.unsupported(
        f"expected control that does not depend on data, got a decision on {told}", instruction,
        "control depends on data: such kernels are run on numbers (`warploom ptx run`), not proved",
    )  # fmt: skip


def _from(value: Undefined) -> str:
    return f" (line {value.line})" if value.line else ""
