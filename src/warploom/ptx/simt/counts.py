"""Cost of a launch, counted: instructions by class, memory sectors, shared-memory wavefronts, divergence.

A warp instruction is one issue for the threads of a warp that run together; threads whose guard is false count as executing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.code import Access, Code, Group, Piece, RunningBlocks, Segment
from warploom.ptx.simt.findings import Coordinates
from warploom.ptx.simt.threads import Threads, Value, WarpLayout
from warploom.ptx.syntax import Instruction

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4


@dataclass(frozen=True, slots=True)
class Conflict:
    """A warp's request of shared memory in which lanes meet in a bank."""

    wavefronts: int
    bank: int
    lanes: tuple[int, ...]
    """Lanes that ask this bank for different words, one for each."""
    block: Coordinates
    thread: Coordinates
    """The first of these lanes."""
    words: tuple[tuple[int, int], ...]
    """For each lane of the request: the lane, and the first word of 32 bits that it asks for."""
    words_each: int


@dataclass(frozen=True, slots=True)
class SharedRequest:
    """One request of a warp for shared memory."""

    bytes_each: int
    """Bytes of each lane."""
    places: tuple[int, ...]
    """By lane: the byte in the block's shared memory; -1 where it takes no part."""
    is_store: bool


MOST_SEEN = 64


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Counts of the instructions on one line of the file."""

    warps: int
    """Executions by warps."""
    threads: int
    requests: int = 0
    """Memory requests of warps."""
    sectors: int = 0
    """Sectors of 32 bytes in global memory."""
    wavefronts: int = 0
    """Shared memory."""
    divergent: int = 0
    """Branches at which a warp parted."""
    least_sectors: int = 0
    """Sectors that would do if the elements that each request asks for lay side by side."""
    least_wavefronts: int = 0
    """Wavefronts that would do if these elements lay side by side."""
    worst: Conflict | None = None
    """The request with the most wavefronts beyond that; none of atomics."""
    equal_stores: int = 0
    """Elements that a lane stored where another lane of its warp stored the same by the same instruction."""
    shared: tuple[SharedRequest, ...] = ()
    """The first different requests for shared memory, up to `MOST_SEEN` of an instruction."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a whole launch."""

    warp_instructions: Mapping[str, int]
    """How often warps issued an instruction of each class."""
    thread_instructions: Mapping[str, int]
    """The same, with each thread of the warp that took part counted."""
    global_load_requests: int
    global_load_sectors: int
    global_store_requests: int
    global_store_sectors: int
    global_atomic_requests: int
    global_atomic_sectors: int
    shared_load_requests: int
    shared_load_wavefronts: int
    shared_store_requests: int
    shared_store_wavefronts: int
    """Wavefronts of stores and atomics."""
    local_requests: int
    shuffles: int
    """Shuffles, counted per warp."""
    barriers: int
    """Arrivals of warps at barriers of the block."""
    divergent_branches: int
    """Divergent branches, counted per warp."""
    by_line: Mapping[int, LineCounts]

    @property
    def instructions(self) -> int:
        """Instructions of all classes, counted per warp."""
        return sum(self.warp_instructions.values())

    @property
    def global_sectors(self) -> int:
        return self.global_load_sectors + self.global_store_sectors + self.global_atomic_sectors

    @property
    def shared_wavefronts(self) -> int:
        return self.shared_load_wavefronts + self.shared_store_wavefronts

    def totals(self) -> dict[str, int]:
        """The numbers of a report, by name."""
        return {
            "instructions": self.instructions,
            "thread_instructions": sum(self.thread_instructions.values()),
            "global_load_requests": self.global_load_requests,
            "global_load_sectors": self.global_load_sectors,
            "global_store_requests": self.global_store_requests,
            "global_store_sectors": self.global_store_sectors,
            "global_atomic_requests": self.global_atomic_requests,
            "global_atomic_sectors": self.global_atomic_sectors,
            "shared_load_requests": self.shared_load_requests,
            "shared_load_wavefronts": self.shared_load_wavefronts,
            "shared_store_requests": self.shared_store_requests,
            "shared_store_wavefronts": self.shared_store_wavefronts,
            "local_requests": self.local_requests,
            "shuffles": self.shuffles,
            "barriers": self.barriers,
            "divergent_branches": self.divergent_branches,
        }


