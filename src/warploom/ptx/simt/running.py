"""Running blocks: one batch of whole blocks, its groups of threads, and the order in which they run.

Groups that stand at the same point with the same call stack run as one; of several the lowest point goes first (`order`), so the
threads of a warp meet again as early as they can. Threads at a barrier or at a warp-wide instruction that lacks lanes are parked.
A group that has waited for long goes first once, so that spinning threads do not starve the one they wait for.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span
from warploom.ptx.simt.barriers import Barriers, deadlock, release_warp_barriers
from warploom.ptx.simt.clusters import ClusterBarriers, check_exit
from warploom.ptx.simt.code import Code, Context, Group, merged
from warploom.ptx.simt.copies import Copies
from warploom.ptx.simt.findings import SHARED, Coordinates, FaultError, Finding, Kind
from warploom.ptx.simt.marks import WaitingReads
from warploom.ptx.simt.order_of_threads import WIDE, Clock
from warploom.ptx.simt.products import Products
from warploom.ptx.simt.proxies import watch
from warploom.ptx.simt.readers import Readers
from warploom.ptx.simt.regions import Region, Views
from warploom.ptx.simt.special import CHANGING, is_alike, special_value
from warploom.ptx.simt.spins import Spins
from warploom.ptx.simt.state import LaunchState
from warploom.ptx.simt.tensor_memory import TensorMemory
from warploom.ptx.simt.threads import Threads, Value
from warploom.ptx.simt.windows import LOCAL_WINDOW

Key: TypeAlias = tuple[int, ...]

PATIENCE = 10_000
"""Turns after which a waiting group goes first; doubles each time."""
POLLS = 64
"""Accesses of the kind that spinning threads make after which a waiting group goes first."""
GRACE = 64
"""Turns that such a group has."""
CHECK_TURNS = 256
"""Turns after which parked threads are looked at although others can run."""


class Execution:
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
        """By thread: true until it has left."""
        numbers = np.arange(count, dtype=np.int64)
        self.block_of: Threads = np.repeat(numbers, self.padded_threads)
        if self.padded_threads != self.block_threads:
            self.alive = np.tile(np.arange(self.padded_threads) < self.block_threads, count)
            all_threads = np.flatnonzero(self.alive)
        self._start = all_threads
        self.shared = Region("shared memory", 0, launch.shared_bytes, Views(max(launch.shared_stride * count, 16)))
        self.shared_base: Threads = np.repeat(numbers * launch.shared_stride, self.padded_threads)
        self.local_stride = 0
        self.local = Region("local memory", 0, 0, Views(16), is_watched=False)
        self._written_local: Views | None = None
        self._specials: dict[str, Value] = {}
        self._pending: dict[Key, list[Group]] = {}
        self._since: dict[Key, int] = {}
        self._heap: list[tuple[Key, int, Context]] = []
        self._period = PATIENCE
        self._patience = PATIENCE
        self.polls = 0
        """Volatile, ordered and atomic accesses and tests of mbarriers since a waiting group was last let go first."""
        self._turn = 0
        self._grace = 0
        self._checked = 0
        self._passing: list[tuple[Group, int]] = []
        self.clock = Clock(self.padded_threads, first, count, self.block_of, launch.fences, launch.cluster_blocks)
        self.copies = Copies(self.total)
        self.readers = Readers(self.total)
        self.products = Products(self.total)
        self.waiting: WaitingReads | None = None
        """None where reads of shared memory get their marks at once, since others than barriers look at them."""
        if launch.is_read_asynchronously and launch.checks:
            watch(self.shared)
        elif launch.cluster_blocks == 1:
            self.waiting = self.clock.waiting = WaitingReads(self.shared)
        self.is_watching = launch.checks
        self.alive_count = int(np.count_nonzero(self.alive))
        self.warp_waits: dict[Key, tuple[Group, int]] = {}
        """Threads before a warp-wide instruction whose other lanes are not there yet, and its segment."""
        self.barriers = Barriers(self.blocks)
        self.clusters = ClusterBarriers(self.total)
        self.tensor_memory = TensorMemory()
        self.spins = Spins(self.total)
        self.initialised: dict[int, tuple[int, int, Span]] = {}
        """By place of an mbarrier that no barrier of its block has followed: the thread that set it, when, and where."""

    # Running

    def run(self) -> None:
        """Runs until all threads have left; FaultError, OutOfBudgetError, UserError."""
        code = self.launch.entry
        context = Context(code)
        self.reserve_local(code.frame_bytes)
        self.push(Group(self._start, context, list(code.template)), 0)
        while True:
            group = self._next()
            if group is None:
                break
            self._advance(*group)
        self.tensor_memory.check_freed(self)

    def _advance(self, group: Group, index: int) -> None:
        """Runs the group until it splits, waits, leaves, or another group stands at the same point or earlier.

        A group that goes first because it has waited for long runs for `GRACE` turns whatever stands earlier.
        """
        until = self._grace
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
            if segment.gate is not None and not group.has_passed:
                passed = segment.gate(group, self)
                if passed is None:
                    return
                group = passed
            group.has_passed = False
            launch.spend(context.code, segment, group)
            for step in segment.steps:
                step(group, self)
            index = segment.finish(group, self)
            if index < 0:
                return
            self._turn += 1
            if self._turn < until:
                continue
            if self._heap:
                context = group.context
                key = (*context.path, context.code.segments[index].rank)
                if key >= self._heap[0][0] or self._turn >= self._patience or self.polls > POLLS:
                    self.push(group, index)
                    return
            elif self._turn - self._checked > CHECK_TURNS and (self.barriers.waits or self.warp_waits):
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
        if self._passing:
            return self._passing.pop()
        if not self._heap or (self._turn - self._checked > CHECK_TURNS and (self.barriers.waits or self.warp_waits)):
            self.release_parked()
            if self._passing:
                return self._passing.pop()
            if not self._heap:
                return None
        if self._turn >= self._patience or self.polls > POLLS:
            if self._turn >= self._patience:
                self._period *= 2
            self._patience = self._turn + self._period
            self.polls = 0
            self._grace = self._turn + GRACE
            oldest = min(self._heap, key=lambda entry: self._since[entry[0]])
            self._heap.remove(oldest)
            heapq.heapify(self._heap)
            key, index, context = oldest
        else:
            key, index, context = heapq.heappop(self._heap)
        groups = self._pending.pop(key)
        del self._since[key]
        return merged(groups, context.code.segments[index].live_in), index

    def push_through(self, group: Group, index: int) -> None:
        """Like `push`, past the gate of the segment."""
        group.has_passed = True
        self._passing.append((group, index))

    def leave(self, group: Group) -> None:
        """The threads exit."""
        self.alive[group.threads] = False
        self.alive_count -= group.size
        if self.clusters.touched:
            check_exit(group, self)

    # Waiting

    def park(self, group: Group, index: int, unready: NDArray[np.int64]) -> Group | None:
        """Parks the threads at positions `unready` before the warp-wide instruction of segment `index`; the others, if any."""
        key = (*group.context.path, group.context.code.segments[index].rank)
        waiting, rest = group, None
        if len(unready) < group.size:
            left = np.ones(group.size, np.bool_)
            left[unready] = False
            waiting, rest = group.part(unready), group.part(np.flatnonzero(left))
        self.warp_waits[key] = (waiting, index)
        return rest

    def parked_at(self, group: Group, index: int) -> Group:
        """The group with those that wait before the same instruction."""
        if not self.warp_waits:
            return group
        key = (*group.context.path, group.context.code.segments[index].rank)
        found = self.warp_waits.pop(key, None)
        return group if found is None else merged([found[0], group])

    def release_parked(self) -> None:
        """Lets go on who can; FaultError (deadlock) when all that are left wait for each other."""
        self._checked = self._turn
        if self.barriers.release(self):
            return
        waits, self.warp_waits = self.warp_waits, {}
        for waiting, index in waits.values():
            gate = waiting.context.code.segments[index].gate
            assert gate is not None
            passed = gate(waiting, self)
            if passed is not None:
                self.push_through(passed, index)
        if self._heap or self._passing or release_warp_barriers(self):
            return
        if self.warp_waits or self.barriers.waits:
            raise deadlock(self)

    def parked(self) -> list[Group]:
        """The groups that wait at barriers, or before warp-wide instructions."""
        waiting = [wait.group for waits in self.barriers.waits.values() for wait in waits]
        return waiting + [group for group, _ in self.warp_waits.values()]

    def lane_masks(self, warps: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.uint32]:
        """Flags by thread of the batch as one u32 per chosen warp."""
        return np.packbits(flags.reshape(-1, 32)[warps], axis=-1, bitorder="little").view(np.uint32)[:, 0]

    # Places

    def special(self, name: str, group: Group) -> Value:
        """A special register's value for the group."""
        value = self._specials.get(name)
        if value is None:
            kept, key = self.launch.specials, (name, self.blocks)
            value = kept.get(key)
            if value is None:
                value = special_value(name, self)
                assert value is not None
                if is_alike(name):
                    kept[key] = value
            if name not in CHANGING:
                self._specials[name] = value
        if value.ndim == 0 or group.size == self.total:
            return value
        return value[group.threads]

    def bytes_at(self, thread: int, address: int, most: int) -> bytes:
        """Up to `most` bytes from a generic address on, as the thread sees them; none where there is no memory."""
        if LOCAL_WINDOW <= address < LOCAL_WINDOW + self.local_stride:
            start = thread * self.local_stride + address - LOCAL_WINDOW
            return self.local.views.bytes[start : min(start + most, (thread + 1) * self.local_stride)].tobytes()
        region = self.launch.regions.at(address)
        if region is None:
            return b""
        start = address - region.base
        return region.views.bytes[start : min(start + most, region.size)].tobytes()

    def fence(self, group: Group, *, scope: int = WIDE) -> None:
        """Publishes the earlier writes of these threads, and takes what they read as acquired."""
        self.clock.release(group.threads, scope=scope)
        self.clock.acquire(group.threads, scope=scope)

    def reserve_local(self, size: int) -> None:
        """Reserves at least `size` bytes of stack for every thread."""
        if size <= self.local_stride:
            return
        stride = max(64, 1 << (size - 1).bit_length())

        def grown(views: Views) -> Views:
            found = Views(stride * self.total)
            if self.local_stride:
                old = views.bytes[: self.local_stride * self.total].reshape(self.total, self.local_stride)
                found.bytes[: stride * self.total].reshape(self.total, stride)[:, : self.local_stride] = old
            return found

        self.local.views = grown(self.local.views)
        if self._written_local is not None:
            self._written_local = grown(self._written_local)
        self.local_stride = stride

    def written_local(self) -> Views:
        """For each byte of local memory whether the thread has written it: 0, or all ones."""
        if self._written_local is None:
            self._written_local = Views(self.local.views.size)
        return self._written_local

    def coordinates(self, thread: int) -> tuple[Coordinates, Coordinates]:
        """Block and thread in the block, from an index in the batch."""
        return self.launch.coordinates(self.first_block * self.padded_threads + thread)

    # Findings

    def finding(self, kind: Kind, message: str, code: Code, instruction: int, thread: int, address: int | None = None) -> Finding:
        block, inside = self.coordinates(thread)
        array, byte = self._place(kind, address)
        return Finding(kind, message, code.routine.span(instruction), block, inside, address, array, byte)

    def _place(self, kind: Kind, address: int | None) -> tuple[str, int | None]:
        """The array at or nearest to an address, and the byte in it."""
        if address is None:
            return "", None
        if kind in SHARED:
            return self.shared.name, address
        found = self.launch.regions.at(address)
        if found is None:
            nearest = self.launch.regions.nearest(address)
            found = None if nearest is None else nearest[0]
        return ("", None) if found is None else (found.name, address - found.base)

    def report(
        self, kind: Kind, message: str, code: Code, instruction: int, thread: int, *, address: int | None = None, count: int = 1,
        others: tuple[tuple[str, Span], ...] = (),
    ) -> None:  # fmt: skip
        """Adds a finding that does not stop the launch."""
        found = self.finding(kind, message, code, instruction, thread, address)
        self.launch.findings.add(replace(found, count=count, others=others))

    def fault(
        self, kind: Kind, message: str, code: Code, instruction: int, thread: int, address: int | None = None
    ) -> FaultError:
        return FaultError(self.finding(kind, message, code, instruction, thread, address))
