"""Memory of a run on symbolic data: regions of cells at far-apart addresses, and who accessed which bytes since the last barrier.

Global arrays lie in 64-bit address windows of their own, so that an address outside its array is never inside another; shared and
local variables have windows in their spaces. Contents are kept as they were stored, and cut or joined when read at another width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from warploom.core import WarploomError
from warploom.synth.compiled.data import Data, Undefined, Value
from warploom.synth.compiled.faults import Triple

_WINDOW = 40
"""log2 of the distance of global arrays."""
_SMALL_WINDOW = 20
"""log2 of the distance of shared and local variables."""
SHARED_BASE = 1 << 60
LOCAL_BASE = 1 << 61
_LARGEST_CELL = 8
WARP = 32
AccessKind: TypeAlias = Literal["load", "store", "update"]


class UntoldError(WarploomError):
    """Nobody said what memory held at the start, and the run asked for it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The value that a store left in a cell, and who stored it."""

    value: Value
    size_bytes: int
    instruction: int
    """-1: the initial content."""


@dataclass(slots=True)
class Owner:
    """A thread at a moment: for asking whether a later access of another thread is ordered after it."""

    block: Triple
    thread: int
    time: int
    epoch: int
    instruction: int
    execution: int = 0
    """Number of the step that made the access: lanes of one warp with one number executed one instruction together."""
    is_wide: bool = False
    """True if the scope of an atomic operation holds other blocks."""


@dataclass(slots=True)
class History:
    """Accesses to some bytes since the last ordered write."""

    writers: list[Owner] = field(default_factory=list[Owner])
    """Threads of the last plain store: several where lanes of one instruction stored one value."""
    updates: dict[tuple[Triple, int, str], Owner] = field(default_factory=dict[tuple[Triple, int, str], Owner])
    """Atomic operations since, by thread, operation and type. None of them hides what came before it: the next one may be
    atomic to it without being ordered after it."""
    readers: dict[tuple[Triple, int], Owner] = field(default_factory=dict[tuple[Triple, int], Owner])
    before: list[Owner] = field(default_factory=list[Owner])
    """Accesses before the last plain store: every lane that made it must come after them."""
    keep: int = 0
    """Number of the last keep (`Region.kept_history`) when it was made: one that is kept is copied before it changes."""

    def copy(self, keep: int) -> History:
        return History(list(self.writers), dict(self.updates), dict(self.readers), list(self.before), keep)


@dataclass(slots=True)
class Region:
    """One array or variable."""

    name: str
    base: int
    size_bytes: int
    initial: Callable[[int], tuple[int, int, Value]]
    """Byte offset -> the cell that holds it: offset, size, content at the start."""
    granule_bytes: int = 4
    is_tracked: bool = True
    """True if several threads can reach the array."""
    cells: dict[int, Stored] = field(default_factory=dict[int, Stored])
    history: dict[int, History] = field(default_factory=dict[int, History])
    keeps: int = 0
    """How often the history was kept."""
    is_written: bool = False
    is_read_only: bool = False
    """True if ld.global.nc read the array: nobody may write it in this launch."""
    is_gathered: bool = False
    """True if the array was read at an index from data: nobody may write it in this launch, since any element may have been
    meant."""
    is_constant: bool = False
    """True if the array lies in constant memory."""
    element_bytes: int = 0
    """Size of the array's elements."""
    align: int = 0
    """Bytes to a multiple of which it begins; 0: no access is wider."""
    check: Callable[..., None] | None = None
    """A check that each access must pass besides bounds and races, where blocks hand values to each other (`handover.py`)."""
    is_handed: bool = False
    """True if blocks read what other blocks of the launch store there."""
    grows: dict[str, int] = field(default_factory=dict[str, int])
    """By position of a box: bytes by which the array is longer in the next block, or for the next size."""
    untold: str = ""
    """Reason why nobody knows the content at the start; empty where it is known."""

    def load(self, offset: int, size: int, data: Data) -> Value:
        """`size` bytes at `offset`, both inside the region."""
        cell = self.cells.get(offset)
        if cell is not None and cell.size_bytes == size:
            self._check_told(cell)
            return cell.value
        parts: list[tuple[Value, int]] = []
        at = offset
        while at < offset + size:
            start, cell = self._cell_at(at)
            self._check_told(cell)
            last = min(start + cell.size_bytes, offset + size)
            part = data.extract(cell.value, 8 * (at - start), 8 * (last - at), 8 * cell.size_bytes)
            parts.append((part, 8 * (last - at)))
            at = last
        return data.join(parts)

    def holds(self, offset: int, size: int, value: Value, instruction: int, data: Data) -> bool:
        """Whether that instruction left exactly this value there."""
        cell = self.cells.get(offset)
        is_own = cell is not None and cell.size_bytes == size and cell.instruction == instruction
        return is_own and not isinstance(value, Undefined) and cell is not None and data.is_same(cell.value, value)

    def _check_told(self, cell: Stored) -> None:
        if self.untold and cell.instruction < 0:
            raise UntoldError(self.untold)

    def store(self, offset: int, size: int, value: Value, instruction: int, data: Data) -> None:
        self.is_written = True
        cell = self.cells.get(offset)
        if cell is None or cell.size_bytes != size:
            self._make_room(offset, size, data)
        self.cells[offset] = Stored(value, size, instruction)

    def _cell_at(self, offset: int) -> tuple[int, Stored]:
        for start in range(offset, offset - _LARGEST_CELL, -1):
            cell = self.cells.get(start)
            if cell is not None and start + cell.size_bytes > offset:
                return start, cell
        start, size, value = self.initial(offset)
        cell = self.cells[start] = Stored(value, size, -1)
        return start, cell

    def _make_room(self, offset: int, size: int, data: Data) -> None:
        """Cuts what lies partly in the bytes to be stored into its bytes."""
        if self._is_untouched(offset, size):
            return
        at = offset
        while at < offset + size:
            start, cell = self._cell_at(at)
            end = start + cell.size_bytes
            del self.cells[start]
            for k in range(start, end):
                if not offset <= k < offset + size:
                    part = data.extract(cell.value, 8 * (k - start), 8, 8 * cell.size_bytes)
                    self.cells[k] = Stored(part, 1, cell.instruction)
            at = end

    def _is_untouched(self, offset: int, size: int) -> bool:
        """Whether these bytes are those of whole cells of the start, none of which was looked at."""
        cells = self.cells
        near = (start for start in range(offset - _LARGEST_CELL + 1, offset + size) if start in cells)
        if any(start + cells[start].size_bytes > offset for start in near):
            return False
        last, width, _ = self.initial(offset + size - 1)
        return self.initial(offset)[0] == offset and last + width == offset + size

    # ------------------------------------------------------------ who was here

    def kept_history(self) -> dict[int, History]:
        """The history as it is now, whatever is accessed from now on."""
        self.keeps += 1
        return dict(self.history)

    def go_back_to(self, history: dict[int, History]) -> None:
        """Takes a history that was kept; it stays kept."""
        self.keeps += 1
        self.history = dict(history)

    def access(
        self, offset: int, size: int, who: Owner, kind: AccessKind, is_ordered: Callable[[Owner], bool], *,
        update: str = "", is_same: Callable[[], bool] | None = None,
    ) -> Owner | None:  # fmt: skip
        """Remembers the access; the earlier one that it races with, if there is one.

        update: operation and type of an atomic. is_same: whether the bytes hold what is being stored, left by the same
        instruction; None: they do not.
        """
        if size < self.granule_bytes:
            self._refine(size)
        key = (who.block, who.thread)
        for granule in range(offset // self.granule_bytes, (offset + size - 1) // self.granule_bytes + 1):
            past = self.history.get(granule)
            if past is None:
                past = self.history[granule] = History(keep=self.keeps)
                if kind == "load":
                    past.readers[key] = who
                    continue
            elif past.keep != self.keeps:
                past = self.history[granule] = past.copy(self.keeps)
            together = False
            for writer in past.writers:
                if (writer.block, writer.thread) == key or is_ordered(writer):
                    continue
                if is_same is None or not (_are_lanes_of_one_step(writer, who) and is_same()):
                    return writer
                together = True
            for (other_block, other_thread, other_update), other in past.updates.items() if past.updates else ():
                is_exempt = kind == "update" and other_update == update and _is_in_scope(other, who)
                if (other_block, other_thread) != key and not is_exempt and not is_ordered(other):
                    return other
            if kind == "load":
                past.readers[key] = who
                continue
            for reader_key, reader in past.readers.items():
                if reader_key != key and not is_ordered(reader):
                    return reader
            if kind == "update":
                past.updates[(*key, update)] = who
            elif together:
                for earlier in past.before:
                    if not is_ordered(earlier):
                        return earlier
                past.writers.append(who)
            else:
                past.before = [*past.writers, *past.updates.values(), *past.readers.values()]
                past.updates.clear()
                past.readers.clear()
                past.writers = [who]
        return None

    def read(self, offset: int, size: int, who: list[tuple[tuple[Triple, int], Owner]]) -> bool:
        """Remembers that these threads load the same bytes. False where `access` must tell whether it is a race."""
        if size < self.granule_bytes:
            self._refine(size)
        for granule in range(offset // self.granule_bytes, (offset + size - 1) // self.granule_bytes + 1):
            past = self.history.get(granule)
            if past is None:
                self.history[granule] = History(readers=dict(who), keep=self.keeps)
                continue
            if past.writers or past.updates:
                return False
            if past.keep != self.keeps:
                past = self.history[granule] = past.copy(self.keeps)
            past.readers.update(who)
        return True

    def _refine(self, size: int) -> None:
        factor = self.granule_bytes // size
        old, self.history, self.granule_bytes = self.history, {}, size
        for granule, past in old.items():
            for k in range(factor):
                self.history[granule * factor + k] = past.copy(self.keeps)


def _are_lanes_of_one_step(a: Owner, b: Owner) -> bool:
    return a.execution == b.execution and a.block == b.block and a.thread // WARP == b.thread // WARP


def _is_in_scope(a: Owner, b: Owner) -> bool:
    """Whether two atomic operations are atomic to each other."""
    return a.block == b.block or (a.is_wide and b.is_wide)


class Memory:
    """Global arrays of a launch."""

    def __init__(self, order: tuple[str, ...] = ()) -> None:
        self.regions: list[Region] = []
        self.order = order
        """Names of arrays that lie before all others, one behind the other."""

        self._at: dict[int, Region] = {}

    def add(self, name: str, size_bytes: int, initial: Callable[[int], tuple[int, int, Value]]) -> Region:
        number = self.order.index(name) + 1 if name in self.order else len(self.regions) + len(self.order) + 1
        base = (number << _WINDOW) + (1 << _WINDOW - 1)
        region = self._at[number] = Region(name, base, size_bytes, initial)
        self.regions.append(region)
        return region

    def at(self, address: int) -> Region | None:
        """The array whose window holds the address."""
        return self._at.get(address >> _WINDOW)


class Variables:
    """Variables of one space of a block (shared) or thread (local): undefined at the start."""

    def __init__(self, base: int, what: str) -> None:
        self.base = base
        """Generic address of the window."""
        self.what = what
        self.regions: list[Region] = []

    def add(self, name: str, size_bytes: int, is_tracked: bool) -> Region:
        undefined = Undefined(f"{self.what} variable {name} before it is written", 0)
        region = Region(name, len(self.regions) + 1 << _SMALL_WINDOW, size_bytes, lambda offset: (offset, 1, undefined))
        region.is_tracked = is_tracked
        self.regions.append(region)
        return region

    def at(self, address: int) -> Region | None:
        number = (address >> _SMALL_WINDOW) - 1
        return self.regions[number] if 0 <= number < len(self.regions) else None
