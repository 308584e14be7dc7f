"""The plan for one load: where each of its elements comes from, and what must hold at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Variant: TypeAlias = Literal["", "no-load", "no-corner"]
"""The paper's ablations (section 6): covered loads removed, or shuffled values used in every lane. Both compute wrong values."""
Mode: TypeAlias = Literal["shuffle", "cache"]
"""cache: one halo load per source in a full warp, no corner loads."""
Kind: TypeAlias = Literal["shuffle", "reuse"]


@dataclass(frozen=True, slots=True, order=True)
class Neighbour:
    """A thread of the same warp and block, by its place relative to this one."""

    x: int
    """The neighbour's tid.x less this thread's."""
    y: int = 0
    """The neighbour's tid.y less this thread's; tid.z is the same."""

    @property
    def is_self(self) -> bool:
        return self.x == 0 and self.y == 0

    def __str__(self) -> str:
        return f"{self.x:+d}" if self.y == 0 else f"({self.x:+d}, {self.y:+d})"


@dataclass(frozen=True, slots=True, order=True)
class NoWrap:
    """`x + amount`, for x = `register + offset`, stays within its width: tested in every lane that takes a neighbour's value."""

    register: str
    offset: int
    amount: int
    """The amount, which is never 0."""
    is_signed: bool
    width: int
    """16, 32 or 64 bits."""

    def __str__(self) -> str:
        first = f"({self.register} {self.offset:+d})" if self.offset else self.register
        return f"{first} {self.amount:+d} does not wrap as {self.type}"

    @property
    def type(self) -> str:
        return f"{'s' if self.is_signed else 'u'}{self.width}"


@dataclass(frozen=True, slots=True)
class Element:
    """One register of a load that is to be filled from a register of the source load."""

    source: str
    target: str
    bits: int
    """Bits of both registers: 16, 32 or 64."""
    must_copy: bool
    """True if the source register may have changed by the time of the target."""


@dataclass(frozen=True, slots=True, order=True)
class Store:
    """A store of the same thread between source and target, at an address that may be the target's: tested at run time."""

    index: int
    """Index of the instruction."""
    line: int
    register: str
    offset: int
    size_bytes: int

    def __str__(self) -> str:
        return f"the store in line {self.line} leaves what it reads alone"


UNTOUCHED = "leaves what is behind"
"""In the text of an assumption of `--assume noalias`, and of no other."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan that covers one load."""

    load: int
    """Index of the instruction that is covered."""
    source: int
    """Index of the load that supplies the values."""
    neighbour: Neighbour
    """The thread whose value is taken."""
    elements: tuple[Element, ...]
    """Elements in the order of the registers; those that nobody reads (`_`) are left out."""
    element_bits: int
    """Bits of one element in memory: 8, 16, 32 or 64."""
    checks: tuple[NoWrap, ...] = ()
    """All must hold in the lane that takes a neighbour's value."""
    assumed: tuple[str, ...] = ()
    """Assumptions taken for granted by `--assume nsw` and `noalias`, as text."""
    stores: tuple[Store, ...] = ()
    """Stores between the two loads of a reuse: where one of them writes what the load reads, it loads."""
    unsure: bool = False
    """Not every way to the load leads through the source: a thread that ran it notes so, and others do not take its value."""
    stride_bytes: int | None = None
    """Formal distance in memory of the source's addresses in adjacent lanes."""
    halo: tuple[NoWrap, ...] | None = None
    """In cache mode: if all lanes of a full row pass these tests where the source stands, then what a lane finds at its source's
    address and 32 strides further on (backwards if the neighbour is) is what the target reads 32 lanes nearer than the neighbour.
    None: not shown."""

    @property
    def kind(self) -> Kind:
        return "reuse" if self.neighbour.is_self else "shuffle"


@dataclass(frozen=True, slots=True)
class BlockShape:
    """The block's shape, as far as it is known at compile time."""

    whole_rows: bool
    """Every warp lies in one row, and the lane is tid.x modulo 32."""
