"""The code that runs and what a step of it may touch: groups of threads, routines decoded into closures, the machine they see.

A group is the threads of one batch that stand at the same program point with the same call stack and run together. It owns its
registers: slot -> one value per thread, in the order of `threads`, or a zero-dimensional value that all of them share. Groups
split where threads part and merge where they meet again; registers that are dead there are dropped.

Instructions are closures, in segments that run without a break. A segment ends where threads may part, wait or leave: at
branches, calls, barriers, and before every instruction that needs several lanes of a warp together. Segments are decoded when
first run, so what is never reached need not be known.

These types need each other, so they stand in one file. The families of instructions above it
know the run as `RunningBlocks` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Span
from warploom.ptx.routine import Program, Routine
from warploom.ptx.simt.findings import Coordinates, FaultError, Finding, Findings, Kind
from warploom.ptx.simt.images import Image
from warploom.ptx.simt.marks import WaitingReads
from warploom.ptx.simt.order_of_threads import WIDE, Arrival, Clock
from warploom.ptx.simt.products import Products
from warploom.ptx.simt.regions import Region, Regions, Views
from warploom.ptx.simt.threads import Registers, Threads, Value, WarpLayout

Step: TypeAlias = "Callable[[Group, RunningBlocks], None]"
"""Runs one instruction for all threads of a group."""
End: TypeAlias = "Callable[[Group, RunningBlocks], int]"
"""Ends a segment: the next segment of the whole group, or -1 when the group was split, parked or has left."""
Gate: TypeAlias = "Callable[[Group, RunningBlocks], Group | None]"
"""A check before a segment: it returns the threads that may go on now; the others are parked."""
Members: TypeAlias = "Callable[[Group, RunningBlocks], Value]"
"""The lanes that a warp-wide instruction names: u32 per thread, or one for all."""


@dataclass(slots=True, eq=False)
class Segment:
    """Instructions [start, end) of a routine."""

    index: int
    start: int
    end: int
    successors: tuple[int, ...]
    rank: int = 0
    live_in: tuple[int, ...] = ()
    """Slots whose value may be read from here on."""
    steps: list[Step] | None = None
    """None: not decoded yet."""
    finish: End | None = None
    gate: Gate | None = None
    members: Members | None = None
    """Members of a segment that starts with a warp-wide instruction."""
    classes: tuple[tuple[str, int], ...] = ()
    """Instruction classes and how many of each, for the counts."""


@dataclass(slots=True, eq=False)
class Code:
    """One routine: its segments, its slots for registers and constants, its stack frame."""

    routine: Routine
    number: int
    """Distinct for every routine of a program."""
    segments: list[Segment] = field(default_factory=list[Segment])
    segment_at: dict[int, int] = field(default_factory=dict[int, int])
    """Index of the segment that starts at an instruction."""
    slots: dict[str, int] = field(default_factory=dict[str, int])
    """Register name -> slot."""
    dtypes: list[np.dtype[np.generic] | None] = field(default_factory=list["np.dtype[np.generic] | None"])
    template: list[Value | None] = field(default_factory=list["Value | None"])
    """Registers of a thread that enters: constants are there, all else is None."""
    frame_offsets: dict[str, int] = field(default_factory=dict[str, int])
    """Local and parameter variables -> offset in the stack frame, bytes."""
    frame_bytes: int = 0
    doubtful: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """Instruction -> slots that it reads and that some path has not written."""
    written: dict[int, int] = field(default_factory=dict[int, int])
    """For every slot that is doubtful somewhere, the slot that says which threads have written it."""
    undefined: dict[int, int] = field(default_factory=dict[int, int])
    """For every slot that a shuffle may leave undefined, the slot of its marks (`simt.undefined`)."""
    products: int = 0
    """Registers of wgmma and those that are moved into or out of them, as a bit set."""
    wrapping: dict[int, int] = field(default_factory=dict[int, int])
    """For every slot on the way to an address, the slot of its marks (`simt.wrapping`); none unless they are looked for."""


@dataclass(slots=True, eq=False)
class Context:
    """A call stack: which routine runs, called from where. One object per stack that occurs in a batch."""

    code: Code
    path: tuple[int, ...] = ()
    """Ranks of the calling segments and numbers of the called routines, outermost first: orders the groups."""
    frame_base: int = 0
    """Offset of the frame in every thread's stack, bytes."""
    caller: Context | None = None
    returns_to: int = -1
    """Segment of the caller."""
    on_return: Step | None = None
    """Hands the results over; runs with the callee's frame still in place and the caller's registers restored."""
    inner: dict[tuple[int, int], Context] = field(default_factory=dict["tuple[int, int]", "Context"])
    """Contexts by calling segment and number of the called routine."""

    @property
    def depth(self) -> int:
        return len(self.path) // 2