_CLASS_OF_OPCODE = {
    **dict.fromkeys(("bra", "brx", "call", "ret", "exit", "trap", "brkpt"), "control"),
    **dict.fromkeys(("bar", "barrier"), "barrier"),
    **dict.fromkeys(("membar", "fence"), "fence"),
    **dict.fromkeys(("atom", "red"), "atomic"),
    **dict.fromkeys(("vote", "match", "redux", "elect", "activemask"), "vote"),
    **dict.fromkeys(("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix"), "matrix"),
    **dict.fromkeys(("mov", "cvta", "selp", "prmt", "isspacep"), "move"),
    **dict.fromkeys(("setp", "set", "slct", "testp"), "compare"),
    "shfl": "shuffle",
    "cvt": "convert",
    "cp": "copy",
    "mbarrier": "barrier",
}
_CLASS_OF_TYPE = {
    "f32": "float", "f64": "double", "f16": "half", "bf16": "half", "f16x2": "half", "bf16x2": "half", "pred": "predicate",
}  # fmt: skip


def class_of(instruction: Instruction) -> str:
    """The class under which an instruction is counted."""
    if instruction.opcode in ("ld", "st", "ldu"):
        spaces = {m.partition("::")[0] for m in instruction.modifiers}
        space = next((s for s in ("global", "shared", "local", "param", "const") if s in spaces), "generic")
        return f"{'store' if instruction.opcode == 'st' else 'load'}_{space}"
    known = _CLASS_OF_OPCODE.get(instruction.opcode)
    if known is not None:
        return known
    return _CLASS_OF_TYPE.get(instruction.modifiers[-1] if instruction.modifiers else "", "integer")


@dataclass(slots=True, eq=False)
class _Site:
    """Events of one instruction that its executions do not tell."""

    requests: dict[str, int] = field(default_factory=dict[str, int])
    units: dict[str, int] = field(default_factory=dict[str, int])
    least: dict[str, int] = field(default_factory=dict[str, int])
    worst: Conflict | None = None
    divergent: int = 0
    equal_stores: int = 0
    seen: dict[SharedRequest, None] = field(default_factory=dict[SharedRequest, None])
    """Requests for shared memory."""


