"""The machine: one batch of whole blocks, its groups of threads, and the order in which they run.

Groups that stand at the same point with the same call stack run as one; of several the lowest point goes first (`order`), so the
threads of a warp meet again as early as they can. Threads at a barrier or at a warp-wide instruction that lacks lanes are parked.
A group that has waited for long goes first once, so that spinning threads do not starve the one they wait for.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Code, Context, Segment
from warploom.ptx.simt.findings import Coordinates, Fault, Finding, Kind
from warploom.ptx.simt.regions import Region, Views
from warploom.ptx.simt.threads import Group, Threads, Value, merged

if TYPE_CHECKING:
    from warploom.ptx.simt.state import LaunchState

Key: TypeAlias = tuple[int, ...]

PATIENCE = 10_000
"""Turns after which a waiting group goes first; doubles each time."""
DEPTH_LIMIT = 256
"""Nested calls."""


class OutOfBudget(Exception):
    """The limit of executed instructions is reached."""


class Machine:
    """Runs blocks [first, first + count) of the grid, in linear order, to their end."""

    def __init__(self, launch: LaunchState, first: int, count: int) -> None:
        self.launch = launch
        self.first_block = first
        self.blocks = count
        self.block_threads = launch.block_threads
        self.padded_threads = (self.block_threads + 31) // 32 * 32
        """Threads of a block with those that fill its last warp."""
        self.total = count * self.padded_threads
        all_threads = np.arange(self.total, dtype=np.int64)
        self.alive: NDArray[np.bool_] = np.ones(self.total, np.bool_)
        """By thread; False once it has left."""
        self.block_of: Threads = all_threads // self.padded_threads
        if self.padded_threads != self.block_threads:
            self.alive = all_threads % self.padded_threads < self.block_threads
            all_threads = np.flatnonzero(self.alive)
        self._start = all_threads
        self.shared = Region("shared memory", 0, launch.shared_bytes, Views(max(launch.shared_stride * count, 16)))
        self.shared_base: Threads = self.block_of * launch.shared_stride
        self.local_stride = 0
        self.local = Region("local memory", 0, 0, Views(16))
        self._specials: dict[str, Value] = {}
        self._pending: dict[Key, list[Group]] = {}
        self._since: dict[Key, int] = {}
        self._heap: list[tuple[Key, int, Context]] = []
        self._patience = PATIENCE
        self._turn = 0
        self.parked: list[Parked] = []

    # Running

    def run(self) -> None:
        """Until all threads have left; Fault, OutOfBudget, UserError."""
        code = self.launch.entry
        context = Context(code)
        self.reserve_local(code.frame_bytes)
        self.push(Group(self._start, context, list(code.template)), 0)
        while True:
            group = self._next()
            if group is None:
                break
            self._advance(*group)

    def _advance(self, group: Group, index: int) -> None:
        """Runs the group until it splits, waits, leaves, or another group stands at the same point or earlier."""
        launch = self.launch
        while True:
            context = group.context
            segment = context.code.segments[index]
            if segment.steps is None:
                launch.decode(context.code, segment)
            assert segment.steps is not None and segment.finish is not None
            registers, template = group.registers, context.code.template
            if len(registers) < len(template):
                registers += template[len(registers) :]
            if segment.gate is not None:
                passed = segment.gate(group, self)
                if passed is None:
                    return
                group = passed
            launch.spend(segment, group)
            for step in segment.steps:
                step(group, self)
            index = segment.finish(group, self)
            if index < 0:
                return
            self._turn += 1
            if self._heap:
                context = group.context
                key = (*context.path, context.code.segments[index].rank)
                if key >= self._heap[0][0] or self._turn >= self._patience:
                    self.push(group, index)
                    return

    def push(self, group: Group, index: int) -> None:
        """The group will run from that segment of its routine on."""
        context = group.context
        key = (*context.path, context.code.segments[index].rank)
        waiting = self._pending.get(key)
        if waiting is None:
            self._pending[key] = [group]
            self._since[key] = self._turn
            heapq.heappush(self._heap, (key, index, context))
        else:
            waiting.append(group)

    def _next(self) -> tuple[Group, int] | None:
        if not self._heap:
            self.release_parked()
            if not self._heap:
                return None
        if self._turn >= self._patience:
            self._patience = self._turn + 2 * self._patience
            oldest = min(self._heap, key=lambda entry: self._since[entry[0]])
            self._heap.remove(oldest)
            heapq.heapify(self._heap)
            key, index, context = oldest
        else:
            key, index, context = heapq.heappop(self._heap)
        groups = self._pending.pop(key)
        del self._since[key]
        return merged(groups, context.code.segments[index].live_in), index

    def leave(self, group: Group) -> None:
        """The threads exit."""
        self.alive[group.threads] = False

    # Waiting

    def release_parked(self) -> None:
        if self.parked:
            raise NotImplementedError

    # Places

    def special(self, name: str, group: Group) -> Value:
        """A special register's value for the group."""
        value = self._specials.get(name)
        if value is None:
            value = self.launch.special(name, self)
            self._specials[name] = value
        if value.ndim == 0 or group.size == self.total:
            return value
        return value[group.threads]

    def reserve_local(self, size: int) -> None:
        """At least `size` bytes of stack for every thread."""
        if size <= self.local_stride:
            return
        stride = max(64, 1 << (size - 1).bit_length())
        grown = Views(stride * self.total)
        if self.local_stride:
            old = self.local.views.bytes[: self.local_stride * self.total].reshape(self.total, self.local_stride)
            grown.bytes[: stride * self.total].reshape(self.total, stride)[:, : self.local_stride] = old
        self.local.views = grown
        self.local_stride = stride

    def coordinates(self, thread: int) -> tuple[Coordinates, Coordinates]:
        """Block and thread in the block, from an index in the batch."""
        linear = self.first_block + thread // self.padded_threads
        return _split(linear, self.launch.grid), _split(thread % self.padded_threads, self.launch.block)

    # Findings

    def finding(self, kind: Kind, message: str, code: Code, instruction: int, thread: int, address: int | None = None) -> Finding:
        block, inside = self.coordinates(thread)
        return Finding(kind, message, code.routine.span(instruction), block, inside, address)

    def fault(self, kind: Kind, message: str, code: Code, instruction: int, thread: int, address: int | None = None) -> Fault:
        return Fault(self.finding(kind, message, code, instruction, thread, address))


class Parked:
    """Placeholder."""


def _split(linear: int, extents: Coordinates) -> Coordinates:
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


def segment_key(context: Context, segment: Segment) -> Key:
    return (*context.path, segment.rank)
