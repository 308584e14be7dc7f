"""Choice of the candidates to apply: all, none, or those that a model expects to gain. The model itself is passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from warploom.ptx.flow import FlowGraph
from warploom.ptx.routine import Routine
from warploom.ptx.shuffle.plan import Kind


@dataclass(frozen=True, slots=True)
class Candidate:
    """A load whose value an earlier load has already brought into some lane of the warp."""

    load: int
    """Index of the covered instruction in the routine."""
    line: int
    source: int
    """Index of the source load."""
    source_line: int
    delta: int
    """tid.x of the lane that has the value, less this lane's; 0 in the same thread or the same column."""
    rows: int
    """tid.y of the lane that has the value, less this lane's."""
    kind: Kind
    width: int
    """Bits of one element."""
    elements: int
    """Registers that are filled."""
    conditions: tuple[str, ...]
    """Tested at run time in every lane, together with those of the other loads around; where one fails, the lane loads for
    itself, as it may where one of another load fails."""
    assumed: tuple[str, ...]
    """Assumptions that are not tested but taken for granted under `--assume nsw` and `noalias`."""
    indices: tuple[str, ...] = ()
    """The registers that the conditions are about; in straight-line code each is tested once."""
    stores: int = 0
    """Stores between the two loads whose addresses a reuse tests."""
    unsure: bool = False
    """Whether a lane may come to the load without having run the source."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """Facts that a decision may look at."""

    routine: Routine
    graph: FlowGraph
    loads: int
    candidates: tuple[Candidate, ...]
    """All of the kernel, in program order."""
    target: str
    """Target of the module: `sm_80`."""
    whole_rows: bool
    """True if the block's shape is known to put every warp into one row."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to rewrite one load, and why."""

    applies: bool
    reason: str
    predicted_gain: float | None = None
    """Expected saving as a share of the kernel's time: 0.02 is 2 percent; None when nobody estimated it."""


Policy: TypeAlias = Callable[[KernelFacts, Candidate], Decision]


def apply_all(facts: KernelFacts, candidate: Candidate) -> Decision:
    """Every candidate."""
    return Decision(True, "policy all")


def apply_none(facts: KernelFacts, candidate: Candidate) -> Decision:
    """No candidate: the text stays as it is."""
    return Decision(False, "policy none")
