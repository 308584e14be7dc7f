"""Options of shuffle synthesis; its fields are the flags of `warploom ptx shuffle`."""

from __future__ import annotations

from dataclasses import dataclass, field

from warploom.ptx.shuffle.plan import Mode, Variant
from warploom.ptx.shuffle.policy import Policy
from warploom.ptx.shuffle.profit import Profitable
from warploom.ptx.symbolic import LaunchLimits

MAX_DELTA = 31


@dataclass(frozen=True, slots=True)
class ShuffleOptions:
    """The defaults are sound for every launch."""

    policy: Policy = field(default_factory=Profitable)
    """Policy; by default it applies what is expected to gain on the module's own target."""
    max_delta: int = MAX_DELTA
    """Largest distance along x, 0 to 31."""
    max_rows: int | None = None
    """Largest distance along y, for blocks whose warps hold several rows; the code is right for every block. None: up to 3 where
    the kernel's `.reqntid` says that they do, else 0."""
    mode: Mode = "shuffle"
    variant: Variant = ""
    shared: bool = False
    """Cover loads of shared memory, too."""
    assume_nsw: bool = False
    """Take it that signed index arithmetic does not wrap, instead of testing it at run time."""
    arch: str | None = None
    """Architecture for which the gain of vector loads is told; None: the module's own."""
    vectors: bool = False
    """Join loads of adjacent places into vector loads."""
    assume_aligned: bool = False
    """Take it that arrays begin at multiples of 16 bytes, as cudaMalloc gives them, instead of testing it at run time."""
    noalias: bool = False
    """Take it that arrays behind different pointer parameters do not overlap where one of them is written."""
    lone_sources: bool = False
    """Say also what is covered if only loads that no earlier one could cover are sources, as in PTXASW, to compare counts with it
    (`KernelReport.of_lone_sources`). What is rewritten takes all loads that stay as sources."""
    limits: LaunchLimits | None = None
    """Limits that every launch keeps; None: those of every device. Beyond them the result may be wrong."""
