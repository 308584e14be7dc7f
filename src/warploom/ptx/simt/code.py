"""Decoded routines: instructions as closures, in segments that run without a break.

A segment ends where threads may part, wait or leave: at branches, calls, barriers, and before every instruction that needs
several lanes of a warp together. Segments are decoded when first run, so what is never reached need not be known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from warploom.ptx.routine import Routine
from warploom.ptx.simt.threads import Group, Value

if TYPE_CHECKING:
    from warploom.ptx.simt.running import RunningBlocks

Step: TypeAlias = "Callable[[Group, RunningBlocks], None]"
"""Runs one instruction for all threads of a group."""
End: TypeAlias = "Callable[[Group, RunningBlocks], int]"
"""Ends a segment: the next segment of the whole group, or -1 when the group was split, parked or has left."""
Gate: TypeAlias = "Callable[[Group, RunningBlocks], Group | None]"
"""A check before a segment: it returns the threads that may go on now; the others are parked."""
Members: TypeAlias = "Callable[[Group, RunningBlocks], Value]"
"""The lanes that a warp-wide instruction names: u32 per thread, or one for all."""


@dataclass(slots=True, eq=False)
class Segment:
    """Instructions [start, end) of a routine."""

    index: int
    start: int
    end: int
    successors: tuple[int, ...]
    rank: int = 0
    live_in: tuple[int, ...] = ()
    """Slots whose value may be read from here on."""
    steps: list[Step] | None = None
    """None: not decoded yet."""
    finish: End | None = None
    gate: Gate | None = None
    members: Members | None = None
    """Members of a segment that starts with a warp-wide instruction."""
    classes: tuple[tuple[str, int], ...] = ()
    """Instruction classes and how many of each, for the counts."""


@dataclass(slots=True, eq=False)
class Code:
    """One routine: its segments, its slots for registers and constants, its stack frame."""

    routine: Routine
    number: int
    """Distinct for every routine of a program."""
    segments: list[Segment] = field(default_factory=list[Segment])
    segment_at: dict[int, int] = field(default_factory=dict[int, int])
    """Index of the segment that starts at an instruction."""
    slots: dict[str, int] = field(default_factory=dict[str, int])
    """Register name -> slot."""
    dtypes: list[np.dtype[np.generic] | None] = field(default_factory=list["np.dtype[np.generic] | None"])
    template: list[Value | None] = field(default_factory=list["Value | None"])
    """Registers of a thread that enters: constants are there, all else is None."""
    frame_offsets: dict[str, int] = field(default_factory=dict[str, int])
    """Local and parameter variables -> offset in the stack frame, bytes."""
    frame_bytes: int = 0
    doubtful: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    """Instruction -> slots that it reads and that some path has not written."""
    written: dict[int, int] = field(default_factory=dict[int, int])
    """For every slot that is doubtful somewhere, the slot that says which threads have written it."""
    undefined: dict[int, int] = field(default_factory=dict[int, int])
    """For every slot that a shuffle may leave undefined, the slot of its marks (`simt.undefined`)."""


@dataclass(slots=True, eq=False)
class Context:
    """A call stack: which routine runs, called from where. One object per stack that occurs in a batch."""

    code: Code
    path: tuple[int, ...] = ()
    """Ranks of the calling segments and numbers of the called routines, outermost first: orders the groups."""
    frame_base: int = 0
    """Offset of the frame in every thread's stack, bytes."""
    caller: Context | None = None
    returns_to: int = -1
    """Segment of the caller."""
    on_return: Step | None = None
    """Hands the results over; runs with the callee's frame still in place and the caller's registers restored."""
    inner: dict[tuple[int, int], Context] = field(default_factory=dict["tuple[int, int]", "Context"])
    """Contexts by calling segment and number of the called routine."""

    @property
    def depth(self) -> int:
        return len(self.path) // 2