class Group:
    """Threads that run together; `frames` holds the registers of callers, outermost first."""

    __slots__ = ("_layout", "_warps", "context", "frames", "has_passed", "registers", "size", "threads")

    def __init__(self, threads: Threads, context: Context, registers: Registers, frames: tuple[Registers, ...] = ()) -> None:
        self.context = context
        self.threads = threads
        """Indices in the batch, ascending; thread t is lane t % 32 of warp t // 32."""
        self.size = len(threads)
        self.registers = registers
        self.frames = frames
        self._warps = -1
        self._layout: WarpLayout | None = None
        self.has_passed = False
        """True if the gate before the next segment let it through already."""

    @property
    def warps(self) -> int:
        """Number of warps that have a thread here."""
        if self._warps < 0:
            warp = self.threads >> 5
            self._warps = 1 + int(np.count_nonzero(warp[1:] != warp[:-1])) if self.size else 0
        return self._warps

    @property
    def layout(self) -> WarpLayout:
        """The threads as rows of 32 lanes."""
        if self._layout is None:
            self._layout = WarpLayout(self.threads)
        return self._layout

    def part(self, chosen: NDArray[np.int64], live: Iterable[int] | None = None) -> Group:
        """The threads at positions `chosen` (ascending), with the registers `live` (None: all that have a value)."""
        registers = _chosen(self.registers, chosen, self.context.code.template, live)
        frames = tuple(_chosen(frame, chosen, frame, None) for frame in self.frames)
        return Group(self.threads[chosen], self.context, registers, frames)


def _chosen(registers: Registers, chosen: NDArray[np.int64], constants: Registers, live: Iterable[int] | None) -> Registers:
    if live is None:
        return [v if v is None or v.ndim == 0 else v[chosen] for v in registers]
    taken = list(constants)
    for slot in live:
        value = registers[slot]
        taken[slot] = value if value is None or value.ndim == 0 else value[chosen]
    return taken


def merged(groups: list[Group], live: Iterable[int] | None = None) -> Group:
    """One group of the threads of all; where only some have written a register, it is zero for the others."""
    if len(groups) == 1:
        return groups[0]
    threads = np.concatenate([g.threads for g in groups])
    order = np.argsort(threads, kind="stable")
    sizes = [g.size for g in groups]
    registers = _joined([g.registers for g in groups], sizes, order, groups[0].context.code.template, live)
    frames = tuple(
        _joined([g.frames[depth] for g in groups], sizes, order, groups[0].frames[depth], None)
        for depth in range(len(groups[0].frames))
    )  # fmt: skip
    return Group(threads[order], groups[0].context, registers, frames)


def _joined(
    all_registers: list[Registers], sizes: list[int], order: Threads, constants: Registers, live: Iterable[int] | None
) -> Registers:
    joined = list(constants)
    for slot in range(min(map(len, all_registers))) if live is None else live:
        values = [registers[slot] for registers in all_registers]
        joined[slot] = _joined_value(values, sizes, order)
    return joined


def _joined_value(values: list[Value | None], sizes: list[int], order: Threads) -> Value | None:
    first = values[0]
    if all(v is first for v in values):
        if first is None or first.ndim == 0:
            return first
    elif all(v is not None and v.ndim == 0 and v == first for v in values):
        return first
    known = next(v for v in values if v is not None)
    parts = [
        np.full(size, 0 if v is None else v, known.dtype) if v is None or v.ndim == 0 else v
        for v, size in zip(values, sizes, strict=True)
    ]
    return np.concatenate(parts)[order]


Positions: TypeAlias = NDArray[np.int64]
Piece: TypeAlias = "tuple[Positions | None, Region, NDArray[np.int64]]"
"""Positions in the group (None: all), the region, the first word of each access (no dimension: one for all)."""


NO_MARK = np.uint64(0)


@dataclass(slots=True, eq=False)
class Access:
    """The memory access of one instruction."""

    code: Code
    instruction: int
    kind: str
    """ld, st, atom, red."""
    space: str
    """global, const, param, shared, local, frame (a variable of the stack frame), or "" (generic)."""
    slot: int
    """Register of the base, -1 for a constant address."""
    offset: int
    """Bytes, added to the base."""
    width: int
    """Width of one element in bytes."""
    elements: int
    is_strong: bool
    is_cached: bool = False
    """`.nc`: the compiler says that nobody writes there."""
    is_atomic: bool = False
    scope: int = WIDE
    """Threads for which a strong access is one: of its own block, of its cluster, or all."""
    reaches_cluster: bool = False
    """`shared::cluster`: the address may be in another block of the cluster."""
    acquires: bool = False
    """`.acquire`, `.acq_rel`."""
    is_asynchronous: bool = False
    """True for accesses of the asynchronous proxy, and for those that no proxy fence is asked after."""
    mark: np.uint64 = NO_MARK
    """The access's part of a race mark."""
    region: Region | None = None
    """The region of the last access."""

    @property
    def bytes(self) -> int:
        return self.width * self.elements

    @property
    def is_narrow(self) -> bool:
        """Whether it is strong for a part of the threads only."""
        return self.scope != WIDE


