"""The outcome of a vote or a match of a warp as terms."""

from __future__ import annotations

from collections.abc import Sequence

from warploom.core import DType, u32
from warploom.ir import Vote
from warploom.terms import Term, apply, constant, holds


def outcomes(vote: Vote, values: Sequence[Term], dtype: DType) -> list[Term]:
    """The outcome in each lane, of the values of all lanes, lane 0 first; `dtype` is theirs."""
    if vote.kind == "match_any":
        return [_bits([holds("==", dtype, other, own) for other in values]) for own in values]
    if vote.kind == "match_all":
        same = _folded("&", [holds("==", dtype, value, values[0]) for value in values])
        return [_bits([same] * len(values))] * len(values)
    truths = [holds("!=", u32, v, constant(0)) for v in values]
    found = _bits(truths) if vote.kind == "ballot" else _folded("&" if vote.kind == "all" else "|", truths)
    return [found] * len(values)


def _bits(truths: Sequence[Term]) -> Term:
    return _folded("|", [apply("<<", t, lane) if lane else t for lane, t in enumerate(truths)])


def _folded(op: str, terms: Sequence[Term]) -> Term:
    result = terms[0]
    for term in terms[1:]:
        result = apply(op, result, term)
    return result
