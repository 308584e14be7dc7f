"""The memory trace: what a routine reads, writes and orders, and which writes a load may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from warploom.ptx.symbolic.algebra import Algebra
from warploom.ptx.symbolic.term import Term, linear
from warploom.ptx.syntax import Instruction

AccessKind: TypeAlias = Literal["load", "store", "atomic", "copy", "order", "call", "unknown"]
SPACES = frozenset({"global", "shared", "local", "const", "param"})
_GENERIC = frozenset({"generic", "global", "shared", "local"})
_CHECKS = 300
"""A load is compared with so many earlier writes; the next one counts as a write of what it reads."""
_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"})


@dataclass(frozen=True, slots=True)
class Access:
    """One event of the trace; what never runs (a guard that is false) is left out."""

    index: int
    """Position in the trace."""
    instruction: int
    """Index in the routine."""
    kind: AccessKind
    """load: `ld`, `ldu`; store: `st`; atomic: `atom`, `red`; copy: `cp.async` and its kin; order: barriers and fences."""
    space: str
    """global, shared, local, const, param, or generic."""
    type: str
    """Type of one element; '' where there is none."""
    bits: int
    """Bits of one element."""
    elements: int
    """1, or the elements of a vector."""
    qualifiers: tuple[str, ...]
    """Modifiers of the instruction, as written."""
    address: Term | None
    """Address of the first element: 64 bits for global and generic, 32 for the other spaces. None where nothing is known."""
    values: tuple[Term, ...]
    """Loaded into or stored from registers, one for every element, at the width of the element."""
    guard: Term
    """The instruction's own predicate; the constant 1 without one."""
    block: int
    loops: tuple[int, ...]
    """Headers of the loops around it, outermost first."""
    version: int
    """Version of memory that a load reads: loads of one address with equal versions, in the same iteration, read the same
    value. 0: memory as the kernel found it."""

    @property
    def size_bytes(self) -> int:
        return self.bits * self.elements // 8

    @property
    def is_weak(self) -> bool:
        """Whether the access is neither volatile nor synchronising."""
        return not _STRONG.intersection(self.qualifiers)


def space_of(instruction: Instruction) -> str:
    """State space in the modifiers; generic when there is none."""
    for modifier in instruction.modifiers:
        root = modifier.partition("::")[0]
        if root in SPACES:
            return root
    return "generic"


def may_share(first: str, second: str) -> bool:
    """Whether addresses of the two spaces may name the same byte; '*' stands for every space that can be written."""
    if "const" in (first, second):
        return False
    if "*" in (first, second) or first == second:
        return True
    return "generic" in (first, second) and first in _GENERIC and second in _GENERIC


@dataclass(frozen=True, slots=True)
class Clobber:
    """Something after which memory may hold other values."""

    index: int
    """Index in the trace."""
    space: str
    """'*': every space but const."""
    address: Term | None
    """None: anywhere in the space."""
    size_bytes: int


def disjoint(algebra: Algebra, first: Term, first_bytes: int, second: Term, second_bytes: int) -> bool:
    """Whether two accesses of one thread are proved not to overlap."""
    if first.width != second.width:
        return False
    size = 1 << first.width
    (c, left), (d, right) = linear(first), linear(second)
    if left == right:
        apart = (c - d) % size
        return second_bytes <= apart <= size - first_bytes
    if not {a for a, _ in left} & {a for a, _ in right} and left and right:
        return False
    low, high = algebra.facts.arc(algebra.sub(first, second))
    start = low % size
    return second_bytes <= start and start + high - low <= size - first_bytes


class Versions:
    """Numbers the states of memory as the trace grows."""

    def __init__(self) -> None:
        self.clobbers: list[Clobber] = []

    def add(self, clobber: Clobber) -> None:
        self.clobbers.append(clobber)

    def seen_by(self, algebra: Algebra, space: str, address: Term | None, size_bytes: int) -> int:
        """Version of memory that a load sees: 1 + trace index of the last event that may have changed what it reads."""
        checks = 0
        for clobber in reversed(self.clobbers):
            if not may_share(space, clobber.space):
                continue
            checks += 1
            if clobber.address is None or address is None or space != clobber.space or checks > _CHECKS:
                return clobber.index + 1
            if not disjoint(algebra, clobber.address, clobber.size_bytes, address, size_bytes):
                return clobber.index + 1
        return 0