class Counter:
    """Counts while a launch runs."""

    def __init__(self, merged: Mapping[int, int]) -> None:
        """`merged`: see `launch`."""
        self._merged = merged
        self._segments: dict[tuple[int, int], tuple[Code, Segment, list[int]]] = {}
        self._sites: dict[tuple[int, int], tuple[Code, _Site]] = {}

    def segment(self, code: Code, segment: Segment, group: Group) -> None:
        """One run of a segment."""
        entry = self._segments.get((code.number, segment.index))
        if entry is None:
            entry = self._segments[code.number, segment.index] = (code, segment, [0, 0])
        entry[2][0] += group.warps
        entry[2][1] += group.size

    def _site(self, code: Code, instruction: int) -> _Site:
        found = self._sites.get((code.number, instruction))
        if found is None:
            found = self._sites[code.number, instruction] = (code, _Site())
        return found[1]

    def divergence(self, code: Code, instruction: int, group: Group, taken: Value) -> None:
        """A branch at which threads of the group part."""
        layout = group.layout
        rows = layout.rows(taken)
        parted = rows.any(axis=1) & (layout.active & ~rows).any(axis=1)
        self._site(code, instruction).divergent += int(np.count_nonzero(parted))

    def equal_stores(self, access: Access, count: int) -> None:
        """Elements of one instruction that several lanes of a warp store alike at one place."""
        self._site(access.code, access.instruction).equal_stores += count

    def access(self, access: Access, pieces: list[Piece], group: Group, running: RunningBlocks) -> None:
        """One memory access of a group."""
        site = self._site(access.code, access.instruction)
        kind = "atomic" if access.is_atomic else "load" if access.kind == "ld" else "store"
        for chosen, region, index in pieces:
            layout = group.layout if chosen is None else WarpLayout(group.threads[chosen])
            if region is running.shared:
                name = "shared_load" if kind == "load" else "shared_store"
                size = self._merged.get(access.code.routine.span(access.instruction).line, access.bytes)
                if size == 0:
                    continue
                offset = np.broadcast_to(index, len(layout.positions)) * access.width
                places = offset // size * size if size > access.bytes else offset
                each = _wavefronts(layout, places, size)
                if len(site.seen) < MOST_SEEN and not access.is_atomic:
                    threads = group.threads if chosen is None else group.threads[chosen]
                    _see(site, layout, places - running.shared_base[threads], size, is_store=kind == "store")
                units = int(each.sum())
                least = _side_by_side(layout, places, size, BANKS * BANK_BYTES) if units > layout.count else units
                if units > least and not access.is_atomic and each.max() > (site.worst.wavefronts if site.worst else 0):
                    site.worst = _conflict(
                        layout, places, size, each, group.threads if chosen is None else group.threads[chosen], running
                    )
            elif region is running.local and "param" in access.code.routine.instructions[access.instruction].modifiers:
                continue
            elif region is running.local:
                name, units, least = "local", 0, 0
            elif region.is_const or region is running.launch.parameters:
                continue
            else:
                name = f"global_{kind}"
                units = _sectors(layout, index, access.width)
                least = _side_by_side(layout, index, access.bytes, SECTOR_BYTES) if units > layout.count else units
            site.requests[name] = site.requests.get(name, 0) + layout.count
            site.units[name] = site.units.get(name, 0) + units
            site.least[name] = site.least.get(name, 0) + least

    def result(self) -> Counts:
        warps: dict[str, int] = {}
        threads: dict[str, int] = {}
        lines: dict[int, LineCounts] = {}
        for code, segment, (warp_runs, thread_runs) in self._segments.values():
            for position in range(segment.start, segment.end):
                name = class_of(code.routine.instructions[position])
                warps[name] = warps.get(name, 0) + warp_runs
                threads[name] = threads.get(name, 0) + thread_runs
                self._add_line(lines, code, position, warp_runs, thread_runs)
        sites = [site for _, site in self._sites.values()]

        def requests(name: str) -> int:
            return sum(site.requests.get(name, 0) for site in sites)

        def units(name: str) -> int:
            return sum(site.units.get(name, 0) for site in sites)

        return Counts(
            warp_instructions=dict(sorted(warps.items())),
            thread_instructions=dict(sorted(threads.items())),
            global_load_requests=requests("global_load"),
            global_load_sectors=units("global_load"),
            global_store_requests=requests("global_store"),
            global_store_sectors=units("global_store"),
            global_atomic_requests=requests("global_atomic"),
            global_atomic_sectors=units("global_atomic"),
            shared_load_requests=requests("shared_load"),
            shared_load_wavefronts=units("shared_load"),
            shared_store_requests=requests("shared_store"),
            shared_store_wavefronts=units("shared_store"),
            local_requests=requests("local"),
            shuffles=warps.get("shuffle", 0),
            barriers=warps.get("barrier", 0),
            divergent_branches=sum(site.divergent for site in sites),
            by_line=dict(sorted(lines.items())),
        )

    def _add_line(self, lines: dict[int, LineCounts], code: Code, position: int, warps: int, threads: int) -> None:
        line = code.routine.span(position).line
        known = lines.get(line, LineCounts(0, 0))
        entry = self._sites.get((code.number, position))
        site = _Site() if entry is None else entry[1]
        lines[line] = LineCounts(
            known.warps + warps,
            known.threads + threads,
            known.requests + sum(site.requests.values()),
            known.sectors + sum(n for name, n in site.units.items() if name.startswith("global")),
            known.wavefronts + sum(n for name, n in site.units.items() if name.startswith("shared")),
            known.divergent + site.divergent,
            known.least_sectors + sum(n for name, n in site.least.items() if name.startswith("global")),
            known.least_wavefronts + sum(n for name, n in site.least.items() if name.startswith("shared")),
            max((w for w in (known.worst, site.worst) if w), key=lambda w: w.wavefronts, default=None),
            known.equal_stores + site.equal_stores,
            (*known.shared, *site.seen),
        )


def _see(site: _Site, layout: WarpLayout, places: NDArray[np.int64], size: int, *, is_store: bool) -> None:
    rows = np.full(layout.count * 32, -1, np.int64)
    rows[layout.positions] = places
    for row in rows.reshape(-1, 32)[: 2 * MOST_SEEN].tolist():
        if len(site.seen) < MOST_SEEN:
            site.seen[SharedRequest(size, tuple(row), is_store)] = None


