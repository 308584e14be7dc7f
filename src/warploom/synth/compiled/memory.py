"""Memory of a run on symbolic data: regions of cells at far-apart addresses, and who accessed which bytes since the last barrier.

Global arrays lie in 64-bit address windows of their own, so that an address outside its array is never inside another; shared and
local variables have windows in their spaces. Contents are kept as they were stored, and cut or joined when read at another width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from warploom.synth.compiled.data import Data, Undefined, Value
from warploom.synth.compiled.faults import Triple

_WINDOW = 40
"""log2 of the distance of global arrays."""
_SMALL_WINDOW = 20
"""log2 of the distance of shared and local variables."""
SHARED_BASE = 1 << 60
LOCAL_BASE = 1 << 61
_LARGEST_CELL = 8


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store left in a cell."""

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


@dataclass(slots=True)
class _History:
    """Accesses to some bytes since the last ordered write."""

    writer: Owner | None = None
    reduction: str = ""
    """The operation, if the last write was one."""
    readers: dict[tuple[Triple, int], Owner] = field(default_factory=dict[tuple[Triple, int], Owner])


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
    """Whether several threads can reach it."""
    cells: dict[int, Stored] = field(default_factory=dict[int, Stored])
    history: dict[int, _History] = field(default_factory=dict[int, _History])
    is_written: bool = False

    def load(self, offset: int, size: int, data: Data) -> Value:
        """`size` bytes at `offset`, both inside the region."""
        cell = self.cells.get(offset)
        if cell is not None and cell.size_bytes == size:
            return cell.value
        parts: list[tuple[Value, int]] = []
        at = offset
        while at < offset + size:
            start, cell = self._cell_at(at)
            last = min(start + cell.size_bytes, offset + size)
            part = data.extract(cell.value, 8 * (at - start), 8 * (last - at), 8 * cell.size_bytes)
            parts.append((part, 8 * (last - at)))
            at = last
        return data.join(parts)

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

    # ------------------------------------------------------------ who was here

    def access(
        self, offset: int, size: int, who: Owner, is_write: bool, reduction: str, is_ordered: Callable[[Owner], bool]
    ) -> Owner | None:
        """Remembers the access; the earlier one that it races with, if there is one."""
        if size < self.granule_bytes:
            self._refine(size)
        key = (who.block, who.thread)
        for granule in range(offset // self.granule_bytes, (offset + size - 1) // self.granule_bytes + 1):
            past = self.history.get(granule)
            if past is None:
                past = self.history[granule] = _History()
            writer = past.writer
            is_exempt = bool(reduction) and past.reduction == reduction
            if writer is not None and not is_exempt and (writer.block, writer.thread) != key and not is_ordered(writer):
                return writer
            if is_write:
                for reader_key, reader in past.readers.items():
                    if reader_key != key and not is_ordered(reader):
                        return reader
                past.writer, past.reduction = who, reduction
                past.readers.clear()
            else:
                past.readers[key] = who
        return None

    def _refine(self, size: int) -> None:
        factor = self.granule_bytes // size
        old, self.history, self.granule_bytes = self.history, {}, size
        for granule, past in old.items():
            for k in range(factor):
                self.history[granule * factor + k] = _History(past.writer, past.reduction, dict(past.readers))


class Memory:
    """Global arrays of a launch."""

    def __init__(self) -> None:
        self.regions: list[Region] = []

    def add(self, name: str, size_bytes: int, initial: Callable[[int], tuple[int, int, Value]]) -> Region:
        base = (len(self.regions) + 1 << _WINDOW) + (1 << _WINDOW - 1)
        region = Region(name, base, size_bytes, initial)
        self.regions.append(region)
        return region

    def at(self, address: int) -> Region | None:
        """The array whose window holds the address."""
        number = (address >> _WINDOW) - 1
        return self.regions[number] if 0 <= number < len(self.regions) else None


class Variables:
    """Variables of one space of a block (shared) or thread (local): undefined at the start."""

    def __init__(self, base: int, what: str) -> None:
        self.base = base
        """Generic address of the window."""
        self.what = what
        self.regions: list[Region] = []

    def add(self, name: str, size_bytes: int, is_tracked: bool) -> Region:
        undefined = Undefined(f"{self.what} variable {name} before it is written", 0)
        region = Region(name, len(self.regions) << _SMALL_WINDOW, size_bytes, lambda offset: (offset, 1, undefined))
        region.is_tracked = is_tracked
        self.regions.append(region)
        return region

    def at(self, address: int) -> Region | None:
        number = address >> _SMALL_WINDOW
        return self.regions[number] if 0 <= number < len(self.regions) else None
