"""The threads of one block: registers, what each has seen of the others' accesses, and who waits where.

Threads run in groups that stand at one instruction; the group at the earliest instruction runs until it meets another one, so
threads that parted come together again as early as the program's text lets them. Shuffles and barriers wait for the threads they
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from warploom.core import DType, Span
from warploom.core.intervals import Interval
from warploom.core.linear import Linear
from warploom.ptx import Routine, Variable
from warploom.synth.compiled.alike import Translations
from warploom.synth.compiled.data import Data, Undefined, Value
from warploom.synth.compiled.faults import Access, Fault, FaultError, FaultKind, Triple, unsupported
from warploom.synth.compiled.memory import LOCAL_BASE, SHARED_BASE, WARP, Memory, Owner, Region, Variables
from warploom.synth.compiled.moving import LENGTH, OF_BLOCK, OF_THREAD, SIZE
from warploom.synth.compiled.placed import Places, placed
from warploom.synth.compiled.placed import Variable as PlacedVariable
from warploom.terms import Term

Lanes = list[int]
USE = "@"
"""Stands between the name of an array and the number of a use."""
_MOST_USES = 8


class RoundsSeen(Protocol):
    """An observer of the rounds of a run's loops (`rounds.py`)."""

    @property
    def is_general(self) -> bool: ...

    def arrive(self, block: Block, header: int) -> None: ...

    def failed(self, block: Block, error: Exception) -> int | None: ...


class GathersSeen(Protocol):
    """Reads at indices that data give (`gathers.py`, `index_arrays.py`)."""

    ranges: dict[Term, Interval]
    """By word: numbers that it may be."""

    def found(
        self, name: str, start: int, offset: Term, kinds: Mapping[Term, DType], size: int, count: int
    ) -> tuple[Linear[Term], Interval | None]:
        """The place of the first of `count` elements of `size` bytes, `start + offset` bytes into an array, and the numbers that
        it may be; None: all of which lie inside."""
        ...

    def elements(self, use: str, place: Linear[Term], step: int, count: int) -> list[Term]:
        """The elements from a place on. step: elements by which they move with the rounds of a loop."""
        ...

    def modulo(self, root: Term, kinds: Mapping[Term, DType], bits: int) -> Linear[Term]: ...

    def range_of(self, word: Term) -> Interval: ...

    def dtype(self, name: str) -> DType: ...


