"""Findings of a run besides its arrays: faults that stop it and mistakes that hardware would hide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from warploom.core import Span

Kind: TypeAlias = Literal[
    "out_of_bounds", "misaligned", "read_only", "uninitialised_shared", "uninitialised_register", "uninitialised_local",
    "shared_race", "global_race", "shuffle_inactive", "barrier_divergence", "deadlock", "trap", "early_copy_read", "discarded",
    "stack_overflow", "bad_call", "index_overflow", "register_race",
]  # fmt: skip
Coordinates: TypeAlias = tuple[int, int, int]

FATAL: frozenset[str] = frozenset(("out_of_bounds", "misaligned", "read_only", "deadlock", "trap", "stack_overflow", "bad_call"))
"""Kinds that stop the launch, as on hardware."""
SHARED: frozenset[str] = frozenset(("shared_race", "uninitialised_shared", "early_copy_read"))
"""Kinds whose address counts from the beginning of the block's shared memory."""
BETWEEN_BLOCKS = "nothing orders two blocks"
"""Ends the message of a race of two blocks, where no barrier would help."""
STILL_READ = "which is still being read"
"""In the message of a store into what an asynchronous copy or product reads."""
WITHOUT_PROXY_FENCE = "without a fence.proxy.async between"
"""Ends the message of an asynchronous read of what a thread has stored."""
WITHOUT_FENCE = "without a wgmma.fence between"
"""Ends the message of a product of registers that the thread has changed."""
IN_FLIGHT = "before a wgmma.wait_group that covers it"
"""Ends the message of a use of registers of a product that is going on."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The first occurrence of one kind at one instruction, and how many threads met it."""

    kind: Kind
    message: str
    span: Span
    """The instruction."""
    block: Coordinates | None = None
    thread: Coordinates | None = None
    """Thread within its block."""
    address: int | None = None
    array: str = ""
    """The array at the address, or nearest to it: `argument 0`, `shared memory`, a variable."""
    byte: int | None = None
    """The address, counted from the beginning of that."""
    count: int = 1
    """Threads (occurrences) in all, as far as the launch ran."""
    others: tuple[tuple[str, Span], ...] = ()
    """Further instructions: the other access of a race, the other barriers of a deadlock."""

    @property
    def is_fatal(self) -> bool:
        return self.kind in FATAL

    def __str__(self) -> str:
        where = f"block {_text(self.block)}, thread {_text(self.thread)}: " if self.block and self.thread else ""
        more = f" ({self.count} in all)" if self.count > 1 else ""
        also = "".join(f"; {text} at {span}" for text, span in self.others)
        return f"{self.span}: {self.kind}: {where}{self.message}{also}{more}"


def split_index(linear: int, extents: Coordinates) -> Coordinates:
    """x, y, z of a linear index, x fastest."""
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


def block_at(position: int, grid: Coordinates, cluster: Coordinates) -> Coordinates:
    """The block of that place in the order in which blocks run: cluster after cluster, x fastest in both."""
    number, rank = divmod(position, cluster[0] * cluster[1] * cluster[2])
    clusters = grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2]
    whole, inside = split_index(number, clusters), split_index(rank, cluster)
    return whole[0] * cluster[0] + inside[0], whole[1] * cluster[1] + inside[1], whole[2] * cluster[2] + inside[2]


def _text(coordinates: Coordinates) -> str:
    return ",".join(map(str, coordinates))


class FaultError(Exception):
    """Ends the launch; carries what happened."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


class Findings:
    """All findings of a launch, one per kind and instruction."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Finding] = {}

    def add(self, finding: Finding) -> None:
        key = (finding.kind, finding.span)
        known = self._found.get(key)
        self._found[key] = finding if known is None else replace(known, count=known.count + finding.count)

    def all(self) -> tuple[Finding, ...]:
        return tuple(self._found.values())


class OutOfBudgetError(Exception):
    """The limit of executed instructions is reached."""
