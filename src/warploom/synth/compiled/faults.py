"""Faults of a run on symbolic data: those of the program, located, and instructions that this runner does not follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warploom.core import Diagnostic, Span, UnsupportedError, WarploomError

FaultKind = Literal["race", "out of bounds", "misaligned", "undefined value", "barrier", "shuffle", "read-only", "trap"]
Triple = tuple[int, int, int]


def triple(values: Sequence[int]) -> Triple:
    x, y, z = values
    return x, y, z


@dataclass(frozen=True, slots=True)
class Access:
    """One access to memory by one thread."""

    what: str
    """load, store, reduction."""
    instruction: int
    """Position of the instruction in the routine."""
    line: int
    block: Triple
    thread: Triple

    def __str__(self) -> str:
        return f"{self.what} in line {self.line} by thread {_place(self.thread)} of block {_place(self.block)}"


def _place(position: Triple) -> str:
    return ", ".join(map(str, position)) if any(position[1:]) else str(position[0])


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a machine could do differently, or that ends the launch."""

    kind: FaultKind
    message: str
    span: Span
    accesses: tuple[Access, ...] = ()
    """For a race the earlier, then the later access in this run; for any other fault the access at fault, if it is one."""
    element: str = ""
    """`array[index]`, or the place in shared memory."""


class FaultError(WarploomError):
    """Carries the first fault of a run out of it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.assumed: tuple[str, ...] = ()
        """Assumptions of the run so far, as notes for the domain."""


def unsupported(message: str, span: Span, fix: str = "") -> UnsupportedError:
    return UnsupportedError(Diagnostic("PTX_PROVE_UNSUPPORTED", message, span, fix))
