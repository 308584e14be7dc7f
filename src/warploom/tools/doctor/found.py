"""The finding of a probe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    works: bool | None
    """None: the probe did not end, so nothing is known."""
    text: str
    """Versions and places of what works, or what is wrong."""
    fix: str = ""
    """The command that mends it; empty where there is none, or nothing to mend."""
