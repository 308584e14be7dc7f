"""Options that say which of the engine's ideas are in use: all of them, unless somebody wants to measure what one is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """No switch changes which solutions there are, only how long they take to find."""

    joins: bool = True
    """Two holes in a row along one axis are one choice."""
    look_ahead: bool = True
    """The members of a hole are filtered all at once; otherwise each is propagated by itself, smallest hole first."""
    factors: bool = True
    """A problem that is a product is solved factor by factor."""
    copy_counts: bool = True
    """Values are counted: folds exactly, and where no copy can be spared none is. Otherwise a fold must only be able to hold
    each of its values and nothing else, and candidates are counted once they are decided. Source: Swizzleflow, section 4.1."""
    propagation: Literal["both-ways", "forward"] = "both-ways"
    """`forward`: a candidate fails only where a location that the goal speaks of cannot hold its value; nothing is concluded
    about holes, and they are decided in the program's order. It does without `look_ahead`, which asks what cells need.
    Source: Swizzleflow, algorithm 2 (reachability of one location)."""
    engine: Literal["propagation", "smt"] = "propagation"
    """`smt`: z3 solves the program as clauses over the members of its holes. The other switches mean nothing then."""

    @property
    def looks_ahead(self) -> bool:
        return self.look_ahead and self.propagation == "both-ways"

    @property
    def counts_copies(self) -> bool:
        """Whether counting narrows candidates."""
        return self.copy_counts and self.propagation == "both-ways"


ALL_IDEAS = EngineOptions()
CONFIGURATIONS: Mapping[str, EngineOptions] = {
    "full": ALL_IDEAS,
    "no-joins": EngineOptions(joins=False),
    "no-look-ahead": EngineOptions(look_ahead=False),
    "no-factors": EngineOptions(factors=False),
    "no-copy-counts": EngineOptions(copy_counts=False),
    "one-location": EngineOptions(propagation="forward"),
    "smt": EngineOptions(engine="smt"),
}
"""Configurations that `warploom bench ablations` compares, by name: everything, everything but one idea, z3."""
