"""The loop nest of a fully specified implementation: what the code printers, the leaf cost, the page and the interpreter read.

    nest   := regions values node*                   (top to bottom in program order)
    node   := loop | compute | load | store | combine | barrier
    loop   := kind, size, node*                      (block and thread loops are run by parallel workers, the others here;
                                                      threads along a hardware dimension, or along a digit of their number)
    affine := constant + sum of stride * loop index

Values are small arrays of registers: one axis per unrolled, vector or private thread copy that they need. A statement names,
for each axis of a value, the loop whose index selects the register, or a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import gcd, prod
from typing import TypeAlias

from warploom.core import DType, element_of
from warploom.core.linear import Linear
from warploom.schedule.backbone import Constant, Operator, Parameter, Role, RunTimeSize
from warploom.schedule.nest.swizzle import Swizzle


class Kind(StrEnum):
    """Ways to run a loop (the paper's dim_kind)."""

    LOOP = "loop"
    UNROLL = "unroll"
    VECTOR = "vector"
    """One vector instruction: the body is one statement."""
    BLOCK = "block"
    """CUDA: thread blocks. CPU: shared out among the threads. Outermost; on the CPU one of them may have nodes behind it in the
    body around, which run when all its iterations are done, once for each iteration of the blocks outside."""
    THREAD = "thread"
    """CUDA: threads of a block. The CPU has none."""


class Space(StrEnum):
    GLOBAL = "global"
    """Inputs and outputs; a temporary here is private to its block."""
    SHARED = "shared"
    """CUDA: shared memory. CPU: a scratch buffer of the thread."""
    COMMON = "common"
    """CPU: one array of all blocks, stored inside of them and loaded behind them: results of the parts of a shared sum."""


class Cache(StrEnum):
    """Cache of a global access (the paper's cache directives)."""

    ALL = "all"
    L2 = "l2"
    READ_ONLY = "read_only"
    NONE = "none"


Affine: TypeAlias = Linear[int]
"""constant + sum of stride * index of the loop with this number."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Holds where 0 <= index < bound."""

    index: Affine
    bound: int
    run_time: RunTimeSize | None = None
    """The bound is this length, `bound` its value here."""

    @property
    def divisor(self) -> int:
        """The greatest number known to divide the bound."""
        return self.bound if self.run_time is None else self.run_time.divisor


@dataclass(frozen=True, slots=True)
class Trips:
    """Iterations of a loop that are known at run time: size / per, rounded up."""

    size: RunTimeSize
    per: int

    def at(self, length: int) -> int:
        return -(-length // self.per)

    def of(self, sizes: Mapping[str, int]) -> int:
        """The same where the sizes have these values."""
        return self.at(self.size.at(sizes))

    @property
    def most(self) -> int:
        return self.at(self.size.most)


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array in memory: a region of the backbone, or a temporary of the block."""

    name: str
    dtype: DType
    elements: int
    """Elements of one copy."""
    role: Role
    space: Space = Space.GLOBAL
    copies: int = 1
    """Above 1: used in turn by the iterations of a pipelined loop."""
    run_time: RunTimeSize | None = None
    """The first index has as many values as this length, `elements` is for its value here."""
    trips: tuple[Trips, ...] = ()
    """Iterations of loops that each have a part of it, where they are known at run time; `elements` is for their number here."""
    spread: int = 1
    """Elements from one element of a word to the next; where they are apart, offsets are in elements."""
    inner: tuple[RunTimeSize, ...] = ()
    """Lengths known at run time of other indices."""
    alignment: int = 0
    """Bytes to a multiple of which a shared array begins; 0: as many as its accesses need."""

    @property
    def open_sizes(self) -> tuple[RunTimeSize, ...]:
        """Lengths known at run time to whose product the number of elements is proportional."""
        return (*([] if self.run_time is None else [self.run_time]), *self.inner)

    @property
    def held(self) -> tuple[DType, int]:
        """Type and number of the elements that lie in memory: those of words are bytes, or bf16."""
        element = element_of(self.dtype)
        together = self.dtype.size_bytes // element.size_bytes
        if self.spread > 1:
            return element, self.elements + (together - 1) * self.spread
        return element, self.elements * together


@dataclass(frozen=True, slots=True)
class Register:
    """An axis of a value."""

    size: int
    is_vector: bool


@dataclass(frozen=True, slots=True)
class Value:
    name: str
    dtype: DType
    axes: tuple[Register, ...]
    """Axes, at most one of them a vector, the last."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A register of a value: for each of its axes the loop whose index selects it, or (`at`) a constant."""

    value: int
    at: tuple[Affine, ...]
    """Each a single loop with stride 1, or a constant. A vector axis selected by a vector loop is a whole vector; where the value
    has no axis for the statement's vector loop, it is broadcast."""


Argument: TypeAlias = Constant | Parameter | Ref | Affine
"""An affine sum is an index as a number of the target's type; conversions and stores have none."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A part of an offset: an index whose stride is known at run time."""

    index: Affine
    sizes: tuple[RunTimeSize, ...]
    factor: int
    """Elements between neighbours are as many as this number times these lengths."""
    stride: int
    """The same for the values here."""

    @property
    def step(self) -> int:
        """The greatest number known to divide the elements between neighbours."""
        return self.factor * prod(size.divisor for size in self.sizes)

    @property
    def divisor(self) -> int:
        """The greatest number known to divide it; 0 if it is 0."""
        return self.index.divisor * self.step


@dataclass(frozen=True, slots=True)
class Memory:
    """A place in a buffer."""

    buffer: int
    offset: Affine
    """Elements from the start, for the values here of sizes known at run time."""
    guards: tuple[Guard, ...] = ()
    """All hold, or the load gives `fill` and the store does nothing."""
    fill: float = 0.0
    cache: Cache = Cache.ALL
    swizzle: Swizzle | None = None
    """Swizzle of a shared offset."""
    rows: tuple[Rows, ...] = ()
    """Parts of the offset whose strides are known at run time."""

    @property
    def known(self) -> Affine:
        """The offset without its rows."""
        found = self.offset
        for rows in self.rows:
            found = found.plus(rows.index, -rows.stride)
        return found

    @property
    def forms(self) -> tuple[Affine, ...]:
        """All affine sums in it."""
        return (self.known, *(rows.index for rows in self.rows), *(guard.index for guard in self.guards))

    def mapped(self, change: Callable[[Affine], Affine]) -> Memory:
        """The place with loops replaced in all of its sums."""
        return replace(
            self,
            offset=change(self.offset),
            guards=tuple(replace(g, index=change(g.index)) for g in self.guards),
            rows=tuple(replace(r, index=change(r.index)) for r in self.rows),
        )

    def lanes_apart(self, loop: int) -> int | None:
        """Elements from one iteration of the loop to the next; None where that is known at run time."""
        if any(rows.index.coefficient(loop) for rows in self.rows):
            return None
        return self.known.coefficient(loop)

    def divisor_beside(self, loop: int) -> int:
        """The greatest number known to divide the offset without its terms over the loop; 0 if that is 0."""
        others = (replace(rows, index=rows.index.without((loop,))).divisor for rows in self.rows)
        return gcd(self.known.without((loop,)).divisor, *others)


@dataclass(frozen=True, slots=True)
class Load:
    target: Ref
    memory: Memory
    is_async: bool = False
    """Copied by cp.async straight into the store that uses it."""


@dataclass(frozen=True, slots=True)
class Store:
    memory: Memory
    argument: Argument
    guards: tuple[Guard, ...] = ()
    """Guards on threads that do not run this nest's thread loops (index 0 only). They may name a thread loop that does not
    enclose the store: its index is the thread's in that hardware dimension."""


@dataclass(frozen=True, slots=True)
class Compute:
    """target = operator(arguments); a reduction reads its own target."""

    target: Ref
    operator: Operator
    arguments: tuple[Argument, ...]
    buffer: int | None = field(default=None, kw_only=True)
    """The array that a gather reads, at the place that its argument says."""
    guards: tuple[Guard, ...] = ()
    """All hold, or the target keeps its value: reductions over an axis that the tiles do not divide."""


@dataclass(frozen=True, slots=True)
class Combine:
    """Totals of partial results: target = operator over `registers` axes of `source`, and over all threads of `threads`."""

    target: Ref
    operator: Operator
    source: Ref
    """Source of the sum; its `at` for the axes summed over is the constant 0."""
    registers: tuple[int, ...]
    """Axes of the source value that are summed over, a vector axis included."""
    threads: tuple[int, ...]
    """Thread loops summed over: by shuffles inside a warp, through shared memory beyond. Where there are some, the statement
    is in no thread loop and every thread gets the total of its row; threads beyond a loop's size hold the neutral element."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block meet, shared memory is visible."""


@dataclass(frozen=True, slots=True)
class Digit:
    """A part of a thread's number in its block, x counted fastest, whatever the hardware dimensions are: the number over `step`,
    rounded down, and of that the rest over the loop's size. Of a last digit it is the whole, and threads for which that is no
    iteration do not run the loop."""

    step: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class Loop:
    number: int
    """Unique in the nest; several thread loops may stand for one hardware index."""
    name: str
    kind: Kind
    size: int
    body: tuple[Node, ...]
    hardware: int | None = None
    """Block and thread loops: the hardware dimension (0 = x, varies fastest); thread loops mapped alike share it, and its size
    is the largest of theirs. None of thread loops that have a digit."""
    stages: int = 1
    """Above 1: the children that fill buffers of as many copies (iteration i uses copy i modulo stages) run `stages - 1`
    iterations ahead. They come first in the body; the barrier behind them goes to the top of the body when they run ahead."""
    trips: Trips | None = None
    """Sequential and block loops: the iterations where they are known at run time; `size` is for the value here."""
    only: tuple[Guard, ...] = ()
    """Sequential loops: iterations in which one of these does not hold are left out. In a nest with threads, and of loops that
    fill ahead, each is on this loop and on blocks, so that those that are left are neighbours, the same ones for all threads of
    a block."""
    digit: Digit | None = None
    """Thread loops that are one of those in which all threads of the block are enumerated, some around the others."""

    @property
    def most(self) -> int:
        """Iterations, the most that there may be."""
        return self.size if self.trips is None else self.trips.most


Node: TypeAlias = Loop | Load | Store | Compute | Combine | Barrier


@dataclass(frozen=True, slots=True)
class Nest:
    name: str
    buffers: tuple[Buffer, ...]
    """Inputs and outputs in the order of the kernel's arguments, then temporaries."""
    parameters: tuple[Parameter, ...]
    values: tuple[Value, ...]
    body: tuple[Node, ...]
    run_time: tuple[tuple[RunTimeSize, int], ...] = ()
    """Sizes that are arguments, behind the parameters, each with its value here."""
    lanes: tuple[int, int] | None = None
    """Threads of a warp along y and along x; None: x counts fastest, then y, and so on, whatever lies in one warp. Every two
    neighbours are above each other, such pairs go along x, then along y; the next warps along x first. So two lanes that are
    neighbours ask for one place along x, every second one for one along y, and loads of 16 bytes go by half warps."""
