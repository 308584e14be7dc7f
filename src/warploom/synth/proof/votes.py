"""The outcome of a vote of a warp as a term."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.core import u32
from warploom.ir import Vote
from warploom.terms import Term, apply, constant, holds


def counted(vote: Vote, values: Sequence[Term]) -> Term:
    """The outcome, which every lane gets, of the u32 values of all lanes, lane 0 first."""
    truths = [holds("!=", u32, v, constant(0)) for v in values]
    if vote.kind == "ballot":
        truths = [apply("<<", t, lane) if lane else t for lane, t in enumerate(truths)]
    result = truths[0]
    for truth in truths[1:]:
        result = apply("&" if vote.kind == "all" else "|", result, truth)
    return result