@dataclass(slots=True)
class Launch:
    """State that all blocks of a launch share."""

    routine: Routine
    data: Data
    memory: Memory
    parameters: dict[str, Region]
    grid: Triple
    block: Triple
    dynamic_shared_bytes: int = 0
    module_variables: dict[str, Region] = field(default_factory=dict[str, Region])
    module_shared: tuple[Variable, ...] = ()
    """Shared variables that the module declares outside its functions."""
    places: Places = field(default_factory=Places)
    steps_left: int = 0
    """Instructions times threads that may still be executed."""
    meets_anywhere: bool = False
    """True from sm_70 on: lanes of a warp may meet at different instructions of one kind."""
    is_alone: bool = False
    """True if activemask names each thread alone, as hardware may; otherwise it names all that stand at the instruction."""
    first_block: Triple | None = None
    """The one block that is run, if it stands for those that `places.moving` tells; None: all of the grid are run."""
    lone_thread: Triple | None = None
    """The one thread that is run, if it stands for those that `places.moving` tells."""
    translations: Translations | None = None
    """Threads that compute alike; None: each computes for itself."""
    rounds: RoundsSeen | None = None
    """Follows the rounds of loops; None: each is run."""
    gathers: GathersSeen | None = None
    """The elements that may be read at indices from data; None: none."""
    at_end: Callable[[], None] | None = None
    """A check for when the last block has ended."""
    symbols: int = 0
    moves: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """By use of an array: bytes by which these accesses of a block lie further on than those of the block before. The first use
    has the name of the array, others a number behind it."""
    apart: set[str] = field(default_factory=set[str])
    """Arrays with several uses."""
    loaded: set[str] = field(default_factory=set[str])
    stored: set[str] = field(default_factory=set[str])
    """Arrays, where one block stands for several."""
    notes: set[str] = field(default_factory=set[str])
    """Notes that the domain of a proof must state besides the algebra."""

    def next_symbol(self) -> int:
        """A number for a symbol of the run's own."""
        self.symbols += 1
        return self.symbols

    def use_of(self, name: str, slopes: Mapping[str, int]) -> str | None:
        """The name that elements of an array have which move so. None: they move in too many ways."""
        for number in range(_MOST_USES):
            use = f"{name}{USE}{number}" if number else name
            if self.moves.setdefault(use, dict(slopes)) == slopes:
                if number:
                    self.apart.add(name)
                return use
        return None

    def use_at_end(self, use: str, step: int) -> str | None:
        """The use that elements of this one are of behind a loop, each step of which moved them by so many bytes. It has as many
        steps as `%length` says. None: they move in too many ways, or threads do not move alike in that use."""
        at_end = self.use_of(use.partition(USE)[0], {**self.moves[use], LENGTH: step})
        if at_end is not None and self.translations is not None and not self.translations.take_over(use, at_end):
            return None
        return at_end

    def span(self, instruction: int) -> Span:
        return self.routine.span(instruction)

    def unsupported(self, message: str, instruction: int, fix: str = "") -> Exception:
        return unsupported(message, self.span(instruction), fix)


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A thread that arrives at a barrier without waiting there."""

    thread: int
    time: int
    seen: np.ndarray[tuple[int], np.dtype[np.int32]]
    """By thread: the moment up to which its accesses are ordered before the arrival."""


class Block:
    """One block of a launch while it runs."""

    def __init__(self, launch: Launch, position: Triple) -> None:
        self.launch = launch
        self.position = position
        nx, ny, nz = launch.block
        lone = launch.lone_thread
        every = [(x, y, z) for z in range(nz) for y in range(ny) for x in range(nx)] if lone is None else [lone]
        self.threads: list[Triple] = every
        self.count = len(every)
        self.registers: dict[str, list[Value]] = self._special_registers()
        self.alike: dict[str, list[Value]] = {}
        """Registers in which each thread has the translation of its representative's value: those of the representatives."""
        self.everyone: Lanes = list(range(self.count))
        self.exited: set[int] = set()
        self.shared = Variables(SHARED_BASE, "shared")
        self.local: list[Variables] = []
        self.names: dict[str, int] = {}
        """Address of each variable in its own space."""
        self.epoch = 0
        self.copies: dict[int, object] = {}
        """Asynchronous copies on their way, by thread."""
        self.products: object = None
        """Products of groups of warps on their way."""
        self.unshown: dict[tuple[int, int], Owner] | None = None
        """By variable and byte: who stored this word of shared memory, where no `fence.proxy.async` has followed; None: nothing
        reads it by another proxy."""
        self.written: dict[str, int] | None = None
        """By register: the step that wrote it last; None: nobody asks."""
        self.fenced = 0
        """The step of the last `wgmma.fence`."""
        if any(i.opcode == "wgmma" for i in launch.routine.instructions):
            self.unshown, self.written = {}, {}
        self.passed: dict[str, dict[int, dict[int, tuple[int, Value]]]] = {}
        """Values passed to functions and back: variable, thread, byte offset to size and number."""
        self.execution = 0
        """Steps executed so far."""
        self.times = [1] * self.count
        self._seen: np.ndarray[tuple[int, int], np.dtype[np.int32]] | None = None
        self._declare()

    def _special_registers(self) -> dict[str, list[Value]]:
        launch, count = self.launch, self.count
        found: dict[str, list[Value]] = {}
        last = launch.places.moving.last
        for axis, letter in enumerate("xyz"):
            found[f"%ntid.{letter}"] = [launch.block[axis]] * count
            if SIZE not in last:  # else the grid depends on the size
                found[f"%nctaid.{letter}"] = [launch.grid[axis]] * count
            for name, at in ((OF_BLOCK[axis], [self.position[axis]] * count), (OF_THREAD[axis], [t[axis] for t in self.threads])):
                found[name] = [placed(n, ((name, 1),)) for n in at] if last.get(name) else list(at)
        if launch.lone_thread is not None:
            return found
        lanes = [t % WARP for t in range(count)]
        found["%laneid"] = list(lanes)
        found["%warpid"] = [t // WARP for t in range(count)]
        found["%lanemask_eq"] = [1 << lane for lane in lanes]
        found["%lanemask_lt"] = [(1 << lane) - 1 for lane in lanes]
        found["%lanemask_le"] = [(2 << lane) - 1 for lane in lanes]
        found["%lanemask_gt"] = [0xFFFFFFFF ^ ((2 << lane) - 1) for lane in lanes]
        found["%lanemask_ge"] = [0xFFFFFFFF ^ ((1 << lane) - 1) for lane in lanes]
        return found

    def _declare(self) -> None:
        launch = self.launch
        of_thread = [v for v in launch.routine.variables.values() if v.space == "local"]
        self.local = [Variables(LOCAL_BASE, "local") for _ in range(self.count)] if of_thread else []
        for variable in of_thread:
            for variables in self.local:
                region = variables.add(variable.name, variable.size_bytes, is_tracked=False)
                self._place(variable, region)
        shared = [v for v in (*launch.module_shared, *launch.routine.variables.values()) if v.space == "shared"]
        for variable in shared:
            if variable.size_bytes:
                self._place(variable, self.shared.add(variable.name, variable.size_bytes, is_tracked=True))
        self._declare_dynamic([v for v in shared if not v.size_bytes])

    def _declare_dynamic(self, variables: list[Variable]) -> None:
        """Arrays of unknown size (`.extern .shared`) all begin at one address, that of the launch's dynamic shared memory."""
        if not variables:
            return
        widest = max(variables, key=lambda v: v.align)
        self._place(widest, self.shared.add(widest.name, self.launch.dynamic_shared_bytes, is_tracked=True))
        for variable in variables:
            self.names[variable.name] = self.names[widest.name]

    def _place(self, variable: Variable, region: Region) -> None:
        region.align = variable.align
        known = PlacedVariable(region.size_bytes, variable.align, is_small=True, is_allocated=False, base=region.base)
        self.names[variable.name] = self.launch.places.address(variable.name, known)

    # ------------------------------------------------------------ registers

    def read(self, name: str, lanes: Lanes) -> list[Value]:
        if name in self.alike and self.launch.translations is not None:
            return self.launch.translations.values_of(self.alike[name], lanes)
        column = self.registers.get(name)
        if column is None:
            column = self.registers[name] = [Undefined(f"register {name} before it is written", 0)] * self.count
        return column if len(lanes) == self.count else [column[t] for t in lanes]

    def write(self, name: str, lanes: Lanes, values: list[Value]) -> None:
        if self.written is not None:
            self.written[name] = self.execution
        if len(lanes) == self.count:
            self.registers[name] = values
            self.alike.pop(name, None)
            return
        column: list[Value] = self.read(name, self.everyone) if name in self.alike else list(self.registers.get(name, ()))
        self.alike.pop(name, None)
        if not column:
            column += [Undefined(f"register {name} before it is written", 0)] * self.count
        for t, value in zip(lanes, values, strict=True):
            column[t] = value
        self.registers[name] = column

    def common(self, name: str) -> list[Value] | None:
        """The representatives' values of a register that all threads have alike; None where that is not seen."""
        if name in self.alike or self.launch.translations is None or name not in self.registers:
            return self.alike.get(name)
        values = self.launch.translations.common(self.registers[name])
        if values is not None:
            self.alike[name] = values
            self.registers.pop(name)
        return values

    def name_common(self, name: str) -> list[Value] | None:
        """The representatives' values of a register that all threads have alike, large ones by their names from now on."""
        values, translations = self.alike.get(name), self.launch.translations
        if values is not None and translations is not None and translations.names is not None:
            values = self.alike[name] = [translations.names.named(v) for v in values]
        return values

    def write_common(self, name: str, values: list[Value]) -> None:
        """The threads get the translations of these values."""
        if self.written is not None:
            self.written[name] = self.execution
        self.alike[name] = values
        self.registers.pop(name, None)

    # ------------------------------------------------------------ order of accesses

    def stored(self, region: Region, offset: int, size: int, thread: int, instruction: int) -> None:
        """Notes a store by the generic proxy, where that matters."""
        if self.unshown is not None and any(region is own for own in self.shared.regions):
            who = self.owner(thread, instruction)
            for at in range(offset - offset % 4, offset + size, 4):
                self.unshown[region.base, at] = who

    def owner(self, thread: int, instruction: int, *, is_wide: bool = False) -> Owner:
        return Owner(self.position, thread, self.times[thread], self.epoch, instruction, self.execution, is_wide)

    def is_ordered(self, earlier: Owner, thread: int) -> bool:
        """Whether what `earlier` did is ordered before what `thread` does now."""
        if earlier.block != self.position:
            return False
        if earlier.epoch < self.epoch or earlier.thread == thread:
            return True
        return self._seen is not None and bool(self._seen[thread, earlier.thread] >= earlier.time)

    def synchronise(self, lanes: Sequence[int], arrivals: Sequence[Arrival] = (), *, with_exited: bool = False) -> None:
        """Orders what these threads did, and what others did before they arrived, before what these will do.

        with_exited: what threads did that have ended comes before it, too, as at a barrier that waits for the whole block.
        """
        if not arrivals and len(lanes) + (len(self.exited) if with_exited else 0) >= self.count:
            self.epoch += 1
            for region in self.shared.regions:
                region.history = {}  # all of it is ordered before what comes: only this block reaches its shared memory
            return
        seen = self._seen_by_thread()
        members = list(lanes)
        together = seen[members].max(axis=0)
        for arrival in arrivals:
            np.maximum(together, arrival.seen, out=together)
            together[arrival.thread] = max(int(together[arrival.thread]), arrival.time)
        together[members] = [self.times[t] for t in members]
        seen[members] = together
        for t in members:
            self.times[t] += 1

    def arrival(self, thread: int) -> Arrival:
        """The thread at this moment; what it does from now on is not part of it."""
        found = Arrival(thread, self.times[thread], self._seen_by_thread()[thread].copy())
        self.times[thread] += 1
        return found

    @property
    def has_partial_order(self) -> bool:
        """Whether some threads, and not all, have waited for each other."""
        return self._seen is not None

    def has_seen(self, thread: int, other: int, time: int) -> bool:
        """Whether what `other` did from its moment `time` on is in part ordered before what `thread` does now."""
        return self._seen is not None and bool(self._seen[thread, other] >= time)

    def _seen_by_thread(self) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
        if self._seen is None:
            self._seen = np.zeros((self.count, self.count), np.int32)
        return self._seen

    # ------------------------------------------------------------ faults

    def fault(
        self, kind: FaultKind, message: str, instruction: int, *, thread: int | None = None, what: str = "", element: str = ""
    ) -> FaultError:
        span = self.launch.span(instruction)
        accesses = () if thread is None else (Access(what, instruction, span.line, self.position, self.threads[thread]),)
        return FaultError(Fault(kind, message, span, accesses, element))

    def race(self, earlier: Owner, thread: int, instruction: int, what: str, element: str) -> FaultError:
        launch = self.launch
        opcode = launch.routine.instructions[earlier.instruction].opcode
        first_what = {"ld": "load", "st": "store"}.get(opcode, opcode)
        x, y, _ = launch.block
        position = (earlier.thread % x, earlier.thread // x % y, earlier.thread // (x * y))
        first = Access(first_what, earlier.instruction, launch.span(earlier.instruction).line, earlier.block, position)
        second = Access(what, instruction, launch.span(instruction).line, self.position, self.threads[thread])
        message = f"race on {element}: {first} and {second}, with nothing that orders them"
        return FaultError(Fault("race", message, launch.span(instruction), (first, second), element))