def _sectors(layout: WarpLayout, index: NDArray[np.int64], width: int) -> int:
    """Distinct sectors of each warp, summed. An aligned access of up to 32 bytes lies in one sector."""
    if index.ndim == 0:
        return layout.count
    sector = index // (SECTOR_BYTES // width)
    if layout.is_dense:
        rows = sector.reshape(layout.count, 32)
        if (rows[:, 1:] < rows[:, :-1]).any():
            rows = np.sort(rows, axis=1)
        return layout.count + int(np.count_nonzero(rows[:, 1:] != rows[:, :-1]))
    return len(np.unique((layout.positions >> 5 << 40) | sector))


def _side_by_side(layout: WarpLayout, place: NDArray[np.int64], size: int, unit: int) -> int:
    """Units of memory, of `unit` bytes, that the distinct elements of each warp would fill, summed; `size` bytes each."""
    if place.ndim == 0:
        return layout.count * -(-size // unit)
    distinct = np.unique((layout.positions >> 5 << 40) | place) >> 40
    return int((-(-np.bincount(distinct, minlength=layout.count) * size // unit)).sum())


def _wavefronts(layout: WarpLayout, offset: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Passes through the banks, by warp: 8- and 16-byte accesses go by half and quarter warps; each word of a bank has its turn.

    Twice as many lanes go together in a warp all of whose pairs (n, n ^ 1), or all of whose pairs (n, n ^ 2), ask for one place;
    a lane that is off agrees with any. Source: NVIDIA's developer forum, thread 77228, on compute capability 7.
    """
    return _passes(layout, offset, size)[0].max(axis=2).sum(axis=1)


def _passes(layout: WarpLayout, offset: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct words as [warp, group of lanes that go together, bank], and the group of each thread."""
    lanes = 32 if size <= 4 else 16 if size <= 8 else 8
    words_each = max(1, size // BANK_BYTES)
    warp, lane = layout.positions // 32, layout.positions % 32
    together = np.full(layout.count, lanes)
    if lanes < 32:
        asked = np.full((layout.count, 32), -1)
        asked[warp, lane] = offset
        pairs = [(asked, asked[:, np.arange(32) ^ step]) for step in (1, 2)]
        agreed = [((one == two) | (one < 0) | (two < 0)).all(axis=1) for one, two in pairs]
        together[agreed[0] | agreed[1]] = 2 * lanes
    groups = 32 // lanes
    phase = warp * groups + lane // together[warp]
    first = offset // BANK_BYTES
    words = (first[:, None] + np.arange(words_each)).reshape(-1)
    pairs = np.unique((np.repeat(phase, words_each) << 40) | words)
    where = (pairs >> 40) * BANKS + pairs % BANKS
    counts = np.bincount(where, minlength=layout.count * groups * BANKS)
    return counts.reshape(layout.count, groups, BANKS), phase


def _conflict(
    layout: WarpLayout, offset: NDArray[np.int64], size: int, each: NDArray[np.int64], threads: Threads, running: RunningBlocks
) -> Conflict:
    """The dearest warp's request, in the bank that holds it up most."""
    passes, phases = _passes(layout, offset, size)
    warp = int(each.argmax())
    group, bank = divmod(int(passes[warp].argmax()), BANKS)
    met: dict[int, int] = {}
    together: list[int] = np.flatnonzero(phases == warp * passes.shape[1] + group).tolist()
    for at in together:
        first = int(offset[at]) // BANK_BYTES
        for word in range(first, first + max(1, size // BANK_BYTES)):
            if word % BANKS == bank:
                met.setdefault(word, at)
    places = list(met.values())
    block, thread = running.coordinates(int(threads[places[0]]))
    asked = [
        (int(layout.positions[p]) % 32, int(offset[p]) // BANK_BYTES) for p in np.flatnonzero(layout.positions // 32 == warp)
    ]
    lanes = tuple(int(layout.positions[p]) % 32 for p in places)
    return Conflict(int(each[warp]), bank, lanes, block, thread, tuple(asked), max(1, size // BANK_BYTES))