@dataclass(slots=True, eq=False)
class Wait:
    """Threads that have arrived at one barrier instruction."""

    group: Group
    following: int
    """Segment after the barrier."""
    count: int
    """Threads that it waits for; 0: all of the block."""
    code: Code
    instruction: int
    is_aligned: bool
    reduce: tuple[str, int, int] | None = None
    """Operation, slot of the predicate, slot of the result."""


# ---------------------------------------------------------------- what a step may touch


class Counting(Protocol):
    """See `counts.Counter`."""

    def divergence(self, code: Code, instruction: int, group: Group, taken: Value) -> None: ...
    def equal_stores(self, access: Access, count: int) -> None: ...
    def access(self, access: Access, pieces: list[Piece], group: Group, running: RunningBlocks) -> None: ...


class Launched(Protocol):
    """The state that all batches of one launch share; see `state.LaunchState`."""

    clock: int

    @property
    def program(self) -> Program: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def cluster(self) -> tuple[int, int, int]: ...
    @property
    def cluster_blocks(self) -> int: ...
    @property
    def is_explicit_cluster(self) -> bool: ...
    @property
    def workspace(self) -> int: ...
    @property
    def dynamic_bytes(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def shared_stride(self) -> int: ...
    @property
    def checks(self) -> bool: ...
    @property
    def equal_stores_race(self) -> bool: ...
    @property
    def counter(self) -> Counting | None: ...
    @property
    def findings(self) -> Findings: ...
    @property
    def regions(self) -> Regions: ...
    @property
    def images(self) -> Mapping[int, Image]: ...
    @property
    def parameters(self) -> Region: ...
    @property
    def accesses(self) -> list[Access | None]: ...
    @property
    def printed(self) -> list[str]: ...
    @property
    def aliases(self) -> Mapping[str, str]: ...
    def code(self, name: str) -> Code: ...
    def coordinates(self, thread: int) -> tuple[Coordinates, Coordinates]: ...
    def routine_at(self, address: int) -> str | None: ...
    def text_at(self, address: int) -> str: ...
    def address_of(self, name: str, code: Code, index: int) -> int: ...
    def space_of(self, name: str, code: Code) -> str | None: ...


class CopiesInFlight(Protocol):
    """See `copies.Copies`."""

    @property
    def committed(self) -> Threads: ...
    @property
    def flights(self) -> Sequence[object]: ...
    def launched(self, threads: Threads, words: NDArray[np.int64], count: int, span: Span, running: RunningBlocks) -> None: ...
    def sent(
        self, threads: Threads, words: NDArray[np.int64], count: int, span: Span, place: int, parity: int, running: RunningBlocks
    ) -> None: ...
    def arrived(self, place: int, parity: int, running: RunningBlocks) -> None: ...
    def writing(self, word: int) -> Span | None: ...
    def wait(self, threads: Threads, left: int, running: RunningBlocks) -> None: ...


class ReadersInFlight(Protocol):
    """See `readers.Readers`."""

    @property
    def flights(self) -> Sequence[object]: ...
    def started(
        self, kind: Literal["bulk", "wgmma", "mbarrier", "tcgen05"], thread: int, words: NDArray[np.int64], access: Access,
        running: RunningBlocks, *, number: int = -1, phase: tuple[int, int] = (-1, 0),
    ) -> None: ...  # fmt: skip
    def committed(self, kind: Literal["bulk", "wgmma"], threads: Threads) -> None: ...
    def waited(self, kind: Literal["bulk", "wgmma"], threads: Threads, left: int, running: RunningBlocks) -> None: ...
    def finished(self, thread: int, number: int, running: RunningBlocks) -> None: ...
    def arrived(self, place: int, parity: int, running: RunningBlocks) -> None: ...
    def check_write(self, access: Access, granules: NDArray[np.int64], threads: Threads, running: RunningBlocks) -> None: ...


class SpinsOfBlocks(Protocol):
    """See `spins.Spins`."""

    def tested(
        self, threads: Threads, places: list[int], seen: Value, passed: Value, span: Span, running: RunningBlocks
    ) -> None: ...


class FlightOfBlocks(Protocol):
    """See `tensor_memory.Flight`."""

    @property
    def reads(self) -> bool: ...
    @property
    def span(self) -> Span: ...


class TensorMemoryOfBlocks(Protocol):
    """See `tensor_memory.TensorMemory`."""

    @property
    def touched(self) -> dict[tuple[int, int], tuple[int, int, Span]]: ...
    @property
    def flights(self) -> Sequence[object]: ...
    def cells(self, block: int) -> NDArray[np.uint32]: ...
    def allocate(self, block: int, count: int, code: Code, instruction: int, thread: int) -> int | None: ...
    def free(self, block: int, first: int, count: int) -> bool: ...
    def holds(self, block: int, first: int, count: int) -> bool: ...
    def started(self, thread: int, block: int, lanes: NDArray[np.int64], columns: tuple[int, int], span: Span) -> int: ...
    def reading(
        self, number: int, thread: int, block: int, lanes: NDArray[np.int64], columns: tuple[int, int], span: Span
    ) -> None: ...
    def committed(self, thread: int, place: int, parity: int) -> None: ...
    def arrived(self, place: int, parity: int) -> dict[int, int]: ...
    def under_way(
        self, block: int, lanes: NDArray[np.int64], columns: NDArray[np.int64], *, stores: bool
    ) -> FlightOfBlocks | None: ...


class BarriersOfClusters(Protocol):
    """See `clusters.ClusterBarriers`."""

    @property
    def arrivals(self) -> Threads: ...
    @property
    def waited(self) -> Threads: ...
    @property
    def touched(self) -> dict[int, tuple[int, int, Access]]: ...
    def release(self, running: RunningBlocks) -> bool: ...


class BarriersOfBlocks(Protocol):
    """See `barriers.Barriers`."""

    @property
    def waits(self) -> dict[int, list[Wait]]: ...
    @property
    def arrived(self) -> dict[int, NDArray[np.int64]]: ...
    @property
    def arrivals(self) -> dict[int, dict[int, list[Arrival]]]: ...
    @property
    def expected(self) -> dict[int, tuple[int, Code, int]]: ...


class RunningBlocks(Protocol):
    """One batch of whole blocks; see `running.Execution`."""

    polls: int

    @property
    def launch(self) -> Launched: ...
    @property
    def first_block(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def block_threads(self) -> int: ...
    @property
    def padded_threads(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def alive(self) -> NDArray[np.bool_]: ...
    @property
    def alive_count(self) -> int: ...
    @property
    def block_of(self) -> Threads: ...
    @property
    def shared(self) -> Region: ...
    @property
    def shared_base(self) -> Threads: ...
    @property
    def local(self) -> Region: ...
    @property
    def local_stride(self) -> int: ...
    def written_local(self) -> Views: ...
    @property
    def is_watching(self) -> bool: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def waiting(self) -> WaitingReads | None: ...
    @property
    def copies(self) -> CopiesInFlight: ...
    @property
    def readers(self) -> ReadersInFlight: ...
    @property
    def products(self) -> Products: ...
    @property
    def barriers(self) -> BarriersOfBlocks: ...
    @property
    def clusters(self) -> BarriersOfClusters: ...
    @property
    def tensor_memory(self) -> TensorMemoryOfBlocks: ...
    @property
    def initialised(self) -> dict[int, tuple[int, int, Span]]: ...
    @property
    def spins(self) -> SpinsOfBlocks: ...
    def parked(self) -> list[Group]: ...
    def release_parked(self) -> None: ...
    @property
    def warp_waits(self) -> dict[tuple[int, ...], tuple[Group, int]]: ...
    def push(self, group: Group, index: int) -> None: ...
    def push_through(self, group: Group, index: int) -> None: ...
    def leave(self, group: Group) -> None: ...
    def park(self, group: Group, index: int, unready: NDArray[np.int64]) -> Group | None: ...
    def parked_at(self, group: Group, index: int) -> Group: ...
    def lane_masks(self, warps: NDArray[np.int64], flags: NDArray[np.bool_]) -> NDArray[np.uint32]: ...
    def special(self, name: str, group: Group) -> Value: ...
    def bytes_at(self, thread: int, address: int, most: int) -> bytes: ...
    def fence(self, group: Group, *, scope: int = WIDE) -> None: ...
    def reserve_local(self, size: int) -> None: ...
    def coordinates(self, thread: int) -> tuple[Coordinates, Coordinates]: ...
    def finding(
        self, kind: Kind, message: str, code: Code, instruction: int, thread: int, address: int | None = None
    ) -> Finding: ...
    def report(
        self, kind: Kind, message: str, code: Code, instruction: int, thread: int, *, address: int | None = None, count: int = 1,
        others: tuple[tuple[str, Span], ...] = (),
    ) -> None: ...  # fmt: skip
    def fault(
        self, kind: Kind, message: str, code: Code, instruction: int, thread: int, address: int | None = None
    ) -> FaultError: ...
